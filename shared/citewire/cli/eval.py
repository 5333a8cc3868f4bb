"""`citewire eval`: how good retrieval is, measured on a test set through the running service."""

import contextlib
import secrets
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.eval_questions import Question, chosen, question_of
from citewire.cli.eval_report import Asked, Report, figure_table, json_of, report_on, time_table
from citewire.cli.eval_set import Upload, read_queries, read_uploads
from citewire.cli.options import Key, Url, connect
from citewire.contracts.knowledge import (
    BUNDLED_EMBEDDER,
    NO_EMBEDDER,
    Document,
    DocumentStatus,
    Embedding,
    KnowledgeBase,
    NewKnowledgeBase,
)
from citewire.contracts.requests import DocumentList, SearchReply

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="Measure how good the service is.")
console = Console(highlight=False, markup=False)

POLL_INTERVAL = 1.0
# Seconds without a further vector after which what stops the embedder is taken for final.
PATIENCE = 60.0


def _weight(text: str) -> float:
    if text.replace(".", "", 1).isdecimal() and 0 <= (weight := float(text)) <= 1:
        return weight
    raise typer.BadParameter(f"{text!r} is no number from 0 to 1")


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
    dense_weight: Annotated[
        list[float] | None,
        typer.Option(parser=_weight, metavar="W", help="The vectors' share of the score, 0 to 1; repeat to compare."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the knowledge base there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Fill a knowledge base of its own with a test set, search it, and compare with what is relevant.

    The set's folder holds corpus.jsonl, queries.jsonl and qrels.tsv. A document's rank is that of its best chunk.
    """
    with connect(url, key) as client:
        uploads, queries = read_uploads(folder), chosen(read_queries(folder, queries_from), where)[:limit]
        questions = [question_of(query, filter_by, history=history) for query in queries]
        with _knowledge_base(client, folder.resolve().name, embedder, keep=keep) as kb_id:
            reports = _evaluate(client, kb_id, uploads, questions, dense_weight or [None])
    if as_json:
        typer.echo(json_of(reports))
    else:
        for report in reports:
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


def _evaluate(
    client: Client,
    kb_id: str,
    uploads: Sequence[Upload],
    questions: Sequence[Question],
    weights: Sequence[float | None],
) -> list[Report]:
    """A report for each weight of the vectors (None: the knowledge base's own); filled once for all."""
    with _progress() as progress:
        documents = _fill(client, kb_id, uploads, progress)
        names = {upload.file_name: upload.document for upload in uploads}
        reports = []
        for weight in weights:
            dense_weight = _weigh(client, kb_id, weight)
            asked = [_ask(client, kb_id, question) for question in _counted(progress, "search", questions)]
            reports.append(report_on(asked, documents, names, dense_weight))
    return reports


def _fill(client: Client, kb_id: str, uploads: Sequence[Upload], progress: Progress) -> list[Document]:
    for upload in _counted(progress, "upload", uploads):
        file = {"file": (upload.file_name, upload.data)}
        client.call("POST", f"/v1/kbs/{kb_id}/documents", files=file)
    _wait_until_searchable(client, kb_id, len(uploads), progress)
    return list(client.documents(kb_id))


def _weigh(client: Client, kb_id: str, weight: float | None) -> float:
    """The weight that holds from now on: this one, or the knowledge base's own."""
    change: dict[str, Any] = {} if weight is None else {"json": {"retrieval": {"dense_weight": weight}}}
    kb = client.read(KnowledgeBase, "PATCH" if change else "GET", f"/v1/kbs/{kb_id}", **change)
    return kb.retrieval.dense_weight


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


def _ask(client: Client, kb_id: str, question: Question) -> Asked:
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
    console.print(f"dense weight {report.dense_weight}")
    console.print(figure_table(report))
    console.print(time_table(report))
    if report.failed:
        console.print(f"{report.failed} documents could not be read")
