"""`citewire eval retrieval` against a service that answers as the real one does."""

import json
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from citewire.cli import eval as evaluation
from citewire.cli.eval import app
from citewire.contracts.evidence import ExplainedHit
from citewire.contracts.knowledge import Document, DocumentStatus, Embedding, KnowledgeBase
from citewire.contracts.requests import DocumentList, SearchReply
from citewire.contracts.retrieval import RetrievalSettings
from loopback import QuietHandler, serving

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DOCUMENT = Document(
    doc_id=UUID(int=1),
    kb_id="kb",
    title="On winds",
    file_name="document-0.md",
    document_type="md",
    version=1,
    status=DocumentStatus.EMBEDDED,
    chunks=3,
    updated_at=NOW,
)
HIT = ExplainedHit(
    query=0,
    doc_id=DOCUMENT.doc_id,
    file_name=DOCUMENT.file_name,
    title="",
    ordinal=0,
    start=0,
    end=1,
    lexical_rank=1,
    fused=0.6,
    similarity=0.9,
)


class Service:
    """Remembers what was asked of it; searches fail with `search_status`, `reason` keeps it from embedding."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, str]] = []
        self.search_status = 200
        self.reason: str | None = None
        self.dense_weight = 0.4

    def answer(self, method: str, path: str) -> tuple[int, str]:
        route, _, parameters = path.partition("?")
        if method == "PATCH":
            self.dense_weight = json.loads(self.asked[-1][2])["retrieval"]["dense_weight"]
        if route.endswith("/search"):
            return self.search_status, SearchReply(segments=(), legs=(), explained=(HIT,)).model_dump_json()
        if route.endswith("/embedding"):
            return 200, Embedding(reason=self.reason).model_dump_json()
        if method == "GET" and route.endswith("/documents"):
            wanted = DocumentStatus.INDEXED if self.reason else DocumentStatus.EMBEDDED
            shown = (DOCUMENT,) if "status" not in parameters or f"status={wanted.value}&" in parameters else ()
            return 200, DocumentList(documents=shown).model_dump_json()
        retrieval = RetrievalSettings(dense_weight=self.dense_weight)
        kb = KnowledgeBase(
            kb_id="kb", title="x", embedder=self.created()["embedder"], retrieval=retrieval, created_at=NOW
        )
        return 200, kb.model_dump_json()

    def bodies(self, method: str, ending: str) -> list[str]:
        return [body for asked, path, body in self.asked if asked == method and path.endswith(ending)]

    def removed(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path, _ in self.asked if method == "DELETE"]

    def created(self) -> dict[str, Any]:
        (body,) = self.bodies("POST", "/v1/kbs")
        return dict(json.loads(body))

    def run(self, folder: Path, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["retrieval", "--set", str(folder), *arguments, "--url", self.url])


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()

    class Handler(QuietHandler):
        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            service.asked.append((self.command, self.path, body))
            status, answer = service.answer(self.command, self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer.encode())))
            self.end_headers()
            self.wfile.write(answer.encode())

        do_GET = do_POST = do_PATCH = do_DELETE = reply  # noqa: N815 - as http.server calls them

    with serving(Handler) as service.url:
        yield service


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "On winds", "text": "They blow."}')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "one?"}\n{"_id": "q2", "text": "two?"}')
    (tmp_path / "qrels.tsv").write_text("q1\ta\t1\nq2\tb\t1\n")
    return tmp_path


def test_the_figures_are_printed_as_json(service: Service, folder: Path) -> None:
    report = json.loads(service.run(folder, "--json").stdout)

    assert (report["documents"], report["chunks"], report["queries"]) == (1, 3, 2)
    assert report["figures"]["lexical"]["ndcg_10"] == 0.5


def test_the_figures_are_printed_as_tables(service: Service, folder: Path) -> None:
    output = service.run(folder).stdout

    assert "2 queries, 1 documents, 3 chunks" in output
    assert "p95 ms" in output


def test_without_a_weight_the_settings_stay_and_are_reported(service: Service, folder: Path) -> None:
    report = json.loads(service.run(folder, "--json").stdout)

    assert report["dense_weight"] == 0.4
    assert service.bodies("PATCH", "") == []


def test_a_weight_is_set_before_anything_is_searched(service: Service, folder: Path) -> None:
    report = json.loads(service.run(folder, "--dense-weight", "0.7", "--json").stdout)

    assert report["dense_weight"] == 0.7
    methods = [method for method, path, _ in service.asked if method == "PATCH" or path.endswith("/search")]
    assert methods == ["PATCH", "POST", "POST"]


def test_several_weights_are_measured_on_one_filling(service: Service, folder: Path) -> None:
    reports = json.loads(service.run(folder, "--dense-weight", "0", "--dense-weight", "1", "--json").stdout)

    assert [report["dense_weight"] for report in reports] == [0, 1]
    assert len(service.bodies("POST", "/documents")) == 1
    assert len(service.bodies("POST", "/search")) == 4


def test_several_weights_give_a_table_each(service: Service, folder: Path) -> None:
    output = service.run(folder, "--dense-weight", "0.25", "--dense-weight", "0.5").stdout

    assert output.index("dense weight 0.25") < output.index("dense weight 0.5")
    assert output.count("nDCG@10") == 2


@pytest.mark.parametrize("weight", ["1.1", "-0.1", "nan", "inf", "half", ""])
def test_what_is_no_weight_creates_nothing(service: Service, folder: Path, weight: str) -> None:
    result = service.run(folder, "--dense-weight", weight)

    assert result.exit_code == 2
    assert service.asked == []


def test_the_knowledge_base_is_private_and_removed_afterwards(service: Service, folder: Path) -> None:
    service.run(folder)

    assert service.created()["access"] == {"everyone": False}
    assert service.removed() == [service.created()["kb_id"]]


def test_it_is_removed_after_a_failure_too(service: Service, folder: Path) -> None:
    service.search_status = 503

    result = service.run(folder)

    assert result.exit_code == 1
    assert service.removed() == [service.created()["kb_id"]]


def test_it_stays_and_is_named_if_that_is_wanted(service: Service, folder: Path) -> None:
    result = service.run(folder, "--keep")

    assert service.removed() == []
    assert f"kept {service.created()['kb_id']}" in result.stderr


def test_only_so_many_queries_are_asked(service: Service, folder: Path) -> None:
    service.run(folder, "--limit", "1")

    assert [json.loads(body)["query"] for body in service.bodies("POST", "/search")] == ["one?"]


def test_an_embedder_that_will_not_work_ends_the_wait(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "PATIENCE", 0.0)
    service.reason = "the model is not there"

    result = service.run(folder)

    assert result.exit_code == 1
    assert "the model is not there" in result.stderr


def test_without_an_embedder_nothing_waits_for_vectors(service: Service, folder: Path) -> None:
    service.reason = "no embedder is set"

    result = service.run(folder, "--embedder", "none")

    assert result.exit_code == 0
    assert service.created()["embedder"] == "none"


def test_a_set_that_can_not_be_read_creates_nothing(service: Service, folder: Path) -> None:
    (folder / "qrels.tsv").unlink()

    result = service.run(folder)

    assert result.exit_code == 1
    assert service.asked == []


@pytest.mark.parametrize("name", ["中文 集", "a" * 300, "UPPER.set"])
def test_any_folder_name_gives_a_valid_knowledge_base(service: Service, folder: Path, name: str) -> None:
    renamed = folder.parent / name[:200]
    folder.rename(renamed)

    assert service.run(renamed).exit_code == 0
