"""The answer without a model: sentences cut from the sources, the best for the question, each with its number."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import Source
from citewire.text.sentences import candidate_sentences
from citewire.text.tokenizer import term_weight, tokenize
from generator.citations.collect import Claim
from generator.citations.neutralise import quote_sentence
from generator.draft import Draft

MAX_PER_SOURCE = 2
MAX_SENTENCES = 6
# Earlier questions of a follow-up count this much beside the question itself.
CONTEXT_WEIGHT = 0.2
# A sentence must cover this share of what the best one covers, so that leftovers don't pad the answer.
RELATIVE_FLOOR = 0.5
# … and this share of the question at all, to count as an answer.
ABSOLUTE_FLOOR = 0.15
# Sentences up to this long lose nothing; beyond it they lose a little.
COMFORTABLE_LENGTH = 100
LENGTH_PENALTY = 0.1
# A question in a source repeats the words of the one asked, and seldom answers it.
QUESTION_PENALTY = 0.5

# What is shorter is no sentence …
SHORTEST = 4
# … and is looked for, with the empty line after it, within so many characters.
SHORT_LINE = 12

_CHINESE = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class Piece:
    """A piece of the answer; when it quotes, the quoted characters `start` to `end` of the document."""

    text: str
    number: int | None = None
    quote: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class _Candidate:
    score: float
    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]


def write_extract(question: str, context: Sequence[str], sources: Sequence[Source]) -> tuple[Piece, ...]:
    """The answer's pieces, one line each: `- sentence [n]`, by source number; the same for the same input.

    Sentences are scored by the weighted share of the question's terms that they contain, with the tokenizer
    of the index, so that dates and identifiers count as in the search. Very long ones lose a little.
    """
    chosen = _choose(_score_all(_term_weights(question, context), sources))
    if not chosen:
        return (Piece(_nothing_found(question, sources)),)
    ordered = sorted(chosen, key=lambda candidate: (candidate.source.number, candidate.start))
    return tuple(_line(candidate, is_first=index == 0) for index, candidate in enumerate(ordered))


def _term_weights(question: str, context: Sequence[str]) -> dict[str, float]:
    weights = {term: term_weight(term) for term in tokenize(question)}
    for earlier in context:
        for term in tokenize(earlier):
            weights.setdefault(term, CONTEXT_WEIGHT * term_weight(term))
    return weights


def _score_all(weights: dict[str, float], sources: Sequence[Source]) -> list[_Candidate]:
    total = sum(weights.values())
    if not total:
        return []
    return [
        _Candidate(_score(weights, total, source.text[start:end], _explained(source.text, start)), source, start, end)
        for source in sources
        for start, end in candidate_sentences(source.text, SHORTEST)
        if not _is_heading(source, start, end)
    ]


def _is_heading(source: Source, start: int, end: int) -> bool:
    """A heading names what is asked for and never answers it."""
    line = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    sentence = source.text[start:end]
    is_title = sentence.casefold() == source.title.casefold() and len(sentence) < len(source.text.strip())
    return line.lstrip().startswith("#") or is_title


def _explained(text: str, start: int) -> str:
    """The line before a line, if it is too short to be quoted by itself: the term that a glossary explains."""
    begin = max(0, start - SHORT_LINE)
    before = text[begin:start].rstrip()
    if "\n" not in text[begin + len(before) : start]:
        return ""
    _, line_begin, line = before.rpartition("\n")
    is_whole = line_begin or begin == 0
    return line.strip() if is_whole and len(line.strip()) < SHORTEST else ""


def _score(weights: dict[str, float], total: float, sentence: str, explained: str) -> float:
    covered = sum(weights.get(term, 0.0) for term in {*tokenize(sentence), *tokenize(explained)})
    too_long = max(0, len(sentence) - COMFORTABLE_LENGTH) / COMFORTABLE_LENGTH
    asks = QUESTION_PENALTY if sentence.rstrip().endswith(("?", "？")) else 1.0
    return covered / total * asks * (1 - LENGTH_PENALTY * min(1.0, too_long))


def _choose(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The best six, at most two of a source; a sentence that repeats a chosen one adds nothing."""
    best = max((candidate.score for candidate in candidates), default=0.0)
    floor = max(ABSOLUTE_FLOOR, best * RELATIVE_FLOOR)
    chosen: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (-c.score, c.source.number, c.start)):
        if candidate.score < floor or len(chosen) == MAX_SENTENCES:
            break
        siblings = sum(other.source.number == candidate.source.number for other in chosen)
        if siblings < MAX_PER_SOURCE and all(other.text != candidate.text for other in chosen):
            chosen.append(candidate)
    return chosen


def _line(candidate: _Candidate, *, is_first: bool) -> Piece:
    source, quote = candidate.source, candidate.text
    return Piece(
        text=("" if is_first else "\n") + f"- {quote_sentence(quote)} [{source.number}]",
        number=source.number,
        quote=quote,
        start=source.start + candidate.start,
        end=source.start + candidate.end,
    )


def _nothing_found(question: str, sources: Sequence[Source]) -> str:
    is_chinese = bool(_CHINESE.search(question))
    if sources and all(not source.text.strip() for source in sources):
        return (
            "检索到了图片，但其中没有可以用来回答的文字。"
            if is_chinese
            else "Images were found, but they hold no text that could answer the question."
        )
    return (
        "在所选知识库中没有找到能回答这个问题的证据。"
        if is_chinese
        else "The knowledge bases searched hold no evidence that answers this question."
    )


def _nothing_searched(plan: RetrievalPlanned) -> str:
    is_chinese = bool(_CHINESE.search(plan.question))
    if not plan.planner.search_needed:
        return (
            "这个问题不需要检索知识库，但目前没有可用的语言模型来回答。"
            if is_chinese
            else "This question needs no search, but no language model could answer it."
        )
    if is_chinese:
        return "没有选择知识库，因此没有进行检索，也没有可以引用的证据。"
    return "No knowledge base was selected, so nothing was searched and there is nothing to cite."


class ExtractiveWriter:
    """Writes extracts; repeats itself exactly when it is asked again, so an answer can be resumed."""

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """The pieces of the answer; each quotes its source, which is noted in the draft."""
        if not plan.kb_ids:
            yield _nothing_searched(plan)
            return
        context = plan.queries[0].context if plan.queries else ()
        for piece in write_extract(plan.asked, context, sources):
            if piece.number is not None:
                draft.claims.append(Claim(piece.number, piece.quote, piece.start))
            yield piece.text
