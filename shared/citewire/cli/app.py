"""The `citewire` command; other distributions add commands through the entry point `citewire.commands`."""

from importlib.metadata import entry_points

import typer

from citewire.cli import kb, key
from citewire.cli.ask import ask


def main() -> None:
    """Run the command line."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        help="Answers from several knowledge bases, streamed, every citation proved.",
    )
    app.command()(ask)
    app.add_typer(kb.app, name="kb")
    app.add_typer(key.app, name="key")
    for command in entry_points(group="citewire.commands"):
        app.command(command.name)(command.load())
    app(prog_name="citewire")
