"""Excerpts of histories: they conform from any generation on, and a difference counts only if nothing explains it."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.conformance import excerpt
from streams_assignor.spark_sim.conformance.excerpt import (
    END_TO_END_ONLY,
    NOTHING_COMPARED,
    RECORDS_MISSING,
    RELEASES_INFERRED,
    SETTINGS_UNKNOWN,
    judge_excerpt,
)
from streams_assignor.spark_sim.conformance.verdict import check_conformance
from tests.each import each_third
from tests.spark_sim.audit.captured_records import CAPTURES, capture_of, named

PROBING = "2.0.1-to-2.3.1"


def without_steps(capture):
    return evolve(capture, steps=(), snapshots=())


def since(capture, at):
    return evolve(without_steps(capture), generations=capture.generations[at:])


def without(capture, at):
    return evolve(without_steps(capture), generations=capture.generations[:at] + capture.generations[at + 1 :])


def swapped(capture, at, what):
    """The capture in which two members of a generation have each other's subscription or assignment."""
    generation = capture.generations[at]
    one, other, *more = generation.members
    values = getattr(one, what), getattr(other, what)
    members = (evolve(one, **{what: values[1]}), evolve(other, **{what: values[0]}), *more)
    before, after = capture.generations[:at], capture.generations[at + 1 :]
    return evolve(without_steps(capture), generations=(*before, evolve(generation, members=members), *after))


@pytest.mark.parametrize("path", each_third(CAPTURES), ids=lambda path: path.stem)
def test_a_real_group_conforms_from_the_middle_on(path):
    """All 228 cuts of these files do; three had differed at the record of a static member that had come back."""
    capture = capture_of(path)
    verdict = judge_excerpt(since(capture, len(capture.generations) // 2))

    assert (verdict.conforms, verdict.reason) == (True, "")
    assert verdict.subscriptions
    assert verdict.assignments


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "at"),
    [
        *(("2.5.1-to-2.8.2-and-back-static-members", at) for at in (4, 8, 10)),
        ("broker-4.3.1-2.4.1-to-2.8.2-static-members", 11),
    ],
)
def test_a_lost_record_of_a_static_member_is_no_difference(name, at):
    """A generation has two records if a static member comes back in it, so no number was missing."""
    verdict = judge_excerpt(without(named(name), at))

    assert (verdict.conforms, verdict.reason) == (None, RECORDS_MISSING)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("2.5.1-to-2.8.2-and-back-static-members", 5),
        ("2.5.1-to-2.8.2-and-back-static-members", 9),
        ("broker-4.3.1-2.4.1-to-2.8.2-static-members", 12),
    ],
)
def test_an_excerpt_may_begin_with_a_record_that_was_written_again(name, at):
    assert judge_excerpt(since(named(name), at)).conforms


@pytest.mark.parametrize(("at", "what", "differs_in"), [(4, "subscription", 4), (1, "assignment", 2)])
def test_what_no_release_can_have_done_differs(at, what, differs_in):
    capture = named(PROBING)
    verdict = judge_excerpt(swapped(capture, at, what))

    assert (verdict.conforms, verdict.reason) == (False, "")
    assert verdict.difference.generation == capture.generations[differs_in].number


@pytest.mark.parametrize(
    ("capture", "reason"),
    [
        (without(named(PROBING), 2), END_TO_END_ONLY),
        (without(named(PROBING), 3), RECORDS_MISSING),
        (swapped(named(PROBING), 3, "subscription"), SETTINGS_UNKNOWN),
        (since(named(PROBING), len(named(PROBING).generations)), NOTHING_COMPARED),
        (since(named(PROBING), len(named(PROBING).generations) - 1), NOTHING_COMPARED),
    ],
)
def test_what_may_have_another_explanation_is_open(capture, reason):
    verdict = judge_excerpt(capture)

    assert (verdict.conforms, verdict.reason) == (None, reason)


def test_a_difference_of_one_release_is_none_of_another():
    capture = evolve(named(PROBING), steps=("2.2.2",), snapshots=())
    verdict = check_conformance(capture, is_excerpt=True)

    assert not verdict.agrees
    assert excerpt._open_question(capture, verdict) == RELEASES_INFERRED
