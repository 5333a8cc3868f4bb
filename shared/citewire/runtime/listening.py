"""HTTP beside the consumers of a process: uvicorn on sockets of ours, without its own signal handling."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import uvicorn

from citewire.runtime.service import HttpApp

BACKLOG = 2048
# Seconds after which a client that acknowledges nothing, or takes nothing, is given up by the kernel: a peer that
# vanished without a word would hold its stream and what is kept for it until then.
DEAD_PEER = 60


@contextlib.asynccontextmanager
async def listening(apps: Sequence[HttpApp], graceful_timeout: float) -> AsyncGenerator[Callable[[], None]]:
    """Serve the applications until the block ends; what it yields drains them: streams end, nothing new is taken."""
    servers = [_Server(_config(app, graceful_timeout)) for app in apps]
    sockets = [_bind(app.host, app.port) for app in apps]
    tasks = [asyncio.create_task(server.serve([bound])) for server, bound in zip(servers, sockets, strict=True)]

    def close() -> None:
        for server in servers:
            server.should_exit = True

    def drain() -> None:
        for app in apps:
            app.drain()
        # A client that is told to come back must not find this process again.
        close()

    try:
        await asyncio.gather(*(_until_started(server, task) for server, task in zip(servers, tasks, strict=True)))
        yield drain
    finally:
        close()
        await asyncio.gather(*tasks)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SystemExit(
            f"can't listen on {host}:{port} ({os.strerror(error.errno or 0)}): choose another port"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Accepted connections inherit it.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PEER * 1000)
    return bound


def _config(app: HttpApp, graceful_timeout: float) -> uvicorn.Config:
    return uvicorn.Config(
        app.app,
        host=app.host,
        port=app.port,
        http=app.protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(graceful_timeout),
    )


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


async def _until_started(server: uvicorn.Server, task: "asyncio.Task[None]") -> None:
    while not server.started:
        if task.done():
            task.result()
            raise SystemExit(f"can't serve on {server.config.host}:{server.config.port}")
        await asyncio.sleep(0.005)
