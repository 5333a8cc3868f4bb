"""Runs: every fault once, or kills at random until enough questions were accepted."""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator

from chaos import oracle
from chaos.cluster import Cluster
from chaos.faults import Faults
from chaos.load import Load
from chaos.report import Report
from chaos.tap import tapping

# Seconds between two kills at random, and how many kills of workers come before one of a server.
KILL_INTERVAL = 2.0
SERVER_EVERY = 8


async def every_fault_once(cluster: Cluster, clients: int = 6, answer_timeout: float = 45.0) -> Report:
    """Each fault once under load; the order lets what takes long overlap with what does not touch it."""
    report, load = Report(), Load(cluster.gateways, cluster.key, answer_timeout)
    async with _judged(cluster, load, report) as faults:
        await faults.stop_answer()
        async with _asking(load, clients):
            await _kill_each(cluster, faults, "autoquery", "persister")
            await _kill_each(cluster, faults, "gateway", "retriever")
            await asyncio.gather(faults.pause_writer(), _lighter_faults(faults))
            await _server_faults(cluster, faults)
            await faults.roll()
            await faults.kill_writer()
    return report


async def kills_at_random(
    cluster: Cluster, seed: int, questions: int, clients: int = 16, answer_timeout: float = 60.0
) -> Report:
    """A random worker dies every two seconds, and now and then a server, until so many questions were accepted."""
    report, load, dice = Report(), Load(cluster.gateways, cluster.key, answer_timeout), random.Random(seed)  # noqa: S311
    async with _judged(cluster, load, report) as faults, _asking(load, clients), asyncio.TaskGroup() as strikes:
        while len(load.accepted) < questions:
            number = len(report.faults) + 1
            strike = _random_server if number % SERVER_EVERY == 0 else _random_worker
            strikes.create_task(strike(cluster, faults, dice))
            await asyncio.sleep(KILL_INTERVAL)
    return report


@contextlib.asynccontextmanager
async def _judged(cluster: Cluster, load: Load, report: Report) -> AsyncGenerator[Faults]:
    """Strike in the block; what holds afterwards is in the report."""
    async with tapping(cluster.servers.nats.url) as tap, contextlib.aclosing(load):
        yield Faults(cluster, load, tap, report)
        await oracle.check(cluster, load, tap, report)


@contextlib.asynccontextmanager
async def _asking(load: Load, clients: int) -> AsyncGenerator[None]:
    """So many clients ask as long as the block lasts, and read to the end what they have asked."""
    enough = asyncio.Event()
    asking = asyncio.create_task(load.ask_until(enough, clients))
    try:
        yield
    finally:
        enough.set()
        await asking


async def _kill_each(cluster: Cluster, faults: Faults, *roles: str) -> None:
    """One worker of each role at the same time."""
    await asyncio.gather(*(faults.kill_worker(cluster.of(role)[0]) for role in roles))


async def _lighter_faults(faults: Faults) -> None:
    """Those that leave the generators alone."""
    await faults.cut_clients()
    await faults.publish_twice()
    await faults.poison()
    await faults.fill_stream()


async def _server_faults(cluster: Cluster, faults: Faults) -> None:
    servers = cluster.servers
    await faults.restart("NATS", servers.nats, away=0.5)
    await faults.restart("Valkey", servers.redis, away=0.5)
    await faults.empty_redis()
    await faults.restart("Postgres", servers.postgres, away=1.0)


async def _random_worker(cluster: Cluster, faults: Faults, dice: random.Random) -> None:
    worker = dice.choice([worker for worker in cluster.workers.values() if worker.is_running])
    faults.note(f"kill -9 {worker.role}")
    await faults.kill_at_once(worker)


async def _random_server(cluster: Cluster, faults: Faults, dice: random.Random) -> None:
    servers = cluster.servers
    name, server = dice.choice([("NATS", servers.nats), ("Valkey", servers.redis), ("Postgres", servers.postgres)])
    faults.note(f"kill -9 and restart {name}")
    await asyncio.to_thread(server.restart, 0.5)
