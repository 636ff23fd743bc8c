"""Metadata log of the cluster: the records of a raised level, those that each node has, and the losses of a downgrade.

A level that changed the records adds a record type and a field of an existing record. Any other level adds a tagged
field. So ``upgrade.cluster.features.metadata_log`` has records to keep, to drop and to reject.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureLevel
from streams_assignor.upgrade.cluster.features.dialects import Dialect
from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS
from streams_assignor.upgrade.cluster.features.metadata_log import (
    FeatureLevelRecord,
    MetadataLoader,
    MetadataRecord,
    RecordField,
    apply_entry,
    decode_record,
)
from streams_assignor.upgrade.errors import FeatureError

METADATA_LEVELS: Mapping[int, FeatureLevel] = {
    level.number: level
    for catalog in CATALOGS.values()
    for level in catalog.levels[METADATA_VERSION]
    if level.is_production
}
"""The released levels of metadata.version by number."""

TOPIC = "TopicRecord"


@frozen(cache_hash=True)
class LogEntry:
    """An entry of the log."""

    record: MetadataRecord | FeatureLevelRecord
    unsafe: bool = False
    """Whether it is the level of an unsafe downgrade."""


@frozen
class MetadataLog:
    """The entries of the log, oldest first."""

    entries: tuple[LogEntry, ...] = ()

    @classmethod
    def initial(cls, level: int) -> MetadataLog:
        """Return the log of a cluster that has always been at one level."""
        return cls()._append(FeatureLevelRecord(METADATA_VERSION, level))._append(*_records_of_level(0, level))

    def with_level(self, before: int, after: int, *, unsafe: bool) -> MetadataLog:
        """Append a new level, and after an upgrade its records."""
        log = self._append(FeatureLevelRecord(METADATA_VERSION, after), unsafe=unsafe)
        return log._append(*_records_of_level(before, after)) if after > before else log

    def _append(self, *records: MetadataRecord | FeatureLevelRecord, unsafe: bool = False) -> MetadataLog:
        return evolve(self, entries=(*self.entries, *(LogEntry(record, unsafe) for record in records)))

    def levels_from(self, offset: int) -> tuple[int, ...]:
        """Return the levels of metadata.version that a node replays from an offset on, the one at the offset first."""
        before = [level for level in map(_feature_level, self.entries[:offset]) if level]
        return (*before[-1:], *(level for level in map(_feature_level, self.entries[offset:]) if level))


def _feature_level(entry: LogEntry) -> int:
    return entry.record.feature_level if isinstance(entry.record, FeatureLevelRecord) else 0


def _records_of_level(before: int, after: int) -> Iterator[MetadataRecord]:
    """Yield the records of a level: one topic in the newest format, and the new record types."""
    levels = [level for number, level in sorted(METADATA_LEVELS.items()) if number <= after]
    fields = tuple(RecordField(level.name, level.number, tagged=not level.did_metadata_change) for level in levels)
    yield MetadataRecord(TOPIC, "orders", 0, fields)
    yield from (
        MetadataRecord(f"type of {level.name}", "1", level.number)
        for level in levels
        if level.did_metadata_change and level.number > before
    )


@lru_cache(maxsize=4096)
def replay_log(dialect: Dialect, entries: tuple[LogEntry, ...]) -> MetadataLoader:
    """Return the state of a node that has replayed these entries."""
    if not entries:
        return MetadataLoader(dialect, level=0)
    loader, _ = apply_entry(replay_log(dialect, entries[:-1]), entries[-1].record)
    return evolve(loader, snapshots=(), log=())  # only the state is of use here


@frozen
class DowngradeLoss:
    """The loss of one downgrade of metadata.version."""

    before: int
    after: int
    unsafe: bool
    lost: frozenset[str]
    """Record types and fields that the downgrade dropped."""
    newer_than_level: frozenset[str]
    """Record types and fields that are newer than the level after the downgrade."""


def downgrade_losses(dialect: Dialect, entries: tuple[LogEntry, ...], start: int) -> Iterator[DowngradeLoss]:
    """Yield the loss of each downgrade from an entry on."""
    for place in range(start, len(entries)):
        entry, earlier = entries[place], replay_log(dialect, entries[:place])
        if 0 < (level := _feature_level(entry)) < earlier.level:
            had, has = _contents(earlier), _contents(replay_log(dialect, entries[: place + 1]))
            newer = frozenset(key for key, since in had.items() if since > level)
            yield DowngradeLoss(earlier.level, level, entry.unsafe, frozenset(had.keys() - has.keys()), newer)


def _contents(loader: MetadataLoader) -> dict[str, int]:
    """Return the types and untagged fields, which an older release cannot read, with their first level."""
    records = loader.state.values()
    types = {record.type: record.since for record in records}
    fields = {
        f"{record.type}.{field.name}": field.since for record in records for field in record.fields if not field.tagged
    }
    return types | fields


@lru_cache(maxsize=4096)
def first_unreadable_record(dialect: Dialect, entries: tuple[LogEntry, ...], supported_level: int) -> str:
    """Return the error of the first record that a node cannot read with this supported level; "" if there is none."""
    for record in replay_log(dialect, entries).state.values():
        try:
            decode_record(record, supported_level)
        except FeatureError as error:
            return str(error)
    return ""
