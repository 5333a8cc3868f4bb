"""Answers in the structured form: one JSON object, read while it streams."""

import json
import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewire.text.normalise import clean
from generator.citations.collect import Claim
from generator.reading.structured import ANSWER_SHAPE, InvalidJson, StructuredReader
from generator.reading.tail import BROKEN_LIST, MAX_CLAIMS, Tail

CITATION = {"source_index": 1, "page_number": 3, "cited_text": "It rose."}
ANSWER = {"response": 'It "rose" [1].\nLine 😀', "citations": [CITATION, CITATION | {"page_number": None}]}
CLAIMS = (Claim(1, "It rose.", page=3), Claim(1, "It rose."))


def read(pieces: Iterable[str]) -> tuple[str, Tail | str]:
    """All the text that is shown; and the tail, or what was wrong."""
    reader, shown = StructuredReader(), list[str]()
    try:
        shown.extend(map(reader.feed, pieces))
        return "".join(shown), reader.end()
    except InvalidJson as invalid:
        return "".join(shown), str(invalid)


def cuts(whole: str, places: Iterable[int]) -> list[str]:
    borders = sorted({0, len(whole), *(place for place in places if place < len(whole))})
    return [whole[start:end] for start, end in pairwise(borders)]


@pytest.mark.parametrize("is_ascii", [True, False])
def test_the_response_is_shown_and_the_citations_are_read(is_ascii: bool) -> None:
    assert read([json.dumps(ANSWER, ensure_ascii=is_ascii)]) == (ANSWER["response"], Tail(claims=CLAIMS))


def test_the_response_is_shown_as_it_comes() -> None:
    reader = StructuredReader()

    assert [reader.feed(piece) for piece in ('{"resp', 'onse": "Be', "cau", 'se", ', '"citations": []}')] == [
        "",
        "Be",
        "cau",
        "se",
        "",
    ]


@pytest.mark.parametrize("before", ["", "\ufeff", "\n \t", "```json\n", "\ufeff\n```\n"])
@pytest.mark.parametrize("after", ["", "\n```", "\n\nI hope that helps! {", "}"])
def test_what_stands_around_the_object_does_no_harm(before: str, after: str) -> None:
    assert read([before, json.dumps(ANSWER), after]) == (ANSWER["response"], Tail(claims=CLAIMS))


def test_citations_may_come_before_the_response() -> None:
    turned = {"citations": ANSWER["citations"], "response": "Rose [1]."}

    assert read(json.dumps(turned)) == ("Rose [1].", Tail(claims=CLAIMS))


def test_unknown_keys_are_passed_over() -> None:
    extra = {
        "thoughts": {"response": "no", "list": [[{}], 1.5e3, True, None]},
        "response": "Yes",
        "*": {"cited_text": 1},
    }

    assert read(json.dumps(extra)) == ("Yes", Tail())


def test_of_two_responses_the_first_counts() -> None:
    assert read(['{"response": "first", "response": "second"}']) == ("first", Tail())


def test_of_two_values_of_a_citation_the_last_counts() -> None:
    doubled = '{"source_index": 1, "cited_text": "a", "source_index": 2, "cited_text": "b"}'

    assert read([f'{{"response": "x", "citations": [{doubled}]}}'])[1] == Tail(claims=(Claim(2, "b"),))


@pytest.mark.parametrize("field", [{"source_index": "1"}, {"source_index": 1.0}, {"page_number": "3"}])
def test_numbers_may_be_written_as_text(field: dict[str, object]) -> None:
    assert read(json.dumps({"response": "x", "citations": [CITATION | field]}))[1] == Tail(claims=CLAIMS[:1])


@pytest.mark.parametrize(
    "field", [{"source_index": 0}, {"source_index": None}, {"source_index": True}, {"cited_text": 1}]
)
def test_a_citation_without_number_or_text_is_none(field: dict[str, object]) -> None:
    assert read(json.dumps({"response": "x", "citations": [CITATION | field]}))[1] == Tail()


def test_no_more_claims_are_kept_than_an_answer_can_need() -> None:
    _, tail = read([json.dumps({"response": "x", "citations": [CITATION] * (MAX_CLAIMS + 5)})])

    assert isinstance(tail, Tail)
    assert len(tail.claims) == MAX_CLAIMS


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"\ud83d\ude00", "😀"),
        (r"a\ud83db", "ab"),
        (r"a\ude00\ud83d", "a"),
        (r"\u0000a\u0007b", "ab"),
        (r"a\r\nb\rc", "a\nb\nc"),
        (r"\/\\\"\b\f\t", '/\\"'),
        ("a\nb\tc", "a\nb\tc"),
        (r" \n a \n ", "a"),
        (r"\u003cb\u003E", "<b>"),
    ],
)
def test_escapes_become_text_that_can_be_stored(written: str, shown: str) -> None:
    whole = f'{{"response": "{written}"}}'

    assert read([whole]) == read(whole) == (shown, Tail())


def test_a_quote_copied_with_the_escapes_of_the_prompt_is_that_of_the_source() -> None:
    citation = CITATION | {"cited_text": "a &lt; b &amp;lt; R&D"}

    assert read([json.dumps({"response": "x", "citations": [citation]})])[1] == Tail(
        claims=(Claim(1, "a < b &lt; R&D", page=3),)
    )


