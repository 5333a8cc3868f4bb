"""The HTTP interface as the commands use it: typed calls, problems as errors, streams that survive a break."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx
from httpx_sse import ServerSentEvent, connect_sse
from pydantic import BaseModel, ValidationError

from citewire.contracts.knowledge import Document, DocumentStatus, KnowledgeBase
from citewire.contracts.problems import Problem

M = TypeVar("M", bound=BaseModel)

# A stream's heartbeat comes every 15 s; twice that without a byte means that the connection is dead.
READ_TIMEOUT = 35.0
RECONNECT_PAUSES = (0.1, 0.5, 1.0, 2.0, 4.0)
POLL_INTERVAL = 0.1
# What a gateway, or a proxy before it, says while one process takes the place of another.
PASSING = frozenset({502, 503, 504})


class ServiceProblem(Exception):  # noqa: N818 - what the service answered
    """The service refused, or can't be reached (`status` None); `str()` is what to tell the user."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A connection to the service; use it as a context manager."""

    def __init__(self, url: str, key: str | None) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=httpx.Timeout(10, read=READ_TIMEOUT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request; raises ServiceProblem for anything but success."""
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise ServiceProblem(f"can't reach {self._http.base_url}: {error}") from error
        _check(response)
        return response

    def read(self, model: type[M], method: str, path: str, **options: Any) -> M:
        """One request whose answer is a model."""
        return model.model_validate_json(self.call(method, path, **options).content)

    def knowledge_bases(self) -> list[KnowledgeBase]:
        """All knowledge bases that the key may see."""
        return [KnowledgeBase.model_validate(kb) for kb in self.call("GET", "/v1/kbs").json()["kbs"]]

    def documents(self, kb_id: str) -> Iterator[Document]:
        """All documents of a knowledge base."""
        cursor: str | None = None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            page = self.call("GET", f"/v1/kbs/{kb_id}/documents", params=params).json()
            yield from (Document.model_validate(document) for document in page["documents"])
            if (cursor := page["next_cursor"]) is None:
                return

    def upload(self, kb_id: str, path: Path, metadata: Mapping[str, Any]) -> Document:
        """Send one file; what comes back says where it stands, not yet that it is searchable."""
        with path.open("rb") as file:
            form = {"files": {"file": (path.name, file)}, "data": {"metadata": json.dumps(metadata)}}
            return self.read(Document, "POST", f"/v1/kbs/{kb_id}/documents", **form)

    def wait_until_settled(self, document: Document) -> Document:
        """The document once it is indexed or failed."""
        while document.status in {DocumentStatus.SUBMITTED, DocumentStatus.PARSING}:
            document = self._later(document)
        return document

    def wait_until_summarised(self, document: Document) -> Document:
        """The document once no model is to be asked about it any more."""
        while document.contextual.is_pending:
            document = self._later(document)
        return document

    def _later(self, document: Document) -> Document:
        """The document as it is a moment later."""
        time.sleep(POLL_INTERVAL)
        return self.read(Document, "GET", f"/v1/kbs/{document.kb_id}/documents/{document.doc_id}")

    def ask(self, body: dict[str, Any]) -> Iterator[ServerSentEvent]:
        """The frames of an answer; a connection that breaks is taken up again where it broke.

        As long as it is not known whether the question was accepted it is asked again under the same key. A `sources`
        frame in the middle begins the answer anew. Raises ServiceProblem when the service refuses, or stays away.
        """
        question = _Question(self._http, body)
        pauses = iter(RECONNECT_PAUSES)
        while True:
            for event in question.read():
                if event.event != "reconnect":
                    pauses = iter(RECONNECT_PAUSES)
                    yield event
            if question.has_ended:
                return
            if (pause := next(pauses, None)) is None:
                raise ServiceProblem("the connection broke, and the answer could not be taken up again")
            time.sleep(pause)


class _Question:
    """One question on its way, over as many connections as it takes."""

    def __init__(self, http: httpx.Client, body: dict[str, Any]) -> None:
        self._http = http
        self._asking = {
            "method": "POST",
            "url": "/v1/questions",
            "json": body,
            "headers": {"Idempotency-Key": f"{uuid4()}"},
        }
        self._id: str | None = None
        self._last = ""
        self.has_ended = False

    def read(self) -> Iterator[ServerSentEvent]:
        """What one connection brings."""
        try:
            with connect_sse(self._http, **self._request()) as source:
                _check(source.response)
                self._id = source.response.headers["X-Question-Id"]
                for event in source.iter_sse():
                    self._last = event.id or self._last
                    self.has_ended = event.event in {"done", "error"}
                    yield event
        except httpx.ConnectError as error:
            if self._id is None:
                raise ServiceProblem(f"can't reach {self._http.base_url}: {error}") from error
        except httpx.TransportError:
            return
        except ServiceProblem as problem:
            if self._id is None or problem.status not in PASSING:
                raise

    def _request(self) -> dict[str, Any]:
        if self._id is None:
            return self._asking
        headers = {"Last-Event-ID": self._last} if self._last else {}
        return {"method": "GET", "url": f"/v1/questions/{self._id}/events", "headers": headers}


def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    body = response.read()
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        raise ServiceProblem(f"HTTP {response.status_code}", response.status_code) from None
    raise ServiceProblem(_in_words(problem), problem.status)


def _in_words(problem: Problem) -> str:
    if problem.retry_after is None:
        return ": ".join(filter(None, (problem.title, problem.detail)))
    reason = (problem.detail or problem.title).rstrip(".")
    return f"{reason}; try again in {problem.retry_after} s"
