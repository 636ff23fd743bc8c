"""One step of a member's reconciliation, beside Kafka's own ``CurrentAssignmentBuilder``."""

from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

import pytest
from attrs import evolve

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups._reconciliation import reconcile
from streams_assignor.spark_sim.streams_groups.group import CoordinatorMember, CoordinatorMemberState, StreamsGroup
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.tasks import TasksTuple
from tests.java_oracle import Oracle
from tests.lab.integration.kafka_jars import Unavailable
from tests.matrix import with_matrix

pytestmark = [pytest.mark.java, pytest.mark.slow]
TASKS = [TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)]
RELEASES = with_matrix(["4.2.0", "4.2.2", "4.3.1", "4.4.0"], ["4.3.1", "4.4.0"], "an earlier release")


@pytest.fixture(name="oracle", scope="module", params=RELEASES)
def fixture_oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    with ExitStack() as stack:
        try:
            oracle = stack.enter_context(
                Oracle(request.param, "StreamsReconciliationOracle", "kafka-group-coordinator")
            )
        except Unavailable as error:
            pytest.skip(str(error))
        yield oracle


def some(choose, tasks):
    return frozenset(task for task in tasks if choose.random() < 0.5)


def some_tasks(choose):
    return TasksTuple(*(some(choose, TASKS) for _ in range(3)))


def a_member(choose, member_id, free):
    """A member that holds some of the free active tasks, assigned or pending revocation."""
    mine = some(choose, free)
    state = choose.choice(list(CoordinatorMemberState))
    revoking = some_tasks(choose) if state is CoordinatorMemberState.UNREVOKED_TASKS else TasksTuple()
    assigned = some_tasks(choose)
    pending = some(choose, mine) if revoking else frozenset()
    return CoordinatorMember(
        member_id,
        choose.choice(["P", "Q"]),
        0,
        choose.randint(1, 4),
        choose.randint(1, 4),
        state,
        evolve(assigned, active=mine - pending),
        evolve(revoking, active=pending, standby=revoking.standby - assigned.standby),
        frozenset((task, choose.randint(1, 4)) for task in mine),
    )


def a_step(choose):
    """A group, one of its members, its target, and the tasks that it reports."""
    free, found = frozenset(TASKS), {}
    for name in choose.sample("ABC", 3):
        found[name] = a_member(choose, name, free)
        free -= found[name].held.active
    owned = choose.choice([None, some_tasks(choose)])
    return StreamsGroup(epoch=9, members=found), found["A"], some_tasks(choose), choose.randint(1, 4), owned


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


def processes(group, role):
    found = {}
    for member in group.members.values():
        for task in getattr(member.held, role):
            found.setdefault(str(task), []).append(member.process_id)
    return found


def question(group, member, target, target_epoch, owned, **more):
    """``more``: what the model does not have of the member."""
    return {
        "member": {"instance": None, "rack": None, "tags": {}, **described(member), **more},
        "target": plain(target),
        "targetEpoch": target_epoch,
        "owned": None if owned is None else plain(owned),
        "activeProcesses": {task: process for task, (process,) in processes(group, "active").items()},
        "standbyProcesses": processes(group, "standby"),
        "warmupProcesses": processes(group, "warm_up"),
    }


def of_a_place(choose):
    """A member may be static, and in a rack, and have tags."""
    zone = choose.choice(["east", "west"])
    return {
        "instance": choose.choice([None, "one"]),
        "rack": choose.choice([None, zone]),
        "tags": choose.choice([{}, {"zone": zone}]),
    }


def test_a_step_is_that_of_the_current_assignment_builder_for_static_members_racks_and_tags_too(oracle):
    choose = Random(oracle.release)
    steps = [a_step(choose) for _ in range(10_000)]
    changes_roles = rules_of(oracle.release).changes_roles

    answers = oracle.ask(question(*step, **of_a_place(choose)) for step in steps)

    differing = [
        (step, answer)
        for step, answer in zip(steps, answers, strict=True)
        if answer != described(reconcile(*step, changes_roles=changes_roles))
    ]
    assert not differing, f"{len(differing)} of {len(steps)}, the first: {differing[0]}"


def test_kafka_takes_a_task_that_is_not_reported_for_revoked(oracle):
    """The first half of the finding: the member has the assignment of epoch 1 and has not taken it yet."""
    both = TasksTuple.of(active=TASKS[:2])
    member = CoordinatorMember(
        "A", "P", 0, 1, 0, assigned=both, assignment_epochs=frozenset((task, 1) for task in both.active)
    )

    (answer,) = oracle.ask(
        [question(StreamsGroup(members={"A": member}), member, TasksTuple.of(active=TASKS[:1]), 2, TasksTuple())]
    )

    assert "STABLE" == answer["state"]
    assert [{"0_0": 1}, [], []] == answer["assigned"]
    assert [{}, [], []] == answer["revoking"]
