"""Runs a block of schedules and says what came of it: one row a run, one cell result an upgrade.

Pure: no Spark here. ``sweep`` spreads blocks and collects what this file makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from attrs import frozen

from spark_sim.history import digest
from spark_sim.scenario import Scenario, Step
from spark_sim.schedules import Block
from spark_sim.world import World
from upgrade.matrix import Upgrade

SAFE, UNSAFE = "safe", "unsafe"


class Run(NamedTuple):
    """One run, as a row: the first violated property and its message, or nulls."""

    origin: str
    target: str
    plan: str
    upgrade_from: str | None
    block: str
    scenario: str
    verdict: str
    property: str | None
    message: str | None
    generations: int
    max_rebalances: int
    probes: int
    digest: str


def run_block(block: Block) -> Iterator[Run]:
    """Run every scenario of a block."""
    upgrade, key = block.upgrade, block.key
    for world in worlds(block.scenarios()):
        yield _row(upgrade, key, world)


def worlds(scenarios: Iterable[Scenario]) -> Iterator[World]:
    """Yield a finished world for each scenario; what neighbours have in common at the beginning is played once.

    ``sorted`` brings scenarios with a common beginning together; the order of the result is that order.
    """
    played: list[tuple[Step | None, World]] = []
    for scenario in sorted(scenarios, key=str):
        if not played or played[0][1].scenario.members != scenario.members:
            played = [(None, World(scenario).begin())]
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
        yield finished.finish()


def _row(upgrade: Upgrade, key: str, world: World) -> Run:
    broken = world.violations[0] if world.violations else None
    return Run(
        origin=upgrade.origin.name,
        target=upgrade.target.name,
        plan=upgrade.plan.value,
        upgrade_from=upgrade.upgrade_from,
        block=key,
        scenario=str(world.scenario),
        verdict=UNSAFE if broken else SAFE,
        property=broken.property if broken else None,
        message=str(broken) if broken else None,
        generations=world.coordinator.generation,
        max_rebalances=world.most_rebalances,
        probes=world.probes,
        digest=digest(world.events),
    )


@frozen
class CellResult:
    """What is known of one upgrade. ``example`` is the shortest violating run (the first of these by text)."""

    upgrade: Upgrade
    runs: int = 0
    violations: int = 0
    max_rebalances: int = 0
    probes: int = 0
    example: str | None = None
    violated: str | None = None
    message: str | None = None

    @property
    def verdict(self) -> str:
        """``safe`` if no run violated a property."""
        return UNSAFE if self.violations else SAFE

    @property
    def should_probe(self) -> bool:
        """Whether version probing is part of this upgrade, so that a sweep without any has shown nothing."""
        upgrade = self.upgrade
        rolls_up = upgrade.origin.can_be_probed and upgrade.target.latest_version > upgrade.origin.latest_version
        return rolls_up and upgrade.plan.value != "offline"

    def plus(self, other: CellResult) -> CellResult:
        """Merge what two slices of the same upgrade found; any order gives the same."""
        examples = [each for each in (self, other) if each.example is not None]
        best = min(examples, key=lambda each: (len(str(each.example)), str(each.example)), default=self)
        return CellResult(
            self.upgrade,
            self.runs + other.runs,
            self.violations + other.violations,
            max(self.max_rebalances, other.max_rebalances),
            self.probes + other.probes,
            best.example,
            best.violated,
            best.message,
        )

    def as_json(self) -> dict[str, Any]:
        """Return one object of ``matrix.json``."""
        upgrade = self.upgrade
        return {
            "from": upgrade.names[0],
            "to": upgrade.names[1],
            "plan": upgrade.plan.value,
            "upgrade_from": upgrade.upgrade_from,
            "verdict": self.verdict,
            "runs": self.runs,
            "violations": self.violations,
            "max_rebalances": self.max_rebalances,
            "example": self.example,
            "documented": upgrade.documented,
            "probes": self.probes,
            "property": self.violated,
            "message": self.message,
            "from_release": upgrade.origin.name,
            "to_release": upgrade.target.name,
            "note": "; ".join(r.note for r in (upgrade.origin, upgrade.target) if r.note) or None,
        }


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
            )
        )
    return result
