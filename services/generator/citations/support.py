"""The passage of a source that supports a statement best, for a citation that quotes nothing."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from citewire.text.sentences import Span, split_sentences
from generator.citations.statements import Wording

MIN_COVERAGE = 0.7
"""Share of a statement's weighted terms that a passage must have."""

# A statement of fewer terms ("Yes") is supported by everything.
_MIN_WEIGHT = 2.0
# No two sentences say most of what stands in more characters, and reading them all would cost more than the answer.
_LONGEST_STATEMENT = 1000


class Passages:
    """The sentences of one source, read when first needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def support(self, statement: Wording) -> Span | None:
        """The sentence, or else the two adjacent ones, with most of the statement's terms; the first of equal ones.

        A term weighs more, the fewer sentences of the source have it (inverse document frequency). None if the
        statement is too long or has too few terms, a number of it is not among them, or one text denies what the
        other affirms.
        """
        if len(statement.text) > _LONGEST_STATEMENT or statement.weight < _MIN_WEIGHT:
            return None
        weights = self._weigh(statement)
        alone = _best(statement, weights, self._sentences)
        # Of two sentences it is not plain which of them a negation is about.
        return alone if alone or statement.is_negated else _best(statement, weights, self._pairs())

    @cached_property
    def _sentences(self) -> Sequence[tuple[Span, Wording]]:
        return [(span, Wording(self._text[slice(*span)])) for span in split_sentences(self._text)]

    @cached_property
    def _frequencies(self) -> Mapping[str, int]:
        return Counter(term for _, sentence in self._sentences for term in sentence.terms)

    def _weigh(self, statement: Wording) -> dict[str, float]:
        count, frequencies = len(self._sentences), self._frequencies
        return {
            term: weight * math.log(1 + count / max(1, frequencies.get(term, 0)))
            for term, weight in statement.terms.items()
        }

    def _pairs(self) -> Iterator[tuple[Span, Wording]]:
        for ((start, _), _), ((_, end), _) in pairwise(self._sentences):
            yield (start, end), Wording(self._text[start:end])


def _best(statement: Wording, weights: Mapping[str, float], passages: Iterable[tuple[Span, Wording]]) -> Span | None:
    best, most = None, MIN_COVERAGE * sum(weights.values())
    for span, passage in passages:
        shared = sum(weights[term] for term in weights.keys() & passage.terms.keys())
        if shared >= most and (best is None or shared > most) and _agrees(statement, passage):
            best, most = span, shared
    return best


def _agrees(statement: Wording, passage: Wording) -> bool:
    return statement.numbers <= passage.numbers and statement.is_negated == passage.is_negated
