"""Cells in few words."""

from streams_assignor.spark_sim.packed import FaultBudget, UpgradeCell
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named


def cell(origin, target, value=None, *, members=3, faults=(0, 0), offline=False, **options):
    """One bounce, two with a value, or offline."""
    plan = Plan.OFFLINE if offline else Plan.TWO_BOUNCES if value else Plan.ONE_BOUNCE
    upgrade = Upgrade(release_named(origin), release_named(target), plan, value)
    return UpgradeCell(upgrade, members, FaultBudget(*faults), **options)
