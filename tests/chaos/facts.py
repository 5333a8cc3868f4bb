"""What the knowledge bases of the suite say, and the questions about it: each has an answer of its own."""

from collections.abc import Iterator
from itertools import count

KBS = ("north", "south")
STATIONS = 25
_MONTHS = ("January", "April", "September")


def documents(kb_id: str) -> Iterator[tuple[str, str]]:
    """File names and Markdown texts of a knowledge base: one per month, a sentence per station in each."""
    for index, month in enumerate(_MONTHS):
        lines = (_report(kb_id, station, month, index) for station in range(1, STATIONS + 1))
        yield f"{month.lower()}.md", f"# Weather of {month}\n\n" + "\n\n".join(lines)


def _report(kb_id: str, station: int, month: str, index: int) -> str:
    amount = station * 7 + index * 13
    return (
        f"The rainfall that station {station} of the {kb_id} reported in {month} was {amount} millimetres — 降水量 ☔."
    )


def questions() -> Iterator[str]:
    """Questions without end, no two the same."""
    for number in count(1):
        station = number % STATIONS + 1
        yield f"Which rainfall did station {station} report, and in which month? Inquiry {number}."
