"""How the commands' client takes an answer up again."""

from collections.abc import Generator

import pytest

from citewire.cli import client as client_module
from citewire.cli.client import Client, ServiceProblem
from loopback import QuietHandler, serving

QUESTION_ID = "00000000-0000-0000-0000-000000000001"


def frame(number: int, event: str) -> str:
    return f"id: {number}\nevent: {event}\ndata: {{}}\n\n"


class Service:
    """Answers each request with the next of its scripts: a body that ends the connection, or a status."""

    def __init__(self, *scripts: str | int) -> None:
        self.scripts = list(scripts)
        self.requests: list[tuple[str, str]] = []
        self.keys: list[str | None] = []
        self.url = ""

    def events(self) -> list[tuple[str, str]]:
        """What a client reads."""
        with Client(self.url, None) as client:
            return [(event.id, event.event) for event in client.ask({"question": "Why?"})]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "RECONNECT_PAUSES", (0.0, 0.0))


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            service.keys.append(self.headers["Idempotency-Key"])
            self._answer("")

        def do_GET(self) -> None:
            self._answer(self.headers["Last-Event-ID"] or "none")

        def _answer(self, last: str) -> None:
            service.requests.append((self.command, last))
            script = service.scripts.pop(0)
            if script == "":
                return  # the connection ends without a word
            self.send_response(script if isinstance(script, int) else 200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("X-Question-Id", QUESTION_ID)
            self.end_headers()
            if isinstance(script, str):
                self.wfile.write(script.encode())

    with serving(Handler) as service.url:
        yield service


def test_a_whole_answer_takes_one_request(service: Service) -> None:
    service.scripts = [frame(1, "sources") + frame(2, "done")]

    assert service.events() == [("1", "sources"), ("2", "done")]
    assert service.requests == [("POST", "")]


def test_a17_a_broken_stream_is_read_on_after_its_last_frame(service: Service) -> None:
    service.scripts = [frame(1, "sources") + frame(2, "delta"), frame(3, "done")]

    assert service.events() == [("1", "sources"), ("2", "delta"), ("3", "done")]
    assert service.requests == [("POST", ""), ("GET", "2")]


def test_a17_a_gateway_that_stops_is_left_for_another(service: Service) -> None:
    service.scripts = [frame(1, "sources") + "event: reconnect\ndata: {}\n\n", 503, frame(2, "done")]

    assert service.events() == [("1", "sources"), ("2", "done")]


def test_a13_a_question_whose_answer_was_lost_is_asked_again_under_its_key(service: Service) -> None:
    service.scripts = ["", frame(1, "sources") + frame(2, "done")]

    assert service.events() == [("1", "sources"), ("2", "done")]
    assert service.keys[0] == service.keys[1] is not None


def test_a_stream_that_goes_on_may_break_more_often_than_one_that_does_not(service: Service) -> None:
    service.scripts = [*(frame(number, "delta") for number in range(1, 8)), frame(8, "done")]

    assert len(service.events()) == 8


def test_an_answer_that_can_not_be_taken_up_again_is_a_problem(service: Service) -> None:
    service.scripts = [frame(1, "sources"), 503, 503]

    with pytest.raises(ServiceProblem, match="could not be taken up again"):
        service.events()


def test_a_refused_question_is_not_asked_again(service: Service) -> None:
    service.scripts = [503]

    with pytest.raises(ServiceProblem):
        service.events()

    assert len(service.requests) == 1


def test_a_service_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(ServiceProblem, match="can't reach"), Client("http://127.0.0.1:1", None) as client:
        next(client.ask({"question": "Why?"}))
