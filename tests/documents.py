"""Uploading documents in tests of the whole stack."""

import json
import time
from typing import Any

import httpx

TIMEOUT = 30.0
EMBEDDING_TIMEOUT = 300.0
PAUSE = 0.05
SETTLED = {"indexed", "embedded", "failed"}


def upload(
    client: httpx.Client, kb_id: str, name: str, content: bytes, metadata: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a file and wait until it is searched or failed."""
    form = {"metadata": json.dumps(metadata or {})}
    sent = client.post(f"/v1/kbs/{kb_id}/documents", files={"file": (name, content)}, data=form)
    assert sent.status_code == 202, sent.text
    path = f"/v1/kbs/{kb_id}/documents/{sent.json()['doc_id']}"
    deadline = time.monotonic() + TIMEOUT
    while (document := client.get(path).json())["status"] not in SETTLED:
        assert time.monotonic() < deadline, document
        time.sleep(PAUSE)
    settled: dict[str, Any] = document
    return settled


def wait_until_embedded(client: httpx.Client, kb_id: str) -> None:
    """Return once all chunks of a knowledge base have vectors."""
    deadline = time.monotonic() + EMBEDDING_TIMEOUT
    while True:
        kb = client.get(f"/v1/kbs/{kb_id}").json()
        embedding = client.get(f"/v1/kbs/{kb_id}/embedding").json()
        if embedding["chunks"] == kb["chunks"] > 0:
            return
        assert time.monotonic() < deadline, f"embedded {embedding} of {kb['chunks']}"
        time.sleep(0.2)
