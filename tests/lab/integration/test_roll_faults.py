"""`roll` and real groups under load while something else fails: what it says, and that no record is lost.

`test_roll.py` kills `roll` itself; it has two rolls, wrong instances, static members, a broker that restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka.admin import AdminClient

from tests.lab.chaos.wall_clock import NoClocks, wall_clock
from tests.lab.integration.broker_rolls import NODES, REPLICATED
from tests.lab.integration.brokers import SETTINGS
from tests.lab.integration.clusters import OLDER, Cluster
from tests.lab.integration.group_log import generations
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import SESSION_S, Load, Operator, RollProcess, records
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

OFFSETS = "__consumer_offsets"
"""It has one partition, whose leader is the coordinator of all groups."""
THREE_NODES = {**REPLICATED, "min.insync.replicas": "1"}  # the topics of the group have one replica
PODS = ("pod-1", "pod-2", "pod-3")
PYTHON = "python-1"
STATIC = {"group.instance.id": "{}"}
EXACTLY_ONCE = {"processing.guarantee": "exactly_once_v2"}


@frozen
class Scene:
    """A cluster with a group that is about to be upgraded."""

    cluster: Cluster
    group: Group
    operator: Operator
    folder: Path
    release: str

    @property
    def journal(self) -> Path:
        return self.folder / "roll.jsonl"

    def roll(self, target: str, *more: str, origin: str | None = None, session_s: float = SESSION_S) -> RollProcess:
        """Start the command, which continues its journal; with an empty origin it is not told what runs."""
        origin = self.release if origin is None else origin
        return RollProcess(
            *(self.group.topics.application, "--to", target, "--restart", self.operator.template, "--yes"),
            *(("--from", origin) if origin else ()),
            *("--accept-no-way-back", "--journal", str(self.journal), "--session-timeout", f"{session_s}s"),
            *("--bootstrap-servers", self.group.brokers, *more),
        )

    def leader(self) -> str:
        """The instance that leads, as the coordinator has stored it: a description does not say it."""
        return generations(self.group.brokers, self.group.topics.application)[-1].leading

    def kill_leader(self) -> str:
        """Kill the instance that leads, and return it; one that is being restarted leads no more."""
        while True:
            leader = self.leader()
            with suppress(KeyError):
                self.group.kill(leader)
                return leader

    def deviations(self) -> list[Mapping[str, Any]]:
        return [record for record in records(self.journal) if record["record"] == "deviation"]

    def restarted(self) -> list[str]:
        return [words[1] for words in self.operator.calls]

    def check_records(self, *, exactly_once: bool = False) -> None:
        """Wait until all records are counted; with exactly-once, none twice."""
        self.group.settle()
        self.group.eventually(
            lambda: self.group.lost_and_duplicated()[0] == 0, lambda: f"lost {self.group.lost_and_duplicated()}"
        )
        if exactly_once:
            assert (0, 0) == self.group.lost_and_duplicated()


SceneMaker = Callable[..., Scene]


@pytest.fixture(name="scene")
def fixture_scene(tmp_path: Path) -> Iterator[SceneMaker]:
    stack: list[Any] = []

    def make(release: str, nodes: int = 1, names: tuple[str, ...] = PODS, **settings: str) -> Scene:
        try:
            counting(release)
        except Unavailable as missing:
            pytest.skip(f"no member: {missing}")
        cluster = Cluster(tmp_path / "cluster", controllers=nodes, others=0)
        stack.append(cluster)
        for node in range(1, nodes + 1):
            cluster.launch(node, OLDER, settings=SETTINGS if nodes == 1 else THREE_NODES)
        for node in range(1, nodes + 1):
            cluster.wait(node)
        servers = ",".join(cluster.broker(node) for node in range(1, nodes + 1))
        group = Group(servers, "stateful", tmp_path)
        stack.append(group)
        operator = Operator(group, tmp_path, **settings)
        stack.append(operator.__enter__())
        for name in names:
            operator.start(name, release)
        group.settle()
        return Scene(cluster, group, operator, tmp_path, release)

    yield make
    for each in reversed(stack):
        each.__exit__(None, None, None)


def test_a_leader_that_is_killed_between_steps_is_a_deviation_and_exactly_once_holds(scene: SceneMaker) -> None:
    made = scene("3.9.2", **EXACTLY_ONCE)
    with Load(made.group):
        process = made.roll("4.3.1", "--timeout", "30s")
        process.until("step 1: passed")
        leader = made.kill_leader()
        status = process.wait()
        # The leader was the instance of the next step (then its restart heals it), or it is missed.
        if status:
            assert 3 == status, process.lines
            (found,) = made.deviations()
            assert ("member-gone", [leader]) == (found["kind"], found["instances"]), found
            release = "4.3.1" if leader in made.restarted() else "3.9.2"
            made.operator.start(leader, release)
            again = made.roll("4.3.1")
            assert 0 == again.wait(), again.lines
    made.check_records(exactly_once=True)
    assert set(PODS) == set(made.restarted())


def test_a_leader_that_is_killed_while_an_instance_does_not_return_is_named_beside_it(scene: SceneMaker) -> None:
    made = scene("3.9.2", **EXACTLY_ONCE)
    leader = made.leader()
    lost = next(name for name in PODS if name != leader)

    def lose(name: str, _release: str, _upgrade_from: str) -> None:
        made.group.stop(name)
        made.group.kill(leader)

    made.operator.restart = lose
    with Load(made.group):
        stopped = made.roll("4.3.1", "--canary", lost, "--timeout", "30s")
        assert 3 == stopped.wait(), stopped.lines
        (found,) = made.deviations()
        assert ("not-returned", [lost]) == (found["kind"], found["instances"]), found
        assert f"{leader} has 0 of 1 member" in found["observed"]
        made.operator.restart = made.operator.restart_as_told
        made.operator.start(leader, "3.9.2")
        done = made.roll("4.3.1", "--canary", lost, "--answer", "again")
        assert 0 == done.wait(), done.lines
    made.check_records(exactly_once=True)
    assert sorted([lost, *PODS]) == sorted(made.restarted())


def test_a_leader_that_a_supervisor_starts_again_is_waited_for(scene: SceneMaker) -> None:
    made = scene("3.9.2")
    with Load(made.group):
        process = made.roll("4.3.1")
        process.until("step 1: passed")
        leader = made.leader()
        made.group.kill(leader)
        made.operator.start(leader, "4.3.1" if leader in made.restarted() else "3.9.2")
        assert 0 == process.wait(), (made.deviations(), process.lines)
    made.check_records()
    assert [] == made.deviations()


def test_the_coordinator_moves_between_steps(scene: SceneMaker) -> None:
    # On a busy machine members need longer than the usual session to find the new coordinator: then some are replaced.
    made = scene("3.9.2", nodes=len(NODES), **{"session.timeout.ms": "30000"})
    with Load(made.group):
        process = made.roll("4.3.1", session_s=30)
        process.until("step 1: passed")
        topics = AdminClient({"bootstrap.servers": made.group.brokers}).list_topics(OFFSETS, TIMEOUT_SECONDS).topics
        node = topics[OFFSETS].partitions[0].leader
        made.cluster.stop(node)
        made.cluster.start(node, OLDER, settings=THREE_NODES)
        assert 0 == process.wait(), (made.deviations(), process.lines)
    made.check_records()
    assert sorted(PODS) == sorted(made.restarted())


def test_a_clock_that_jumps_changes_no_outcome(scene: SceneMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scene("3.9.2")
    try:
        clock = wall_clock(made.folder / "clock")
    except NoClocks as missing:
        pytest.skip(str(missing))
    with monkeypatch.context() as patched:
        for name, value in clock.environment.items():
            patched.setenv(name, value)
        process = made.roll("4.3.1")
    with Load(made.group):
        for number, seconds in ((1, 7200.0), (2, -86_400.0)):
            process.until(f"step {number}: restart")
            clock.jump(seconds)
        assert 0 == process.wait(), (made.deviations(), process.lines)
    made.check_records()
    assert [] == made.deviations()


def test_a_group_with_a_python_member_is_upgraded(scene: SceneMaker) -> None:
    made = scene("2.8.2", names=PODS[:2])

    def start(name: str, release: str, upgrade_from: str = "") -> None:
        made.group.start(name, release, **({"upgrade.from": upgrade_from} if upgrade_from else {}))

    def restart(name: str, release: str, upgrade_from: str) -> None:
        if name != PYTHON:
            made.operator.restart_as_told(name, release, upgrade_from)
            return
        made.group.stop(name)
        start(name, release, upgrade_from)

    made.operator.restart = restart
    start(PYTHON, "2.8.2")
    made.group.settle()
    with Load(made.group):
        process = made.roll("4.3.1")
        assert 0 == process.wait(), (made.deviations(), process.lines)
    made.check_records()
    assert 2 * sorted([*PODS[:2], PYTHON]) == [
        name for half in (0, 3) for name in sorted(made.restarted()[half : half + 3])
    ]


def test_a_crash_loop_is_reported_and_the_roll_goes_on_when_it_is_over(scene: SceneMaker) -> None:
    made = scene("3.9.2")
    supervisors: list[Thread] = []

    def crash(name: str, release: str, upgrade_from: str) -> None:
        made.operator.restart_as_told(name, release, upgrade_from)
        if supervisors:
            return
        supervisors.append(Thread(target=supervise, args=(name, release, upgrade_from), daemon=True))
        supervisors[-1].start()

    def supervise(name: str, release: str, upgrade_from: str) -> None:
        for _ in range(4):  # it joins, fails, and is started again
            member = made.group.members[name]
            wait_until(lambda: any("owns" in line for line in member.lines))  # noqa: B023 - waited for at once
            made.group.kill(name)
            made.operator.start(name, release, upgrade_from)

    made.operator.restart = crash
    with Load(made.group):
        stopped = made.roll("4.3.1")
        assert 3 == stopped.wait(), stopped.lines
        supervisors[0].join()
        made.operator.restart = made.operator.restart_as_told
        (found,) = made.deviations()
        # Between two crashes it was as it has to be, so the next step may have begun.
        assert ("crash-loop", made.restarted()[:1]) == (found["kind"], found["instances"]), found

        done = made.roll("4.3.1")
        assert 0 == done.wait(), done.lines
    made.check_records()
    assert sorted(PODS) == sorted(made.restarted())


def let_the_new_release_fail(made: Scene, supervised: bool) -> Callable[[], None]:
    """Each instance that is restarted as the new release fails as soon as it has tasks; return what ends that."""
    ended, threads = Event(), list[Thread]()

    def restart(name: str, release: str, upgrade_from: str) -> None:
        made.operator.restart_as_told(name, release, upgrade_from)
        if not ended.is_set():
            threads.append(Thread(target=fail, args=(name, release, upgrade_from), daemon=True))
            threads[-1].start()

    def fail(name: str, release: str, upgrade_from: str) -> None:
        while not ended.is_set():
            member = made.group.members[name]
            wait_until(lambda: any("owns" in line for line in member.lines) or ended.is_set())  # noqa: B023
            made.group.kill(name)
            if not supervised:
                return
            made.operator.start(name, release, upgrade_from)

    def end() -> None:
        ended.set()
        for thread in threads:
            thread.join()

    made.operator.restart = restart
    return end


@pytest.mark.parametrize("settings", [{}, STATIC], ids=["dynamic", "static"])
def test_a_release_that_dies_after_it_has_joined_stops_at_its_first_instance(
    scene: SceneMaker, settings: Mapping[str, str]
) -> None:
    """Of static members all three were dead 14 s after the first command, and each step had passed."""
    made = scene("3.9.2", **settings)
    end = let_the_new_release_fail(made, supervised=False)
    with Load(made.group):
        stopped = made.roll("4.3.1", "--timeout", "40s")
        assert 3 == stopped.wait(), stopped.lines
        end()
        (found,) = made.deviations()
        assert ("failed-after-join", made.restarted()) == (found["kind"], found["instances"]), found
        done = made.roll("4.3.1", "--answer", "again")
        assert 0 == done.wait(), done.lines
    made.check_records()
    assert sorted([*made.restarted()[:1], *PODS]) == sorted(made.restarted())


def test_a_release_that_crashes_again_and_again_is_not_rolled_out(scene: SceneMaker) -> None:
    """A crash with its session took as long as a step: each step passed, and the release was verified."""
    made = scene("3.9.2")
    end = let_the_new_release_fail(made, supervised=True)
    with Load(made.group):
        stopped = made.roll("4.3.1", "--timeout", "2m")
        assert 3 == stopped.wait(), stopped.lines
        end()
    (found,) = made.deviations()
    assert found["kind"] in ("crash-loop", "failed-after-join", "still-running"), found
    assert 1 == len(made.restarted())


def test_an_instance_that_comes_in_the_middle_is_taken_into_the_plan(scene: SceneMaker) -> None:
    """After "continue" every instance was verified, and one of them ran the old release."""
    made = scene("3.9.2")
    with Load(made.group):
        process = made.roll("4.3.1")
        process.until("step 1: passed")
        made.operator.start("pod-9", "3.9.2")
        assert 3 == process.wait(), process.lines
        (found,) = made.deviations()
        assert "foreign-member" == found["kind"], found
        done = made.roll("4.3.1", "--answer", "replan")
        assert 0 == done.wait(), done.lines
    made.check_records()
    assert {"4.3.1"} == {release for release, _ in made.operator.running.values()}
    assert sorted([*PODS, "pod-9"]) == sorted(made.restarted())


def test_an_instance_that_goes_in_the_middle_is_forgotten_and_a_finished_roll_looks_again(scene: SceneMaker) -> None:
    made = scene("3.9.2")
    with Load(made.group):
        process = made.roll("4.3.1", "--timeout", "30s")
        process.until("step 1: passed")
        made.operator.stop("pod-3")
        assert 3 == process.wait(), process.lines
        (found,) = made.deviations()
        assert ("member-gone", ["pod-3"]) == (found["kind"], found["instances"]), found
        done = made.roll("4.3.1", "--answer", "replan")
        assert 0 == done.wait(), done.lines
    made.check_records()
    assert sorted(PODS[:2]) == sorted(made.restarted())

    assert 0 == made.roll("4.3.1").wait()
    made.operator.stop("pod-1")
    again = made.roll("4.3.1")
    assert 3 == again.wait(), again.lines
    assert any("finished then; now pod-1 has 0 of 1 member" in line for line in again.lines), again.lines


def test_the_way_back_leads_to_the_release_that_an_operator_names(scene: SceneMaker) -> None:
    """It led to 3.4.0, which shows the same, and nobody had that build."""
    made = scene("3.9.2")
    made.operator.restart = lambda name, *_: made.operator.stop(name)
    with Load(made.group):
        stopped = made.roll("4.3.1", "--answer", "continue", "--timeout", "30s", origin="")
        assert 3 == stopped.wait(), stopped.lines
        made.operator.restart = made.operator.restart_as_told
        asked = made.roll("4.3.1", "--back", origin="")
        assert 3 == asked.wait(), asked.lines
        assert 1 == len(made.operator.calls)
        done = made.roll("4.3.1", "--back", "--answer", "continue", origin="3.9")
        assert 0 == done.wait(), done.lines
    made.check_records()
    assert {"3.9.2"} == {release for release, _ in made.operator.running.values()}
