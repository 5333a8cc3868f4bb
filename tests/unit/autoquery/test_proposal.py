"""What is made of a model's plan."""

import json
from typing import Any

import pytest

from autoquery.proposal import MAX_PLAN_CHARACTERS, Proposal, UnusableProposal, read_proposal
from citewire.contracts.events import MAX_QUESTION_CHARACTERS

QUESTION = "How high is it?"


def said(*queries: tuple[str, Any], **fields: Any) -> str:
    """A plan as a model writes it."""
    items = [{"query": query, "kb_id": kb_id} for query, kb_id in queries]
    return json.dumps({"standalone_question": QUESTION, "search_needed": True, "queries": items} | fields)


def read(text: str, *kb_ids: str, most: int = 5, question: str = QUESTION) -> Proposal:
    return read_proposal(text, question, kb_ids or ("a", "b"), most)


def pairs(proposal: Proposal) -> list[tuple[str, str]]:
    return [(query.query, query.kb_id) for query in proposal.queries]


def test_each_query_goes_to_its_knowledge_base() -> None:
    proposal = read(said(("height of the tower", "b"), ("tower", "a")))

    assert pairs(proposal) == [("tower", "a"), ("height of the tower", "b")]
    assert all(query.context == () for query in proposal.queries)


def test_e06_an_unknown_knowledge_base_becomes_the_only_one() -> None:
    assert pairs(read(said(("tower", "nowhere")), "a")) == [("tower", "a")]


def test_e06_an_unknown_knowledge_base_becomes_every_one_of_several() -> None:
    assert pairs(read(said(("tower", "nowhere")), "a", "b")) == [("tower", "a"), ("tower", "b")]


@pytest.mark.parametrize("kb_id", ["secret", "", None, 7, ["a"], "a/b"])
def test_a_plan_never_widens_the_scope(kb_id: Any) -> None:
    assert {query.kb_id for query in read(said(("tower", kb_id))).queries} == {"a", "b"}


def test_an_id_in_capitals_is_still_the_id() -> None:
    assert pairs(read(said(("tower", " A ")))) == [("tower", "a")]


@pytest.mark.parametrize("text", ["[]", said(), said(queries=None), said(queries=[]), said(queries="tower?" * 2000)])
def test_e06_a_plan_without_queries_is_none(text: str) -> None:
    with pytest.raises(UnusableProposal):
        read(text)


@pytest.mark.parametrize("text", ["", "I would search for towers.", "{", '{"queries": [{"query": "tow', "null", "{}"])
def test_e06_what_is_no_json_is_no_plan(text: str) -> None:
    with pytest.raises(UnusableProposal, match="no JSON object with a plan"):
        read(text)


def test_e06_of_fifty_queries_the_first_are_taken() -> None:
    proposal = read(said(*((f"tower {number}", "a") for number in range(50))), most=5)

    assert pairs(proposal) == [(f"tower {number}", "a") for number in range(5)]


def test_q4_a_query_counts_once_however_many_knowledge_bases_it_goes_to() -> None:
    proposal = read(said(("one", "x"), ("two", "x"), ("three", "a")), most=3)

    assert pairs(proposal) == [("one", "a"), ("two", "a"), ("three", "a"), ("one", "b"), ("two", "b")]


def test_q4_duplicates_do_not_count() -> None:
    proposal = read(said(("The Tower", "a"), ("the  tower", "a"), ("ｔｈｅ ｔｏｗｅｒ", "a"), ("bridge", "a")), most=2)

    assert pairs(proposal) == [("The Tower", "a"), ("bridge", "a")]


def test_q4_a_query_that_comes_to_a_knowledge_base_twice_is_searched_once() -> None:
    assert pairs(read(said(("tower", "a"), ("tower", "x")))) == [("tower", "a"), ("tower", "b")]
    assert pairs(read(said(("tower", "x"), ("tower", "a")))) == [("tower", "a"), ("tower", "b")]


@pytest.mark.parametrize("empty", ["", " \n", "\x00", "？！", "…", "<think>tower</think>"])
def test_q4_empty_queries_do_not_count(empty: str) -> None:
    assert pairs(read(said((empty, "a"), ("tower", "a")), most=1)) == [("tower", "a")]


