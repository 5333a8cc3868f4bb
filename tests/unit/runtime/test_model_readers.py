import time

import orjson
import pytest

from citewire.contracts.provenance import Usage
from citewire.runtime.model.chat import ChatReader
from citewire.runtime.model.events import EventReader
from citewire.runtime.model.failures import Failure
from citewire.runtime.model.reading import NotTheProtocolError, is_too_long
from citewire.runtime.model.responses import ResponsesReader
from citewire.text.reasoning import ReasoningFilter


def delta(**fields) -> dict:
    return {"choices": [{"index": 0, "delta": fields}]}


def finish(reason) -> dict:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def read(reader, *events):
    return "".join(map(reader.read, events)), reader.told


def test_a_chat_is_its_contents_and_ends_with_its_reason():
    text, told = read(
        ChatReader(), delta(role="assistant", content=""), delta(content="Be"), delta(content="cause"), finish("stop")
    )

    assert (text, told.tokens, told.has_ended, told.is_over, told.failure) == ("Because", 2, True, False, None)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_chat_counts_as_a_token_and_is_not_shown(field):
    text, told = read(ChatReader(), delta(**{field: "hm"}), delta(**{field: "hm", "content": None}))

    assert (text, told.tokens) == ("", 2)


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("length", Failure.LENGTH),
        ("content_filter", Failure.CONTENT_FILTER),
        ("insufficient_system_resource", Failure.SERVER),
        ("stop", None),
        ("tool_calls", None),
        (["odd"], None),
    ],
)
def test_the_reason_of_a_chats_end_tells_whether_it_is_whole(reason, failure):
    _, told = read(ChatReader(), delta(content="a"), finish(reason))

    assert (told.failure, told.has_ended) == (failure, True)


def test_usage_of_a_chat_comes_in_a_chunk_without_choices_or_in_each():
    last = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}

    _, told = read(ChatReader(), delta(content="a") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}, last)

    assert told.usage == Usage(input_tokens=9, output_tokens=5)


@pytest.mark.parametrize("event", [{}, {"choices": "x"}, {"choices": ["x"]}, {"choices": None}, {"object": "list"}])
def test_json_that_is_no_chunk_is_not_the_protocol(event):
    with pytest.raises(NotTheProtocolError):
        ChatReader().read(event)


def test_a_response_is_its_deltas_and_ends_with_its_last_event():
    events = [{"type": "response.created", "response": {}}, {"type": "response.output_text.delta", "delta": "Be"}]
    end = {"status": "completed", "usage": {"input_tokens": 3, "output_tokens": 2}}

    text, told = read(ResponsesReader(), *events, {"type": "response.completed", "response": end})

    assert (text, told.tokens, told.is_over, told.failure) == ("Be", 1, True, None)
    assert told.usage == Usage(input_tokens=3, output_tokens=2)


def test_a_response_without_deltas_has_its_text_in_the_last_event():
    output = [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Because"}, "odd", {"type": "output_text"}]},
    ]

    text, _ = read(ResponsesReader(), {"type": "response.completed", "response": {"output": output}})

    assert text == "Because"


@pytest.mark.parametrize("kind", ["response.reasoning_text.delta", "response.reasoning_summary_text.delta"])
def test_reasoning_in_a_response_counts_as_a_token_and_is_not_shown(kind):
    text, told = read(ResponsesReader(), {"type": kind, "delta": "hm"})

    assert (text, told.tokens) == ("", 1)


@pytest.mark.parametrize(
    ("response", "kind", "failure"),
    [
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "incomplete", Failure.LENGTH),
        ({"incomplete_details": {"reason": "content_filter"}}, "incomplete", Failure.CONTENT_FILTER),
        ({"incomplete_details": {"reason": "other"}}, "incomplete", Failure.REPORTED),
        ({"incomplete_details": None}, "incomplete", Failure.REPORTED),
        ({"error": {"code": "server_error"}}, "failed", Failure.REPORTED),
        ({"error": None}, "failed", Failure.REPORTED),
        ({"error": {"code": "context_length_exceeded"}}, "failed", Failure.TOO_LONG),
        ({"status": "failed"}, "completed", Failure.REPORTED),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "completed", Failure.LENGTH),
        ({"output": [{"type": "message", "content": [{"type": "refusal"}]}]}, "completed", Failure.REFUSAL),
        ({"output": [{"type": "message", "content": "x"}, 5]}, "completed", None),
    ],
)
def test_the_last_event_of_a_response_tells_whether_it_is_whole(response, kind, failure):
    _, told = read(ResponsesReader(), {"type": f"response.{kind}", "response": response})

    assert (told.failure, told.is_over) == (failure, True)


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Because"}]}


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ([{"type": "reasoning", "summary": []}, MESSAGE], None),
        ([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}], Failure.REFUSAL),
        ([MESSAGE, {"type": "function_call", "name": "x"}], Failure.INVALID),
        ([MESSAGE, {"type": "something_new"}], Failure.INVALID),
        ([MESSAGE, MESSAGE], Failure.INVALID),
    ],
)
def test_f12_a_response_has_one_message_and_besides_it_reasoning_alone(output, failure):
    _, told = read(ResponsesReader(), {"type": "response.completed", "response": {"output": output}})

    assert told.failure is failure


