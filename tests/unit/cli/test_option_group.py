"""A class's fields as the options of a command."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from citewire.cli.option_group import takes

app = typer.Typer()


@dataclass(frozen=True)
class Given:
    colour: Annotated[str, typer.Option(help="Of the paint.")] = "blue"
    coats: Annotated[list[int] | None, typer.Option("--coat")] = None


@app.command()
@takes(Given)
def paint(wall: str, given: Given, dry_run: bool = False) -> None:
    """Paint a wall."""
    typer.echo(f"{wall} {given} {dry_run}")


def output(*arguments: str) -> str:
    return CliRunner().invoke(app, arguments).output


def test_each_field_is_an_option_beside_the_commands_own() -> None:
    painted = output("north", "--colour", "red", "--coat", "1", "--coat", "2", "--dry-run")

    assert painted == f"north {Given('red', [1, 2])} True\n"


def test_an_option_that_is_not_given_has_the_fields_default() -> None:
    assert output("north") == f"north {Given()} False\n"


def test_the_help_has_the_commands_words_and_the_fields() -> None:
    shown = output("--help")

    assert "Paint a wall." in shown
    assert "Of the paint." in shown
    assert "--given" not in shown
