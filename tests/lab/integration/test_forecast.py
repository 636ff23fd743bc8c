"""Real members are restarted, upgraded, stopped and added, and what came of it is among the outcomes of the forecast.

Records come between a forecast and its step, so members report other offsets than the forecast knew. Therefore the
leader's decision is computed again from the subscriptions that were sent, for each generation: it has to be the one
that was made, and how far the offsets have drifted is reported.

``python -m tests.lab.integration.test_forecast`` prints the rows of the verification page.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from streams_assignor import ClusterSnapshot, StreamsAssignor
from streams_assignor.codec import TaskId
from streams_assignor.groups import InspectedGroup, NoSuchGroup, inspect_group
from streams_assignor.groups.decoded import assignment_seen, subscription_seen
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.spark_sim.forecast import Forecast, forecast, observe, parse_operation
from streams_assignor.task_assignor import HIGH_AVAILABILITY
from streams_assignor.upgrade.releases import OURS, release_named
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.group_log import Generation, generations, timed_generations
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import Group, is_python_member
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from tests.lab.integration.topologies import topology

pytestmark = [
    pytest.mark.broker,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.matrix(reason="a minute or two each, because groups wait for sessions of six seconds"),
]

SESSION_S: Final = 6.0
_SOON: Final = {"probing.rebalance.interval.ms": "60000"}  # the least that Kafka accepts
RESTARTS: Final = ("restart a", "restart b", "add", "stop c")
PYTHON_RESTARTS: Final = ("restart python-a", "restart python-b", "add", "stop python-c")
STANDBYS: Final = {"num.standby.replicas": "1"}


@frozen
class Case:
    """A group and what happens to it."""

    release: str
    settings: Mapping[str, str] = {}
    steps: Sequence[str] = RESTARTS
    names: tuple[str, str, str, str] = ("a", "b", "c", "d")
    """Of the instances; the last one is added."""


def upgrades(release: str, *settings: str) -> tuple[str, ...]:
    return tuple(" ".join((f"upgrade {name} {release}", *settings)) for name in "bca")


GROUPS: Mapping[str, Case] = {
    "1.1.1": Case("1.1.1"),
    "2.3.1": Case("2.3.1"),
    "2.8.2": Case("2.8.2"),
    "3.9.2 with standbys": Case("3.9.2", STANDBYS),
    "3.9.2 static": Case("3.9.2", {"group.instance.id": "{}"}),
    "3.9.2 eager": Case("3.9.2", {"upgrade.from": "2.3"}),
    "4.3.1 with two threads": Case("4.3.1", {"num.stream.threads": "2", **STANDBYS}),
    "4.4.0": Case("4.4.0"),
    "python": Case("streams-assignor", {}, PYTHON_RESTARTS, ("python-a", "python-b", "python-c", "python-d")),
    "python with standbys": Case(
        "streams-assignor", STANDBYS, PYTHON_RESTARTS, ("python-a", "python-b", "python-c", "python-d")
    ),
    "2.8.2 to 3.9.2": Case("2.8.2", {}, upgrades("3.9.2")),
    "3.9.2 with standbys to 4.3.1": Case("3.9.2", STANDBYS, upgrades("4.3.1")),
    "2.3.1 to 3.9.2 in two bounces": Case("2.3.1", {}, (*upgrades("3.9.2", "upgrade.from=2.3"), *upgrades("3.9.2"))),
}
"""Name -> what happens."""


@frozen
class Row:
    """One step: what was predicted, and what was seen."""

    group: str
    step: str
    outcomes: int
    predicted_rebalances: tuple[int, ...]
    rebalances: int
    moved: int
    is_predicted: bool
    recomputed: tuple[int, int]
    """In how many generations the decision is that of the subscriptions sent, and in how many it was looked at."""
    drift: int
    """The most by which an offset sum that was sent differs from the one that the forecast knew."""

    unexplained: int
    """In how many it is another one although the leader can read all subscriptions."""
    predicted_unowned_s: tuple[float, ...] = ()
    """The longest time that a task has no owner, in each outcome."""
    unowned_s: float | None = None
    """How long it was; None: no task of the instance has got another owner."""

    @property
    def is_right(self) -> bool:
        """Whether it went as it had to."""
        return self.is_predicted and not self.unexplained

    def __str__(self) -> str:
        predicted = " or ".join(map(str, sorted({*self.predicted_rebalances})))
        same, all_of_them = self.recomputed
        return (
            f"| {self.group} | {self.step} | {self.outcomes} | {predicted} | {self.rebalances} | {self.moved} | "
            f"{'yes' if self.is_predicted else 'no'} | {same} of {all_of_them} | {self.drift:,} | "
            f"{' or '.join(f'{each:g}' for each in sorted({*self.predicted_unowned_s}))} | {self._seconds} |"
        )

    @property
    def _seconds(self) -> str:
        return "–" if self.unowned_s is None else f"{self.unowned_s:.1f}"


def look(group: Group) -> InspectedGroup:
    """Describe the group, once it is stable and no rebalance is due."""
    lookup, seen = GroupLookup(group.brokers, {}, TIMEOUT_SECONDS), []

    def is_at_rest() -> bool:
        with suppress(NoSuchGroup):
            seen[:] = [inspect_group(lookup.group(group.topics.application))]
        members = seen[0].members if seen else ()
        return (
            bool(members)
            and seen[0].is_streams
            and not any(member.is_about_to_rejoin or member.assignment.next_rebalance_ms for member in members)
        )

    group.eventually(is_at_rest, lambda: f"the group is {seen[0].described.state if seen else None}")
    return seen[0]


def owners(group: InspectedGroup) -> dict[str, str]:
    return {
        str(task): instance_of(member.described.client_id)
        for member in group.members
        for task in member.assignment.active
    }


def instance_of(client_id: str) -> str:
    return client_id.partition("-StreamThread")[0]


def predictions(found: Forecast, added: str) -> list[dict[str, str]]:
    """Which tasks move to which instance, in each outcome."""
    names = [
        {str(row.task): (row.target or "").partition(" ")[0] for row in outcome.moved} for outcome in found.outcomes
    ]
    return [{task: added if owner == "(new)" else owner for task, owner in each.items()} for each in names]


class Played:
    """A group of three instances, to which the steps of a case happen."""

    def __init__(self, name: str, group: Group, folder: Path) -> None:
        self._name, self._case, self._group, self._folder = name, GROUPS[name], group, folder
        self._runs: dict[str, str] = {}
        """Instance -> its release and ``upgrade.from``."""

    def rows(self) -> Iterator[Row]:
        for instance in self._case.names[:3]:
            self._start(instance, self._case.release)
            self._group.eventually(lambda: instance in self._instances(), lambda: f"{instance} is not there")  # noqa: B023
            self._rest()
        self._group.count()
        for text in self._case.steps:
            yield self._step(text)

    def _step(self, text: str) -> Row:
        verb, instance, *rest = (*text.split(), self._case.names[3])[:4] if text == "add" else text.split()
        before = look(self._group)
        found = forecast(observe(before, StreamsConfig()), parse_operation(text), now_ms=0, session_timeout_s=SESSION_S)
        self._group.count()  # members report other offsets than the forecast knows
        since = self._generations()[-1].number
        stopped = time.time()  # that of the broker, too
        if verb in ("restart", "upgrade", "stop"):
            self._group.stop(instance)
        if verb == "stop":
            self._group.eventually(lambda: instance not in self._instances(), lambda: f"{instance} is still there")
        else:
            self._start(instance, *(rest or self._runs.get(instance, self._case.release).split()))
            self._group.eventually(lambda: self._is_back(instance, before), lambda: f"{instance} is not there")
        self._rest()
        old, new = owners(before), owners(look(self._group))
        moved = {task: owner for task, owner in new.items() if old[task] != owner}
        played = [generation for generation in self._generations() if generation.number > since]
        answered = [generation for generation in played if generation.answered]
        same = [self._repeats(generation) for generation in answered]
        return Row(
            self._name,
            text,
            len(found.outcomes),
            tuple(outcome.rebalances for outcome in found.outcomes),
            len(played),
            len(moved),
            moved in predictions(found, self._case.names[3]),
            (sum(same), len(same)),
            max((drift(before, generation) for generation in played), default=0),
            sum(
                not repeats and not has_future_member(generation)
                for generation, repeats in zip(answered, same, strict=True)
            ),
            tuple(max(outcome.unowned_s.values(), default=0.0) for outcome in found.outcomes),
            None if verb == "add" else self._unowned(before, instance, since, stopped),
        )

    def _unowned(self, before: InspectedGroup, instance: str, since: int, stopped: float) -> float | None:
        """How long the tasks of an instance had no owner, at the most: until a generation with one was stored."""
        tasks = {task for task, owner in owners(before).items() if owner == instance}
        begun: dict[str, float] = {}
        for stored, generation in timed_generations(self._group.brokers, self._group.topics.application):
            if generation.number > since and generation.answered:
                for task in tasks:
                    if generation.owner(task):
                        begun.setdefault(task, stored - stopped)
        return max(begun.values(), default=None)

    def _start(self, instance: str, release: str, *settings: str) -> None:
        self._runs[instance] = " ".join((release, *settings))
        given = {key: value.format(instance) for key, value in self._case.settings.items()}
        given |= dict(setting.split("=", 1) for setting in settings)
        of_java = {"state.dir": str(self._folder / self._group.topics.application / instance)} | _SOON
        self._group.start(instance, release, **({} if is_python_member(instance) else of_java), **given)

    def _rest(self) -> None:
        self._group.settle(all_members=False)
        self._group.check_that_no_member_rejoins()

    def _generations(self) -> list[Generation]:
        stored = {each.number: each for each in generations(self._group.brokers, self._group.topics.application)}
        return [*stored.values()]

    def _instances(self) -> set[str]:
        return {instance_of(member.described.client_id) for member in look(self._group).members}

    def _is_back(self, instance: str, before: InspectedGroup) -> bool:
        ids = {member.described.member_id for member in before.members}
        there = [member.described for member in look(self._group).members]
        return any(instance_of(one.client_id) == instance and one.member_id not in ids for one in there)

    def _repeats(self, generation: Generation) -> bool:
        """Whether the leader's decision is computed again from the subscriptions that its members have sent."""
        subscriptions = {seat.member_id: seat.subscription for seat in generation.members}
        leader = next(seat for seat in generation.members if seat.member_id == generation.leader)
        release, *settings = self._runs[leader.name].split()
        given = {"num.standby.replicas": self._case.settings.get("num.standby.replicas", "0")}
        given |= dict(setting.split("=", 1) for setting in settings)
        topics = self._group.topics
        ends = GroupLookup(self._group.brokers, {}, TIMEOUT_SECONDS).changelog_sizes(topics.application).ends
        assignor = StreamsAssignor(
            topology(topics),
            StreamsConfig.of(given),
            process_id=subscription_seen(leader.subscription, streams=True).process_id,
            release=release_named(release),
            task_assignor=HIGH_AVAILABILITY if release == OURS.name else None,  # as theirs have an admin
        )
        partitions = {topics.source: topics.partitions, topics.changelog: topics.partitions}
        cluster = ClusterSnapshot(partitions=partitions, end_offsets=ends)
        assigned = assignor.assign(cluster, subscriptions)
        return all(
            _tasks(assigned[seat.member_id]) == _tasks(seat.assignment)
            for seat in generation.members
            if seat.assignment
        )


