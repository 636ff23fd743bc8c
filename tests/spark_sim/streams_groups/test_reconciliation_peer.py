"""One step of a member's reconciliation, beside Kafka's own ``CurrentAssignmentBuilder``."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups._group import CoordinatorMember, CoordinatorMemberState, StreamsGroup
from streams_assignor.spark_sim.streams_groups._reconciliation import reconcile
from streams_assignor.spark_sim.streams_groups._tasks import TasksTuple
from tests.java_oracle import Oracle
from tests.lab.integration.kafka_jars import Unavailable
from tests.matrix import with_matrix

pytestmark = [pytest.mark.java, pytest.mark.slow]
TASKS = [TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)]
ALL_TASKS = st.frozensets(st.sampled_from(TASKS))
TUPLES = st.builds(TasksTuple, ALL_TASKS, ALL_TASKS, ALL_TASKS)
EPOCHS = st.integers(1, 4)


@pytest.fixture(name="oracle", scope="module", params=with_matrix(["4.3.1", "4.2.0"], ["4.3.1"], "an earlier release"))
def fixture_oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    with ExitStack() as stack:
        try:
            oracle = stack.enter_context(
                Oracle(request.param, "StreamsReconciliationOracle", "kafka-group-coordinator")
            )
        except Unavailable as error:
            pytest.skip(str(error))
        yield oracle


@st.composite
def members(draw, member_id, free):
    """A member that holds some of the free active tasks, assigned or pending revocation."""
    mine = draw(st.frozensets(st.sampled_from(sorted(free)))) if free else frozenset()
    state = draw(st.sampled_from(CoordinatorMemberState))
    revoking = draw(TUPLES) if state is CoordinatorMemberState.UNREVOKED_TASKS else TasksTuple()
    assigned = draw(TUPLES)
    pending = frozenset(task for task in mine if draw(st.booleans())) if revoking else frozenset()
    return CoordinatorMember(
        member_id,
        draw(st.sampled_from(["P", "Q"])),
        0,
        draw(EPOCHS),
        draw(EPOCHS),
        state,
        evolve(assigned, active=mine - pending),
        evolve(revoking, active=pending, standby=revoking.standby - assigned.standby),
        frozenset((task, draw(EPOCHS)) for task in mine),
    )


@st.composite
def steps(draw):
    """A group, one of its members, its target, and the tasks that it reports."""
    free, found = set(TASKS), {}
    for name in draw(st.permutations(["A", "B", "C"])):
        found[name] = draw(members(name, frozenset(free)))
        free -= found[name].held.active
    owned = draw(st.none() | TUPLES)
    return StreamsGroup(epoch=9, members=found), found["A"], draw(TUPLES), draw(EPOCHS), owned


def described(member):
    epochs = dict(member.assignment_epochs)

    def roles(tasks):
        active = {str(task): epochs[task] for task in sorted(tasks.active)}
        return [active, *(sorted(map(str, role)) for role in (tasks.standby, tasks.warm_up))]

    return {
        "process": member.process_id,
        "epoch": member.epoch,
        "previous": member.previous_epoch,
        "state": member.state.name,
        "assigned": roles(member.assigned),
        "revoking": roles(member.pending_revocation),
    }


def plain(tasks):
    return [dict.fromkeys(map(str, sorted(tasks.active)), 0), *(sorted(map(str, role)) for role in tasks.roles[1:])]


def replicas(group, role):
    found = {}
    for member in group.members.values():
        for task in getattr(member.held, role):
            found.setdefault(str(task), []).append(member.process_id)
    return found


@given(step=steps())
def test_a_step_is_that_of_the_current_assignment_builder(oracle, step):
    group, member, target, target_epoch, owned = step
    question = {
        "member": described(member),
        "target": plain(target),
        "targetEpoch": target_epoch,
        "owned": None if owned is None else plain(owned),
        "activeProcesses": {str(task): group.active_process(task) for task in TASKS if group.active_process(task)},
        "standbyProcesses": replicas(group, "standby"),
        "warmupProcesses": replicas(group, "warm_up"),
    }

    (answer,) = oracle.ask([question])

    assert described(reconcile(group, member, target, target_epoch, owned)) == answer


def test_kafka_takes_a_task_that_is_not_reported_for_revoked(oracle):
    """The first half of the finding: the member has the assignment of epoch 1 and has not taken it yet."""
    both = TasksTuple.of(active=TASKS[:2])
    member = CoordinatorMember(
        "A", "P", 0, 1, 0, assigned=both, assignment_epochs=frozenset((task, 1) for task in both.active)
    )
    question = {
        "member": described(member),
        "target": plain(TasksTuple.of(active=TASKS[:1])),
        "targetEpoch": 2,
        "owned": plain(TasksTuple()),
        "activeProcesses": {str(task): "P" for task in both.active},
        "standbyProcesses": {},
        "warmupProcesses": {},
    }

    (answer,) = oracle.ask([question])

    assert "STABLE" == answer["state"]
    assert [{"0_0": 1}, [], []] == answer["assigned"]
    assert [{}, [], []] == answer["revoking"]
