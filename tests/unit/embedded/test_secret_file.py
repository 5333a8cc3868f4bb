"""Secrets that a local stack keeps."""

import os
import stat
from pathlib import Path

import pytest

from citewire.runtime.sealing import Sealer
from embedded.admin_key import first_admin_key
from embedded.command import _configure
from embedded.master_key import master_key
from embedded.servers import ServerUrls


def test_a_later_start_has_the_same_master_key(tmp_path: Path) -> None:
    first = master_key(tmp_path)

    assert master_key(tmp_path) == first
    assert Sealer(first).is_ready


def test_another_stack_has_another_master_key(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    assert master_key(tmp_path) != master_key(tmp_path / "other")


def test_only_their_owner_may_read_the_secrets(tmp_path: Path) -> None:
    master_key(tmp_path)
    first_admin_key(tmp_path)

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}

    assert modes == {"master.key": 0o600, "admin.key": 0o600}


def test_a_master_key_that_somebody_has_put_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "master.key").write_text("new,old\n", encoding="ascii")

    assert master_key(tmp_path) == "new,old"
    assert (tmp_path / "master.key").read_text(encoding="ascii") == "new,old\n"


def test_the_administrators_key_is_new_once(tmp_path: Path) -> None:
    key, is_new = first_admin_key(tmp_path)

    assert is_new
    assert first_admin_key(tmp_path) == (key, False)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the processes of the roles inherit."""
    variables: dict[str, str] = {}
    monkeypatch.setattr(os, "environ", variables)
    return variables


def test_the_roles_get_the_master_key(tmp_path: Path, environment: dict[str, str]) -> None:
    _configure(ServerUrls("", "", ""), tmp_path, 8700, "key")

    assert environment["CITEWIRE_MASTER_KEY"] == master_key(tmp_path)


def test_an_operators_own_master_key_takes_its_place(tmp_path: Path, environment: dict[str, str]) -> None:
    environment["CITEWIRE_MASTER_KEY"] = "own"

    _configure(ServerUrls("", "", ""), tmp_path, 8700, "key")

    assert environment["CITEWIRE_MASTER_KEY"] == "own"
    assert not (tmp_path / "master.key").exists()
