"""Real members are restarted, stopped and added, and what came of it is among the outcomes of the forecast.

``python -m tests.lab.integration.test_forecast`` prints the rows of the verification page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from attrs import frozen

from assignor.groups import InspectedGroup, inspect_group
from assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from spark_sim.forecast import Forecast, forecast, observe, parse_operation
from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.group_log import generations
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import Group
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from upgrade.streams_config import StreamsConfig

pytestmark = [
    pytest.mark.broker,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.matrix(reason="a minute or two each, because groups wait for sessions of six seconds"),
]

SESSION_S = 6.0
_SOON = {"probing.rebalance.interval.ms": "60000"}  # the least that Kafka accepts
GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "1.1.1": ("1.1.1", {}),
    "2.3.1": ("2.3.1", {}),
    "2.8.2": ("2.8.2", {}),
    "3.9.2 with standbys": ("3.9.2", {"num.standby.replicas": "1"}),
    "3.9.2 static": ("3.9.2", {"group.instance.id": "{}"}),
    "3.9.2 eager": ("3.9.2", {"upgrade.from": "2.3"}),
    "4.3.1 with two threads": ("4.3.1", {"num.stream.threads": "2", "num.standby.replicas": "1"}),
    "4.4.0": ("4.4.0", {}),
}
"""Name -> the release of the members and their settings."""


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

    def __str__(self) -> str:
        predicted = " or ".join(map(str, sorted({*self.predicted_rebalances})))
        return (
            f"| {self.group} | {self.step} | {self.outcomes} | {predicted} | {self.rebalances} | {self.moved} | "
            f"{'yes' if self.is_predicted else 'no'} |"
        )


def look(group: Group) -> InspectedGroup:
    """Describe the group, once it is stable and no rebalance is due."""
    lookup, seen = GroupLookup(group.brokers, {}, TIMEOUT_SECONDS), []

    def is_at_rest() -> bool:
        seen[:] = [inspect_group(lookup.group(group.topics.application))]
        members = seen[0].members
        return seen[0].is_streams and not any(
            member.is_about_to_rejoin or member.assignment.next_rebalance_ms for member in members
        )

    group.eventually(is_at_rest, lambda: f"the group is {seen[0].described.state}")
    return seen[0]


def owners(group: InspectedGroup) -> dict[str, str]:
    return {
        str(task): instance_of(member.described.client_id)
        for member in group.members
        for task in member.assignment.active
    }


def instance_of(client_id: str) -> str:
    return client_id.partition("-StreamThread")[0]


def predictions(found: Forecast) -> list[dict[str, str]]:
    """Which tasks move to which instance, in each outcome."""
    return [
        {str(row.task): (row.target or "").partition(" ")[0] for row in outcome.moved} for outcome in found.outcomes
    ]


def play(name: str, brokers: str, folder: Path) -> Iterator[Row]:
    release, given = GROUPS[name]
    a, b, c, d = "abcd"
    with Group(brokers, "persistent", folder, 12) as group:

        def start(instance: str) -> None:
            settings = {key: value.format(instance) for key, value in given.items()}
            group.start(instance, release, **{"state.dir": str(folder / name / instance)} | _SOON | settings)

        def rest() -> None:
            group.settle(all_members=False)
            group.check_that_no_member_rejoins()

        def is_back(instance: str, before: InspectedGroup) -> bool:
            ids = {member.described.member_id for member in before.members}
            there = [member.described for member in look(group).members]
            return any(instance_of(one.client_id) == instance and one.member_id not in ids for one in there)

        def is_gone(instance: str) -> bool:
            return instance not in {instance_of(member.described.client_id) for member in look(group).members}

        def step(text: str, instance: str, *actions: object) -> Row:
            before = look(group)
            found = forecast(
                observe(before, StreamsConfig()), parse_operation(text), now_ms=0, session_timeout_s=SESSION_S
            )
            since = generations(brokers, group.topics.application)[-1].number
            for action in actions:
                action()  # type: ignore[operator]
            if text.startswith("stop"):
                group.eventually(lambda: is_gone(instance), lambda: f"{instance} is still there")
            else:
                group.eventually(lambda: is_back(instance, before), lambda: f"{instance} is not there")
            rest()
            old, new = owners(before), owners(look(group))
            moved = {task: owner for task, owner in new.items() if old[task] != owner}
            names = predictions(found)
            renamed = [{task: d if owner == "(new)" else owner for task, owner in each.items()} for each in names]
            return Row(
                name,
                text,
                len(found.outcomes),
                tuple(outcome.rebalances for outcome in found.outcomes),
                generations(brokers, group.topics.application)[-1].number - since,
                len(moved),
                moved in renamed,
            )

        for instance in (a, b, c):
            start(instance)
            rest()
        group.count()
        yield step(f"restart {a}", a, lambda: group.stop(a), lambda: start(a))
        yield step(f"restart {b}", b, lambda: group.stop(b), lambda: start(b))
        yield step("add", d, lambda: start(d))
        yield step(f"stop {c}", c, lambda: group.stop(c))


@pytest.mark.parametrize("name", GROUPS)
def test_what_came_of_a_step_is_among_the_outcomes(name: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        try:
            brokers = broker_of(OLDER, tmp_path / "broker", stack)
        except Unavailable as missing:
            pytest.skip(f"no broker: {missing}")
        rows = list(play(name, brokers, tmp_path))
    print(*rows, sep="\n")
    assert [] == [str(row) for row in rows if not row.is_predicted]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        brokers = broker_of(OLDER, Path(folder) / "broker", stack)
        for name in sys.argv[1:] or GROUPS:
            for row in play(name, brokers, Path(folder)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
