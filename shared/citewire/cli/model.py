"""`citewire model`: providers of language models."""

from typing import Annotated, Any

import typer
from rich.console import Console

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.model_settings import Given, KeyFile, KeyFromInput, RemoveKey, given_key
from citewire.cli.model_tables import provider_table, settings_table, state_of
from citewire.cli.option_group import takes
from citewire.cli.options import Key, Url, connect
from citewire.contracts.providers import ModelSettings, ProviderCheck, ProviderView

app = typer.Typer(no_args_is_help=True, help="Providers of language models, for administrators.")
console = Console(highlight=False, markup=False)

PATH = "/v1/settings/model"
# A provider is asked for at most 30 s before the service says that it did not answer.
CHECK_TIMEOUT = 40.0
NOT_FOUND = 404
Name = Annotated[str, typer.Argument(help="Lower-case letters, digits, - and _.")]


@app.command("list")
def list_providers(url: Url = None, key: Key = None) -> None:
    """List the providers, and what each is asked for."""
    with connect(url, key) as client:
        console.print(provider_table(client.read(ModelSettings, "GET", PATH)))


@app.command("set")
@takes(Given)
def set_provider(  # noqa: PLR0913, PLR0917 - one argument per option
    name: Name,
    given: Given,
    key_file: KeyFile = None,
    key_stdin: KeyFromInput = False,
    remove_key: RemoveKey = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Set up a provider, or change what is given of one that is there.

    Its key comes from a file, from standard input or from CITEWIRE_MODEL_KEY; --key is the service's own.
    """
    body = given.body() | given_key(key_file, from_input=key_stdin, is_removed=remove_key)
    with connect(url, key) as client:
        saved = _save(client, name, body)
    console.print(f"saved {name}: {state_of(saved)}")
    for warning in saved.warnings:
        typer.echo(f"citewire: {warning}", err=True)


@app.command()
def show(name: Name, url: Url = None, key: Key = None) -> None:
    """Show the settings of a provider; of its key no more than its end."""
    with connect(url, key) as client:
        console.print(settings_table(_find(client, name)))


@app.command()
def remove(name: Name, url: Url = None, key: Key = None) -> None:
    """Remove a provider with its key."""
    with connect(url, key) as client:
        client.call("DELETE", f"{PATH}/providers/{name}")
    console.print(f"removed {name}")


@app.command()
def check(name: Name, url: Url = None, key: Key = None) -> None:
    """Ask a provider's model for one word."""
    with connect(url, key) as client:
        answer = client.read(ProviderCheck, "POST", f"{PATH}/providers/{name}/check", timeout=CHECK_TIMEOUT)
    if not answer.ok:
        typer.echo(f"citewire: {answer.problem}", err=True)
        raise typer.Exit(1)
    console.print(f"{name} answered in {answer.elapsed_ms} ms")


def _save(client: Client, name: str, body: dict[str, Any]) -> ProviderView:
    path = f"{PATH}/providers/{name}"
    try:
        return client.read(ProviderView, "PATCH", path, json=body)
    except ServiceProblem as problem:
        if problem.status != NOT_FOUND:
            raise
    return client.read(ProviderView, "PUT", path, json=body)


def _find(client: Client, name: str) -> ProviderView:
    for provider in client.read(ModelSettings, "GET", PATH).providers:
        if provider.name == name:
            return provider
    raise ServiceProblem(f"there is no model provider {name}")
