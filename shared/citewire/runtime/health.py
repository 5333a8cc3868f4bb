"""Health over HTTP: alive is the process, ready is a round trip to what it stands on."""

import asyncio

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from citewire.runtime.service import Wires


async def readiness(wires: Wires) -> dict[str, str]:
    """The state of this process and of each server it needs: `ok`, or what is wrong."""
    return {
        "process": "draining" if wires.draining.is_set() else "ok",
        "nats": await _check(wires.bus.ping()),
        "redis": await _check(wires.redis.ping()),
    }


async def _check(probe: object) -> str:
    try:
        async with asyncio.timeout(2):
            await probe  # type: ignore[misc] # redis-py says Awaitable or bool
    except Exception as error:  # noqa: BLE001 - whatever it is, the probe's answer is that it is not ready
        return type(error).__name__
    return "ok"


def health_app(wires: Wires) -> Starlette:
    """`/healthz` and `/readyz` for a process that serves nothing else."""

    async def alive(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> JSONResponse:
        states = await readiness(wires)
        return JSONResponse(states, status_code=200 if set(states.values()) == {"ok"} else 503)

    return Starlette(routes=[Route("/healthz", alive), Route("/readyz", ready)])
