"""A raised level writes, a lowered one drops, and some brokers can read the rest."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.brokers._metadata_log import (
    METADATA_LEVELS,
    MetadataLog,
    downgrade_losses,
    first_unreadable_record,
    replay_log,
)
from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4, KIP_778
from streams_assignor.upgrade.cluster.features.metadata_log import (
    MetadataLoader,
    apply_entry,
    decode_record,
    load_from_disk,
    write_snapshot,
)
from streams_assignor.upgrade.errors import FeatureError


def log(*levels, unsafe=False):
    first, *more = levels
    found = MetadataLog.initial(first)
    for before, after in zip(levels, more, strict=False):
        found = found.with_level(before, after, unsafe=unsafe)
    return found


def lost(dialect, *levels, unsafe=False):
    return [
        (each.lost, each.newer_than_level) for each in downgrade_losses(dialect, log(*levels, unsafe=unsafe).entries, 0)
    ]


def test_a_node_meets_the_levels_from_where_it_begins_to_read():
    entries = log(21, 25, 24)
    places = len(entries.entries)

    assert (21, 25, 24) == entries.levels_from(0)
    assert (21, 25, 24) == entries.levels_from(1)
    assert (24,) == entries.levels_from(places)


@pytest.mark.parametrize("dialect", [KIP_778, KAFKA_4])
def test_between_levels_that_changed_nothing_nothing_is_lost(dialect):
    assert [(frozenset(), frozenset())] == lost(dialect, 25, 29, 27)
    assert "" == first_unreadable_record(dialect, log(25, 29, 27).entries, 27)


def test_w3_a_snapshot_drops_the_newer_types_and_fields_and_nothing_else():
    ((dropped, newer),) = lost(KIP_778, 21, 30, 22, unsafe=True)

    assert {"TopicRecord.4.0-IV1", "TopicRecord.4.3-IV0", "type of 4.0-IV1", "type of 4.3-IV0"} == dropped == newer
    assert "" == first_unreadable_record(KIP_778, log(21, 30, 22).entries, 22)


def test_without_a_snapshot_they_stay_and_an_older_release_cannot_read_them():
    assert [(frozenset(), frozenset({"TopicRecord.4.3-IV0", "type of 4.3-IV0"}))] == lost(KAFKA_4, 29, 30, 29)
    assert "expected a record that level 29 can read" in first_unreadable_record(KAFKA_4, log(29, 30, 29).entries, 29)


def test_tagged_fields_of_newer_levels_stay_and_are_skipped():
    state = replay_log(KIP_778, log(25, 29, 27).entries).state
    fields = {each.name: each.tagged for each in state["TopicRecord", "orders"].fields}

    assert fields["4.2-IV1"]
    assert not fields["4.0-IV1"]


LEVELS = sorted(METADATA_LEVELS)
HISTORIES = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4).map(
    lambda levels: [level for level, _ in groupby(levels)]
)


def node(dialect, entries, snapshot_after=None):
    """A node that has applied all entries, with its disk; and a regular snapshot after that many."""
    loader = MetadataLoader(dialect, level=0)
    for place, entry in enumerate(entries, 1):
        loader, _ = apply_entry(loader, entry.record)
        loader = write_snapshot(loader) if place == snapshot_after else loader
    return loader


def simulated_start(dialect, entries, begin, supported):
    """The records that the simulation lets a node of ``supported`` read; None if it does not start or cannot read."""
    if max(entries.levels_from(begin)) > supported or first_unreadable_record(dialect, entries.entries, supported):
        return None
    return {decode_record(each, supported) for each in replay_log(dialect, entries.entries).state.values()}


def start_from_disk(loader, supported):
    try:
        return set(load_from_disk(loader, supported))
    except FeatureError:
        return None


@given(HISTORIES, st.sampled_from(LEVELS))
def test_w4_with_the_snapshots_of_kip_778_the_simulation_reads_what_a_disk_has(history, supported):
    entries = log(*history)
    found = start_from_disk(node(KIP_778, entries.entries), supported)

    assert found == simulated_start(KIP_778, entries, len(entries.entries), supported)


@given(HISTORIES, st.sampled_from(LEVELS), st.data())
def test_w4_with_a_regular_snapshot_the_simulation_reads_what_a_disk_has(history, supported, data):
    entries = log(*history)
    begin = data.draw(st.integers(0, len(entries.entries)), label="entries before the snapshot")
    found = start_from_disk(node(KAFKA_4, entries.entries, begin), supported)

    assert found == simulated_start(KAFKA_4, entries, begin, supported)


@pytest.mark.parametrize(("dialect", "readable"), [(KIP_778, True), (KAFKA_4, False)])
def test_w4_both_outcomes_of_a_downgrade_are_compared(dialect, readable):
    entries = log(21, 30, 22)
    everything = len(entries.entries)
    loader = node(dialect, entries.entries, None if dialect.snapshot else everything)

    assert readable == (start_from_disk(loader, 22) is not None)
    assert readable == (simulated_start(dialect, entries, everything, 22) is not None)
