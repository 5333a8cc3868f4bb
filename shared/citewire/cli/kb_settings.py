"""From command-line options to a knowledge base's settings and a document's metadata."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from citewire.contracts.filters import FieldType
from citewire.contracts.knowledge import Access
from citewire.contracts.retrieval import RetrievalMode, RetrievalSettings


@dataclass(frozen=True)
class Given:
    """What was given of the settings; None is left as it is."""

    title: Annotated[str | None, typer.Option(help="Default of a new one: its id.")] = None
    description: Annotated[str | None, typer.Option()] = None
    language: Annotated[str | None, typer.Option(help="For example en or zh.")] = None
    owner: Annotated[str | None, typer.Option(help="A user who manages it beside the administrators.")] = None
    everyone: Annotated[
        bool | None,
        typer.Option("--everyone/--private", help="Who may read it: everyone, or its owner and those named below."),
    ] = None
    users: Annotated[
        list[str] | None, typer.Option("--user", help="Who may read it; repeatable. Makes it private by itself.")
    ] = None
    groups: Annotated[list[str] | None, typer.Option("--group", help="The same for a group of users; repeatable.")] = (
        None
    )
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--schema", metavar="FIELD=TYPE", help=f"A metadata field: {', '.join(FieldType)}; repeatable, all of them."
        ),
    ] = None
    mode: Annotated[RetrievalMode | None, typer.Option(help="What a search gives.")] = None
    embedder: Annotated[str | None, typer.Option(help="A name that is set up; e5 and none always are.")] = None
    reranker: Annotated[str | None, typer.Option(help="A name that is set up; empty for none.")] = None

    def body(self, access: Access, retrieval: RetrievalSettings) -> dict[str, Any]:
        """The changes as the gateway takes them; settings that are sent as a whole start from those given here."""
        changes = {
            "title": self.title,
            "description": self.description,
            "language": self.language,
            "owner": self.owner,
            "access": self._access(access),
            "metadata_schema": None if self.fields is None else schema_of(self.fields),
            "retrieval": None if self.mode is None else retrieval.model_copy(update={"mode": self.mode}).model_dump(),
            "embedder": self.embedder,
            "reranker": self.reranker,
        }
        return {name: value for name, value in changes.items() if value is not None}

    def _access(self, before: Access) -> dict[str, Any] | None:
        if self.everyone is None and self.users is None and self.groups is None:
            return None
        return {
            "everyone": self.everyone or False,
            "users": before.users if self.users is None else self.users,
            "groups": before.groups if self.groups is None else self.groups,
        }


def schema_of(pairs: Iterable[str]) -> dict[str, str]:
    """A metadata schema from `field=type` pairs."""
    return dict(_split(pair, "--schema") for pair in pairs)


def metadata_of(pairs: Iterable[str], schema: Mapping[str, FieldType]) -> dict[str, str | float | bool]:
    """Metadata from `field=value` pairs, each value of its field's type."""
    return {name: _typed(text, schema.get(name)) for name, text in (_split(pair, "--metadata") for pair in pairs)}


def _split(pair: str, option: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise typer.BadParameter(f"{pair!r} lacks a =", param_hint=option)
    return name.strip(), value.strip()


def _typed(text: str, field_type: FieldType | None) -> str | float | bool:
    """The value that a text stands for; one that is none of this type is sent as it is, and refused by the service."""
    if field_type is FieldType.BOOLEAN and text in {"true", "false"}:
        return text == "true"
    if field_type is not FieldType.NUMBER:
        return text
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return text
