"""Operators who do not follow the plan: the ways they may go, and what is found of each as a column of a result.

They are explored like the plan itself, with the same members and faults; but always with a patient operator, as one
who may turn round at any time and waits for nothing has millions of states to go through.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from attrs import evolve

from spark_sim.cell_result import CellResult, Varied
from spark_sim.explore import Cell, Faults, Variant
from spark_sim.explore.behaviours import kind_of
from upgrade import ConfigException
from upgrade.matrix import Plan, Upgrade

NAMES: Final[Mapping[Variant, str]] = {each: each.name.lower() for each in Variant if each is not Variant.FOLLOWED}
"""What variants are called in results."""
VARIANTS: Final = {name: each for each, name in NAMES.items()}
WORDS: Final = {
    NAMES[Variant.NEVER_REMOVED]: "upgrade.from is never removed",
    NAMES[Variant.INTERRUPTED]: "the upgrade ends anywhere",
    NAMES[Variant.ROLLED_BACK]: "the operator turns round at any time and goes back",
    NAMES[Variant.MISTAKEN]: "one member is restarted without its upgrade.from",
}
"""The same for people."""


def varied(upgrade: Upgrade) -> Iterator[Variant]:
    """Yield the ways in which the operator of an upgrade may do otherwise: none if all is stopped at once.

    Who forgets one member's ``upgrade.from``, or leaves it in, needs a plan that has one; and a way back ends as it
    began if nobody goes beyond its first round.
    """
    if upgrade.plan is Plan.OFFLINE or not _starts(upgrade):
        return
    yield Variant.INTERRUPTED
    yield Variant.ROLLED_BACK
    if upgrade.upgrade_from is not None:
        yield Variant.MISTAKEN
        rounds = upgrade.rounds
        if len(rounds) > 1 and rounds[0].release == rounds[1].release:
            yield Variant.NEVER_REMOVED


def _starts(upgrade: Upgrade) -> bool:
    try:
        for instance in Cell(upgrade).instances:
            instance.config()
    except ConfigException:
        return False
    return True


def varied_cells(upgrades: Iterable[Upgrade], members: int, faults: Faults) -> Iterator[Cell]:
    """Yield a cell for each kind of variant that the upgrades have."""
    found = {kind_of_variant(each, variant): (each, variant) for each in upgrades for variant in varied(each)}
    for upgrade, variant in found.values():
        yield Cell(upgrade, members, faults, patient=True, variant=variant)


@cache
def kind_of_variant(upgrade: Upgrade, variant: Variant) -> Hashable:
    """Return all that decides what can happen: equal values, equal results, but for the names of releases."""
    return variant, upgrade.upgrade_from is None, kind_of(Cell(upgrade, variant=variant))


def as_column(found: CellResult, variant: Variant) -> CellResult:
    """Return what an exploration of a variant adds to its upgrade's result."""
    kept = ("violated", "message", "example", "states", "transitions", "schedules")
    return CellResult(found.upgrade, variants={NAMES[variant]: Varied(*(getattr(found, name) for name in kept))})


def with_columns(result: CellResult, found: Mapping[Hashable, CellResult]) -> CellResult:
    """Add to an upgrade's result what was found of its variants, by their kinds."""
    upgrade = result.upgrade
    kinds = [kind_of_variant(upgrade, each) for each in varied(upgrade)] if found else []
    columns = [found[kind].of(upgrade).variants for kind in kinds if kind in found]
    return evolve(result, variants={name: each for column in columns for name, each in column.items()})
