"""Keys under a master key."""

import pytest
from cryptography.fernet import Fernet

from citewire.runtime.sealing import ForeignSealError, MasterKeyError, Sealer

KEY = "sk-very-secret-0123456789"
ORIGIN = "https://models.example:443"
OLD, NEW = "b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZC0=", Fernet.generate_key().decode()


def test_a_sealed_key_opens_and_does_not_show_the_key() -> None:
    sealed = Sealer(OLD).seal(KEY, "main", ORIGIN)

    assert Sealer(OLD).open(sealed, "main", ORIGIN) == KEY
    assert KEY not in sealed


def test_the_same_key_is_never_sealed_alike() -> None:
    assert Sealer(OLD).seal(KEY, "main", ORIGIN) != Sealer(OLD).seal(KEY, "main", ORIGIN)


@pytest.mark.parametrize(("name", "origin"), [("other", ORIGIN), ("main", "https://evil.example:443")])
def test_a_sealed_key_opens_for_nothing_but_its_own_provider_and_host(name: str, origin: str) -> None:
    sealed = Sealer(OLD).seal(KEY, "main", ORIGIN)

    with pytest.raises(ForeignSealError):
        Sealer(OLD).open(sealed, name, origin)


def test_after_a_rotation_old_seals_open_and_new_ones_need_the_new_master_key() -> None:
    rotating = Sealer(f"{NEW}, {OLD}")
    old_seal, new_seal = Sealer(OLD).seal(KEY, "main", ORIGIN), rotating.seal(KEY, "main", ORIGIN)

    assert rotating.open(old_seal, "main", ORIGIN) == Sealer(NEW).open(new_seal, "main", ORIGIN) == KEY


def test_another_master_key_opens_nothing() -> None:
    sealed = Sealer(OLD).seal(KEY, "main", ORIGIN)

    with pytest.raises(MasterKeyError):
        Sealer(NEW).open(sealed, "main", ORIGIN)


@pytest.mark.parametrize("sealed", ["", "x", "密", "gAAAAA" + "A" * 100])
def test_what_is_no_seal_does_not_open(sealed: str) -> None:
    with pytest.raises(MasterKeyError):
        Sealer(OLD).open(sealed, "main", ORIGIN)


@pytest.mark.parametrize("master", ["", " , "])
def test_without_a_master_key_nothing_is_sealed_or_opened(master: str) -> None:
    sealer = Sealer(master)

    assert (sealer.is_ready, sealer.is_malformed) == (False, False)
    with pytest.raises(MasterKeyError):
        sealer.seal(KEY, "main", ORIGIN)
    with pytest.raises(MasterKeyError):
        sealer.open("sealed", "main", ORIGIN)


@pytest.mark.parametrize("master", ["short", "密钥", "A" * 43, f"{OLD},short", "A" * 64])
def test_a_master_key_that_is_none_is_noticed(master: str) -> None:
    sealer = Sealer(master)

    assert (sealer.is_ready, sealer.is_malformed) == (False, True)


def test_a_master_key_in_the_other_base64_is_one() -> None:
    standard = "+" * 21 + "/" * 21 + "8="

    assert Sealer(standard).is_ready
