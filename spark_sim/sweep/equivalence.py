"""Equivalence classes of upgrades: each class is explored once, and its result holds for all its upgrades.

Upgrades of one class differ only in the names of their releases.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache

from attrs import evolve

from streams_assignor.spark_sim.packed import OperatorDeviation, UpgradeCell
from streams_assignor.spark_sim.packed.equivalence import NOT_STARTED, equivalence_class
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.sweep.operator_deviations import DEVIATIONS_BY_NAME, possible_deviations
from streams_assignor.upgrade.plans import Upgrade


def representatives(upgrades: Iterable[Upgrade]) -> dict[Hashable, Upgrade]:
    """Return the last upgrade of each class, which is the one between the newest releases."""
    return {upgrade_class(upgrade): upgrade for upgrade in upgrades}


@cache
def upgrade_class(upgrade: Upgrade) -> Hashable:
    """Return the class of an upgrade: all that decides what can happen in it.

    Upgrades with and without ``upgrade.from`` are kept apart, because the scenarios of one have no place for the value
    of the other.
    """
    behaviour = equivalence_class(UpgradeCell(upgrade))
    return upgrade if behaviour == NOT_STARTED else (upgrade.upgrade_from is None, behaviour)


@cache
def deviation_class(upgrade: Upgrade, deviation: OperatorDeviation) -> Hashable:
    """Return the class of an upgrade whose operator deviates from the plan."""
    return deviation, upgrade.upgrade_from is None, equivalence_class(UpgradeCell(upgrade, deviation=deviation))


def merge_results(upgrades: Iterable[Upgrade], results: Iterable[UpgradeResult]) -> list[UpgradeResult]:
    """Return one result for each upgrade, merged from the results of its class; an empty one if there are none."""
    by_class: dict[Hashable, UpgradeResult] = {}
    deviations: dict[Hashable, UpgradeResult] = {}
    for result in results:
        if result.deviations:
            deviations |= {
                deviation_class(result.upgrade, DEVIATIONS_BY_NAME[name]): result for name in result.deviations
            }
            continue
        key = upgrade_class(result.upgrade)
        by_class[key] = by_class[key].merge(result) if key in by_class else result
    wanted = ((upgrade, upgrade_class(upgrade)) for upgrade in upgrades)
    plain = (
        by_class[key].for_upgrade(upgrade) if key in by_class else UpgradeResult(upgrade) for upgrade, key in wanted
    )
    return [_with_deviations(result, deviations) for result in plain]


def _with_deviations(result: UpgradeResult, by_class: dict[Hashable, UpgradeResult]) -> UpgradeResult:
    upgrade = result.upgrade
    classes = [deviation_class(upgrade, deviation) for deviation in possible_deviations(upgrade)] if by_class else []
    columns = [by_class[class_].for_upgrade(upgrade).deviations for class_ in classes if class_ in by_class]
    return evolve(
        result,
        deviations={name: result_of_deviation for column in columns for name, result_of_deviation in column.items()},
    )
