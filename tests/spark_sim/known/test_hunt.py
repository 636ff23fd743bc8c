"""Hunting goes through all schedules of a few steps, shortest first."""

import pytest

from spark_sim.known.hunt import Hunt, hunt
from spark_sim.properties import ENDLESS, OWNED_ONCE, READABLE
from spark_sim.scenario import Instance
from spark_sim.shape import Shape


def course(*names):
    return tuple(map(Instance.parse, names))


def test_schedules_of_one_member_are_counted_by_hand():
    """Two beginnings; stop, two restarts, lose, and in the next step whatever is left of these."""
    nothing = Hunt(course("2.0.0", "2.0.1"), ENDLESS, members=1)
    counted = [hunt(Hunt(nothing.course, ENDLESS, members=1, steps=steps)).schedules for steps in (1, 2)]

    # After stop: start, start as the next, lose. After a restart as what it was: all four again; as the next: stop,
    # restart, lose. After lose: stop and two restarts. At once the same pairs again.
    assert [2 * 4, 2 * (4 + 2 * (3 + 4 + 3 + 3))] == counted


def test_a_shortest_schedule_is_found_first():
    found = hunt(Hunt(course("1.1.1", "2.0.1"), READABLE))

    assert "A@1.1.1 B@1.1.1 | bounce fast A>2.0.1" == str(found.example)
    assert "version=3" in found.said


def test_what_is_not_there_is_not_found():
    found = hunt(Hunt(course("3.9.1", "3.9.2"), OWNED_ONCE, shape=Shape(threads=2), steps=1))

    assert (None, "") == (found.example, found.said)
    assert found.schedules > 8


@pytest.mark.parametrize(("says", "there"), [("version=3", True), ("version=4", False)])
def test_it_has_to_be_said(says, there):
    found = hunt(Hunt(course("1.1.1", "2.0.1"), READABLE, says, steps=1))

    assert there == (found.example is not None)
