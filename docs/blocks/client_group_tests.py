"""What came of the group tests of client libraries, with their own assignors and with that of this project."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from blocks.markdown import ROOT, table

_COUNTS: Final = ("total", "control", "passed", "canary", "calls")


def each_file() -> str:
    """Show how many tests of each file pass."""
    rows = [
        (f"{name} {library['release']}", row["suite"], *(row[count] for count in _COUNTS))
        for name, library in _recorded().items()
        for row in library["rows"]
    ]
    head = ("library", "file", "tests", "pass with its own assignor", "of these with ours", "reach ours", "calls")
    return table(head, rows)


def sources() -> str:
    """Name the source of each library's tests."""
    rows = [(f"{name} {each['release']}", f"`{each['source']}`") for name, each in _recorded().items()]
    return table(("library", "source of its tests"), rows)


def failures() -> str:
    """List the tests that pass with the library's own assignor and fail with ours."""
    return _reasons("listed")


def control_failures() -> str:
    """List the tests that fail with the library's own assignor."""
    return _reasons("control")


def _reasons(kind: str) -> str:
    rows = [(name, f"`{test}`", why) for name, each in _recorded().items() for test, why in sorted(each[kind].items())]
    return table(("library", "test", "why"), rows) if rows else "None."


def _recorded() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((ROOT / "tests/lab/client_group_tests/results.json").read_text(encoding="utf-8"))
    return kept


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "client group tests": each_file,
    "sources of client group tests": sources,
    "client group tests that fail": failures,
    "client group tests that fail in the control": control_failures,
}
