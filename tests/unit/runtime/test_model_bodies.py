import pytest

from citewire.contracts.providers import Profile
from citewire.runtime.model.chat import chat_body
from citewire.runtime.model.profiles import TRAITS
from citewire.runtime.model.requests import JsonShape, ModelMessage, ModelRequest
from citewire.runtime.model.responses import responses_body
from citewire.runtime.model.wording import sendable

TURNS = (ModelMessage("user", "问 {x} %s"), ModelMessage("assistant", "a"), ModelMessage("user", "b"))
SHAPE = JsonShape("plan", {"type": "object", "properties": {"查询": {"type": "string"}}})


def request(**fields) -> ModelRequest:
    return ModelRequest(
        **({"model": "m", "instructions": "rules", "messages": TURNS, "max_output_tokens": 50} | fields)
    )


def test_a_response_is_asked_for_as_a_stream_that_is_not_stored():
    assert responses_body(request(), TRAITS[Profile.COMPATIBLE]) == {
        "model": "m",
        "instructions": "rules",
        "input": [{"role": turn.role, "content": turn.text} for turn in TURNS],
        "stream": True,
        "store": False,
        "max_output_tokens": 50,
    }


def test_a_server_that_never_stores_is_not_told_to():
    assert "store" not in responses_body(request(), TRAITS[Profile.DEEPSEEK])


def test_a_chat_is_asked_for_with_usage_and_instructions_first():
    assert chat_body(request(), TRAITS[Profile.COMPATIBLE]) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "rules"},
            *({"role": turn.role, "content": turn.text} for turn in TURNS),
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 50,
    }


@pytest.mark.parametrize("profile", Profile)
def test_each_profile_gets_one_limit_of_tokens_and_one_message_of_instructions(profile):
    body = chat_body(request(), TRAITS[profile])

    is_openai = profile is Profile.OPENAI
    assert [name for name in body if name.startswith("max")] == ["max_completion_tokens" if is_openai else "max_tokens"]
    assert [entry["role"] for entry in body["messages"]][:2] == ["developer" if is_openai else "system", "user"]


@pytest.mark.parametrize("make", [chat_body, responses_body])
@pytest.mark.parametrize(("profile", "most"), [(Profile.OPENAI, 2.0), (Profile.BAILIAN, 1.99)])
def test_a_temperature_stays_in_the_range_of_its_provider(make, profile, most):
    assert make(request(temperature=2.0), TRAITS[profile])["temperature"] == most
    assert make(request(temperature=0), TRAITS[profile])["temperature"] == 0


@pytest.mark.parametrize("make", [chat_body, responses_body])
def test_no_temperature_is_none_in_the_request(make):
    assert "temperature" not in make(request(), TRAITS[Profile.OPENAI])


def test_a_schema_is_strict_where_the_server_takes_one():
    strict = {"name": "plan", "schema": SHAPE.schema, "strict": True}

    chat = chat_body(request(shape=SHAPE), TRAITS[Profile.COMPATIBLE])
    response = responses_body(request(shape=SHAPE), TRAITS[Profile.OPENAI])

    assert chat["response_format"] == {"type": "json_schema", "json_schema": strict}
    assert response["text"] == {"format": {"type": "json_schema", **strict}}
    assert response["instructions"] == "rules"


@pytest.mark.parametrize("profile", [Profile.DEEPSEEK, Profile.BAILIAN])
def test_a_schema_stands_in_the_instructions_where_the_server_takes_none(profile):
    chat = chat_body(request(shape=SHAPE), TRAITS[profile])
    response = responses_body(request(shape=SHAPE), TRAITS[profile])

    assert chat["response_format"] == {"type": "json_object"}
    assert response["text"] == {"format": {"type": "json_object"}}
    # DeepSeek answers 400 if the word JSON stands nowhere in the prompt.
    for instructions in (chat["messages"][0]["content"], response["instructions"]):
        assert instructions.startswith("rules\n")
        assert "JSON" in instructions
        assert '"查询"' in instructions


def test_a_request_that_can_be_sent_is_left_as_it_is():
    plain = request()

    assert sendable(plain) is plain


def test_halves_of_surrogate_pairs_are_mended_or_dropped():
    odd = request(instructions="a\ud83d", messages=(ModelMessage("user", "\ud83d\ude00 \udc00b"),))

    mended = sendable(odd)

    assert (mended.instructions, mended.messages[0].text) == ("a", "\U0001f600 b")
