"""metadata.version and the records of the metadata log: its first value, snapshots, and changes of the level.

A record type or field exists since some level. An older reader skips unknown tagged fields and cannot read anything
else that is unknown. So a downgrade is lossless, or its snapshot drops newer records and fields (KIP-778, Downgrades).
Released Kafka does only lossless downgrades, without a snapshot.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from upgrade.errors import FeatureError
from upgrade.features.model.catalog import METADATA_VERSION
from upgrade.features.model.cluster import ClusterEvent, EventType, FeatureCluster, Transition
from upgrade.features.model.dialects import Dialect

PREVIEW_LEVEL: Final = 1
"""The level of a cluster that was formatted without one; Kafka 3.0 can read it."""


@frozen
class RecordField:
    """A field of a record, and the first level that has it."""

    name: str
    since: int
    tagged: bool = False


@frozen
class MetadataRecord:
    """A metadata record: its type, its key, and the first level that has its type."""

    type: str
    key: str
    since: int
    fields: tuple[RecordField, ...] = ()


@frozen
class FeatureLevelRecord:
    """The record of a finalised level; KIP-778 removed the minimum level."""

    API_KEY = 12
    VERSION = 0
    name: str
    feature_level: int


def initialize_metadata_version(cluster: FeatureCluster, meta_properties: Mapping[str, str]) -> Transition:
    """Write the first value of metadata.version, as a new active controller does without a FeatureLevelRecord.

    The value is in ``meta.properties`` of the controller; without it, the cluster is a preview cluster. It is never the
    highest supported level, as that "could lead to unintended downgrades". Clusters with ZooKeeper have none.
    """
    if cluster.in_zookeeper or METADATA_VERSION in cluster.finalized:
        return Transition(cluster)
    written = meta_properties.get(METADATA_VERSION)
    level = PREVIEW_LEVEL if written is None else cluster.catalog.parse_level(METADATA_VERSION, written)
    after = cluster.write_levels({METADATA_VERSION: level})
    return Transition(
        after, (ClusterEvent(EventType.FINALIZED, cluster.active_controller.id, f"{METADATA_VERSION} {level}"),)
    )


def records_at_level(records: Iterable[MetadataRecord], level: int) -> tuple[MetadataRecord, ...]:
    """Return the records of a snapshot at ``level``: without newer types and without newer fields.

    Tagged fields stay, because an older reader skips them.
    """
    return tuple(
        evolve(record, fields=tuple(each for each in record.fields if each.tagged or each.since <= level))
        for record in records
        if record.since <= level
    )


def decode_record(record: MetadataRecord, level: int) -> MetadataRecord:
    """Return a record as software of ``level`` decodes it; ``FeatureError`` if it cannot."""
    if records_at_level([record], level) != (record,):
        raise FeatureError(f"expected a record that level {level} can read, got {record.type} {record.key}")
    return evolve(record, fields=tuple(each for each in record.fields if each.since <= level))


class LoaderAction(enum.Enum):
    """What a loader does at a change of metadata.version, in this order."""

    SNAPSHOT = "writes a snapshot at the offset right before the change"
    RESERIALIZED = "writes its state as records of the new level"
    PUBLISHED = "publishes its state at the new level"


@frozen
class MetadataSnapshot:
    """All records up to an offset, at one level."""

    offset: int
    level: int
    records: tuple[MetadataRecord, ...]


@frozen
class MetadataLoader:
    """The state that one node has loaded from the metadata log."""

    dialect: Dialect
    level: int
    offset: int = -1
    state: Mapping[tuple[str, str], MetadataRecord] = field(factory=dict, hash=False)
    """The records by type and key."""
    snapshots: tuple[MetadataSnapshot, ...] = ()
    """The snapshots that the node has written."""
    changed_keys: frozenset[tuple[str, str]] = frozenset()
    """The keys of the records that changed at the last publication."""


def apply_entry(
    loader: MetadataLoader, entry: MetadataRecord | FeatureLevelRecord
) -> tuple[MetadataLoader, tuple[LoaderAction, ...]]:
    """Apply the next entry of the log; return the loader and its actions."""
    before = evolve(loader, offset=loader.offset + 1)
    if isinstance(entry, MetadataRecord):
        return _publish(before, {**loader.state, (entry.type, entry.key): entry}), (LoaderAction.PUBLISHED,)
    if entry.name != METADATA_VERSION or entry.feature_level == loader.level:
        return evolve(before, changed_keys=frozenset()), ()
    after = evolve(before, level=entry.feature_level)
    if not loader.dialect.snapshot:
        return _publish(after, loader.state), (LoaderAction.PUBLISHED,)
    # KIP-778 also mentions a snapshot "which includes the FeatureLevelRecord". Its implementation section, used here,
    # is more exact: "at the offset right before the metadata version change".
    snapshot = MetadataSnapshot(loader.offset, loader.level, tuple(loader.state.values()))
    records = records_at_level(loader.state.values(), entry.feature_level)
    after = evolve(after, snapshots=(*loader.snapshots, snapshot))
    return _publish(after, {(record.type, record.key): record for record in records}), tuple(LoaderAction)


def _publish(loader: MetadataLoader, state: Mapping[tuple[str, str], MetadataRecord]) -> MetadataLoader:
    keys = loader.state.keys() | state.keys()
    changed = frozenset(key for key in keys if loader.state.get(key) != state.get(key))
    return evolve(loader, state=state, changed_keys=changed)


def can_downgrade_software(loaders: Iterable[MetadataLoader], level: int) -> bool:
    """Whether software that supports at most ``level`` may be started: every node has loaded the downgrade."""
    return all(loader.level <= level for loader in loaders)
