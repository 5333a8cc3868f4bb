"""`citewire kb`: knowledge bases and their documents."""

from pathlib import Path
from typing import Annotated

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
from rich.table import Table

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.options import Key, Url, connect
from citewire.contracts.knowledge import Document, DocumentStatus

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
        console.print(_kb_table(client) if kb_id is None else _document_table(client, kb_id))


@app.command()
def create(  # noqa: PLR0913, PLR0917 - one argument per option
    kb_id: Annotated[str, typer.Argument(help="Lower-case letters, digits, - and _.")],
    title: Annotated[str | None, typer.Option(help="Default: the id.")] = None,
    description: str = "",
    language: Annotated[str, typer.Option(help="For example en or zh.")] = "",
    url: Url = None,
    key: Key = None,
) -> None:
    """Create a knowledge base."""
    body = {"kb_id": kb_id, "title": title or kb_id, "description": description, "language": language}
    with connect(url, key) as client:
        client.call("POST", "/v1/kbs", json=body)
    console.print(f"created {kb_id}")


@app.command()
def add(
    kb_id: str,
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files, or folders of files.")],
    url: Url = None,
    key: Key = None,
) -> None:
    """Add documents; a file of the same name becomes a new version."""
    with connect(url, key) as client:
        failed = add_files(client, kb_id, _files(paths))
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


def add_files(client: Client, kb_id: str, files: list[Path]) -> list[tuple[str, str]]:
    """Upload files and wait for each, with a progress bar; the names and reasons of those that failed."""
    failed: list[tuple[str, str]] = []
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(kb_id, total=len(files))
        for path in files:
            progress.update(task, description=f"{kb_id}: {path.name}".replace("[", r"\["))
            if (reason := _add_one(client, kb_id, path)) is not None:
                failed.append((path.name, reason))
            progress.advance(task)
        progress.update(task, description=kb_id)
    return failed


def _columns() -> tuple[ProgressColumn, ...]:
    return SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()


def _add_one(client: Client, kb_id: str, path: Path) -> str | None:
    try:
        document = client.wait_until_settled(client.upload(kb_id, path))
    except (ServiceProblem, OSError) as error:
        return str(error)
    return document.reason or "failed" if document.status is DocumentStatus.FAILED else None


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


def _kb_table(client: Client) -> Table:
    table = Table("id", "title", "language", "documents", "chunks")
    for kb in client.knowledge_bases():
        table.add_row(kb.kb_id, kb.title, kb.language, str(kb.documents), str(kb.chunks))
    return table


def _document_table(client: Client, kb_id: str) -> Table:
    table = Table("file", "title", "version", "status", "pages", "chunks")
    for document in client.documents(kb_id):
        state = document.status if document.reason is None else f"{document.status}: {document.reason}"
        table.add_row(
            document.file_name,
            document.title,
            str(document.version),
            state,
            str(document.pages or "–"),
            str(document.chunks),
        )
    return table
