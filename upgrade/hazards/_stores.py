"""The formats of stores on disk: which release changed them, and how an older release fails on them.

Every row was seen with RocksDB key-value stores; stores in memory have no files. Stores whose format is the same open
in both directions (seen with 2.8.2 and 2.4.1, 3.9.2 and 3.0.2, 4.2.1 and 4.0.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._remedy import Remedy, RemedyKind
from streams_assignor.upgrade.hazards.usual_conditions import ON_DISK
from streams_assignor.upgrade.releases import Release

EMPTY_DIRECTORY: Final = "start each member with an empty state directory, and it restores from the changelogs"


@frozen(kw_only=True)
class StoreFormat:
    """A format that no release before ``since`` reads."""

    since: tuple[int, ...]
    change: str
    failure: str
    """The message of the older release, verbatim."""
    source: str
    seen: tuple[str, str]
    """The last line before the change, and the first one with it."""

    @property
    def line(self) -> str:
        """The release line that brought it."""
        return ".".join(map(str, self.since))

    def hazards(self) -> Iterator[Hazard]:
        """Yield the rows of both directions."""
        old, new = self.seen
        before, after = ReleaseRange(before=self.since), ReleaseRange(self.since)
        yield Hazard(
            name=f"stores-of-{self.line}-unreadable",
            about=HazardSubject.STORES,
            severity=Severity.STOPS,
            origins=after,
            targets=before,
            applies_to="stores on disk (RocksDB)",
            when=ON_DISK,
            is_certain=True,
            symptom="members fail, because they cannot read them",
            detail=f"{self.failure}, as {self.change}",
            remedy=EMPTY_DIRECTORY,
            remedies=(Remedy(RemedyKind.OUTSIDE),),
            source=self.source,
            seen=(new, old),
        )
        yield Hazard(
            name=f"stores-converted-by-{self.line}",
            about=HazardSubject.STORES,
            severity=Severity.CHANGES,
            origins=before,
            targets=after,
            applies_to="stores on disk (RocksDB)",
            when=ON_DISK,
            symptom="the new release opens them, and from then on older releases cannot",
            detail=f"{self.change} ({self.line})",
            remedy="nothing to do; keep a copy of the state directory if a way back must not restore",
            source=self.source,
            seen=(old, new),
        )


STORE_FORMATS: Final = (
    StoreFormat(
        since=(2, 3),
        change="their values have timestamps, in a column family of their own",
        failure='RocksDBException "You have to open all column families. Column families not opened: '
        'keyValueWithTimestamp"',
        source="KIP-258, upgrade guide of 2.3",
        seen=("2.2.2", "2.3.1"),
    ),
    StoreFormat(
        since=(3, 0),
        change="RocksDB changed the format of its files",
        failure='RocksDBException "Unknown Footer version. Maybe this file was created with newer version of RocksDB?"',
        source="KAFKA-8897, upgrade guide of 3.0",
        seen=("2.8.2", "3.0.2"),
    ),
    StoreFormat(
        since=(4, 0),
        change="RocksDB changed the format of its files",
        failure='RocksDBException "Corrupt or unsupported format_version: 6"',
        source="upgrade guide of 4.0",
        seen=("3.9.2", "4.0.2"),
    ),
    StoreFormat(
        since=(4, 3),
        change="offsets are in a column family of their own, whatever upgrade.from is",
        failure='RocksDBException "Column families not opened: offsets"',
        source="KIP-1035, upgrade guide of 4.3",
        seen=("4.2.1", "4.3.1"),
    ),
)


def unreadable_formats(reader: Release, writer: Release) -> tuple[StoreFormat, ...]:
    """List the formats of ``writer`` that ``reader`` cannot read; oldest first.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> [each.line for each in unreadable_formats(release_named("2.8"), release_named("4.0"))]
    ['3.0', '4.0']
    """
    if not (reader.kafka_name and writer.kafka_name):
        return ()
    return tuple(store_format for store_format in STORE_FORMATS if reader.number < store_format.since <= writer.number)
