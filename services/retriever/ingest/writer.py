"""A document's text as it grows, block by block, with its headings, pages and remarks."""

from collections.abc import Iterable

from citewire.text.normalise import clean
from retriever.ingest.document import Page, ParsedDocument, Section, UnreadableDocument
from retriever.ingest.headings import Heading, nest_headings
from retriever.ingest.limits import MAX_CHARACTERS
from retriever.ingest.notes import Losses
from retriever.ingest.titles import one_line


class DocumentWriter:
    """Collects blocks; each stands behind the one before it with a separator between them."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.losses = Losses()
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[Page] = []

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._parts)

    @property
    def sections(self) -> tuple[Section, ...]:
        """What stands under each heading."""
        return nest_headings(self.headings, self._length)

    @property
    def first_heading(self) -> str:
        """The words of the first heading that has any."""
        return next((heading.words for heading in self.headings if heading.words), "")

    def add(self, text: str, separator: str = "\n\n", level: int | None = None) -> None:
        """Add a clean block of text, as a heading if it has a level; nothing happens when it is blank.

        Raises UnreadableDocument when the document gets too long.
        """
        text = clean(text).strip()
        if not text:
            return
        start = self._append(text, separator)
        if level is not None:
            self.headings.append(Heading(start, self._length, level, one_line(text)))

    def add_page(self, number: int, blocks: Iterable[tuple[str, str, int | None]]) -> None:
        """Add a page of blocks as `add` takes them; one without text is a page, too."""
        self._append("", "\n\n")
        start = self._length
        for text, separator, level in blocks:
            self.add(text, separator if self._length > start else "", level)
        self._pages.append(Page(number, None, start, self._length))

    def document(self, title: str, document_type: str) -> ParsedDocument:
        """The finished document."""
        return ParsedDocument(
            title, document_type, self.text, tuple(self._pages), self.sections, notes=self.losses.notes()
        )

    def _append(self, text: str, separator: str) -> int:
        added = [separator, text] if self._parts else [text]
        self._parts += added
        self._length += sum(map(len, added))
        if self._length > MAX_CHARACTERS:
            raise UnreadableDocument(f"has more than {MAX_CHARACTERS:,} characters of text")
        return self._length - len(text)
