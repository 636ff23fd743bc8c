"""A seed is a course: the same faults at the same steps of the same upgrade, and all of them get their turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.course import KINDS, NEW, ON_THE_WAY, course
from tests.chaos.faults import FAULTS

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(0, 40))
def test_the_same_seed_is_the_same_course(seed, faults):
    assert course(seed, "ABC", faults) == course(seed, "CBA", faults)


def test_another_seed_is_another_course():
    assert course(1, "ABC", 12) != course(2, "ABC", 12)


@given(SEEDS, st.integers(1, 5), st.integers(0, 40))
def test_everybody_is_bounced_through_both_rounds_and_no_fault_is_left_out(seed, members, faults):
    names = "ABCDE"[:members]
    steps = course(seed, names, faults)

    bounced = [(step.bounce, step.to) for step in steps if step.bounce]
    assert [ON_THE_WAY] * members + [NEW] * members == [to for _, to in bounced]
    assert [sorted(names)] * 2 == [sorted(name for name, to in bounced if to == each) for each in (ON_THE_WAY, NEW)]
    assert faults == sum(1 for step in steps if step.fault)


@given(SEEDS)
def test_every_kind_comes_once_before_one_comes_twice(seed):
    drawn = [step.fault.kind for step in course(seed, "ABC", 2 * len(KINDS)) if step.fault]

    assert sorted(KINDS) == sorted(drawn[: len(KINDS)]) == sorted(drawn[len(KINDS) :])


def test_only_chosen_kinds_are_drawn():
    assert {"kill"} == {step.fault.kind for step in course(3, "AB", 5, ["kill"]) if step.fault}
    assert not [step for step in course(3, "AB", 5, []) if step.fault]
    with pytest.raises(ValueError, match=r"expected one of kill, .* got 'flood'"):
        course(3, "AB", 5, ["flood"])


def test_every_kind_can_be_brought_about():
    assert KINDS.keys() == FAULTS.keys()
