"""What the options of `citewire kb` become."""

from typing import Any

import pytest
import typer

from citewire.cli.kb_settings import Given, metadata_of, schema_of
from citewire.contracts.filters import FieldType
from citewire.contracts.knowledge import Access
from citewire.contracts.retrieval import RetrievalMode, RetrievalSettings

SCHEMA = {"year": FieldType.NUMBER, "public": FieldType.BOOLEAN, "day": FieldType.DATE}


def body(access: Access | None = None, **given: Any) -> dict[str, Any]:
    return Given(**given).body(access or Access(), RetrievalSettings(dense_weight=0.6))


def test_what_is_not_given_is_not_sent() -> None:
    assert body(title="New") == {"title": "New"}


def test_an_empty_value_is_sent() -> None:
    assert body(owner="", reranker="") == {"owner": "", "reranker": ""}


def test_naming_a_reader_makes_it_private() -> None:
    assert body(users=["alice"])["access"] == {"everyone": False, "users": ["alice"], "groups": ()}


def test_readers_that_are_not_named_again_stay() -> None:
    before = Access(everyone=False, users=("alice",), groups=("sales",))

    assert body(before, groups=["hr"])["access"] == {"everyone": False, "users": ("alice",), "groups": ["hr"]}


def test_another_mode_keeps_the_other_retrieval_settings() -> None:
    retrieval = body(mode=RetrievalMode.CHUNKS)["retrieval"]

    assert (retrieval["mode"], retrieval["dense_weight"]) == ("chunks", 0.6)


def test_a_schema_is_read_from_pairs() -> None:
    assert schema_of(["year=number", "team = text"]) == {"year": "number", "team": "text"}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("year=1999", 1999),
        ("year=-1.5", -1.5),
        ("public=true", True),
        ("public=false", False),
        ("day=2026-11-30", "2026-11-30"),
        ("unknown=1999", "1999"),
        ("day=a=b", "a=b"),
    ],
)
def test_metadata_has_the_type_of_its_field(pair: str, value: object) -> None:
    assert list(metadata_of([pair], SCHEMA).values()) == [value]


@pytest.mark.parametrize("pair", ["year=soon", "public=yes"])
def test_a_value_of_another_type_is_left_to_the_service_to_refuse(pair: str) -> None:
    assert list(metadata_of([pair], SCHEMA).values()) == [pair.partition("=")[2]]


def test_a_pair_without_an_equals_sign_is_no_pair() -> None:
    with pytest.raises(typer.BadParameter):
        schema_of(["year"])
