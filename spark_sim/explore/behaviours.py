"""Which cells cannot differ: to the version protocol many releases are one, and so are many values of upgrade.from.

A cell is explored once for all that have its ``kind``; what one of them finds holds for the others, with the names of
the releases changed.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from attrs import frozen

from assignor.eras import era_of
from spark_sim.explore.course import Cell
from spark_sim.scenario import Instance
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
