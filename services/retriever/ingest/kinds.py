"""What a file is by its content, whatever it is called."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from retriever.ingest.archives import check_archive
from retriever.ingest.document import UnreadableDocument

_PDF_MARK: Final = b"%PDF-"
# Readers of PDF look for the mark that far into the file.
_PDF_MARK_WITHIN: Final = 1024
_ZIP_MARK: Final = b"PK\x03\x04"
_OLE_MARK: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Where an Office file with a password keeps its real content.
_OLE_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
# How other files begin that are often found under a wrong name.
_MARKS: Final = (
    (_PDF_MARK, "a PDF"),
    (_ZIP_MARK, "a ZIP archive"),
    (_OLE_MARK[:4], "an old Office document"),
    (b"{\\rtf", "a Rich Text document"),
    (b"\x1f\x8b", "compressed data"),
    (b"BZh", "compressed data"),
    (b"\xfd7zXZ", "compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "an archive"),
    (b"Rar!\x1a\x07", "an archive"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\0", "an image"),
    (b"MM\0*", "an image"),
    (b"\x7fELF", "a program"),
)


@dataclass(frozen=True)
class OfficeKind:
    """An Office format: what it is called, the archive's folder that holds its content, and its ending."""

    name: str
    folder: str
    ending: str


_KINDS: Final = (
    OfficeKind("a Word document", "word/", ".docx"),
    OfficeKind("an Excel workbook", "xl/", ".xlsx"),
    OfficeKind("a PowerPoint presentation", "ppt/", ".pptx"),
)
_BY_ENDING: Final = {kind.ending: kind for kind in _KINDS} | {f"{kind.ending[:-1]}m": kind for kind in _KINDS}
# The form in which other programs' files and those of old can be read.
_READABLE: Final = {
    **dict.fromkeys((".doc", ".dot", ".rtf", ".odt", ".wps", ".pages"), ".docx"),
    **dict.fromkeys((".xls", ".xlsb", ".xlt", ".ods", ".et", ".numbers"), ".xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".ppsx", ".odp", ".dps", ".key"), ".pptx"),
    **dict.fromkeys((".mht", ".mhtml", ".xhtml"), ".html"),
}


def advice(ending: str) -> str:
    """What to do with a file of a format that is not read; empty if there is nothing to say."""
    ending = _READABLE.get(ending, "")
    return f"save it as {ending}" if ending else ""


def check_content(ending: str, data: bytes) -> None:
    """Raises UnreadableDocument if the content is not what the ending says, or is an archive that does harm."""
    if ending == ".pdf":
        if _PDF_MARK not in data[:_PDF_MARK_WITHIN]:
            raise UnreadableDocument(f"is called .pdf but is {_kind(data) or 'no PDF'}")
    elif ending in _BY_ENDING:
        _check_office(ending, _BY_ENDING[ending], data)
    elif kind := _kind(data):
        raise UnreadableDocument(f"is called {ending} but is {kind}")


def _check_office(ending: str, kind: OfficeKind, data: bytes) -> None:
    if data.startswith(_OLE_MARK) and _OLE_ENCRYPTED in data:
        raise UnreadableDocument("is encrypted: save it without a password")
    if data.startswith(_OLE_MARK):
        raise UnreadableDocument(f"is called {ending} but is an old Office document: save it as {kind.ending}")
    if not data.startswith(_ZIP_MARK):
        raise UnreadableDocument(f"is called {ending} but is {_kind(data) or f'not {kind.name}'}")
    found = _archive_kind(check_archive(data))
    if found != kind.name:
        raise UnreadableDocument(f"is called {ending} but is {found}")


def _kind(data: bytes) -> str:
    return next((kind for mark, kind in _MARKS if data.startswith(mark)), "")


def _archive_kind(names: AbstractSet[str]) -> str:
    if "[Content_Types].xml" in names:
        for kind in _KINDS:
            if any(name.startswith(kind.folder) for name in names):
                return kind.name
    return "a ZIP archive"
