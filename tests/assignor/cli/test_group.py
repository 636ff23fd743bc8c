"""``streams-assignor group`` with a fake lookup; tests/lab/integration has real clusters."""

import io
import json
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from attrs import evolve
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from rich.console import Console

from streams_assignor.cli.group import _cells, _look, _tables, command, watch
from streams_assignor.cli.main import cli
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import ClusterGroups, DescribedGroupMember, NoSuchGroup, _restart, inspect_group
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.groups.described_group import GroupOffsets
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable
from streams_assignor.upgrade.releases import NEWEST
from tests.assignor.groups.described_groups import (
    assigned,
    broker_assigned,
    group,
    member,
    of_range,
    streams_group,
)

ALL = assigned("0_0 0_1 1_0 1_1")
BROKER = ("--bootstrap-servers", "a:1")
FINE = member("a", active="0_0")
GOOD = group(FINE, member("b", active="0_1"))
BAD = group(member("a", active="0_0"), member("b", active="0_0"))


class Lookup:
    """A fake client: returns each answer once, and then always the last one; an exception is raised."""

    answers = (GOOD,)
    known = ()
    read = {}  # noqa: RUF012 - a test sets it on its own class

    def __init__(self, bootstrap, settings, seconds):
        self.to = (bootstrap, dict(settings), seconds)
        self.asked = []
        self._left = list(self.answers)
        Lookup.last = self

    def group(self, name):
        self.asked.append(name)
        answer = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def offsets(self, requests, report):
        report("asked")
        self.requests = requests
        return self.read

    def names(self):
        if isinstance(self.known, Exception):
            raise self.known
        return self.known

    def groups(self):
        answer = self.group(None)
        if isinstance(answer, ClusterGroups):
            return answer
        return ClusterGroups(groups=tuple(answer if isinstance(answer, list) else [answer]))


@pytest.fixture(name="lookup", autouse=True)
def fixture_lookup(monkeypatch):
    """The class of the lookup, for tests that change its answers; `last` is the last instance."""
    one = type("OneLookup", (Lookup,), {})
    monkeypatch.setattr(group_lookup, "GroupLookup", one)
    monkeypatch.setattr(command, "WATCH_SECONDS", 0.0)
    return one


@pytest.fixture(name="run")
def fixture_run():
    """Runs the command itself."""
    from streams_assignor.cli.group.command import group as it

    def run(*arguments, width="100", environment=None):
        return CliRunner(env={"COLUMNS": width, "KAFKA_BOOTSTRAP_SERVERS": environment}).invoke(it, arguments)

    return run


def test_it_shows_a_group(run, lookup):
    done = run("app", *BROKER)

    assert (0, "") == (done.exit_code, done.stderr)
    assert "app  Stable  stream" in done.stdout
    assert "all on version 11" in done.stdout
    assert "active 0_1" in done.stdout
    assert (["app"], ("a:1", {}, 10.0)) == (lookup.last.asked, lookup.last.to)


def test_json_is_the_object_of_the_guide(run):
    found = json.loads(run("app", *BROKER, "--json").stdout)

    progress, lag = found.pop("progress"), found.pop("lag")
    assert lag is None
    assert inspect_group(GOOD).as_json() == found
    assert "all 2 members on 3.4.0 or newer; no rebalance is due" == progress["text"]


def test_all_groups_are_a_table_or_a_list(run, lookup):
    lookup.answers = ([GOOD, group(name="empty", state="Empty", protocol="")],)

    shown = run("--all", *BROKER).stdout
    assert ["app", "empty"] == [line.split()[0] for line in shown.splitlines()[3:5]]
    assert "2 × 11" in shown
    assert ["app", "empty"] == [each["group"] for each in json.loads(run("--all", *BROKER, "--json").stdout)]


def test_a_cluster_without_groups_has_the_head_of_the_table(run, lookup):
    lookup.answers = ([],)

    assert run("list", *BROKER).stdout.split()[:2] == ["group", "type"]


def test_the_name_of_a_group_is_in_one_line_of_80_columns(run, lookup):
    name = "payments-enrichment-prod"
    lookup.answers = ([group(name=name, state="PreparingRebalance", protocol="cooperative-sticky"), GOOD],)

    shown = run("--all", *BROKER, width="80").stdout
    assert name in shown
    assert {"type", "members", "lag", "problems"} <= {*shown.split()}


@pytest.mark.parametrize(("raw", "flags", "status"), [(GOOD, ["--check"], 0), (BAD, ["--check"], 1), (BAD, [], 0)])
def test_only_check_makes_a_problem_an_exit_status(run, lookup, raw, flags, status):
    lookup.answers = (raw,)

    done = run("app", *BROKER, *flags)

    assert status == done.exit_code
    assert ("! task 0_0 is active twice" in done.stdout) == (raw is BAD)


@pytest.mark.parametrize(
    ("error", "output"),
    [
        (NoSuchGroup("no group 'app' at a:1, its coordinator"), "Error: no group 'app' at a:1, its coordinator\n"),
        (Unreachable("a:1: no answer"), "Error: a:1: no answer\n"),
        (
            ApiError(30, "GROUP_AUTHORIZATION_FAILED", "Not authorized."),
            "Error: GROUP_AUTHORIZATION_FAILED: Not authorized. (describing a group needs DESCRIBE on it)\n",
        ),
        (ApiError(15, "COORDINATOR_NOT_AVAILABLE", "Not yet."), "Error: COORDINATOR_NOT_AVAILABLE: Not yet.\n"),
    ],
)
def test_an_error_of_the_cluster_is_one_line(run, lookup, error, output):
    lookup.answers = (error,)

    done = run("app", *BROKER)

    assert (1, "", output) == (done.exit_code, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (("billing", "payments"), ""),
        (("application", "apps", "ap\x1b"), "; did you mean apps or ap\\x1b?"),
        (Unreachable("a:1: no answer"), ""),
    ],
)
def test_a_group_that_does_not_exist_names_the_nearest(run, lookup, known, hint):
    lookup.answers, lookup.known = (NoSuchGroup("no group 'app' at a:1"),), known

    assert (1, f"Error: no group 'app' at a:1{hint}\n") == ((done := run("app", *BROKER)).exit_code, done.stderr)
    waited = run("app", *BROKER, "--wait", "stable", "--members", "1", "--timeout", "0.1", "--interval", "0.1")
    assert (124, f"no group 'app' at a:1{hint}") == (waited.exit_code, waited.stderr.strip().rpartition(" s: ")[2])
    waited = run("app", *BROKER, "--wait", "empty")
    why = f"no group 'app' at a:1{hint}; it may have been deleted, or have another name"
    assert (1, f"Error: cannot tell whether app is empty: {why}\n") == (waited.exit_code, waited.stderr)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ((), "expected either the NAME of a group or --all"),
        (("app", "--all"), "expected either the NAME of a group or --all"),
        (("app",), "expected --bootstrap-servers, or bootstrap.servers in the file of --command-config"),
        (("app", *BROKER, "--command-config", "/nowhere"), "'/nowhere' does not exist"),
        (("app", *BROKER, "--timeout", "0"), "--timeout"),
        (("app", "--bootstrap-servers", "a:1,b"), "expected HOST:PORT,..., got 'b'"),
        (("app\udcff", *BROKER), "expected text in UTF-8, got 'app\\udcff'"),
    ],
)
def test_wrong_usage_is_an_error(run, arguments, output):
    done = run(*arguments)

    assert 2 == done.exit_code
    assert output in done.stderr