def test_f12_an_incomplete_response_is_none_whatever_its_text():
    response = {"output": [MESSAGE], "incomplete_details": {"reason": "max_output_tokens"}}

    _, told = read(ResponsesReader(), {"type": "response.incomplete", "response": response})

    assert told.failure is Failure.LENGTH


def test_f12_usage_that_contradicts_itself_is_told_as_it_came_and_changes_no_outcome():
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 1}

    _, told = read(ResponsesReader(), {"type": "response.completed", "response": {"output": [MESSAGE], "usage": usage}})

    assert told.failure is None
    assert told.usage == Usage(input_tokens=5, output_tokens=2)


@pytest.mark.parametrize(
    "event", [{}, {"type": 5}, {"type": "response.output_text.delta"}, {"type": "response.completed", "response": []}]
)
def test_json_that_is_no_event_of_a_response_is_not_the_protocol(event):
    with pytest.raises(NotTheProtocolError):
        ResponsesReader().read(event)


@pytest.mark.parametrize(
    ("reader", "event"),
    [
        (ChatReader, {"error": {"code": "rate_limit_exceeded"}}),
        (ChatReader, {"error": {"code": 429}}),
        (ResponsesReader, {"type": "error", "code": "rate_limit_exceeded", "message": "SECRET"}),
        (ResponsesReader, {"type": "error", "error": {"code": "rate_limit_exceeded"}}),
        (ResponsesReader, {"error": {"code": "429"}}),
        (ResponsesReader, {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}}),
    ],
)
def test_f01_an_error_inside_a_stream_ends_it_and_its_known_code_is_named(reader, event):
    _, told = read(reader(), event)

    assert (told.failure, told.is_over) == (Failure.REPORTED, True)
    assert told.cause.endswith(": 429 (too many requests)")


def test_an_unknown_code_is_never_repeated():
    _, told = read(ChatReader(), {"error": {"code": "SECRET", "message": "SECRET"}})

    assert told.cause == "reported an error"


@pytest.mark.parametrize("reader", [ChatReader, ResponsesReader])
def test_an_error_may_be_no_object(reader):
    _, told = read(reader(), {"error": "SECRET"})

    assert (told.failure, told.cause) == (Failure.REPORTED, "reported an error")


def test_the_first_failure_counts():
    _, told = read(ChatReader(), delta(refusal="I can't"), finish("length"))

    assert told.failure is Failure.REFUSAL


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        ({"code": "context_length_exceeded"}, True),
        ({"type": "exceed_context_size_error", "code": 400}, True),
        ({"message": "This model's maximum context length is 4096 tokens."}, True),
        ({"message": "Range of input length should be [1, 30720]"}, True),
        ({"message": None, "code": "invalid_value"}, False),
        ("context_length_exceeded", False),
        (None, False),
    ],
)
def test_too_long_a_request_is_known_by_code_or_words(error, is_so):
    assert is_too_long(error) is is_so


def seconds_for(pieces: int) -> float:
    """Processor time of an answer with so many pieces, from bytes to visible text; the best of five."""
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"a <b> c"}}]}\n\n'
    best = float("inf")
    for _ in range(5):
        events, reader, visible = EventReader(), ChatReader(), ReasoningFilter()
        begun = time.process_time()
        for _ in range(pieces):
            for data in events.feed(chunk):
                visible.feed(reader.read(orjson.loads(data)))
        best = min(best, time.process_time() - begun)
    return best


def test_a_piece_costs_the_same_however_long_the_answer_is():
    assert seconds_for(20_000) / seconds_for(1_000) < 20 * 2
