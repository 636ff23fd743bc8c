"""Rack-aware optimization for assignors of one's own: KIP-924's helpers."""

import random
from collections import Counter
from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.task_assignor import (
    BUILT_IN,
    ApplicationState,
    AssignmentConfigs,
    AssignmentError,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    TaskAssignment,
    TaskInfo,
    default_standby_assignment,
    identity_assignment,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
    rack_aware_disabled_reason,
    validate,
)
from streams_assignor.testing import check_task_assignor, random_state, to_python
from tests.each import for_each

A, B, C, STRANGER = (UUID(int=number) for number in (1, 2, 3, 9))
F0, F1, LESS = TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)
RACKS = {A: "a", B: "b", C: "c"}


def state_of(racks=RACKS, tags=(), **configs):
    """Each stateful task reads one partition and has one changelog, both in the rack that is not that of its number."""
    tasks = {
        F0: TaskInfo(stateful=True, partitions=[TopicPartition("in", 0)], changelogs=[TopicPartition("log", 0)]),
        F1: TaskInfo(stateful=True, partitions=[TopicPartition("in", 1)], changelogs=[TopicPartition("log", 1)]),
        LESS: TaskInfo(partitions=[TopicPartition("in", 0)]),
    }
    places = {("in", 0): "b", ("in", 1): "a", ("log", 0): "b", ("log", 1): "a"}
    defaults = {
        "rack_aware_assignment_strategy": "min_traffic",
        "rack_aware_traffic_cost": 10,
        "rack_aware_non_overlap_cost": 1,
        "rack_aware_assignment_tags": [key for key, _ in tags],
    }
    return ApplicationState(
        tasks=tasks,
        clients={
            process: KafkaStreamsState(process_id=process, rack_id=rack, client_tags=dict(tags))
            for process, rack in racks.items()
        },
        configs=AssignmentConfigs(**(defaults | configs)),
        partition_racks={TopicPartition(*each): frozenset([rack]) for each, rack in places.items()},
    )


def given_to(**shares):
    """``A="0_0 0_1 +1_0"``: active tasks, and standbys with a plus."""
    processes = {"A": A, "B": B, "C": C, "S": STRANGER}
    return TaskAssignment.of(
        KafkaStreamsAssignment(
            processes[name],
            [TaskId.parse(task) for task in tasks.split() if task[0] != "+"],
            [TaskId.parse(task[1:]) for task in tasks.split() if task[0] == "+"],
        )
        for name, tasks in shares.items()
    )


def test_active_tasks_change_processes_if_that_costs_less():
    state, far = state_of(), given_to(A="0_0 1_0", B="0_1", C="")

    assert given_to(A="0_1 1_0", B="0_0", C="") == optimize_rack_aware_active_tasks(state, far)
    assert far == optimize_rack_aware_active_tasks(state, far, traffic_cost=1, non_overlap_cost=10)
    # Input and changelog count, so two partitions are worth a move that costs one and a half.
    assert given_to(A="0_1", B="0_0", C="") == optimize_rack_aware_active_tasks(
        state, given_to(A="0_0", B="0_1", C=""), traffic_cost=2, non_overlap_cost=3
    )


def test_only_the_tasks_that_are_named_change_processes():
    state, far = state_of(), given_to(A="0_0 1_0", B="0_1", C="")

    assert far == optimize_rack_aware_active_tasks(state, far, tasks=[F0, LESS])
    assert given_to(A="0_1 1_0", B="0_0", C="") == optimize_rack_aware_active_tasks(state, far, tasks=[F0, F1])
    assert far == optimize_rack_aware_active_tasks(state, far, tasks=[])


def test_a_process_without_an_assignment_gets_one_and_unknown_processes_stay():
    state = state_of()

    assert given_to(A="0_1", B="0_0", C="", S="1_0") == optimize_rack_aware_active_tasks(
        state, given_to(A="0_0", B="0_1", S="1_0")
    )
    with pytest.raises(ValueError, match="task 1_0 is to be optimized, but no process of the group has it"):
        optimize_rack_aware_active_tasks(state, given_to(A="0_0", B="0_1", S="1_0"), tasks=[LESS])


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_nothing_becomes_active_beside_its_standby(strategy):
    state, guarded = state_of(rack_aware_assignment_strategy=strategy), given_to(A="0_0", B="0_1 +0_0", C="1_0")

    assert guarded == optimize_rack_aware_active_tasks(state, guarded, tasks=[F0, F1])


def test_standbys_change_processes_for_their_changelogs():
    state, far = state_of(), given_to(A="+0_0 1_0", B="+0_1", C="0_0 0_1")

    assert given_to(A="+0_1 1_0", B="+0_0", C="0_0 0_1") == optimize_rack_aware_standby_tasks(state, far)
    assert far == optimize_rack_aware_standby_tasks(state, far, traffic_cost=1, non_overlap_cost=10)
    assert far == optimize_rack_aware_standby_tasks(state, far, tasks=[F1])
    with pytest.raises(ValueError, match="1_0"):
        optimize_rack_aware_standby_tasks(state, far, tasks=[LESS])


def test_standbys_of_what_is_active_nowhere_may_move_too():
    far = given_to(A="+0_0", B="+0_1", C="")

    for state in (state_of(), state_of(tags=[("zone", "x")])):
        assert given_to(A="+0_1", B="+0_0", C="") == optimize_rack_aware_standby_tasks(state, far)


def test_client_tags_keep_standbys_apart():
    state = state_of(tags=[("zone", "x")])
    clients = {
        process: evolve(client, client_tags={"zone": "y" if process == A else "x"})
        for process, client in state.clients.items()
    }
    far = given_to(A="+0_0", B="+0_1", C="0_0 0_1")

    # In A the copies of 0_0 are in two zones, in B they would not be.
    assert far == optimize_rack_aware_standby_tasks(evolve(state, clients=clients), far)


