"""Answers made of the sources' own sentences."""

from builders import planned, source
from citewire.contracts.provenance import Maker, Planner
from generator.citations.markers import find_markers
from generator.draft import Draft
from generator.extractive import ExtractiveWriter, write_extract


def text_of(question: str, *texts: str) -> str:
    sources = [source(number, text) for number, text in enumerate(texts, start=1)]
    return "".join(piece.text for piece in write_extract(question, (), sources))


def test_the_sentence_that_answers_is_quoted_with_its_number() -> None:
    text = text_of("How much did revenue grow?", "The weather was fine. Revenue grew by 12 percent. We left early.")

    assert text == "- Revenue grew by 12 percent. [1]"


def test_an_explanation_answers_for_the_short_term_above_it() -> None:
    assert text_of("What does EAP stand for?", "EAP\n\nEarly Access Program.") == "- Early Access Program. [1]"


def test_lines_are_ordered_by_source_number() -> None:
    text = text_of("revenue growth 2023", "Revenue growth slowed.", "Revenue growth of 2023 was 12 percent.")

    assert [marker.numbers for marker in find_markers(text)] == [(1,), (2,)]


def test_a_source_gives_at_most_two_sentences() -> None:
    text = text_of("revenue", "Revenue up one. Revenue up two. Revenue up three. Revenue up four.")

    assert text.count("[1]") == 2


def test_an_answer_has_at_most_six_sentences() -> None:
    text = text_of("revenue", *(f"Revenue up {n}. Revenue down {n}." for n in range(8)))

    assert len(find_markers(text)) == 6


def test_no_fitting_sentence_is_said_in_the_question_s_language() -> None:
    assert "no evidence" in text_of("Who is the king?", "Oxygen is a gas.")
    assert "证据" in text_of("谁是国王", "Oxygen is a gas.")


def test_a_chinese_question_finds_its_sentence_without_spaces() -> None:
    text = text_of("标准化动向", "天气很好。国际标准化动向值得关注！我们回家了。")

    assert text == "- 国际标准化动向值得关注！ [1]"


def test_e04_a_follow_up_scores_with_the_earlier_question_s_terms() -> None:
    sources = [source(1, "乙公司利润为 1 亿元。甲公司利润为 5 亿元。")]

    pieces = write_extract("那它的利润呢", ("甲公司 2023 年营收",), sources)

    assert "甲公司利润为 5 亿元。" in [piece.quote for piece in pieces]


def test_a_quote_is_the_document_s_own_characters() -> None:
    document = "x" * 40 + "Intro here. Revenue grew by 12 percent."
    passage = source(1, document[40:], start=40)

    (piece,) = write_extract("revenue growth percent", (), [passage])

    assert document[piece.start : piece.end] == piece.quote == "Revenue grew by 12 percent."


def test_a_marker_inside_a_source_is_neutralised() -> None:
    text = text_of("revenue percent", "Revenue grew by 12 percent [7].")

    assert [marker.numbers for marker in find_markers(text)] == [(1,)]


def test_the_same_input_gives_the_same_answer() -> None:
    arguments = ("revenue", *(f"Revenue up {n}. Revenue down {n}." for n in range(8)))

    assert text_of(*arguments) == text_of(*arguments)


def test_images_without_text_are_named_as_such() -> None:
    assert "Images" in text_of("What is shown?", "")


async def test_without_a_knowledge_base_the_answer_says_so() -> None:
    assert [piece async for piece in ExtractiveWriter().write(planned("Why?"), (), Draft())] == [
        "No knowledge base was selected, so nothing was searched and there is nothing to cite."
    ]


async def test_a_question_that_needs_no_search_and_has_no_model_says_so() -> None:
    plan = planned("谢谢").model_copy(update={"planner": Planner(made_by=Maker.MODEL, search_needed=False)})

    text = "".join([piece async for piece in ExtractiveWriter().write(plan, (), Draft())])

    assert text == "这个问题不需要检索知识库，但目前没有可用的语言模型来回答。"
