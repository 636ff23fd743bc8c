"""The derived upgrade guide of the documentation: whole, explained, and what the sweep says today."""

import json
from pathlib import Path
from random import Random

import pytest

from spark_sim.explore import Faults
from spark_sim.guide import Reason, guide
from spark_sim.guide_page import summary
from spark_sim.jobs import Extent
from spark_sim.results import Sweep
from spark_sim.sweep import PROCESSES, run_sweep
from upgrade.matrix import every_plan, everything
from upgrade.releases import RELEASES

KEPT = json.loads((Path(__file__).parents[2] / "docs/reference/upgrade-matrix.json").read_text(encoding="utf-8"))
RELEASED = [release for release in RELEASES.values() if release.released]


def kept_extent(runs=0):
    faults = dict(KEPT["faults"])
    return Extent(KEPT["members"], patient=faults.pop("patient"), faults=Faults(**faults), runs=runs)


def sign(origin, target):
    names = KEPT["releases"]
    return KEPT["signs"][names.index(origin)][names.index(target)]


def test_it_has_a_sign_for_every_pair_of_releases():
    assert [release.name for release in RELEASED] == KEPT["releases"]
    assert {len(RELEASED)} == {len(row) for row in KEPT["signs"]}
    assert all(
        (sign == " ") == (down == across) for down, row in enumerate(KEPT["signs"]) for across, sign in enumerate(row)
    )


def test_every_disagreement_with_the_guides_has_its_reason():
    assert [] == KEPT["unexplained"]
    assert {each["reason"] for each in KEPT["differences"]} <= {reason.name for reason in Reason}


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("0.10.0.1", "0.10.1.1", "o"),
        ("0.10.0.1", "1.1.0", "3"),
        ("1.1.1", "2.0.1", "2"),
        ("2.0.1", "2.1.1", "2"),
        ("2.0.1", "2.2.2", "1"),
        ("1.1.1", "4.3.1", "3"),
        ("3.9.2", "4.3.1", "1"),
    ],
)
def test_what_everybody_knows_is_in_it(origin, target, expected):
    assert expected == sign(origin, target)


def explored(origin, target):
    """One pair, explored anew."""
    upgrades = tuple(every_plan(RELEASES[origin], RELEASES[target]))
    results = [job.found() for upgrade in upgrades for job in kept_extent().jobs([upgrade])]
    return guide(results)[RELEASES[origin], RELEASES[target]]


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_explored_anew_has_the_same_sign(seed):
    """Ways through bridges need other pairs, so these are left to the whole sweep."""
    random = Random(seed)
    pairs = ([each.name for each in random.sample(RELEASED, 2)] for _ in range(100))
    origin, target = next(pair for pair in pairs if sign(*pair) in "12")

    assert explored(origin, target).way.sign == sign(origin, target)


@pytest.mark.exhaustive
def test_the_whole_sweep_says_the_same(tmp_path):
    """Two minutes on two cores. With as many runs as ``--matrix all`` makes: they may have shorter examples."""
    results = run_sweep(Sweep("all", everything(), kept_extent(runs=4)), tmp_path, master=PROCESSES)

    assert KEPT == summary(results)
