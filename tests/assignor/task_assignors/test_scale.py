"""Kafka's own scale test: its sizes, twice each, the second time with what the first one gave.

Java: ``StreamsAssignmentScaleTest``, which gives each assignment a minute or two. Here nothing is timed, only finished.
"""

from collections import ChainMap, Counter
from uuid import UUID

import pytest

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import LATEST_OFFSET
from tests.assignor.task_assignors.process_states import (
    ProcessState,
    assign_fallback_prior,
    assign_high_availability,
    assign_sticky,
)

END = 100_000
SIZES = {
    # partitions of the high-availability test and of the others, clients, members of each, standbys likewise
    "large partition count": (6000, 2000, 2, 1, 1, 1),
    "large number of consumers": (1000, 1000, 1000, 1, 1, 1),
    "many standbys": (1000, 1000, 100, 1, 50, 20),
    "many threads": (1000, 1000, 10, 1000, 1, 1),
}


def by_high_availability(clients, tasks, standbys):
    assign_high_availability(clients, tasks, tasks, AssignmentConfigs(num_standby_replicas=standbys))


def by_sticky(clients, tasks, standbys):
    assign_sticky(clients, tasks, tasks, standbys)


def by_fallback_prior(clients, tasks, standbys):
    assign_fallback_prior(clients, tasks, tasks, standbys)


def check(clients, tasks, standbys):
    copies = Counter(task for client in clients for task in client.standby)

    assert Counter(tasks) == Counter(task for client in clients for task in client.active)
    assert not [client for client in clients if client.active & client.standby]
    assert all(copies[task] >= min(standbys, len(clients) - 1) for task in tasks)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("assign", [by_high_availability, by_sticky, by_fallback_prior])
def test_assigns_as_large_groups_as_kafka_tries(assign, size):
    for_ha, for_others, number, members, standbys_of_ha, standbys = SIZES[size]
    partitions = for_ha if assign is by_high_availability else for_others
    standbys = standbys_of_ha if assign is by_high_availability else standbys
    tasks = {TaskId(0, partition) for partition in range(partitions)}
    behind = dict.fromkeys(sorted(tasks), END)
    first = [ProcessState(UUID(int=at + 1), members, lags=ChainMap({}, behind)) for at in range(number)]
    assign(first, tasks, standbys)
    check(first, tasks, standbys)
    second = [
        ProcessState(
            client.process_id,
            members,
            frozenset(client.active),
            frozenset(client.standby),
            lags=ChainMap(dict.fromkeys(client.standby, 0) | dict.fromkeys(client.active, LATEST_OFFSET), behind),
        )
        for client in first
    ]
    assign(second, tasks, standbys)
    check(second, tasks, standbys)

    assert [client.active for client in first] == [client.active for client in second]
