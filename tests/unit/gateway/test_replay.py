"""What a client lacks of an answer, from the record."""

from uuid import uuid4

from citewire.contracts.events import now
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.sessions import Interaction, InteractionStatus, ModelResponse, UserInput, new_session_id
from citewire.runtime.answer_log import encode_deltas
from gateway import replay
from gateway.reading import Reading


def recorded(text: str) -> Interaction:
    question_id = uuid4()
    return Interaction(
        question_id=question_id,
        session_id=new_session_id(question_id),
        status=InteractionStatus.FINISHED,
        user_input=UserInput(content="Why?", at=now()),
        model_response=ModelResponse(content=text),
        quality=Quality(level=QualityLevel.OK, reason="fine"),
    )


def test_an_end_that_was_taken_and_not_sent_takes_no_number() -> None:
    reading = Reading(0, is_merged=False)
    reading.take(['sources {"sources":[]}', *encode_deltas(["a"]), 'end {"status":"finished","persisted":false}'])

    assert replay.complete(reading, recorded("a")).startswith("id: 3\nevent: done\n")
