"""`citewire kb`: knowledge bases and their documents."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.kb_settings import Given, metadata_of
from citewire.cli.kb_tables import contexts_text, document_table, kb_table, settings_table
from citewire.cli.option_group import takes
from citewire.cli.options import Key, Url, connect
from citewire.contracts.knowledge import Access, Contexts, Document, DocumentStatus, Embedding, KnowledgeBase
from citewire.contracts.retrieval import RetrievalSettings

app = typer.Typer(no_args_is_help=True, help="Knowledge bases and their documents.")
console = Console(highlight=False, markup=False)


@app.command("list")
def list_kbs(
    kb_id: Annotated[str | None, typer.Argument(help="Show the documents of this one.")] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """List knowledge bases, or the documents of one."""
    with connect(url, key) as client:
        console.print(kb_table(client.knowledge_bases()) if kb_id is None else document_table(client.documents(kb_id)))


@app.command()
@takes(Given)
def create(
    kb_id: Annotated[str, typer.Argument(help="Lower-case letters, digits, - and _.")],
    given: Given,
    url: Url = None,
    key: Key = None,
) -> None:
    """Create a knowledge base."""
    given = replace(given, title=given.title or kb_id)
    with connect(url, key) as client:
        client.call("POST", "/v1/kbs", json={"kb_id": kb_id, **given.body(Access(), RetrievalSettings())})
    console.print(f"created {kb_id}")


@app.command()
@takes(Given)
def update(kb_id: str, given: Given, url: Url = None, key: Key = None) -> None:
    """Change settings of a knowledge base: those that are given."""
    with connect(url, key) as client:
        kb = client.read(KnowledgeBase, "GET", f"/v1/kbs/{kb_id}")
        client.call("PATCH", f"/v1/kbs/{kb_id}", json=given.body(kb.access, kb.retrieval))
    console.print(f"updated {kb_id}")


@app.command()
def show(kb_id: str, url: Url = None, key: Key = None) -> None:
    """Show a knowledge base's settings, and how far it is embedded and summarised."""
    with connect(url, key) as client:
        kb = client.read(KnowledgeBase, "GET", f"/v1/kbs/{kb_id}")
        embedding = client.read(Embedding, "GET", f"/v1/kbs/{kb_id}/embedding")
        contexts = client.read(Contexts, "GET", f"/v1/kbs/{kb_id}/contexts")
    console.print(settings_table(kb, embedding, contexts))


@app.command()
def summarise(kb_id: str, url: Url = None, key: Key = None) -> None:
    """Have a model summarise the documents that have plain headers, in the background; each costs tokens."""
    with connect(url, key) as client:
        contexts = client.read(Contexts, "POST", f"/v1/kbs/{kb_id}/contexts")
    console.print(f"headers of {kb_id}: {contexts_text(contexts) or 'no documents'}")


@app.command()
def add(
    kb_id: str,
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files, or folders of files.")],
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", metavar="FIELD=VALUE", help="Metadata of each; repeatable.")
    ] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Add documents; a file of the same name becomes a new version."""
    with connect(url, key) as client:
        schema = client.read(KnowledgeBase, "GET", f"/v1/kbs/{kb_id}").metadata_schema if metadata else {}
        failed = add_files(client, kb_id, _files(paths), metadata_of(metadata or (), schema))
    for name, reason in failed:
        typer.echo(f"citewire: {name}: {reason}", err=True)
    if failed:
        raise typer.Exit(1)


@app.command()
def remove(
    kb_id: str,
    file_name: Annotated[str | None, typer.Argument(help="Remove this document instead of all.")] = None,
    url: Url = None,
    key: Key = None,
) -> None:
    """Remove a document, or the whole knowledge base."""
    with connect(url, key) as client:
        if file_name is None:
            client.call("DELETE", f"/v1/kbs/{kb_id}")
        else:
            client.call("DELETE", f"/v1/kbs/{kb_id}/documents/{_find(client, kb_id, file_name).doc_id}")
    console.print(f"removed {file_name or kb_id}")


def add_files(
    client: Client, kb_id: str, files: list[Path], metadata: Mapping[str, Any] | None = None
) -> list[tuple[str, str]]:
    """Upload files and wait for each, with a progress bar; the names and reasons of those that failed."""
    failed: list[tuple[str, str]] = []
    added: list[Document] = []
    with Progress(*_columns(), console=Console(stderr=True, markup=False, highlight=False)) as progress:
        task = progress.add_task(kb_id, total=len(files))
        for path in files:
            progress.update(task, description=_label(kb_id, path.name))
            outcome = _add_one(client, kb_id, path, metadata or {})
            if isinstance(outcome, Document):
                added.append(outcome)
            else:
                failed.append((path.name, outcome))
            progress.advance(task)
        progress.update(task, description=kb_id)
        _watch_summaries(client, [document for document in added if document.contextual.is_pending], progress)
    return failed


def _watch_summaries(client: Client, documents: list[Document], progress: Progress) -> None:
    """A bar of its own for what a model is asked; the documents can be searched meanwhile."""
    if not documents:
        return
    task = progress.add_task("summaries", total=len(documents))
    for document in documents:
        progress.update(task, description=_label("summaries", document.file_name))
        try:
            reason = client.wait_until_summarised(document).contextual.reason
        except ServiceProblem as problem:
            reason = str(problem)
        if reason is not None:
            progress.console.print(f"{document.file_name}: {reason}")
        progress.advance(task)
    progress.update(task, description="summaries")


def _label(what: str, file_name: str) -> str:
    return f"{what}: {file_name}".replace("[", r"\[")


def _columns() -> tuple[ProgressColumn, ...]:
    return SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()


def _add_one(client: Client, kb_id: str, path: Path, metadata: Mapping[str, Any]) -> Document | str:
    """The document as it is searched, or why it is not."""
    try:
        document = client.wait_until_settled(client.upload(kb_id, path, metadata))
    except (ServiceProblem, OSError) as error:
        return str(error)
    return document.reason or "failed" if document.status is DocumentStatus.FAILED else document


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        files += [file for file in inside if not file.name.startswith(".")]
    return files


def _find(client: Client, kb_id: str, file_name: str) -> Document:
    for document in client.documents(kb_id):
        if document.file_name == file_name:
            return document
    raise ServiceProblem(f"{kb_id} has no document {file_name}")
