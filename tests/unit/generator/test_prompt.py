"""The prompt of an answer: its parts, and what gives way when they do not all fit."""

import pytest

from builders import DOCUMENTS, planned, source
from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import PageSpan, Verdict
from citewire.contracts.providers import AnswerForm, Provider
from citewire.contracts.sessions import OutputLength, SessionParams, Turn
from citewire.text.budget import RULES_TOKENS
from citewire.text.tokens import count_tokens
from generator.blocks import source_block
from generator.citations.collect import collect_citations
from generator.prompt import Prompt, PromptTooLong, build_prompt, evidence_room
from generator.reading.structured import ANSWER_SHAPE
from generator.reading.tail import make_claim
from generator.rules import instructions

PASSAGE = source(1, "Revenue rose by 4 %.", title="Report")


def provider(**fields: object) -> Provider:
    ready = {"name": "main", "address": "http://127.0.0.1:1/v1", "model": "small", "sealed_key": "sealed"}
    return Provider.model_validate(ready | fields)


def plan(question: str = "Why?", history: tuple[Turn, ...] = (), **params: object) -> RetrievalPlanned:
    changed = SessionParams.model_validate({"kb_ids": ("kb",)} | params)
    return planned(question, "kb").model_copy(update={"history": history, "params": changed})


def turns(count: int, text: str = "w " * 50) -> tuple[Turn, ...]:
    return tuple(Turn(question=f"question {n} {text}", answer=f"answer {n} {text}") for n in range(count))


def all_tokens(prompt: Prompt) -> int:
    request = prompt.request
    return sum(map(count_tokens, [request.instructions, *(message.text for message in request.messages)]))


def test_the_last_message_holds_the_sources_and_then_the_question() -> None:
    request = build_prompt(provider(), plan(), [PASSAGE]).request

    assert [(message.role, message.text) for message in request.messages] == [
        (
            "user",
            '<sources>\n<source number="1" title="Report">\nRevenue rose by 4 %.\n</source>\n</sources>\n\nWhy?',
        )
    ]


def test_without_sources_the_question_stands_alone_and_nothing_is_to_be_cited() -> None:
    request = build_prompt(provider(), plan(), []).request

    assert request.messages[-1].text == "Why?"
    assert "<source" not in request.instructions
    assert "QUOTES" not in request.instructions


def test_a_source_that_spans_pages_has_a_tag_where_each_begins() -> None:
    pages = (PageSpan(number=3, start=90, end=106), PageSpan(number=4, label="iv", start=106, end=120))

    block = source_block(7, source(7, "third [1]. fourth.", start=95, pages=pages))

    assert block == (
        '<source number="7" title="doc7" pages="3-4">\n'
        '<page number="3"/>third (1). <page number="4"/>fourth.\n'
        "</source>"
    )


def test_a_source_on_one_page_names_it_once() -> None:
    block = source_block(1, source(1, "text", pages=(PageSpan(number=3, start=0, end=40),)))

    assert block == '<source number="1" title="doc1" pages="3">\ntext\n</source>'


def test_text_before_the_first_known_page_is_kept() -> None:
    pages = (PageSpan(number=1, start=4, end=8), PageSpan(number=2, start=8, end=12))

    assert '<page number="1"/>abc\nefgh<page number="2"/>ijk\n' in source_block(
        1, source(1, "abc\nefghijk", pages=pages)
    )


def test_hidden_characters_move_no_page_tag_and_hide_no_marker() -> None:
    pages = (PageSpan(number=1, start=0, end=6), PageSpan(number=2, start=6, end=12))

    assert '1"/>a (1)<page number="2"/>b (2)\n' in source_block(1, source(1, "a [\u200b1]b [2]", pages=pages))


def test_c14_no_id_reaches_the_model() -> None:
    request = build_prompt(provider(), plan(), [source(1, "text", kb_id="secret-kb")]).request
    prompt = request.instructions + request.messages[-1].text

    assert "secret-kb" not in prompt
    assert str(PASSAGE.doc_id) not in prompt
    assert str(DOCUMENTS) not in prompt


