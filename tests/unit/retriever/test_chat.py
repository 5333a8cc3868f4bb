"""Chat logs are known by their lines, and their messages stay whole."""

import pytest

from retriever.ingest.parsers import parse
from retriever.reading import read_file


def kind(text: str) -> str:
    return parse("a.log", text.encode()).document_type


@pytest.mark.parametrize(
    "text",
    [
        "[小明] 你好\n[小红] 早上好",
        "[小明]: 你好\n[小红]: 早上好",
        "[10:02] [bob] Hello.\n[10:03] [anna] Good morning.",
        "[2024-01-02 10:02] bob: Hello.\n[2024-01-02 10:03] anna: Good morning.",
        "[1/2/24, 10:02:03 AM] Bob: Hello.\n[1/2/24, 10:03:04 AM] Anna: Good morning.",
        "Log of May\n[bob] Hello.\nhow are you?\n[anna] Fine.\n[bob] Good.",
    ],
)
def test_lines_that_begin_with_who_wrote_them_are_a_chat(text: str) -> None:
    assert kind(text) == "chat"


@pytest.mark.parametrize(
    "text",
    [
        "[INFO] started\n[ERROR] failed\n[INFO] started",
        "[10:02] started\n[10:03] stopped",
        "[1] First reference.\n[2] Second reference.",
        "[section]\nkey = value\n[other]\nkey = value",
        "[a](b) is a link\n[c](d) is another",
        "[x] done\n[ ] not done\n[x] done",
        "\n".join(f"[Author{year}] A title, {year}." for year in range(2000, 2010)),
        "[bob] said it once, and the rest is text.\nMore.\nMore.\nMore.",
        "[" * 50_000,
    ],
)
def test_other_brackets_are_no_chat(text: str) -> None:
    assert kind(text) == "txt"


def test_a_chat_is_called_by_its_file() -> None:
    assert parse("standup.txt", b"[bob] Hello.\n[anna] Hi.").title == "standup"


def test_messages_are_not_cut_where_they_fit_a_chunk() -> None:
    line = "words " * 20 + "end."
    messages = [f"[{name}] {line}" for name in ("anna", "bob", "carl") for _ in range(5)]
    messages[::5] = [f"[anna] {line}\nA second line.\n\nA third one, and the end."] * 3

    version = read_file("a.txt", "\n".join(messages).encode())

    bodies = [version.text[chunk.start : chunk.end] for chunk in version.chunks]
    assert version.document_type == "chat"
    assert all(body.startswith("[") and body.endswith("end.") for body in bodies)


def test_messages_of_one_line_follow_each_other_without_an_empty_one() -> None:
    document = parse("a.txt", b"[bob] Hello.\n\n[anna] Hi.\n[bob] Two\nlines.\n[anna] Bye.")

    assert document.text == "[bob] Hello.\n[anna] Hi.\n\n[bob] Two\nlines.\n\n[anna] Bye."
