"""A seed is a course: the same faults at the same steps of the same upgrade, and all of them get their turn."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.chaos.fault_schedule import (
    ENDS_A_PROCESS,
    FAULT_KINDS,
    INTERMEDIATE_VERSION,
    MISTAKES,
    NEW_VERSION,
    ROLL_FAULT_KINDS,
    draw_roll,
    draw_schedule,
    draw_soak,
)
from tests.lab.chaos.faults import FAULTS
from tests.lab.chaos.roll_outcome import CAUSED
from tests.lab.chaos.rolling import ROLL_FAULTS

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(0, 40))
def test_the_same_seed_gives_the_same_schedule(seed, faults):
    assert draw_schedule(seed, "ABC", faults) == draw_schedule(seed, "CBA", faults)


def test_another_seed_gives_another_schedule():
    assert draw_schedule(1, "ABC", 12) != draw_schedule(2, "ABC", 12)


@given(SEEDS, st.integers(1, 5), st.integers(0, 40))
def test_every_member_is_restarted_in_both_rounds_and_every_fault_occurs(seed, members, faults):
    names = "ABCDE"[:members]
    steps = draw_schedule(seed, names, faults)

    bounced = [(step.bounce, step.to) for step in steps if step.bounce]
    assert [INTERMEDIATE_VERSION] * members + [NEW_VERSION] * members == [to for _, to in bounced]
    assert [sorted(names)] * 2 == [
        sorted(name for name, to in bounced if to == each) for each in (INTERMEDIATE_VERSION, NEW_VERSION)
    ]
    assert faults == sum(1 for step in steps if step.fault)


@given(SEEDS)
def test_every_fault_occurs_once_before_one_occurs_twice(seed):
    drawn = [step.fault.kind for step in draw_schedule(seed, "ABC", 2 * len(FAULT_KINDS)) if step.fault]

    assert sorted(FAULT_KINDS) == sorted(drawn[: len(FAULT_KINDS)]) == sorted(drawn[len(FAULT_KINDS) :])


def test_only_chosen_kinds_are_drawn():
    assert {"kill"} == {step.fault.kind for step in draw_schedule(3, "AB", 5, ["kill"]) if step.fault}
    assert not [step for step in draw_schedule(3, "AB", 5, []) if step.fault]
    with pytest.raises(ValueError, match=r"expected one of kill, .* got 'flood'"):
        draw_schedule(3, "AB", 5, ["flood"])


@given(SEEDS)
def test_only_static_members_get_a_second_process(seed):
    drawn = [step.fault for step in draw_schedule(seed, "ABC", 20, static="AB") if step.fault]

    assert {"A", "B"} >= {fault.target for fault in drawn if fault.kind == "duplicate"} > set()


@given(SEEDS)
def test_a_soak_ends_only_static_processes(seed):
    kinds = ["kill", "duplicate", "freeze", "cut"]
    drawn = [step.fault for step in islice(draw_soak(seed, "ABCD", "AB", kinds), 12)]

    assert sorted(3 * kinds) == sorted(fault.kind for fault in drawn)
    assert {"A", "B"} >= {fault.target for fault in drawn if fault.kind in ENDS_A_PROCESS}


@given(SEEDS, st.integers(1, 6), st.integers(0, 40))
def test_every_restart_of_a_roll_has_its_faults_and_the_same_ones_each_time(seed, restarts, faults):
    kinds = [*FAULT_KINDS, *ROLL_FAULT_KINDS]
    around = draw_roll(seed, "ABC", restarts, faults, kinds)

    assert around == draw_roll(seed, "CBA", restarts, faults, kinds)
    assert restarts == len(around)
    assert faults == sum(map(len, around))
    assert max(map(len, around)) - min(map(len, around)) <= 1
    drawn = [timed.fault.kind for place in around for timed in place]
    assert len({*drawn}) == min(faults, len(kinds))


def test_every_fault_can_be_injected():
    assert FAULT_KINDS.keys() == FAULTS.keys()
    assert ROLL_FAULT_KINDS.keys() == ROLL_FAULTS.keys() | {*MISTAKES}
    assert CAUSED.keys() == FAULT_KINDS.keys() | ROLL_FAULT_KINDS.keys()
