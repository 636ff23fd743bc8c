"""Upgrades of real groups of Java Streams by ``streams-assignor roll``: under load, with crashes and with mistakes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from streams_assignor.upgrade.roll.journal import read_journal
from tests.lab.integration.clusters import OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import Load, Operator, Rolled, has_joined, kinds, records
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [
    pytest.mark.broker,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.matrix(reason="a minute or two each, because groups wait for sessions of six seconds"),
]

KILL = """
import json, os, pathlib, signal
from streams_assignor.cli.roll import _driver, _journal_file
places = pathlib.Path({places!r})

def is_new(*place):
    line = json.dumps(place) + chr(10)
    if places.exists() and line in places.read_text():
        return False
    with places.open("a") as file:
        file.write(line)
    return True

def die_at(*place):
    if is_new(*place):
        os.kill(os.getpid(), signal.SIGKILL)

append, run, pause = _journal_file.JournalFile.append, _driver.run_command, _driver._Drive._pause

def appending(self, record):
    where = [type(record).__name__, *(getattr(record, key, "") for key in ("step", "instance", "round"))]
    if is_new("in", *where):
        text = _journal_file.JournalLine(self._now(), record).text().encode()
        os.pwrite(self._descriptor, text[: len(text) // 2], self._size)
        os.kill(os.getpid(), signal.SIGKILL)
    line = append(self, record)
    die_at("after", *where)
    return line

def running(template, values, timeout_s, wait):
    def waiting(seconds):
        die_at("command", values["instance"], values["round"])
        return wait(seconds)

    return run(template, values, timeout_s, waiting)

def pausing(self):
    die_at("waiting", self._state.steps, self._state.step is None)
    pause(self)

_journal_file.JournalFile.append, _driver.run_command, _driver._Drive._pause = appending, running, pausing
"""
"""Kills the process at each of its places once: in the middle of a record, after it, in a command, while it waits."""


AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{OLDER}")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    with Cluster(tmp_path_factory.mktemp("broker")) as cluster:
        cluster.start(1, OLDER, settings=AT_ONCE)
        yield cluster


@pytest.fixture(name="brokers")
def fixture_brokers(cluster: Cluster) -> str:
    return cluster.brokers


@pytest.fixture(name="start")
def fixture_start(brokers: str, tmp_path: Path) -> Iterator[object]:
    with Group(brokers, "stateful", tmp_path) as group, Operator(group, tmp_path) as operator:

        def start(release: str, names: str = "abc", **settings: str) -> Rolled:
            operator.settings.update(settings)
            for name in names:
                operator.start(name, release)
                group.eventually(partial(has_joined, group, [name]), lambda: f"not all of {names} have joined")
                group.settle(all_members=False)
            group.check_that_no_member_rejoins()
            group.count()
            return Rolled(group, operator, tmp_path, release)

        yield start


@pytest.mark.parametrize(
    ("origin", "target", "value"),
    [("2.8.2", "4.3.1", "2.8"), ("2.3.1", "3.9.2", "2.3")],
)
def test_two_bounces_under_load_lose_nothing_and_end_on_the_release(start, origin, target, value):
    rolled = start(origin)
    with Load(rolled.group):
        process = rolled.roll(target, "--canary", "b")
        status = process.wait()
    print(*process.lines, sep="\n")

    assert 0 == status, process.lines
    expected = [("restart", name, target, given) for given in (value, "") for name in "bac"]
    assert expected == rolled.operator.calls
    assert 6 == kinds(rolled.journal).count("passed")
    assert 2 == kinds(rolled.journal).count("verified")
    lags = [record["gates"]["lag"] for record in records(rolled.journal) if record["record"] == "passed"]
    assert all(text.startswith("state ") and "; input at most " in text for text in lags), lags
    rolled.check_nothing_is_lost()
    report = rolled.report.read_text()
    assert f"to {target}: finished" in report
    assert "forecast" in report


def test_a_second_roll_is_kept_out_and_names_the_first(start):
    rolled = start("3.9.2", "ab")
    goes_on, told = Event(), rolled.operator.restart_as_told
    rolled.operator.restart = lambda *step: goes_on.wait(4 * TIMEOUT_SECONDS) and told(*step)
    first = rolled.roll("4.3.1")
    first.until("step 1: restart a")
    elsewhere = rolled.journal.with_name("elsewhere")
    elsewhere.mkdir()
    second = Rolled(rolled.group, rolled.operator, elsewhere, rolled.origin).roll("4.3.1")

    assert 5 == second.wait(), second.lines
    assert any(f"process {first.pid} of" in line for line in second.lines), second.lines
    goes_on.set()
    assert 0 == first.wait(), first.lines
    assert ["a", "b"] == [instance for _, instance, *_ in rolled.operator.calls]


def deviation(rolled: Rolled) -> dict[str, str]:
    return next(record for record in reversed(records(rolled.journal)) if record["record"] == "deviation")


def test_an_instance_that_does_not_return_is_said_and_started_again(start):
    rolled = start("3.9.2", "ab")
    rolled.operator.restart = lambda name, *_: rolled.group.stop(name)
    process = rolled.roll("4.3.1", "--timeout", "20")

    assert 3 == process.wait(), process.lines
    assert "not-returned" == deviation(rolled)["kind"]
    rolled.operator.restart = rolled.operator.restart_as_told
    again = rolled.roll("4.3.1", "--answer", "again")
    assert 0 == again.wait(), again.lines
    assert ["a", "a", "b"] == [instance for _, instance, *_ in rolled.operator.calls]


def test_the_old_release_is_said_and_the_way_back_is_short(start):
    rolled = start("2.8.2", "ab")
    told = rolled.operator.restart_as_told
    rolled.operator.restart = lambda name, release, _value: told(name, "2.8.2" if name == "b" else release, "")
    process = rolled.roll("4.3.1")

    assert 3 == process.wait(), process.lines
    assert ("old-release", ["b"]) == (deviation(rolled)["kind"], deviation(rolled)["instances"])
    rolled.operator.restart = told
    back = rolled.roll("4.3.1", "--back", "--answer", "continue")
    assert 0 == back.wait(), back.lines
    assert [("b", "2.8.2", ""), ("a", "2.8.2", "")] == [tuple(call[1:]) for call in rolled.operator.calls[2:]]
    assert 1 == len(rolled.releases())


def test_a_missing_upgrade_from_is_said(start):
    """Version 2 is what members of 2.4 with upgrade.from=1.1 send; without it they send what 1.1 cannot read."""
    rolled = start("1.1.1", "ab")
    told = rolled.operator.restart_as_told
    rolled.operator.restart = lambda name, release, _value: told(name, release, "")
    process = rolled.roll("2.4.1", "--timeout", "40", "--max-unowned", "40")

    assert 3 == process.wait(), process.lines
    print(*process.lines, sep="\n")
    assert deviation(rolled)["kind"] in {"missing-upgrade-from", "member-gone", "not-returned", "two-owners"}


def test_ctrl_c_finishes_the_step_and_the_same_command_continues(start):
    rolled = start("3.9.2", "ab")
    process = rolled.roll("4.3.1")
    process.until("step 1: restart a")
    process.signal(2)

    assert 130 == process.wait(), process.lines
    assert ["passed"] == [kind for kind in kinds(rolled.journal) if kind == "passed"]
    again = rolled.roll("4.3.1")
    assert 0 == again.wait(), again.lines
    assert ["a", "b"] == [instance for _, instance, *_ in rolled.operator.calls]


def test_static_members_with_two_threads_are_one_instance_each(start):
    settings = {"group.instance.id": "{}", "num.stream.threads": "2"}
    rolled = start("3.9.2", "ab", **settings)
    with Load(rolled.group):
        process = rolled.roll("4.3.1")
        status = process.wait()
    print(*process.lines, sep="\n")

    assert 0 == status, process.lines
    assert "order: a and b, 2 members each; 1 at a time" in process.lines
    assert [("restart", name, "4.3.1", "") for name in "ab"] == rolled.operator.calls
    rolled.check_nothing_is_lost()


def test_a_task_whose_owner_has_nothing_of_its_state_is_waited_for_until_it_commits(start):
    """The stores are in memory. Without records no broker shows that they are restored."""
    rolled = start("3.9.2", "ab")
    process = rolled.roll("4.3.1", "--max-lag", "0")
    process.until("offsets behind when its owner joined, and nothing of it is committed since")
    with Load(rolled.group):
        status = process.wait()
    print(*process.lines, sep="\n")

    assert 0 == status, process.lines
    lags = [record["gates"]["lag"] for record in records(rolled.journal) if record["record"] == "passed"]
    assert 2 == len(lags)
    assert all(text.startswith("state at most 0 offsets behind; input at most ") for text in lags), lags
    rolled.check_nothing_is_lost()


def test_a_broker_that_restarts_in_the_middle_is_waited_for(start, cluster):
    """The only one: no look, no offset and no heartbeat of the lock is answered for a while."""
    rolled = start("3.9.2", "ab")
    with Load(rolled.group):
        process = rolled.roll("4.3.1")
        process.until("step 1: restart a:")
        cluster.stop(1)
        process.until("not described: ")
        cluster.start(1, OLDER, settings=AT_ONCE)
        status = process.wait()
    print(*process.lines, sep="\n")

    assert 0 == status, process.lines
    assert ["a", "b"] == [instance for _, instance, *_ in rolled.operator.calls]
    rolled.check_nothing_is_lost()


@pytest.mark.timeout(1800)
def test_a_roll_that_is_killed_at_each_of_its_places_continues_and_repeats_no_restart(start, tmp_path):
    """One upgrade goes through all places; tests/assignor/cli/roll/test_killed_rolls.py has those of one process."""
    rolled = start("2.8.2", "ab")
    places = tmp_path / "places"
    statuses: list[int] = []
    with Load(rolled.group):
        while 0 not in statuses:
            assert len(statuses) < 120, statuses
            answer: tuple[str, ...] = ()
            if statuses[-1:] == [3]:
                answer = ("--answer", "again")  # killed in or after an intent, whose command was never called
            # The lock of the run before would be free after its session.
            process = rolled.roll("4.3.1", "--no-lock", *answer, patch=KILL.format(places=str(places)))
            statuses.append(process.wait())
            assert statuses[-1] in (-9, 0, 3), process.lines
            if statuses[-1] == 3:
                assert any("has done its work" in line for line in process.lines), process.lines
    print(Counter(statuses), places.read_text())

    expected = [("restart", name, "4.3.1", value) for value in ("2.8", "") for name in "ab"]
    assert expected == rolled.operator.calls
    assert "ended" == kinds(rolled.journal)[-1]
    killed = [json.loads(line) for line in places.read_text().splitlines()]
    written = {type(line.record).__name__ for line in read_journal(rolled.journal.read_bytes(), "the journal").lines}
    for where in ("in", "after"):
        assert written == {name for at, name, *_ in killed if at == where}
    assert 4 == sum(at == "command" for at, *_ in killed)
    rolled.check_nothing_is_lost()
