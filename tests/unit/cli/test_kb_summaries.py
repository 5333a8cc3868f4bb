"""What is shown of the headers that a model's summaries go into."""

import io
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from rich.console import Console
from typer.testing import CliRunner

from citewire.cli import client as client_module
from citewire.cli.client import Client
from citewire.cli.kb import add_files, app
from citewire.cli.kb_tables import contexts_text, document_table
from citewire.contracts.knowledge import Contexts, Document
from loopback import QuietHandler, serving

WAITING = {"state": "waiting"}
SUMMARISING = {"state": "summarising"}
COMPLETE = {"state": "complete", "sections": 3, "usage": {"input_tokens": 1200, "output_tokens": 34, "requests": 1}}
CACHED = {
    "state": "complete",
    "sections": 1,
    "usage": {"input_tokens": 1200, "cached_tokens": 1000, "output_tokens": 34},
}
FAILED = {"state": "failed", "reason": "the model provider main answered 401 [sic]"}


def document(contextual: dict[str, Any]) -> dict[str, Any]:
    return {
        "doc_id": str(uuid4()),
        "kb_id": "kb",
        "title": "Handbook",
        "file_name": "handbook.txt",
        "document_type": "txt",
        "version": 1,
        "status": "indexed",
        "contextual": contextual,
        "updated_at": "2026-01-01T00:00:00Z",
    }


@pytest.fixture
def later() -> list[dict[str, Any]]:
    """What the service says of the headers, each time that it is asked."""
    return []


@pytest.fixture
def client(later: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Generator[Client]:
    monkeypatch.setattr(client_module, "POLL_INTERVAL", 0.0)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def do_GET(self) -> None:
            body = json.dumps(document(later.pop(0))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url, Client(url, None) as client:
        yield client


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "handbook.txt"
    path.write_text("Rail tickets cost ten francs.")
    return path


@pytest.mark.parametrize(
    ("contextual", "shown"),
    [
        ({}, "plain"),
        (SUMMARISING, "summarising"),
        (COMPLETE, "complete (3 sections, 1,234 tokens)"),
        (CACHED, "complete (1 section, 1,234 tokens, 1,000 of them cached)"),
        (FAILED, "failed: the model provider main answered 401 [sic]"),
    ],
)
def test_the_table_says_what_headers_are_made_of_and_what_they_cost(contextual: dict[str, Any], shown: str) -> None:
    console = Console(file=io.StringIO(), width=250, markup=False)

    console.print(document_table([Document.model_validate(document(contextual))]))

    assert isinstance(console.file, io.StringIO)
    assert shown in console.file.getvalue()


def test_adding_files_waits_for_their_summaries(client: Client, later: list[dict[str, Any]], path: Path) -> None:
    later += [WAITING, SUMMARISING, COMPLETE]

    failed = add_files(client, "kb", [path])

    assert failed == []
    assert later == []


def test_plain_headers_in_place_of_summaries_are_no_failure_and_are_told(
    client: Client, later: list[dict[str, Any]], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later += [WAITING, FAILED]

    failed = add_files(client, "kb", [path])

    assert failed == []
    assert "handbook.txt: the model provider main answered 401 [sic]" in " ".join(capsys.readouterr().err.split())


def test_nobody_waits_where_no_model_is_asked(client: Client, later: list[dict[str, Any]], path: Path) -> None:
    later += [{}]

    assert add_files(client, "kb", [path]) == []


@pytest.mark.parametrize(
    ("contexts", "shown"),
    [
        ({"documents": {"plain": 0, "complete": 0}}, ""),
        ({"documents": {"plain": 1200, "complete": 0}}, "1,200 plain"),
        (
            {
                "documents": {"waiting": 3, "complete": 2, "failed": 0},
                "usage": {"input_tokens": 900, "output_tokens": 8},
            },
            "3 waiting, 2 complete, 908 tokens",
        ),
    ],
)
def test_documents_are_counted_by_what_their_headers_are_made_of(contexts: dict[str, Any], shown: str) -> None:
    assert contexts_text(Contexts.model_validate(contexts)) == shown


def test_documents_of_before_are_summarised_on_demand() -> None:
    asked = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            body = json.dumps({"documents": {"waiting": 3, "complete": 2}}).encode()
            self.send_response(202)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        result = CliRunner().invoke(app, ["summarise", "handbook", "--url", url])

    assert (result.exit_code, result.stdout) == (0, "headers of handbook: 3 waiting, 2 complete\n")
    assert asked == ["/v1/kbs/handbook/contexts"]
