"""The local stack's servers together: NATS, Valkey and Postgres, each unless a URL names another."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from embedded.binaries import nats_binary, postgres_folder, redis_binary
from embedded.data_folder import locked
from embedded.nats_server import NatsServer
from embedded.nats_users import kept_passwords, urls_by_user
from embedded.postgres_server import PostgresServer
from embedded.processes import Launcher, Server, ServerProcess, watched
from embedded.settings import EmbeddedSettings
from embedded.valkey_server import ValkeyServer


@dataclass(frozen=True)
class ServerUrls:
    """Where clients find the three servers, secrets included.

    `nats` is for a process with all roles, `nats_by_user` for one that is no more than one user of our own server.
    """

    nats: str
    redis: str
    postgres: str
    nats_by_user: Mapping[str, str] = field(default_factory=dict)

    def nats_of(self, role: str) -> str:
        """Where a process with one role finds NATS; at a server elsewhere it is whoever the given URL says."""
        return self.nats_by_user.get(role, self.nats)


class EmbeddedServers:
    """Runs the servers that have no URL in the settings for as long as it is entered; all end with this process."""

    def __init__(self, data_dir: Path, settings: EmbeddedSettings) -> None:
        self._folder = data_dir.expanduser().absolute()
        self._settings = settings
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ServerUrls:
        """Start the servers in parallel and return once each answers; raises EmbeddedError, and then none is left."""
        given = self._settings
        if given.nats_url and given.redis_url and given.postgres_url:
            return ServerUrls(given.nats_url, given.redis_url, given.postgres_url)
        with contextlib.ExitStack() as stack:
            urls = self._start(stack)
            self._stack = stack.pop_all()
        return urls

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop Postgres, Valkey and NATS, in this order, and wait for them."""
        self._stack.close()

    def _start(self, stack: contextlib.ExitStack) -> ServerUrls:
        servers = self._servers()
        lock = stack.enter_context(locked(self._folder))
        launcher = stack.enter_context(watched(lock))
        # Each boots while the next is launched; Postgres, which takes longest, comes last.
        processes = {server.name: self._launch(server, launcher, stack) for server in servers}
        urls = {name: process.wait_until_ready() for name, process in processes.items()}
        given = self._settings
        return ServerUrls(
            nats=given.nats_url or urls["nats"],
            redis=given.redis_url or urls["valkey"],
            postgres=given.postgres_url or urls["postgres"],
            nats_by_user={} if given.nats_url else urls_by_user(urls["nats"], kept_passwords(self._folder / "nats")),
        )

    def _servers(self) -> list[Server]:
        given = self._settings
        servers: list[Server] = []
        if not given.nats_url:
            servers.append(NatsServer(self._folder / "nats", nats_binary(given.embedded_nats_binary)))
        if not given.redis_url:
            servers.append(ValkeyServer(self._folder / "valkey", redis_binary(given.embedded_redis_binary)))
        if not given.postgres_url:
            folder = postgres_folder(given.embedded_postgres_bin_dir)
            servers.append(PostgresServer(self._folder / "postgres", folder))
        return servers

    def _launch(self, server: Server, launcher: Launcher, stack: contextlib.ExitStack) -> ServerProcess:
        logs = self._folder / "logs"
        server.prepare(launcher, logs)
        process = ServerProcess(server, launcher, logs)
        stack.callback(process.stop)
        return process
