"""The work of a sweep: units, each of which yields one result, and tasks that compute some of them.

Upgrades of one equivalence class are one unit. Up to ``MAX_EXPLORED_MEMBERS`` members every schedule is explored on
packed states, and then ``runs`` coarse schedules, evenly spread, are run with simulated members, which have to agree.
In larger groups, or on request, schedules are sampled and all of them are run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any, ClassVar, Final, TypeVar

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.jobs.code_digest import code_digest as code_digest
from streams_assignor.spark_sim.jobs.code_digest import digest_of as digest_of
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation, UpgradeCell
from streams_assignor.spark_sim.packed.equivalence import all_instances_start
from streams_assignor.spark_sim.packed.explorer import explore_once
from streams_assignor.spark_sim.packed.upgrade_result import MAX_EXPLORED_MEMBERS, group_size, upgrade_result
from streams_assignor.spark_sim.search.cell_result import DEVIATION_COLUMNS, SAMPLED, CellResult, UpgradeResult
from streams_assignor.spark_sim.search.sampling import SampleBatch, count_schedule_classes, sample_schedules
from streams_assignor.spark_sim.search.schedules import spread_schedules, upgrade_key
from streams_assignor.spark_sim.sweep.equivalence import deviation_class, representatives, upgrade_class
from streams_assignor.spark_sim.sweep.operator_deviations import DEVIATION_NAMES, possible_deviations
from streams_assignor.spark_sim.sweep.traces import Trace, trace
from streams_assignor.upgrade.plans import Upgrade

W = TypeVar("W")

DEFAULT_SAMPLE: Final = 200
COST_OF_A_TASK: Final = 2_000_000
"""In moves: about three seconds, which pays for a Spark task and loses little when the sweep is killed."""
SECONDS_PER_COST: Final = 3 / COST_OF_A_TASK
COST_OF_A_CELL: Final = 30_000
"""The tables of the protocol, however small the group is."""
COST_OF_ANY_SIZE: Final = 600_000
"""Groups of any size: a tenth of a second to ten."""
COST_OF_A_RUN: Final = 20_000
"""A run of simulated members, in moves of packed states."""


class WorkUnit(ABC):
    """One unit of a sweep: a value that can be pickled. Equal units yield equal results."""

    result_type: ClassVar[type[CellResult]]

    @property
    @abstractmethod
    def cell(self) -> Any:
        """The cell that the result is about."""

    @property
    @abstractmethod
    def key(self) -> str:
        """A short name."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """The estimated work, in moves of packed states."""

    @abstractmethod
    def result(self) -> CellResult:
        """Explore the cell, without the runs of ``scenarios``."""

    def scenarios(self) -> Iterator[Scenario]:
        """Yield the schedules that simulated members run: none if the search itself runs them."""
        return iter(())

    @property
    def class_key(self) -> Hashable:
        """The equivalence class whose results the unit computes."""
        key: Hashable = self.cell
        return key

    def trace(self, example: str) -> Trace[Any]:
        """Return the trace of a counterexample of the unit."""
        return trace(Scenario.parse(example))


class UpgradeUnit(WorkUnit):
    """The common part of the units of upgrades."""

    result_type = UpgradeResult

    @property
    def key(self) -> str:
        """A short name."""
        return upgrade_key(self.cell)

    @property
    def class_key(self) -> Hashable:
        """The class of the upgrade."""
        return upgrade_class(self.cell)


@frozen
class ExhaustiveUnit(UpgradeUnit):
    """Explores an upgrade; then simulated members run some of its schedules."""

    packed_cell: UpgradeCell
    runs: int = 40
    workload: Workload = DEFAULT_WORKLOAD

    @property
    def cell(self) -> Upgrade:
        """The upgrade."""
        return self.packed_cell.upgrade

    @property
    def cost(self) -> float:
        """The estimated number of moves, measured once, good to a factor of three."""
        cell, rounds = self.packed_cell, self.packed_cell.rounds
        moves, per_crash, per_member = (700.0, 17, 4.0) if cell.wait_for_quiescence else (100_000.0, 9, 10.0)
        faults: float = per_crash**cell.faults.crashes * 2.8**cell.faults.rebalance_timeouts
        spread: float = moves * faults * 5.0 ** (rounds - 2) * per_member ** (cell.members - 3)
        return COST_OF_A_CELL + COST_OF_ANY_SIZE + spread + self.runs * COST_OF_A_RUN

    def result(self) -> UpgradeResult:
        """Explore the upgrade."""
        explored = explore_once(self.packed_cell)
        return upgrade_result(explored, group_size(explored))

    def scenarios(self) -> Iterator[Scenario]:
        """Yield coarse schedules, evenly spread over all that there are; none if a process does not start."""
        if not all_instances_start(self.packed_cell):
            return
        for scenario in spread_schedules(self.cell, ascii_uppercase[: self.packed_cell.members], self.runs):
            yield evolve(scenario, workload=self.workload)


@frozen
class SampleUnit(UpgradeUnit):
    """Runs sampled schedules."""

    batch: SampleBatch

    @property
    def cell(self) -> Upgrade:
        """The upgrade."""
        return self.batch.upgrade

    @property
    def key(self) -> str:
        """A short name."""
        return self.batch.key

    @property
    def cost(self) -> float:
        """The estimated work, in moves of packed states."""
        return self.batch.count * cost_of_a_sampled_run(self.batch.members, self.batch.workload)

    def result(self) -> UpgradeResult:
        """Return the classes of the sampled schedules; nothing else is known before the runs."""
        return UpgradeResult(
            self.cell,
            group_size=SAMPLED,
            members=self.batch.members,
            schedule_classes=frozenset(repr(schedule.schedule_class) for schedule in self.batch.schedules),
            possible_schedule_classes=count_schedule_classes(self.cell, self.batch.members),
        )

    def scenarios(self) -> Iterator[Scenario]:
        """Yield all schedules."""
        yield from (schedule.scenario for schedule in self.batch.schedules)


@frozen
class DeviationUnit(UpgradeUnit):
    """Explores an upgrade whose operator deviates from the plan; simulated members replay only counterexamples."""

    packed_cell: UpgradeCell

    @property
    def cell(self) -> Upgrade:
        """The upgrade."""
        return self.packed_cell.upgrade

    @property
    def key(self) -> str:
        """A short name."""
        return f"{upgrade_key(self.cell)}-{DEVIATION_NAMES[self.packed_cell.deviation]}"

    @property
    def class_key(self) -> Hashable:
        """The class of the upgrade with this deviation."""
        return deviation_class(self.cell, self.packed_cell.deviation)

    @property
    def cost(self) -> float:
        """The estimated number of moves."""
        factor = 2 if self.packed_cell.deviation is OperatorDeviation.ROLLED_BACK else 1
        return ExhaustiveUnit(self.packed_cell, runs=0).cost * factor

    def result(self) -> UpgradeResult:
        """Explore the deviation; the result of the upgrade contains it under its name."""
        explored = explore_once(self.packed_cell)
        result = upgrade_result(explored, group_size(explored))
        kept = UpgradeResult.of_row(self.cell, result.row(DEVIATION_COLUMNS), DEVIATION_COLUMNS)
        return UpgradeResult(self.cell, deviations={DEVIATION_NAMES[self.packed_cell.deviation]: kept})


def cost_of_a_sampled_run(members: int, workload: Workload) -> float:
    """Return the cost of one run of a group, measured from 3 to 1,000 members, good to a factor of three."""
    return 4_000 + 200 * members + 100 * workload.partitions * (1 + workload.standbys)


# -- keys and tasks --------------------------------------------------------------------------------------------------


def unit_key(unit: WorkUnit) -> str:
    """Return the key of a unit: its name, and the digest of the computing code and of everything it is given."""
    return f"{unit.key}-{digest_of([code_digest(), repr(unit)])}"


def cut_into_tasks(units: Iterable[W], cost: Callable[[W], float]) -> list[tuple[W, ...]]:
    """Cut units into tasks of neighbours; a unit that costs enough is a task of its own."""
    tasks, waiting, sum_ = list[tuple[W, ...]](), list[W](), 0.0
    for unit in units:
        if waiting and sum_ + cost(unit) > COST_OF_A_TASK:
            tasks.append(tuple(waiting))
            waiting, sum_ = [], 0.0
        waiting.append(unit)
        sum_ += cost(unit)
    return [*tasks, tuple(waiting)] if waiting else tasks


# -- upgrades --------------------------------------------------------------------------------------------------------


@frozen
class SweepConfig:
    """How a sweep over upgrades explores each of them, and what its groups run."""

    members: int = 3
    faults: FaultBudget = field(factory=FaultBudget)
    wait_for_quiescence: bool = False
    runs: int = 40
    sample: int | None = None
    seed: int = 0
    tasks: int = DEFAULT_WORKLOAD.partitions
    standbys: int = DEFAULT_WORKLOAD.standbys
    deviations: bool = False

    @property
    def workload(self) -> Workload:
        """The workload of the groups."""
        return evolve(DEFAULT_WORKLOAD, partitions=self.tasks, standbys=self.standbys)

    def units(self, upgrades: Iterable[Upgrade]) -> Iterator[WorkUnit]:
        """Yield the units of the upgrades, one for each equivalence class."""
        wanted, exhaustive = list(upgrades), self.members <= MAX_EXPLORED_MEMBERS and self.sample is None
        for upgrade in representatives(wanted).values():
            if exhaustive:
                cell = UpgradeCell(upgrade, self.members, self.faults, self.wait_for_quiescence)
                yield ExhaustiveUnit(cell, self.runs, self.workload)
            else:
                batches = sample_schedules(
                    upgrade,
                    members=self.members,
                    seed=self.seed,
                    count=self.sample or DEFAULT_SAMPLE,
                    workload=self.workload,
                )
                yield from map(SampleUnit, batches)
        if exhaustive and self.deviations:
            yield from self._deviation_units(wanted)

    def _deviation_units(self, upgrades: Iterable[Upgrade]) -> Iterator[WorkUnit]:
        by_class = {
            deviation_class(upgrade, deviation): (upgrade, deviation)
            for upgrade in upgrades
            for deviation in possible_deviations(upgrade)
        }
        for upgrade, deviation in by_class.values():
            yield DeviationUnit(
                UpgradeCell(upgrade, self.members, self.faults, wait_for_quiescence=True, deviation=deviation)
            )


MATRIX_CONFIGS: Final[Mapping[str, SweepConfig]] = {
    "kip-268": SweepConfig(deviations=True),
    "all": SweepConfig(wait_for_quiescence=True, runs=4),
}
"""How far the upgrades of each matrix are explored by default: the more there are, the less far."""
MAX_MEMBERS_WITHOUT_WAITING: Final = 3
"""With more members, an operator that does not wait has millions of states."""


def default_config(matrix: str | None = None, members: int = 3) -> SweepConfig:
    """Return how far upgrades are explored by default."""
    config = MATRIX_CONFIGS.get(matrix or "", SweepConfig())
    waits = config.wait_for_quiescence or members > MAX_MEMBERS_WITHOUT_WAITING
    deviations = config.deviations and members <= MAX_EXPLORED_MEMBERS
    return evolve(config, members=members, wait_for_quiescence=waits, deviations=deviations)
