"""The derived upgrade guide of the documentation: whole, explained, and what the sweep says today."""

import json
from pathlib import Path
from random import Random

import pytest

from streams_assignor.spark_sim.advice.upgrade_guide import DifferenceReason, derive_guide
from streams_assignor.spark_sim.packed import FaultBudget
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES
from streams_assignor.spark_sim.sweep.report._guide_tables import guide_summary
from streams_assignor.spark_sim.sweep.suites import upgrade_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep
from streams_assignor.spark_sim.sweep.work_units import SweepConfig
from streams_assignor.upgrade.plans import all_plans, all_upgrades
from streams_assignor.upgrade.releases import RELEASES

KEPT = json.loads((Path(__file__).parents[3] / "docs/reference/upgrade-matrix.json").read_text(encoding="utf-8"))
RELEASED = [release for release in RELEASES.values() if release.is_released]


def kept_extent(runs=0):
    faults = KEPT["faults"]
    return SweepConfig(
        KEPT["members"],
        wait_for_quiescence=faults["wait_for_quiescence"],
        faults=FaultBudget(faults["crashes"], faults["rebalance_timeouts"], faults["spurious_joins"]),
        runs=runs,
    )


def sign(origin, target):
    names = KEPT["releases"]
    return KEPT["signs"][names.index(origin)].split()[names.index(target)]


def test_it_has_a_sign_for_every_pair_of_releases():
    assert [release.name for release in RELEASED] == KEPT["releases"]
    signs = [row.split() for row in KEPT["signs"]]
    assert {len(RELEASED)} == {len(row) for row in signs}
    assert all((sign == "-") == (down == across) for down, row in enumerate(signs) for across, sign in enumerate(row))


def test_every_disagreement_with_the_guides_has_its_reason():
    assert [] == KEPT["unexplained"]
    assert {each["reason"] for each in KEPT["differences"]} <= {reason.name for reason in DifferenceReason}


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("0.10.0.1", "0.10.1.1", "o"),
        ("0.10.0.1", "1.1.0", "o"),
        ("1.1.1", "2.0.1", "2"),
        ("2.0.1", "2.1.1", "2"),
        ("2.0.1", "2.2.2", "1/2"),
        ("1.1.1", "4.3.1", "3"),
        ("3.9.2", "4.3.1", "1"),
        ("2.8.2", "3.9.2", "1/2"),
        ("3.4.1", "3.5.1", "1/o"),
        ("3.9.2", "1.1.1", "o"),
    ],
)
def test_what_is_well_known_is_in_it(origin, target, expected):
    assert expected == sign(origin, target)


def explored(origin, target):
    """One pair, explored anew."""
    upgrades = tuple(all_plans(RELEASES[origin], RELEASES[target]))
    results = [job.result() for upgrade in upgrades for job in kept_extent().units([upgrade])]
    return derive_guide(results)[RELEASES[origin], RELEASES[target]]


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 3, 4, 5))])
def test_a_pair_explored_anew_has_the_same_sign(seed):
    """Ways through bridges need other pairs, so these are left to the whole sweep."""
    random = Random(seed)
    pairs = ([each.name for each in random.sample(RELEASED, 2)] for _ in range(100))
    origin, target = next(pair for pair in pairs if sign(*pair) in {"1", "2", "1/2"})

    assert explored(origin, target).sign == sign(origin, target)


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
def test_the_whole_sweep_says_the_same(tmp_path):
    """Eight CPU minutes. With as many runs as ``--matrix all`` makes: they may have shorter examples."""
    finished = run_sweep(upgrade_suite("all", all_upgrades(), kept_extent(runs=4)), tmp_path, master=PROCESSES)

    assert KEPT == guide_summary(finished.results)
