"""Breadth-first search of the packed model: ``spark_sim.search.bfs`` with an expansion that adds integers.

``PackedModel`` defines the transitions; what it needs several calls for, ``expand`` looks up in tables. Both find the
same graph (``tests/spark_sim/search/test_coverage.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import Factory, define

from spark_sim.model.violations import Violation
from spark_sim.packed.actions import PackedAction
from spark_sim.packed.encoding import Encoding
from spark_sim.packed.model import LEAD, PackedModel, PackedState
from spark_sim.packed.tables.transition_table import TransitionTable, election_table
from spark_sim.packed.view import GROUP_FIELDS_MASK, PHASE, SUMMARY_MASK, StateSummary
from spark_sim.search.bfs import MAX_STATES, fill
from spark_sim.search.graph import FAILED_STATE, StateGraph, StateViolation

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
            raise unknown_state(state)
        return number


def unknown_state(state: PackedState) -> KeyError:
    """Return the error for a state that is not in a graph."""
    return KeyError(f"no state has the processes {state.process_states} and the group fields {state.group_fields}")


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
    packed, keys, all_parts, size = graph.encoding, graph.keys, graph.process_states, len(graph.keys)
    targets, labels, number_of = graph.targets, graph.labels.append, graph.numbers_by_key.setdefault
    calm, calming, sights, choices = (
        packed.join_pending_state,
        packed.join_pending_weight,
        TransitionTable(packed),
        election_table(packed),
    )
    at = number - 1
    while (at := at + 1) < size <= max_states:
        parts, key = all_parts[at], keys[at]
        lines, special, situation = sights[key & SUMMARY_MASK]
        for part in parts:
            if part not in lines:
                sights.fill(situation.view, parts)
                break
        last, prepared = -1, 0
        waiting: list[int] = []
        for part in parts:
            if part == last:  # Processes that are alike have one move.
                continue
            last, count = part, parts.count(part)
            plain, others, failures = lines[part]
            for change, label, after in plain:
                new = key + change
                number = number_of(new, size)
                if number == size:
                    size += 1
                    keys.append(new)
                    changed = list(parts)
                    changed[changed.index(part)] = after
                    changed.sort()
                    all_parts.append(tuple(changed))
                targets.append(number)
                labels(label + count)
            for change, label, after, prepares, elects in others:
                if prepares and not waiting:
                    waiting = [calm[each] for each in parts]
                    prepared = sum([calming[each] for each in parts], key)
                changed = list(waiting if prepares else parts)
                changed[parts.index(part)] = after
                changed.sort()
                new = (prepared if prepares else key) + change
                outcome = tuple(changed)
                for gain, alike, chosen in choices[outcome] if elects else ((0, 1, outcome),):
                    number = number_of(new + gain, size)
                    if number == size:
                        size += 1
                        keys.append(new + gain)
                        all_parts.append(chosen)
                    targets.append(number)
                    labels(label + count * alike)
            for move, violation in failures:
                targets.append(FAILED_STATE)
                labels(count)
                graph.violations.append(StateViolation(at, violation, move))
        if special:
            size = _expand_special(graph, at, situation, size)
        graph.edge_offsets.append(len(targets))
        graph.state_counts.append(size)
    return at


def _expand_special(graph: PackedGraph, state: int, summary: StateSummary, size: int) -> int:
    """Let the leader assign, if it is to and runs; note where the operator may go home; return how many states are."""
    packed, parts = graph.encoding, graph.process_states[state]
    led = packed.leader_result(parts) if summary.leader_assigns else None
    if isinstance(led, Violation):
        graph.targets.append(FAILED_STATE)
        graph.labels.append(1)
        graph.violations.append(StateViolation(state, led, LEAD))
    elif led is not None:
        after = sorted([led[part] for part in parts])
        key = packed.key(after, graph.group_fields(state) + PHASE)
        number = graph.numbers_by_key.setdefault(key, size)
        if number == size:
            size += 1
            graph.keys.append(key)
            graph.process_states.append(tuple(after))
        graph.targets.append(number)
        graph.labels.append(1)
        if packed.may_have_second_owner(parts):
            graph.second_owner_suspects.append(state)
    if summary.terminal:
        graph.terminal_states.append(state)
        if (broken := packed.check_eventually(parts)) is not None:
            graph.violations.append(StateViolation(state, broken))
    return size
