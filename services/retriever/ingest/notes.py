"""What a parser left out of a text, in short sentences for the document's owner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Final

_MOST_RANGES: Final = 15


@dataclass
class Losses:
    """Counts of what did not become text."""

    hidden: int = 0
    comments: int = 0
    images: int = 0
    image_pages: list[int] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def notes(self) -> tuple[str, ...]:
        """A sentence for each kind of thing that was left out."""
        return tuple(
            note
            for note in (
                _pages_note(self.image_pages),
                _counted(self.images, "image") + " without a text that says what it shows" if self.images else "",
                f"hidden text left out: {_counted(self.hidden, 'place')}" if self.hidden else "",
                f"comments left out: {self.comments}" if self.comments else "",
                *self.others,
            )
            if note
        )


def page_ranges(numbers: Sequence[int]) -> str:
    """`3, 7-9, 12`; a long list ends in an ellipsis."""
    position = count()
    runs = [list(run) for _, run in groupby(numbers, lambda number: number - next(position))]
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join([*shown[:_MOST_RANGES], *(["…"] if len(shown) > _MOST_RANGES else [])])


def _pages_note(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"{'page' if len(numbers) == 1 else 'pages'} {page_ranges(numbers)}: images without text"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
