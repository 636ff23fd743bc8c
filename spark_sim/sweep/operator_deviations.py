"""Operators that deviate from the plan: how each deviation is called, and which upgrades it applies to.

A deviation is explored like the plan itself, with the same members and faults, but always with an operator that waits
for quiescence: an operator that may roll back at any time and does not wait has millions of states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from streams_assignor.spark_sim.packed import OperatorDeviation, UpgradeCell
from streams_assignor.spark_sim.packed.equivalence import all_instances_start
from streams_assignor.upgrade.plans import Plan, Upgrade

DEVIATION_NAMES: Final[Mapping[OperatorDeviation, str]] = {
    deviation: deviation.name.lower()
    for deviation in OperatorDeviation
    if deviation not in {OperatorDeviation.NONE, OperatorDeviation.BATCHES}
}
"""The names of deviations in results."""
DEVIATIONS_BY_NAME: Final = {name: deviation for deviation, name in DEVIATION_NAMES.items()}
DEVIATION_DESCRIPTIONS: Final = {
    DEVIATION_NAMES[OperatorDeviation.NEVER_REMOVED]: "upgrade.from is never removed",
    DEVIATION_NAMES[OperatorDeviation.INTERRUPTED]: "the upgrade ends anywhere",
    DEVIATION_NAMES[OperatorDeviation.ROLLED_BACK]: "the operator turns round at any time and goes back",
    DEVIATION_NAMES[OperatorDeviation.MISTAKEN]: "one member is restarted without its upgrade.from",
}
"""The names of deviations in the report."""


def possible_deviations(upgrade: Upgrade) -> Iterator[OperatorDeviation]:
    """Yield the deviations that an upgrade allows: none if all members are stopped at once, or if one does not start.

    ``MISTAKEN`` and ``NEVER_REMOVED`` need a plan with ``upgrade.from``. ``NEVER_REMOVED`` also needs a second round
    with the release of the first.
    """
    if upgrade.plan is Plan.OFFLINE or not all_instances_start(UpgradeCell(upgrade)):
        return
    yield OperatorDeviation.INTERRUPTED
    yield OperatorDeviation.ROLLED_BACK
    if upgrade.upgrade_from is not None:
        yield OperatorDeviation.MISTAKEN
        rounds = upgrade.rounds
        if len(rounds) > 1 and rounds[0].release == rounds[1].release:
            yield OperatorDeviation.NEVER_REMOVED
