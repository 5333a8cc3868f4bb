"""Time grows with the size of a file, whatever is in it."""

import pytest

from cpu_time import cpu_seconds
from retriever.ingest.chunks import split_chunks
from retriever.ingest.parsers import parse


def seconds(file_name: str, data: bytes) -> float:
    """CPU time to read and cut a file."""
    return cpu_seconds(lambda: split_chunks(parse(file_name, data)))


def assert_linear(file_name: str, unit: str, size: int) -> None:
    data = unit.encode() * (size // len(unit))

    # Twice the time for twice the size, with room for a busy machine; quadratic is four times.
    assert seconds(file_name, b"Text " + data * 2) < 3.5 * seconds(file_name, b"Text " + data) + 0.2


@pytest.mark.parametrize(
    "unit", ["x", "word ", "句", "One sentence. ", "3.\n", "a\n\n", ".", "\u0301", "👩\u200d", "，"]
)
def test_g05_a_text_of_any_kind_takes_linear_time(unit: str) -> None:
    assert_linear("a.txt", unit, 100_000)


@pytest.mark.parametrize("unit", ["> ", "- ", "* a\n", "[", "<!-- ", "`", "# a\n", "<b>", "*a_", "|a|\n"])
def test_g05_markdown_of_any_kind_takes_linear_time(unit: str) -> None:
    assert_linear("a.md", unit, 16_000)


@pytest.mark.parametrize("unit", ["<b>", "<td>x", "<p>x", "<li>x", " \n|", "<br>", "<!--", "&amp;"])
def test_g05_html_of_any_kind_takes_linear_time(unit: str) -> None:
    assert_linear("a.html", unit, 40_000)
