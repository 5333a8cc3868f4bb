"""Options that several commands have, and the connection that they make."""

import contextlib
from collections.abc import Generator
from typing import Annotated

import typer

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.connection import ClientSettings

Url = Annotated[str | None, typer.Option("--url", help="The service's address [env: CITEWIRE_URL].")]
Key = Annotated[str | None, typer.Option("--key", help="An API key [env: CITEWIRE_KEY].")]


@contextlib.contextmanager
def connect(url: str | None, key: str | None) -> Generator[Client]:
    """A client for the block; what the service refuses becomes a message and exit code 1."""
    settings = ClientSettings()
    with Client(url or settings.resolved_url(), key or settings.resolved_key()) as client:
        try:
            yield client
        except ServiceProblem as problem:
            typer.echo(f"citewire: {problem}", err=True)
            raise typer.Exit(1) from None
