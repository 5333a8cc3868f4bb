"""Uploading documents in tests of the whole stack."""

import json
import time
from typing import Any

import httpx

TIMEOUT = 30.0
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