def _tasks(assignment: bytes) -> tuple[frozenset[TaskId], frozenset[TaskId]]:
    seen = assignment_seen(assignment, streams=True)
    return frozenset(seen.active), frozenset(seen.standbys)


def has_future_member(generation: Generation) -> bool:
    """Whether the leader cannot read some subscription: it draws a process id for it (Java: ``FUTURE_ID``)."""
    sent = {seat.member_id: subscription_seen(seat.subscription, streams=True) for seat in generation.members}
    supported = sent[generation.leader or ""].supported_version or 0
    return any((seat.used_version or 0) > supported for seat in sent.values())


def drift(before: InspectedGroup, generation: Generation) -> int:
    """The most by which an offset sum differs from the one that the same process has reported before."""
    known = {
        (member.subscription.process_id, task): offset_sum
        for member in before.members
        for task, offset_sum in (member.subscription.offset_sums or {}).items()
        if offset_sum >= 0
    }
    sent = [subscription_seen(seat.subscription, streams=True) for seat in generation.members]
    return max(
        (
            abs(offset_sum - known[seat.process_id, task])
            for seat in sent
            for task, offset_sum in (seat.offset_sums or {}).items()
            if offset_sum >= 0 and (seat.process_id, task) in known
        ),
        default=0,
    )


def play(name: str, brokers: str, folder: Path) -> Iterator[Row]:
    with Group(brokers, "persistent", folder, 12) as group:
        yield from Played(name, group, folder).rows()


@pytest.mark.parametrize("name", GROUPS)
def test_what_came_of_a_step_is_among_the_outcomes(name: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        try:
            brokers = broker_of(OLDER, tmp_path / "broker", stack)
        except Unavailable as missing:
            pytest.skip(f"no broker: {missing}")
        rows = list(play(name, brokers, tmp_path))
    print(*rows, sep="\n")
    assert [] == [str(row) for row in rows if not row.is_right]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        brokers = broker_of(OLDER, Path(folder) / "broker", stack)
        for name in sys.argv[1:] or GROUPS:
            for row in play(name, brokers, Path(folder)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
