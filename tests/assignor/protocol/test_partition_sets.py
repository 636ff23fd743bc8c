"""Sets of partitions that are made on demand behave as a dictionary of frozen sets."""

import pickle

import pytest

from assignor.protocol._partition_sets import by_active_task, by_host, by_standby_task, partition_set
from assignor.protocol._task_sets import task_set
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


def test_many_tasks_behave_as_few_do():
    """Above 256, tasks are sorted columns."""
    tasks = [TaskId(each % 7, each % 300, "name" if each % 5 == 0 else None) for each in reversed(range(1000))]
    partitions = [TopicPartition("a", each // 2) for each in range(1000)]
    expected = {}
    for task, partition in zip(tasks, partitions, strict=True):
        expected.setdefault(task, set()).add(partition)

    sets = by_active_task(tasks, partitions)

    assert expected == sets == pickle.loads(pickle.dumps(sets))
    assert frozenset(expected) == sets.keys() == task_set(tasks, len(tasks))
    assert hash(frozenset(expected)) == hash(sets.keys())
    assert {T0} - sets.keys() == {T0} - expected.keys()
    assert TaskId(7, 7) not in sets
    assert frozenset(partitions) == partition_set(partitions)
    assert A0 in partition_set(partitions)
    assert B0 not in partition_set(partitions)