def test_a_query_that_is_too_long_is_left_out_whole() -> None:
    longest = "x" * MAX_QUESTION_CHARACTERS

    assert pairs(read(said((longest + "x", "a"), (longest, "a")))) == [(longest, "a")]


def test_control_characters_are_cleaned() -> None:
    assert pairs(read(said(("the\x00 tall\r\ntower\ud83d", "a")))) == [("the tall tower", "a")]


def test_e07_reasoning_around_and_within_a_plan_is_dropped() -> None:
    plan = said(("<think>the user means revenue</think>营收", "a"), standalone_question="<think>hm</think>营收多少？")
    text = f'<think>Perhaps {{"queries": [{{"query": "draft", "kb_id": "a"}}]}}?</think>{plan}'

    proposal = read(text)

    assert (pairs(proposal), proposal.rewritten_question) == ([("营收", "a")], "营收多少？")


def test_e07_reasoning_that_is_escaped_is_dropped() -> None:
    text = said(("<think>revenue</think>营收", "a")).replace("<", "\\u003c")

    assert pairs(read(text)) == [("营收", "a")]


def test_e07_a_plan_within_reasoning_that_never_ends_is_none() -> None:
    with pytest.raises(UnusableProposal):
        read(f"<think>{said(('draft', 'a'))}")


@pytest.mark.parametrize(
    "frame", ["```json\n{}\n```", "Here is the plan:\n\n{}\n\nGood luck!", "\ufeff\n{}", "{{not json}} {}", "{}{}"]
)
def test_a_plan_is_found_in_what_is_around_it(frame: str) -> None:
    text = frame.replace("{{", "{ ").replace("}}", " }").replace("{}", said(("tower", "a")))

    assert pairs(read(text)) == [("tower", "a")]


def test_of_several_plans_the_last_is_meant() -> None:
    assert pairs(read(said(("draft", "a")) + "\nBetter:\n" + said(("tower", "a")))) == [("tower", "a")]


@pytest.mark.parametrize(
    "queries",
    [
        ["tower"],
        {"query": "tower"},
        [None, 3, [], {"kb_id": "a"}, {"query": 5, "kb_id": "a"}, {"query": "tower", "weight": float("nan")}],
    ],
)
def test_queries_of_another_type_are_taken_as_far_as_they_make_sense(queries: Any) -> None:
    assert pairs(read(said(queries=queries), "a")) == [("tower", "a")]


@pytest.mark.parametrize("needed", [float("nan"), None, 0, "maybe", [], {}])
def test_only_a_plain_no_means_that_no_search_is_needed(needed: Any) -> None:
    with pytest.raises(UnusableProposal, match="no query"):
        read(said(search_needed=needed))


@pytest.mark.parametrize("needed", [False, "false"])
def test_q5_a_plan_may_say_that_no_search_is_needed(needed: Any) -> None:
    proposal = read(said(search_needed=needed))

    assert (proposal.queries, proposal.search_needed) == ((), False)


def test_a_plan_that_contradicts_itself_is_searched() -> None:
    proposal = read(said(("tower", "a"), search_needed=False))

    assert (pairs(proposal), proposal.search_needed) == ([("tower", "a")], True)


def test_a_question_is_rewritten_to_stand_alone() -> None:
    proposal = read(said(("tower", "a"), standalone_question="How high is\nthe Tokyo Tower?"))

    assert proposal.rewritten_question == "How high is the Tokyo Tower?"


@pytest.mark.parametrize(
    "given", ["", "  ", None, 7, "how  high is it?", "ＨＯＷ high is it?", "x" * (4 * len(QUESTION) + 401)]
)
def test_a_rewritten_question_that_is_the_same_empty_or_absurd_is_ignored(given: Any) -> None:
    assert read(said(("tower", "a"), standalone_question=given)).rewritten_question == ""


@pytest.mark.parametrize("unit", ["{", '{"a":', "[", '{"queries":[', '"', "{}", '{"queries":{}}'])
def test_a_model_that_repeats_itself_is_read_in_bounded_time(unit: str) -> None:
    with pytest.raises(UnusableProposal):
        read(unit * (2 * MAX_PLAN_CHARACTERS // len(unit)))


def test_a_number_without_end_is_no_plan() -> None:
    with pytest.raises(UnusableProposal):
        read('{"queries": ' + "9" * 10_000 + "}")
