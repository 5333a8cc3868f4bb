"""What `citewire ask` prints of an answer."""

from collections.abc import Generator
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner, Result

from citewire.cli.ask import ask
from citewire.contracts.answers import DeltaFrame, DoneFrame, SourcesFrame
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.sessions import InteractionStatus
from loopback import QuietHandler, serving

ID = UUID(int=1)
QUALITY = Quality(level=QualityLevel.OK, reason="")
SOURCES = SourcesFrame(question_id=ID, queries=(), sources=(), legs=(), quality=QUALITY).model_dump_json()
DONE = DoneFrame(session_id=ID, question_id=ID, status=InteractionStatus.FINISHED).model_dump_json()


def frames(*events: tuple[str, str]) -> str:
    return "".join(f"id: {number}\nevent: {name}\ndata: {data}\n\n" for number, (name, data) in enumerate(events, 1))


def delta(text: str) -> tuple[str, str]:
    return "delta", DeltaFrame(text=text).model_dump_json()


class Service:
    """Answers each question with its one script."""

    def __init__(self) -> None:
        self.script = ""
        self.url = ""

    def run(self) -> Result:
        app = typer.Typer()
        app.command()(ask)
        return CliRunner().invoke(app, ["Why?", "--kb", "handbook", "--url", self.url])


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
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
