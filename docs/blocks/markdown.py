"""What every block is written with: tables, words, numbers of releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
NOT_THERE: Final = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def words(enum: Iterable[Any]) -> str:
    """Say what the members of an enumeration mean."""
    return table(("word", "means"), [(word(member), member.value) for member in enum])


def word(member: Any) -> str:
    """Write an enumeration's member as prose does."""
    return str(member.name).lower().replace("_", " ")


def number(release: Iterable[int]) -> str:
    return ".".join(map(str, release))
