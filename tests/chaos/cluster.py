"""The product under test: real servers on fixed ports, two processes per role, two gateways."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from chaos import facts
from chaos.order import Order
from citewire.runtime.settings import ROLES
from restartable import RestartableServers, free_port, restartable_servers

TESTS = Path(__file__).parents[1]
REPLICAS = 2
START_TIMEOUT = 60.0

SETTINGS = {
    "CITEWIRE_MAX_REPLICAS": str(REPLICAS),
    "CITEWIRE_GRACEFUL_TIMEOUT": "5",
    # Everything is asked by one user.
    "CITEWIRE_GATEWAY_QUESTIONS_PER_MINUTE": "0",
    "CITEWIRE_GATEWAY_RUNNING_PER_USER": "0",
    "CITEWIRE_GATEWAY_HEARTBEAT": "3",
    "CITEWIRE_PERSISTER_SWEEP_INTERVAL": "1",
    "CITEWIRE_PERSISTER_SWEEP_GRACE": "3",
}


class Nursery:
    """Starts workers by forking a process that has all modules already."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        # Faults strike from several threads; an order and its answer belong together.
        self._lock = threading.Lock()
        self._read()

    def fork(self, order: Order) -> int:
        """The process id of a new worker."""
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(order.encode())
            self._process.stdin.flush()
            return int(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the nursery has ended"
        return line


class Worker:
    """One process of a role: killed, started again, paused."""

    def __init__(self, nursery: Nursery, order: Order) -> None:
        self._nursery = nursery
        self._order = order
        self.name, self.role = order.name, order.role
        self.pid = 0
        # Several threads strike, and a process is started once.
        self._lock = threading.Lock()
        # Times that it was found gone after it had been ready, and nobody had ended it.
        self.crashes = 0

    def start(self) -> None:
        """Start it where it does not run, without waiting."""
        with self._lock:
            if not self.is_running:
                self._ready.unlink(missing_ok=True)
                self.pid = self._nursery.fork(self._order)

    def revive(self) -> None:
        """Start it where it does not run, and wait until it takes work; again, as a supervisor does, should it fail."""
        deadline = time.monotonic() + START_TIMEOUT
        self.start()
        while not self._ready.exists():
            assert time.monotonic() < deadline, f"{self.name} does not start, see {self._order.log}"
            time.sleep(0.05)
            self.start()

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return psutil.pid_exists(self.pid)

    def kill(self) -> list[psutil.Process]:
        """End it by SIGKILL; the children that it leaves behind."""
        with self._lock:
            try:
                orphans = psutil.Process(self.pid).children(recursive=True)
                os.kill(self.pid, signal.SIGKILL)
            except (psutil.NoSuchProcess, ProcessLookupError):
                # One that finds no servers when it starts may end; one that had begun to work may not.
                self.crashes += self._ready.exists()
                orphans = []
            self._forget()
        return orphans

    def terminate(self) -> None:
        """Ask it to end, and wait."""
        with self._lock:
            os.kill(self.pid, signal.SIGTERM)
            self._forget()

    def pause(self) -> None:
        """SIGSTOP."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def _forget(self) -> None:
        """Wait until the process has ended as it was told."""
        deadline = time.monotonic() + START_TIMEOUT
        while self.is_running:
            assert time.monotonic() < deadline, f"{self.name} does not end"
            time.sleep(0.005)
        self._ready.unlink(missing_ok=True)

    @property
    def _ready(self) -> Path:
        return Path(self._order.ready)


@dataclass(frozen=True)
class Cluster:
    """What a run works on."""

    servers: RestartableServers
    workers: Mapping[str, Worker]
    gateways: tuple[str, ...]
    key: str
    folder: Path

    def of(self, role: str) -> list[Worker]:
        """The workers of a role."""
        return [worker for worker in self.workers.values() if worker.role == role]


@contextlib.contextmanager
def running_cluster(folder: Path, pause: float) -> Iterator[Cluster]:
    """Start all and load the knowledge bases; nothing is left when the block ends."""
    # As root, Postgres runs as somebody else, who must get through to its own folder.
    folder.chmod(0o711)
    with restartable_servers(folder) as servers, _nursery() as nursery, contextlib.ExitStack() as stack:
        cluster = _create(folder, servers, nursery, pause)
        for worker in cluster.workers.values():
            worker.start()
            stack.callback(worker.kill)
        for worker in cluster.workers.values():
            worker.revive()
        _load_knowledge(cluster)
        yield cluster


@contextlib.contextmanager
def _nursery() -> Iterator[Nursery]:
    with subprocess.Popen(
        [sys.executable, "-m", "chaos.nursery"], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Nursery(process)
        finally:
            process.kill()


def _create(folder: Path, servers: RestartableServers, nursery: Nursery, pause: float) -> Cluster:
    key = secrets.token_urlsafe(24)
    ports = [free_port() for _ in range(REPLICAS)]
    environment = SETTINGS | {
        "CITEWIRE_NATS_URL": servers.nats.url,
        "CITEWIRE_REDIS_URL": servers.redis.url,
        "CITEWIRE_POSTGRES_URL": servers.postgres.url,
        "CITEWIRE_RETRIEVER_DATA_DIR": str(folder / "retriever"),
        "CITEWIRE_GATEWAY_FIRST_ADMIN_KEY": key,
    }
    workers = {}
    for role in ROLES:
        for index, port in enumerate(ports):
            name = f"{role}-{index}"
            own = environment | {"CITEWIRE_GATEWAY_PORT": str(port)}
            order = Order(name, role, own, str(folder / f"{name}.log"), str(folder / f"{name}.ready"), pause)
            workers[name] = Worker(nursery, order)
    return Cluster(servers, workers, tuple(f"http://127.0.0.1:{port}" for port in ports), key, folder)


def _load_knowledge(cluster: Cluster) -> None:
    headers = {"Authorization": f"Bearer {cluster.key}"}
    with httpx.Client(base_url=cluster.gateways[0], headers=headers, timeout=30) as client:
        for kb_id in facts.KBS:
            created = client.post("/v1/kbs", json={"kb_id": kb_id, "title": kb_id, "embedder": "none"})
            created.raise_for_status()
            for name, text in facts.documents(kb_id):
                path = f"/v1/kbs/{kb_id}/documents"
                client.post(path, files={"file": (name, text.encode())}).raise_for_status()
        for kb_id in facts.KBS:
            _wait_until_indexed(client, f"/v1/kbs/{kb_id}/documents")


def _wait_until_indexed(client: httpx.Client, path: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    statuses: set[str] = set()
    while statuses != {"indexed"}:
        assert time.monotonic() < deadline, f"not indexed: {statuses}"
        time.sleep(0.05)
        statuses = {document["status"] for document in client.get(path).json()["documents"]}
