"""The stored tables: texts beside this module, compressed, and the sets of releases that their rows are about.

``python -m tests.lab.releases tables`` writes them from Kafka's jars.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import RELEASES, Release

CODE: Final = "code.txt.gz"
SCALA_CODE: Final = "scala.txt.gz"
TEST_UTILS_CODE: Final = "test-utils.txt.gz"
ROCKSDB_CODE: Final = "rocksdb.txt.gz"
CONFIGURATION: Final = "configuration.json.gz"
BROKERS: Final = "brokers.json.gz"
DEPENDENCIES: Final = "dependencies.json.gz"
ENVIRONMENT: Final = "environment.json.gz"


class NoTable(UpgradeError):
    """A release whose jars are not in the tables."""


@cache
def stored_text(name: str) -> str:
    """Return the text of a table."""
    return gzip.decompress((files(__package__) / "tables" / name).read_bytes()).decode()


@cache
def stored_json(name: str) -> dict[str, Any]:
    """Return a table as it is stored."""
    table: dict[str, Any] = json.loads(stored_text(name))
    return table


def stored_configuration() -> dict[str, Any]:
    """Return the table of the configuration as it is stored."""
    return stored_json(CONFIGURATION)


def table_name(release: Release) -> str:
    """Return the release whose jars a release is compared with: its own, or those of the one that it is assumed to be.

    Raises:
        NoTable: It is none of Kafka's, or was never published.
    """
    model = RELEASES.get(release.assumed_like, release)
    if model.name not in stored_configuration()["releases"]:
        raise NoTable(f"expected a release that Kafka has published, got {release}, which has no jars")
    return model.name


def place_of(name: str) -> int:
    """Return the place of a release in the tables."""
    places: list[str] = stored_configuration()["releases"]
    return places.index(name)


@cache
def expand(ranges: str) -> frozenset[int]:
    """Return the places of releases in the sorted list.

    >>> sorted(expand("0-2,5"))
    [0, 1, 2, 5]
    """
    ends = (part.partition("-") for part in ranges.split(","))
    return frozenset(place for first, _, last in ends for place in range(int(first), int(last or first) + 1))


def values_at(rows: Mapping[str, Any], place: int) -> Iterator[Any]:
    """Yield the value that the release at a place has, or nothing."""
    return (value for ranges, value in rows.items() if contains(ranges, place))


def contains(ranges: str, place: int) -> bool:
    """Whether a set of releases has the one at a place.

    >>> contains("0-2,5", 3), contains("0-2,5", 5)
    (False, True)
    """
    return place in expand(ranges)
