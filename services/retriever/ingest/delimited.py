"""Tables in text files: values with commas, semicolons, tabs or bars between them."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from retriever.ingest.decoding import decode_text
from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.limits import MAX_CELLS, MAX_CHARACTERS
from retriever.ingest.rows import Row, row_lines
from retriever.ingest.titles import file_title
from retriever.ingest.writer import DocumentWriter

_DELIMITERS: Final = ",;\t|"
# Excel's own way to say what stands between the values.
_DECLARED: Final = re.compile(r"sep=([,;\t|])\n", re.IGNORECASE)
_SAMPLE: Final = 8_192


def parse_delimited(file_name: str, data: bytes) -> ParsedDocument:
    """A line for each row, with the columns' names before the values; raises UnreadableDocument."""
    text = decode_text(data)
    writer = DocumentWriter()
    try:
        for line in row_lines(_rows(text)):
            writer.add(line, "\n")
    except csv.Error as error:
        raise UnreadableDocument(f"is a broken table: {error}") from error
    return writer.document(file_title(file_name), "csv")


def _rows(text: str) -> Iterator[Row]:
    declared = _DECLARED.match(text)
    delimiter = declared.group(1) if declared else _delimiter(text[:_SAMPLE])
    # The module's own limit is 131,072; one field can be as long as the document.
    csv.field_size_limit(MAX_CHARACTERS)
    cells = 0
    lines = io.StringIO(text[declared.end() :] if declared else text, newline="")
    for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        cells += len(row)
        if cells > MAX_CELLS:
            raise UnreadableDocument(f"has more than {MAX_CELLS:,} cells")
        yield row


def _delimiter(sample: str) -> str:
    """What stands between the values; the module's sniffer gives up on tables of one column."""
    lines = sample.rpartition("\n")[0] or sample
    try:
        return csv.Sniffer().sniff(lines, _DELIMITERS).delimiter
    except csv.Error:
        first = lines.partition("\n")[0]
        return max(_DELIMITERS, key=first.count)
