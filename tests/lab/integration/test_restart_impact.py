"""Real members are restarted, and the plan's figures are what the group did: rebalances, and tasks that moved."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest

from streams_assignor.groups.decoded import assignment_seen, subscription_seen
from streams_assignor.spark_sim.advice.impact import GroupProfile, MeasuredHop, estimate_impact, workload_with
from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.planner import documented_hops
from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.group_log import Generation, generations
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import Group

pytestmark = [
    pytest.mark.broker,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.matrix(reason="three or four minutes each, because restarts wait for sessions of 45 s"),
]

FROM, TO, TASKS = "3.9.2", "4.3.1", 12
INSTANCES = ("a", "b", "c")
KEPT, WIPED, LATE = "kept", "wiped", "late"
EXACT = {KEPT: (3, 0), LATE: (12, 48)}  # new process ids are random, so wiped has a range
SESSION_MS = 45_000


@pytest.fixture(name="group")
def fixture_group(tmp_path: Path) -> Iterator[Group]:
    with ExitStack() as stack:
        try:
            brokers = broker_of(OLDER, tmp_path / "broker", stack)
        except Unavailable as missing:
            pytest.skip(f"no broker: {missing}")
        yield stack.enter_context(Group(brokers, "persistent", tmp_path, TASKS))


def predicted(directories: str) -> MeasuredHop:
    """What the plan says of a restart of this kind."""
    workload = workload_with(TASKS, 1, static=False, ephemeral=directories == WIPED)
    hops = documented_hops(release_named(FROM), release_named(TO))
    found = estimate_impact(hops, GroupProfile(len(INSTANCES), workload, SESSION_MS / 1000))
    back = "only after" if directories == LATE else "before"
    (hop,) = [each for each in found.measured_hops if f"back {back} its session" in each.how]
    return hop


def measured(group: Group, since: int) -> tuple[int, int]:
    """The rebalances after a generation, and how often a task was given to another process than it had."""
    log = {each.number: owners(each) for each in generations(group.brokers, group.topics.application) if each.answered}
    last, moves = log[since], 0
    for number in sorted(number for number in log if number > since):
        moves += sum(last[task] != process for task, process in log[number].items())
        last |= log[number]
    return max(log) - since, moves


def owners(generation: Generation) -> dict[str, UUID]:
    return {
        str(task): subscription_seen(seat.subscription, streams=True).process_id
        for seat in generation.members
        for task in assignment_seen(seat.assignment, streams=True).active
    }


@pytest.mark.parametrize("directories", [KEPT, WIPED, LATE])
def test_the_plan_predicts_what_restarts_of_real_members_cost(group: Group, directories: str, tmp_path: Path) -> None:
    def start(name: str, release: str) -> None:
        state, session = str(tmp_path / "state" / name), str(SESSION_MS)
        settings = {"state.dir": state, "session.timeout.ms": session, "num.standby.replicas": "1"}
        group.start(name, release, **settings)

    def rest() -> None:
        group.settle()
        group.check_that_no_member_rejoins()

    for name in INSTANCES:
        start(name, FROM)
        rest()
    group.count()  # there is state to keep or to lose
    at_rest = generations(group.brokers, group.topics.application)[-1].number

    orphaned = Counter[str]()  # each time for one session
    for name in INSTANCES:
        orphaned.update(group.members[name].tasks)
        group.stop(name)
        if directories == LATE:
            rest()
        if directories == WIPED:
            shutil.rmtree(tmp_path / "state" / name)
        start(name, TO)
        rest()

    plan, (rebalances, moved) = predicted(directories), measured(group, at_rest)
    longest = max(orphaned.values()) * SESSION_MS / 1000
    print(f"{directories}: {rebalances} rebalances, {moved} moves, one task {longest} s without owner; planned {plan}")
    assert plan.least_rebalances <= rebalances <= plan.rebalances
    assert plan.least_moved <= moved <= plan.moved
    assert longest <= plan.longest_s
    if directories in EXACT:
        assert (*EXACT[directories], plan.longest_s) == (rebalances, moved, longest)
