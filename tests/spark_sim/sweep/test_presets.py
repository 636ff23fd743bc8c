"""What a sweep is predicted to cost, beside what a slice of it costs."""

import time

import pytest
from attrs import evolve

from streams_assignor.spark_sim.sweep.presets import (
    PREDICTION_FACTOR,
    PRESETS,
    predicted_core_seconds,
    predicted_transitions,
)
from streams_assignor.spark_sim.sweep.suites import broker_suite
from streams_assignor.spark_sim.sweep.work_units import unit_key
from streams_assignor.spark_sim.sweep.worker import compute_unit


def suite(name, **smaller):
    preset = PRESETS[name]
    return evolve(preset, runs_in_all=preset.runs_in_all and 300, config=evolve(preset.config, **smaller)).suite(name)


def test_a_hundred_thousand_runs_are_shared_by_the_classes():
    units = PRESETS["thousand-members"].suite("thousand-members").units

    assert 100_000 <= sum(unit.batch.count for unit in units) < 100_100


@pytest.mark.slow
def test_slices_have_all_units_between_them():
    whole = suite("five-members", members=4)
    parts = [whole.slice(number, 7) for number in range(1, 8)]

    assert sorted(map(unit_key, whole.units)) == sorted(unit_key(unit) for part in parts for unit in part.units)
    assert 7 == len({part.description for part in parts} - {whole.description})


def test_a_slice_has_its_share_of_every_plan():
    """Every thousandth unit, in their order, once had two bounces only: the length of a class divides the stride."""
    part = PRESETS["thousand-members"].suite("thousand-members").slice(501, 1_000)

    assert 10 == len(part.units)
    assert 3 == len({unit.cell.plan for unit in part.units})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "smaller"), [("thousand-members", {"members": 60, "tasks": 180})])
def test_a_slice_costs_what_was_predicted(name, smaller):
    part = suite(name, **smaller).slice(1, 6)
    predicted = predicted_core_seconds(part)

    begun = time.process_time()  # both sides are CPU time of this process, so other load takes no part
    for unit in part.units:
        compute_unit(unit_key(unit), unit)

    assert 1 / PREDICTION_FACTOR < (time.process_time() - begun) / predicted < PREDICTION_FACTOR


MEASURED = [
    ("2.0.1-to-2.6.0-one_bounce-1.1", 12_444_340),
    ("4.4.0-to-2.3.0-offline", 1_486_589),
    ("3.7.2-to-2.5.1-one_bounce", 23_208_112),
    ("2.5.1-to-3.7.2-one_bounce-2.5", 34_204_950),
    ("2.3.1-to-3.5.1-two_bounces-0.10.0", 76_880_356),
    ("0.10.0.1-to-1.1.1-one_bounce", 7_523_427),
]
"""Transitions of five members: every schedule, or as many as there are in ten million states."""


@pytest.mark.slow
@pytest.mark.parametrize(("key", "transitions"), MEASURED, ids=[key for key, _ in MEASURED])
def test_an_exploration_has_the_transitions_that_were_predicted(key, transitions):
    """Counts do not depend on the machine."""
    (unit,) = (each for each in PRESETS["five-members"].suite("five-members").units if each.key == key)

    assert 1 / PREDICTION_FACTOR < transitions / predicted_transitions(unit)[1] < PREDICTION_FACTOR


def test_other_sweeps_are_predicted_by_their_estimates():
    brokers = broker_suite([("4.1", "4.2")], nodes=1, faults=0)

    assert 0 < predicted_core_seconds(brokers) < 60
