"""Which files a run imports: to import all takes 15 s of CPU in each process, and most runs need a few of them."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

SIMULATIONS = Path(__file__).parent / "spark_sim"
"""All of its tests are `chance`."""


@cache
def names_peers(path: Path) -> bool:
    """Whether a file names a marker of real peers."""
    content = path.read_bytes()
    return b"mark.java" in content or b"mark.broker" in content


@cache
def names_matrix(path: Path) -> bool:
    """Whether tests of a file may be `matrix`."""
    return b"matrix" in path.read_bytes()


@cache
def names_chance(path: Path) -> bool:
    """Whether tests of a file may be `chance`."""
    content = path.read_bytes()
    return SIMULATIONS in path.parents or b"hypothesis" in content or b"mark.chance" in content


_NEEDED: Mapping[str, Callable[[Path], bool]] = {
    # start of the marker expression: whether the run needs a file
    "(java or broker)": names_peers,
    "chance and": names_chance,
    "(chance or matrix)": lambda path: names_chance(path) or names_matrix(path),
    "not chance and": lambda path: SIMULATIONS not in path.parents,
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore a file that has no test of the run."""
    is_needed = next((rule for start, rule in _NEEDED.items() if config.option.markexpr.startswith(start)), None)
    is_ignored = is_needed is not None and collection_path.suffix == ".py" and not is_needed(collection_path)
    return True if is_ignored else None  # None lets other plugins decide


def require_names(items: list[pytest.Item]) -> None:
    """Refuse a test whose file does not name its marker: the runs of that marker would not find it."""
    for item in items:
        if item.get_closest_marker("java") or item.get_closest_marker("broker"):
            _require(item, names_peers, "mark.java or mark.broker")
            continue
        if item.get_closest_marker("chance"):
            _require(item, names_chance, "hypothesis or mark.chance")
        if item.get_closest_marker("matrix"):
            _require(item, names_matrix, "mark.matrix or with_matrix")


def _require(item: pytest.Item, is_named: Callable[[Path], bool], expected: str) -> None:
    if not is_named(item.path):
        raise pytest.UsageError(f"{item.nodeid}: expected {expected} in its file, found none")
