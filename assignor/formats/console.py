"""A console of ``rich`` whose only control characters are its own: text cannot bring any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, Final

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.segment import Segment

from assignor.formats.text import SafeStream, without_controls

_FILE: Final[Any] = Console.file
_SIZE: Final[Any] = Console.size
_LEAST_WIDTH: Final = 20


class SafeConsole(Console):
    """The console of all commands. Styles, progress and live displays are those of ``Console``."""

    def _get_file(self) -> IO[str]:
        """Return the stream, without the escapes that would hit this console's own control characters."""
        found: Any = _FILE.fget(self)
        return found.stream if isinstance(found, SafeStream) else found

    file = property(_get_file, _FILE.fset)

    def _get_size(self) -> ConsoleDimensions:
        """Return the size of the terminal; of a width of nothing, nothing of a text would be printed."""
        found: Any = _SIZE.fget(self)
        return ConsoleDimensions(max(_LEAST_WIDTH, found.width), found.height)

    size = property(_get_size, _SIZE.fset)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with escapes in all text."""
        for each in super().render(renderable, options):
            yield each if each.control else Segment(without_controls(each.text), each.style)
