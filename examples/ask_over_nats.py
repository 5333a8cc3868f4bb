"""Ask a question as another service would, in any language: over NATS, with JSON, and nothing of citewire.

    python examples/ask_over_nats.py nats://shop:PASSWORD@localhost:4222 "When is the office closed?" handbook

Prints the finished interaction as JSON; where the question was rejected it prints the rejection, and ends with 1. Only
Python's standard library is used, so that all that goes over the wire can be read here. A service of your own takes a
NATS client; what it must know is the JSON Schemas of QuestionAsked, InteractionFinished and QuestionRejected, and the
subject of each, which ends with the service's own name.
"""

import json
import socket
import sys
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

# Seconds that the answer may take …
ANSWER_TIME = 60.0
# … and some more: a question that nobody could answer is ended for us a while after its deadline.
GRACE = 20.0
# Seconds after which a question that the server has not confirmed is sent again.
CONFIRMATION_TIME = 5.0


class Nats:
    """As much of the NATS protocol as asking takes."""

    def __init__(self, url: str) -> None:
        """Connect and sign in; raises OSError."""
        server = urlsplit(url)
        self.user = server.username or ""
        self._socket = socket.create_connection((server.hostname, server.port or 4222), 5)
        self._received = b""
        login = {"user": self.user, "pass": server.password, "verbose": False, "headers": True, "no_responders": True}
        self._send("CONNECT", json.dumps(login))

    def subscribe(self, subject: str) -> None:
        """Let messages of a subject come to `next`."""
        self._send("SUB", subject, subject)

    def publish(self, subject: str, reply_to: str, message_id: str, payload: bytes) -> None:
        """Send a message that the server keeps once, however often it comes; it says so at `reply_to`."""
        headers = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n".encode()
        content = headers + payload
        self._send("HPUB", subject, reply_to, str(len(headers)), str(len(content)), content=content + b"\r\n")

    def next(self, seconds: float) -> tuple[str, bytes]:
        """Subject and payload of the next message; raises TimeoutError, or OSError for what the server refuses."""
        deadline = time.monotonic() + seconds
        while True:
            command, _, rest = self._take_line(deadline).partition(" ")
            if command == "PING":
                self._send("PONG")
            elif command == "-ERR":
                raise OSError(rest)
            elif command in {"MSG", "HMSG"}:
                subject, *_, size = rest.split()
                content = self._take(int(size) + 2, deadline)[:-2]
                # Headers, where there are any, end with an empty line.
                return subject, content.partition(b"\r\n\r\n")[2] if command == "HMSG" else content

    def _take_line(self, deadline: float) -> str:
        while (end := self._received.find(b"\r\n")) < 0:
            self._receive(deadline)
        return self._take(end + 2, deadline)[:-2].decode()

    def _take(self, size: int, deadline: float) -> bytes:
        while len(self._received) < size:
            self._receive(deadline)
        taken, self._received = self._received[:size], self._received[size:]
        return taken

    def _receive(self, deadline: float) -> None:
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        received = self._socket.recv(65536)
        if not received:
            raise OSError("the server has closed the connection")
        self._received += received

    def _send(self, *words: str, content: bytes = b"") -> None:
        self._socket.sendall(" ".join(words).encode() + b"\r\n" + content)


def ask(nats: Nats, question: str, kb_ids: list[str]) -> dict[str, Any]:
    """The event that ends a new question, `InteractionFinished` or `QuestionRejected`; raises TimeoutError."""
    asked = question_asked(nats.user, question, kb_ids)
    inbox = f"_INBOX.{uuid.uuid4().hex}"
    # Before the question: the answer may be quicker than the next line.
    for subject in (inbox, f"qa.v1.interaction.finished.{nats.user}", f"qa.v1.question.rejected.{nats.user}"):
        nats.subscribe(subject)
    deadline = time.monotonic() + ANSWER_TIME + GRACE
    is_confirmed = False
    while (left := deadline - time.monotonic()) > 0:
        if not is_confirmed:
            # Nobody knows whether what was not confirmed has been kept: the same id makes a second time safe.
            nats.publish(f"qa.v1.question.asked.{nats.user}", inbox, asked["question_id"], json.dumps(asked).encode())
        try:
            subject, payload = nats.next(left if is_confirmed else CONFIRMATION_TIME)
        except TimeoutError:
            continue
        if subject == inbox:
            confirm(payload)
            is_confirmed = True
        # Outcomes of this service's other questions come on the same subjects.
        elif (outcome := json.loads(payload))["question_id"] == asked["question_id"]:
            return dict(outcome)
    raise TimeoutError("no answer")


def question_asked(service: str, question: str, kb_ids: list[str]) -> dict[str, Any]:
    """A new question; the service asks for itself, for it takes an asker that is trusted to speak for its users."""
    return {
        "question_id": str(uuid.uuid4()),
        "deadline": (datetime.now(UTC) + timedelta(seconds=ANSWER_TIME)).isoformat(),
        "asker": service,
        "user": {"user_id": service},
        "question": question,
        "kb_ids": kb_ids,
    }


def confirm(payload: bytes) -> None:
    """Return if the server says that it keeps the question; raises OSError: nobody is there, or too much waits."""
    reply = json.loads(payload) if payload else {"error": {"description": "nobody keeps questions here"}}
    if "error" in reply:
        raise OSError(reply["error"]["description"])


def main() -> int:
    """Ask what the command line says."""
    url, question, *kb_ids = sys.argv[1:]
    outcome = ask(Nats(url), question, kb_ids)
    json.dump(outcome, sys.stdout, ensure_ascii=False, indent=2)
    return 1 if "problem" in outcome else 0


if __name__ == "__main__":
    sys.exit(main())
