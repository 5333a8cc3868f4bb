"""The model client against servers that are no model servers, that are broken, or that are not there."""

import asyncio
import contextlib
import datetime as dt
import gzip
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from citewire.contracts.providers import Protocol
from citewire.runtime.model.client import ModelClient
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.requests import CallReport, ModelMessage, ModelRequest
from model_stage import provider
from raw_server import STREAM, raw_server

KEY = "sk-recognisable-secret"
CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"Because"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
HUGE = b"x" * 100_000


class Repeated:
    """The same bytes for ever, with a pause; `first` before."""

    def __init__(self, first: bytes, again: bytes, pause: float = 0.0) -> None:
        self.first, self.again, self.pause = first, again, pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.first
        while True:
            await asyncio.sleep(self.pause)
            yield self.again


async def ask(address: str, **settings) -> str:
    complete = {"protocol": Protocol.CHAT, "max_retries": 0} | settings
    client = ModelClient(provider(address=address, **complete), KEY)
    try:
        request = ModelRequest("m", "rules", (ModelMessage("user", "Why?"),), 100)
        return await client.complete(request, CallReport())
    finally:
        await client.aclose()


async def failure_at(address: str, **settings) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await ask(address, **settings)
    assert KEY not in repr(caught.getrepr(showlocals=True))
    return caught.value


def page(body: bytes, kind: bytes = b"text/html", status: bytes = b"200 OK", more: bytes = b"") -> list[bytes]:
    return [
        b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n%s\r\n%s" % (status, kind, len(body), more, body)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        page(b"<!DOCTYPE html>\n<html>SECRET</html>"),
        page(b'{"choices": [{"message": {"content": "Because"}}]}\n', b"application/json"),
        page(b'{"error": {"message": "SECRET"}}\n', b"application/json"),
        [STREAM, gzip.compress(CHUNK * 100)],
        [STREAM, *[HUGE] * 20],
        [STREAM, *[b"data: " + HUGE + b"\n"] * 20],
        [STREAM, b"data: \xff\xfe\xfd\n\n"],
    ],
    ids=["HTML", "JSON", "JSON error", "gzip", "endless line", "endless event", "no text"],
)
async def test_what_is_no_stream_of_answers_is_invalid(answer):
    async with raw_server(answer) as server:
        failed = await failure_at(server.url)

    assert failed.failure is Failure.INVALID
    assert "SECRET" not in str(failed)


async def test_a_json_body_without_a_line_end_is_no_answer():
    async with raw_server(page(b'{"choices": []}', b"application/json")) as server:
        failed = await failure_at(server.url)

    assert failed.failure is Failure.INVALID


@pytest.mark.parametrize("protocol", Protocol)
@pytest.mark.parametrize("drip", [b": keep-alive\n\n", b"\n", b"event: ping\n\n", b": "])
async def test_a_server_that_only_keeps_the_connection_alive_is_silent(protocol, drip):
    limit = timedelta(seconds=0.3)

    async with raw_server(Repeated(STREAM, drip, 0.02)) as server:
        failed = await failure_at(server.url, protocol=protocol, first_token_timeout=limit)

    assert failed.failure is Failure.TIMEOUT
    assert str(failed) == "the model provider main gave no first token within 0.3 s"


async def test_empty_events_between_tokens_are_silence():
    empty = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'

    async with raw_server(Repeated(STREAM + CHUNK, empty, 0.02)) as server:
        failed = await failure_at(server.url, idle_timeout=timedelta(seconds=0.3))

    assert str(failed) == "the model provider main fell silent for 0.3 s"


@pytest.mark.parametrize(
    "rest", [b"", DONE, b"data: rubbish\n\n", b": bye\n"], ids=["none", "done", "rubbish", "comment"]
)
async def test_an_answer_is_whole_once_the_model_has_said_its_reason(rest):
    async with raw_server([STREAM, CHUNK, END, rest]) as server:
        assert await ask(server.url) == "Because"


