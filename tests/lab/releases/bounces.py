"""Rolling bounces of real groups from and to the neighbours of a release, compared with the simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from attrs import frozen

from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.conformance.verdict import ConformanceVerdict, check_conformance
from streams_assignor.upgrade.releases import RELEASES
from tests.lab.integration.group_log import Generation, generations
from tests.lab.integration.peers import Group, ScenarioFailed
from tests.lab.releases.facts import after, before

INSTANCES = 3


@frozen
class BounceResult:
    """One rolling bounce."""

    steps: tuple[str, str]
    capture: str
    """The group as JSON, as docs/how-to/conformance.md describes it."""
    verdict: ConformanceVerdict
    failure: str = ""
    """Why the real group did not get through."""

    @property
    def agrees(self) -> bool:
        """Whether the real group came through, and the simulation does the same."""
        return not self.failure and self.verdict.agrees

    def __str__(self) -> str:
        outcome = self.failure or ("agrees" if self.verdict.agrees else f"differs: {self.verdict.first_difference}")
        counted = f"{self.verdict.generations} generations, {self.verdict.subscriptions} subscriptions"
        return f"{' to '.join(self.steps)}: {outcome} ({counted}, {self.verdict.answers} assignments)"


def neighbour_bounces(release: str) -> list[tuple[str, str]]:
    """List the bounces from and to the release before and the release after.

    >>> neighbour_bounces("4.2.2")
    [('4.2.1', '4.2.2'), ('4.2.2', '4.2.1'), ('4.3.0', '4.2.2'), ('4.2.2', '4.3.0')]
    """
    neighbours = [name for name in (before(release), after(release)) if name]
    return [pair for other in neighbours for pair in ((other, release), (release, other))]


def play_bounces(bounces: Sequence[tuple[str, str]], brokers: str, folder: Path) -> Iterator[BounceResult]:
    """Play bounces one after the other, each in a group of its own."""
    return (play_bounce(steps, brokers, folder) for steps in bounces)


def play_bounce(steps: tuple[str, str], brokers: str, folder: Path) -> BounceResult:
    """Start three instances of the first release, restart each as the second, and replay what the broker stored."""
    snapshots: list[dict[str, Any]] = []
    failure = ""
    with Group(brokers, "stateful", folder) as group:
        try:
            for step, instance in product(steps, range(INSTANCES)):
                snapshots.append(_restart(group, instance, step))  # those before a failure count
        except ScenarioFailed as failed:
            failure = str(failed)[:500]
        log = generations(brokers, group.topics.application)
    return replay(steps, log, snapshots, failure)


def replay(
    steps: tuple[str, str], log: Sequence[Generation], snapshots: Sequence[dict[str, Any]], failure: str = ""
) -> BounceResult:
    """Compare a group with the simulation; the capture has the real names of releases that the table lacks."""
    known = [{**each, "step": known_release(each["step"])} for each in snapshots]
    replayed = capture_text([known_release(step) for step in steps], log, known)
    verdict = check_conformance(Capture.parse(replayed))
    return BounceResult(steps, capture_text(steps, log, snapshots), verdict, failure)


def known_release(name: str) -> str:
    """Return the release whose behaviour a replay uses: that of the one before, while the table lacks it.

    >>> known_release("3.9.2"), known_release("3.9.7")
    ('3.9.2', '3.9.2')
    """
    return name if name in RELEASES else before(name)


def _restart(group: Group, instance: int, step: str) -> dict[str, Any]:
    """Start an instance, wait until the group is stable, and describe it."""
    name = f"peer-{instance}"
    if name in group.members:
        group.stop(name)
    group.start(name, step)
    group.settle()
    group.count()
    last = generations(group.brokers, group.topics.application)[-1]
    members = [{"member_id": member.member_id} for member in last.members]
    return {"step": step, "instance": instance, "members": members, "dead": [], "settled": True}


def capture_text(steps: Sequence[str], log: Sequence[Generation], snapshots: Sequence[dict[str, Any]]) -> str:
    """Return a capture as JSON."""
    return json.dumps(
        {"steps": [*steps], "generations": [_generation(each) for each in log], "snapshots": [*snapshots]}, indent=1
    )


def _generation(record: Generation) -> dict[str, Any]:
    members = [
        {
            "member_id": member.member_id,
            "client_id": member.client_id,
            "group_instance_id": member.group_instance_id,
            "subscription": member.subscription.hex(),
            "assignment": member.assignment.hex(),
        }
        for member in record.members
    ]
    return {"generation": record.number, "protocol": record.protocol, "leader": record.leader, "members": members}