@pytest.mark.parametrize(
    ("configs", "costs", "why"),
    [
        ({}, {}, ""),
        ({"rack_aware_assignment_strategy": "none"}, {}, "rack.aware.assignment.strategy is none"),
        (
            {"rack_aware_assignment_strategy": "none", "rack_aware_traffic_cost": None},
            {},
            "rack.aware.assignment.strategy is none",
        ),
        ({"rack_aware_traffic_cost": None}, {}, "rack.aware.assignment.traffic_cost is not configured"),
        ({"rack_aware_traffic_cost": None}, {"traffic_cost": 5}, ""),
        ({"rack_aware_non_overlap_cost": None}, {}, "rack.aware.assignment.non_overlap_cost is not configured"),
        ({"rack_aware_non_overlap_cost": None}, {"non_overlap_cost": 0}, ""),
        ({"racks": {A: "a", B: None, C: "c"}}, {}, f"process {B} has no client.rack"),
    ],
)
def test_says_why_it_does_nothing(configs, costs, why):
    state, far = state_of(**configs), given_to(A="0_0", B="0_1", C="1_0")

    assert (
        why == rack_aware_disabled_reason(state, **costs) == rack_aware_disabled_reason(state, standbys=True, **costs)
    )
    assert bool(why) == (far == optimize_rack_aware_active_tasks(state, far, **costs))
    far = given_to(A="+0_0", B="+0_1", C="")
    assert bool(why) == (far == optimize_rack_aware_standby_tasks(state, far, **costs))


def test_active_tasks_need_all_racks_standbys_those_of_changelogs():
    state = state_of()
    logs = {each: racks for each, racks in state.partition_racks.items() if each.topic == "log"}
    state = evolve(state, partition_racks=logs)

    assert "task 0_0 has no known replica of its partition number 0" == rack_aware_disabled_reason(state)
    assert "" == rack_aware_disabled_reason(state, standbys=True)
    state = evolve(state, partition_racks={})
    assert "task 0_0 has no known replica of its partition number 0" == rack_aware_disabled_reason(state, standbys=True)


def test_active_tasks_need_the_racks_of_tasks_without_state_too():
    state = state_of()
    far = TopicPartition("in", 2)
    state = evolve(state, tasks={**state.tasks, LESS: TaskInfo(partitions=[far])})

    assert "task 1_0 has no known replica of its partition number 0" == rack_aware_disabled_reason(state)
    assert "" == rack_aware_disabled_reason(state, standbys=True)


def test_standbys_move_although_the_racks_of_inputs_are_unknown():
    state, far = state_of(), given_to(A="+0_0 1_0", B="+0_1", C="0_0 0_1")
    logs = {each: racks for each, racks in state.partition_racks.items() if each.topic == "log"}

    assert given_to(A="+0_1 1_0", B="+0_0", C="0_0 0_1") == optimize_rack_aware_standby_tasks(
        evolve(state, partition_racks=logs), far
    )


def with_racks(state, chance):
    """The same group in racks."""
    partitions = {each for info in state.tasks.values() for each in (*info.partitions, *info.changelogs)}
    return evolve(
        state,
        clients={
            process: evolve(client, rack_id=chance.choice("abc")) for process, client in sorted(state.clients.items())
        },
        configs=evolve(
            state.configs,
            rack_aware_assignment_strategy=chance.choice(["min_traffic", "balance_subtopology"]),
            rack_aware_traffic_cost=chance.choice([1, 10]),
            rack_aware_non_overlap_cost=chance.choice([0, 1, 10]),
        ),
        partition_racks={each: frozenset(chance.sample("abcd", chance.randint(1, 3))) for each in sorted(partitions)},
    )


@pytest.mark.unmeasured
@for_each(range(500))
def test_all_processes_keep_their_numbers_and_kafka_finds_no_error(seed):
    # Seed 446: in a rack, a task that may go anywhere made room for one that may not, and had never been noted.
    chance = random.Random(seed)
    state = with_racks(random_state(chance, 1 + seed % 8), chance)
    before = default_standby_assignment(state, identity_assignment(state))
    after = optimize_rack_aware_standby_tasks(state, optimize_rack_aware_active_tasks(state, before))

    assert AssignmentError.NONE is validate(state, after).error
    for process, share in before.assignments.items():
        assert len(share.active) == len(after.assignments[process].active)
        assert len(share.standby) == len(after.assignments[process].standby)
    for role in ("active", "standby"):
        had, has = ([t for s in each.assignments.values() for t in getattr(s, role)] for each in (before, after))

        assert Counter(had) == Counter(has)


@pytest.mark.unmeasured
@pytest.mark.parametrize("built_in", BUILT_IN.values(), ids=BUILT_IN)
def test_the_built_in_assignors_are_sound_with_racks(built_in):
    chance = random.Random(925)
    states = [with_racks(random_state(chance, 2 + number % 6), chance) for number in range(60)]

    assert 60 == check_task_assignor(lambda: built_in, groups=0, extra_states=states).groups


@pytest.mark.parametrize("name", ["sticky", "high-availability"])
def test_a_built_in_assignor_looks_at_racks(name):
    lags = {F0: 0, F1: 0}
    state = state_of(racks={A: "a", B: "b"})
    clients = {process: evolve(client, lags=lags) for process, client in state.clients.items()}

    answer = BUILT_IN[name].assign(evolve(state, clients=clients))

    assert {F1} == answer.assignments[A].active - {LESS}


def test_a_state_with_racks_can_be_written_down_as_code():
    state = state_of()
    names = {}
    exec(to_python(state), names)

    assert state == names["state"]
