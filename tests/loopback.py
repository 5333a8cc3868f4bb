"""An HTTP server on loopback for as long as a test needs it."""

import contextlib
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class QuietHandler(BaseHTTPRequestHandler):
    """Answers as its `do_…` methods say, and prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(handler: type[QuietHandler]) -> Generator[str]:
    """The URL of a server with this handler."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
