"""metadata.version and the records it governs: a first value, what a snapshot keeps, what a node does with a change.

A record type or field is there from some level on. An older reader skips tagged fields it does not know and cannot read
anything else it does not know; so a downgrade is either lossless, or its snapshot drops what is newer (KIP-778,
Downgrades). Released Kafka does only the first, and without a snapshot.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from upgrade.errors import FeatureError
from upgrade.features.cluster import Cluster, Event, Outcome, What
from upgrade.features.dialects import Dialect
from upgrade.features.levels import METADATA

PREVIEW: Final = 1
"""The level of a cluster that was formatted before there was one: it has to stay readable for Kafka 3.0."""


@frozen
class Field:
    """A field of a record, and the level it is there from."""

    name: str
    since: int
    tagged: bool = False


@frozen
class Record:
    """A metadata record: its type, what it is about, and the level that its type is there from."""

    type: str
    key: str
    since: int
    fields: tuple[Field, ...] = ()


@frozen
class FeatureLevelRecord:
    """The record of a finalised level: one number, since KIP-778 took the minimum out of it."""

    API_KEY = 12
    VERSION = 0
    name: str
    feature_level: int


def initialise(cluster: Cluster, meta_properties: Mapping[str, str]) -> Outcome:
    """Give metadata.version its first value, as a new active controller does that has read no FeatureLevelRecord of it.

    The value comes from the controller's ``meta.properties``; without one it is a preview cluster. It is never the
    highest that is supported, as that "could lead to unintended downgrades". ZooKeeper clusters have none.
    """
    if cluster.in_zookeeper or METADATA in cluster.finalized:
        return Outcome(cluster)
    written = meta_properties.get(METADATA)
    level = PREVIEW if written is None else cluster.catalog.level_named(METADATA, written)
    after = cluster.write({METADATA: level})
    return Outcome(after, (Event(What.FINALIZED, cluster.local.id, f"{METADATA} {level}"),))


def as_of(records: Iterable[Record], level: int) -> tuple[Record, ...]:
    """Return the records as a snapshot at ``level`` has them: without newer types, and without newer fields.

    Tagged fields stay: an older reader skips them.
    """
    return tuple(
        evolve(record, fields=tuple(each for each in record.fields if each.tagged or each.since <= level))
        for record in records
        if record.since <= level
    )


def read(record: Record, level: int) -> Record:
    """Return a record as software of ``level`` understands it; ``FeatureError`` if it cannot read it."""
    if as_of([record], level) != (record,):
        raise FeatureError(f"expected a record that level {level} can read, got {record.type} {record.key}")
    return evolve(record, fields=tuple(each for each in record.fields if each.since <= level))


class Step(enum.Enum):
    """What a loader does with a change of metadata.version, in this order."""

    SNAPSHOT = "writes a snapshot at the offset right before the change"
    RESERIALIZED = "makes records of its state at the new level"
    PUBLISHED = "publishes its state at the new level"


@frozen
class Snapshot:
    """All records up to an offset, in the format of a level."""

    offset: int
    level: int
    records: tuple[Record, ...]


@frozen
class Loader:
    """What one node has made of the metadata log: the level, the state by (type, key), and the snapshots it wrote.

    ``changed`` is the delta it last published: the keys whose record is another one than before.
    """

    dialect: Dialect
    level: int
    offset: int = -1
    state: Mapping[tuple[str, str], Record] = field(factory=dict, hash=False)
    snapshots: tuple[Snapshot, ...] = ()
    changed: frozenset[tuple[str, str]] = frozenset()


def load(loader: Loader, entry: Record | FeatureLevelRecord) -> tuple[Loader, tuple[Step, ...]]:
    """Take the next entry of the log, and say what that took."""
    before = evolve(loader, offset=loader.offset + 1)
    if isinstance(entry, Record):
        return _published(before, {**loader.state, (entry.type, entry.key): entry}), (Step.PUBLISHED,)
    if entry.name != METADATA or entry.feature_level == loader.level:
        return evolve(before, changed=frozenset()), ()
    after = evolve(before, level=entry.feature_level)
    if not loader.dialect.snapshot:
        return _published(after, loader.state), (Step.PUBLISHED,)
    # KIP-778 also speaks of a snapshot "which includes the FeatureLevelRecord". Its implementation section, followed
    # here, has the more exact words: "at the offset right before the metadata version change".
    snapshot = Snapshot(loader.offset, loader.level, tuple(loader.state.values()))
    records = as_of(loader.state.values(), entry.feature_level)
    after = evolve(after, snapshots=(*loader.snapshots, snapshot))
    return _published(after, {(record.type, record.key): record for record in records}), tuple(Step)


def _published(loader: Loader, state: Mapping[tuple[str, str], Record]) -> Loader:
    keys = loader.state.keys() | state.keys()
    changed = frozenset(key for key in keys if loader.state.get(key) != state.get(key))
    return evolve(loader, state=state, changed=changed)


def can_roll_back(loaders: Iterable[Loader], level: int) -> bool:
    """Whether software that knows no more than ``level`` may be started: every node has loaded the downgrade."""
    return all(loader.level <= level for loader in loaders)
