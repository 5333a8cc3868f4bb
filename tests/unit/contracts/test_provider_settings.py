"""What an administrator may set of a provider, and what is shown of it."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from citewire.contracts.providers import MIN_HINTED_KEY, Provider, ProviderChanges, ProviderSettings, hint_of

KEY = "sk-very-secret-0123456789"


def provider(address: str = "https://models.example/v1", **fields: Any) -> Provider:
    return Provider(name="main", address=address, **fields)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://models.example/v1",
        "https://models.example:8443/compatible-mode/v1/",
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "http://model_server/v1",
    ],
)
def test_the_root_of_an_interface_is_an_address(address: str) -> None:
    assert ProviderSettings(address=address).address == address


@pytest.mark.parametrize(
    "address",
    [
        "models.example/v1",
        "ftp://models.example/v1",
        "https://",
        "https:///v1",
        "https://user:word@models.example/v1",
        "https://models.example@evil.example/v1",
        "https://models.example\\@evil.example/v1",
        "https://models.example/v1?key=1",
        "https://models.example/v1#part",
        "https://models.example:0/v1",
        "https://models.example:70000/v1",
        "https://models.example:port/v1",
        "https://models .example/v1",
        "https://models.example/v1\n",
        "https://模型.example/v1",
        "https://[::1/v1",
        "https://[1:2]/v1",
        "HTTPS://models.example/v1",
        "https://" + "a" * 2000,
    ],
)
def test_anything_else_is_no_address(address: str) -> None:
    with pytest.raises(ValidationError):
        ProviderSettings(address=address)


@pytest.mark.parametrize("key", ["two words", "line\n", "\u00e9" * 20, "密钥", "\x00", "\x7f", "k" * 1001])
def test_a_key_that_no_header_could_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ProviderChanges(key=key)

    assert key not in str(caught.value)


def test_a_key_shows_in_no_form_of_the_changes() -> None:
    sent = ProviderChanges(key=KEY)

    assert KEY not in f"{sent!r} {sent} {sent.model_dump()} {sent.model_dump_json()}"


@pytest.mark.parametrize("name", ["", "Main", "../keys", "a.b", "a b", "a*", ">", "-a", "a" * 65, "a\n", "名"])
def test_a_hostile_name_is_none(name: str) -> None:
    with pytest.raises(ValidationError):
        Provider(name=name)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="adress"):
        ProviderChanges.model_validate({"adress": "https://models.example/v1"})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0, -1, 61])
def test_a_duration_must_be_in_its_range(value: float) -> None:
    with pytest.raises(ValidationError):
        ProviderSettings.model_validate({"connect_timeout": value})


def test_durations_are_written_as_seconds_and_read_again() -> None:
    written = provider(total_timeout=90.5).model_dump_json()

    assert json.loads(written)["total_timeout"] == 90.5
    assert Provider.model_validate_json(written) == provider(total_timeout=90.5)


@pytest.mark.parametrize(
    "other", ["https://MODELS.example/v2", "https://models.example:443/v1", "https://models.example"]
)
def test_the_same_host_is_the_same_origin(other: str) -> None:
    assert provider(other).origin == provider().origin


@pytest.mark.parametrize(
    "other", ["", "http://models.example/v1", "https://models.example:8443/v1", "https://models.example.evil/v1"]
)
def test_another_scheme_host_or_port_is_another_origin(other: str) -> None:
    assert provider(other).origin != provider().origin


def test_a_long_key_is_shown_by_its_end_and_a_short_one_not_at_all() -> None:
    assert hint_of("k" * (MIN_HINTED_KEY - 4) + "last") == "…last"
    assert hint_of("k" * (MIN_HINTED_KEY - 1)) == "…"


@pytest.mark.parametrize("address", ["http://models.example/v1", "http://10.0.0.1/v1", "http://localhost.example/v1"])
def test_plain_http_to_another_machine_is_warned_of(address: str) -> None:
    assert provider(address).warnings() == ("the key travels unencrypted",)


@pytest.mark.parametrize(
    "address", ["", "https://10.0.0.1/v1", "http://127.0.0.2/v1", "http://[::1]/v1", "http://localhost/v1"]
)
def test_what_nobody_can_read_on_the_way_is_not_warned_of(address: str) -> None:
    assert provider(address).warnings() == ()


def test_a_context_that_leaves_no_room_for_evidence_is_warned_of() -> None:
    small = provider("https://model.example/v1").model_copy(update={"context_tokens": 4096})

    assert small.warnings() == ("the context is small",)
