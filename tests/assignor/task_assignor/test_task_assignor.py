"""Task assignors of one's own: the values, Kafka's errors, and the helpers."""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.task_assignor import (
    BUILT_IN,
    FALLBACK_PRIOR,
    HIGH_AVAILABILITY,
    IMMEDIATELY_FATAL,
    STICKY,
    ActiveAndStandbyError,
    ApplicationState,
    AssignmentConfigs,
    AssignmentError,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    TaskAssignment,
    TaskInfo,
    ValidationResult,
    default_standby_assignment,
    identity_assignment,
    validate,
)
from streams_assignor.task_assignors.application_state import LATEST_OFFSET
from streams_assignor.testing import random_state
from streams_assignor.upgrade import ConfigException

A, B, C, UNKNOWN = (UUID(int=number) for number in (1, 2, 3, 9))
F0, F1, LESS, GONE = TaskId(0, 0), TaskId(0, 1), TaskId(1, 0), TaskId(9, 9)  # full of state; LESS is stateless


def client(process, **rest):
    return KafkaStreamsState(process_id=process, **rest)


def state_of(*clients, **configs):
    return ApplicationState(
        tasks={F0: TaskInfo(stateful=True), F1: TaskInfo(stateful=True), LESS: TaskInfo()},
        clients={each.process_id: each for each in clients},
        configs=AssignmentConfigs(**configs),
    )


def given_to(**shares):
    """``A="0_0 0_1 +1_0"``: active tasks, and standbys with a plus."""
    processes = {"A": A, "B": B, "C": C, "U": UNKNOWN}
    return TaskAssignment.of(
        KafkaStreamsAssignment(
            processes[name],
            [TaskId.parse(task) for task in tasks.split() if task[0] != "+"],
            [TaskId.parse(task[1:]) for task in tasks.split() if task[0] == "+"],
        )
        for name, tasks in shares.items()
    )


def shown(assignment):
    return {
        share.process_id: " ".join([*map(str, sorted(share.active)), *(f"+{task}" for task in sorted(share.standby))])
        for share in assignment.assignments.values()
    }


# What TaskAssignmentUtils.validateTaskAssignment of kafka-streams 3.9.2 and 4.3.1 said to the same, on 2026-11-21.
KAFKA = [
    ("NONE", {"A": "0_0 0_1", "B": "1_0 +0_0"}),
    ("NONE", {"A": "0_0", "B": ""}),
    ("NONE", {"A": "", "B": ""}),
    ("NONE", {"A": "+0_0", "B": "+0_0"}),
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "0_0", "B": "0_0"}),
    ("INVALID_STANDBY_TASK", {"A": "0_0", "B": "+1_0"}),
    ("MISSING_PROCESS_ID", {"A": "0_0"}),
    ("UNKNOWN_PROCESS_ID", {"A": "0_0", "B": "", "U": ""}),
    ("UNKNOWN_TASK_ID", {"A": "9_9", "B": ""}),
    ("UNKNOWN_TASK_ID", {"A": "+9_9", "B": ""}),
    # Two errors at once.
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "0_0", "U": "0_0"}),
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "0_0 +1_0", "B": "0_0"}),
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "+1_0", "B": "0_0", "U": "0_0"}),
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "0_0", "B": "0_0", "U": "9_9"}),
    ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"A": "0_0", "B": "0_0 9_9"}),
    ("UNKNOWN_TASK_ID", {"A": "0_0 9_9", "B": "0_0"}),
    ("UNKNOWN_TASK_ID", {"A": "+1_0", "B": "9_9"}),
    ("UNKNOWN_TASK_ID", {"A": "+1_0 9_9", "U": ""}),
    ("UNKNOWN_TASK_ID", {"A": "9_9"}),
    ("UNKNOWN_TASK_ID", {"A": "", "B": "", "U": "9_9"}),
    ("INVALID_STANDBY_TASK", {"A": "+1_0"}),
    ("INVALID_STANDBY_TASK", {"A": "+1_0", "B": "", "U": ""}),
    ("MISSING_PROCESS_ID", {"A": "0_0", "U": ""}),
]


@pytest.mark.parametrize(("error", "shares"), KAFKA, ids=str)
def test_finds_the_error_that_kafka_finds_first(error, shares):
    assert error == validate(state_of(client(A), client(B)), given_to(**shares)).error.name


def test_the_page_has_every_error():
    page = (Path(__file__).parents[3] / "docs/how-to/task-assignor.md").read_text()

    assert [] == [error.name for error in AssignmentError if f"| `{error.name}` | {error.value}" not in page]


