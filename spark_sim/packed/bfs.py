"""Breadth-first search of the packed model: ``spark_sim.search.bfs`` with an expansion that adds integers.

``PackedModel`` defines the transitions. The expansion here is the same with lookups in tables: both find the same graph
(``tests/spark_sim/search/test_coverage.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import Factory, define

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.actions import PackedAction
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.model import LEAD, PackedModel, PackedState
from streams_assignor.spark_sim.packed.tables.transition_table import TransitionTable, election_table
from streams_assignor.spark_sim.packed.view import GROUP_FIELDS_MASK, PHASE, SUMMARY_MASK, StateSummary
from streams_assignor.spark_sim.search.bfs import MAX_STATES, fill
from streams_assignor.spark_sim.search.graph import FAILED_STATE, StateGraph, StateViolation

MAX_SECOND_OWNER_SUSPECTS: Final = 25
"""So many suspected second owners are replayed with real members before a cell is cleared of them."""


@define(eq=False)
class PackedGraph(StateGraph[PackedState, PackedAction]):
    """A state graph whose states are columns of integers."""

    process_states: list[tuple[int, ...]] = Factory(lambda: [()])
    """Number => the numbers of the processes' states, sorted."""
    keys: list[int] = Factory(lambda: [-1])
    """Number => the state as one integer."""
    second_owner_suspects: list[int] = Factory(list)
    """States in which the leader may assign a task that another member keeps."""

    @property
    def encoding(self) -> Encoding:
        """The encoding of its states."""
        assert isinstance(self.model, PackedModel)
        return self.model.encoding

    @property
    def state_count(self) -> int:
        """How many states there are."""
        return len(self.process_states) - 1

    def add(self, state: PackedState) -> int:
        """Return the number of a state, a new one if it is not known."""
        key = self.encoding.key(*state)
        number = self.numbers_by_key.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
            self.process_states.append(state.process_states)
        return number

    def state(self, number: int) -> PackedState:
        """Return the state with a number."""
        return PackedState(self.process_states[number], self.group_fields(number))

    def group_fields(self, number: int) -> int:
        """Return the group's own fields in a state."""
        return self.keys[number] & GROUP_FIELDS_MASK

    def number_of(self, state: PackedState) -> int:
        """Return the number of a state that is known; ``KeyError`` if it is not."""
        number = self.numbers_by_key.get(self.encoding.key(*state))
        if number is None:
            raise KeyError(
                f"no state has the processes {state.process_states} and the group fields {state.group_fields}"
            )
        return number


def bfs(encoding: Encoding, max_states: int = MAX_STATES) -> PackedGraph:
    """Return the graph of all states of a cell; see ``spark_sim.search.bfs.bfs`` for ``max_states``."""
    with gc_disabled():
        return fill(PackedGraph(PackedModel(encoding)), _expand_all, max_states)


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Suspend Python's cycle collector, which finds no cycles among millions of integers and tuples."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _expand_all(graph: PackedGraph, number: int, max_states: int) -> int:
    """Expand all states from a number on; see ``spark_sim.search.bfs.fill``."""
    packed, keys, all_process_states, size = graph.encoding, graph.keys, graph.process_states, len(graph.keys)
    targets, labels, number_of = graph.targets, graph.labels.append, graph.numbers_by_key.setdefault
    join_pending, join_pending_weight = packed.join_pending_state, packed.join_pending_weight
    transitions, elections = TransitionTable(packed), election_table(packed)
    at = number - 1
    while (at := at + 1) < size <= max_states:
        process_states, key = all_process_states[at], keys[at]
        rows, special, summary = transitions[key & SUMMARY_MASK]
        for process_state in process_states:
            if process_state not in rows:
                transitions.fill(summary.view, process_states)
                break
        last, prepared_key = -1, 0
        prepared_states: list[int] = []
        for process_state in process_states:
            if process_state == last:  # processes in equal states have the same actions
                continue
            last, count = process_state, process_states.count(process_state)
            simple, others, failures = rows[process_state]
            for change, label, after in simple:
                new_key = key + change
                number = number_of(new_key, size)
                if number == size:
                    size += 1
                    keys.append(new_key)
                    after_states = list(process_states)
                    after_states[after_states.index(process_state)] = after
                    after_states.sort()
                    all_process_states.append(tuple(after_states))
                targets.append(number)
                labels(label + count)
            for change, label, after, prepares, elects in others:
                if prepares and not prepared_states:
                    prepared_states = [join_pending[process_state] for process_state in process_states]
                    prepared_key = sum([join_pending_weight[process_state] for process_state in process_states], key)
                after_states = list(prepared_states if prepares else process_states)
                after_states[process_states.index(process_state)] = after
                after_states.sort()
                new_key = (prepared_key if prepares else key) + change
                after_action = tuple(after_states)
                for added, multiplicity, after_election in (
                    elections[after_action] if elects else ((0, 1, after_action),)
                ):
                    number = number_of(new_key + added, size)
                    if number == size:
                        size += 1
                        keys.append(new_key + added)
                        all_process_states.append(after_election)
                    targets.append(number)
                    labels(label + count * multiplicity)
            for action, violation in failures:
                targets.append(FAILED_STATE)
                labels(count)
                graph.violations.append(StateViolation(at, violation, action))
        if special:
            size = _expand_special(graph, at, summary, size)
        graph.edge_offsets.append(len(targets))
        graph.state_counts.append(size)
    return at


def _expand_special(graph: PackedGraph, state: int, summary: StateSummary, size: int) -> int:
    """Add the leader's transition if a leader is due, record a terminal state, and return the number of states."""
    packed, process_states = graph.encoding, graph.process_states[state]
    after_assignment = packed.leader_result(process_states) if summary.leader_assigns else None
    if isinstance(after_assignment, Violation):
        graph.targets.append(FAILED_STATE)
        graph.labels.append(1)
        graph.violations.append(StateViolation(state, after_assignment, LEAD))
    elif after_assignment is not None:
        after = sorted([after_assignment[process_state] for process_state in process_states])
        key = packed.key(after, graph.group_fields(state) + PHASE)
        number = graph.numbers_by_key.setdefault(key, size)
        if number == size:
            size += 1
            graph.keys.append(key)
            graph.process_states.append(tuple(after))
        graph.targets.append(number)
        graph.labels.append(1)
        if packed.may_have_second_owner(process_states):
            graph.second_owner_suspects.append(state)
    if summary.terminal:
        graph.terminal_states.append(state)
        if (violation := packed.check_eventually(process_states)) is not None:
            graph.violations.append(StateViolation(state, violation))
    return size
