"""One step of a member's reconciliation where it changes the role of a task (KAFKA-20665), and where it cannot yet."""

import pytest

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups._reconciliation import reconcile
from streams_assignor.spark_sim.streams_groups.group import CoordinatorMember, CoordinatorMemberState, StreamsGroup
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple
from tests.each import for_each


def tasks(*roles):
    """Active, standby and warm-up tasks of one subtopology, by their digits."""
    return TasksTuple(*(frozenset(TaskId(0, int(digit)) for digit in role) for role in roles))


ACTIVE, STANDBY, WARM_UP = tasks("0"), tasks("", "0"), tasks("", "", "0")
NOBODY = ("P", NO_TASKS)
CASES = [
    # what the member has, reports, is to have; what another member has => state, tasks, revocation by 4.3.1 and 4.4.0
    ("demotion", ACTIVE, ACTIVE, STANDBY, NOBODY, "UNREVOKED nothing - 0_0", "UNREVOKED standby 0_0 - 0_0"),
    ("its end", ACTIVE, NO_TASKS, STANDBY, NOBODY, "UNRELEASED nothing - nothing", "STABLE standby 0_0 - nothing"),
    ("promotion", STANDBY, STANDBY, ACTIVE, NOBODY, "UNREVOKED nothing - standby 0_0", "STABLE 0_0 - nothing"),
    (
        "promotion before the owner has released the task",
        *(STANDBY, STANDBY, ACTIVE, ("Q", ACTIVE)),
        "UNREVOKED nothing - standby 0_0",
        "UNRELEASED standby 0_0 - nothing",
    ),
    (
        "promotion behind a revocation",
        *(tasks("1", "0"), tasks("1", "0"), ACTIVE, NOBODY),
        "UNREVOKED nothing - 0_1, standby 0_0",
        "UNREVOKED standby 0_0 - 0_1",
    ),
    ("warm-up to active", WARM_UP, None, ACTIVE, NOBODY, "UNREVOKED nothing - warm-up 0_0", "STABLE 0_0 - nothing"),
    (
        "warm-up to standby",
        *(WARM_UP, None, STANDBY, NOBODY),
        "UNREVOKED nothing - warm-up 0_0",
        "STABLE standby 0_0 - nothing",
    ),
    (
        "standby to warm-up",
        *(STANDBY, None, WARM_UP, NOBODY),
        "UNREVOKED nothing - standby 0_0",
        "STABLE warm-up 0_0 - nothing",
    ),
    ("active to warm-up", ACTIVE, ACTIVE, WARM_UP, NOBODY, *["UNREVOKED nothing - 0_0"] * 2),
    ("a task of the other member", NO_TASKS, None, STANDBY, ("P", WARM_UP), *["UNRELEASED nothing - nothing"] * 2),
    ("an active task beside a replica", NO_TASKS, None, ACTIVE, ("P", STANDBY), *["UNRELEASED nothing - nothing"] * 2),
    ("a task of another process", NO_TASKS, None, STANDBY, ("Q", WARM_UP), *["STABLE standby 0_0 - nothing"] * 2),
]


@for_each(CASES)
def test_since_4_4_a_member_changes_the_role_of_a_task_that_it_has(case):
    _, has, reports, target, (process, others), *expected = case
    member = CoordinatorMember("A", "P", 0, 1, 1, assigned=has)
    group = StreamsGroup(members={"A": member, "B": CoordinatorMember("B", process, 0, 1, 1, assigned=others)})

    assert expected == [text(stepped(group, member, target, reports, release)) for release in ("4.3.1", "4.4.0")]


@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_a_member_that_has_revoked_is_in_the_next_epoch_also_if_it_has_to_revoke_more(release):
    both = tasks("01")
    member = CoordinatorMember("A", "P", 0, 1, 1, CoordinatorMemberState.UNREVOKED_TASKS, tasks("1"), ACTIVE)
    group = StreamsGroup(members={"A": member})

    assert member == stepped(group, member, NO_TASKS, both, release)
    assert ("UNREVOKED nothing - 0_1", 2) == seen(stepped(group, member, NO_TASKS, tasks("1"), release, epoch=5))
    assert ("STABLE nothing - nothing", 5) == seen(stepped(group, member, NO_TASKS, NO_TASKS, release, epoch=5))


def seen(member):
    return text(member), member.epoch


def stepped(group, member, target, reports, release, epoch=2):
    return reconcile(group, member, target, epoch, reports, changes_roles=rules_of(release).changes_roles)


def text(member):
    return f"{member.state.name.partition('_')[0]} {member.assigned} - {member.pending_revocation}"