def test_the_errors_are_those_of_kafka():
    names = [
        "NONE",
        "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES",
        "INVALID_STANDBY_TASK",
        "MISSING_PROCESS_ID",
        "UNKNOWN_PROCESS_ID",
        "UNKNOWN_TASK_ID",
    ]

    assert names == [error.name for error in AssignmentError]
    assert {"UNKNOWN_PROCESS_ID", "UNKNOWN_TASK_ID"} == {error.name for error in IMMEDIATELY_FATAL}


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"A": "0_0 0_1", "B": "1_0 +0_0"}, ""),
        ({"A": "0_0", "B": "0_0"}, f"0_0 is active in processes {A} and {B}"),
        ({"A": "0_0", "B": "+1_0"}, f"process {B} has a standby of 1_0, which has no state"),
        ({"A": "0_0"}, f"process {B} is not in the assignment"),
        ({"A": "0_0", "B": "", "U": ""}, f"process {UNKNOWN} is not in the group"),
        ({"A": "9_9", "B": ""}, f"process {A} has 9_9, which does not exist"),
    ],
)
def test_says_what_is_wrong_with_whom(shares, message):
    assert message == validate(state_of(client(A), client(B)), given_to(**shares)).message


def test_a_task_that_no_process_has_active_is_no_error_but_reported():
    verdict = validate(state_of(client(A), client(B)), given_to(A="0_1", B="+0_0"))

    assert ValidationResult(AssignmentError.NONE, "", (F0, LESS)) == verdict


def test_a_task_cannot_be_active_and_standby_in_one_process():
    with pytest.raises(ActiveAndStandbyError, match=r"0001 has 0_0, 0_1 both active and as a standby"):
        KafkaStreamsAssignment(A, {F0, F1}, {F0, F1, LESS})


def test_a_process_has_one_share_under_its_own_name():
    share = KafkaStreamsAssignment(A)

    with pytest.raises(ValueError, match="two shares"):
        TaskAssignment.of([share, KafkaStreamsAssignment(A, {F0})])
    with pytest.raises(ValueError, match=f"process {A} stands under the key {B}"):
        TaskAssignment({B: share})
    with pytest.raises(ValueError, match=f"process {A} stands under the key {B}"):
        ApplicationState(tasks={}, clients={B: client(A)})


def test_a_process_without_threads_is_refused():
    with pytest.raises(ValueError, match="has 0 processing threads"):
        client(A, num_processing_threads=0)


def test_lags_are_those_that_were_computed():
    state = client(A, lags={F0: LATEST_OFFSET})

    assert LATEST_OFFSET == state.lag_for(F0)
    with pytest.raises(LookupError, match="no lag of task 0_1"):
        state.lag_for(F1)


def test_members_are_sorted():
    assert ("a", "b") == client(A, consumer_client_ids=["b", "a"]).consumer_client_ids


def test_processes_are_in_the_order_of_java():
    high = client(UUID(int=1 << 127))

    assert (high, client(A)) == state_of(client(A), high).sorted_processes


def test_the_configuration_has_the_defaults_and_the_refusals_of_kafka():
    configs = AssignmentConfigs()

    assert (10_000, 2, 0, 600_000, ()) == (
        configs.acceptable_recovery_lag,
        configs.max_warmup_replicas,
        configs.num_standby_replicas,
        configs.probing_rebalance_interval_ms,
        configs.rack_aware_assignment_tags,
    )
    with pytest.raises(ConfigException, match=r"59999 for configuration probing\.rebalance\.interval\.ms"):
        AssignmentConfigs(probing_rebalance_interval_ms=59_999)
    with pytest.raises(ConfigException, match=r"max\.warmup\.replicas"):
        AssignmentConfigs(max_warmup_replicas=0)


def test_a_state_can_be_made_of_a_topology():
    topology = Topology.of(Subtopology(sources=["orders"]), Subtopology(sources=["people"], changelogs=["totals"]))
    state = ApplicationState.of(topology, {"orders": 1, "people": 2}, [client(B), client(A)])
    people = [TopicPartition("people", number) for number in range(2)]
    totals = [TopicPartition("totals", number) for number in range(2)]

    assert state.tasks == {
        TaskId(0, 0): TaskInfo(partitions=(TopicPartition("orders", 0),)),
        TaskId(1, 0): TaskInfo(stateful=True, partitions=(people[0],), changelogs=(totals[0],)),
        TaskId(1, 1): TaskInfo(stateful=True, partitions=(people[1],), changelogs=(totals[1],)),
    }
    assert {TaskId(1, 0), TaskId(1, 1)} == state.stateful
    assert [A, B] == [each.process_id for each in state.sorted_processes]
    assert AssignmentConfigs() == state.configs
    assert (
        7 == ApplicationState.of(topology, {}, [], AssignmentConfigs(max_warmup_replicas=7)).configs.max_warmup_replicas
    )


def test_all_processes_keep_what_they_had_as_far_as_that_is_valid():
    state = state_of(
        client(A, previous_active_tasks={F0, GONE}, previous_standby_tasks={LESS, F1}),
        client(B, previous_active_tasks={F0}, previous_standby_tasks={F0, GONE}),
        client(C),
    )

    assert {A: "0_0 +0_1", B: "+0_0", C: ""} == shown(identity_assignment(state))


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_what_the_processes_had_is_never_an_error(chance, size):
    state = random_state(chance, size)

    assert AssignmentError.NONE is validate(state, identity_assignment(state)).error


