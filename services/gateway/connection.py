"""uvicorn's HTTP connection, with a way for a response to cut it off."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The name under which the scope's state has it: a function without arguments.
ABORT = "abort"


class Connection(HttpToolsProtocol):
    """Lets a stream drop its connection with all that waits to be sent; closing waits until that was taken."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Offer the end of the connection to each of its requests."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
