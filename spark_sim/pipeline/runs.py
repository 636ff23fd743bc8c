"""Schedules run with simulated members: one row for each run, one result for each upgrade.

No Spark here: a worker calls this module, wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, get_type_hints

from spark_sim.model.events import events_digest
from spark_sim.model.metrics import MeasuredSimulation
from spark_sim.model.scenario import Scenario, Step
from spark_sim.search.cell_result import ERROR, SAFE, UNSAFE, UpgradeResult
from spark_sim.search.tables import Table, stored
from upgrade.plans import Upgrade


class Run(NamedTuple):
    """One run, as a row. ``COLUMN_COMMENTS`` explains the columns."""

    origin: str
    target: str
    plan: str
    upgrade_from: str | None
    slice: str
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
        """Return the row of a finished simulation; ``key`` names the partition that contains it."""
        violation = simulation.violations[0] if simulation.violations else None
        return cls(
            *_upgrade_columns(upgrade),
            slice=key,
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


COLUMN_COMMENTS: Final[Mapping[str, str]] = {
    "origin": "release that every member ran before",
    "target": "release that every member is brought to",
    "plan": "one_bounce, two_bounces or offline",
    "upgrade_from": "upgrade.from of the first bounce",
    "slice": "partition of the sweep that contains the run; also the name of its file",
    "scenario": "the schedule, as one line: streams-assignor replay explains it",
    "verdict": "safe, unsafe (a property was violated) or error (the simulation itself failed)",
    "property": "first property that was violated",
    "message": "what was observed instead, and at which member",
    "generations": "generations that the group went through",
    "max_rebalances": "most rebalances after one step",
    "probes": "times that a member was answered with a lower version by version probing (KIP-268)",
    "moved": "tasks that have another owner after a step than before it, all steps together",
    "unowned_task_ms": "simulated time for which a task has no owner, of all tasks together",
    "member_bytes": "the most that a member sends and gets in one generation",
    "group_bytes": "the same of all members together, which a broker keeps in one record",
    "digest": "hash of the whole history: the same scenario always gives the same",
}
_LARGE: Final = frozenset({"unowned_task_ms"})

RUNS_TABLE: Final[Table[Run]] = Table(
    tuple(
        stored(
            name,
            sql="BIGINT" if name in _LARGE else "INT" if python is int else "STRING",
            comment=COLUMN_COMMENTS[name],
            is_nullable=python == str | None,
        )
        for name, python in get_type_hints(Run).items()
    )
)
"""The rows of all runs: Parquet, JSON lines and the documentation."""


def run_scenarios(scenarios: Iterable[Scenario], upgrade: Upgrade, key: str) -> Iterator[Run]:
    """Run scenarios of an upgrade; ``key`` names the partition that contains them."""
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


def summarise(upgrade: Upgrade, runs: Sequence[Run]) -> UpgradeResult:
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
