"""A response that streams until its chunks end or its client leaves."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

MEDIA_TYPE = "text/event-stream; charset=utf-8"


class EventStream(Response):
    """Server-sent events. Starlette's own streaming response costs a task group and two tasks; this one, one task."""

    def __init__(self, chunks: AsyncGenerator[bytes], headers: Mapping[str, str]) -> None:
        self._chunks = chunks
        self.status_code = 200
        self.media_type = MEDIA_TYPE
        self.background = None
        self.init_headers(headers)

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with contextlib.aclosing(self._chunks), _present(receive):
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def _present(receive: Receive) -> AsyncGenerator[None]:
    """End the block quietly when the client leaves."""
    streaming = asyncio.current_task()
    listening = asyncio.create_task(_leave(receive))

    def end(_: object) -> None:
        if streaming is not None:
            streaming.cancel()

    listening.add_done_callback(end)
    try:
        yield
    except asyncio.CancelledError:
        # Somebody else may have cancelled the stream, too, and then it is cancelled.
        if not listening.done() or streaming is None or streaming.uncancel() > 0:
            raise
    finally:
        listening.remove_done_callback(end)
        listening.cancel()


async def _leave(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
