"""Invented results of sweeps: documented upgrades are safe, and so are those that demand more."""

from functools import cache

from attrs import evolve

from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.upgrade.plans import Plan, documented_plan, kip_268_plans, kip_268_upgrades
from streams_assignor.upgrade.releases import RELEASES

EXAMPLE = "A@1.1.1 B@1.1.1 C@1.1.1 | elect newest | bounce A>2.0.1"
MORE = [Plan.ONE_BOUNCE, Plan.TWO_BOUNCES, Plan.OFFLINE]


def found(upgrade, example=EXAMPLE):
    """The results of a sweep, more or less."""
    asked_for = documented_plan(upgrade.origin, upgrade.target)
    safe = MORE.index(upgrade.plan) >= MORE.index(asked_for)
    result = UpgradeResult(
        upgrade,
        runs=100,
        max_rebalances=3,
        probes=7,
        states=1234,
        transitions=5678,
        schedules=10**20,
        members=3,
        crashes=1,
        rebalance_timeouts=1,
        spurious_joins=0,
        wait_for_quiescence=False,
    )
    if safe:
        return result
    return evolve(
        result, violations=92, example=example, property="always: no member fails", message="B: </script> & <b>"
    )


MATRIX = [found(upgrade) for upgrade in kip_268_upgrades()]


@cache
def everything():
    """All pairs of releases, three plans each."""
    released = [release for release in RELEASES.values() if release.is_released]
    return tuple(
        found(evolve(upgrade, labels=(origin.name, target.name)), f"A@{origin} B@{origin} | bounce A>{target}")
        for origin in released
        for target in released
        if origin != target
        for upgrade in kip_268_plans(origin, target)
    )
