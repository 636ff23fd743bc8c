"""Rows that many releases share, stored once with the places of those releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def note(rows: dict[str, set[int]], value: Any, place: int) -> None:
    """Add the place of a release that has a value."""
    rows.setdefault(json.dumps(value, sort_keys=True), set()).add(place)


def by_ranges(rows: Mapping[str, Mapping[str, set[int]]]) -> dict[str, dict[str, Any]]:
    """Return the stored form of noted values: each by the places that have it."""
    return {
        key: {ranges_text(places): json.loads(value) for value, places in values.items()}
        for key, values in rows.items()
    }


def ranges_text(places: Iterable[int]) -> str:
    """Write places.

    >>> ranges_text({0, 1, 2, 5})
    '0-2,5'
    """
    parts: list[list[int]] = []
    for place in sorted(places):
        if parts and parts[-1][1] == place - 1:
            parts[-1][1] = place
        else:
            parts.append([place, place])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
