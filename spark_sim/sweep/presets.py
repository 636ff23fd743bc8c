"""Sweeps of many core hours, and the prediction of what a sweep costs.

The prediction comes from a pilot: a few units, spread evenly over the sweep, are computed in a smaller form, and their
CPU time is scaled up. A sampled unit is scaled by its schedules. An exploration is scaled from three members to all, by
the growth of transitions and by what compiled loops gain. It is good to a factor of ``PREDICTION_FACTOR``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.packed import explore
from streams_assignor.spark_sim.packed.explorer import choose_engine, compiled_engine
from streams_assignor.spark_sim.search.bfs import MAX_STATES
from streams_assignor.spark_sim.sweep.equivalence import representatives
from streams_assignor.spark_sim.sweep.suites import Suite, upgrade_suite
from streams_assignor.spark_sim.sweep.work_units import (
    COST_OF_A_RUN,
    COST_OF_ANY_SIZE,
    SECONDS_PER_COST,
    ExhaustiveUnit,
    SampleUnit,
    SweepConfig,
    WorkUnit,
    unit_key,
)
from streams_assignor.spark_sim.sweep.worker import compute_unit
from streams_assignor.upgrade.plans import MATRICES

PREDICTION_FACTOR: Final = 4
"""A slice takes between a quarter of its prediction and four times as much."""
PILOT_UNITS: Final = 6
PILOT_MEMBERS: Final = 3
GROWTH_PER_MEMBER: Final = 9.4
"""The growth of the transitions of an operator that does not wait; measured from three members to five."""
GROWTH_WITH_WAITING: Final = 4.0
TRANSITIONS_PER_STATE: Final = 8
COMPILED_GAIN: Final = 5.0
"""Transitions per CPU second of compiled loops, divided by those of plain Python."""


@frozen
class Preset:
    """A sweep that has a name because it needs a cluster."""

    description: str
    matrix: str
    config: SweepConfig
    runs_in_all: int | None = None
    """The number of runs if schedules are sampled, over all equivalence classes together."""

    def suite(self, name: str) -> Suite:
        """Return the suite that the preset sweeps."""
        upgrades = MATRICES[self.matrix]()
        config = self.config
        if self.runs_in_all:
            config = evolve(config, sample=-(-self.runs_in_all // len(representatives(upgrades))))
        return upgrade_suite(name, upgrades, config)


PRESETS: Final[Mapping[str, Preset]] = {
    "thousand-members": Preset(
        "100,000 sampled runs of groups of 1,000 members with 3,000 tasks and a standby of each, over KIP-268's matrix",
        "kip-268",
        SweepConfig(members=1_000, tasks=3_000, standbys=1),
        100_000,
    ),
    "five-members": Preset(
        "every kind of the matrix of all releases with five members, one crash, one missed rebalance timeout and an "
        "operator that does not wait",
        "all",
        SweepConfig(members=5, runs=4),
    ),
}


def predicted_core_seconds(suite: Suite) -> float:
    """Return the CPU seconds that a sweep will take, by a pilot of some seconds."""
    spread = _evenly_spread(suite.units, PILOT_UNITS)
    if isinstance(spread[0], SampleUnit):
        _predicted(spread[0])  # the first run of a process also fills its memo tables
    return len(suite.units) / len(spread) * sum(map(_predicted, spread))


def _evenly_spread(units: Sequence[WorkUnit], count: int) -> list[WorkUnit]:
    """Return so many units at most, evenly spread.

    >>> _evenly_spread("abcdefgh", 3)
    ['b', 'e', 'g']
    """
    count = min(count, len(units))
    return [units[(2 * place + 1) * len(units) // (2 * count)] for place in range(count)]


def _predicted(unit: WorkUnit) -> float:
    if isinstance(unit, SampleUnit):
        small = SampleUnit(evolve(unit.batch, count=1))
        begun = time.process_time()
        compute_unit(unit_key(small), small)
        runs = 2  # the first run of each unit is repeated, to check that it is deterministic
        return (time.process_time() - begun) / runs * (unit.batch.count + 1)
    if isinstance(unit, ExhaustiveUnit):
        begun = time.process_time()
        done, transitions = predicted_transitions(unit)
        compiled = compiled_engine() is not None and choose_engine(unit.cost) is compiled_engine()
        per_transition = (time.process_time() - begun) / max(1, done) / (COMPILED_GAIN if compiled else 1)
        return transitions * per_transition + (COST_OF_ANY_SIZE + unit.runs * COST_OF_A_RUN) * SECONDS_PER_COST
    return unit.cost * SECONDS_PER_COST


def predicted_transitions(unit: ExhaustiveUnit) -> tuple[int, float]:
    """Return the transitions of the pilot of an exploration, and those to expect of the exploration.

    The pilot has fewer members, and ends with so many states as the limit of states leaves room for.
    """
    cell = unit.packed_cell
    more = max(0, cell.members - PILOT_MEMBERS)
    growth = (GROWTH_WITH_WAITING if cell.wait_for_quiescence else GROWTH_PER_MEMBER) ** more
    pilot = evolve(cell, members=cell.members - more)
    explored = explore(pilot, confirm=False, max_states=max(1_000, int(MAX_STATES / growth)))
    return explored.transitions, min(explored.transitions * growth, TRANSITIONS_PER_STATE * MAX_STATES)


def core_time(seconds: float) -> str:
    """Return CPU seconds in words, with two digits.

    >>> core_time(1_003_000), core_time(5_000), core_time(250), core_time(3)
    ('280 core hours', '1.4 core hours', '4.2 core minutes', 'a core minute or less')
    """
    if seconds < 60:
        return "a core minute or less"
    amount, unit = (seconds / 3600, "core hours") if seconds >= 3600 else (seconds / 60, "core minutes")
    return f"{float(f'{amount:.2g}'):,g} {unit}"
