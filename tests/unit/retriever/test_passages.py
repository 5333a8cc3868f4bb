"""From ranked chunks to segments."""

from uuid import UUID, uuid4

from citewire.contracts.evidence import ExclusionReason, Segment
from retriever.passages import Limits, select_segments

ROOMY = Limits(segments=10, characters=10_000)
DOCUMENT = uuid4()


def segment(start: int, length: int = 100, doc_id: UUID = DOCUMENT) -> Segment:
    return Segment(
        kb_id="kb",
        doc_id=doc_id,
        version=1,
        title="Title",
        file_name="file.txt",
        document_type="txt",
        start=start,
        end=start + length,
        text="x" * length,
        score=1.0,
        first_chunk=0,
        last_chunk=0,
    )


def test_what_fits_is_taken_in_its_order() -> None:
    candidates = [segment(500), segment(0)]

    assert select_segments(candidates, ROOMY) == (tuple(candidates), ())


def test_an_overlap_is_left_out_for_the_better_one() -> None:
    taken, excluded = select_segments([segment(0), segment(99), segment(100)], ROOMY)

    assert [found.start for found in taken] == [0, 100]
    assert [(found.start, found.reason) for found in excluded] == [(99, ExclusionReason.OVERLAP)]


def test_the_same_range_of_another_document_is_no_overlap() -> None:
    taken, _ = select_segments([segment(0), segment(0, doc_id=uuid4())], ROOMY)

    assert len(taken) == 2


def test_what_exceeds_the_number_is_left_out_with_the_reason() -> None:
    taken, excluded = select_segments([segment(0), segment(100), segment(200)], Limits(2, 10_000))

    assert [found.start for found in taken] == [0, 100]
    assert [found.reason for found in excluded] == [ExclusionReason.LIMIT]


def test_a_later_one_that_fits_is_taken_after_one_that_does_not() -> None:
    taken, excluded = select_segments([segment(0, 60), segment(100, 60), segment(200, 40)], Limits(5, 100))

    assert [found.start for found in taken] == [0, 200]
    assert [(found.start, found.reason) for found in excluded] == [(100, ExclusionReason.BUDGET)]


def test_nothing_is_cut() -> None:
    taken, excluded = select_segments([segment(0, 101)], Limits(5, 100))

    assert taken == ()
    assert excluded[0].end == 101
