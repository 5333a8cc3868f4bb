"""A chain in some layout, and the scripted model that it asks."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import count as counting

import nats

from bench.cpu import Groups, cpu_seconds
from bench.layouts import Chain, running_chain
from bench.model_answers import BadAnswerError, ask, form_of, numbers_of, reply
from citewire.contracts.providers import AnswerForm, Protocol, Provider
from citewire.contracts.streams import PROVIDER_BUCKET
from citewire.runtime.sealing import Sealer
from scripted_model import ScriptedModel

PACE = 0.02
CONCURRENCY = 16
PIECES = 200
# Seconds after which a change of the settings must count, and what asks a model be loaded.
SETTLED = 30.0

_PATHS = {Protocol.RESPONSES: "/v1/responses", Protocol.CHAT: "/v1/chat/completions"}

_numbers = counting()


class Stage:
    """A chain and the scripted model that it asks."""

    def __init__(self, chain: Chain, model: ScriptedModel) -> None:
        self.chain = chain
        self.model = model
        model.always(reply)

    async def use(self, protocol: Protocol, form: AnswerForm) -> None:
        """Have answers written over this interface and in this form, from now on."""
        await self._put(protocol, form)
        async with asyncio.timeout(SETTLED):
            while self._last_asked() != (_PATHS[protocol], form):
                # The services hear of it on their own; until then somebody else answers.
                with contextlib.suppress(BadAnswerError):
                    await ask(self.chain, next(_numbers), 2)
        await self.ask_all(CONCURRENCY, PIECES)

    async def ask_all(self, questions: int, count: int, pace: float = 0.0, at_once: int = CONCURRENCY) -> None:
        """Ask so many questions, so many at once."""
        permits = asyncio.Semaphore(at_once)

        async def ask_one() -> None:
            async with permits:
                await ask(self.chain, next(_numbers), count, pace)

        async with asyncio.TaskGroup() as group:
            for _ in range(questions):
                group.create_task(ask_one())

    async def cost(self, groups: Groups, questions: int, count: int, pace: float = 0.0) -> dict[str, float]:
        """CPU milliseconds per question of each group of processes."""
        before = cpu_seconds(groups)
        await self.ask_all(questions, count, pace)
        after = cpu_seconds(groups)
        return {name: (after[name] - before[name]) * 1000 / questions for name in groups}

    async def latencies(self, questions: int) -> list[float]:
        """Milliseconds from the model's first piece to the client's first delta, one question at a time."""
        found = []
        for _ in range(questions):
            number = next(_numbers)
            heard = await ask(self.chain, number, 5, PACE)
            request = self.model.requests[-1]
            assert numbers_of(request)[2] == number
            found.append((heard.first_delta - request.pieces[0]) * 1000)
        return found

    def _last_asked(self) -> tuple[str, AnswerForm] | None:
        last = self.model.requests[-1:]
        return (last[0].path, form_of(last[0])) if last else None

    async def _put(self, protocol: Protocol, form: AnswerForm) -> None:
        entry = Provider(
            name="scripted",
            address=self.model.url,
            model="scripted",
            protocol=protocol,
            form=form,
            use_for_ask=True,
            enabled=True,
        )
        sealed = Sealer(os.environ["CITEWIRE_MASTER_KEY"]).seal(self.model.key, entry.name, entry.origin)
        client = await nats.connect(self.chain.nats_url)
        store = await client.jetstream().key_value(PROVIDER_BUCKET)
        await store.put(entry.name, entry.model_copy(update={"sealed_key": sealed}).model_dump_json().encode())
        await client.close()


@contextlib.asynccontextmanager
async def running_stage(commands: Mapping[str, Sequence[str]]) -> AsyncGenerator[Stage]:
    """Both, until the block ends; a master key must be in the environment."""
    async with ScriptedModel() as model, running_chain(commands) as chain:
        yield Stage(chain, model)
