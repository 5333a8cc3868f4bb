"""What `citewire ask` prints of an answer."""

import json
from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner, Result

from builders import source
from citewire.cli.ask import ask
from citewire.contracts.answers import DeltaFrame, DoneFrame, SourcesFrame
from citewire.contracts.evidence import Citation, Quality, QualityLevel, Quote, QuoteOrigin, QuotePiece, Verdict
from citewire.contracts.problems import Problem
from citewire.contracts.provenance import Generator as Writer
from citewire.contracts.provenance import Maker, Planner
from citewire.contracts.sessions import InteractionStatus
from loopback import QuietHandler, serving

ID = UUID(int=1)
QUALITY = Quality(level=QualityLevel.OK, reason="")
EVIDENCE = source(1, "It is so.")
SOURCES = SourcesFrame(question_id=ID, queries=(), sources=(EVIDENCE,), legs=(), quality=QUALITY).model_dump_json()


def frames(*events: tuple[str, str]) -> str:
    return "".join(f"id: {number}\nevent: {name}\ndata: {data}\n\n" for number, (name, data) in enumerate(events, 1))


def delta(text: str) -> tuple[str, str]:
    return "delta", DeltaFrame(text=text).model_dump_json()


def done(**fields: Any) -> str:
    finished = DoneFrame(session_id=ID, question_id=ID, status=InteractionStatus.FINISHED)
    return finished.model_copy(update=fields).model_dump_json()


DONE = done()


def citing(*quotes: Quote) -> str:
    return done(citations=(Citation(number=1, kb_id=EVIDENCE.kb_id, doc_id=EVIDENCE.doc_id, quotes=quotes),))


def quote(verdict: Verdict, origin: QuoteOrigin = QuoteOrigin.GIVEN, *numbers: int) -> Quote:
    pieces = tuple(QuotePiece(number=number, start=0, end=2) for number in numbers)
    place: dict[str, Any] = dict.fromkeys(("answer_start", "answer_end", "start", "end"))
    return Quote(cited_text="It", verdict=verdict, origin=origin, pieces=pieces, **place)


class Service:
    """Answers each question with its one script."""

    def __init__(self) -> None:
        self.script = ""
        self.status = 200
        self.url = ""

    def run(self, *options: str) -> Result:
        app = typer.Typer()
        app.command()(ask)
        return CliRunner().invoke(app, ["Why?", "--kb", "handbook", "--url", self.url, *options])


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(service.status)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("X-Question-Id", str(ID))
            self.end_headers()
            self.wfile.write(service.script.encode())

    with serving(Handler) as service.url:
        yield service


def test_pieces_are_printed_as_one_text(service: Service) -> None:
    service.script = frames(("sources", SOURCES), delta("It is "), delta("so."), ("done", DONE))

    result = service.run()

    assert result.exit_code == 0
    assert result.stdout == "It is so.\n"


def test_an_answer_that_begins_anew_stands_apart_and_says_so(service: Service) -> None:
    service.script = frames(
        ("sources", SOURCES), delta("It is"), ("sources", SOURCES), delta("It was so."), ("done", DONE)
    )

    result = service.run()

    assert result.stdout == "It is\nIt was so.\n"
    assert "the answer begins anew" in result.stderr


@pytest.mark.parametrize(
    ("quotes", "told"),
    [
        ([quote(Verdict.EXACT), quote(Verdict.NORMALISED)], "✓ proved"),
        ([quote(Verdict.EXACT, QuoteOrigin.FOUND)], "~ supporting passage, not quoted"),
        ([quote(Verdict.EXACT), quote(Verdict.NOT_FOUND)], "✓ proved, ! not proved: not in the source"),
        ([quote(Verdict.MISATTRIBUTED, QuoteOrigin.GIVEN, 3)], "! not proved: stands in source 3"),
        (
            [quote(Verdict.STITCHED, QuoteOrigin.GIVEN, 1, 2, 1)],
            "! not proved: put together from parts of source 1, 2",
        ),
        ([], "! not proved: nothing quoted"),
    ],
)
def test_each_source_tells_how_far_its_quotes_are_proved(service: Service, quotes: list[Quote], told: str) -> None:
    service.script = frames(("sources", SOURCES), delta("It is so [1]."), ("done", citing(*quotes)))

    result = service.run()

    assert result.stdout.splitlines()[-1] == f"[1] doc1 · kb · {told}"


@pytest.mark.parametrize(
    ("planner", "generator", "told"),
    [
        (Planner(), Writer(), "planned by rules · written without a model: sentences of the sources"),
        (
            Planner(made_by=Maker.MODEL, provider="main", model="small", search_needed=False),
            Writer(made_by=Maker.MODEL, provider="main", model="large"),
            "planned by small (main) · no search needed, by the planner's word · written by large (main)",
        ),
    ],
)
def test_who_planned_and_who_wrote_is_told(service: Service, planner: Planner, generator: Writer, told: str) -> None:
    end = done(planner=planner, generator=generator)
    service.script = frames(("sources", SOURCES), delta("It is so."), ("done", end))

    result = service.run()

    assert told in result.stderr
    assert result.exit_code == 0


def test_an_answer_that_nobody_wrote_names_nobody(service: Service) -> None:
    service.script = frames(("sources", SOURCES), ("done", DONE))

    result = service.run()

    assert "written" not in result.stderr


def test_as_json_every_frame_is_a_line_as_it_came(service: Service) -> None:
    service.script = frames(("sources", SOURCES), delta("It\u2028is 是\n"), ("done", DONE))

    result = service.run("--json")

    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["id"], line["event"]) for line in lines] == [("1", "sources"), ("2", "delta"), ("3", "done")]
    assert [line["data"] for line in lines] == [json.loads(SOURCES), {"text": "It\u2028is 是\n"}, json.loads(DONE)]
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_failed_question_has_exit_code_1(service: Service, options: tuple[str, ...]) -> None:
    problem = Problem(type="answer-failed", title="No answer", status=500, detail="It failed.").model_dump_json()
    service.script = frames(("error", problem))

    result = service.run(*options)

    assert result.exit_code == 1
    assert "It failed." in result.output


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_question_that_is_refused_has_exit_code_1_and_prints_no_frame(
    service: Service, options: tuple[str, ...]
) -> None:
    service.status = 503

    result = service.run(*options)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "HTTP 503" in result.stderr
