"""Has documents summarised that are searched already with plain headers, and gives their chunks better ones.

A second pass, not a step of reading: models take seconds, and neither this document nor the next may wait for that.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import structlog

from citewire.contracts.knowledge import Contextual, ContextualState
from citewire.contracts.providers import Provider, Purpose
from citewire.runtime.errors import PermanentError, TransientError
from citewire.runtime.providers import Providers
from retriever.ingest.context import Described, Excerpt
from retriever.ingest.document import SEPARATOR
from retriever.ingest.headers import contextual_headers
from retriever.ingest.parts import Part, parts_of
from retriever.ingest.titles import is_file_name
from retriever.store.contexts import ClaimedDocument, ContextStore
from retriever.summaries import Summaries, add_usage, summarise

if TYPE_CHECKING:
    # It loads openai, which takes half a second and 50 MB.
    from citewire.runtime.model.client import ModelClient

log = structlog.get_logger()

# Seconds before the second and the third try of what may pass; there is no fourth.
_RETRY_DELAYS: Final = (30.0, 120.0)
_TRIES: Final = len(_RETRY_DELAYS) + 1
_LONGEST_DELAY: Final = 600.0
# Seconds beside the time limit that a process may have a document before it is taken for dead.
_GRACE: Final = 30.0
# Documents of before that wait at a time. Those beyond are not kept from being embedded as they are, and switching
# the model off need not touch them.
_CALLED_UP: Final = 64
# Chunks from whose beginning a document's and a section's excerpt is taken: more than the tokens that are sent.
_DOCUMENT_CHUNKS: Final = 60
_SECTION_CHUNKS: Final = 12


class ContextBacklog:
    """Any number of processes may work at it: state is in Postgres alone."""

    def __init__(  # noqa: PLR0913, PLR0917 - one setting each
        self,
        store: ContextStore,
        providers: Providers,
        limit: float,
        most_sections: int,
        at_once: int,
        interval: float,
    ) -> None:
        self._store = store
        self._providers = providers
        self._limit = limit
        self._most_sections = most_sections
        self._free = asyncio.Semaphore(at_once)
        self._interval = interval
        self._announced = asyncio.Event()

    @property
    def is_wanted(self) -> bool:
        """Whether a document that is stored now is to be summarised."""
        return self._providers.entry(Purpose.CONTEXTUAL) is not None

    def wake(self) -> None:
        """There is something to do."""
        self._announced.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Work while the block lasts; documents that are in work then are taken up again by whoever is there."""
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._run())
            try:
                yield
            finally:
                running.cancel()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._free.acquire()
                self._announced.clear()
                if (document := await self._claim()) is not None:
                    tasks.create_task(self._work_on(document)).add_done_callback(lambda _: self._free.release())
                    continue
                self._free.release()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._interval):
                        await self._announced.wait()

    async def _claim(self) -> ClaimedDocument | None:
        try:
            return await self._next()
        except TransientError as error:
            log.warning("could not look for documents to summarise", reason=str(error))
            return None

    async def _next(self) -> ClaimedDocument | None:
        """The next document; one of those of before once no other waits."""
        seconds = self._limit + _GRACE
        claimed = await self._store.claim(seconds)
        if claimed is None and await self._call_up():
            claimed = await self._store.claim(seconds)
        return claimed

    async def _call_up(self) -> bool:
        if self.is_wanted:
            return await self._store.call_up(_CALLED_UP)
        await self._store.forget()
        return False

    async def _work_on(self, document: ClaimedDocument) -> None:
        """One document that can't be dealt with must not keep others from it; it comes again."""
        try:
            await self._improve(document)
        except (TransientError, PermanentError) as error:
            log.warning("could not give a document its headers", doc_id=str(document.doc_id), reason=str(error))

    async def _improve(self, document: ClaimedDocument) -> None:
        client = self._providers.for_purpose(Purpose.CONTEXTUAL)
        if client is None:
            reason = "the model was switched off before its turn"
            await self._store.note(document, _noted(document, ContextualState.PLAIN, reason))
        elif document.tries > _TRIES:
            reason = "every earlier try ended without a word"
            await self._store.note(document, _noted(document, ContextualState.FAILED, reason))
        else:
            await self._summarise(document, client)

    async def _summarise(self, document: ClaimedDocument, client: "ModelClient") -> None:
        sections = await self._store.sections(document)
        # In threads: a very long document takes half a second, in which searches are to go on.
        parts = await asyncio.to_thread(parts_of, sections, self._most_sections)
        found = await summarise(client, await self._described(document, sections, parts), self._limit)
        outcome = _outcome(document, client.provider, found)
        if outcome.state is ContextualState.WAITING:
            asked_for = min(found.retry_after or 0.0, _LONGEST_DELAY)
            await self._store.note(document, outcome, max(_RETRY_DELAYS[document.tries - 1], asked_for))
        elif outcome.state is ContextualState.FAILED:
            log.warning("a document keeps its plain headers", doc_id=str(document.doc_id), reason=outcome.reason)
            await self._store.note(document, outcome)
        else:
            title = _title(document, found)
            headers = await asyncio.to_thread(contextual_headers, title, sections, parts, found.summary, found.sections)
            await self._store.finish(document, title, headers, outcome)

    async def _described(self, document: ClaimedDocument, sections: Sequence[str], parts: Sequence[Part]) -> Described:
        start = range(min(_DOCUMENT_CHUNKS, len(sections)))
        starts = [range(part.first, min(part.end, part.first + _SECTION_CHUNKS)) for part in parts]
        texts = await self._store.texts(document, {ordinal for each in (start, *starts) for ordinal in each})

        def joined(ordinals: Iterable[int]) -> str:
            return "".join(texts.get(ordinal, "") for ordinal in ordinals).strip()

        excerpts = (
            Excerpt(number, SEPARATOR.join(part.path), joined(ordinals))
            for number, (part, ordinals) in enumerate(zip(parts, starts, strict=True), 1)
        )
        title = "" if is_file_name(document.title, document.file_name) else document.title
        return Described(title, joined(start), tuple(excerpts))


def _noted(document: ClaimedDocument, state: ContextualState, reason: str) -> Contextual:
    return document.contextual.model_copy(update={"state": state, "reason": reason})


def _outcome(document: ClaimedDocument, provider: Provider, found: Summaries) -> Contextual:
    return Contextual(
        state=_state(document, found),
        reason=found.reason,
        sections=len(found.sections),
        provider=provider.name,
        model=provider.model,
        usage=add_usage(document.contextual.usage, found.usage),
    )


def _state(document: ClaimedDocument, found: Summaries) -> ContextualState:
    if not found.is_empty:
        return ContextualState.COMPLETE if found.reason is None else ContextualState.PARTIAL
    return ContextualState.WAITING if found.may_pass and document.tries < _TRIES else ContextualState.FAILED


def _title(document: ClaimedDocument, found: Summaries) -> str:
    """The document's own title, or the model's for one that is only the file's name."""
    return found.title if found.title and is_file_name(document.title, document.file_name) else document.title
