"""What the processes hold before and after many questions: it must not grow with them."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from chaos.cluster import Cluster, Worker
from chaos.load import Asked, Load
from chaos.order import PROBE_SUBJECT
from chaos.report import Report
from chaos.tap import Tap, tapping
from waiting import until_found

WARM_UP = 300
MEGABYTE = 1024**2
# Open streams end, and idle connections are closed, within so many seconds.
QUIET_LIMIT = 30.0
# What may be more at the end than after the warm-up: a pool that grew by a burst, a cache that filled.
MORE_CONNECTIONS = 8
MORE_SUBSCRIPTIONS = 4
MORE_TASKS = 10
MORE_MEMORY = 32 * MEGABYTE


@dataclass(frozen=True)
class Held:
    """What one process has: memory in bytes, the rest in numbers."""

    connections: int
    subscriptions: int
    tasks: int
    memory: int


async def leaks_over(cluster: Cluster, questions: int, clients: int = 16, answer_timeout: float = 60.0) -> Report:
    """Ask so many questions without any fault; what grew with them is a violation."""
    report, load = Report(), Load(cluster.gateways, cluster.key, answer_timeout)
    async with tapping(cluster.servers.nats.url) as tap:
        await _ask(load, WARM_UP, clients)
        before = await _held(cluster, tap)
        await _ask(load, questions, clients)
        after = await _held(cluster, tap)
    await load.aclose()
    report.asked = load.accepted
    report.violations += [f"{asked.id}: {asked.faults}, {asked.status}" for asked in load.asked if _is_bad(asked)]
    for name in before:
        report.remarks.append(_row(name, before[name], after[name]))
        report.violations += _grown(name, before[name], after[name])
    return report


async def _ask(load: Load, questions: int, clients: int) -> None:
    """Ask so many, so many at a time, and read each to its end."""
    wanted = len(load.asked) + questions

    async def ask_on(number: int) -> None:
        while len(load.asked) < wanted:
            await load.follow(load.new(), first=number)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(ask_on(number))


async def _held(cluster: Cluster, tap: Tap) -> Mapping[str, Held]:
    """What every worker holds, once it holds the same twice in a row."""
    seen: dict[str, Held] = {}

    async def is_quiet() -> bool:
        nonlocal seen
        await asyncio.sleep(1)
        earlier, seen = seen, {name: await _look(worker, tap) for name, worker in cluster.workers.items()}
        return all(
            name in earlier and held.tasks == earlier[name].tasks and held.connections == earlier[name].connections
            for name, held in seen.items()
        )

    # Heartbeats and sweeps come and go: a picture that never stands still is judged as it is.
    with contextlib.suppress(TimeoutError):
        await until_found(is_quiet, QUIET_LIMIT)
    return seen


async def _look(worker: Worker, tap: Tap) -> Held:
    process = psutil.Process(worker.pid)
    reply = await tap.client.request(f"{PROBE_SUBJECT}.{worker.name}", timeout=10)
    inside = json.loads(reply.data)
    connections = sum(connection.status == psutil.CONN_ESTABLISHED for connection in process.net_connections())
    return Held(connections, inside["subscriptions"], inside["tasks"], process.memory_info().rss)


def _is_bad(asked: Asked) -> bool:
    return bool(asked.faults) or asked.status != "finished"


def _row(name: str, before: Held, after: Held) -> str:
    return (
        f"{name:<14} connections {before.connections} -> {after.connections}, "
        f"subscriptions {before.subscriptions} -> {after.subscriptions}, tasks {before.tasks} -> {after.tasks}, "
        f"memory {before.memory / MEGABYTE:.0f} -> {after.memory / MEGABYTE:.0f} MB"
    )


def _grown(name: str, before: Held, after: Held) -> list[str]:
    grown = {
        "connections": after.connections > before.connections + MORE_CONNECTIONS,
        "subscriptions": after.subscriptions > before.subscriptions + MORE_SUBSCRIPTIONS,
        "tasks": after.tasks > before.tasks + MORE_TASKS,
        "memory": after.memory > before.memory + MORE_MEMORY,
    }
    return [f"{name}: {what} grew with the questions" for what, has_grown in grown.items() if has_grown]
