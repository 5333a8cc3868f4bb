"""What the readers of Office files have in common."""

import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final
from zipfile import BadZipFile

from lxml import etree  # type: ignore[import-untyped] # has no annotations

from citewire.text.normalise import clean
from retriever.ingest.document import UnreadableDocument
from retriever.ingest.titles import one_line

# lxml has no annotations.
Element = Any

# What the libraries raise for a file that is not as they expect: they check little and trip over the rest.
_BROKEN: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    SyntaxError,  # the base of what XML parsers raise
    TypeError,
    ValueError,
    etree.LxmlError,
    zlib.error,
)
_OFF: Final = frozenset({"0", "false", "off", "none"})
_GENERATED: Final = ("Description automatically generated", "AI-generated content may be incorrect.")


@contextmanager
def broken_is_unreadable(kind: str, *more: type[Exception]) -> Generator[None]:
    """Turn what a library raises over a broken file, `more` being its own kinds, into UnreadableDocument.

    Raises MemoryError also where lxml calls the lack of it an error of syntax.
    """
    try:
        yield
    except UnreadableDocument:
        raise
    except (*_BROKEN, *more) as error:
        if isinstance(error, etree.XMLSyntaxError) and error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise UnreadableDocument(f"is a broken {kind}: open it in its program and save it again") from error


def is_on(value: str | None) -> bool:
    """Whether an XML attribute that may be left out says yes; an element without it says yes, too."""
    return value is None or value.lower() not in _OFF


def alternative(words: str | None) -> str:
    """The text that stands for an image; empty if it is only its file's name."""
    text = one_line(clean(words or ""))
    for generated in _GENERATED:
        text = text.removesuffix(generated).strip()
    is_file_name = " " not in text and text.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".svg", ".emf"))
    return "" if is_file_name else text
