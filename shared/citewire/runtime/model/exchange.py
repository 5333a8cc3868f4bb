"""One try of a call: sends the request and reads its answer, within limits of time."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, cast

import httpx2
import orjson
from openai import AsyncOpenAI, AsyncStream

from citewire.contracts.providers import Protocol, Provider
from citewire.runtime.model.chat import ChatReader, chat_body
from citewire.runtime.model.connection import BROKEN, broken
from citewire.runtime.model.events import EventReader, NotAnEventStreamError
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.profiles import TRAITS, Traits
from citewire.runtime.model.reading import AnswerReader, NotTheProtocolError, Told
from citewire.runtime.model.requests import ModelRequest
from citewire.runtime.model.responses import ResponsesReader, responses_body
from citewire.text.reasoning import ReasoningFilter

_DONE: Final = b"[DONE]"
# Seconds that the end of the body may take once all is said, so that the connection can be used again.
_LEAVE: Final = 0.1
# Seconds that usage may take behind the last token.
_USAGE_LIMIT: Final = 2.0


class Allowance:
    """The time that a call has for all of its tries together."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds

    def left(self) -> float:
        """Seconds; below zero once they are over."""
        return self._end - asyncio.get_running_loop().time()

    def within(self, seconds: float) -> float:
        """The loop's time in so many seconds, or at the end of all."""
        return min(self._end, asyncio.get_running_loop().time() + seconds)

    def ends_at(self, moment: float) -> bool:
        """Whether a moment that `within` gave is the end of all; a timer may ring too early for `left` to tell."""
        return moment >= self._end


class Exchange:
    """A request and its answer: `read` until `is_done`, then see `failed`; `close` in any case."""

    def __init__(self, client: AsyncOpenAI, provider: Provider, request: ModelRequest, time: Allowance) -> None:
        self._client = client
        self._provider = provider
        traits = TRAITS[provider.profile]
        self._path, self._body, self._reader = _spoken(provider.protocol, request, traits)
        self._filter = ReasoningFilter() if traits.tags_reasoning else None
        self._events = EventReader()
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes] = _nothing()
        self._time = time
        self._until = time.within(provider.first_token_timeout.total_seconds())
        self._has_text = False
        self._state = (0, False, False)
        self.is_done = False
        self.failed: ModelFailed | None = None

    @property
    def told(self) -> Told:
        """What the provider has told so far."""
        return self._reader.told

    async def read(self) -> list[str]:
        """The visible pieces that came next; none if it was something else. Never raises ModelFailed."""
        try:
            async with asyncio.timeout_at(self._until):
                chunk = await self._next_chunk()
        except TimeoutError:
            return self._stop(self._late())
        except BROKEN as error:
            return self._stop(broken(self._provider, error, had_answer=self._response is not None))
        except ModelFailed as failed:
            return self._stop(failed)
        return self._understand(chunk) if chunk else self._end()

    async def close(self) -> None:
        """Let go of the connection: closed at once unless the whole body was read."""
        if self._response is not None:
            await self._response.aclose()

    async def _next_chunk(self) -> bytes:
        """Bytes as they come; none at the end of the body."""
        if self._response is None:
            # The typed methods and events cost several times the processor time of a plain request and our readers.
            # As a type of stream is asked for and a plain response cast to, openai gives the response unread.
            stream: object = await self._client.post(
                self._path, cast_to=httpx2.Response, body=self._body, stream=True, stream_cls=AsyncStream[Any]
            )
            self._response = cast("httpx2.Response", stream)
            self._chunks = self._response.aiter_raw()
        return await anext(self._chunks, b"")

    def _understand(self, chunk: bytes) -> list[str]:
        """The visible pieces in some bytes."""
        pieces = []
        try:
            for data in self._events.feed(chunk):
                if self.told.is_over:
                    break
                if piece := self._event(data):
                    pieces.append(piece)
        except (NotAnEventStreamError, NotTheProtocolError, ValueError, RecursionError):
            return [*pieces, *self._stop(self._invalid())]
        self._wait_on()
        return pieces

    def _end(self) -> list[str]:
        """The body has ended."""
        try:
            self._events.end()
        except NotAnEventStreamError:
            return self._stop(self._invalid())
        return self._stop(self._cut())

    def _event(self, data: bytes) -> str:
        """The visible text of an event."""
        if data == _DONE:
            self.told.has_ended = self.told.is_over = True
            return ""
        text = self._reader.read(_object(data))
        if text and self._filter is not None:
            text = self._filter.feed(text)
        self._has_text = self._has_text or bool(text.strip())
        return text

    def _wait_on(self) -> None:
        """How long to wait for what comes next; only tokens, and the end, buy time: comments and empty events don't."""
        told = self.told
        state = (told.tokens, told.has_ended, told.is_over)
        if state == self._state:
            return
        self._state = state
        idle = self._provider.idle_timeout.total_seconds()
        self._until = self._time.within(_LEAVE if told.is_over else _USAGE_LIMIT if told.has_ended else idle)

    def _stop(self, failed: ModelFailed) -> list[str]:
        """Nothing more is read; `failed` counts unless the model had said all by then."""
        told, tail = self.told, self._filter.end() if self._filter is not None else ""
        self.is_done = True
        if told.failure is not None:
            self.failed = ModelFailed(self._provider.name, told.failure, told.cause)
        elif not told.has_ended:
            self.failed = failed
        elif not (self._has_text or tail.strip()):
            self.failed = ModelFailed(self._provider.name, Failure.EMPTY, "gave an empty answer")
        return [tail] if tail else []

    def _invalid(self) -> ModelFailed:
        return ModelFailed(self._provider.name, Failure.INVALID, "sent something else than an answer's stream")

    def _cut(self) -> ModelFailed:
        return ModelFailed(self._provider.name, Failure.CUT, "ended its answer before it was whole", may_pass=True)

    def _late(self) -> ModelFailed:
        """Which of the limits was passed; another try may help only where nothing was said and time is left."""
        provider, began = self._provider, self.told.tokens > 0
        if self._time.ends_at(self._until):
            cause, limit = "did not finish within", self._time.seconds
        elif began:
            cause, limit = "fell silent for", provider.idle_timeout.total_seconds()
        else:
            cause, limit = "gave no first token within", provider.first_token_timeout.total_seconds()
        cause = f"{cause} {round(limit, 1):g} s"
        return ModelFailed(provider.name, Failure.TIMEOUT, cause, may_pass=not began)


def _spoken(protocol: Protocol, request: ModelRequest, traits: Traits) -> tuple[str, dict[str, Any], AnswerReader]:
    """Path, body and reader of the answer, as a protocol has them."""
    if protocol is Protocol.CHAT:
        return "/chat/completions", chat_body(request, traits), ChatReader()
    return "/responses", responses_body(request, traits), ResponsesReader()


def _object(data: bytes) -> dict[str, Any]:
    """An event's JSON. Raises ValueError, RecursionError or NotTheProtocolError."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        # Half of a surrogate pair, from a server that cut an emoji in two: the other half comes in the next event.
        event = json.loads(data)
    if not isinstance(event, dict):
        raise NotTheProtocolError
    return event


async def _nothing() -> AsyncGenerator[bytes]:
    """No bytes."""
    return
    yield b""
