"""From what the knowledge bases found to numbered sources: deduplicated, within budget, in reading order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from uuid import UUID

from citewire.contracts.events import SegmentsFound
from citewire.contracts.evidence import (
    Exclusion,
    ExclusionReason,
    Leg,
    Quality,
    QualityLevel,
    Segment,
    Source,
)
from citewire.text.tokenizer import term_weight, tokenize
from generator.room import TokenRoom

# What stands around a source in a prompt, beside its title and text: number, pages, tags.
BLOCK_TOKENS = 32
# Below this share of the question's weighted terms the evidence is called weak.
WEAK_COVERAGE = 0.4


@dataclass(frozen=True)
class Budget:
    """Upper limits of the evidence: characters per knowledge base and in all, sources, tokens (o200k_base) with all
    that stands around a source in a prompt.
    """

    characters_per_kb: int
    characters: int
    tokens: int
    sources: int


@dataclass(frozen=True)
class Evidence:
    """The numbered sources, and what was left out with the reason."""

    sources: tuple[Source, ...]
    excluded: tuple[Exclusion, ...]


def build_evidence(found: Sequence[SegmentsFound], budget: Budget) -> Evidence:
    """Choose and number sources; `found` in the order of the question's knowledge bases.

    Candidates are taken in rounds, the best of each knowledge base first, because scores of different
    indexes can't be compared. A candidate that does not fit is excluded whole; later ones may still fit.
    """
    selection = _Selection(budget)
    for segment in _in_rounds(found):
        selection.offer(segment)
    excluded = chain((e for result in found for e in result.excluded), selection.excluded)
    return Evidence(_number(selection.taken), tuple(excluded))


def _in_rounds(found: Sequence[SegmentsFound]) -> Iterator[Segment]:
    for round_of_segments in zip_longest(*(result.segments for result in found)):
        yield from (segment for segment in round_of_segments if segment is not None)


@dataclass
class _Selection:
    budget: Budget
    taken: list[Segment] = field(default_factory=list)
    excluded: list[Exclusion] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    characters: dict[str, int] = field(default_factory=dict)
    room: TokenRoom = field(init=False)

    def __post_init__(self) -> None:
        self.room = TokenRoom(self.budget.tokens)

    def offer(self, segment: Segment) -> None:
        """Take a candidate, or note why not."""
        reason = self._reason_against(segment)
        if reason is not None:
            self.excluded.append(_exclude(segment, reason))
            return
        self.taken.append(segment)
        self.texts.add(segment.text)
        self.characters[segment.kb_id] = self.characters.get(segment.kb_id, 0) + len(segment.text)

    def _reason_against(self, segment: Segment) -> ExclusionReason | None:
        if segment.text in self.texts or any(_overlap(segment, other) for other in self.taken):
            return ExclusionReason.OVERLAP
        if len(self.taken) >= self.budget.sources:
            return ExclusionReason.LIMIT
        return None if self._fits(segment) else ExclusionReason.BUDGET

    def _fits(self, segment: Segment) -> bool:
        size = len(segment.text)
        if self.characters.get(segment.kb_id, 0) + size > self.budget.characters_per_kb:
            return False
        if sum(self.characters.values()) + size > self.budget.characters:
            return False
        return self.room.take([segment.title, segment.text], BLOCK_TOKENS)


def _overlap(one: Segment, other: Segment) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end


def _exclude(segment: Segment, reason: ExclusionReason) -> Exclusion:
    return Exclusion(kb_id=segment.kb_id, doc_id=segment.doc_id, start=segment.start, end=segment.end, reason=reason)


def _number(segments: Sequence[Segment]) -> tuple[Source, ...]:
    """Documents in order of first appearance, passages of one document in text order, numbered from 1."""
    order: dict[UUID, int] = {}
    for segment in segments:
        order.setdefault(segment.doc_id, len(order))
    in_reading_order = sorted(segments, key=lambda segment: (order[segment.doc_id], segment.start))
    return tuple(
        Source(number=number, **segment.model_dump(exclude={"first_chunk", "last_chunk"}))
        for number, segment in enumerate(in_reading_order, start=1)
    )


def judge_quality(question: str, sources: Sequence[Source]) -> Quality:
    """How much of the question's terms, by weight, the best and all sources together contain."""
    if not sources:
        return Quality(level=QualityLevel.NONE, reason="no passage was found")
    terms = set(tokenize(question))
    present = terms.intersection(chain.from_iterable(tokenize(f"{s.title} {s.text}") for s in sources))
    total = sum(map(term_weight, terms))
    coverage = sum(map(term_weight, present)) / total if total else 0.0
    if coverage < WEAK_COVERAGE:
        return Quality(level=QualityLevel.WEAK, reason=f"the passages cover {coverage:.0%} of the question's terms")
    return Quality(level=QualityLevel.OK, reason=f"the passages cover {coverage:.0%} of the question's terms")


def collect_legs(kb_ids: Sequence[str], found: Mapping[str, SegmentsFound]) -> tuple[Leg, ...]:
    """What each leg of each knowledge base reports; one that did not answer in time has an error."""
    missing = Leg(kb_id="", leg="retrieval", error="no answer in time")
    return tuple(
        leg
        for kb_id in kb_ids
        for leg in (found[kb_id].legs if kb_id in found else (missing.model_copy(update={"kb_id": kb_id}),))
    )


def failed_kbs(kb_ids: Sequence[str], found: Mapping[str, SegmentsFound]) -> tuple[str, ...]:
    """What to say of each knowledge base that failed or was late."""
    return tuple(
        f"{kb_id}: {found[kb_id].error if kb_id in found else 'no answer in time'}"
        for kb_id in kb_ids
        if kb_id not in found or found[kb_id].error is not None
    )