def test_the_command_config_is_used_to_connect(run, lookup, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b:2\nsecurity.protocol=SSL\ndefault.api.timeout.ms=3000\n")

    assert 0 == run("app", "--command-config", str(file)).exit_code
    assert ("b:2", {"security_protocol": "SSL"}, 3.0) == lookup.last.to
    assert 0 == run("app", "--command-config", str(file), *BROKER, "--timeout", "2.5").exit_code
    assert ("a:1", {"security_protocol": "SSL"}, 2.5) == lookup.last.to


def test_an_unknown_key_of_the_command_config_is_rejected(run, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("ssl.what=hunter2\n")

    done = run("app", *BROKER, "--command-config", str(file))
    assert 2 == done.exit_code
    assert "key 1 of the file, which begins with ssl., is not supported here" in done.stderr
    assert "hunter2" not in done.stderr


# -- watching --------------------------------------------------------------------------------------------------------

STOP = KeyboardInterrupt()
REBALANCING = group(name="app", state="PreparingRebalance", protocol="")


def test_watching_a_streams_group_says_that_a_static_member_is_away_and_back(run, lookup, monkeypatch):
    """It returns under another member id, and a warm-up becomes active."""
    monkeypatch.setattr(watch, "CONFIRM_SECONDS", 0.0)
    one = broker_assigned("a", assigned("0_0 0_1", warm_up="1_0"))
    there, away, back = (
        streams_group(one, broker_assigned(name, assigned("1_0 1_1"), epoch=epoch, instance="pod-2"), state=state)
        for name, epoch, state in (("b", 1, "Stable"), ("b", -2, "Reconciling"), ("c", 1, "Stable"))
    )
    warm = streams_group(broker_assigned("a", ALL), broker_assigned("c", instance="pod-2"))
    lookup.answers = (there, away, back, warm, STOP)

    done = run("app", *BROKER, "--watch", width="200")

    assert 0 == done.exit_code
    assert [
        "Stable with 2 members",
        "Stable → Reconciling",
        "problem: pod-2 (10.0.0.1) is a static member that has left for a while: nobody works on 1_0 and 1_1 until it "
        "returns or its session ends",
        "Reconciling → Stable",
        "replaced: pod-2 (10.0.0.1, b → c)",
        "solved: pod-2 (10.0.0.1) is a static member that has left for a while: nobody works on 1_0 and 1_1 until it "
        "returns or its session ends",
        "task 1_0: pod-2 (10.0.0.1) → app-a (10.0.0.1, a)",
        "task 1_1: pod-2 (10.0.0.1) → app-a (10.0.0.1, a)",
    ] == [line[10:] for line in done.stdout.splitlines()]


def test_watching_prints_changes_until_ctrl_c(run, lookup):
    moved = group(member("a"), member("b", active="0_0 0_1"))
    away = Unreachable("a:1: no answer")
    lookup.answers = (GOOD, GOOD, REBALANCING, away, away, moved, STOP)

    done = run("watch", "app", *BROKER)

    assert 0 == done.exit_code
    assert [
        "Stable with 2 members",
        "Stable → PreparingRebalance",
        "a:1: no answer",
        "the brokers answer again",
        "PreparingRebalance → Stable",
        "task 0_0: app-a (10.0.0.1, 61000000) → app-b (10.0.0.1, 62000000)",
    ] == [line.partition("  ")[2] for line in done.stdout.splitlines()]


def test_watching_all_names_the_groups(run, lookup):
    lookup.answers = ([GOOD], [], STOP)

    done = run("watch", *BROKER)

    assert ["app: Stable with 2 members", "app: gone"] == [line[10:] for line in done.stdout.splitlines()]


def test_watching_as_json_prints_a_line_per_refresh(run, lookup):
    lookup.answers = (GOOD, Unreachable("a:1: no answer"), BAD, STOP)

    done = run("app", *BROKER, "--watch", "--json", "--check")

    first, away, second = map(json.loads, done.stdout.splitlines())
    assert 1 == done.exit_code, "as of the last refresh"
    assert {"time", "progress", "lag", *inspect_group(GOOD).as_json()} == set(first) == set(second)
    assert {"time", "error", "message"} == set(away)
    assert ("Unreachable", "a:1: no answer") == (away["error"], away["message"])


def test_all_groups_as_json_are_in_one_object_a_line(run, lookup):
    lookup.answers = ([GOOD], STOP)

    (line,) = run("--all", *BROKER, "--watch", "--json").stdout.splitlines()
    assert [inspect_group(GOOD).as_json()] == [without_progress(each) for each in json.loads(line)["groups"]]


def without_progress(found):
    return {key: value for key, value in found.items() if key not in ("progress", "lag")}


def test_a_terminal_is_redrawn_with_the_changes_below():
    console = Console(force_terminal=True, width=80, height=40, record=True, legacy_windows=False)
    with _tables.live_display(console) as draw:
        draw(_tables.render_group(inspect_group(GOOD), "well"), ["one"])
        draw(_tables.render_group(inspect_group(BAD), "not well"), ["two"])
    shown = console.export_text()

    assert shown.index("one") < shown.index("two")
    assert "is active twice" in shown


def test_without_a_terminal_only_the_changes_are_printed():
    console = Console(file=io.StringIO(), width=80)
    with _tables.live_display(console) as draw:
        draw(_tables.render_group(inspect_group(GOOD), "well"), ["one"])
        draw(_tables.render_group(inspect_group(GOOD), "well"), [])

    assert ["one"] == [line.split()[-1] for line in console.file.getvalue().splitlines()]


@pytest.mark.unmeasured
def test_ctrl_c_at_a_terminal_is_status_0_for_the_whole_script():
    """Watching continues until Ctrl-C, also while no broker answers."""
    script = "from streams_assignor.cli.main import main; main()"
    arguments = ["group", "app", "--bootstrap-servers", "127.0.0.1:1", "--watch", "--timeout", "1"]
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        line = process.stdout.readline()
        process.send_signal(2)

    assert "127.0.0.1:1" in line
    assert 0 == process.returncode


@pytest.mark.unmeasured
@pytest.mark.parametrize("which", ["app", "--all"])
def test_a_silent_broker_is_an_error_after_the_timeout(which):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        script = "from streams_assignor.cli.main import main; main()"
        arguments = ["group", which, "--bootstrap-servers", address, "--timeout", "1"]
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120)

    assert (1, "") == (done.returncode, done.stdout)
    (error,) = [line for line in done.stderr.splitlines() if not line.startswith("group: at work")]
    assert error.startswith(f"Error: {address}: ")


# -- monitoring must not be green when blind --------------------------------------------------------------------------

HIDDEN = group(name="hidden", protocol="", error="GROUP_AUTHORIZATION_FAILED: Not authorized to access group")


@pytest.mark.parametrize("flags", [(), ("--check",)])
def test_a_listed_group_without_description_is_a_problem(run, lookup, flags):
    """It was "Stable, 0 members, 0 problems" with status 0."""
    lookup.answers = ([GOOD, HIDDEN],)

    done = run("--all", *BROKER, *flags)

    assert 1 == done.exit_code
    row = next(line.split() for line in done.stdout.splitlines() if "hidden" in line)
    assert ["hidden", "classic", "Stable", "consumer", "?", "1"] == row


def test_a_stable_group_without_members_is_a_problem(run, lookup):
    lookup.answers = (group(type="consumer", protocol=""),)

    done = run("app", *BROKER, "--check")

    assert 1 == done.exit_code
    assert "! not described: the broker lists the group as Stable and shows no members" in done.stdout


@pytest.mark.parametrize("flags", [(), ("--check",), ("--json", "--check")])
def test_one_unreachable_broker_does_not_hide_the_groups_of_others(run, lookup, flags):
    lookup.answers = (ClusterGroups(groups=(GOOD,), failures=("broker 2: b:2: refused",)),)

    done = run("list", *BROKER, *flags)

    assert (1, "note: broker 2: b:2: refused; its groups are not shown\n") == (done.exit_code, done.stderr)
    assert "app" in done.stdout


@pytest.mark.parametrize(("flags", "status"), [((), 0), (("--check",), 1)])
def test_watching_that_never_reached_a_broker_is_not_green(run, lookup, flags, status):
    lookup.answers = (Unreachable("a:1: no answer"), STOP)

    assert status == run("app", *BROKER, "--watch", *flags).exit_code


def test_watching_that_lost_its_broker_is_not_green(run, lookup):
    lookup.answers = (GOOD, Unreachable("a:1: no answer"), STOP)

    assert 1 == run("app", *BROKER, "--watch", "--check").exit_code


def test_watching_names_the_problems_that_check_exits_for(run, lookup):
    lookup.answers = (GOOD, BAD, REBALANCING, BAD, GOOD, BAD, STOP)

    done = run("app", *BROKER, "--watch", "--check")

    problems = [line.partition("  ")[2] for line in done.stdout.splitlines() if "active twice" in line]
    twice = "task 0_0 is active twice, on app-a (10.0.0.1, 61000000) and app-b (10.0.0.1, 62000000)"
    assert [f"problem: {twice}", f"solved: {twice}", f"problem: {twice}"] == problems
    assert 1 == done.exit_code


def test_watching_all_names_brokers_that_do_not_answer(run, lookup):
    failing = ClusterGroups(groups=(GOOD,), failures=("broker 2: refused",))
    lookup.answers = (failing, failing, [GOOD], STOP)

    lines = [line[10:] for line in run("--all", *BROKER, "--watch", "--check").stdout.splitlines()]

    assert ["app: Stable with 2 members", "problem: broker 2: refused", "solved: broker 2: refused"] == lines


LAST_STEP = group(member("a", 9, 11, active="0_0", answered=9), member("b", 9, 11, active="0_1", answered=9))


def test_a_transient_problem_that_ends_is_no_problem(run, lookup):
    """The last step of an upgrade takes one rebalance."""
    lookup.answers = (LAST_STEP, LAST_STEP, REBALANCING, GOOD)

    done = run("app", *BROKER, "--check")

    assert 0 == done.exit_code
    assert "all 2 members on 3.4.0 or newer" in done.stdout, "the last look; while it rebalanced, nothing was shown"


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch):
    """A clock that goes on while the command sleeps."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + seconds)
    monkeypatch.setattr(watch, "time", clock)
    monkeypatch.setattr(_look.time, "monotonic", clock.monotonic)
    return clock


@pytest.mark.usefixtures("clock")
def test_a_transient_problem_that_lasts_is_a_problem(run, lookup):
    lookup.answers = (LAST_STEP,)

    done = run("app", *BROKER, "--check", "--interval", "4")

    assert 1 == done.exit_code
    assert 4 == len(lookup.last.asked), "looks after 0, 4, 8 and 12 seconds"


@pytest.mark.usefixtures("clock")
def test_a_group_that_never_stops_rebalancing_is_not_well(run, lookup):
    """No metadata is shown, so no problem was, and the status was 0."""
    lookup.answers = (REBALANCING,)

    done = run("app", *BROKER, "--check", "--interval", "4")

    assert (1, 4) == (done.exit_code, len(lookup.last.asked))
    assert "app has rebalanced for 10 s: whether it has a problem cannot be told" in done.stderr


ABANDONED = group(state="Empty", protocol="")
WAITING = [
    GroupOffsets(committed={TopicPartition("orders", 0): 40}, ends={TopicPartition("orders", 0): end})
    for end in (41, 41, 357)
]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("offsets", "arguments", "status", "looks"),
    [
        (WAITING, ("app",), 1, 3),
        (WAITING, ("list",), 1, 3),
        (WAITING, ("app", "--no-lag"), 0, 1),
        (WAITING[:1], ("app",), 0, 4),
        (WAITING[:1], ("app", "--expect-members", "1"), 1, 4),
        ([GroupOffsets()], ("app",), 0, 1),
    ],
)
def test_a_group_whose_members_are_all_dead_is_not_well(run, lookup, offsets, arguments, status, looks):
    """It was "no members (Empty)" with a lag that grows, and status 0."""
    left = [*offsets]
    lookup.answers = (ABANDONED,)
    lookup.offsets = lambda _self, _requests, _report: {"app": left.pop(0) if len(left) > 1 else left[0]}

    done = run(*arguments, *BROKER, "--check", "--interval", "4")

    assert (status, looks) == (done.exit_code, len(lookup.last.asked))
    if arguments == ("app",) and status:
        assert "! no members, and the lag grows" in done.stdout


def test_watching_names_a_lag_that_grows_without_members(run, lookup):
    left = [*WAITING]
    lookup.answers = (ABANDONED, ABANDONED, ABANDONED, KeyboardInterrupt())
    lookup.offsets = lambda _self, _requests, _report: {"app": left.pop(0)}

    done = run("app", *BROKER, "--watch", "--lag", "--check")

    assert 1 == done.exit_code
    assert "problem: no members, and the lag grows" in done.stdout


# -- is my upgrade stuck? --------------------------------------------------------------------------------------------

NEW = member("a", 9, 11, active="0_0", next_ms=int(1000 * time.time()) + 86_400_000 * 3, instance="pod-1")
OLD = member("b", 9, 9, active="0_1", envelope=1, instance="pod-7")
MIXED = group(NEW, OLD)


def test_the_first_line_answers_whether_an_upgrade_is_stuck(run, lookup):
    lookup.answers = (MIXED,)

    first = run("app", *BROKER).stdout.splitlines()[0]

    assert (
        "app: 1 of 2 members on 3.4.0 or newer; waiting for pod-7 (10.0.0.1); next rebalance in 3 d (probing)" == first
    )


def test_it_waits_until_the_group_is_stable(run, lookup):
    lookup.answers = (NoSuchGroup("no group 'app'"), REBALANCING, LAST_STEP, GOOD)

    done = run("app", *BROKER, "--wait", "stable", "--members", "2", "--timeout", "10m")

    assert (0, "") == (done.exit_code, done.stderr)
    assert [
        "waiting for app to be stable: no group 'app'",
        "waiting for app to be stable: rebalancing (PreparingRebalance) with 0 members; versions are shown when it is "
        "stable",
        "app is stable: all 2 members on 3.4.0 or newer; no rebalance is due",
    ] == [line for line in done.stdout.splitlines() if "follows" not in line]


PARTLY = group(
    broker_assigned("a", assigned(partitions=[TopicPartition("orders", 0)])),
    type="consumer",
    protocol="uniform",
    error="no epochs",
)
"""A group of KIP-848 as confluent-kafka shows it."""


def test_a_group_that_is_partly_described_can_be_waited_for(run, lookup):
    """It was never stable; the state is known, and so are the members."""
    lookup.answers = (evolve(PARTLY, state=""), PARTLY)

    done = run("app", *BROKER, "--wait", "stable", "--members", "1", "--session-timeout", "1s", "--interval", "0.1")

    assert (0, "note: not completely described: no epochs\n") == (done.exit_code, done.stderr)
    assert "waiting for app to be stable: not completely described (); 1 member (consumer, uniform)" in done.stdout
    assert 1 == run("app", *BROKER, "--check").exit_code, "what is unknown is not well"


def test_a_group_that_is_partly_described_has_a_lag(run, lookup):
    lookup.answers = (PARTLY,)
    partition = TopicPartition("orders", 0)
    lookup.read = {"app": GroupOffsets(committed={partition: 3}, ends={partition: 10})}

    done = run("app", *BROKER, "--check", "--max-lag", "5", "--json")

    assert (1, 7) == (done.exit_code, json.loads(done.stdout)["lag"]["total"])
    assert ["lag", "partly-described"] == [each["code"] for each in json.loads(done.stdout)["findings"]]
    assert frozenset({partition}) == lookup.last.requests[0].partitions


def test_a_group_whose_partitions_are_not_shown_has_no_lag(run, lookup):
    """It was 0."""
    lookup.answers = (evolve(PARTLY, members=(broker_assigned("a"),)),)
    lookup.read = {"app": GroupOffsets()}

    assert json.loads(run("app", *BROKER, "--json").stdout)["lag"] is None


@pytest.mark.parametrize("last", [group(state="Empty", protocol=""), NoSuchGroup("no group 'app'")])
def test_it_waits_until_the_group_is_empty(run, lookup, last):
    """A group without members and committed offsets does not exist."""
    lookup.answers = (GOOD, last)

    done = run("app", *BROKER, "--wait", "empty", "--check")

    assert 0 == done.exit_code
    assert "app is empty: no " in done.stdout


def test_it_waits_until_all_members_are_on_a_release(run, lookup):
    old = member("b", 9, 9, active="0_1", envelope=1)
    lookup.answers = (group(FINE, old), REBALANCING, group(old))

    done = run("app", *BROKER, "--wait", "release=2.8", "--members", "1")

    assert 0 == done.exit_code
    assert done.stdout.startswith(
        "waiting for app to be on 2.8.2: 1 of 2 members on 2.8.2; waiting for app-a (10.0.0.1, 61000000);"
    )
    assert "app is on 2.8.2: 1 member on 2.8.2; no rebalance is due" == done.stdout.splitlines()[-1]
    assert [] == [line for line in done.stderr.splitlines() if "upgrade.from of 2.0 or later" not in line]


@pytest.mark.parametrize(
    ("found", "release", "others"),
    [
        (GOOD, "4.3", "3.4.0 or newer"),
        (group(OLD), "2.8.2", "2.8.0 to 2.8.2"),
        # With upgrade.from they send its version. It was "members of 2.0 to 0.10.0".
        (group(member("a", 1, 1, active="0_0", envelope=0)), "0.10.0", "0.10.0.0 to 0.10.0.1 or 2.0.0 to 2.3.1"),
        # Streams groups were refused. Members of 4.4 show what older ones do not send, but not that they are not newer.
        (streams_group(broker_assigned("a", assigned("0_0"))), "4.3", "4.1.0 or newer"),
        (streams_group(broker_assigned("a", assigned("0_0"), instance="pod-1")), "4.4", "4.4.0 or newer"),
    ],
)
def test_a_release_with_the_metadata_of_others_has_a_status_of_its_own(run, lookup, found, release, others):
    """It was status 0 before the first restart from 3.4.1 to 3.9.2. No wait would show it, so it ends at once."""
    lookup.answers = (found,)

    done = run("app", *BROKER, "--wait", f"release={release}")

    assert 3 == done.exit_code
    assert "app may be on " in done.stdout
    assert f"note: what these members send is that of {others}, and does not show which one" in done.stderr


def test_a_wait_for_so_many_members_on_a_release_waits_for_them(run, lookup):
    """It returned 0 with one member while two others were away."""
    lookup.answers = (GOOD,)

    done = run("app", *BROKER, "--wait", "release=4.3", "--members", "3", "--timeout", "0.3s", "--interval", "0.1")

    assert 124 == done.exit_code
    assert "it has 2 members instead of 3" in done.stderr


def test_a_release_newer_than_the_table_may_be_assumed(run, lookup):
    lookup.answers = (GOOD,)

    done = run("app", *BROKER, "--wait", "release=4.9", "--assume", "4.3")

    assert 3 == done.exit_code
    assert "app may be on 4.9.0: all 2 members may run 4.9.0" in done.stdout
    assert f"note: 4.9 is newer than this version knows ({NEWEST}); it is assumed to behave like 4.3.1" in done.stderr
    assert f"--assume {NEWEST.line} treats it like {NEWEST}" in run("app", *BROKER, "--wait", "release=4.9").stderr


def test_a_vendors_release_is_any_release_of_its_line(run, lookup):
    lookup.answers = (GOOD,)

    done = run("app", *BROKER, "--wait", "release=7.9.1-ccs")

    assert "app may be on 7.9.1-ccs (any release from 3.9.0 to 3.9.2): all 2 members may run 3.9.0" in done.stdout
    assert "note: Confluent Platform 7.9 contains Kafka 3.9" in done.stderr
    refused = run("app", *BROKER, "--wait", "release=7.9", "--assume", "4.3")
    assert (2, True) == (refused.exit_code, "for Confluent Platform write cp-7.9 (Kafka 3.9)" in refused.stderr)


def test_members_that_are_newer_than_the_table_may_be_assumed(run, lookup):
    """No release of the table supports version 12."""
    lookup.answers = (group(member("a", 11, 12, active="0_0"), member("b", 11, 12, active="0_1")),)
    assumed = f"a release newer than {NEWEST}, assumed to behave like 4.3.1"

    assert "all 2 members on no known release" in run("app", *BROKER).stdout
    assert f"all 2 members on {assumed}" in run("app", *BROKER, "--assume", "4.3", width="200").stdout


# -- after a restart -------------------------------------------------------------------------------------------------


def restarted(name):
    """A member after a restart of its process: the broker has given it another member id."""
    raw = member(name, active="0_1")
    return evolve(raw, member_id=raw.member_id.replace("0000-0000", "0000-1111", 1))


BACK = group(FINE, restarted("b"))
COORDINATOR_COUNTS_IT = GOOD


@pytest.fixture(name="before")
def fixture_before(run, tmp_path):
    """The state of the group before a restart."""
    path = tmp_path / "before.json"
    path.write_text(run("app", *BROKER, "-o", "json").stdout)
    return str(path)


def test_a_group_that_still_counts_a_stopped_member_is_not_back(run, lookup, before):
    """Status 0 came 3.8 to 6.6 s after the start of members that were back after 10 s."""
    lookup.answers = (COORDINATOR_COUNTS_IT, COORDINATOR_COUNTS_IT, REBALANCING, BACK)

    done = run("app", *BROKER, "--wait", "stable", "--since", before, "--restarted", "app-b")

    assert (0, "") == (done.exit_code, done.stderr)
    assert [
        "waiting for app to be stable: all 2 members on 3.4.0 or newer; no rebalance is due; app-b has not "
        "joined again",
        "waiting for app to be stable: rebalancing (PreparingRebalance) with 0 members; versions are shown when it is "
        "stable",
        "app is stable: all 2 members on 3.4.0 or newer; no rebalance is due",
    ] == done.stdout.splitlines()


def test_a_member_that_was_back_before_the_first_look_is_back(run, lookup, before):
    lookup.answers = (BACK,)

    assert 0 == run("app", *BROKER, "--wait", "stable", "--since", before, "--restarted", "app-b").exit_code
    assert 1 == len(lookup.last.asked)


def test_without_a_number_of_members_it_does_not_guess(run, lookup):
    lookup.answers = (NoSuchGroup("no group 'app'"), REBALANCING, GOOD)

    done = run("app", *BROKER, "--wait", "stable")

    assert 1 == done.exit_code
    assert done.stderr.startswith(
        "Error: cannot tell whether app is stable: it has 2 members, and it is not known how "
    )


def test_without_a_number_of_members_a_replaced_one_is_enough(run, lookup):
    lookup.answers = (GOOD, REBALANCING, BACK)

    assert 0 == run("app", *BROKER, "--wait", "stable").exit_code


def test_a_session_timeout_that_was_assumed_is_noted(run, lookup, monkeypatch):
    monkeypatch.setattr(_restart, "DEFAULT_SESSION_TIMEOUT_SECONDS", 0.2)
    lookup.answers = (GOOD,)

    done = run("app", *BROKER, "--wait", "stable", "--members", "2", "--interval", "0.1")

    assert 0 == done.exit_code
    assert "no sign of life yet from app-a (10.0.0.1, 61000000) and app-b (10.0.0.1, 62000000)" in done.stdout
    assert "note: assumed that no member has a session.timeout.ms above 0 s" in done.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "output"),
    [
        ("{", (), "expected the output of `group NAME -o json` in"),
        ("[]", (), "expected the output of `group NAME -o json` in"),
        (f'{{"group": {"1" * 5000}}}', (), "expected the output of `group NAME -o json` in"),
        ('{"group": Infinity}', (), "expected JSON, got Infinity"),
        ("{}", (), "no key 'group'"),
        ('{"group": "app", "state": "Stable", "members": [1]}', (), "expected the output of `group NAME -o json` in"),
        ('{"group": "app", "state": "Stable", "members": [{}]}', (), "no key 'member_id'"),
        (
            '{"group": "other", "state": "Stable", "members": []}',
            (),
            "expected --since with the state of app, got that of",
        ),
        (
            '{"group": "app", "state": "PreparingRebalance", "members": []}',
            (),
            "expected --since with the state of a stable group, got PreparingRebalance",
        ),
        (None, ("--restarted", "pod-9"), "--restarted pod-9 is none of the members of --since: app-a (10.0.0.1, "),
    ],
)
def test_a_file_that_is_not_the_state_before_is_an_error(run, before, tmp_path, content, arguments, output):
    path = before if content is None else str(tmp_path / "other.json")
    if content is not None:
        (tmp_path / "other.json").write_text(content)

    done = run("app", *BROKER, "--wait", "stable", "--since", path, *arguments)

    assert 2 == done.exit_code
    assert output in " ".join(done.stderr.split())


def test_a_member_of_a_streams_group_that_shows_a_later_release_is_waited_for(run, lookup):
    lookup.answers = (streams_group(broker_assigned("a", assigned("0_0"), instance="pod-1")),)

    done = run("app", *BROKER, "--wait", "release=4.3.1", "--timeout", "0.3s", "--interval", "0.1")

    assert (124, "") == (done.exit_code, done.stdout.partition("\n")[2])
    assert done.stderr.startswith("Error: app is not on 4.3.1 after 0 s: 0 of 1 member on 4.3.1; waiting for pod-1")


def test_a_wait_that_times_out_is_status_124(run, lookup):
    lookup.answers = (MIXED,)

    done = run("app", *BROKER, "--wait", "release=4.3.1", "--timeout", "0.3s", "--interval", "0.1")

    assert 124 == done.exit_code
    assert done.stderr.startswith(
        "Error: app is not on 4.3.1 after 0 s: 1 of 2 members may run 4.3.1; waiting for pod-7"
    )


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (
            ApiError(30, "GROUP_AUTHORIZATION_FAILED", "No."),
            "GROUP_AUTHORIZATION_FAILED: No. (describing a group needs DESCRIBE on it)",
        ),
        (
            group(of_range("a", [0]), protocol="range"),
            "expected a group of Kafka Streams, whose metadata shows releases, got app with assignor range",
        ),
        (group(type="unknown", state="", error="use another client"), "use another client"),
    ],
)
def test_a_wait_that_cannot_succeed_is_status_1(run, lookup, answer, output):
    lookup.answers = (answer,)

    done = run("app", *BROKER, "--wait", "release=4.3.1")

    assert (1, f"Error: {output}\n") == (done.exit_code, done.stderr)


@pytest.mark.parametrize(("flags", "status"), [((), 0), (("--check",), 1)])
def test_waiting_with_json_prints_the_group_at_the_end(run, lookup, flags, status):
    lookup.answers = (NoSuchGroup("no group 'app'"), BAD)

    done = run("app", *BROKER, "--wait", "stable", "--members", "2", "-o", "json", *flags)

    assert "app is stable: all 2 members on 3.4.0 or newer; no rebalance is due; 2 problems" in done.stderr
    assert (status, "Stable") == (done.exit_code, json.loads(done.stdout)["state"])


# -- lags -------------------------------------------------------------------------------------------------------------

BEHIND = GroupOffsets(
    committed={TopicPartition("orders", 0): 40, TopicPartition("orders", 1): 7, TopicPartition("old", 0): 3},
    ends={TopicPartition("orders", 0): 1_240, TopicPartition("orders", 1): 7, TopicPartition("old", 0): 3},
)
UNKNOWN = GroupOffsets(failures=("end offsets: a:1: no answer",))


def test_lags_are_shown_for_each_partition_and_task(run, lookup):
    lookup.read = {"app": BEHIND}

    shown = run("app", *BROKER, width="120").stdout
    found = json.loads(run("app", *BROKER, "-o", "json").stdout)["lag"]

    assert "1,200 in 3 partitions, at most 1,200 in one" in shown
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith(("orders-", "old-"))]
    assert ["orders-0", "0_0", "app-a", "40", "1,240", "1,200"] == rows[0]
    assert ["old-0", "–", "3", "3", "0"] in rows
    assert (1200, 1200, 0, []) == (found["total"], found["most"], found["unknown"], found["failures"])
    assert {"task": "0_0", "member": "61000000", "lag": 1200} in found["tasks"]
    assert "| app | classic | Stable | stream | 2 | 1,200 |" in run("list", *BROKER, "-o", "markdown").stdout
    assert "1,200" in run("list", *BROKER).stdout
    (asked,) = lookup.last.requests
    assert ("app", {TopicPartition("orders", 0), TopicPartition("orders", 1)}) == (asked.group, asked.partitions)
    assert "Lag: 1,200 in 3 partitions" in run("app", *BROKER, "-o", "markdown").stdout


@pytest.mark.parametrize(
    ("offsets", "shown"),
    [(GroupOffsets(ends={TopicPartition("orders", 0): 9}), "none"), (UNKNOWN, "?")],
)
def test_a_commit_that_is_not_there_is_none_and_one_that_is_not_known_is_not(run, lookup, offsets, shown):
    lookup.read = {"app": offsets}
    rows = [line.split() for line in run("app", *BROKER, width="80").stdout.splitlines()]

    assert {shown} == {row[3] for row in rows if row and row[0].startswith("orders-")}


@pytest.mark.parametrize(
    ("offsets", "flags", "status", "output"),
    [
        (BEHIND, ("--max-lag", "1199"), 1, "! 1 partition with a lag above 1,199: orders-0 (1,200)"),
        (BEHIND, ("--max-lag", "1200"), 0, ""),
        (BEHIND, (), 0, ""),
        (UNKNOWN, ("--max-lag", "1200"), 1, "unknown (end offsets: a:1: no answer): orders-0 and orders-1"),
        (GroupOffsets(), ("--max-lag", "1200"), 1, "unknown (there is no commit): orders-0 and orders-1"),
    ],
)
def test_a_lag_above_a_limit_or_an_unknown_one_is_a_problem(run, lookup, offsets, flags, status, output):
    lookup.read = {"app": offsets}

    done = run("app", *BROKER, "--check", *flags, width="120")

    assert status == done.exit_code
    assert output in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("found", "titles"),
    [
        (group(member("a", active="0_0"), member("b", standby="0_0", sums={"0_0": 3})), "restored at its join end now"),
        (streams_group(broker_assigned("a", assigned(standby="1_0"))), "restored end lag"),
    ],
)
def test_how_far_a_replica_is_says_of_when_that_is(run, lookup, found, titles):
    """Of a classic group the difference grows for ever: a member says it when it joins."""
    lookup.read, lookup.answers = {"app": GroupOffsets()}, (found,)

    assert titles in " ".join(run("app", *BROKER, width="160").stdout.split())


def test_offsets_are_not_read_again_and_again_unless_asked_for(run, lookup):
    lookup.read, lookup.answers = {"app": BEHIND}, (GOOD, STOP)

    lags = [
        json.loads(run("app", *BROKER, "--watch", "-o", "json", *flags).stdout)["lag"] for flags in ((), ("--lag",))
    ]

    assert [None, 1200] == [each and each["total"] for each in lags]
    assert json.loads(run("app", *BROKER, "--no-lag", "-o", "json").stdout)["lag"] is None


def test_openmetrics_has_a_gauge_for_each_number(run, lookup):
    lookup.read, lookup.answers = {"app": BEHIND}, ([GOOD, group(name='o"dd', error="hidden")],)

    lines = run("list", *BROKER, "-o", "openmetrics").stdout.splitlines()

    assert "# EOF" == lines[-1]
    assert 'streams_assignor_group_partition_lag{group="app",topic="orders",partition="0"} 1200' in lines
    assert 'streams_assignor_group_task_lag{group="app",task="0_0",member="61000000"} 1200' in lines
    assert 'streams_assignor_group_members{group="app"} 2' in lines
    assert 'streams_assignor_group_problems{group="o\\"dd"} 1' in lines
    assert [] == [line for line in lines if line.startswith("streams_assignor_group_members{") and "o" in line[40:46]]


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("app", "--wait", "release=9.9"), "9.9"),
        (("app", "--wait", "ready"), "expected stable, empty or release=RELEASE, got 'ready'"),
        (("--all", "--wait", "stable"), "expected --wait with the NAME of one group and without --watch"),
        (("app", "--wait", "stable", "--watch"), "expected --wait with the NAME of one group and without --watch"),
        (
            ("app", "--wait", "empty", "--members", "1"),
            "expected --members, --since, --restarted and --session-timeout",
        ),
        (("app", "--restarted", "a"), "expected --members, --since, --restarted and --session-timeout"),
        (("app", "--assume", "9.9"), "Invalid value for --assume: unknown release '9.9': newer than this version"),
        (("app", "--watch", "-o", "markdown"), "expected -o table, json or yaml with --watch, got markdown"),
        (("app", "--watch", "-o", "openmetrics"), "expected -o table, json or yaml with --watch, got openmetrics"),
        (("app", "--max-lag", "1"), "expected --max-lag with --check or --watch, and without --no-lag"),
        (("app", "--expect-members", "1"), "expected --expect-members with the NAME of one group, and with --check"),
        (("list", "--check", "--expect-members", "1"), "expected --expect-members with the NAME of one group"),
        (("app", "--json", "-o", "yaml"), "expected either --json or -o yaml"),
        (("app", "--timeout", "soon"), "expected a duration such as 90s, 10m or 1h30m, got 'soon'"),
        (("app", "--timeout", "1.2.3s"), "expected a duration such as 90s, 10m or 1h30m, got '1.2.3s'"),
        (("app", "--timeout", "8d"), "expected a duration such as 90s, 10m or 1h30m, got '8d'"),
        (("app", "--timeout", "200h"), "expected 0.1 to 604800 seconds, got '200h'"),
        (("app", "--interval", "0"), "expected 0.1 to 3600 seconds, got '0'"),
        (("list", "app"), "expected either the NAME of a group or --all"),
        (("describe", "app", "other"), "expected either the NAME of a group or --all"),
        (("wait", "app"), "expected wait NAME stable|empty|release=RELEASE"),
        (("wait", "app", "empty", "--wait", "stable"), "expected wait NAME stable|empty|release=RELEASE"),
        (("wait", "app", "ready"), "expected stable, empty or release=RELEASE, got 'ready'"),
        (("what-if", "app"), "expected what-if NAME STEP"),
        (("what-if", "app", "restart B", "--all"), "expected what-if NAME STEP"),
        (("watch", "app", "other"), "expected either the NAME of a group or --all"),
    ],
)
def test_wrong_usage_of_waiting_and_output_is_an_error(run, arguments, output):
    done = run(*arguments, *BROKER)

    assert 2 == done.exit_code
    assert output in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "asked"),
    [(["list"], None), (["describe", "app"], "app"), (["describe", "list"], "list"), (["describe", "wait"], "wait")],
)
def test_list_and_describe_are_accepted(run, lookup, words, asked):
    assert 0 == run(*words, *BROKER).exit_code
    assert [asked] == lookup.last.asked


def test_an_option_that_is_a_word_now_names_it_at_a_terminal(run, lookup, monkeypatch):
    lookup.answers = (group(state="Empty", protocol=""),)
    said = run("wait", "app", "empty", *BROKER)
    assert (0, said.output) == (said.exit_code, run("app", "--wait", "empty", *BROKER).output)

    monkeypatch.setattr(command, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))
    hint = "note: --wait is now group wait NAME stable|empty|release=RELEASE\n"
    assert hint == run("app", "--wait", "empty", *BROKER).stderr


def test_bootstrap_servers_may_be_in_the_environment(run, lookup, tmp_path):
    """A file that was named on the command line comes first."""
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b:2\n")

    assert 0 == run("app", environment="e:9").exit_code
    assert "e:9" == lookup.last.to[0]
    assert 0 == run("app", "--command-config", str(file), environment="e:9").exit_code
    assert "b:2" == lookup.last.to[0]
    assert 0 == run("app", *BROKER, environment="e:9").exit_code
    assert "a:1" == lookup.last.to[0]


def test_the_command_config_may_be_in_the_environment(run, lookup, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("bootstrap.servers=c:3\n")
    monkeypatch.setenv("KAFKA_COMMAND_CONFIG", str(tmp_path / "file"))

    assert 0 == run("app").exit_code
    assert "c:3" == lookup.last.to[0]


@pytest.mark.parametrize(
    ("known", "typed", "found"),
    [
        (("billing", "bi\x1b", "orders"), (), ["billing"]),
        (("list-of-orders",), (), []),
        (("list-of-orders",), ("describe",), []),
        (Unreachable("a:1: no answer"), (), []),
    ],
)
def test_the_shell_completes_names_of_groups(lookup, monkeypatch, known, typed, found):
    """The time limit is short, and a shell shows no error."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "a:1")
    lookup.known = known
    complete = ShellComplete(command.group, {}, "group", "_GROUP_COMPLETE")

    assert found == [each.value for each in complete.get_completions(list(typed), "b")]
    assert 2.0 == lookup.last.to[2]


