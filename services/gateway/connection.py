"""uvicorn's HTTP connection, with what a streamed response needs beyond ASGI's `send`."""

import asyncio
from typing import Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The names under which the scope's state has them: a function without arguments, and a Body.
ABORT = "abort"
BODY = "body"


class Body(Protocol):
    """The body of a response that has begun and goes on, chunked, past `send`: for many small pieces."""

    @property
    def is_free(self) -> bool:
        """Whether the client is there and has taken what was written; if not, `send` waits for it."""

    def write(self, piece: bytes) -> None:
        """Write a piece that is not empty."""


class Connection(HttpToolsProtocol):
    """Lets a stream drop its connection with all that waits to be sent (closing waits until that was taken), and write
    its pieces itself: through `send` each one costs a task's turn and twice the CPU.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Offer both to each request of the connection."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort, BODY: self}

    @property
    def is_free(self) -> bool:
        return not (self.flow.write_paused or self.transport.is_closing())

    def write(self, piece: bytes) -> None:
        self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