def test_f09_braces_and_percent_signs_reach_the_model_as_they_are() -> None:
    strange = "{w14}{0}%s${x} {{y}} %(z)d \\n {wishes}"

    request = build_prompt(
        provider(), plan(strange, system_message=strange), [source(1, strange, title=strange)]
    ).request

    assert request.messages[-1].text.count(strange) == 3
    assert request.instructions.count(strange) == 1


def test_g07_a_question_with_angle_brackets_is_not_altered() -> None:
    question = "if a<b and c>d, is <source number=2> & &lt; <|endoftext|> [1] ok?"

    assert build_prompt(provider(), plan(question), [PASSAGE]).request.messages[-1].text.endswith(f"\n\n{question}")


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("if a < b then", "if a &lt; b then"),
        ("if a < b then", "if a < b then"),
        ("R&D and AT&T", "R&D and AT&T"),
        ("write &lt;b&gt; for it", "write &amp;lt;b&gt; for it"),
        ("&#60; is an entity", "&amp;#60; is an entity"),
        ("weniger als ＜5", "weniger als &lt;5"),
        ("soft\u00adhyphen here", "softhyphen here"),
        ("as shown in [2] and 【3】", "as shown in (2) and （3）"),
    ],
)
def test_a_quote_copied_from_the_prompt_is_proved_in_the_stored_text(text: str, copied: str) -> None:
    claim = make_claim(1, copied)

    assert claim
    cited = collect_citations("So it is [1].", [claim], [source(1, text)])
    assert cited.citations[0].quotes[0].verdict in {Verdict.EXACT, Verdict.NORMALISED}


def test_page_tags_that_a_model_copies_are_no_part_of_its_quote() -> None:
    claim = make_claim(1, 'one <page number="2"/>two')

    assert claim
    assert claim.quote == "one two"


@pytest.mark.parametrize("text", ["a < b", "&lt;", "&amp;lt;", "&#x3c;", "<source>", "R&D", "<|im_end|>"])
def test_what_the_prompt_escapes_is_copied_back_exactly(text: str) -> None:
    shown = source_block(1, source(1, text)).split("\n")[1]

    claim = make_claim(1, shown)

    assert claim
    assert claim.quote == text


def test_history_becomes_turns_of_a_dialogue() -> None:
    prompt = build_prompt(provider(), plan(history=(Turn(question="a?", answer="b [1]"),)), [PASSAGE])

    assert [(message.role, message.text) for message in prompt.request.messages[:2]] == [
        ("user", "a?"),
        ("assistant", "b [1]"),
    ]
    assert prompt.history_turns == 1


def test_a_turn_without_an_answer_is_no_turn() -> None:
    history = (Turn(question="a?", answer="b"), Turn(question="c?", answer=" "))

    prompt = build_prompt(provider(), plan(history=history), [PASSAGE])

    assert [message.text for message in prompt.request.messages[:-1]] == ["a?", "b"]


def test_f05_old_turns_give_way_whole_and_the_evidence_stays() -> None:
    small = provider(context_tokens=2_400, max_output_tokens=400)
    sources = [source(n, f"fact {n} " + "word " * 100) for n in range(1, 9)]

    prompt = build_prompt(small, plan(history=turns(10)), sources)

    texts = [message.text for message in prompt.request.messages]
    assert 0 < prompt.history_turns < 10
    assert texts[0].startswith(f"question {10 - prompt.history_turns} ")
    assert texts[-2].startswith("answer 9 ")
    assert prompt.left_out == ()
    assert all(f"fact {n} " in texts[-1] for n in range(1, 9))
    assert all_tokens(prompt) <= 2_000


def test_f05_only_a_question_that_does_not_fit_by_itself_is_refused() -> None:
    small = provider(context_tokens=1_500, max_output_tokens=300)

    with pytest.raises(PromptTooLong):
        build_prompt(small, plan("word " * 1_500), [PASSAGE])


def test_f07_chinese_history_over_budget_is_never_cut_within_a_character() -> None:
    small = provider(context_tokens=2_048, max_output_tokens=500)

    prompt = build_prompt(small, plan("为什么？", history=turns(10, "龘靐齉爩" * 40)), [PASSAGE])

    texts = "".join(message.text for message in prompt.request.messages)
    assert 0 < prompt.history_turns < 10
    assert "\ufffd" not in texts
    assert texts.count("龘靐齉爩") == 80 * prompt.history_turns


