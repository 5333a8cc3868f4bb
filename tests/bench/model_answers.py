"""The asking side and the model's: questions that name a number of pieces, and a scripted model that says so many."""

import asyncio
import json
import re
import time
from dataclasses import dataclass

from bench.layouts import Chain
from bench.stand_ins import KBS
from citewire.contracts.providers import AnswerForm
from generator.reading.inline import DELIMITER
from scripted_model import Answer, Received, pieces

ANSWER_TIMEOUT = 60.0
QUOTE = "the revenue of the third quarter did grow by much"

_NUMBERS = re.compile(r"How do the (\d+) pieces at ([\d.]+) s of question (\d+) say")


class BadAnswerError(Exception):
    """An answer that is not the model's, or not whole."""


@dataclass(frozen=True)
class Heard:
    """When the first delta of an answer came, in seconds of `time.monotonic`; and the whole stream."""

    first_delta: float
    stream: bytes


def question(number: int, count: int, pace: float = 0.0) -> str:
    """A question for so many pieces, so many seconds apart."""
    return f"How do the {count} pieces at {pace} s of question {number} say that the revenue of the third quarter grew?"


def reply(received: Received, *, at_once: bool = False) -> Answer:
    """What its question asks for, in the form that the request asks for; `at_once`: in one chunk."""
    count, pace, _ = numbers_of(received)
    return pieces(*said(form_of(received), count), pace=pace, usage=(3_000, count), at_once=at_once)


def form_of(received: Received) -> AnswerForm:
    """The form that a request asks for."""
    return AnswerForm.INLINE if DELIMITER in json.dumps(received.body) else AnswerForm.STRUCTURED


def said(form: AnswerForm, count: int) -> list[str]:
    """So many pieces of text, the last of which cites, and then its quote."""
    text = [f"piece {number:04d} of a text " for number in range(1, count)] + ["and its last word [1]."]
    if form is AnswerForm.INLINE:
        return [*text, f"\n{DELIMITER}\n", json.dumps([{"source": 1, "quote": QUOTE}])]
    citation = {"source_index": 1, "page_number": 3, "cited_text": QUOTE}
    return ['{"response": "' + text[0], *text[1:], '", "citations": ' + json.dumps([citation]) + "}"]


def numbers_of(received: Received) -> tuple[int, float, int]:
    """Pieces, seconds between two, and the number of the question that a request is about."""
    found = _NUMBERS.findall(json.dumps(received.body))
    if not found:
        raise BadAnswerError(f"no question of ours: {received.body}")
    count, pace, number = found[-1]
    return int(count), float(pace), int(number)


async def ask(chain: Chain, number: int, count: int, pace: float = 0.0) -> Heard:
    """Ask over a connection of its own; raises BadAnswerError unless all pieces come as deltas of their own."""
    async with asyncio.timeout(ANSWER_TIMEOUT):
        heard = await _read(chain, _request(chain, question(number, count, pace)))
    deltas = heard.stream.count(b"event: delta")
    is_whole = b'"status":"finished"' in heard.stream and b'"made_by":"model"' in heard.stream
    if deltas != count or not is_whole:
        raise BadAnswerError(f"{deltas} deltas of {count}: {heard.stream[-1500:]!r}")
    return heard


def _request(chain: Chain, text: str) -> bytes:
    body = json.dumps({"question": text, "kb_ids": KBS}).encode()
    head = (
        f"POST /v1/questions HTTP/1.1\r\nHost: 127.0.0.1:{chain.port}\r\nAuthorization: Bearer {chain.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def _read(chain: Chain, request: bytes) -> Heard:
    reader, writer = await asyncio.open_connection("127.0.0.1", chain.port)
    writer.write(request)
    received, first = bytearray(), 0.0
    while data := await reader.read(65_536):
        received += data
        if not first and b"event: delta" in received:
            first = time.monotonic()
    writer.close()
    return Heard(first, bytes(received))
