"""BM25 over one knowledge base: a tantivy index on this machine's disk. Every call blocks.

It is a projection of Postgres at a revision, which is written beside the index after each commit. Dying between the
two repeats a change, and a change repeated is the same change.
"""

import contextlib
import heapq
import shutil
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from pydantic import BaseModel, ValidationError
from tantivy import Document, Index, Occur, Query, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from citewire.runtime.errors import TransientError
from retriever.passages import Hit

# Counts up with every change of the fields or of the tokenizer: indexes of another format are built anew.
FORMAT = 2
# Terms of one query at most, the rarest ones: they decide the ranking, and the time stays bounded.
MAX_TERMS = 64
# Bytes that a writer collects before it writes: tantivy's least is 15 million.
_WRITER_MEMORY = 150_000_000
_ANALYZER = "terms"


class IndexedChunk(NamedTuple):
    """A chunk's id and its terms with a blank between them; the body has those of the header, too."""

    chunk_id: int
    body: str
    header: str


@dataclass(frozen=True)
class IndexedDocument:
    """A document as it is from now on; without chunks it is gone."""

    doc_id: UUID
    chunks: tuple[IndexedChunk, ...]


class _State(BaseModel):
    format: int
    revision: int


class LexicalIndex:
    """One folder; only one process may change it."""

    def __init__(self, folder: Path, header_boost: float) -> None:
        self._folder = folder
        self._header_boost = header_boost
        self.revision = _read_revision(folder)
        self._index = self._open()

    def _open(self) -> Index:
        if self.revision > 0:
            with contextlib.suppress(ValueError):  # what tantivy raises for a damaged index
                return _open(self._folder)
        return self._create()

    def _create(self) -> Index:
        self.revision = 0
        delete_index(self._folder)
        self._folder.mkdir(parents=True)
        return _open(self._folder)

    def clear(self) -> None:
        """Begin anew, at revision 0."""
        self._index = self._create()

    def apply(self, documents: Sequence[IndexedDocument], revision: int) -> None:
        """Bring these documents to what they are at a revision; raises TransientError."""
        with _translated():
            writer = self._index.writer(_WRITER_MEMORY, 1)
            for document in documents:
                writer.delete_documents_by_term("document", document.doc_id.hex)
                for chunk in document.chunks:
                    writer.add_document(_entry(document.doc_id, chunk))
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
        self.note(revision)

    def note(self, revision: int) -> None:
        """It is what Postgres says at this revision."""
        _write_revision(self._folder, revision)
        self.revision = revision

    def __len__(self) -> int:
        """How many chunks can be found."""
        return int(self._index.searcher().num_docs)

    def search(self, weights: Mapping[str, float], limit: int, documents: Sequence[UUID] | None = None) -> list[Hit]:
        """The best chunks by BM25 (k1 1.2, b 0.75; Robertson and Zaragoza 2009), best first, all scores above zero.

        A chunk's score is that of its body plus the boosted one of its header. If `documents` are given, only their
        chunks are found. Raises TransientError.
        """
        with _translated():
            searcher = self._index.searcher()
            rarest = weights if len(weights) <= MAX_TERMS else self._rarest(weights)
            result = searcher.search(self._query(rarest, documents), limit=limit, count=False)
            ids = searcher.fast_field_values("chunk", [address for _, address in result.hits])
        hits = [
            Hit(int(chunk_id), score)
            for chunk_id, (score, _) in zip(ids, result.hits, strict=True)
            if chunk_id is not None and score > 0
        ]
        # Equal scores come in the order of the index's parts, which differs between replicas.
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))

    def _rarest(self, weights: Mapping[str, float]) -> dict[str, float]:
        searcher = self._index.searcher()
        known = {
            term: frequency
            for term in weights
            if (frequency := searcher.doc_freq("body", term) + searcher.doc_freq("header", term))
        }
        return {term: weights[term] for term in heapq.nsmallest(MAX_TERMS, known, key=lambda term: known[term])}

    def _query(self, weights: Mapping[str, float], documents: Sequence[UUID] | None) -> Query:
        fields = (("body", 1.0), ("header", self._header_boost))
        words = Query.boolean_query(
            [
                (Occur.Should, Query.boost_query(Query.term_query(_SCHEMA, field, term, "freq"), weight * boost))
                for term, weight in weights.items()
                for field, boost in fields
            ]
        )
        if documents is None:
            return words
        among = Query.term_set_query(_SCHEMA, "document", [document.hex for document in documents])
        return Query.boolean_query([(Occur.Must, words), (Occur.Must, Query.const_score_query(among, 0.0))])


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("document", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("chunk", fast=True)
    builder.add_text_field("body", tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_text_field("header", tokenizer_name=_ANALYZER, index_option="freq")
    return builder.build()


_SCHEMA = _schema()


def _open(folder: Path) -> Index:
    index = Index(_SCHEMA, str(folder))
    index.register_tokenizer(_ANALYZER, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    index.config_reader("manual")
    index.reload()
    return index


def _entry(doc_id: UUID, chunk: IndexedChunk) -> Document:
    entry = Document()
    entry.add_text("document", doc_id.hex)
    entry.add_unsigned("chunk", chunk.chunk_id)
    entry.add_text("body", chunk.body)
    entry.add_text("header", chunk.header)
    return entry


@contextlib.contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        raise TransientError(f"lexical index: {error}") from error


def delete_index(folder: Path) -> None:
    """Remove an index from the disk, if it is there."""
    _state_file(folder).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _state_file(folder: Path) -> Path:
    return folder.with_suffix(".json")


def _read_revision(folder: Path) -> int:
    try:
        state = _State.model_validate_json(_state_file(folder).read_bytes())
    except (OSError, ValidationError):
        return 0
    return state.revision if state.format == FORMAT and folder.is_dir() else 0


def _write_revision(folder: Path, revision: int) -> None:
    """Replace the file whole: half a file would cost a rebuild."""
    target = _state_file(folder)
    draft = target.with_suffix(".new")
    draft.write_text(_State(format=FORMAT, revision=revision).model_dump_json())
    draft.replace(target)