def test_evidence_that_fills_its_room_fits_exactly() -> None:
    small = provider(context_tokens=2_048, max_output_tokens=500)
    asked = plan(history=turns(4))
    room = evidence_room(small, asked)
    text = "word" + " word" * (room - count_tokens(source_block(1, source(1, ""))) - 8)

    prompt = build_prompt(small, asked, [source(1, text)])

    assert room - 10 < count_tokens(source_block(1, source(1, text))) <= room
    assert prompt.left_out == ()
    assert prompt.history_turns == 0
    assert all_tokens(prompt) <= 1_548


def test_a_source_that_grows_over_the_room_by_escapes_is_left_out_whole_and_named() -> None:
    small = provider(context_tokens=2_048, max_output_tokens=500)

    prompt = build_prompt(small, plan(), [source(1, "<" * 2_000), source(2, "small")])

    assert prompt.left_out == (1,)
    assert '<source number="2"' in prompt.request.messages[-1].text
    assert "&lt;" not in prompt.request.messages[-1].text


def test_there_is_no_room_for_evidence_where_the_question_leaves_none() -> None:
    assert evidence_room(provider(context_tokens=1_024, max_output_tokens=16), plan("word " * 2_000)) == 0


def test_an_answer_takes_half_of_a_small_context_at_most() -> None:
    request = build_prompt(provider(context_tokens=2_048, max_output_tokens=2_048), plan(), [PASSAGE]).request

    assert request.max_output_tokens == 1_024


def test_the_model_of_the_session_goes_before_that_of_the_provider() -> None:
    assert build_prompt(provider(), plan(model="large"), []).request.model == "large"
    assert build_prompt(provider(), plan(), []).request.model == "small"


@pytest.mark.parametrize(
    ("fields", "sent"),
    [({}, 0.7), ({"temperature": 0.0}, 0.0), ({"sends_temperature": False, "temperature": 0.5}, None)],
)
def test_the_temperature_of_the_provider_goes_before_that_of_the_session(
    fields: dict[str, object], sent: float | None
) -> None:
    assert build_prompt(provider(**fields), plan(temperature=0.7), []).request.temperature == sent


def test_only_the_structured_form_asks_for_json() -> None:
    structured = build_prompt(provider(form=AnswerForm.STRUCTURED), plan(), [PASSAGE]).request

    assert structured.shape == ANSWER_SHAPE
    assert build_prompt(provider(), plan(), [PASSAGE]).request.shape is None


@pytest.mark.parametrize("form", AnswerForm)
def test_the_length_that_is_asked_for_changes_one_line_of_the_rules(form: AnswerForm) -> None:
    lines = [set(instructions(form, length, "", has_sources=True).splitlines()) for length in OutputLength]

    assert all(len(one - other) == 1 for one in lines for other in lines if one is not other)


@pytest.mark.parametrize("form", AnswerForm)
@pytest.mark.parametrize("has_sources", [True, False])
def test_the_rules_are_within_the_tokens_set_aside_for_them(form: AnswerForm, has_sources: bool) -> None:
    rules = instructions(form, OutputLength.LONG, "Be kind.", has_sources=has_sources)

    assert count_tokens(rules) < RULES_TOKENS / 2


def test_control_characters_and_lone_surrogates_do_not_reach_the_model() -> None:
    request = build_prompt(
        provider(), plan("a\x00b\ud800", system_message="c\x00"), [source(1, "d\x00\ud800", title="e\x00")]
    ).request

    assert not {"\x00", "\ud800"} & set(request.messages[-1].text + request.instructions)


def test_far_too_much_of_everything_still_fits() -> None:
    sources = [source(n, "<b> [1] 字 " * 200) for n in range(1, 41)]

    prompt = build_prompt(provider(), plan(history=turns(4, "字" * 500)), sources)

    assert all_tokens(prompt) <= 32_000 - 2_048
