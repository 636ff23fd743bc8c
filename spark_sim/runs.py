"""Runs schedules with real members and says what came of it: one row a run, one cell result an upgrade.

Pure: no Spark here. ``sweep`` spreads slices of work and collects what this file makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spark_sim.cell_result import SAFE, UNSAFE, CellResult
from spark_sim.history import digest
from spark_sim.scenario import Scenario, Step
from spark_sim.watched import Watched
from upgrade.matrix import Upgrade


class Run(NamedTuple):
    """One run, as a row: the first violated property and its message, or nulls."""

    origin: str
    target: str
    plan: str
    upgrade_from: str | None
    slice: str
    scenario: str
    verdict: str
    property: str | None
    message: str | None
    generations: int
    max_rebalances: int
    probes: int
    moved: int
    unowned_task_ms: int
    member_bytes: int
    group_bytes: int
    digest: str


def run_all(scenarios: Iterable[Scenario], upgrade: Upgrade, key: str) -> Iterator[Run]:
    """Run scenarios of an upgrade; ``key`` is the slice of the sweep to which they belong."""
    for world in worlds(scenarios):
        yield _row(upgrade, key, world)


def worlds(scenarios: Iterable[Scenario]) -> Iterator[Watched]:
    """Yield a finished world for each scenario; what neighbours have in common at the beginning is played once.

    ``sorted`` brings scenarios with a common beginning together; the order of the result is that order.
    """
    played: list[tuple[Step | None, Watched]] = []
    for scenario in sorted(scenarios, key=str):
        if not played or played[0][1].scenario.head != scenario.head:
            played = [(None, Watched(scenario).begin())]
        common = 0
        for (known, _), wanted in zip(played[1:], scenario.steps, strict=False):
            if known != wanted:
                break
            common += 1
        del played[common + 1 :]
        for wanted in scenario.steps[common:]:
            world = played[-1][1].fork()
            world.play(wanted)
            played.append((wanted, world))
        finished = played[-1][1].fork()
        finished.scenario = scenario
        finished.finish()
        yield finished


def _row(upgrade: Upgrade, key: str, world: Watched) -> Run:
    broken = world.violations[0] if world.violations else None
    return Run(
        origin=upgrade.origin.name,
        target=upgrade.target.name,
        plan=upgrade.plan.value,
        upgrade_from=upgrade.upgrade_from,
        slice=key,
        scenario=str(world.scenario),
        verdict=UNSAFE if broken else SAFE,
        property=broken.property if broken else None,
        message=str(broken) if broken else None,
        generations=world.coordinator.generation,
        max_rebalances=world.most_rebalances,
        probes=world.probes,
        moved=world.moved,
        unowned_task_ms=sum(world.unowned_ms.values()),
        member_bytes=world.member_bytes,
        group_bytes=world.group_bytes,
        digest=digest(world.events),
    )


def summarise(upgrade: Upgrade, runs: Iterable[Run]) -> CellResult:
    """Sum up the runs of one upgrade, or of a slice of it."""
    result = CellResult(upgrade)
    for run in runs:
        bad = run.verdict != SAFE
        result = result.plus(
            CellResult(
                upgrade,
                1,
                int(bad),
                run.max_rebalances,
                run.probes,
                run.scenario if bad else None,
                run.property,
                run.message,
                moved=run.moved,
                unowned_task_ms=run.unowned_task_ms,
                member_bytes=run.member_bytes,
                group_bytes=run.group_bytes,
            )
        )
    return result