def test_the_shell_completes_words_without_a_cluster():
    complete = ShellComplete(command.group, {}, "group", "_GROUP_COMPLETE")

    assert ["list", "describe", "watch", "wait", "what-if"] == [each.value for each in complete.get_completions([], "")]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("flags", "shown"), [((), False), (("-v",), True), pytest.param(("-vv",), True, marks=pytest.mark.slow)]
)
def test_the_logs_of_clients_are_shown_on_request(flags, shown):
    """In a process of its own: loggers are global. Secrets and control characters are not shown."""
    program = """
import logging, sys
from streams_assignor.groups import NoSuchGroup
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.cli.main import main
from streams_assignor.upgrade.redaction import redact

class Lookup:
    def __init__(self, *_): pass
    def names(self): return ()
    def group(self, name):
        logging.getLogger("kafka.net").error("connection \\x1b lost, password %s", redact("hunter22"))
        raise NoSuchGroup("none")

group_lookup.GroupLookup = Lookup
sys.argv[1:] = ["group", "app", "--bootstrap-servers", "a:1", *sys.argv[1:]]
main()
"""
    done = subprocess.run([sys.executable, "-c", program, *flags], capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert shown == ("ERROR kafka.net: connection \\x1b lost, password" in done.stderr)
    assert "hunter22" not in done.stderr
    assert done.stderr.endswith("Error: none\n")


def test_yaml_has_the_keys_and_values_of_json(run, lookup):
    yaml = pytest.importorskip("yaml")
    lookup.answers = (FULL,)
    written, plain = (run("app", *BROKER, "-o", form).stdout for form in ("yaml", "json"))

    assert json.loads(plain) == yaml.safe_load(written)


def test_markdown_is_a_section_with_a_table(run, lookup):
    lookup.answers = (BAD,)

    lines = run("app", *BROKER, "-o", "markdown").stdout.splitlines()

    assert "## app" == lines[0]
    assert (
        "| 61000000 | app-a-consumer | 10.0.0.1 | 11 / 11 | 3.4.0 or newer, or streams-assignor | 0_0 |  |  |" in lines
    )
    assert (
        "- **problem** `owned-twice`: task 0_0 is active twice, on app-a (10.0.0.1, 61000000) and app-b "
        "(10.0.0.1, 62000000)" in lines
    )
    assert "| app | classic | Stable | stream | 2 |  | 2 | " in run("list", *BROKER, "-o", "markdown").stdout


def test_markdown_of_a_group_without_members_has_no_table(run, lookup):
    lookup.answers = (group(),)

    assert "|" not in run("app", *BROKER, "-o", "markdown").stdout


def test_a_group_of_kip_1071_without_topics_is_a_problem_if_it_lasts(run, lookup, monkeypatch):
    monkeypatch.setattr(watch, "CONFIRM_SECONDS", 0.0)
    lookup.answers = (group(broker_assigned("a"), type="streams", protocol="", state="NotReady"),)

    done = run("app", *BROKER, "--check")

    assert 1 == done.exit_code
    assert "! the broker assigns no task (NotReady)" in done.stdout


# -- tables ----------------------------------------------------------------------------------------------------------


def drawn(raw, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(_tables.render_group(inspect_group(raw), "well"))
    return console.export_text()


FULL = group(
    member(
        "a",
        4,
        11,
        answered=4,
        active="0_0 0_1 0_2 1_0",
        standby="0_5",
        owned="0_0",
        end_point="host:7070",
        rack="r1",
        process=None,
    ),
    member("b", 11, 11, answered=4, had="0_3", sums={"0_4": 12_000, "0_5": -3}, tags=[("zone", "z1")], error=3),
    member("c", active="0_3", standby="0_4", next_ms=1_700_000_000_000, instance="static-c"),
    member("d", next_ms=0, host="evil\x1b[31m"),
    max_message_bytes=None,
)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_fits_the_terminal_and_has_no_control_characters(width):
    shown = drawn(FULL, width)

    assert width >= max(map(len, shown.splitlines()))
    assert "\x1b" not in shown


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "output",
    [
        "4 / 11",
        "answered 4",
        "active 0_0–2 1_0",
        "sums 1 running, 1 at 12,000, 1 unknown",
        "end point host:7070",
        "rack r1",
        "tags zone=z1",
        "error 3",
        "rejoins at 2023-11-1",
        "rejoins immediately",
        "standby or warm-up 0_4",
        "static-c",
        "10.0.0.1 static",
        "leader  in process 63000000…",
        "evil\\x1b[31m",
    ],
)
def test_a_table_contains(output):
    assert output in drawn(FULL, 200)


@pytest.mark.parametrize(
    ("limit", "shown"), [(None, None), (100_000, None), (2_000, "metadata 1,"), (1_000, "% of 1,000")]
)
def test_the_size_of_metadata_is_shown_from_a_tenth_of_the_limit_on(limit, shown):
    """It was in the fourth line of each look, and no operator had asked."""
    text = drawn(evolve(FULL, max_message_bytes=limit), 200)

    assert ("metadata " in text) is (shown is not None)
    assert (shown or "") in text


def test_a_member_without_metadata_has_a_row():
    shown = drawn(group(DescribedGroupMember(member_id="quiet"), FINE))

    assert ["quiet", "–", "no", "tasks"] == next(line.split() for line in shown.splitlines() if "quiet" in line)


def test_other_groups_show_partitions_or_their_type():
    shown = drawn(group(of_range("a", [0, 1, 3]), protocol="range"))

    assert "orders 0–1,3" in shown
    assert "sends" not in shown
    assert "consumer" in drawn(group(type="consumer", protocol=""))


def test_in_a_large_group_members_with_problems_come_first():
    many = [member(f"m{number:03}") for number in range(120)]
    shown = drawn(group(*many, member("z", error=3)), 200)

    assert shown.index("7a000000") < shown.index("6d303030")
    assert "… and 21 more; --json has all" in shown


def test_of_many_findings_a_terminal_gets_the_first_ones():
    """A row of the table takes a tenth of a millisecond, and each member may have a finding."""
    shown = drawn(group(*(member(f"m{number:03}", error=3) for number in range(120))), 200)

    assert shown.count("the assignment failed (3)") == 100
    assert "… and 20 more; --json has all" in shown


def test_a_time_outside_the_calendar_is_a_number():
    assert "rejoins at 9000000000000000000 ms" in drawn(group(member("a", next_ms=9 * 10**18)), 200)


def test_lists_are_written_as_runs():
    named = TaskId(0, 1, "name")

    assert "0_1–2,4 1_0 name__0_1" == _cells.format_tasks(
        [TaskId(0, 1), TaskId(0, 2), TaskId(0, 4), TaskId(1, 0), named]
    )
    assert "a 1, b 0–1" == _cells.format_partitions(
        [TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 1)]
    )


def test_it_is_in_the_script():
    assert "group" in cli.list_commands(None)
