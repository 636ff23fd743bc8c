"""Rolling bounces: the rules that judge them, and real ones on the embedded cluster."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from queue import SimpleQueue

import pytest
from attrs import evolve
from rich.console import Console

from streams_assignor.cli.member import MEMBER_COMMAND
from streams_assignor.demo import load_generator, member_process, runner
from streams_assignor.demo import render as bounce_render
from streams_assignor.demo.load_generator import LoadGenerator, LoadGeneratorError
from streams_assignor.demo.member_process import EventLine, MemberProcess
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.demo.model import (
    DEFAULT_STEPS,
    RELEASES_BY_RULES,
    BounceSettings,
    BounceStep,
    BounceSummary,
    MemberStatus,
    ProcessedOffsets,
    TimelineEntry,
    doubly_owned_task,
    event_text,
    unstable_reasons,
    upgrade_steps,
)
from streams_assignor.demo.runner import BounceError, BounceRunner
from streams_assignor.upgrade import release_named
from tests.each import each_third

ON_THE_MOCK = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

COMMAND = [sys.executable, "-c", "from streams_assignor.cli.main import main; main()", "bounce"]
SECONDS = 120.0

STABLE_MEMBER = MemberStatus(
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
OTHER = evolve(STABLE_MEMBER, name="B", leader=False, active=("0_2",))
TASKS = ("0_0", "0_1", "0_2")
ASSIGNED = {
    "event": "assigned",
    "generation": 7,
    "member_id": "a member",
    "leader": True,
    "version": 2,
    "supported": -1,
    "active": ["0_0"],
    "standby": ["0_1"],
    "rejoin": False,
    "dropped": False,
}


def test_a_stable_group_has_no_unstable_reasons() -> None:
    assert [] == unstable_reasons([STABLE_MEMBER, OTHER], TASKS)
    assert [] == unstable_reasons([STABLE_MEMBER, OTHER], TASKS, expected_version=3)


@pytest.mark.parametrize(
    ("change", "reason"),
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
def test_an_unstable_group_has_a_reason(change: dict[str, object], reason: str) -> None:
    group = [STABLE_MEMBER, evolve(OTHER, **change)]

    assert reason in map(str, unstable_reasons(group, TASKS, expected_version=3))


def test_a_member_without_tasks_need_not_process_anything() -> None:
    idle = evolve(OTHER, active=(), processed=0)

    assert [] == unstable_reasons([STABLE_MEMBER, idle], STABLE_MEMBER.active)


def test_a_task_owned_twice_in_one_generation_is_named() -> None:
    assert doubly_owned_task([STABLE_MEMBER, OTHER]) is None
    assert doubly_owned_task([STABLE_MEMBER, evolve(OTHER, generation=6, active=("0_1",))]) is None
    assert "task 0_1 is owned by A and B in generation 7" == doubly_owned_task(
        [STABLE_MEMBER, evolve(OTHER, active=("0_1",))]
    )


def test_a_status_follows_from_the_events() -> None:
    status = MemberStatus(name="A", process="starting")
    for event in (
        {"event": "started", "release": "2.0.1", "upgrade_from": "1.1", "process_id": "an id"},
        {"event": "subscribed", "used": 2, "supported": 3},
        ASSIGNED,
        {"event": "processed", "partition": "orders-0", "from": 3, "to": 5},
        {"event": "processed", "partition": "orders-0", "from": 6, "to": 6},
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
    revoked = status.after({"event": "revoked", "partitions": ["orders-0"]})
    assert ((), True) == (revoked.active, revoked.rejoining)
    assert status.after({**ASSIGNED, "generation": 8, "rejoin": True}).rejoining
    stopped, failed = {"event": "stopped", "reason": "told to"}, {"event": "failed", "error": "why"}
    assert "stopped" == status.after(stopped).process == status.after(failed).process


def test_lost_and_duplicate_records_are_counted() -> None:
    offsets = ProcessedOffsets()
    for batch in (("t-0", 0, 9), ("t-0", 8, 11), ("t-1", 1, 1)):
        offsets.record(*batch)

    assert (13, 2) == (offsets.processed, offsets.duplicates)
    assert 0 == offsets.lost({"t-0": 12})
    assert 1 + 1 + 4 == offsets.lost({"t-0": 13, "t-1": 2, "t-2": 4})


def test_the_seed_decides_the_orders() -> None:
    orders = [BounceSettings(members=5, seed=seed).bounce_orders() for seed in range(5)]

    assert orders == [BounceSettings(members=5, seed=seed).bounce_orders() for seed in range(5)]
    assert 5 == len({str(order) for order in orders})
    assert {("A", "B", "C", "D", "E")} == {tuple(sorted(order)) for some in orders for order in some}
    assert all(len(DEFAULT_STEPS) == len(some) for some in orders)


@ON_THE_MOCK
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
    assert probing["rejoins"] >= 3, "no member was probed"
    assert {None} == {member["upgrade_from"] for member in second["members"]}


@ON_THE_MOCK
@pytest.mark.slow
def test_a_bounce_shows_the_exchange_of_the_kip() -> None:
    """By the rules of the text; the member that leads is bounced last, so it takes one more rebalance."""
    arguments = ["--rules", "kip-268", "--order", "B,C,A", "--json"]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=4 * SECONDS)

    assert (0, "") == (done.returncode, done.stderr)
    summary = json.loads(done.stdout)
    assert ("finished", 0) == (summary["outcome"], summary["lost"])
    assert ["1.1.1", "kip-268", "kip-268", "kip-268-next"] == [step["step"]["release"] for step in summary["steps"]]
    check_exchange_of_the_kip([line["what"] for line in summary["timeline"]])


def check_exchange_of_the_kip(timeline: list[str]) -> None:
    """A leader answers each of the first two new members; the last rebalance follows from one rejoin."""
    probing = timeline[timeline.index("3 to 4, one bounce: version probing") :]
    answers = [line for line in probing if line.startswith("answers ")]
    followers = [line.partition(", ")[2] for line in probing if "takes only the version" in line]
    rejoins = [line for line in probing if line == "leaves and joins immediately to change its version"]
    assert {EMPTY_ANSWER} == set(answers)
    assert ["version 3, supported 3: takes only the version"] * len(answers) == followers
    assert 2 <= len(answers) < len(rejoins)


EMPTY_ANSWER = "answers 1 member that sent a newer version with an empty assignment: version 3, supported 3"


@pytest.mark.parametrize(
    ("members", "content", "text"),
    [
        (["a"], "empty", "answers 1 member that sent a newer version with an empty assignment: "),
        (["a", "b"], "regular", "answers 2 members that sent a newer version with an assignment: "),
        (["a"], "error", "answers 1 member that sent a newer version with an error code: "),
    ],
)
def test_an_answer_to_a_newer_version_is_in_the_timeline(members: list[str], content: str, text: str) -> None:
    event = {"event": "probed", "members": members, "version": 3, "supported": 3, "content": content}

    assert f"{text}version 3, supported 3" == TimelineEntry(0.5, "A", event).text


def test_an_assignment_that_is_dropped_is_told_apart() -> None:
    dropped = {**ASSIGNED, "leader": False, "version": 3, "supported": 3, "active": [], "dropped": True}

    assert "follows generation 7, version 3, supported 3: takes only the version" == event_text(dropped)
    assert "follows generation 7, version 3, supported 3: owns nothing" == event_text({**dropped, "dropped": False})


@pytest.mark.parametrize("rules", RELEASES_BY_RULES)
def test_a_bounce_ends_on_releases_that_follow_its_rules(rules: str) -> None:
    releases = [release_named(step.release) for step in upgrade_steps(rules)[1:]]

    assert {rules} == {release.rule_set for release in releases}
    assert [3, 3, 4] == [release.supported_version for release in releases]


@ON_THE_MOCK
def test_it_fails_when_the_first_bounce_of_the_two_is_left_out() -> None:
    """KIP-268: a leader of 1.1 cannot read version 3, and fails."""
    steps = (DEFAULT_STEPS[0], BounceStep("2 to 3, at once", "2.0.1", 3))
    settings = BounceSettings(steps=steps, order=("C", "B", "A"), members=3)
    console = Console(force_terminal=True, file=io.StringIO(), width=100, legacy_windows=False)
    with bounce_render.live_display(console) as on_change, BounceRunner(settings, MEMBER_COMMAND, on_change) as bounce:
        with pytest.raises(BounceError, match=r"member \w failed: TaskAssignmentException: unable to decode"):
            bounce.run()
        left = bounce.summary("it failed")
    assert "records produced" in console.file.getvalue()

    assert ("failed", 1) == (left.outcome, len(left.steps))
    assert {"stopped"} == {member.process for member in bounce.members.values()}


@ON_THE_MOCK
def test_a_killed_member_is_named() -> None:
    def kill_a_member(bounce: BounceRunner) -> None:
        if len(bounce.results) == 1 and not killed:
            killed.append(bounce._processes["A"].pid)
            os.kill(killed[0], signal.SIGKILL)

    killed: list[int] = []

    with (
        BounceRunner(BounceSettings(members=2, order=("B", "A")), MEMBER_COMMAND, kill_a_member) as bounce,
        pytest.raises(BounceError, match="member A failed: exit status -9"),
    ):
        bounce.run()

    assert {"stopped"} == {member.process for member in bounce.members.values()}


@ON_THE_MOCK
def test_a_group_that_does_not_become_stable_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_STABLE_TIMEOUT_SECONDS", 0)

    with BounceRunner(BounceSettings(members=1), MEMBER_COMMAND) as bounce, pytest.raises(BounceError) as failed:
        bounce.run()

    assert ": it does not finish: member A is starting" in str(failed.value)


def test_a_task_that_is_owned_twice_ends_the_bounce() -> None:
    bounce = BounceRunner(BounceSettings(members=2), MEMBER_COMMAND)
    bounce._process_event("A", ASSIGNED)

    with pytest.raises(BounceError, match="task 0_0 is owned by A and B in generation 7"):
        bounce._process_event("B", ASSIGNED)


def a_process(program: str, events: SimpleQueue[EventLine | None]) -> MemberProcess:
    """Python instead of a member; the settings are its arguments."""
    settings = MemberSettings(bootstrap_servers="a:1", group="g", topic=("t",))
    return MemberProcess([sys.executable, "-u", "-c", program], settings, events.put)


def test_a_member_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_process, "_STOP_TIMEOUT_SECONDS", 0.1)
    events: SimpleQueue[EventLine | None] = SimpleQueue()
    deaf = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"event": "rejoin", "time": 1.5, "how": "keep_member_id"}')
time.sleep(600)
"""
    process = a_process(deaf, events)
    assert "rejoin" == events.get(timeout=SECONDS)["event"]

    process.stop()
    process.wait()

    assert "exit status -9" == process.exit_description()
    assert events.get(timeout=SECONDS) is None


