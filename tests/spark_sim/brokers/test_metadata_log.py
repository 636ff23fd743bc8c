"""What a raised level writes, what a lowered one drops, and which brokers can read the rest."""

import pytest

from spark_sim.brokers._metadata_log import MetadataLog, downgrade_losses, first_unreadable_record, replay_log
from upgrade.features.model.dialects import KAFKA_4, KIP_778


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
