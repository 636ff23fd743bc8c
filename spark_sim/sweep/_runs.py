"""Schedules run with simulated members: one row for each run, one result for each upgrade.

No Spark here: a worker calls this module, wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spark_sim.model.events import events_digest
from spark_sim.model.metrics import MeasuredSimulation
from spark_sim.model.scenario import Scenario, Step
from spark_sim.search.cell_result import ERROR, SAFE, UNSAFE, UpgradeResult
from upgrade.plans import Upgrade


class Run(NamedTuple):
    """One run, as a row. ``tables.schema.RUN_COLUMNS`` explains the columns."""

    origin: str
    target: str
    plan: str
    upgrade_from: str | None
    unit_key: str
    scenario: str
    verdict: str
    property: str | None
    message: str | None
    generations: int = 0
    max_rebalances: int = 0
    probes: int = 0
    moved: int = 0
    unowned_task_ms: int = 0
    member_bytes: int = 0
    group_bytes: int = 0
    digest: str = ""

    @classmethod
    def of(cls, upgrade: Upgrade, key: str, simulation: MeasuredSimulation) -> Run:
        """Return the row of a finished simulation; ``key`` is that of its work unit."""
        violation = simulation.violations[0] if simulation.violations else None
        return cls(
            *_upgrade_columns(upgrade),
            unit_key=key,
            scenario=str(simulation.scenario),
            verdict=UNSAFE if violation else SAFE,
            property=violation.property if violation else None,
            message=str(violation) if violation else None,
            generations=simulation.coordinator.generation,
            max_rebalances=simulation.max_rebalances,
            probes=simulation.version_probes,
            moved=simulation.moved,
            unowned_task_ms=sum(simulation.unowned_ms.values()),
            member_bytes=simulation.member_bytes,
            group_bytes=simulation.group_bytes,
            digest=events_digest(simulation.events),
        )

    @classmethod
    def failed(cls, upgrade: Upgrade, key: str, scenario: str, violated: str, message: str) -> Run:
        """Return the row of a run that the simulation could not finish."""
        return cls(*_upgrade_columns(upgrade), key, scenario, ERROR, violated, message)


def _upgrade_columns(upgrade: Upgrade) -> tuple[str, str, str, str | None]:
    return upgrade.origin.name, upgrade.target.name, upgrade.plan.value, upgrade.upgrade_from


def run_scenarios(scenarios: Iterable[Scenario], upgrade: Upgrade, key: str) -> Iterator[Run]:
    """Run scenarios of an upgrade; ``key`` is that of their work unit."""
    for simulation in run_with_shared_prefixes(scenarios):
        yield Run.of(upgrade, key, simulation)


def run_with_shared_prefixes(scenarios: Iterable[Scenario]) -> Iterator[MeasuredSimulation]:
    """Yield a finished simulation for each scenario, in the order of their texts.

    Scenarios with the same beginning are neighbours in that order, so a common prefix is simulated once.
    """
    played: list[tuple[Step | None, MeasuredSimulation]] = []
    for scenario in sorted(scenarios, key=str):
        if not played or played[0][1].scenario.head != scenario.head:
            played = [(None, MeasuredSimulation(scenario).begin())]
        common = 0
        for (known, _), wanted in zip(played[1:], scenario.steps, strict=False):
            if known != wanted:
                break
            common += 1
        del played[common + 1 :]
        for wanted in scenario.steps[common:]:
            simulation = played[-1][1].fork()
            simulation.play(wanted)
            played.append((wanted, simulation))
        finished = played[-1][1].fork()
        finished.scenario = scenario
        finished.finish()
        yield finished


def summarize(upgrade: Upgrade, runs: Sequence[Run]) -> UpgradeResult:
    """Return the result of some runs of one upgrade; its example is the shortest violating run."""
    bad = [run for run in runs if run.verdict != SAFE]
    worst = min(bad, key=lambda run: (len(run.scenario), run.scenario), default=None)
    return UpgradeResult(
        upgrade,
        runs=len(runs),
        violations=len(bad),
        violated=worst.property if worst else None,
        message=worst.message if worst else None,
        example=worst.scenario if worst else None,
        probes=sum(run.probes for run in runs),
        max_rebalances=max((run.max_rebalances for run in runs), default=0),
        moved_tasks=max((run.moved for run in runs), default=0),
        unowned_task_ms=max((run.unowned_task_ms for run in runs), default=0),
        member_bytes=max((run.member_bytes for run in runs), default=0),
        group_bytes=max((run.group_bytes for run in runs), default=0),
    )
