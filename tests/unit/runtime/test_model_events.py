import pytest

from citewire.runtime.model.events import LONGEST_EVENT, EventReader, NotAnEventStreamError

STREAM = b': hello\nevent: delta\nid: 7\nretry: 5\ndata: {"a":1}\n\ndata:{"b":\ndata:  2}\n\n: \r\ndata: [DONE]\r\n\r\n'
DATA = [b'{"a":1}', b'{"b":\n 2}', b"[DONE]"]


def read(*chunks: bytes) -> list[bytes]:
    reader = EventReader()
    return [data for chunk in chunks for data in reader.feed(chunk)]


def test_the_data_of_each_event_comes_without_names_and_comments():
    assert read(STREAM) == DATA


def test_every_split_gives_the_same_events():
    for cut in range(len(STREAM) + 1):
        assert read(STREAM[:cut], STREAM[cut:]) == DATA


def test_single_bytes_give_the_same_events():
    assert read(*(bytes([byte]) for byte in STREAM)) == DATA


def test_an_event_that_is_not_ended_is_none():
    assert read(b"data: 1\n\ndata: 2\n") == [b"1"]


@pytest.mark.parametrize(
    "body", [b'{"id": "x"}\n', b"<!DOCTYPE html>\n", b"\x16\x03\x01:\n", b"Bad gateway\n", b"\xff\xfe\n"]
)
def test_what_is_no_event_stream_is_told_at_its_first_line(body):
    with pytest.raises(NotAnEventStreamError):
        read(body)


@pytest.mark.parametrize("chunk", [b"x" * 1000, b"data: x\n" * 100, b"data:\n" * 100])
def test_an_event_without_end_is_not_collected_for_ever(chunk):
    most = LONGEST_EVENT // len(chunk)

    with pytest.raises(NotAnEventStreamError):
        read(*[chunk] * (2 * most))


def test_an_event_of_the_longest_size_is_taken():
    data = b"x" * (LONGEST_EVENT - len(b"data: "))

    assert read(b"data: ", data, b"\n\n") == [data]


@pytest.mark.parametrize("rest", [b"{}", b"<html>", b"\x00"])
def test_a_last_line_that_no_event_begins_with_is_told_at_the_end(rest):
    reader = EventReader()
    list(reader.feed(rest))

    with pytest.raises(NotAnEventStreamError):
        reader.end()


@pytest.mark.parametrize("rest", [b"", b"d", b"data: {", b": x", b"eve", b"\r"])
def test_an_event_that_is_cut_is_no_foreign_body(rest):
    reader = EventReader()

    assert list(reader.feed(b"data: 1\n\n" + rest)) == [b"1"]
    reader.end()
