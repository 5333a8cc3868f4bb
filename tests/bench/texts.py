"""Texts and questions of evaluation sets, in place of generated ones."""

import json
from pathlib import Path
from random import Random

# Sets whose licences allow such use; the others hold texts that are for evaluation by their authors' rules only.
SETS = ("cmrc2018", "drcd", "kite-sourcegraph", "mtrag", "scifact", "xquad-en", "xquad-zh")
# Texts of a set that make one document, a section each.
_SECTIONS = 40


class Texts:
    """Documents and questions of the sets in a folder; a set has a `corpus.jsonl` and a `queries.jsonl`."""

    def __init__(self, folder: Path) -> None:
        sets = [folder / name for name in SETS if (folder / name).is_dir()]
        if not sets:
            raise SystemExit(f"{folder} has none of the sets: {', '.join(SETS)}")
        self._documents = [document for one in sets for document in _documents(one)]
        self._questions = [query["text"] for one in sets for query in _lines(one / "queries.jsonl")]
        # So that a part of them is as mixed as the whole.
        for items in (self._documents, self._questions):
            Random(1).shuffle(items)  # noqa: S311 - the same order in each run

    def documents(self, chunks: int) -> list[tuple[str, bytes]]:
        """Names and contents of Markdown files, however many chunks they give."""
        del chunks
        return self._documents

    def question(self, number: int) -> str:
        """A question of any set; each comes once before one comes again."""
        return self._questions[number % len(self._questions)]


def _documents(folder: Path) -> list[tuple[str, bytes]]:
    texts = _lines(folder / "corpus.jsonl")
    return [
        (f"{folder.name}-{first}.md", _markdown(folder.name, texts[first : first + _SECTIONS]))
        for first in range(0, len(texts), _SECTIONS)
    ]


def _markdown(name: str, texts: list[dict[str, str]]) -> bytes:
    sections = [f"## {text.get('title') or 'Text'}\n\n{text['text']}" for text in texts]
    return "\n\n".join([f"# {name}", *sections]).encode()


def _lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
