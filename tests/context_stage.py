"""Documents that wait for summaries, without a retriever or a network, and a model that answers as it is told to."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID, uuid4

from citewire.contracts.knowledge import Contextual, ContextualState, Document, NewKnowledgeBase
from citewire.contracts.provenance import Usage
from citewire.runtime.database import Database, open_database
from citewire.runtime.migrations import migrate
from citewire.runtime.model.client import ModelClient
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.requests import CallReport, ModelRequest
from model_stage import FixedProviders, provider
from retriever.app import MIGRATIONS
from retriever.contexts import ContextBacklog
from retriever.reading import read_file
from retriever.store.contexts import ContextStore
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore
from retriever.store.versions import VersionStore
from retriever_stage import until

HANDBOOK = (
    "Opening words that stand above all headings. " * 3 + "\n\n"
    "# Travel\n\n" + "Rail tickets cost ten francs. " * 40 + "\n\n# Pay\n\n" + "Wages are paid monthly. " * 40
)
BUSY = ModelFailed("main", Failure.SERVER, "answered 503 (unavailable)", may_pass=True)
DENIED = ModelFailed("main", Failure.UNAUTHORISED, "answered 401 (unauthorised)")


def answer(*numbers: int, **fields: object) -> str:
    """What a model says of a document and of its sections of these numbers."""
    sections = [{"number": number, "summary": f"Part {number}."} for number in numbers]
    return json.dumps({"title": "Staff Rules", "summary": "Governs employees.", "sections": sections} | fields)


class FakeClient(ModelClient):
    """Answers with one text after the other; a failure is raised, and after the last it never answers."""

    def __init__(self, *answers: str | ModelFailed, is_silent_about: str = "") -> None:
        self._silent_about = is_silent_about
        self.provider = provider()
        self.requests: list[dict[str, Any]] = []
        self._answers = iter(answers)

    async def complete(self, request: ModelRequest, report: CallReport, limit: float | None = None) -> str:
        self.requests.append(json.loads(request.messages[0].text))
        is_silent = self.requests[-1].get("beginning") == self._silent_about
        answer = None if is_silent else next(self._answers, None)
        if answer is None:
            await asyncio.Event().wait()
        report.usage = Usage(input_tokens=100, output_tokens=10, requests=1)
        if isinstance(answer, ModelFailed):
            raise answer
        return str(answer)


@dataclass(frozen=True)
class Library:
    """One knowledge base, `kb`, whose documents are stored as a retriever stores them."""

    database: Database
    documents: DocumentStore = field(init=False)

    _DUE: ClassVar = "SELECT 1 FROM knowledge.documents WHERE doc_id = $1 AND context_due <= now()"

    def __post_init__(self) -> None:
        object.__setattr__(self, "documents", DocumentStore(self.database))

    async def store(self, file_name: str, text: str, *, is_to_be_summarised: bool = True) -> Document:
        """Make a file the searched version of its document."""
        submission = await self.documents.submit("kb", file_name, uuid4().hex, {})
        assert submission is not None
        event, new = submission.event, read_file(file_name, text.encode())
        versions = VersionStore(self.database)
        await versions.store(event.doc_id, event.version, b"", new, is_to_be_summarised=is_to_be_summarised)
        return await self.document(event.doc_id)

    async def document(self, doc_id: UUID) -> Document:
        document = await self.documents.get("kb", doc_id)
        assert document is not None
        return document

    async def headers(self) -> list[str]:
        """All headers, in text order."""
        rows = await self.database.rows("SELECT header FROM knowledge.chunks ORDER BY doc_id, ordinal")
        return [row["header"] for row in rows]

    async def revision(self) -> int:
        stored = await KbStore(self.database).find("kb")
        assert stored is not None
        return stored.kb.revision

    async def hurry(self) -> None:
        """Time passes: what waits for another try, or for a process that died, is due."""
        await self.database.execute("UPDATE knowledge.documents SET context_due = now() WHERE context_due IS NOT NULL")

    def backlog(self, client: ModelClient | None, **settings: Any) -> ContextBacklog:
        values = {"limit": 5.0, "most_sections": 24, "at_once": 4, "interval": 0.02} | settings
        return ContextBacklog(ContextStore(self.database), FixedProviders(client), **values)

    async def summarised(self, document: Document, client: ModelClient | None, **settings: Any) -> Contextual:
        """What becomes of a document with a model, until nobody is to be asked any more or another try has to wait."""

        async def look() -> Contextual | None:
            is_due = await self.database.row(self._DUE, document.doc_id)
            now = (await self.document(document.doc_id)).contextual
            return None if is_due or now.state is ContextualState.SUMMARISING else now

        async with self.backlog(client, **settings).running():
            return await until(look)


@contextlib.asynccontextmanager
async def open_library(database: str) -> AsyncGenerator[Library]:
    """An empty knowledge base in a test's own database."""
    await migrate(database, "knowledge", MIGRATIONS)
    async with open_database(database) as opened:
        await KbStore(opened).create(NewKnowledgeBase(kb_id="kb", title="kb"))
        yield Library(opened)