@pytest.mark.parametrize(
    ("valid", "wrong"),
    [
        ("", "I"),
        ("", "["),
        ("``", "{"),
        ("{", "x"),
        ("{", ","),
        ('{"response"', '"'),
        ('{"response": ', "'"),
        ('{"response": "a"', "}x"[1]),
        ('{"response": "a",', "}"),
        ('{"response": "a\\', "x"),
        ('{"response": "a\\u00', "g"),
        ('{"n": 0', "1"),
        ('{"n": -', "}"),
        ('{"n": 1.', "}"),
        ('{"n": tr', "e"),
        ('{"n": Na'[:-2], "N"),
        ('{"l": [1', "}"),
        ('{"l": [1,', "]"),
        ('{"l": [', ","),
        ('{"n": 1e5', "]"),
    ],
)
def test_invalid_json_is_found_at_the_first_wrong_character(valid: str, wrong: str) -> None:
    reader = StructuredReader()
    for character in valid:
        reader.feed(character)

    with pytest.raises(InvalidJson):
        reader.feed(wrong)


def test_text_before_a_wrong_character_of_the_same_piece_is_shown_first() -> None:
    reader = StructuredReader()

    shown = reader.feed('{"response": "Half" oops')

    assert shown == "Half"
    with pytest.raises(InvalidJson):
        reader.feed("")


@pytest.mark.parametrize("text", ["", " ", "```json", "{", '{"response": "Half', '{"a": "\\u12'])
def test_json_that_breaks_off_before_the_end_of_the_response_is_invalid(text: str) -> None:
    assert read([text])[1] == "the model's JSON breaks off"


@pytest.mark.parametrize("rest", ["", "]", ', {"source_index": 2', ', {"source_index": 2, "cited_text": "It fe'])
def test_json_that_breaks_off_behind_the_response_keeps_the_whole_citations(rest: str) -> None:
    written = f'{{"response": "Rose [1].", "citations": [{json.dumps(CITATION)}{rest}'

    assert read([written]) == read(written) == ("Rose [1].", Tail(claims=CLAIMS[:1], problem=BROKEN_LIST))


@pytest.mark.parametrize(
    ("written", "is_whole"),
    [
        ('{"response": "Rose [1].', False),
        ('{"citations": [], "response": "Rose', False),
        ('{"response": "Rose [1]."', True),
        ('{"response": "Rose [1].", "citations": [{"cited_te', True),
        # A quotation mark that the model forgot to escape ends a string too early.
        ('{"response": "It "rose" [1].", "citations": [', False),
    ],
)
def test_a_response_is_whole_once_its_string_has_ended(written: str, is_whole: bool) -> None:
    reader = StructuredReader()

    reader.feed(written)

    assert reader.is_whole is is_whole


@pytest.mark.parametrize("value", ["null", "1", "{}", "[]", '{"response": "x"}'])
def test_a_response_that_is_no_text_is_none(value: str) -> None:
    assert read([f'{{"response": {value}}}']) == ("", "the model's JSON has no response")


@pytest.mark.parametrize("opener", ["[", '{"a":'])
def test_deep_nesting_is_refused(opener: str) -> None:
    assert "nested" in str(read(['{"a": ' + opener * 100_000])[1])


def test_endless_numbers_are_refused() -> None:
    assert "unknown value" in str(read(['{"a": ' + "9" * 100_000])[1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.text(max_size=20), st.integers(0, 3), st.data())
def test_every_json_object_is_read_alike_however_it_is_split(
    extra: dict[str, object], response: str, indent: int, data: st.DataObject
) -> None:
    whole = json.dumps(extra | {"response": response}, indent=indent or None, ensure_ascii=data.draw(st.booleans()))
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=6))

    expected = (clean(response).strip(), Tail())

    assert read([whole]) == read(whole) == read(cuts(whole, places)) == expected


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_object_is_invalid_exactly_where_json_says_so(data: st.DataObject) -> None:
    whole = '{"response": "a\\n\\u00e9", "citations": [{"source_index": 1, "page_number": null}, -1.5e3, true]}'
    place = data.draw(st.integers(1, len(whole) - 1))
    damaged = whole[:place] + data.draw(st.sampled_from([*'"\\{}[],:0-e.tx ', ""])) + whole[place + 1 :]

    _, tail = read([damaged])

    assert (isinstance(tail, Tail) and tail.problem is None) == _is_object_with_response(damaged)
    assert read(damaged) == read([damaged])


def _is_object_with_response(text: str) -> bool:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return False
    return isinstance(value.get("response"), str)


def test_no_split_in_three_changes_the_result() -> None:
    whole = '```json\n{"response":"\\ud83d\\ude00 [1]","citations":[{"source_index":1,"cited_text":"\\u4e2d"}]}'
    expected = ("😀 [1]", Tail(claims=(Claim(1, "中"),)))

    for first in range(len(whole)):
        for second in range(first, len(whole)):
            assert read([whole[:first], whole[first:second], whole[second:]]) == expected


@pytest.mark.parametrize("start", ['{"response": "', '{"a": "', '{"', '{"a": [', '{"citations": [{"cited_text": "', ""])
@pytest.mark.parametrize("unit", ["a", " ", "\\n", "\\ud83d", "1,"])
def test_the_cost_of_a_character_does_not_grow_with_the_text(start: str, unit: str) -> None:
    def cost(characters: int) -> float:
        pieces = (unit * characters)[:characters]
        begin = time.process_time()
        read([start, *pieces])
        return (time.process_time() - begin) / characters

    # A quadratic reader would take twenty times as long for each.
    assert cost(10_000) < 8 * cost(500)


def test_the_schema_is_strict_and_has_the_response_first() -> None:
    schema = ANSWER_SHAPE.schema
    citation = schema["properties"]["citations"]["items"]

    assert list(schema["properties"]) == schema["required"] == ["response", "citations"]
    assert list(citation["properties"]) == citation["required"] == ["source_index", "page_number", "cited_text"]
    assert schema["additionalProperties"] is citation["additionalProperties"] is False