def test_a_line_that_is_no_event_is_a_failure_of_the_member() -> None:
    events: SimpleQueue[EventLine | None] = SimpleQueue()
    process = a_process("print('Segmentation fault')", events)
    process.wait()

    assert "failed" == events.get(timeout=SECONDS)["event"]
    assert events.get(timeout=SECONDS) is None


def test_records_that_the_cluster_does_not_take_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_generator, "_ACK_TIMEOUT_SECONDS", 0.1)
    with LoadGenerator("127.0.0.1:1", "orders", 1, 1000) as load:
        while not len(load._producer):
            time.sleep(0.01)
    with pytest.raises(LoadGeneratorError, match=r"orders: \d+ records were not acknowledged"):
        load.stop()

    load._producer.purge()
    with pytest.raises(LoadGeneratorError, match=r"orders: .*Purged in queue"):
        load.stop()


@ON_THE_MOCK
def test_ctrl_c_stops_all_members() -> None:
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


@ON_THE_MOCK
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
    each_third(
        [
            (["--bootstrap-servers", "127.0.0.1:1"], 1, "no broker answers at 127.0.0.1:1"),
            (["--order", "A,B"], 2, "must name each of A, B, C once"),
            (["--members", "0"], 2, "--members"),
            (["--rules", "kip-584"], 2, "'kip-584' is not one of 'today', 'kip-268'"),
            (["--records-per-second", "0"], 2, "--records-per-second"),
        ]
    ),
)
def test_an_error_is_one_line(arguments: list[str], status: int, problem: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=SECONDS)

    assert status == done.returncode
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_gets_the_timeline_of_a_failed_bounce_too() -> None:
    ours, theirs = pty.openpty()
    arguments = [*COMMAND, "--bootstrap-servers", "127.0.0.1:1"]
    with subprocess.Popen(arguments, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        written = b""
        with suppress(OSError):  # all its writers are gone
            while more := os.read(ours, 65536):
                written += more
        os.close(ours)

        assert "failed after " in process.stderr.read()
        assert 1 == process.wait(SECONDS)
    assert b"Timeline" in written


def test_the_table_fits_a_narrow_terminal() -> None:
    full = evolve(STABLE_MEMBER, release="streams-assignor-3", upgrade_from="1.1", standby=("0_2", "0_5"))
    lines = render(bounce_render.member_table([full, evolve(OTHER, rejoining=True), MemberStatus(name="C")]))

    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for word in ("streams-assignor", "upgrade.from=1.1", "3/3", "leader", "follower", "0_0 0_1", "0_2 0_5", "joining"):
        assert word in text


def test_the_summary_shows_timeline_and_outcome() -> None:
    summary = BounceSummary(
        outcome="finished",
        seconds=12.5,
        steps=(),
        produced=10,
        processed=10,
        duplicates=3,
        lost=0,
        timeline=(
            TimelineEntry(0.25, "", {"event": "step", "title": "start"}),
            TimelineEntry(1.5, "A", {"event": "stopped"}),
            TimelineEntry(1.75, "B", {"event": "failed", "error": "no tasks"}),
        ),
    )
    text = "\n".join(render(bounce_render.render_summary(summary)))

    assert text.index("0.25") < text.index("start") < text.index("1.50") < text.index("leaves")
    assert text.index("leaves") < text.index("1.75") < text.index("fails: no tasks")
    assert "10 records, 0 lost, 3 processed twice" in bounce_render.outcome_line(summary)
    assert "failed after 12.5 s: why" == bounce_render.outcome_line(evolve(summary, problem="why"))


def render(what: object) -> list[str]:
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(what)
    return [line.rstrip() for line in captured.get().splitlines()]


def children_of_a_bounce(parent: int) -> list[int]:
    """Process ids of the members that a bounce started."""
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
    return [
        int(pid) for pid, ppid, arguments in rows if int(ppid) == parent and "streams_assignor.cli.member" in arguments
    ]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
