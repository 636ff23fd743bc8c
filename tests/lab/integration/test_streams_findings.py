"""S2, S3 and S8 to S11 of `streams_groups.searches` on real brokers: the schedules that the searches found, heartbeat
by heartbeat. S1 needs the client of Java (`test_two_owners.py`)."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.kafka_python.group_coordinator import CoordinatorUnavailable, GroupCoordinator
from streams_assignor.streams_group import MemberProfile, StreamsGroupMember, topology_fields
from tests.lab.integration.migrations import RELEASES
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until
from tests.lab.integration.test_streams_migration import OLDEST_LEVEL, QUOTED, site_of
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

EVERY_RELEASE = with_matrix(RELEASES, ["4.4.0"], "the same with another release")
SETTLING_ROUNDS = 6
AT_ONCE = {"group.streams.assignment.interval.ms": "0"}
SHORT_SESSION = {f"group.streams.{limit}session.timeout.ms": "6000" for limit in ("min.", "")}
JOINED = "start A | settle | start B | heartbeat B | callback B | heartbeat A | callback A | callback A | heartbeat A"


class RealGroup:
    """Members whose heartbeats are sent one by one, in the words of a scenario."""

    def __init__(self, brokers: str, name: str, source: str, *, is_static: bool = False) -> None:
        self.coordinator = GroupCoordinator(name, {"bootstrap_servers": [brokers]})
        self.topology = topology_fields(Topology.of(Subtopology(sources=[source])))
        self.name, self.is_static = name, is_static
        self.started: Counter[str] = Counter()
        self.members: dict[str, StreamsGroupMember] = {}
        self.late: dict[str, dict[str, Any]] = {}

    def play(self, line: str) -> None:
        for step in line.split(" | "):
            verb, _, name = step.partition(" ")
            _STEPS[verb](self, name)

    def start(self, name: str) -> None:
        self.started[name] += 1
        profile = MemberProfile(
            group_id=self.name,
            member_id=f"{name}#{self.started[name]}",
            process_id=name,
            rebalance_timeout_ms=300_000,
            topology=self.topology,
            instance_id=name if self.is_static else None,
        )
        self.members[name] = StreamsGroupMember(profile).subscribe()

    def crash(self, name: str) -> None:
        del self.members[name]

    def sent(self, name: str) -> dict[str, Any]:
        self.members[name], fields = self.members[name].next_request()
        return fields

    def answered(self, fields: dict[str, Any]) -> dict[str, Any]:
        return self.coordinator.heartbeat(fields, TIMEOUT_SECONDS)

    def heartbeat(self, name: str) -> None:
        answer = self.answered(self.sent(name))
        self.members[name] = self.members[name].on_response(answer)

    def lose_response(self, name: str) -> None:
        self.answered(self.sent(name))
        self.members[name] = self.members[name].on_disconnect()

    def delay(self, name: str) -> None:
        self.late[f"{name}#1"] = self.sent(name)
        self.members[name] = self.members[name].on_disconnect()

    def arrive(self, member_id: str) -> None:
        self.answered(self.late.pop(member_id))

    def callback(self, name: str) -> None:
        self.members[name] = self.members[name].on_callback_completed()

    def settle(self, _name: str) -> None:
        for _ in range(SETTLING_ROUNDS):
            for name in self.members:
                while self.members[name].callbacks:
                    self.callback(name)
                self.heartbeat(name)

    def failure(self, name: str) -> str:
        failure = self.members[name].failure
        return failure.message if failure else ""

    def owned(self, name: str) -> frozenset[Any]:
        current = self.members[name].current
        return current.active if current else frozenset()


_STEPS = {
    "start": RealGroup.start,
    "crash": RealGroup.crash,
    "heartbeat": RealGroup.heartbeat,
    "lose-response": RealGroup.lose_response,
    "delay": RealGroup.delay,
    "arrive": RealGroup.arrive,
    "callback": RealGroup.callback,
    "settle": RealGroup.settle,
}


def real_group(site: Any, *, is_static: bool = False) -> RealGroup:
    """A group on a broker that knows its topics: another group has got its tasks."""
    brokers, application = site.cluster.brokers, site.application
    first = RealGroup(brokers, f"{application.name}-before", application.source)
    first.start("Z")

    def has_tasks() -> bool:
        try:
            first.settle("")
        except CoordinatorUnavailable:
            return False
        return bool(first.owned("Z"))

    wait_until(has_tasks)
    return RealGroup(brokers, application.name, application.source, is_static=is_static)


@pytest.mark.parametrize("release", EVERY_RELEASE)
def test_a_lost_answer_or_a_late_heartbeat_leaves_a_member_without_its_tasks(release: str, tmp_path: Path) -> None:
    with site_of(release, tmp_path, **AT_ONCE) as (site, _):
        real_group(site)
        for name, loss in (("lost", "lose-response B"), ("late", "delay B | arrive B#1")):
            group = RealGroup(site.cluster.brokers, f"{site.application.name}-{name}", site.application.source)
            group.play(f"{JOINED} | {loss} | heartbeat B | settle")
            members = site.lookup.group(group.name).members
            (assigned,) = (member.broker_assignment.current.active for member in members if member.member_id == "B#1")

            print(f"{release}: the broker shows {assigned}, B has {group.owned('B')}")
            assert not group.owned("B")
            assert assigned


@pytest.mark.parametrize("release", EVERY_RELEASE)
def test_a_late_join_counts_as_a_revocation(release: str, tmp_path: Path) -> None:
    with site_of(release, tmp_path, **AT_ONCE) as (site, _):
        group = real_group(site)
        group.play("start A | delay A | settle | start B | heartbeat B | callback B | arrive A#1 | heartbeat B")
        group.play("callback B")

    print(f"{release}: A has {group.owned('A')}, B has {group.owned('B')}")
    assert group.owned("A") & group.owned("B")


@pytest.mark.parametrize("release", EVERY_RELEASE)
def test_a_static_member_ends_whose_instance_id_is_in_use(release: str, tmp_path: Path) -> None:
    """S8 and S9; before 4.4 no static member can join. Once the session has ended, the next one joins."""
    with site_of(release, tmp_path, **AT_ONCE, **SHORT_SESSION) as (site, _):
        real_group(site)
        lines = {"answer": "start A | lose-response A", "crash": "start A | settle | crash A | start A"}
        failures = {}
        for name, line in lines.items():
            group = RealGroup(
                site.cluster.brokers, f"{site.application.name}-{name}", site.application.source, is_static=True
            )
            group.play(f"{line} | heartbeat A")
            failures[name] = group.failure("A")

        def joins() -> bool:
            group.play("start A | heartbeat A")
            return not group.failure("A")

        if release == "4.4.0":
            wait_until(joins)

    print(f"{release}: {failures}")
    reason = "UNRELEASED_INSTANCE_ID" if release == "4.4.0" else QUOTED
    assert all(reason in failure for failure in failures.values())


def test_a_static_member_ends_when_its_brokers_return_to_4_3(tmp_path: Path) -> None:
    """S11; `test_streams_migration.py` has it with a member of Java."""
    with site_of("4.4.0", tmp_path, OLDEST_LEVEL, **AT_ONCE) as (site, cluster):
        group = real_group(site, is_static=True)
        group.play("start A | settle")
        assert group.owned("A")
        cluster.stop(1)
        cluster.start(1, "4.3.1", settings=AT_ONCE)

        def fails() -> bool:
            with suppress(CoordinatorUnavailable):
                group.heartbeat("A")
            return bool(group.failure("A"))

        wait_until(fails)
    assert QUOTED in group.failure("A")
