"""How much of a file is read: beyond these a file is refused, with the limit in the reason."""

from typing import Final

# Code points of a document's text: about 40 books.
MAX_CHARACTERS: Final = 20_000_000
MAX_PAGES: Final = 10_000
# Cells with a value in one workbook or table.
MAX_CELLS: Final = 2_000_000
# Rows that a spreadsheet can have; a row number beyond it is a lie.
MAX_ROWS: Final = 1_048_576

# Bytes that the entries of an archive may have together once unpacked, counted while unpacking.
MAX_UNPACKED: Final = 512 << 20
MAX_ENTRIES: Final = 10_000
# How many times its packed size an archive may unpack to. XML of equal rows reaches 50; a bomb, 1,000.
MAX_RATIO: Final = 200
# Below this a high ratio does no harm.
FREE_UNPACKED: Final = 32 << 20

# HTML tags open at the same time: the parser takes quadratic time in depth, some seconds for these.
MAX_DEPTH: Final = 30_000

# Remarks about one document, and the characters of each.
MAX_NOTES: Final = 20
MAX_NOTE: Final = 200
