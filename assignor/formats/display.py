"""How much of a text a terminal gets, and how wide: lines that fit, and a list that fits on a screen."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from streams_assignor.formats.text import wrap_lines

_CUT: Final = " ..."
_MAX_COLUMNS: Final = 120
"""A longer line is hard to read, however wide the terminal is."""
_SCREEN: Final = 50
"""Lines: a text is read as a whole, so a lower terminal is scrolled."""
_LEAST_ROWS: Final = 6
"""Lines of a list that any screen shows."""


@frozen
class DisplayOptions:
    """How much is shown, and how wide."""

    verbose: bool = False
    columns: int | None = None
    """The width of the terminal; None: no terminal, so that no line is cut, wrapped or left out."""
    rows: int = 0
    """Its height."""

    @classmethod
    def of_output(cls, *, verbose: bool) -> DisplayOptions:
        """Return how to write on standard output: a terminal gets lines that fit."""
        is_terminal = sys.stdout and sys.stdout.isatty()  # None: the shell has closed it
        size = shutil.get_terminal_size()
        return cls(verbose, min(size.columns, _MAX_COLUMNS), size.lines) if is_terminal else cls(verbose)

    @property
    def is_short(self) -> bool:
        """Whether the text has to fit on a screen."""
        return self.columns is not None and not self.verbose

    def fact(self, text: str) -> str:
        """Return a fact as one line; a terminal gets its beginning, unless everything is shown."""
        if self.columns is None or self.verbose:
            return text
        return text if len(text) <= self.columns else text[: self.columns - len(_CUT)].rpartition(" ")[0] + _CUT

    def show(self, lines: Iterable[str]) -> str:
        """Return lines as text."""
        text = "\n".join(lines)
        return text if self.columns is None else wrap_lines(text, self.columns)

    def room_beside(self, lines: Iterable[str]) -> int | None:
        """Return how many more lines fit on a screen with these; None if all do."""
        if self.columns is None or self.verbose:
            return None
        return max(_LEAST_ROWS, max(self.rows, _SCREEN) - self.show(lines).count("\n") - 1)
