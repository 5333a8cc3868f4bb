"""Names of embedders."""

import hashlib


def embedder_name(kind: str, model: str, passage_prefix: str, dimensions: int | None = None) -> str:
    """A name that changes with whatever changes the vectors of passages.

    Not with the server: that the same model gives the same vectors everywhere lets it move.
    """
    parts = [kind, model]
    if dimensions is not None:
        parts.append(f"{dimensions} dimensions")
    if passage_prefix:
        parts.append(f"prefix {hashlib.sha256(passage_prefix.encode()).hexdigest()[:8]}")
    return "/".join(parts)
