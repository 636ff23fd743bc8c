"""Forecasts of steps in streams groups, beside what real members of several releases do on a broker of 4.4.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.groups import InspectedGroup, NoSuchGroup, inspect_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.spark_sim.forecast import forecast_streams_group, parse_operation, streams_restart_order
from tests.lab.integration.applications import Application
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.confluent_members import ConfluentMember
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.migrations import command
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until
from tests.lab.integration.test_streams_groups import STREAMS, TIMEOUTS, set_group_config

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

OLD, NEW, PYTHON = "4.2.2", "4.4.0", "python"
SESSION = "streams.session.timeout.ms"
CANNOT_TELL = 3
"""The status of ``group wait`` if members may run a release and what they show is that of others, too."""
Owners = dict[str, str]
"""Task -> the process that owns it."""


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with Cluster(tmp_path_factory.mktemp("forecast"), others=0) as cluster:
            counting(OLD)
            cluster.start(1, NEW, settings=TIMEOUTS)
            yield cluster
    except Unavailable as missing:
        pytest.skip(f"no broker of {NEW}, or no Kafka Streams {OLD}: {missing}")


class Played:
    """A streams group to which steps happen, and what came of each."""

    def __init__(self, app: Application, folder: Path, stack: ExitStack, *, is_static: bool = False) -> None:
        self.app = app
        self._folder, self._stack, self._is_static = folder, stack, is_static
        self._lookup = GroupLookup(app._broker, timeout_seconds=TIMEOUT_SECONDS)
        self._members: dict[str, tuple[object, str]] = {}
        """Name -> the process, and its release."""

    def start(self, name: str, release: str) -> None:
        settings = {"client.id": name} | ({"group.instance.id": name} if self._is_static else {})
        if release == PYTHON:
            member = self._stack.enter_context(ConfluentMember(self.app, **STREAMS, **settings))
        else:
            state = self._folder / name
            settings["shape"] = "persistent"  # so that its process id is, too
            member = self._stack.enter_context(self.app.java(release, state, protocol="streams", **settings))
        self._members[name] = member, release

    def look(self, *, without: frozenset[str] = frozenset()) -> InspectedGroup:
        """Describe the group when its members are all that run, have joined anew, and have their tasks."""
        seen: list[InspectedGroup] = []

        def is_at_rest() -> bool:
            with suppress(NoSuchGroup):
                seen[:] = [inspect_group(self._lookup.group(self.app.name))]
            ids = {member.described.member_id for member in seen[0].members} if seen else set()
            return (
                len(ids) == len(self._members)
                and not ids & without
                and seen[0].described.state == "Stable"
                and all(each.is_complete for each in seen[0].reconciliations.values())
            )

        wait_until(is_at_rest, *(member for member, _ in self._members.values()))
        return seen[0]

    def step(self, names: str, release: str = "", *, is_away: bool) -> tuple[int, int, Owners]:
        """Restart processes, with a look at the group without them; return the epochs, moves and what has moved."""
        before = self.look()
        stopped = {name: self._members.pop(name) for name in names.split(",")}
        for member, _ in stopped.values():
            member.stop()
        courses = [owners(before), *([owners(self.look())] if is_away else [])]
        for name, (_, old) in stopped.items():
            self.start(name, release or old)
        after = self.look(without=ids_of(before, stopped))
        courses.append(owners(after))
        moves = sum(now[task] != owner for last, now in pairwise(courses) for task, owner in last.items())
        moved = {task: owner for task, owner in courses[-1].items() if courses[0][task] != owner}
        return epoch_of(after) - epoch_of(before), moves, moved

    def shown(self) -> str:
        """The releases that the members show, as ``group wait NAME release=`` says it."""
        wait = ("wait", self.app.name, f"release={NEW}", "--members", str(len(self._members)))
        done = command("group", *wait, "--bootstrap-servers", self.app._broker)
        assert CANNOT_TELL == done.returncode, done
        return done.stderr

    def check(self, text: str, *, is_away: bool = True, after_session: bool = False, ephemeral: bool = False) -> None:
        """Do a step: its epochs and moves are those of an outcome of the forecast."""
        operation = evolve(parse_operation(text), after_session=after_session)
        before = self.look()
        found = forecast_streams_group(before, operation, ephemeral=ephemeral)
        predicted = {
            (outcome.rebalances, outcome.moves, str({str(row.task): name_of(row.target) for row in outcome.moved}))
            for outcome in found.outcomes
        }
        _, names, *release = text.split()
        epochs, moves, moved = self.step(names, *release, is_away=is_away)
        print(f"{text}: {epochs} epochs, {moves} moves, {moved}; {len(predicted)} outcomes")
        assert (epochs, moves, str(dict(sorted(moved.items())))) in predicted, before.described


def name_of(label: str | None) -> str:
    return (label or "").partition(" ")[0]


def owners(group: InspectedGroup) -> Owners:
    return {
        str(task): member.described.client_id.partition("-StreamThread")[0]
        for member in group.members
        for task in member.assignment.active
    }


def ids_of(group: InspectedGroup, names: object) -> frozenset[str]:
    return frozenset(
        member.described.member_id
        for member in group.members
        if member.described.client_id.partition("-StreamThread")[0] in names
    )


def epoch_of(group: InspectedGroup) -> int:
    assert group.described.broker
    return group.described.broker.epoch


@pytest.fixture(name="play")
def fixture_play(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., Played]]:
    """What makes a group of members, given by their names and releases."""
    with ExitStack() as stack:

        def play(*, is_static: bool = False, session_ms: int = 12_000, **releases: str) -> Played:
            played = Played(Application(cluster.brokers), tmp_path, stack, is_static=is_static)
            set_group_config(played.app, SESSION, str(session_ms))
            for name, release in releases.items():
                played.start(name, release)
                played.look()
            return played

        yield play


def test_steps_in_a_group_of_members_of_two_releases_and_python(play: Callable[..., Played]) -> None:
    """None of them shows a release before 4.1.0, and the plan to 4.4 was "already there, nothing to do"."""
    played = play(a=OLD, b=NEW, c=PYTHON, d=OLD)
    plan = command("plan", NEW, "--group", played.app.name, "--bootstrap-servers", played.app._broker).stdout
    assert "4.1.0 to 4.4.0: safe for the protocol: one rolling bounce" in plan.splitlines()[0]
    (behind,) = (line for line in plan.splitlines() if "members that are not shown to run 4.4.0" in line)
    assert [True, False, True, True] == [f" {name} (" in behind.replace("-StreamThread-1", "") for name in "abcd"]
    played.check("restart a")
    played.check("restart b")
    played.check("restart c", ephemeral=True)
    played.check("restart a,b")
    played.check(f"upgrade a {NEW}")


@pytest.mark.parametrize("text", ["restart all", f"upgrade all {NEW}"])
def test_all_are_restarted_in_the_order_of_the_forecast(play: Callable[..., Played], text: str) -> None:
    """Members of 4.4 show it by the offsets of their tasks."""
    played = play(a=OLD, b=OLD, c=OLD)
    assert "that of 4.1.0 or newer, " in played.shown()
    found = streams_restart_order(played.look(), parse_operation(text))
    results = [played.step(name_of(label), *text.split()[2:], is_away=True) for label, _ in found.restarts]
    epochs, moves = (sum(result[number] for result in results) for number in (0, 1))
    print(f"{text}: {[name_of(label) for label, _ in found.restarts]}: {epochs} epochs, {moves} moves")
    assert found.cost.least.rebalances == found.cost.most.rebalances == epochs
    assert found.cost.least.moves <= moves <= found.cost.most.moves
    assert found.at_least.moves <= moves
    lowest = "4.1.0" if text == "restart all" else NEW
    wait_until(lambda: f"that of {lowest} or newer, " in played.shown())


@pytest.mark.parametrize("is_late", [False, True])
def test_several_static_processes_at_a_time(play: Callable[..., Played], *, is_late: bool) -> None:
    played = play(a=NEW, b=NEW, c=NEW, d=NEW, is_static=True, session_ms=12_000 if is_late else 600_000)
    played.check("restart b,c", is_away=is_late, after_session=is_late)
    if not is_late:
        order = streams_restart_order(played.look(), parse_operation("restart all"))
        assert [(0, 0, {})] * 4 == [played.step(name_of(label), is_away=False) for label, _ in order.restarts]
        assert (0, 0) == (order.cost.most.rebalances, order.cost.most.moves)
