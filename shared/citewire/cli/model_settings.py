"""From command-line options to the settings of a model provider."""

import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from citewire.contracts.providers import AnswerForm, Profile, Protocol

ASK_THE_SESSION = "none"

KeyFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="File with the provider's key [env: CITEWIRE_MODEL_KEY]."),
]
KeyFromInput = Annotated[bool, typer.Option("--key-stdin", help="Read the provider's key from standard input.")]
RemoveKey = Annotated[bool, typer.Option("--remove-key", help="Forget the provider's key.")]


class KeySettings(BaseSettings):
    """`CITEWIRE_MODEL_KEY`; an empty one counts as none."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_", frozen=True, extra="ignore", env_ignore_empty=True)

    model_key: SecretStr | None = None


@dataclass(frozen=True)
class Given:
    """What was given of the settings, under the names that the gateway has for them; None is left as it is."""

    address: Annotated[
        str | None, typer.Option(help="Root of the interface, as https://host/v1. Another host drops the key.")
    ] = None
    model: Annotated[str | None, typer.Option(help="Writes answers.")] = None
    auto_query_model: Annotated[str | None, typer.Option(help="Plans searches; empty for --model.")] = None
    fallback_model: Annotated[str | None, typer.Option(help="Plans where that fails; empty for --model.")] = None
    protocol: Annotated[Protocol | None, typer.Option("--protocol", help="Which interface the server has.")] = None
    profile: Annotated[Profile | None, typer.Option("--profile", help="Whose server it is.")] = None
    form: Annotated[AnswerForm | None, typer.Option(help="Text and then quotes, or one JSON object.")] = None
    temperature: Annotated[
        str | None, typer.Option(metavar="NUMBER|none", help="0 to 2, or none to leave it to the session.")
    ] = None
    sends_temperature: Annotated[bool | None, typer.Option(help="Off for models that take no temperature.")] = None
    context_tokens: Annotated[int | None, typer.Option(help="What prompt and answer may have together.")] = None
    max_output_tokens: Annotated[int | None, typer.Option(help="What an answer may have.")] = None
    connect_timeout: Annotated[float | None, typer.Option(help="Seconds until there is a connection.")] = None
    first_token_timeout: Annotated[float | None, typer.Option(help="Seconds until the first token.")] = None
    idle_timeout: Annotated[float | None, typer.Option(help="Seconds between two tokens.")] = None
    total_timeout: Annotated[float | None, typer.Option(help="Seconds for the whole call.")] = None
    max_retries: Annotated[int | None, typer.Option(help="Further tries before the first token.")] = None
    use_for_ask: Annotated[bool | None, typer.Option(help="Answers: questions, history and evidence are sent.")] = None
    use_for_rewrite: Annotated[
        bool | None, typer.Option(help="Plans: questions, history, titles of knowledge bases.")
    ] = None
    use_for_contextual: Annotated[bool | None, typer.Option(help="Ingest: beginnings of documents and sections.")] = (
        None
    )
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Nothing is sent to a disabled one.")] = (
        None
    )

    def body(self) -> dict[str, Any]:
        """The changes as the gateway takes them, but for the key."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value is not None}
        if self.temperature is not None:
            given["temperature"] = _temperature(self.temperature)
        if odd := [name for name, value in given.items() if isinstance(value, float) and not math.isfinite(value)]:
            raise typer.BadParameter(f"{odd[0]} must be a finite number")
        return given


def given_key(file: Path | None, *, from_input: bool, is_removed: bool) -> dict[str, str]:
    """The key as the gateway takes it: from one of these places, empty to remove it; nothing where none was given."""
    if sum((file is not None, from_input, is_removed)) > 1:
        raise typer.BadParameter("choose one of --key-file, --key-stdin and --remove-key")
    if is_removed:
        return {"key": ""}
    if file is not None:
        return {"key": _some_key(file.read_text(encoding="utf-8"), "--key-file")}
    if from_input:
        return {"key": _some_key(sys.stdin.read(), "--key-stdin")}
    key = KeySettings().model_key
    return {} if key is None else {"key": key.get_secret_value().strip()}


def _some_key(text: str, option: str) -> str:
    if not text.strip():
        raise typer.BadParameter("has no key", param_hint=option)
    return text.strip()


def _temperature(text: str) -> float | None:
    if text == ASK_THE_SESSION:
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number", param_hint="--temperature") from None
