"""Real eager members report tasks that they have suspended for a rebalance; ours of their release report the same."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from streams_assignor import StreamsAssignor
from streams_assignor.codec import Subscription, decode_subscription
from streams_assignor.codec.consumer_protocol import decode_consumer_subscription
from streams_assignor.upgrade import StreamsConfig
from streams_assignor.upgrade.hazards import HAZARDS
from tests.lab.integration.group_log import StoredMember, generations
from tests.lab.integration.peers import Group
from tests.lab.integration.topologies import topology

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

EAGER = {"upgrade.from": "2.3"}
TESTED_WITH_A_GROUP = {"tasks-leave-new-members", "tasks-go-back-too-early"}
DEALS_TASKS = "tasks-dealt-without-lags"
"""The hazard of a group of new members alone."""
KEEPS_NOTHING = {frozenset(row.seen) for row in HAZARDS if row.name in TESTED_WITH_A_GROUP}


@pytest.fixture(name="group")
def fixture_group(broker: str, tmp_path: Path) -> Iterator[Group]:
    with ExitStack() as stack:
        yield stack.enter_context(Group(broker, "stateful", tmp_path))


def userdata(member: StoredMember) -> Subscription:
    decoded = decode_subscription(decode_consumer_subscription(member.subscription).user_data)
    assert isinstance(decoded, Subscription)
    return decoded


def reported(sent: Subscription) -> tuple[set[str], set[str], dict[str, int]]:
    """Return what it says of tasks, whatever the order."""
    return (
        set(map(str, sent.prev_tasks)),
        set(map(str, sent.standby_tasks)),
        {str(task): offset_sum for task, offset_sum in sent.task_offset_sums},
    )


@pytest.mark.parametrize(
    ("release", "beside", "version"),
    [
        ("2.6.3", "2.3.1", 4),
        ("3.9.2", "2.3.1", 4),
        ("2.6.3", "2.8.2", 8),
        ("2.8.2", "3.9.2", 9),
        ("3.9.2", "3.9.2", 11),
    ],
)
def test_an_eager_member_reports_its_suspended_tasks_as_state(
    group: Group, release: str, beside: str, version: int
) -> None:
    group.start("a", release, **EAGER)
    group.settle()
    group.count()
    group.start("b", beside, **({} if beside == "2.3.1" else EAGER))
    group.eventually(lambda: bool(group.members["b"].tasks), lambda: "b gets no task")
    group.settle(all_members=False)
    group.check_that_no_member_rejoins()

    log = [generation for generation in generations(group.brokers, group.topics.application) if generation.answered]
    seats = [seat for generation in log for seat in generation.members if seat.name == "a"]
    ours = StreamsAssignor(
        topology(group.topics),
        StreamsConfig(upgrade_from="2.3"),
        process_id=UUID(bytes=userdata(seats[0]).process_id.bytes),
        release=release,
    )
    checked = set()
    for before, after in pairwise(seats):
        ours.on_assignment(before.assignment)
        sent = userdata(after)
        running, state, sums = reported(sent)
        assert before.active <= (state if sent.version < 7 else sums.keys())
        assert set() == running
        assert all(offset_sum >= 0 for offset_sum in sums.values())
        known = dict(sent.task_offset_sums)
        same = decode_subscription(
            decode_consumer_subscription(
                ours.subscription(offset_sums=known or dict.fromkeys(sent.standby_tasks, 0))
            ).user_data
        )
        assert isinstance(same, Subscription)
        assert (sent.version, reported(sent)) == (same.version, reported(same))
        checked.add(sent.version)
    assert version in checked
    keeps_nothing = frozenset((release, beside)) in KEEPS_NOTHING
    assert keeps_nothing == (not group.members["a"].tasks)
    group.stop("b")
    group.eventually(lambda: bool(group.members["a"].tasks), lambda: "a gets no task when b has gone")


@pytest.mark.parametrize(
    ("origin", "release", "dealt"), [("1.1.1", "2.8.2", True), ("2.3.1", "2.8.2", False), ("1.1.1", "3.9.2", False)]
)
def test_new_members_with_a_pinned_version_are_dealt_tasks_that_another_one_has(
    group: Group, origin: str, release: str, dealt: bool
) -> None:
    """The first bounce has ended when ``b`` comes; the lag of one who has nothing of a task is not acceptable."""
    given = {"upgrade.from": origin.rpartition(".")[0], "acceptable.recovery.lag": "0"}
    group.start("old", origin)
    group.settle()
    group.count()
    group.start("a", release, **given)
    group.settle(all_members=False)
    group.stop("old")
    group.settle()
    group.count()
    group.start("b", release, **given)

    def both() -> list[StoredMember]:
        log = [generation for generation in generations(group.brokers, group.topics.application) if generation.answered]
        return [seat for seat in log[-1].members if {"a", "b"} == {seat.name for seat in log[-1].members}]

    group.eventually(lambda: bool(both()), lambda: "b does not join")
    assert dealt == any(seat.active for seat in both() if seat.name == "b")
    assert dealt == any(row.name == DEALS_TASKS and row.seen == (origin, release) for row in HAZARDS)
