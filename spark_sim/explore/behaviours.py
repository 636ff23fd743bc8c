"""Which cells cannot differ: to the version protocol many releases are one, and so are many values of upgrade.from.

A cell is explored once for all that have its ``kind``; what one of them finds holds for the others, with the names of
the releases changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from assignor.eras import era_of
from spark_sim.explore.course import Cell, Variant
from spark_sim.explore.exploring import Explored
from spark_sim.scenario import Instance, Scenario
from upgrade import ConfigException


@frozen
class Behaviour:
    """All that exploration looks at of an instance; ``starts``: its configuration is accepted.

    ``keeps``: it keeps its tasks while it rejoins (the cooperative protocol); ``withholds``: as a leader it knows that
    others may do so.
    """

    starts: bool
    rules: str = ""
    latest: int = 0
    pinned: int | None = None
    keeps: bool = False
    withholds: bool = False


@lru_cache(maxsize=10_000)
def behaviour(instance: Instance) -> Behaviour:
    """Return what an instance does, seen by the version protocol.

    >>> from upgrade.releases import release_named
    >>> behaviour(Instance(release_named("3.9.2"))) == behaviour(Instance(release_named("4.3.1"), "4.2"))
    True
    """
    release = instance.release
    try:
        instance.config()
    except ConfigException:
        return Behaviour(False)
    pinned = release.pinned_version(instance.upgrade_from)
    return Behaviour(
        True,
        release.rules,
        release.latest_version,
        None if pinned == release.latest_version else pinned,
        release.protocol(instance.upgrade_from) == "cooperative",
        era_of(release.number).cooperates,
    )


def kind_of(cell: Cell) -> Hashable:
    """Return what decides the result of a cell, the same for all cells that cannot differ."""
    different = dict.fromkeys(cell.courses)
    behaviours = [[behaviour(instance) for instance in course] for course in different]
    everybody = [each for course in behaviours for each in course]
    if not all(each.starts for each in everybody):
        return "refused"
    # Tasks come in where some keep theirs while others lead who know nothing of that; then the task assignors matter.
    watched = any(each.keeps for each in everybody) and not all(each.withholds for each in everybody)
    eras = [[era_of(each.release.number).since for each in course] for course in different] if watched else []
    return (
        tuple(map(tuple, behaviours)),
        tuple(map(tuple, eras)),
        (cell.members, cell.offline, cell.faults, cell.patient, cell.variant, cell.answers_last),
    )


def transferred(explored: Explored, cell: Cell) -> Explored:
    """Say of ``cell`` what was found in another one of its kind: the same, under its own names."""
    theirs, ours = ([each for course in other.courses for each in course] for other in (explored.cell, cell))
    names = dict(zip(theirs, ours, strict=True))
    broken = tuple(evolve(each, example=_renamed(each.example, names)) for each in explored.broken)
    return evolve(explored, cell=cell, broken=broken)


def _renamed(line: str, names: Mapping[Instance, Instance]) -> str:
    if not line:
        return line
    scenario = Scenario.parse(line)
    members = tuple((name, names[instance]) for name, instance in scenario.members)
    steps = tuple(
        evolve(each, members=tuple((name, instance and names[instance]) for name, instance in each.members))
        for each in scenario.steps
    )
    return str(evolve(scenario, members=members, steps=steps))


def cost(cell: Cell) -> int:
    """Estimate the transitions of a cell (within a factor of five or so), to cut work by.

    Fitted to cells of 2 to 4 members: each member is twelvefold work, each fault sixfold.
    """
    two = cell.rounds > 1
    hurry = (2 if two else 1) * 1000 if cell.patient else (150_000 if two else 9_000)
    if cell.variant is Variant.ROLLED_BACK:
        hurry *= 20
    faults: int = cell.faults.crashes + cell.faults.lates + cell.faults.nudges
    return round(hurry * 12.0 ** (cell.members - 3) * 6.0**faults)
