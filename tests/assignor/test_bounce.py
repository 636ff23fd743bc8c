"""A rolling bounce: how what is known is judged, and real ones on the embedded cluster."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from attrs import evolve
from rich.console import Console

from assignor.bouncing import view
from assignor.bouncing.run import Bounce, BounceFailed
from assignor.bouncing.story import (
    STEPS,
    BounceSettings,
    Ledger,
    MemberStatus,
    Moment,
    Step,
    Summary,
    complaints,
    owned_twice,
)
from assignor.member_process import Assigned, Failed, Processed, Revoked, Started, Stopped, Subscribed

COMMAND = [sys.executable, "-c", "from assignor.cli import main; main()", "bounce"]
SECONDS = 120.0

SETTLED = MemberStatus(
    name="A",
    process="running",
    release="2.0.1",
    used=3,
    supported=3,
    leader=True,
    generation=7,
    active=("0_0", "0_1"),
    rejoining=False,
    processed=5,
)
OTHER = evolve(SETTLED, name="B", leader=False, active=("0_2",))
TASKS = ("0_0", "0_1", "0_2")


def test_a_settled_group_gives_nothing_to_complain() -> None:
    assert [] == complaints([SETTLED, OTHER], TASKS)
    assert [] == complaints([SETTLED, OTHER], TASKS, version=3)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"process": "starting"}, "member B is starting"),
        ({"process": "stopped"}, "member B is stopped"),
        ({"rejoining": True}, "member B is rebalancing"),
        ({"generation": None}, "member B is rebalancing"),
        ({"generation": 8}, "member B is rebalancing"),
        ({"processed": 0}, "member B does not process records"),
        ({"used": 2}, "member B uses metadata version 2, not 3"),
        ({"active": ()}, "tasks are owned as 0_0, 0_1"),
        ({"active": ("0_1", "0_2")}, "tasks are owned as 0_0, 0_1, 0_1, 0_2"),
    ],
)
def test_a_group_that_has_not_settled_gives_reason_to_complain(change: dict[str, object], complaint: str) -> None:
    assert complaint in complaints([SETTLED, evolve(OTHER, **change)], TASKS, version=3)


def test_a_member_without_tasks_need_not_process_anything() -> None:
    idle = evolve(OTHER, active=(), processed=0)

    assert [] == complaints([SETTLED, idle], SETTLED.active)


def test_a_task_owned_twice_in_one_generation_is_named() -> None:
    assert owned_twice([SETTLED, OTHER]) is None
    assert owned_twice([SETTLED, evolve(OTHER, generation=6, active=("0_1",))]) is None
    assert "task 0_1 is owned by A and B in generation 7" == owned_twice([SETTLED, evolve(OTHER, active=("0_1",))])


def test_a_member_is_what_its_events_say() -> None:
    status = MemberStatus(name="A", process="starting")
    for event in (
        Started("2.0.1", "1.1", "an id"),
        Subscribed(2, 3),
        Assigned(7, "a member", True, 2, -1, ["0_0"], ["0_1"], False),
        Processed("orders-0", 3, 5),
        Processed("orders-0", 6, 6),
    ):
        status = status.after(event)

    assert status == MemberStatus(
        name="A",
        process="running",
        release="2.0.1",
        upgrade_from="1.1",
        used=2,
        supported=3,
        leader=True,
        generation=7,
        active=("0_0",),
        standby=("0_1",),
        rejoining=False,
        processed=4,
    )
    assert ((), True) == (status.after(Revoked(["orders-0"])).active, status.after(Revoked(["orders-0"])).rejoining)
    assert status.after(Assigned(8, "a member", True, 2, -1, ["0_0"], [], True)).rejoining
    assert "stopped" == status.after(Stopped("told to")).process == status.after(Failed("why")).process


def test_the_ledger_knows_what_was_lost_and_what_came_twice() -> None:
    ledger = Ledger()
    for event in (Processed("t-0", 0, 9), Processed("t-0", 8, 11), Processed("t-1", 1, 1)):
        ledger.enter(event)

    assert (13, 2) == (ledger.processed, ledger.duplicates)
    assert 0 == ledger.lost({"t-0": 12})
    assert 1 + 1 + 4 == ledger.lost({"t-0": 13, "t-1": 2, "t-2": 4})


def test_the_seed_decides_the_orders() -> None:
    orders = [BounceSettings(members=5, seed=seed).orders() for seed in range(5)]

    assert orders == [BounceSettings(members=5, seed=seed).orders() for seed in range(5)]
    assert 5 == len({str(order) for order in orders})
    assert {("A", "B", "C", "D", "E")} == {tuple(sorted(order)) for some in orders for order in some}
    assert all(len(STEPS) == len(some) for some in orders)


@pytest.mark.slow
def test_it_finishes_both_upgrades() -> None:
    """Version 2 to 3 in two bounces, 3 to 4 in one, with records: the whole command, once."""
    done = subprocess.run([*COMMAND, "--json", "--seed", "5"], capture_output=True, text=True, timeout=4 * SECONDS)

    assert (0, "") == (done.returncode, done.stderr)
    summary = json.loads(done.stdout)
    start, first, second, probing = summary["steps"]
    assert "finished" == summary["outcome"]
    assert 0 == summary["lost"]
    assert 500 < summary["produced"] == summary["processed"]
    assert [2, 2, 3, 4] == [step["step"]["version"] for step in summary["steps"]]
    for step in summary["steps"]:
        assert {step["step"]["version"]} == {member["used"] for member in step["members"]}
        assert [f"0_{number}" for number in range(6)] == sorted(
            task for member in step["members"] for task in member["active"]
        )
    assert {"1.1"} == {member["upgrade_from"] for member in first["members"]}
    assert {"simulated-4"} == {member["release"] for member in probing["members"]}
    # Without the second step there would be nothing to probe: version 2 says nothing about what a group supports.
    assert 0 == start["rejoins"] == first["rejoins"]
    assert probing["rejoins"] >= 3, "sometimes: nobody was probed"
    assert {None} == {member["upgrade_from"] for member in second["members"]}


def test_it_fails_when_the_first_bounce_of_the_two_is_left_out() -> None:
    """KIP-268: a member of 1.1 that leads cannot read version 3, and dies."""
    steps = (STEPS[0], Step("2 to 3, at once", "2.0.1", 3))
    with Bounce(BounceSettings(steps=steps, order=("C", "B", "A"), members=3)) as bounce:
        with pytest.raises(BounceFailed, match=r"member \w died: TaskAssignmentException: unable to decode"):
            bounce.run()
        left = bounce.summary("it failed")

    assert ("failed", 1) == (left.outcome, len(left.steps))
    assert {"stopped"} == {member.process for member in bounce.members.values()}


def test_it_says_who_died_of_something_that_is_not_the_protocol() -> None:
    def kill_a_member(bounce: Bounce) -> None:
        if len(bounce.results) == 1 and not killed:
            killed.append(bounce._processes["A"]._process.pid)
            os.kill(killed[0], signal.SIGKILL)

    killed: list[int] = []

    with (
        Bounce(BounceSettings(members=2, order=("B", "A")), kill_a_member) as bounce,
        pytest.raises(BounceFailed, match="member A died: exit status -9"),
    ):
        bounce.run()

    assert {"stopped"} == {member.process for member in bounce.members.values()}


def test_ctrl_c_leaves_nothing_running() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not any("owns 0_" in line for line in lines):
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        errors = process.stderr.read()

        assert 130 == process.wait(SECONDS)
    assert ["interrupted"] == errors.split()
    assert [] == children_of_a_bounce(process.pid)


def test_members_end_when_their_bounce_is_killed() -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        while "all use metadata version 2" not in process.stdout.readline():
            pass
        members = children_of_a_bounce(process.pid)
        process.kill()
    deadline = time.monotonic() + SECONDS
    while left := [member for member in members if is_running(member)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.1)

    assert 3 == len(members)


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--bootstrap-servers", "127.0.0.1:1"], 1, "no broker answers at 127.0.0.1:1"),
        (["--order", "A,B"], 2, "must name each of A, B, C once"),
        (["--members", "0"], 2, "--members"),
        (["--records-per-second", "0"], 2, "--records-per-second"),
    ],
)
def test_it_says_what_is_wrong(arguments: list[str], status: int, problem: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=SECONDS)

    assert status == done.returncode
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_the_table_fits_a_narrow_terminal() -> None:
    full = evolve(SETTLED, release="streams-assignor-3", upgrade_from="1.1", standby=("0_2", "0_5"))
    lines = render(view.member_table([full, evolve(OTHER, rejoining=True), MemberStatus(name="C")]))

    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for word in ("streams-assignor", "upgrade.from=1.1", "3/3", "leader", "follower", "0_0 0_1", "0_2 0_5", "joining"):
        assert word in text


def test_the_timeline_and_the_verdict_tell_the_story() -> None:
    summary = Summary(
        outcome="finished",
        seconds=12.5,
        steps=(),
        produced=10,
        processed=10,
        duplicates=3,
        lost=0,
        timeline=(Moment(0.25, "", "start"), Moment(1.5, "A", "leaves")),
    )
    text = "\n".join(render(view.story(summary)))

    assert text.index("0.25") < text.index("start") < text.index("1.50") < text.index("leaves")
    assert "10 records, 0 lost, 3 processed twice" in view.verdict(summary)
    assert "failed after 12.5 s: why" == view.verdict(evolve(summary, problem="why"))


def render(what: object) -> list[str]:
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(what)
    return [line.rstrip() for line in captured.get().splitlines()]


def children_of_a_bounce(parent: int) -> list[int]:
    """Process ids of the members a bounce has started: they carry its name for the group in their arguments."""
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
    return [int(pid) for pid, ppid, arguments in rows if int(ppid) == parent and "assignor.cli.member" in arguments]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
