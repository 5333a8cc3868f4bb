"""The sample knowledge bases, loaded over HTTP like anybody's documents."""

import json
from pathlib import Path

from citewire.cli.client import Client, ServiceProblem
from citewire.cli.kb import add_files

SAMPLES = Path(__file__).parent / "samples"

CONFLICT = 409


def load_samples(client: Client) -> None:
    """Create the sample knowledge bases and add their documents; what is there already stays as it is."""
    for folder in sorted(SAMPLES.iterdir()):
        kb = json.loads((folder / "kb.json").read_text(encoding="utf-8"))
        _create(client, kb)
        for name, reason in add_files(client, kb["kb_id"], sorted((folder / "documents").iterdir())):
            raise ServiceProblem(f"sample {name}: {reason}")


def _create(client: Client, kb: dict[str, str]) -> None:
    try:
        client.call("POST", "/v1/kbs", json=kb)
    except ServiceProblem as problem:
        if problem.status != CONFLICT:
            raise
