"""Keeps white space at the two ends of a streamed text from being shown."""


class EdgeTrimmer:
    """Takes a text in pieces and gives it back without white space at its beginning and, so far, at its end."""

    def __init__(self) -> None:
        self._blank: list[str] = []
        self._has_begun = False

    def feed(self, piece: str) -> str:
        """What can be shown with this piece; white space waits for what follows it."""
        body = piece.rstrip()
        if not body:
            self._blank.append(piece)
            return ""
        shown = "".join([*self._blank, body])
        self._blank = [piece[len(body) :]]
        if self._has_begun:
            return shown
        self._has_begun = True
        return shown.lstrip()