def test_standbys_go_to_the_least_loaded():
    state = state_of(client(A), client(B), client(C, num_processing_threads=4), num_standby_replicas=1)

    assert {A: "0_0 0_1", B: "1_0", C: "+0_0 +0_1"} == shown(
        default_standby_assignment(state, given_to(A="0_0 0_1", B="1_0", C=""))
    )


def test_standbys_that_are_there_stay_and_count():
    state = state_of(client(A), client(B), client(C), num_standby_replicas=2)

    assert {A: "0_0 +0_1", B: "+0_0 +0_1", C: "0_1 +0_0"} == shown(
        default_standby_assignment(state, given_to(A="0_0", B="+0_0", C="0_1"))
    )
    assert {A: "0_0", B: "+0_0", C: "+0_0"} == shown(
        default_standby_assignment(state, given_to(A="0_0", B="+0_0", C="+0_0"))
    )


def test_standbys_go_to_other_tags():
    state = state_of(
        client(A, client_tags={"zone": "x"}),
        client(B, client_tags={"zone": "x"}),
        client(C, client_tags={"zone": "y"}),
        num_standby_replicas=1,
        rack_aware_assignment_tags=["zone"],
    )

    assert {A: "0_0", B: "0_1", C: "1_0 +0_0 +0_1"} == shown(
        default_standby_assignment(state, given_to(A="0_0", B="0_1", C="1_0"))
    )


def test_a_process_without_an_assignment_gets_one_and_unknown_processes_stay():
    state = state_of(client(A), client(B), num_standby_replicas=1)

    assert {A: "0_0", B: "+0_0", UNKNOWN: "1_0"} == shown(default_standby_assignment(state, given_to(A="0_0", U="1_0")))


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_standbys_are_as_many_as_can_be_and_never_an_error(chance, size):
    state = random_state(chance, size)
    before = identity_assignment(state)
    after = default_standby_assignment(state, before)
    active = {task for share in before.assignments.values() for task in share.active}
    copies = [task for share in after.assignments.values() for task in share.standby]
    wanted = min(state.configs.num_standby_replicas, len(state.clients) - 1)

    assert AssignmentError.NONE is validate(state, after).error
    assert not [task for task in state.stateful & active if copies.count(task) < wanted]
    assert all(share.standby <= after.assignments[process].standby for process, share in before.assignments.items())


def test_built_in_assignors_have_names():
    assert {"sticky": STICKY, "high-availability": HIGH_AVAILABILITY, "fallback-prior": FALLBACK_PRIOR} == BUILT_IN
    assert "StickyTaskAssignor(stateless_standbys=False, hash_order=False)" == repr(STICKY)


@pytest.mark.parametrize("built_in", BUILT_IN.values(), ids=BUILT_IN)
def test_a_built_in_assignor_answers_an_empty_group(built_in):
    assert TaskAssignment({}) == built_in.assign(state_of())


def test_the_first_process_asks_for_the_follow_up_rebalance():
    lags = {F0: 50_000, F1: 50_000}
    ahead = client(A, previous_active_tasks={F0, F1}, lags={F0: LATEST_OFFSET, F1: LATEST_OFFSET})
    state = state_of(ahead, client(B, lags=lags), probing_rebalance_interval_ms=70_000)
    warming_up = HIGH_AVAILABILITY.assign(state)

    assert {A: "0_0 0_1", B: "1_0 +0_1"} == shown(warming_up)
    assert [70_000, None] == [share.follow_up_rebalance_ms for share in warming_up.assignments.values()]
    assert {None} == {share.follow_up_rebalance_ms for share in STICKY.assign(state).assignments.values()}
    assert 70_000 == FALLBACK_PRIOR.assign(state).assignments[A].follow_up_rebalance_ms


def test_without_lags_high_availability_cannot_decide():
    with pytest.raises(FatalError, match="no lag of task 0_0"):
        HIGH_AVAILABILITY.assign(state_of(client(A)))


def test_built_in_assignors_see_tags_and_standbys():
    lags = {F0: 0, F1: 0}
    state = state_of(
        client(A, lags=lags, client_tags={"zone": "x"}),
        client(B, lags=lags, client_tags={"zone": "x"}),
        client(C, lags=lags, client_tags={"zone": "y"}),
        num_standby_replicas=1,
        rack_aware_assignment_tags=["zone"],
    )

    assert {A: "0_0", B: "0_1", C: "1_0 +0_0 +0_1"} == shown(HIGH_AVAILABILITY.assign(state))


@pytest.mark.parametrize("name", ["previous_active_tasks", "previous_standby_tasks"])
def test_a_state_keeps_its_tasks_when_the_given_set_changes(name):
    tasks = {F0, F1}
    state = client(A, **{name: tasks})
    tasks.clear()

    assert {F0, F1} == getattr(state, name)
