"""Breadth-first search, paths, cycles and coverage of small models whose graphs are known."""

from itertools import islice

import pytest

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.bfs import bfs, walk
from streams_assignor.spark_sim.search.cycles import cycle_from
from streams_assignor.spark_sim.search.graph import FAILED_STATE, path_to
from streams_assignor.spark_sim.search.model import FAULT_ACTION, BaseModel, Transition
from streams_assignor.spark_sim.search.path_counting import PathCounts, count_paths
from tests.spark_sim.search.covering_schedules import covering_schedules

BROKEN = Violation("always: it is not 13", "", "it is 13")


class Sums(BaseModel[int, int]):
    """Add 1 or 2 up to a limit, or 0; from 5 on adding 2 fails."""

    def __init__(self, limit, *, addends=(1, 2), fails_from=None):
        self.limit, self.addends, self.fails_from = limit, addends, fails_from

    def initial_states(self):
        return [0]

    def actions(self, state):
        return [each for each in self.addends if state + each <= self.limit]

    def next(self, state, action):
        if action == 2 and self.fails_from is not None and state >= self.fails_from:
            return BROKEN
        return state + action

    def canonical(self, state):
        return state


class Clock(Sums):
    """Add 1 modulo the limit; a fault resets it."""

    def transitions(self, state):
        yield Transition(1, (state + 1) % self.limit)
        yield Transition(0, 0, 1 | FAULT_ACTION)


class Violating(Sums):
    def violations(self, state, *, terminal):
        return [BROKEN] if state == (self.limit if terminal else 3) else []


def test_states_transitions_and_schedules_are_those_of_the_model():
    graph = bfs(Sums(4))

    assert (5, 7, [5]) == (graph.state_count, graph.transition_count, graph.terminal_states)
    assert PathCounts(5, depth=4, max_rebalances=0) == count_paths(graph)  # Fibonacci
    assert graph.complete


def test_a_path_is_a_shortest_one():
    graph = bfs(Sums(9))

    assert (graph.number_of(0), [1, 2, 2, 2, 2]) == path_to(graph, graph.number_of(9))
    assert (1, []) == path_to(graph, 1)


def test_an_unknown_state_has_no_number():
    with pytest.raises(KeyError):
        bfs(Sums(3)).number_of(4)


def test_a_stuttering_step_is_visited_and_no_edge():
    visited = []
    graph = bfs(Sums(2, addends=(0, 1)), visit=lambda number, transition: visited.append((number, transition.action)))

    assert (2, 3) == (graph.transition_count, graph.stuttering_steps)
    assert [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)] == visited


def test_nothing_follows_a_violating_action():
    graph = bfs(Sums(4, fails_from=1))
    found = [(graph.state(each.state), each.action) for each in graph.violations]

    assert [(1, 2), (2, 2)] == found
    assert graph.targets.count(FAILED_STATE) == 2
    assert {BROKEN} == {each.violation for each in covering_schedules(graph) if each.violation}


def test_a_violating_state_is_closed_and_ends_schedules():
    graph = bfs(Violating(4))

    assert [3] == [graph.state(number) for number in graph.closed_states]
    assert [3, 4] == sorted(graph.state(each.state) for each in graph.violations)
    assert count_paths(graph).schedules == 5  # 3 to state 3, 2 past it


def test_a_search_that_is_cut_short_is_not_complete():
    graph = bfs(Sums(100), max_states=10)

    assert not graph.complete
    assert 10 <= graph.state_count <= 12


def test_a_cycle_is_one_of_the_protocol_alone():
    graph = bfs(Clock(3))

    assert count_paths(graph).cycle_state == 1
    assert [1, 1, 1] == cycle_from(graph, 1)


def test_coverage_takes_every_transition():
    graph = bfs(Sums(6))
    taken = set()
    for schedule in covering_schedules(graph):
        number = schedule.initial_state
        for action in schedule.actions:
            taken.add((number, action))
            number = graph.number_of(graph.state(number) + action)

    assert len(taken) == graph.transition_count


def test_a_walk_yields_the_levels_of_the_tree():
    assert [1, 2, 2, 3, 3, 4] == list(walk(Sums(9), max_depth=2))
    assert [1, 2, 3, 4, 2, 3] == list(walk(Sums(9), max_depth=2, rank=lambda state: -state))


def test_a_walk_expands_nothing_after_its_limit():
    assert [1, 2, 2, 3] == list(walk(Sums(9), max_states=3))
    assert [1, 2] == list(islice(walk(Sums(9)), 2))
    assert [1, 2, 2] == list(walk(Sums(2)))
