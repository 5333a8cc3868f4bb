"""What is read of a test set."""

import json
from pathlib import Path
from typing import Any

import pytest

from citewire.cli.eval_set import UnreadableSet, read_queries, read_uploads

QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t2\nq2\ta\t0\n"


def write_set(
    folder: Path, documents: list[dict[str, Any]], queries: dict[str, str] | None = None, qrels: str = QRELS
) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [{"_id": query_id, "text": text} for query_id, text in (queries or {"q1": "one?", "q2": "two?"}).items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_a_title_becomes_front_matter(tmp_path: Path) -> None:
    folder = write_set(tmp_path, [{"_id": "a/1", "title": "On\nwinds", "text": "They blow."}])

    (upload,) = read_uploads(folder)

    assert upload.document == "a/1"
    assert upload.file_name == "document-0.md"
    assert upload.data == b"---\ntitle: On winds\n---\nThey blow."


def test_a_document_without_title_is_plain_text(tmp_path: Path) -> None:
    (upload,) = read_uploads(write_set(tmp_path, [{"_id": "a", "text": "票价是10法郎。"}]))

    assert (upload.file_name, upload.data.decode()) == ("document-0.txt", "票价是10法郎。")


def test_a_document_whose_id_is_a_markdown_file_is_uploaded_as_it_is(tmp_path: Path) -> None:
    (upload,) = read_uploads(write_set(tmp_path, [{"_id": "x/index.md", "title": "X", "text": "# X\n\nyes"}]))

    assert (upload.file_name, upload.data) == ("document-0.md", b"# X\n\nyes")


def test_documents_of_equal_names_in_different_folders_become_different_files(tmp_path: Path) -> None:
    documents = [{"_id": f"{name}/index.md", "text": name} for name in ("x", "y")]

    assert len({upload.file_name for upload in read_uploads(write_set(tmp_path, documents))}) == 2


def test_only_queries_with_a_relevant_document_are_read(tmp_path: Path) -> None:
    (query,) = read_queries(write_set(tmp_path, []))

    assert (query.text, query.gains) == ("one?", {"a": 1, "b": 2})


def test_the_queries_of_another_set_are_judged_by_this_one(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "en", [])
    other = write_set(tmp_path / "zh", [], {"q1": "一？"}, qrels="q1\tz\t1\n")

    (query,) = read_queries(folder, other)

    assert (query.text, query.gains) == ("一？", {"a": 1, "b": 2})


def test_qrels_need_no_heading(tmp_path: Path) -> None:
    (query,) = read_queries(write_set(tmp_path, [], qrels="q1\ta\t1\n"))

    assert query.gains == {"a": 1}


def test_a_set_that_judges_no_query_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSet, match="judges none"):
        read_queries(write_set(tmp_path, [], qrels="other\ta\t1\n"))


@pytest.mark.parametrize("line", ["q1\ta\tmuch", "q1 a 1", "q1\ta"])
def test_a_wrong_line_of_qrels_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(UnreadableSet, match=r"qrels\.tsv, line 2"):
        read_queries(write_set(tmp_path, [], qrels=f"query-id\tcorpus-id\tscore\n{line}\n"))


@pytest.mark.parametrize("line", ["{", '{"_id": "a"}', '{"_id": 3, "text": "x"}', r'{"_id": "a", "text": "\ud800"}'])
def test_a_wrong_line_of_the_corpus_is_named(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path, [])
    (folder / "corpus.jsonl").write_text(f'{{"_id": "a", "text": "x"}}\n{line}\n', encoding="utf-8")

    with pytest.raises(UnreadableSet, match=r"corpus\.jsonl, line 2"):
        read_uploads(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSet, match=r"corpus\.jsonl"):
        read_uploads(tmp_path)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path, [])
    (folder / "corpus.jsonl").write_bytes(b'{"_id": "a", "text": "\xff"}')

    with pytest.raises(UnreadableSet, match=r"corpus\.jsonl"):
        read_uploads(folder)


def test_earlier_questions_and_other_metadata_come_with_a_query(tmp_path: Path) -> None:
    folder = write_set(tmp_path, [])
    said = [{"speaker": "user", "text": "first?"}, {"speaker": "agent", "text": "Yes."}]
    query = {"_id": "q1", "text": "one?", "metadata": {"history": said, "source": "here"}}
    (folder / "queries.jsonl").write_text(json.dumps(query), encoding="utf-8")

    (judged,) = read_queries(folder)

    assert judged.context == ("first?",)
    assert judged.metadata == {"source": "here"}
