"""A client's place in an answer: frames from entries, and whether another text goes on where it is."""

import pytest

from citewire.runtime.answer_log import encode_deltas
from gateway import frames
from gateway.reading import Reading, Sent

SOURCES = 'sources {"sources":[]}'
END = 'end {"status":"finished","persisted":false}'
STORED = 'stored {"status":"finished"}'

TEXTS = ["", "plain", 'quotes " and \\ and /', "\n\r\t\x00\x1f\x7f", "\u2028\u2029", "日本 😀 𝐀", "e\u0301", "\u202e"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_text_goes_on_where_any_beginning_of_it_was_cut(text: str, cut: int) -> None:
    sent = Sent()
    for entry in encode_deltas(list(text[:cut])):
        sent.add(frames.text_in(entry.removeprefix("delta ")))

    assert sent.rest_of(frames.escape_text(text)) == frames.escape_text(text[cut:])


@pytest.mark.parametrize("other", ["", "Anoth", "another text", "An0ther text and more"])
def test_a_text_that_does_not_begin_with_what_was_sent_has_no_rest(other: str) -> None:
    sent = Sent()
    sent.add("Another text")

    assert sent.rest_of(other) is None


def test_many_texts_add_up() -> None:
    sent = Sent()
    for number in range(1000):
        sent.add(f"{number} ")

    assert sent.rest_of("".join(f"{number} " for number in range(1001))) == "1000 "


def test_what_the_client_has_from_an_earlier_stream_is_not_sent_again() -> None:
    reading = Reading(2, is_merged=False)

    chunk = reading.take([*encode_deltas(["a", "b"]), END, STORED])

    assert [line for line in chunk.split("\n") if line.startswith(("id", "event"))] == [
        "id: 3",
        "event: delta",
        "id: 4",
        "event: done",
    ]


def test_an_end_waits_for_the_word_that_it_is_stored() -> None:
    reading = Reading(0, is_merged=False)

    chunk = reading.take([SOURCES, END])

    assert "done" not in chunk
    assert not reading.is_done


def test_a_stored_status_other_than_the_end_refutes_it() -> None:
    reading = Reading(0, is_merged=False)

    reading.take([SOURCES, END, 'stored {"status":"incomplete"}'])

    assert reading.is_refuted
    assert not reading.is_done


def test_deltas_that_follow_are_taken() -> None:
    reading = Reading(0, is_merged=False)
    reading.take([SOURCES])

    assert reading.take_deltas(2, encode_deltas(["a", "b"])) == (
        'id: 2\nevent: delta\ndata: {"text":"a"}\n\nid: 3\nevent: delta\ndata: {"text":"b"}\n\n'
    )
    assert reading.number == 3


@pytest.mark.parametrize(
    ("first", "entries"),
    [(1, encode_deltas(["a"])), (3, encode_deltas(["a"])), (2, [END]), (2, [*encode_deltas(["a"]), END])],
)
def test_of_anything_else_nothing_is_taken(first: int, entries: list[str]) -> None:
    reading = Reading(0, is_merged=False)
    reading.take([SOURCES])

    assert not reading.take_deltas(first, entries)
    assert reading.number == 1


def test_a_merged_stream_takes_no_deltas_by_themselves() -> None:
    reading = Reading(0, is_merged=True)
    reading.take([SOURCES])

    assert not reading.take_deltas(2, encode_deltas(["a"]))


def test_deltas_that_the_client_has_already_are_not_taken() -> None:
    reading = Reading(3, is_merged=False)

    assert not reading.take_deltas(3, encode_deltas(["a"]))
