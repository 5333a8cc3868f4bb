"""The roles named on the command line in one process, with an answer as long as its question asks for."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Sequence

from bench.stand_ins import create_searcher
from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import Source
from citewire.runtime.process import load_service, run
from citewire.runtime.service import Service
from embedded.parent import end_with_parent
from generator.app import create_app as create_generator
from generator.draft import Draft

# Pieces that come together, and seconds between two such bursts.
BURST, PAUSE = 20, 0.025

_NUMBER = re.compile(r"(\d+) pieces")


class WriterOnDemand:
    """As many pieces as the question names, some at a time, as a fast model sends them."""

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """The pieces, about 20 characters each."""
        found = _NUMBER.search(plan.question)
        for number in range(int(found.group(1)) if found else 1):
            if number and number % BURST == 0:
                await asyncio.sleep(PAUSE)
            yield f"piece {number:04d} of a text "


def flat_service(role: str) -> Service:
    """The real service, but for the parts whose work would be measured instead of the chain."""
    if role == "retriever":
        return create_searcher()
    if role == "generator":
        return create_generator(writer=WriterOnDemand())
    return load_service(role)


if __name__ == "__main__":
    end_with_parent()
    run([flat_service(role) for role in sys.argv[1:]], ready=lambda: print("ready", flush=True))
