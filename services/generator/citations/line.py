"""A cursor over one line of Markdown that counts columns, a tab reaching to the next multiple of four."""

TAB_STOP = 4
_SPACE = " \t"
_LINE_END = " \t\r\n"


class Line:
    """One line, read from the left: container marks first, then what they contain."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._column = 0
        self._tab_rest = 0  # columns of a tab that were not skipped with it

    def rest(self) -> str:
        """What follows the indent, without the white space at its end."""
        return self._text[self._position :].lstrip(_SPACE).rstrip(_LINE_END)

    def is_blank(self) -> bool:
        return not self.rest()

    def without_marks(self) -> str:
        """The line at its full length, with spaces for all that was skipped."""
        return " " * self._position + self._text[self._position :]

    def indent(self) -> int:
        """Columns of white space from here to the first character."""
        position, column = self._position, self._column
        while self._text[position : position + 1] in {" ", "\t"}:
            column += self._width(position, column)
            position += 1
        return column - self._column + self._tab_rest

    def skip_columns(self, count: int) -> None:
        """Skips white space; a tab may be skipped in part."""
        while count > self._tab_rest:
            count -= self._tab_rest
            self._tab_rest = self._width(self._position, self._column)
            self._column += self._tab_rest
            self._position += 1
        self._tab_rest -= count

    def skip_quote_mark(self) -> bool:
        """Skips a block quote's `>` and one space after it; False, and nothing skipped, when there is none."""
        if self.indent() >= TAB_STOP or not self.rest().startswith(">"):
            return False
        self.skip_columns(self.indent())
        self._skip_characters(1)
        self.skip_columns(min(self.indent(), 1))
        return True

    def skip_list_mark(self, mark: str) -> int:
        """Skips a list item's mark and the space after it; gives the indent, in columns, of the item's content."""
        before = self.indent()
        self.skip_columns(before)
        self._skip_characters(len(mark))
        after = self.indent()
        padding = after if after <= TAB_STOP and not self.is_blank() else 1
        self.skip_columns(min(padding, after))
        return before + len(mark) + padding

    def _skip_characters(self, count: int) -> None:
        self._position += count
        self._column += count

    def _width(self, position: int, column: int) -> int:
        return TAB_STOP - column % TAB_STOP if self._text[position] == "\t" else 1
