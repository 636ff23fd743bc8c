"""metadata.version and the records of the metadata log: its first value, snapshots, and changes of the level.

A record type or field exists since some level. An older reader skips unknown tagged fields and cannot read anything
else that is unknown. So a downgrade is lossless, or its snapshot drops newer records and fields (KIP-778, Downgrades).
Released Kafka does only lossless downgrades, without a snapshot.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final, TypeGuard

from attrs import Factory, evolve, field, frozen

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION, FeatureCatalog
from streams_assignor.upgrade.cluster.features.cluster import ClusterEvent, ClusterTransition, EventType, FeatureCluster
from streams_assignor.upgrade.cluster.features.dialects import Dialect
from streams_assignor.upgrade.errors import FeatureError

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
    """The record of a finalized level; KIP-778 removed the minimum level."""

    API_KEY = 12
    VERSION = 0
    name: str
    feature_level: int


def format_meta_properties(catalog: FeatureCatalog, metadata_version: str | None = None) -> Mapping[str, str]:
    """Return what ``kafka-storage format`` writes about features.

    Args:
        catalog: The levels of the release of the tool.
        metadata_version: The value of ``--metadata-version``; None: the default, which the release defines statically:
            its newest released level.

    >>> from streams_assignor.upgrade.cluster.features.levels_of_releases import CATALOGS
    >>> dict(format_meta_properties(CATALOGS["3.9"]))
    {'metadata.version': '3.9-IV0'}
    """
    level = (
        catalog.latest_production
        if metadata_version is None
        else catalog.level(METADATA_VERSION, catalog.metadata_level(metadata_version))
    )
    return {METADATA_VERSION: level.name}


def initialize_metadata_version(cluster: FeatureCluster, meta_properties: Mapping[str, str]) -> ClusterTransition:
    """Write the first value of metadata.version, as a new active controller does without a FeatureLevelRecord.

    The value is in ``meta.properties`` of the controller; without it, the cluster is a preview cluster. It is never the
    highest supported level, as that "could lead to unintended downgrades". Clusters with ZooKeeper have none.

    Raises:
        FeatureError: The controller does not support the value, so it could not read its own record.
    """
    if cluster.in_zookeeper or METADATA_VERSION in cluster.finalized:
        return ClusterTransition(cluster)
    written = meta_properties.get(METADATA_VERSION)
    level = PREVIEW_LEVEL if written is None else cluster.catalog.parse_level(METADATA_VERSION, written)
    low, high = cluster.active_controller.range_of(METADATA_VERSION)
    if not low <= level <= high:
        raise FeatureError(
            f"meta.properties of controller {cluster.active}: expected {METADATA_VERSION} from {low} to {high}, which "
            f"it supports, got {level}{'' if written else ' (the value of a preview cluster, as it has none)'}"
        )
    after = cluster.write_levels({METADATA_VERSION: level})
    return ClusterTransition(
        after, (ClusterEvent(EventType.FINALIZED, cluster.active_controller.id, f"{METADATA_VERSION} {level}"),)
    )


def records_at_level(records: Iterable[MetadataRecord], level: int) -> tuple[MetadataRecord, ...]:
    """Return the records of a snapshot at ``level``: without newer types and without newer fields.

    Tagged fields stay, because an older reader skips them.
    """
    return tuple(
        evolve(record, fields=tuple(field for field in record.fields if field.tagged or field.since <= level))
        for record in records
        if record.since <= level
    )


def decode_record(record: MetadataRecord, level: int) -> MetadataRecord:
    """Return a record as software of ``level`` decodes it; ``FeatureError`` if it cannot."""
    if records_at_level([record], level) != (record,):
        raise FeatureError(f"expected a record that level {level} can read, got {record.type} {record.key}")
    return evolve(record, fields=tuple(field for field in record.fields if field.since <= level))


class LoaderAction(enum.Enum):
    """The action of a loader at a change of metadata.version, in this order."""

    SNAPSHOT = "writes a snapshot at the offset right before the change"
    RESERIALIZED = "writes its state as records of the new level"
    DOWNGRADE_SNAPSHOT = "writes these records and the FeatureLevelRecord as a second snapshot"
    PUBLISHED = "publishes its state at the new level"


@frozen
class MetadataSnapshot:
    """All records up to an offset, at one level."""

    offset: int
    level: int
    records: tuple[MetadataRecord, ...] = ()


LogEntry = MetadataRecord | FeatureLevelRecord


@frozen
class MetadataLoader:
    """The state that one node has loaded from the metadata log, and what it has on disk."""

    dialect: Dialect
    level: int
    offset: int = -1
    state: Mapping[tuple[str, str], MetadataRecord] = field(factory=dict, hash=False)
    """The records by type and key."""
    snapshots: tuple[MetadataSnapshot, ...] = ()
    """The snapshots that the node has written."""
    changed_keys: frozenset[tuple[str, str]] = frozenset()
    """The keys of the records that changed at the last publication."""
    log: tuple[LogEntry, ...] = ()
    """All entries of the log, from offset 0 on; snapshots do not remove any."""
    first_level: int = field(default=Factory(lambda loader: loader.level, takes_self=True))
    """The level before the first entry."""


def apply_entry(loader: MetadataLoader, entry: LogEntry) -> tuple[MetadataLoader, tuple[LoaderAction, ...]]:
    """Apply the next entry of the log; return the loader and its actions.

    KIP-778 requires two snapshots: one "at the offset right before the metadata version change" (its implementation
    section), and at a downgrade one "which includes the FeatureLevelRecord" (Downgrades). An older release starts with
    the second one; the first one has the newer records.
    """
    before = evolve(loader, offset=loader.offset + 1, log=(*loader.log, entry))
    if isinstance(entry, MetadataRecord):
        return _publish(before, {**loader.state, (entry.type, entry.key): entry}), (LoaderAction.PUBLISHED,)
    if entry.name != METADATA_VERSION or entry.feature_level == loader.level:
        return evolve(before, changed_keys=frozenset()), ()
    after = evolve(before, level=entry.feature_level)
    if not loader.dialect.snapshot:
        return _publish(after, loader.state), (LoaderAction.PUBLISHED,)
    records = records_at_level(loader.state.values(), entry.feature_level)
    written = [MetadataSnapshot(loader.offset, loader.level, tuple(loader.state.values()))]
    actions = list(LoaderAction)
    if entry.feature_level < loader.level:
        written.append(MetadataSnapshot(after.offset, entry.feature_level, records))
    else:
        actions.remove(LoaderAction.DOWNGRADE_SNAPSHOT)
    after = evolve(after, snapshots=(*loader.snapshots, *written))
    return _publish(after, {(record.type, record.key): record for record in records}), tuple(actions)


def write_snapshot(loader: MetadataLoader) -> MetadataLoader:
    """Write a regular snapshot of the state; Kafka 4.x writes no other."""
    regular = MetadataSnapshot(loader.offset, loader.level, tuple(loader.state.values()))
    return evolve(loader, snapshots=(*loader.snapshots, regular))


def load_from_disk(
    loader: MetadataLoader, level: int, snapshot: MetadataSnapshot | None = None
) -> tuple[MetadataRecord, ...]:
    """Return the records that software of ``level`` decodes when it starts on the disk of a node.

    Args:
        loader: The node.
        level: The highest level that the software supports.
        snapshot: The snapshot to start with; None: the last one, or the beginning of the log if there is none.

    Raises:
        FeatureError: The snapshot, or the log after it, has a level or a record that the software cannot read.
    """
    start = snapshot or (loader.snapshots or (MetadataSnapshot(-1, loader.first_level),))[-1]
    entries = loader.log[start.offset + 1 :]
    levels = [start.level, *(entry.feature_level for entry in entries if _is_metadata_level(entry))]
    if newer := [finalized for finalized in levels if finalized > level]:
        raise FeatureError(f"expected {METADATA_VERSION} {level} at most, got {newer[0]} from offset {start.offset} on")
    records = [*start.records, *(entry for entry in entries if isinstance(entry, MetadataRecord))]
    return tuple({(record.type, record.key): decode_record(record, level) for record in records}.values())


def _is_metadata_level(entry: LogEntry) -> TypeGuard[FeatureLevelRecord]:
    return isinstance(entry, FeatureLevelRecord) and entry.name == METADATA_VERSION


def _publish(loader: MetadataLoader, state: Mapping[tuple[str, str], MetadataRecord]) -> MetadataLoader:
    keys = loader.state.keys() | state.keys()
    changed = frozenset(key for key in keys if loader.state.get(key) != state.get(key))
    return evolve(loader, state=state, changed_keys=changed)


def can_downgrade_software(loaders: Iterable[MetadataLoader], level: int) -> bool:
    """Whether software that supports at most ``level`` can be started on every node: it can read each disk."""
    try:
        for loader in loaders:
            load_from_disk(loader, level)
    except FeatureError:
        return False
    return True
