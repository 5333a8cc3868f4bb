"""Runs the roles named on the command line in one process, with the stand-ins; prints a line once they take work."""

import sys

from bench.stand_ins import FixedWriter, create_searcher
from citewire.runtime.process import load_service, run
from citewire.runtime.service import Service
from embedded.parent import end_with_parent
from generator.app import create_app as create_generator


def bench_service(role: str) -> Service:
    """The real service, but for the parts whose work would be measured instead of the chain."""
    if role == "retriever":
        return create_searcher()
    if role == "generator":
        return create_generator(writer=FixedWriter())
    return load_service(role)


if __name__ == "__main__":
    end_with_parent()
    run([bench_service(role) for role in sys.argv[1:]], ready=lambda: print("ready", flush=True))
