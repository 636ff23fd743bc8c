"""What a sweep has to do: one job for each kind of upgrade, explored or drawn, in slices of about a task's size.

Upgrades that differ only in the names of their releases are one job. Up to ``MOST_EXPLORED`` members every schedule is
explored on packed states, and then ``runs`` of the coarse schedules, evenly spread, are played by real members, who
have to agree; in larger groups, or if asked to, schedules are drawn at random and all of them played.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from string import ascii_uppercase
from typing import Any, Final

from attrs import asdict, evolve, field, frozen

from spark_sim.cell_result import CellResult
from spark_sim.drawing import Block, drawn, kinds_possible
from spark_sim.explore import Cell, Explored, Faults, Variant, explore
from spark_sim.explore.behaviours import behaviour, kind_of
from spark_sim.explore.engines import worth
from spark_sim.explore.exploring import Broken
from spark_sim.resting import MOST_REBALANCES
from spark_sim.scenario import Scenario
from spark_sim.schedules import name_of, spread
from spark_sim.shape import NORMAL, Shape
from spark_sim.variants import NAMES, as_column, varied_cells
from upgrade.matrix import Upgrade

MOST_EXPLORED: Final = 5
"""Larger groups are sampled."""
DEFAULT_SAMPLE: Final = 200
COST_OF_A_SLICE: Final = 2_000_000
"""In moves: about three seconds of work, which pays for a task of Spark and is soon lost when killed."""
COST_OF_A_CELL: Final = 30_000
"""What it costs to find out who says what, however small the group is."""
COST_OF_A_RUN: Final = 20_000
"""What a run of real members costs, in moves of packed states."""

REFUSED: Final = "refused"
"""What all upgrades have in common in which somebody does not even start."""
INCOMPLETE: Final = "every schedule was explored"
DISAGREE: Final = "always: real members do what packed states do"


@frozen
class Explore:
    """Explore an upgrade; then play ``runs`` of its schedules with real members."""

    cell: Cell
    runs: int = 40
    shape: Shape = NORMAL

    @property
    def upgrade(self) -> Upgrade:
        """What it is about."""
        return self.cell.upgrade

    @property
    def key(self) -> str:
        """Its name."""
        return name_of(self.upgrade)

    @property
    def cost(self) -> float:
        """About how many moves there are; measured once, good to a factor of three."""
        cell, rounds = self.cell, self.cell.rounds
        moves, per_crash, per_member = (700.0, 17, 4.0) if cell.patient else (100_000.0, 9, 10.0)
        faults: float = per_crash**cell.faults.crashes * 2.8**cell.faults.lates
        spread: float = moves * faults * 5.0 ** (rounds - 2) * per_member ** (cell.members - 3)
        return COST_OF_A_CELL + spread + self.runs * COST_OF_A_RUN

    def found(self) -> CellResult:
        """Explore."""
        return of_explored(explore(self.cell, engine=worth(self.cost)))

    def scenarios(self) -> Iterator[Scenario]:
        """Yield the coarse schedules that real members play: evenly spread over all that there are, if they start."""
        if not all(behaviour(instance).starts for instance in self.cell.instances):
            return
        for scenario in spread(self.upgrade, ascii_uppercase[: self.cell.members], self.runs):
            yield evolve(scenario, shape=self.shape)


@frozen
class Draw:
    """Play schedules that were drawn."""

    block: Block

    @property
    def upgrade(self) -> Upgrade:
        """What it is about."""
        return self.block.upgrade

    @property
    def key(self) -> str:
        """Its name."""
        return self.block.key

    @property
    def cost(self) -> float:
        """About what it costs, in moves of packed states."""
        return self.block.members / 3 * COST_OF_A_RUN

    def found(self) -> CellResult:
        """Say what was drawn; nothing else is known before the runs."""
        members = len(self.block.schedules[0].scenario.members)
        return CellResult(
            self.upgrade,
            members=members,
            kinds=frozenset(map(repr, {each.kind for each in self.block.schedules})),
            kinds_possible=kinds_possible(self.upgrade, members),
        )

    def scenarios(self) -> Iterator[Scenario]:
        """Yield all schedules."""
        yield from (each.scenario for each in self.block.schedules)


@frozen
class Vary:
    """Explore an upgrade whose operator does not follow its plan; real members play only what goes wrong."""

    cell: Cell

    @property
    def upgrade(self) -> Upgrade:
        """What it is about."""
        return self.cell.upgrade

    @property
    def key(self) -> str:
        """Its name."""
        return f"{name_of(self.upgrade)}-{NAMES[self.cell.variant]}"

    @property
    def cost(self) -> float:
        """About how many moves there are."""
        return Explore(self.cell, runs=0).cost * (2 if self.cell.variant is Variant.ROLLED_BACK else 1)

    def found(self) -> CellResult:
        """Explore, and say it as a column of the upgrade."""
        return as_column(of_explored(explore(self.cell, engine=worth(self.cost))), self.cell.variant)

    def scenarios(self) -> Iterator[Scenario]:
        """Yield nothing: rows are of the plan itself."""
        return iter(())


Job = Explore | Draw | Vary


def of_explored(explored: Explored) -> CellResult:
    """Return what an exploration says; what real members do not confirm is a fault of ours, and said first."""
    cell = explored.cell
    telling = sorted(explored.broken, key=lambda each: (each.confirmed is not False, len(each.example)))
    worst = telling[0] if telling else None
    if worst is None and not explored.complete:
        text = f"more than {explored.states:,} states: take --patient, fewer members or faults, or draw with --sample"
        worst = Broken(INCOMPLETE, text, "")
    return CellResult(
        cell.upgrade,
        max_rebalances=MOST_REBALANCES if explored.max_rebalances is None else explored.max_rebalances,
        example=(worst.example or None) if worst else None,
        violated=(DISAGREE if worst.confirmed is False else worst.property) if worst else None,
        message=worst.text if worst else None,
        states=explored.states,
        transitions=explored.transitions,
        schedules=explored.schedules,
        members=cell.members,
        faults=_faults(cell),
    )


def _faults(cell: Cell) -> Mapping[str, Any]:
    return asdict(cell.faults) | {"patient": cell.patient}


# -- slices ----------------------------------------------------------------------------------------------------------


@frozen
class Slice:
    """Some jobs, which one task does; ``key`` names it and the file of its rows."""

    key: str
    jobs: tuple[Job, ...]

    @property
    def cost(self) -> float:
        """What its jobs cost together."""
        return sum(job.cost for job in self.jobs)


def slices(jobs: Iterable[Job]) -> list[Slice]:
    """Cut jobs into slices, neighbours together; a job that is large enough is a slice of its own."""
    found, waiting, cost = list[Slice](), list[Job](), 0.0

    def cut() -> None:
        nonlocal cost
        if waiting:
            found.append(Slice(f"{len(found):05}-{waiting[0].key}", tuple(waiting)))
            waiting.clear()
            cost = 0.0

    for job in jobs:
        if cost + job.cost > COST_OF_A_SLICE:
            cut()
        waiting.append(job)
        cost += job.cost
    cut()
    return found


@frozen
class Extent:
    """How far a sweep goes into each upgrade, and what its groups run: everything that decides its jobs."""

    members: int = 3
    faults: Faults = field(factory=Faults)
    patient: bool = False
    runs: int = 40
    sample: int | None = None
    seed: int = 0
    tasks: int = NORMAL.partitions
    standbys: int = NORMAL.standbys
    variants: bool = False

    @property
    def shape(self) -> Shape:
        """What the groups run."""
        return evolve(NORMAL, partitions=self.tasks, standbys=self.standbys)

    def jobs(self, upgrades: Iterable[Upgrade]) -> Iterator[Job]:
        """Yield what is to be done; upgrades that behave alike only once."""
        wanted, explored = list(upgrades), self.members <= MOST_EXPLORED and self.sample is None
        for upgrade in representatives(wanted).values():
            if explored:
                yield Explore(Cell(upgrade, self.members, self.faults, self.patient), self.runs, self.shape)
            else:
                sample = self.sample or DEFAULT_SAMPLE
                how = {"members": self.members, "seed": self.seed, "sample": sample}
                yield from map(Draw, drawn(upgrade, **how, shape=self.shape))
        if explored and self.variants:
            yield from map(Vary, varied_cells(wanted, self.members, self.faults))


# -- what behaves alike ----------------------------------------------------------------------------------------------


def representatives(upgrades: Iterable[Upgrade]) -> dict[Hashable, Upgrade]:
    """Return the last of all upgrades that behave alike, which is the one among the newest releases."""
    return {behaviour_of(upgrade): upgrade for upgrade in upgrades}


@cache
def behaviour_of(upgrade: Upgrade) -> Hashable:
    """Return all that decides what can happen in an upgrade: equal values, equal behaviour.

    Whether there is a value at all is kept apart, so that the lines of one upgrade can be told of the other.
    """
    kind = kind_of(Cell(upgrade))
    return upgrade if kind == REFUSED else (upgrade.upgrade_from is None, kind)
