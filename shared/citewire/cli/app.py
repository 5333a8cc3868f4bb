"""The `citewire` command; other distributions add commands through the entry point `citewire.commands`."""

import sys
from importlib.metadata import entry_points

import typer


def main() -> None:
    """Run the command line."""
    commands = entry_points(group="citewire.commands")
    if len(sys.argv) > 1 and sys.argv[1] in commands.names:
        # Alone, so that `up` need not wait for what the others import.
        app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
        app.command()(commands[sys.argv[1]].load())
        app(sys.argv[2:], prog_name=f"citewire {sys.argv[1]}")
    else:
        _run_client()


def _run_client() -> None:
    from citewire.cli import dead_letters, kb, key, model  # noqa: PLC0415
    from citewire.cli import eval as evaluation  # noqa: PLC0415 - see above
    from citewire.cli.ask import ask  # noqa: PLC0415
    from citewire.cli.search import search  # noqa: PLC0415

    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
        help="Answers from several knowledge bases, streamed, every citation proved.",
    )
    app.command()(ask)
    app.command()(search)
    app.add_typer(kb.app, name="kb")
    app.add_typer(key.app, name="key")
    app.add_typer(model.app, name="model")
    app.add_typer(evaluation.app, name="eval")
    app.add_typer(dead_letters.app, name="dead-letters")
    for command in entry_points(group="citewire.commands"):
        app.command(command.name)(command.load())
    app(prog_name="citewire")
