"""A console of ``rich`` whose only control characters are its own: text cannot bring any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, Final

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.segment import Segment

from streams_assignor.formats.text import SafeStream, without_controls

_FILE: Final[Any] = Console.file
_SIZE: Final[Any] = Console.size
_LEAST_WIDTH: Final = 20


class SafeConsole(Console):
    """The console of all commands. Styles, progress and live displays are those of ``Console``."""

    def _get_file(self) -> IO[str]:
        """Return the stream, without the escapes that would hit this console's own control characters."""
        file: Any = _FILE.fget(self)
        return file.stream if isinstance(file, SafeStream) else file

    file = property(_get_file, _FILE.fset)

    def _get_size(self) -> ConsoleDimensions:
        """Return the size of the terminal; of a width of nothing, nothing of a text would be printed."""
        size: Any = _SIZE.fget(self)
        return ConsoleDimensions(max(_LEAST_WIDTH, size.width), size.height)

    size = property(_get_size, _SIZE.fset)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with escapes in all text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(without_controls(segment.text), segment.style)
