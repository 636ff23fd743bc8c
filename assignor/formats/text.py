"""Text for a terminal: control characters as escapes, long messages shortened, lists of names, plain tables."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO, Any, Final

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that terminals obey: control characters but tab and newline, and those that change the direction."""
_BACKTICKS: Final = re.compile("`+")
_MARKS: Final = re.compile(
    r"[\\`*\[\]<>|]|^[-+](?=\s|$)|^(?:={2,}|-{3,})$|(?<=^\d)[.)](?=\s|$)|(?<![\w/])#|(?<!/)~"
    r"|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)"
)
"""The characters that Markdown reads as mark-up."""
_MAX_MESSAGE_LENGTH: Final = 2_000
"""Characters. A message may repeat user input, and that may be a whole file by mistake."""
_COMMAND: Final = "streams-assignor "
_LABEL: Final = re.compile(r" *(\d+\. |- |[a-z][a-z ]*: +|[\d.]+s  gen +\S+ +\S+ +)?")
"""The prefix of the text of a line: its indentation, number, dash or label, or the head of an event."""


def printable(text: str) -> str:
    """Escape control characters and bytes that are not text: a blob must not control the terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def without_controls(text: str) -> str:
    r"""Escape what a terminal would obey, as JSON escapes it, so that a document stays one.

    >>> print(without_controls("orders\x1b[31m\n"), end="")
    orders\u001b[31m
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class SafeStream:
    """Standard output or standard error to which text from outside cannot send a control character.

    It has no ``buffer``, which would be a way around.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream: Final = stream
        """The stream below this one; for those that send control characters on purpose."""

    def write(self, text: str) -> int:
        """Write the text with escapes."""
        return self.stream.write(without_controls(text))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.stream, name)


def truncate(message: str) -> str:
    """Leave out the middle of a message that would fill the terminal."""
    half = _MAX_MESSAGE_LENGTH // 2
    return message if len(message) <= _MAX_MESSAGE_LENGTH else f"{message[:half]} ... {message[-half:]}"


def sanitize(message: str) -> str:
    r"""Shorten a message, and escape control characters except the newline.

    >>> print(sanitize("unknown release \x1b[31m"))
    unknown release \x1b[31m
    """
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in truncate(message)
    )


def as_markdown(text: str) -> str:
    r"""Return a line of Markdown that shows a text; underscores inside a word and marks in an address are none.

    >>> print(as_markdown("a|b_c <d>\n[x](y) _e_"))
    a\|b_c \<d\>\\n\[x\](y) \_e\_
    >>> print(as_markdown("# https://kafka.apache.org/#upgrade_4"), as_markdown("1. &lt;"), as_markdown("- *"))
    \# https://kafka.apache.org/#upgrade_4 1\. \&lt; \- \*
    """
    return _MARKS.sub(r"\\\g<0>", "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text))


def as_markdown_code(text: str) -> str:
    r"""Return a text as code in Markdown, between as many backticks as it needs.

    >>> print(as_markdown_code("a *b*"), as_markdown_code("echo `id`"))
    `a *b*` `` echo `id` ``
    """
    shown = " ".join(text.splitlines())
    if "`" not in shown:
        return f"`{shown}`"
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(shown))))
    return f"{fence} {shown} {fence}"


def join_names(things: Iterable[object], limit: int = 5) -> str:
    """Write a list as in a sentence; at most `limit` names, then how many more.

    >>> join_names("abc"), join_names("abc", limit=2)
    ('a, b and c', 'a, b and 1 more')
    """
    names = [str(thing) for thing in things]
    if len(names) > limit:
        names = [*names[:limit], f"{len(names) - limit} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> count(1, "member"), count(1200, "task")
    ('1 member', '1,200 tasks')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def format_seconds(seconds: float) -> str:
    """Write a duration in the largest unit of which there are at least two, rounded.

    >>> format_seconds(0.4), format_seconds(45), format_seconds(245), format_seconds(3 * 3600)
    ('0 s', '45 s', '4 min', '3 h')
    """
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_bytes(number: int) -> str:
    """Return a size of about the given bytes.

    >>> [format_bytes(size) for size in (0, 999, 1_500, 12_400_000, 3_000_000_000)]
    ['0 bytes', '999 bytes', '1.5 kB', '12.4 MB', '3.0 GB']
    """
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= power:
            return f"{number / power:.1f} {unit}"
    return count(number, "byte")


def wrap_lines(text: str, width: int) -> str:
    """Wrap the lines that are longer; they continue below the text after their number, dash or label.

    A line with a command stays whole, so that it can be copied.

    >>> print(wrap_lines("   why:        members of 2.8 cannot read it", 36))
       why:        members of 2.8 cannot
                   read it
    >>> print(wrap_lines("  0.3s  gen 2  A1  joins with version 7", 38))
      0.3s  gen 2  A1  joins with version
                       7
    >>> print(wrap_lines('   streams-assignor replay "A@2.0 B@2.0"', 20))
       streams-assignor replay "A@2.0 B@2.0"
    """
    return "\n".join(_wrap_line(line, width) if len(line) > width else line for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if _COMMAND in line:
        return line
    label = _LABEL.match(line)
    hanging = " " * (label.end() if label and label.end() <= width // 2 else 2)
    return textwrap.fill(line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def format_table(rows: Sequence[Sequence[str]], numeric_columns: int = 0) -> str:
    """Write a plain table; the first `numeric_columns` are aligned to the right, the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join(
            [
                *(
                    cell.rjust(width) if at < numeric_columns else cell.ljust(width)
                    for at, (cell, width) in enumerate(zip(row, widths, strict=False))
                ),
                row[-1],
            ]
        ).rstrip()
        for row in rows
    )
