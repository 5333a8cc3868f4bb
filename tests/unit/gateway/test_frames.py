"""Frames as text, from log entries and from stored interactions."""

import json
from uuid import UUID

import pytest

from builders import source
from citewire.contracts.answers import DoneFrame, EntryKind, FrameKind
from citewire.contracts.evidence import Citation, Quote, Verdict
from citewire.contracts.sessions import Interaction, InteractionStatus, ModelResponse, UserInput
from citewire.runtime.answer_log import encode_delta, encode_entry, split_entry
from gateway import frames

QUESTION = UUID("00000000-0000-0000-0000-000000000001")
SESSION = UUID("00000000-0000-0000-0000-000000000002")


def data_of(frame: str) -> dict[str, object]:
    """The JSON of one frame, which must be one line."""
    _, _, data, *rest = frame.split("\n")
    assert rest == ["", ""]
    loaded: dict[str, object] = json.loads(data.removeprefix("data: "))
    return loaded


def done(text: str = "", status: InteractionStatus = InteractionStatus.FINISHED, degraded: str | None = None) -> str:
    """The log's JSON of an end whose only citation quotes `text`."""
    quote = Quote(answer_start=0, answer_end=3, cited_text=text, start=0, end=len(text), verdict=Verdict.EXACT)
    frame = DoneFrame(
        session_id=SESSION,
        question_id=QUESTION,
        status=status,
        citations=(Citation(number=1, kb_id="kb", doc_id=QUESTION, quotes=(quote,)),),
        degraded=degraded,
    )
    return split_entry(encode_entry(EntryKind.END, frame))[1]


def interaction(**fields: object) -> Interaction:
    return Interaction.model_validate(
        {
            "question_id": QUESTION,
            "session_id": SESSION,
            "status": InteractionStatus.FINISHED,
            "user_input": UserInput.model_validate({"content": "Why?", "at": "2026-01-01T00:00:00Z"}),
            "model_response": ModelResponse(content="Because [1].", dangling_citations=(7,)),
            "sources": (source(1, "Be\u2028cause."),),
        }
        | fields
    )


def test_a_frame_has_its_number_kind_and_data_in_one_line_each() -> None:
    frame = frames.frame(FrameKind.DELTA, '{"text":"a"}', 7)

    assert frame == 'id: 7\nevent: delta\ndata: {"text":"a"}\n\n'


@pytest.mark.parametrize("text", [" **2. Title", "  ", "\n\n", "a\r\nb", "\u2028", "日本 😀", "data: x\n\nevent: done"])
def test_a15_a_delta_comes_out_of_its_frame_as_it_went_in(text: str) -> None:
    entry = split_entry(encode_delta(text))[1]

    assert data_of(frames.frame(FrameKind.DELTA, entry, 1)) == {"text": text}


def test_a_done_says_whether_it_is_persisted() -> None:
    stored = frames.end_frame(done(), 3, persisted=True)
    unstored = frames.end_frame(done(), 3, persisted=False)

    assert data_of(stored)["persisted"] is True
    assert data_of(unstored)["persisted"] is False
    assert stored.startswith("id: 3\nevent: done\n")


@pytest.mark.parametrize("text", ['"persisted":false', ',"persisted":false', '{"a":1,"persisted":false}'])
@pytest.mark.parametrize("persisted", [True, False])
def test_only_the_flag_is_changed_and_never_a_quote_that_looks_like_it(text: str, *, persisted: bool) -> None:
    entry = done(text)

    data = data_of(frames.end_frame(entry, 3, persisted=persisted))

    assert data == json.loads(entry) | {"persisted": persisted}


def test_an_answer_that_failed_ends_with_a_problem() -> None:
    frame = frames.end_frame(done("", InteractionStatus.FAILED, "the index is broken"), 2, persisted=True)

    assert frame.startswith("id: 2\nevent: error\n")
    assert data_of(frame)["status"] == 500
    assert data_of(frame)["detail"] == "the index is broken"


@pytest.mark.parametrize("degraded", [None, "a\u2028b\nc"])
def test_a_problem_in_a_frame_stays_in_one_line(degraded: str | None) -> None:
    frame = frames.end_frame(done("", InteractionStatus.FAILED, degraded), 2, persisted=False)

    assert data_of(frame)["detail"] == (degraded or "")
    assert "\u2028" not in frame


@pytest.mark.parametrize("status", [InteractionStatus.STOPPED, InteractionStatus.INCOMPLETE])
def test_a11_a_stopped_or_incomplete_answer_is_done_and_no_error(status: InteractionStatus) -> None:
    frame = frames.end_frame(done("", status), 2, persisted=True)

    assert "event: done" in frame
    assert data_of(frame)["status"] == status


def test_a_stored_interaction_gives_back_its_sources_in_one_line() -> None:
    sources = frames.sources_of(interaction())

    assert len(sources.splitlines()) == 1
    assert json.loads(sources)["sources"][0]["text"] == "Be\u2028cause."
    assert json.loads(sources)["quality"]["level"] == "none"


def test_a_stored_interaction_gives_back_its_end() -> None:
    end = frames.done_of(interaction())

    assert data_of(frames.end_frame(end, 3, persisted=True)) == json.loads(end) | {"persisted": True}
    assert json.loads(end)["dangling_citations"] == [7]


def test_several_deltas_add_up_to_their_text() -> None:
    texts = ["###", " **2. Title", "\u2028", "😀"]

    joined = "".join(frames.text_in(encode_delta(text).removeprefix("delta ")) for text in texts)
    assert data_of(frames.delta_frame(joined, 2)) == {"text": "".join(texts)}
