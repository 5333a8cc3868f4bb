"""`citewire key`: who may use the service."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from citewire.cli.options import Key, Url, connect
from citewire.contracts.identity import Role

app = typer.Typer(no_args_is_help=True, help="Keys: who may use the service.")
console = Console(highlight=False, markup=False)


@app.command()
def create(  # noqa: PLR0913, PLR0917 - one argument per option
    user: str,
    role: Role = Role.USER,
    group: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    label: str = "",
    url: Url = None,
    key: Key = None,
) -> None:
    """Make a key for a user; it is shown once."""
    body = {"user": user, "role": role, "groups": group or [], "label": label}
    with connect(url, key) as client:
        created = client.call("POST", "/v1/keys", json=body).json()
    typer.echo(created["key"])


@app.command("list")
def list_keys(url: Url = None, key: Key = None) -> None:
    """List keys, newest first; the keys themselves can't be shown."""
    table = Table("id", "user", "role", "groups", "label", "created")
    with connect(url, key) as client:
        for entry in client.call("GET", "/v1/keys").json()["keys"]:
            user = entry["user"]
            groups = ", ".join(user["groups"])
            table.add_row(entry["key_id"], user["user_id"], user["role"], groups, entry["label"], entry["created_at"])
    console.print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="As `key list` shows it.")], url: Url = None, key: Key = None
) -> None:
    """Revoke a key; browsers that signed in with it are signed out."""
    with connect(url, key) as client:
        client.call("DELETE", f"/v1/keys/{key_id}")
    console.print(f"revoked {key_id}")
