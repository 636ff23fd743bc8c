"""kafka-streams-scala: for which versions of Scala a release has it, and whose jar is read."""

from __future__ import annotations

from functools import cache
from typing import Final

from streams_assignor.upgrade.application.stored import (
    DEPENDENCIES,
    NoTable,
    expand,
    place_of,
    stored_configuration,
    stored_json,
    table_name,
)
from streams_assignor.upgrade.releases import Release, number_of

SCALA_ARTIFACT: Final = "kafka-streams-scala"
"""The version of Scala follows it in the name of the artifact."""
_SUPPORT: Final = {"2.11": ((2, 0), (2, 5)), "2.12": ((2, 0), (4, 0)), "2.13": ((2, 4), (5, 0))}
"""The first line with a version of Scala, and the first without: KIP-270, KIP-531, KAFKA-7197, KIP-751, KIP-1244."""


def scala_versions(release: Release) -> tuple[str, ...]:
    """List the versions of Scala that a release of Kafka has an artifact for.

    Raises:
        NoTable: Kafka has not published the release.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> [scala_versions(RELEASES[name]) for name in ("1.1.1", "2.4.1", "3.9.2", "4.4.0")]
    [(), ('2.11', '2.12', '2.13'), ('2.12', '2.13'), ('2.13',)]
    """
    number = number_of(table_name(release))
    return tuple(scala for scala, (first, end) in _SUPPORT.items() if first <= number < end)


def scala_jar(release: Release, scala: str) -> str:
    """Return the release whose jar is read for a version of Scala: the release itself, or the nearest older one.

    Not all jars could be had when the tables were made.

    Raises:
        NoTable: Kafka has not published the release, or has no artifact for the version.

    >>> from streams_assignor.upgrade.releases import RELEASES
    >>> [scala_jar(RELEASES[name], "2.13") for name in ("4.1.2", "4.2.2", "4.4.0")]
    ['4.1.2', '4.2.1', '4.3.1']
    """
    name = table_name(release)
    if scala not in scala_versions(release):
        versions = " and ".join(scala_versions(release)) or "none"
        raise NoTable(f"expected a version of Scala that {name} has {SCALA_ARTIFACT} for ({versions}), got {scala}")
    place = place_of(name)
    places = [candidate for version, candidate in scala_places() if version == scala]
    nearest = max((candidate for candidate in places if candidate <= place), default=places[0])
    names: list[str] = stored_configuration()["releases"]
    return names[nearest]


@cache
def scala_places() -> tuple[tuple[str, int], ...]:
    """Return version of Scala and place of release for each jar in the tables, in the order of the tables."""
    java = stored_json(DEPENDENCIES)["java"]
    artifacts = ((scala, java[f"{SCALA_ARTIFACT}_{scala}"]) for scala in _SUPPORT)
    return tuple((scala, place) for scala, rows in artifacts for place in sorted(p for r in rows for p in expand(r)))
