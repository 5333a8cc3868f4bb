"""`citewire dead-letters`: messages that no service could handle."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from citewire.cli.client import Client
from citewire.cli.options import Key, Url, connect
from citewire.contracts.dead_letters import DeadLetter, DeadLetterPage
from citewire.contracts.requests import Retried

app = typer.Typer(no_args_is_help=True, help="Messages that no service could handle, for administrators.")
console = Console(highlight=False, markup=False)

PATH = "/v1/dead-letters"
Number = Annotated[int, typer.Argument(help="As `dead-letters list` shows it.")]


@app.command("list")
def list_letters(url: Url = None, key: Key = None) -> None:
    """List them, oldest first."""
    table = Table("number", "set aside", "consumer", "subject", "tries", "reason")
    with connect(url, key) as client:
        for letter in _letters(client):
            at = letter.set_aside_at.isoformat(" ", "seconds")
            tries = str(letter.deliveries)
            table.add_row(str(letter.sequence), at, letter.consumer, letter.subject, tries, letter.reason)
    console.print(table)


def _letters(client: Client) -> Iterator[DeadLetter]:
    cursor: str | None = "0"
    while cursor is not None:
        page = client.read(DeadLetterPage, "GET", PATH, params={"cursor": cursor})
        yield from page.letters
        cursor = page.next_cursor


@app.command()
def show(number: Number, url: Url = None, key: Key = None) -> None:
    """Print the message itself."""
    with connect(url, key) as client:
        letter = client.read(DeadLetter, "GET", f"{PATH}/{number}")
    typer.echo(letter.payload)


@app.command()
def retry(number: Number, url: Url = None, key: Key = None) -> None:
    """Let its consumer handle it once more."""
    with connect(url, key) as client:
        retried = client.read(Retried, "POST", f"{PATH}/{number}/retry")
    console.print(f"handled {number}" if retried.is_handled else f"{number} is still being handled")


@app.command()
def drop(number: Number, url: Url = None, key: Key = None) -> None:
    """Drop it unhandled."""
    with connect(url, key) as client:
        client.call("DELETE", f"{PATH}/{number}")
    console.print(f"dropped {number}")
