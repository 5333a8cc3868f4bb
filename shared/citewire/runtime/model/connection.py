"""The connection to a provider: what openai and its HTTP client may do, and what their errors mean.

Nothing of the environment has a say: it may belong to another program, and a proxy, an address or a header of its
would send prompts and keys where no administrator has sent them.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Final

import aiohttp
import httpx2
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient, Omit

from citewire.contracts.providers import Provider
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.statuses import WITH_A_REASON, status_failed

BROKEN: Final = (openai.APIConnectionError, httpx2.HTTPError, httpx2.StreamError, aiohttp.ClientError, OSError)
"""What a connection that can't be made or doesn't last is told by; OSError has the errors of TLS."""

_NO_CONNECTION: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
# An error object has some hundred bytes; a body that never ends is not waited for.
_LONGEST_REASON: Final = 64_000
_REASON_LIMIT: Final = 2.0
_KEEP_OPEN: Final = 30.0

# Addresses and the course of requests are not what a log is for.
for _name in ("openai", "httpx2", "aiohttp"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class _ExplicitOpenAI(AsyncOpenAI):
    """The client without headers from the environment, and without those that describe this machine."""

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {
            "Accept": "text/event-stream, application/json",
            # Packed, a small body could grow without bounds, and pieces would wait for one another.
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "citewire",
        }


def connect(provider: Provider, key: str) -> AsyncOpenAI:
    """A client for one provider; it connects when it is first used. Raises ValueError for what can be no key."""
    if not (key and key.isascii() and key.isprintable()):
        # Else an error of the HTTP client would quote it.
        raise ValueError("the key of a model provider is one line of printable ASCII")
    return _ExplicitOpenAI(
        api_key=key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=provider.address,
        max_retries=0,
        http_client=_http_client(provider),
    )


@cache
def _trusted() -> ssl.SSLContext:
    """The system's certificates; to read them takes a tenth of a second."""
    return httpx2.create_ssl_context(trust_env=False)


def _http_client(provider: Provider) -> httpx2.AsyncClient:
    """Its only time-out is for connecting: the others are of tokens, not of bytes.

    Through aiohttp, whose parser is compiled: each token comes in a chunk of its own.
    """
    connecting = provider.connect_timeout.total_seconds()

    async def check(response: httpx2.Response) -> None:
        await _check_status(provider.name, response)

    return DefaultAioHttpClient(
        verify=_trusted(),
        trust_env=False,
        follow_redirects=False,
        # To aiohttp the second is for all from looking up the name to the end of the handshake.
        timeout=httpx2.Timeout(None, connect=connecting, pool=connecting),
        # To aiohttp zero is no limit, and none is 100.
        limits=httpx2.Limits(max_connections=0, keepalive_expiry=_KEEP_OPEN),
        event_hooks={"response": [check]},
    )


async def _check_status(provider: str, response: httpx2.Response) -> None:
    """Raise ModelFailed for any status but success, before openai would read a body of any length into an error."""
    if response.is_success:
        return
    body = b""
    if response.status_code in WITH_A_REASON:
        with contextlib.suppress(*BROKEN):
            async with asyncio.timeout(_REASON_LIMIT):
                body = await _beginning(response)
    raise status_failed(provider, response.status_code, response.headers, body)


async def _beginning(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > _LONGEST_REASON:
            break
    return bytes(body[:_LONGEST_REASON])


def broken(provider: Provider, error: BaseException, *, had_answer: bool) -> ModelFailed:
    """What an error of BROKEN means; `had_answer`: the provider had begun to answer."""
    causes = tuple(_chain(error))
    if had_answer or not any(isinstance(cause, _NO_CONNECTION) for cause in causes):
        cause = "broke off before its answer was whole" if had_answer else "closed the connection without an answer"
        return ModelFailed(provider.name, Failure.CUT, cause, may_pass=True)
    seconds = f"{provider.connect_timeout.total_seconds():g} s"
    reason, may_pass = _why_unreachable(causes, f"no connection within {seconds}")
    return ModelFailed(provider.name, Failure.UNREACHABLE, f"can't be reached ({reason})", may_pass=may_pass)


def _why_unreachable(causes: tuple[BaseException, ...], late: str) -> tuple[str, bool]:
    """In words, and whether it may pass."""
    known: Mapping[type[BaseException], tuple[str, bool]] = {
        ssl.SSLCertVerificationError: ("its certificate is not trusted", False),
        ssl.SSLError: ("no TLS connection could be made", True),
        socket.gaierror: ("its host name is not known", True),
        ConnectionRefusedError: ("the connection was refused", True),
        aiohttp.ConnectionTimeoutError: (late, True),
    }
    found = (told for kind, told in known.items() if any(isinstance(cause, kind) for cause in causes))
    return next(found, ("no connection could be made", True))


def _chain(error: BaseException | None) -> list[BaseException]:
    """An error and all that led to it, groups of errors taken apart."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and cause not in found:
            found.append(cause)
            waiting += [cause.__cause__, cause.__context__]
            waiting += cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
    return found
