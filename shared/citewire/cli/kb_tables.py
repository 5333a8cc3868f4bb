"""Knowledge bases and documents as tables in a terminal."""

from collections.abc import Iterable

from rich.table import Table

from citewire.contracts.knowledge import Contexts, Contextual, Document, Embedding, KnowledgeBase
from citewire.contracts.provenance import Usage


def settings_table(kb: KnowledgeBase, embedding: Embedding, contexts: Contexts) -> Table:
    """All settings of a knowledge base, and how far it is embedded and summarised."""
    named = [*kb.access.users, *(f"group {name}" for name in kb.access.groups)]
    embedded = f"{embedding.chunks} of {kb.chunks} chunks" + (f": {embedding.reason}" if embedding.reason else "")
    table = Table(kb.kb_id, kb.title)
    for name, value in (
        ("description", kb.description),
        ("language", kb.language),
        ("owner", kb.owner),
        ("readable by", "everyone" if kb.access.everyone else ", ".join(["owner", *named])),
        ("metadata", ", ".join(f"{field}={kind}" for field, kind in kb.metadata_schema.items())),
        ("retrieval", kb.retrieval.model_dump_json(exclude_defaults=True)),
        ("mode", kb.retrieval.mode),
        ("embedder", kb.embedder),
        ("reranker", kb.reranker),
        ("pool", kb.pool),
        ("documents", f"{kb.documents}, {kb.chunks} chunks"),
        ("embedded", embedded),
        ("headers", contexts_text(contexts)),
        ("revision", str(kb.revision)),
    ):
        table.add_row(name, value or "–")
    return table


def kb_table(kbs: Iterable[KnowledgeBase]) -> Table:
    """Knowledge bases, one a row."""
    table = Table("id", "title", "language", "documents", "chunks", "readable by")
    for kb in kbs:
        readers = "everyone" if kb.access.everyone else "some"
        table.add_row(kb.kb_id, kb.title, kb.language, str(kb.documents), str(kb.chunks), readers)
    return table


def document_table(documents: Iterable[Document]) -> Table:
    """Documents, one a row."""
    table = Table("file", "title", "version", "status", "pages", "chunks", "headers", "metadata")
    for document in documents:
        state = document.status if document.reason is None else f"{document.status}: {document.reason}"
        table.add_row(
            document.file_name,
            document.title,
            str(document.version),
            state,
            str(document.pages or "–"),
            str(document.chunks),
            headers_text(document.contextual),
            ", ".join(f"{name}={value}" for name, value in document.metadata.items()),
        )
    return table


def headers_text(contextual: Contextual) -> str:
    """What a document's headers are made of, what they cost, and what is missing."""
    sections = contextual.sections
    facts = [f"{sections} section{'' if sections == 1 else 's'}"] if sections else []
    facts += _spent(contextual.usage)
    text = contextual.state + (f" ({', '.join(facts)})" if facts else "")
    return text if contextual.reason is None else f"{text}: {contextual.reason}"


def contexts_text(contexts: Contexts) -> str:
    """How many documents have which headers, and what all of them cost; empty without documents."""
    counts = [f"{count:,} {state}" for state, count in contexts.documents.items() if count]
    return ", ".join([*counts, *_spent(contexts.usage)])


def _spent(usage: Usage | None) -> list[str]:
    if usage is None:
        return []
    cached = [f"{usage.cached_tokens:,} of them cached"] if usage.cached_tokens else []
    return [f"{usage.input_tokens + usage.output_tokens:,} tokens", *cached]
