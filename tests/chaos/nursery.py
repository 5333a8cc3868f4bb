"""A process with all services imported, which forks workers on request: a start costs a moment, not two seconds of CPU.

Orders come as lines of JSON on standard input; the number of each new process goes to standard output.
"""

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from nats.aio.msg import Msg

from chaos.order import PROBE_SUBJECT, Order
from chaos.slow_writer import SlowWriter
from citewire.runtime.process import load_service, run
from citewire.runtime.service import Bindings, Service, Wires
from citewire.runtime.settings import ROLES
from embedded.parent import end_with_parent
from generator.app import create_app as create_generator


def main() -> None:
    """Fork as ordered until standard input ends."""
    end_with_parent()
    for role in ROLES:
        load_service(role)
    # Nobody waits for the workers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    os.write(sys.stdout.fileno(), b"ready\n")
    # Not iterated over: a child must not find lines of its parent's in a buffer.
    while line := os.read(sys.stdin.fileno(), 1_000_000):
        if (pid := os.fork()) == 0:
            _become(Order(**json.loads(line)))
        os.write(sys.stdout.fileno(), f"{pid}\n".encode())


def _become(order: Order) -> None:
    end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(order.environment)
    service = (
        create_generator(writer=SlowWriter(order.pause)) if order.role == "generator" else load_service(order.role)
    )
    run([service, _probe(order.name)], ready=Path(order.ready).touch)
    os._exit(0)


def _probe(name: str) -> Service:
    """Answers how much the process holds: subscriptions and tasks."""

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async def answer(message: Msg) -> None:
            held = {"subscriptions": len(wires.bus.client._subs), "tasks": len(asyncio.all_tasks())}
            await message.respond(json.dumps(held).encode())

        await wires.bus.client.subscribe(f"{PROBE_SUBJECT}.{name}", cb=answer)
        yield Bindings()

    return Service("probe", start)


if __name__ == "__main__":
    main()
