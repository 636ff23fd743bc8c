"""Hunting goes through all schedules of a few steps, shortest first."""

import pytest

from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.violations import READABLE_VERSION, REBALANCING_TERMINATES, SINGLE_OWNER
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.spark_sim.regressions._coarse_bfs import CoarseSearch, coarse_bfs


def course(*names):
    return tuple(map(Instance.parse, names))


def test_schedules_of_one_member_are_counted_by_hand():
    """Two beginnings; stop, two restarts, lose, and in the next step whatever is left of these."""
    nothing = CoarseSearch(course("2.0.0", "2.0.1"), REBALANCING_TERMINATES, members=1)
    counted = [
        coarse_bfs(
            CoarseSearch(nothing.instance_sequence, REBALANCING_TERMINATES, members=1, max_steps=steps)
        ).schedules
        for steps in (1, 2)
    ]

    # After stop: start, start as the next, lose. After a restart as what it was: all four again; as the next: stop,
    # restart, lose. After lose: stop and two restarts. At once the same pairs again.
    assert [2 * 4, 2 * (4 + 2 * (3 + 4 + 3 + 3))] == counted


def test_a_shortest_schedule_is_found_first():
    found = coarse_bfs(CoarseSearch(course("1.1.1", "2.0.1"), READABLE_VERSION))

    assert "A@1.1.1 B@1.1.1 | bounce fast A>2.0.1" == str(found.example)
    assert "version=3" in found.message


def test_what_is_not_there_is_not_found():
    found = coarse_bfs(CoarseSearch(course("3.9.1", "3.9.2"), SINGLE_OWNER, workload=Workload(threads=2), max_steps=1))

    assert (None, "") == (found.example, found.message)
    assert found.schedules > 8


@pytest.mark.parametrize(
    ("code", "expected"), [("", True), ("TaskAssignmentException", True), ("IllegalStateException", False)]
)
def test_only_failures_with_the_code_count(code, expected):
    found = coarse_bfs(CoarseSearch(course("1.1.1", "2.0.1"), READABLE_VERSION, code, max_steps=1))

    assert expected == (found.example is not None)
