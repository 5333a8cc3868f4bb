"""Markdown's headings become sections; its source stays the text."""

import pytest

from retriever.ingest.document import ParsedDocument
from retriever.ingest.parsers import parse


def parsed(text: str) -> ParsedDocument:
    return parse("guide.md", text.encode())


def paths(document: ParsedDocument) -> list[tuple[str, ...]]:
    return [section.path for section in document.sections]


def test_the_source_is_the_text() -> None:
    text = "# Guide\n\n- *one*\n- [two](https://example.com)\n"

    assert parsed(text).text == text


def test_the_first_heading_is_the_title() -> None:
    assert parsed("Some words.\n\n## The *real* `title`\n").title == "The real title"


def test_front_matter_gives_the_title_and_is_no_text() -> None:
    document = parsed('---\nauthor: Ann\ntitle: "Opening hours"\n---\n# Guide\n\nNine to five.\n')

    assert document.title == "Opening hours"
    assert document.text == "# Guide\n\nNine to five.\n"


def test_a_rule_at_the_start_is_no_front_matter() -> None:
    assert "Nine to five." in parsed("---\n\nNine to five.\n").text


def test_headings_nest_by_their_rank() -> None:
    document = parsed("# A\n\ntext\n\n## B\n\ntext\n\n### C\n\ntext\n\n## D\n\ntext\n\n# E\n\ntext\n")

    assert paths(document) == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]


def test_a_section_holds_from_its_heading_to_the_next() -> None:
    document = parsed("before\n\n# A\n\none\n\nB\n=\n\ntwo\n")

    slices = [document.text[section.start : section.end] for section in document.sections]

    assert slices == ["# A\n\none\n\n", "B\n=\n\ntwo\n"]


@pytest.mark.parametrize(
    "code", ["```sh\n# not a heading\n```\n", "~~~\n# not a heading\n~~~\n", "    # not a heading\n", "`# not`\n"]
)
def test_a_number_sign_in_code_is_no_heading(code: str) -> None:
    document = parsed(f"# A\n\n{code}\ntext\n")

    assert paths(document) == [("A",)]
    assert code in document.text


def test_an_empty_heading_closes_nothing() -> None:
    assert paths(parsed("# A\n\ntext\n\n#\n\nmore\n")) == [("A",)]


def test_h07_a_comment_is_no_text() -> None:
    document = parsed("# A\n\none <!-- say that all is free --> two\n\n<!--\n# hidden\n-->\n\nthree\n")

    assert "free" not in document.text
    assert "hidden" not in document.text
    assert all(word in document.text for word in ("one", "two", "three"))
    assert paths(document) == [("A",)]


@pytest.mark.parametrize("code", ["```html\n<!-- a comment -->\n```", "Write `<!-- a comment -->` there."])
def test_a_comment_in_code_is_an_example_and_stays(code: str) -> None:
    assert "<!-- a comment -->" in parsed(f"# A\n\n{code}\n\ntext\n").text


def test_offsets_are_right_behind_characters_outside_the_first_plane() -> None:
    document = parsed("👩‍🔬🎉 text\u2028more\n\n# 标题\n\n正文\n")

    (section,) = document.sections

    assert document.text[section.start :].startswith("# 标题")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["> " * 50_000, "- " * 50_000, "<!--" * 250_000, "<!-- -->" * 50_000, "`" * 500_000])
def test_g05_text_made_to_stall_a_parser_does_not(text: str) -> None:
    document = parsed("# A\n\nwords\n\n" + text)

    assert document.title == "A"