async def test_done_alone_is_an_end():
    async with raw_server([STREAM, CHUNK, DONE]) as server:
        assert await ask(server.url) == "Because"


@pytest.mark.parametrize("again", [b": more\n\n", CHUNK], ids=["comments", "text"])
async def test_a_body_that_never_ends_holds_up_no_answer(again):
    async with raw_server(Repeated(STREAM + CHUNK + END + DONE, again, 0.01)) as server, asyncio.timeout(2):
        assert await ask(server.url) == "Because"


async def test_an_end_without_usage_is_not_waited_for_long():
    async with raw_server(Repeated(STREAM + CHUNK + END, b": more\n\n", 0.01)) as server, asyncio.timeout(5):
        assert await ask(server.url) == "Because"


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary Redirect", b"308 Permanent Redirect"])
async def test_a_redirect_is_never_followed(status):
    async with raw_server([STREAM, CHUNK, END]) as foreign:
        location = b"location: %s/chat/completions\r\n" % foreign.url.encode()
        async with raw_server(page(b"", status=status, more=location)) as server:
            failed = await failure_at(server.url)

    assert failed.failure is Failure.REFUSED_REQUEST
    assert (len(server.heads), foreign.heads) == (1, [])


@pytest.mark.parametrize("status", [b"400 Bad Request", b"500 Internal Server Error", b"429 Too Many Requests"])
async def test_a_body_of_an_error_is_not_read_for_ever(status):
    head = b"HTTP/1.1 %s\r\n\r\n" % status

    async with raw_server(Repeated(head, HUGE)) as server, asyncio.timeout(3):
        failed = await failure_at(server.url)

    assert status[:3].decode() in str(failed)


async def test_a_body_of_an_error_that_stalls_is_not_waited_for():
    async with raw_server(Repeated(b"HTTP/1.1 400 Bad Request\r\n\r\n", b"x", 0.05)) as server, asyncio.timeout(5):
        failed = await failure_at(server.url)

    assert failed.failure is Failure.REFUSED_REQUEST


async def test_nobody_at_the_address_is_unreachable():
    async with raw_server([]) as server:
        address = server.url

    failed = await failure_at(address)

    assert failed.failure is Failure.UNREACHABLE
    assert str(failed) == "the model provider main can't be reached (the connection was refused)"


async def test_a_host_without_an_address_is_unreachable():
    failed = await failure_at("http://nowhere.invalid/v1")

    assert failed.failure is Failure.UNREACHABLE
    assert str(failed) == "the model provider main can't be reached (its host name is not known)"


async def test_a_server_without_tls_is_unreachable_by_it():
    async with raw_server([b"HTTP/1.1 400 Bad Request\r\n\r\n"]) as server:
        failed = await failure_at(server.url.replace("http:", "https:"), connect_timeout=timedelta(seconds=1))

    assert failed.failure is Failure.UNREACHABLE


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path):
    async with raw_server([STREAM, CHUNK, END], tls=self_signed(tmp_path / "cert.pem")) as server:
        failed = await failure_at(server.url, max_retries=3)

    assert str(failed) == "the model provider main can't be reached (its certificate is not trusted)"
    assert server.heads == []


async def test_a_connection_that_is_never_accepted_is_given_up():
    # Nobody accepts: the queue has room for one, and who comes later gets no reply.
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

        failed = await failure_at(address, connect_timeout=timedelta(seconds=0.3))

    assert failed.failure is Failure.UNREACHABLE
    assert str(failed) == "the model provider main can't be reached (no connection within 0.3 s)"


@pytest.mark.parametrize(
    "answer", [[], [b"SSH-2.0-OpenSSH\r\n"], [b"HTTP/1.1 2"]], ids=["nothing", "SSH", "half a head"]
)
async def test_a_server_that_closes_without_an_answer_has_cut_it(answer):
    async with raw_server(answer) as server:
        failed = await failure_at(server.url)

    assert (failed.failure, failed.may_pass) == (Failure.CUT, True)


def self_signed(path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
