"""What an operator may set for the embedders."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.embedders import open_embedders
from retriever.embedding.settings import BundledSettings, EmbedderSettings, FastembedSettings, OpenAISettings

KEY = "sk-not-to-be-seen"
TEAM = {"kind": "openai", "base_url": "https://models.example/v1", "model": "small", "api_key": KEY}


class Settings(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    embedders: dict[str, EmbedderSettings]


def read(**embedders: dict[str, Any]) -> dict[str, EmbedderSettings]:
    return Settings.model_validate_json(json.dumps({"embedders": embedders})).embedders


def test_the_kind_decides_what_may_be_set() -> None:
    settings = read(team=TEAM, own={"kind": "bundled", "passage_threads": 2}, fast={"kind": "fastembed", "model": "m"})

    assert isinstance(settings["team"], OpenAISettings)
    assert isinstance(settings["own"], BundledSettings)
    assert isinstance(settings["fast"], FastembedSettings)


def test_a_key_is_not_shown() -> None:
    (team,) = read(team=TEAM).values()

    assert KEY not in repr(team)
    assert KEY not in team.model_dump_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "opnai"},
        {"model": ""},
        {"model": None},
        {"base_url": "no address"},
        {"batch_size": 0},
        {"colour": "red"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_mistake_beside_a_key_does_not_show_the_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as raised:
        read(team=TEAM | wrong)

    assert KEY not in str(raised.value)


@pytest.mark.parametrize("key", ["", "two words", "line\n", "schlüssel"])
def test_a_key_that_no_header_takes_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="printable ASCII"):
        read(team=TEAM | {"api_key": key})


async def test_an_embedder_that_is_not_set_is_unavailable(tmp_path: Any) -> None:
    async with open_embedders(read(team=TEAM), tmp_path) as embedders:
        with pytest.raises(EmbedderUnavailable, match="no embedder is called staff"):
            embedders.get("staff")


async def test_the_bundled_embedder_needs_no_settings(tmp_path: Any) -> None:
    async with open_embedders({}, tmp_path) as embedders:
        embedder = embedders.get("e5")

    assert (embedder.name, embedder.dimension) == ("multilingual-e5-small/int8-2", 384)


async def test_nothing_else_is_called_e5(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="bundled"):
        async with open_embedders(read(e5=TEAM), tmp_path):
            pass


async def test_opening_embedders_starts_nothing(tmp_path: Any) -> None:
    async with open_embedders({}, tmp_path):
        assert list(tmp_path.iterdir()) == []
