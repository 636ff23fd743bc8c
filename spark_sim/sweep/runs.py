"""Schedules run with simulated members: one row for each run, one result for each upgrade.

No Spark here: a worker calls this module, wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.jobs.table import column
from streams_assignor.spark_sim.model.events import events_digest
from streams_assignor.spark_sim.model.metrics import MeasuredSimulation
from streams_assignor.spark_sim.model.scenario import Scenario, Step
from streams_assignor.spark_sim.search.cell_result import ERROR, SAFE, UNSAFE, UpgradeResult
from streams_assignor.upgrade.plans import Upgrade

UNIT_KEY: Final = (
    "unit_key",
    "string",
    "the work unit: its name, and the digest of the computing code and of its parameters",
)


@frozen
class Run:
    """One run, as a row."""

    origin: str = column("string", "release that every member ran before")
    target: str = column("string", "release that every member is brought to")
    plan: str = column("string", "one_bounce, two_bounces or offline")
    upgrade_from: str | None = column("string", "upgrade.from of the first bounce", is_nullable=True)
    unit_key: str = column(*UNIT_KEY[1:])
    scenario: str = column("string", "the schedule, as one line: streams-assignor replay explains it")
    verdict: str = column("string", "safe, unsafe (a property was violated) or error (the simulation itself failed)")
    property: str | None = column("string", "first property that is violated", is_nullable=True)
    message: str | None = column("string", "what was observed instead, and at which member", is_nullable=True)
    generations: int = column("bigint", "generations that the group went through", default=0)
    max_rebalances: int = column("bigint", "most rebalances after one step", default=0)
    probes: int = column(
        "bigint", "times that a member was answered with a lower version by version probing (KIP-268)", default=0
    )
    moved_tasks: int = column(
        "bigint",
        "how often a task is given to another process than had it last, all generations together",
        default=0,
    )
    unowned_task_ms: int = column(
        "bigint", "simulated time for which a task has no owner, of all tasks together", default=0
    )
    member_bytes: int = column("bigint", "the most that a member sends and gets in one generation", default=0)
    group_bytes: int = column(
        "bigint", "the same of all members together, which a broker keeps in one record", default=0
    )
    digest: str = column("string", "hash of the whole history: the same scenario always gives the same", default="")

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
            moved_tasks=simulation.moved_tasks,
            unowned_task_ms=sum(simulation.unowned_ms.values()),
            member_bytes=simulation.member_bytes,
            group_bytes=simulation.group_bytes,
            digest=events_digest(simulation.events),
        )

    @classmethod
    def failed(cls, upgrade: Upgrade, key: str, scenario: str, violated: str, message: str) -> Run:
        """Return the row of a run that the simulation could not finish."""
        return cls(*_upgrade_columns(upgrade), key, scenario, ERROR, violated, message)


_GREATEST: Final = ("max_rebalances", "moved_tasks", "unowned_task_ms", "member_bytes", "group_bytes")
"""Columns of runs of which a result has the greatest value."""


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
        for (step, _), wanted in zip(played[1:], scenario.steps, strict=False):
            if step != wanted:
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
    greatest: dict[str, Any] = {name: max((getattr(run, name) for run in runs), default=0) for name in _GREATEST}
    return UpgradeResult(
        upgrade,
        runs=len(runs),
        violations=len(bad),
        property=worst.property if worst else None,
        message=worst.message if worst else None,
        example=worst.scenario if worst else None,
        probes=sum(run.probes for run in runs),
        **greatest,
    )
