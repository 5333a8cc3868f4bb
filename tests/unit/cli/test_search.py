"""What `citewire search` sends, and what it prints of the answer."""

import json
from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner, Result

from citewire.cli.search import search
from citewire.contracts.evidence import ExplainedHit, Leg, PageSpan, Segment
from citewire.contracts.requests import SearchReply
from loopback import QuietHandler, serving

DOC_ID = UUID(int=1)
SEGMENT = Segment(
    kb_id="handbook",
    doc_id=DOC_ID,
    version=1,
    title="Fares [bold]",
    file_name="fares.pdf",
    document_type="pdf",
    section="Tickets",
    pages=(PageSpan(number=3, label="iii", start=0, end=9), PageSpan(number=4, start=9, end=20)),
    start=0,
    end=20,
    text="票价是10法郎。 {0} [red]",
    score=0.8125,
    first_chunk=4,
    last_chunk=5,
)
HIT = ExplainedHit(
    query=0,
    doc_id=DOC_ID,
    file_name="fares.pdf",
    title="",
    ordinal=4,
    start=0,
    end=9,
    lexical_rank=1,
    lexical_score=7.25,
    fused=0.6,
    similarity=0.9,
)
REPLY = SearchReply(
    segments=(SEGMENT,),
    legs=(
        Leg(kb_id="handbook", leg="lexical", hits=3, elapsed_ms=1.25),
        Leg(kb_id="handbook", leg="dense", skipped="no embedder"),
        Leg(kb_id="handbook", leg="late", hits=1, elapsed_ms=2, ready=4, total=9),
    ),
    explained=(HIT,),
)
FILTER = {"and": [{"field": "year", "operator": "in", "value": [2023, 2024]}]}


class Service:
    """Answers each request with one reply, and remembers what was asked."""

    def __init__(self) -> None:
        self.path = ""
        self.body: dict[str, Any] = {}

    def run(self, *arguments: str) -> Result:
        app = typer.Typer()
        app.command()(search)
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*arguments, "--url", self.url])

    url = ""


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            service.path = self.path
            service.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(REPLY.model_dump_json().encode())

    with serving(Handler) as service.url:
        yield service


def test_only_what_was_said_is_sent(service: Service) -> None:
    service.run("what does it cost?", "--kb", "handbook")

    assert service.path == "/v1/kbs/handbook/search"
    assert service.body == {"query": "what does it cost?", "top_k": 8, "explain": False}


def test_filter_mode_and_number_are_sent(service: Service) -> None:
    service.run("x", "--kb", "a", "--filter", json.dumps(FILTER), "--mode", "chunks", "--top-k", "3", "--explain")

    assert service.body == {"query": "x", "top_k": 3, "explain": True, "filter": FILTER, "mode": "chunks"}


@pytest.mark.parametrize("text", ["{", "year = 2024", "[" * 100_000])
def test_a_filter_that_is_not_json_is_refused_before_anything_is_sent(service: Service, text: str) -> None:
    result = service.run("x", "--kb", "a", "--filter", text)

    assert result.exit_code == 2
    assert "not JSON" in result.output
    assert service.path == ""


@pytest.mark.parametrize(
    "printed",
    [
        "1. Fares [bold] · Tickets · pp. iii–4 · score 0.812",
        "票价是10法郎。 {0} [red]",
        "lexical: 3 hits in 1.2 ms",
        "dense: no embedder",
        "late: 1 hits in 2.0 ms, 4 of 9 chunks ready",
    ],
)
def test_a_segment_is_printed_with_its_place_and_every_leg_with_its_state(service: Service, printed: str) -> None:
    assert printed in service.run("x", "--kb", "a").output


def test_chunks_are_shown_only_when_asked_for(service: Service) -> None:
    assert "fares.pdf #4" not in service.run("x", "--kb", "a").output


def test_explained_chunks_have_rank_and_score_of_each_leg(service: Service) -> None:
    rows = [line for line in service.run("x", "--kb", "a", "--explain").output.splitlines() if "fares.pdf #4" in line]

    assert [cell.strip() for cell in rows[0].strip("│").split("│")] == [
        "1", "fares.pdf #4", "1. (7.250)", "–", "0.600", "–", "0.900"
    ]  # fmt: skip


def test_json_is_the_whole_answer(service: Service) -> None:
    assert SearchReply.model_validate_json(service.run("x", "--kb", "a", "--json").stdout) == REPLY
