"""Runs the server by itself: `python -m scripted_model --port 8123 --script replies.json`.

The file is a list of replies to the requests in their order; the last one is given to all that follow. Each is an
object with the name of its builder and the builder's arguments:

    [{"reply": "status", "code": 503}, {"reply": "pieces", "said": ["Be", "cause"], "pace": 0.02}]
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scripted_model import replies
from scripted_model.replies import Answer, Reply
from scripted_model.server import ScriptedModel

_BUILDERS: Mapping[str, Callable[..., Reply]] = {
    "pieces": lambda *, said, **fields: replies.pieces(*said, **fields),
    "refusal": lambda *, said: replies.refusal(*said),
    "status": lambda *, code, **fields: replies.status(code, **fields),
    "error_in_stream": replies.error_in_stream,
    "cut": replies.cut,
    "failed": replies.failed,
    "incomplete": replies.incomplete,
    "silent": replies.silent,
    "reasoning": lambda *, thoughts, then, **fields: replies.reasoning(*thoughts, then=_answer(then), **fields),
    "garbage": lambda *, after, data="<html>": replies.garbage(after=after, data=data.encode()),
}


def read_script(text: str) -> list[Reply]:
    """The replies of a script; raises KeyError for an unknown builder, TypeError for a wrong argument."""
    return [_reply(entry) for entry in json.loads(text)]


def _reply(entry: dict[str, Any]) -> Reply:
    return _BUILDERS[entry["reply"]](**{name: value for name, value in entry.items() if name != "reply"})


def _answer(entry: dict[str, Any]) -> Answer:
    reply = _reply(entry)
    if not isinstance(reply, Answer):
        raise TypeError("after reasoning comes an answer")
    return reply


async def serve(port: int, key: str | None, script: list[Reply]) -> None:
    """Serve until it is interrupted."""
    async with ScriptedModel(port, key) as server:
        server.play(*script[:-1])
        server.always(script[-1])
        print(f"{server.url} {server.key}", flush=True)  # noqa: T201  # how the caller learns where to ask
        await asyncio.get_running_loop().create_future()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A scripted model behind OpenAI's interfaces.")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--key", help="a random one by default; it is printed beside the address")
    parser.add_argument("--script", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.key, read_script(options.script.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
