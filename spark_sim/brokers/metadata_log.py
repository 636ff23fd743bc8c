"""The metadata that the cluster stores: what a raised level adds, what each node has of it, and what a downgrade loses.

A level that changed the records brings a record type of its own and a field of the record that was there; any other
level brings a tagged field. So ``upgrade.features.metadata`` has something to keep, to drop, and to stumble over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from upgrade.errors import FeatureError
from upgrade.features.dialects import Dialect
from upgrade.features.levels import CATALOGS, METADATA, Level
from upgrade.features.metadata import FeatureLevelRecord, Field, Loader, Record, load, read

LEVELS: Mapping[int, Level] = {
    level.number: level for each in CATALOGS.values() for level in each.levels[METADATA] if level.production
}
"""Every released level of metadata.version."""

TOPIC = "TopicRecord"


@frozen(cache_hash=True)
class Entry:
    """An entry of the log; ``unsafe`` marks the level of a downgrade that was allowed to lose something."""

    record: Record | FeatureLevelRecord
    unsafe: bool = False


@frozen
class MetadataLog:
    """All entries of the log."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def started(cls, level: int) -> MetadataLog:
        """Return the log of a cluster that is at a level and never was at another."""
        return cls()._with(FeatureLevelRecord(METADATA, level))._with(*_records(0, level))

    def changed(self, before: int, after: int, *, unsafe: bool) -> MetadataLog:
        """Append a new level, and what the cluster then writes: after a raise, all that is new."""
        log = self._with(FeatureLevelRecord(METADATA, after), unsafe=unsafe)
        return log._with(*_records(before, after)) if after > before else log

    def _with(self, *records: Record | FeatureLevelRecord, unsafe: bool = False) -> MetadataLog:
        return evolve(self, entries=(*self.entries, *(Entry(record, unsafe) for record in records)))

    def levels_from(self, place: int) -> tuple[int, ...]:
        """Return the levels of metadata.version that a node meets which reads from a place on, that of there first."""
        before = [level for level in map(_level, self.entries[:place]) if level]
        return (*before[-1:], *(level for level in map(_level, self.entries[place:]) if level))


def _level(entry: Entry) -> int:
    return entry.record.feature_level if isinstance(entry.record, FeatureLevelRecord) else 0


def _records(before: int, after: int) -> Iterator[Record]:
    """Yield what is written once a level is there: one topic in the newest format, and the types that are new."""
    known = [level for number, level in sorted(LEVELS.items()) if number <= after]
    fields = tuple(Field(level.name, level.number, tagged=not level.changed) for level in known)
    yield Record(TOPIC, "orders", 0, fields)
    yield from (
        Record(f"type of {level.name}", "1", level.number) for level in known if level.changed and level.number > before
    )


@lru_cache(maxsize=4096)
def loaded(dialect: Dialect, entries: tuple[Entry, ...]) -> Loader:
    """Return what a node has made of the entries that it has read."""
    if not entries:
        return Loader(dialect, level=0)
    loader, _ = load(loaded(dialect, entries[:-1]), entries[-1].record)
    return evolve(loader, snapshots=())


@frozen
class Loss:
    """What a downgrade of metadata.version lost, and what is newer than its level; ``unsafe`` if it was allowed to."""

    before: int
    after: int
    unsafe: bool
    lost: frozenset[str]
    newer: frozenset[str]


def losses(dialect: Dialect, entries: tuple[Entry, ...], begin: int) -> Iterator[Loss]:
    """Yield what became of each downgrade from an entry on."""
    for place in range(begin, len(entries)):
        entry, earlier = entries[place], loaded(dialect, entries[:place])
        if 0 < (level := _level(entry)) < earlier.level:
            had, has = _contents(earlier), _contents(loaded(dialect, entries[: place + 1]))
            newer = frozenset(what for what, since in had.items() if since > level)
            yield Loss(earlier.level, level, entry.unsafe, frozenset(had.keys() - has.keys()), newer)


def _contents(loader: Loader) -> dict[str, int]:
    """Return what an older reader could stumble over, types and plain fields, and the level that it is there from."""
    records = loader.state.values()
    types = {record.type: record.since for record in records}
    fields = {
        f"{record.type}.{each.name}": each.since for record in records for each in record.fields if not each.tagged
    }
    return types | fields


@lru_cache(maxsize=4096)
def unreadable(dialect: Dialect, entries: tuple[Entry, ...], newest: int) -> str:
    """Say which record software that knows levels up to ``newest`` cannot read; nothing if it can read them all."""
    for record in loaded(dialect, entries).state.values():
        try:
            read(record, newest)
        except FeatureError as error:
            return str(error)
    return ""
