"""What becomes of a provider when an administrator changes it."""

from typing import Any

import pytest
from cryptography.fernet import Fernet

from citewire.contracts.providers import Provider, ProviderChanges
from citewire.runtime.errors import Refusal
from citewire.runtime.sealing import MasterKeyError, Sealer
from gateway.provider_settings import changed, changed_fields, replaced

KEY = "sk-very-secret-0123456789"
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
SEALER = Sealer(OLD)
ADDRESS = "https://models.example/v1"


def sent(**fields: Any) -> ProviderChanges:
    return ProviderChanges.model_validate(fields)


def main_provider(**fields: Any) -> Provider:
    return replaced("main", None, sent(address=ADDRESS, model="large", key=KEY, **fields), SEALER)


def key_of(provider: Provider, sealer: Sealer = SEALER) -> str:
    return sealer.open(provider.sealed_key, provider.name, provider.origin)


def test_a_new_provider_has_what_was_sent_and_else_the_defaults() -> None:
    provider = replaced("main", None, sent(model="large", enabled=True), SEALER)

    assert provider == Provider(name="main", model="large", enabled=True, revision=1)


def test_a_key_is_kept_sealed_and_hinted_at() -> None:
    provider = main_provider()

    assert (key_of(provider), provider.key_hint) == (KEY, "…6789")
    assert KEY not in provider.model_dump_json()


def test_replacing_takes_the_defaults_of_what_is_left_out_and_keeps_the_key() -> None:
    after = replaced("main", main_provider(max_retries=3), sent(address=ADDRESS, model="small"), SEALER)

    assert (after.model, after.max_retries, after.revision, key_of(after)) == ("small", 1, 2, KEY)


def test_changing_leaves_what_is_left_out() -> None:
    after = changed(main_provider(max_retries=3, temperature=0.5), sent(model="small", temperature=None), SEALER)

    assert (after.model, after.max_retries, after.temperature, key_of(after)) == ("small", 3, None, KEY)


def test_the_key_stays_when_the_address_changes_on_the_same_host() -> None:
    after = changed(main_provider(), sent(address="https://MODELS.example:443/v2"), SEALER)

    assert (key_of(after), after.key_hint) == (KEY, "…6789")


@pytest.mark.parametrize(
    "address", ["https://evil.example/v1", "http://models.example/v1", f"{ADDRESS[:-3]}:8443/v1", ""]
)
def test_the_key_is_dropped_when_the_address_names_another_host(address: str) -> None:
    for after in (
        changed(main_provider(), sent(address=address), SEALER),
        replaced("main", main_provider(), sent(address=address, model="large"), SEALER),
    ):
        assert (after.sealed_key, after.key_hint) == ("", "")
        assert "key" in after.missing()


def test_a_dropped_key_does_not_come_back_with_the_address() -> None:
    elsewhere = changed(main_provider(), sent(address="https://evil.example/v1"), SEALER)

    back = changed(elsewhere, sent(address=ADDRESS), SEALER)

    assert back.missing() == ("key",)


def test_a_new_key_may_come_with_a_new_host() -> None:
    after = changed(main_provider(), sent(address="https://other.example/v1", key="another-key-of-some-length"), SEALER)

    assert (key_of(after), after.key_hint) == ("another-key-of-some-length", "…ngth")


def test_an_empty_key_removes_the_one_that_is_there() -> None:
    after = changed(main_provider(), sent(key=""), SEALER)

    assert (after.sealed_key, after.key_hint) == ("", "")


def test_a_key_without_a_master_key_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        replaced("main", None, sent(key=KEY), Sealer(""))

    assert caught.value.problem.status == 409
    assert KEY not in caught.value.problem.model_dump_json()


def test_other_settings_can_be_changed_while_the_master_key_is_lost() -> None:
    before = main_provider()

    after = changed(before, sent(model="small"), Sealer(""))

    assert (after.model, after.sealed_key) == ("small", before.sealed_key)


def test_saving_seals_the_key_with_the_newest_master_key() -> None:
    after = changed(main_provider(), sent(), Sealer(f"{NEW},{OLD}"))

    assert key_of(after, Sealer(NEW)) == KEY
    with pytest.raises(MasterKeyError):
        key_of(after, Sealer(OLD))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"model": "large"}, []),
        ({"model": "small", "enabled": True}, ["model", "enabled"]),
        ({"key": KEY}, ["key"]),
        ({"key": ""}, ["key"]),
        ({"address": "https://evil.example/v1"}, ["address", "key"]),
    ],
)
def test_the_fields_that_differ_are_named(change: dict[str, Any], fields: list[str]) -> None:
    before, body = main_provider(), sent(**change)

    assert changed_fields(before, changed(before, body, SEALER), body) == fields
