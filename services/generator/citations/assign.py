"""Which marker of an answer a quote belongs to, where several name the same source."""

from collections.abc import Sequence

from generator.citations.statements import Wording

MOST_COMPARED = 10_000
"""Pairs of quote and statement; where there are more, as no answer for readers has, quotes go in order."""


def assign_quotes(quotes: Sequence[str], statements: Sequence[Wording]) -> list[int]:
    """For each quote the index of the statement that it has most terms in common with; `statements` is not empty.

    Of equally good ones a statement without a quote yet comes first, then the first: quotes that have nothing in common
    with the statements, such as those of another language, go to them in order.
    """
    if len(quotes) * len(statements) > MOST_COMPARED:
        return [min(index, len(statements) - 1) for index in range(len(quotes))]
    taken, chosen = set[int](), list[int]()
    for quote in quotes:
        index = _best(Wording(quote), statements, taken)
        taken.add(index)
        chosen.append(index)
    return chosen


def _best(quote: Wording, statements: Sequence[Wording], taken: set[int]) -> int:
    def rank(index: int) -> tuple[float, bool, int]:
        statement = statements[index]
        share = statement.shared(quote) / statement.weight if statement.weight else 0.0
        return round(share, 6), index not in taken, -index

    return 0 if len(statements) == 1 else max(range(len(statements)), key=rank)
