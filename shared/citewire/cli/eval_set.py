"""A retrieval test set in a folder: corpus.jsonl, queries.jsonl and qrels.tsv, as BEIR lays them out."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from citewire.cli.client import ServiceProblem

M = TypeVar("M", bound=BaseModel)

_OWN_FORMATS = {".md", ".markdown", ".html", ".htm"}


class SetDocument(BaseModel):
    """A line of corpus.jsonl."""

    id: str = Field(alias="_id")
    title: str = ""
    text: str


class Said(BaseModel):
    """What was said before a query, by the user or somebody else."""

    speaker: str
    text: str


class QueryMetadata(BaseModel, extra="allow"):
    """What a set says of a query, beside whatever else: the conversation before it."""

    history: tuple[Said, ...] = ()


class SetQuery(BaseModel):
    """A line of queries.jsonl."""

    id: str = Field(alias="_id")
    text: str
    metadata: QueryMetadata = QueryMetadata()


@dataclass(frozen=True)
class Upload:
    """A document as it is uploaded; `document` is its id in the set."""

    document: str
    file_name: str
    data: bytes


@dataclass(frozen=True)
class JudgedQuery:
    """A query and the gain, above zero, of each document that is relevant to it; there is at least one.

    `context` has the earlier questions of its conversation, `metadata` what else the set says of it.
    """

    text: str
    gains: Mapping[str, int]
    context: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


class UnreadableSet(ServiceProblem):
    """A file of the set is missing or not of its form; `str()` names the file and the line."""


def read_uploads(folder: Path) -> list[Upload]:
    """The documents, as files that a service can read; raises UnreadableSet."""
    return [_as_file(number, document) for number, document in enumerate(_lines(folder / "corpus.jsonl", SetDocument))]


def read_queries(folder: Path, queries_from: Path | None = None) -> list[JudgedQuery]:
    """The queries that have a relevant document; raises UnreadableSet.

    `queries_from` is another set's folder whose queries of the same ids are asked instead: the same questions in
    another language.
    """
    gains = _read_gains(folder / "qrels.tsv")
    queries = _lines((queries_from or folder) / "queries.jsonl", SetQuery)
    judged = [_judged(query, gains[query.id]) for query in queries if query.id in gains]
    if not judged:
        raise UnreadableSet(f"{folder / 'qrels.tsv'} judges none of the queries")
    return judged


def _judged(query: SetQuery, gains: Mapping[str, int]) -> JudgedQuery:
    questions = tuple(said.text for said in query.metadata.history if said.speaker == "user")
    return JudgedQuery(query.text, gains, questions, query.metadata.model_extra or {})


def _as_file(number: int, document: SetDocument) -> Upload:
    """A document whose id names a format is of that format; any other is text, with its title as front matter."""
    ending = PurePosixPath(document.id).suffix.lower()
    text = document.text
    if ending not in _OWN_FORMATS:
        title = " ".join(document.title.split())
        ending = ".md" if title else ".txt"
        text = f"---\ntitle: {title}\n---\n{text}" if title else text
    # Ids may hold what no file name may, so the number names the file.
    return Upload(document.id, f"document-{number}{ending}", text.encode())


def _read_gains(path: Path) -> Mapping[str, dict[str, int]]:
    gains: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, line in enumerate(_text_lines(path), start=1):
        query, document, score = (*line.split("\t"), "", "")[:3]
        if number == 1 and not _is_number(score):
            continue  # the heading
        if not _is_number(score):
            raise UnreadableSet(f"{path}, line {number}: needs a query, a document and a number")
        if int(score) > 0:
            gains[query][document] = int(score)
    return gains


def _is_number(score: str) -> bool:
    return score.removeprefix("-").isdecimal()


def _lines(path: Path, model: type[M]) -> Iterator[M]:
    for number, line in enumerate(_text_lines(path), start=1):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise UnreadableSet(f"{path}, line {number}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error


def _text_lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in lines if line.strip())
    except (OSError, UnicodeError) as error:
        raise UnreadableSet(f"{path}: {error}") from error
