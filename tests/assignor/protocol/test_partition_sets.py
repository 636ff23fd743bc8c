"""Sets of partitions that are made on demand behave as a dictionary of frozen sets."""

import pickle

import pytest

from assignor.protocol._partition_sets import by_active_task, by_host, by_standby_task
from subscription_codec import HostInfo, HostPartitions, StandbyTask, TaskId, TopicPartition
from subscription_codec.columns import HostMap
from subscription_codec.records import TopicEntry

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
T0, T1 = TaskId(0, 0), TaskId(0, 1)
HERE, THERE = HostInfo("here", 1), HostInfo("there", 2)
ENTRIES = (HostPartitions(HERE, (A0,)), HostPartitions(THERE, (A1, B0)), HostPartitions(HERE, (B0,)))
ALL = [
    (by_active_task([T0, T1, T0, T0], [A0, A1, B0, B0]), {T0: frozenset({A0, B0}), T1: frozenset({A1})}),
    (by_active_task([T0, T0], [A0, A0]), {T0: frozenset({A0})}),
    (by_standby_task([StandbyTask(T0, (A0, B0)), StandbyTask(T1, ())]), {T0: frozenset({A0, B0}), T1: frozenset()}),
    (by_host(ENTRIES), {HERE: frozenset({B0}), THERE: frozenset({A1, B0})}),
    (
        by_host(HostMap.of(ENTRIES, (TopicEntry(0, "a"), TopicEntry(1, "b")))),
        {HERE: frozenset({B0}), THERE: frozenset({A1, B0})},
    ),
    (by_host(()), {}),
]


@pytest.mark.parametrize(("sets", "expected"), ALL)
def test_it_equals_the_dictionary(sets, expected):
    assert expected == sets
    assert expected == dict(sets.items())
    assert (list(expected), len(expected), bool(expected)) == (list(sets.keys()), len(sets), bool(sets))
    assert repr(expected) == repr(sets)
    assert expected == pickle.loads(pickle.dumps(sets))
    assert TaskId(7, 7) not in sets
