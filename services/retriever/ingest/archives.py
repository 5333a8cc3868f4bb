"""ZIP archives that may be made to do harm: checked as they unpack, since what their headers say may be a lie."""

import io
import zlib
from collections.abc import Iterator
from typing import Final
from zipfile import BadZipFile, ZipFile

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import FREE_UNPACKED, MAX_ENTRIES, MAX_RATIO, MAX_UNPACKED

_ENCRYPTED: Final = 0x1
_BLOCK: Final = 1 << 20
# Office files hold no declarations of that kind; entities in them can grow without bounds or name other files.
_DECLARATIONS: Final = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_OVERLAP: Final = max(map(len, _DECLARATIONS)) - 1
_XML: Final = (".xml", ".rels", ".vml")


def check_archive(data: bytes) -> frozenset[str]:
    """The names of the entries, after unpacking each once; archives inside are left closed.

    Raises UnreadableDocument for what is broken, encrypted, too large once unpacked, or declares XML entities.
    """
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            _check_entries(archive)
            _check_content(archive, len(data))
            return frozenset(archive.namelist())
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDocument("is a damaged archive: save it again") from error


def _check_entries(archive: ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise UnreadableDocument(f"has {len(entries):,} parts; at most {MAX_ENTRIES:,} are read")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise UnreadableDocument("is encrypted: save it without a password")


def _check_content(archive: ZipFile, packed: int) -> None:
    unpacked = 0
    for name in archive.namelist():
        tail = b""
        is_xml = name.lower().endswith(_XML)
        for block in _blocks(archive, name):
            unpacked += len(block)
            _check_size(unpacked, packed)
            if is_xml and any(declaration in tail + block for declaration in _DECLARATIONS):
                raise UnreadableDocument("declares XML entities, which no Office file does")
            tail = block[-_OVERLAP:]


def _blocks(archive: ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as entry:
        while block := entry.read(_BLOCK):
            yield block


def _check_size(unpacked: int, packed: int) -> None:
    if unpacked > MAX_UNPACKED:
        raise UnreadableDocument(f"unpacks to more than {MAX_UNPACKED >> 20} MB")
    if unpacked > max(FREE_UNPACKED, MAX_RATIO * packed):
        raise UnreadableDocument(f"unpacks to more than {MAX_RATIO} times its size")
