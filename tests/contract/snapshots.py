"""The contracts as files: `make snapshots` writes them, and a test compares, so no change of the wire is unseen."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from citewire.contracts.answers import DeltaFrame, DoneFrame, SourcesFrame
from citewire.contracts.asyncapi import asyncapi_document
from citewire.contracts.events import EVENTS
from citewire.contracts.problems import Problem
from citewire.contracts.requests import REQUESTS, Refused
from contract.flow_table import write_flow_table

FOLDER = Path(__file__).parent / "snapshots"
FRAMES: tuple[type[BaseModel], ...] = (SourcesFrame, DeltaFrame, DoneFrame, Problem)


def generate() -> dict[str, str]:
    """File name to content: the JSON Schema of each message as a sender must write it, and the AsyncAPI document."""
    schemas = {f"{model.__name__}.json": model.model_json_schema() for model in _models()}
    return {name: _dump(document) for name, document in {**schemas, "asyncapi.json": asyncapi_document()}.items()}


def committed() -> dict[str, str]:
    """File name to content, as the repository has them."""
    return {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}


def _models() -> list[type[BaseModel]]:
    replies = dict.fromkeys(request.reply for request in REQUESTS)
    return [*EVENTS, *REQUESTS, *replies, Refused, *FRAMES]


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def main() -> None:
    """Write all files, remove those of messages that are gone, and bring the flow table up to date."""
    generated = generate()
    for name in committed().keys() - generated.keys():
        (FOLDER / name).unlink()
    for name, content in generated.items():
        (FOLDER / name).write_text(content, encoding="utf-8")
    write_flow_table()


if __name__ == "__main__":
    main()
