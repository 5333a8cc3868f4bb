"""`citewire eval`: how good retrieval is, measured on a test set through the running service."""

import contextlib
import secrets
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.eval_report import Asked, Report, figure_table, figures, time_table, times
from citewire.cli.eval_set import JudgedQuery, Upload, read_queries, read_uploads
from citewire.cli.options import Key, Url, connect
from citewire.contracts.knowledge import (
    BUNDLED_EMBEDDER,
    NO_EMBEDDER,
    DocumentStatus,
    Embedding,
    KnowledgeBase,
    NewKnowledgeBase,
)
from citewire.contracts.requests import MAX_CONTEXT, DocumentList, SearchReply

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Measure how good the service is.")
console = Console(highlight=False, markup=False)

POLL_INTERVAL = 1.0
# Seconds without a further vector after which what stops the embedder is taken for final.
PATIENCE = 60.0
LONGEST_QUERY = 4000


@app.callback()
def main() -> None:
    """Measure how good the service is."""


@app.command()
def retrieval(  # noqa: PLR0913, PLR0917 - one argument per option
    folder: Annotated[Path, typer.Option("--set", exists=True, file_okay=False, help="The test set's folder.")],
    queries_from: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Ask the queries of this set, which has them by the same ids."),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Ask with the earlier questions (metadata.history).")
    ] = False,
    where: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE", help="Ask only queries whose metadata says so.")
    ] = None,
    filter_by: Annotated[
        str | None,
        typer.Option(metavar="FIELD=KEY", help="Search only documents whose FIELD is the query's metadata KEY."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only so many queries.")] = None,
    embedder: Annotated[str, typer.Option(help="A name that is set up, or none for words alone.")] = BUNDLED_EMBEDDER,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the knowledge base there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Fill a knowledge base of its own with a test set, search it, and compare with what is relevant.

    The set's folder holds corpus.jsonl, queries.jsonl and qrels.tsv. A document's rank is that of its best chunk.
    """
    with connect(url, key) as client:
        uploads, queries = read_uploads(folder), _chosen(read_queries(folder, queries_from), where)[:limit]
        with _knowledge_base(client, folder.resolve().name, embedder, keep=keep) as kb_id:
            report = _evaluate(
                client, kb_id, uploads, [_question(query, filter_by, history=history) for query in queries]
            )
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        _print(folder.resolve().name, report)


@contextlib.contextmanager
def _knowledge_base(client: Client, name: str, embedder: str, *, keep: bool) -> Generator[str]:
    """A private knowledge base for the block; a kept one is named afterwards."""
    slug = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower())[:40]
    kb_id = f"eval-{slug}-{secrets.token_hex(4)}"
    new = NewKnowledgeBase(kb_id=kb_id, title=f"Evaluation: {name[:100]}", embedder=embedder)
    client.call("POST", "/v1/kbs", json={**new.model_dump(mode="json"), "access": {"everyone": False}})
    try:
        yield kb_id
    finally:
        if keep:
            typer.echo(f"kept {kb_id}", err=True)
        else:
            client.call("DELETE", f"/v1/kbs/{kb_id}")


@dataclass(frozen=True)
class _Question:
    """A query and the body of the search for it."""

    query: JudgedQuery
    body: dict[str, Any]


def _chosen(queries: Sequence[JudgedQuery], where: str | None) -> list[JudgedQuery]:
    if where is None:
        return list(queries)
    key, value = _pair(where)
    return [query for query in queries if str(query.metadata.get(key)) == value]


def _question(query: JudgedQuery, filter_by: str | None, *, history: bool) -> _Question:
    body: dict[str, Any] = {"query": query.text[:LONGEST_QUERY], "explain": True}
    if history:
        body["context"] = [text[:LONGEST_QUERY] for text in query.context[-MAX_CONTEXT:]]
    if filter_by is not None:
        field, key = _pair(filter_by)
        body["filter"] = {"field": field, "operator": "equals", "value": query.metadata.get(key)}
    return _Question(query, body)


def _pair(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE")
    return left, right


def _evaluate(client: Client, kb_id: str, uploads: Sequence[Upload], queries: Sequence[_Question]) -> Report:
    with _progress() as progress:
        for upload in _counted(progress, "upload", uploads):
            file = {"file": (upload.file_name, upload.data)}
            client.call("POST", f"/v1/kbs/{kb_id}/documents", files=file)
        _wait_until_searchable(client, kb_id, len(uploads), progress)
        documents = list(client.documents(kb_id))
        asked = [_ask(client, kb_id, query) for query in _counted(progress, "search", queries)]
    return Report(
        documents=len(documents),
        failed=sum(document.status is DocumentStatus.FAILED for document in documents),
        chunks=sum(document.chunks for document in documents),
        queries=len(queries),
        figures=figures(asked, {upload.file_name: upload.document for upload in uploads}),
        times=times(asked),
    )


def _wait_until_searchable(client: Client, kb_id: str, documents: int, progress: Progress) -> None:
    """Until every document is settled; raises ServiceProblem if the embedder gets no further."""
    read, embedded = progress.add_task("read", total=documents), progress.add_task("embed", total=None)
    done, since = -1, time.monotonic()
    while True:
        kb = client.read(KnowledgeBase, "GET", f"/v1/kbs/{kb_id}")
        embedding = client.read(Embedding, "GET", f"/v1/kbs/{kb_id}/embedding")
        progress.update(read, completed=kb.documents)
        progress.update(embedded, completed=embedding.chunks, total=kb.chunks)
        waiting = [DocumentStatus.SUBMITTED, DocumentStatus.PARSING]
        if kb.embedder != NO_EMBEDDER:
            waiting.append(DocumentStatus.INDEXED)
        if not any(_has_documents(client, kb_id, status) for status in waiting):
            return
        if embedding.chunks > done:
            done, since = embedding.chunks, time.monotonic()
        if embedding.reason is not None and time.monotonic() - since > PATIENCE:
            raise ServiceProblem(embedding.reason)
        time.sleep(POLL_INTERVAL)


def _has_documents(client: Client, kb_id: str, status: DocumentStatus) -> bool:
    params = {"status": status.value, "limit": 1}
    return bool(client.read(DocumentList, "GET", f"/v1/kbs/{kb_id}/documents", params=params).documents)


def _ask(client: Client, kb_id: str, question: _Question) -> Asked:
    started = time.perf_counter()
    response = client.call("POST", f"/v1/kbs/{kb_id}/search", json=question.body)
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Asked(question.query, SearchReply.model_validate_json(response.content), elapsed_ms)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True))


def _counted(progress: Progress, name: str, items: Sequence[T]) -> Iterable[T]:
    return progress.track(items, total=len(items), description=name)


def _print(name: str, report: Report) -> None:
    console.print(f"{name}: {report.queries} queries, {report.documents} documents, {report.chunks} chunks")
    console.print(figure_table(report))
    console.print(time_table(report))
    if report.failed:
        console.print(f"{report.failed} documents could not be read")
