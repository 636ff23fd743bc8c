"""Transitions of process states in a form that the search adds up: key deltas and labels.

``Encoding`` decides which actions there are; the tables compute each row once, when the search first needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.actions import PackedAction
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.tables.memo import Memo
from streams_assignor.spark_sim.packed.view import StateSummary, View
from streams_assignor.spark_sim.search.model import FAULT_ACTION, GENERATION, OPERATOR_ACTION

OPERATOR_VERBS: Final = frozenset({"stop", "start"})
FAULT_VERBS: Final = frozenset({"crash", "late", "spurious join"})


def edge_label(action: PackedAction) -> int:
    """Return the label of an action without its multiplicity."""
    return (
        GENERATION * action.begins_generation
        + OPERATOR_ACTION * (action.verb in OPERATOR_VERBS)
        + FAULT_ACTION * (action.verb in FAULT_VERBS)
    )


class TransitionRow(NamedTuple):
    """The actions of a process state in a view."""

    simple: list[tuple[int, int, int]]
    """Actions that change no other process: key delta, label without multiplicity, process state after it."""
    special: list[tuple[int, int, int, bool, bool]]
    """All others: the same three, then whether the action prepares a rebalance, which the key delta does not contain,
    and whether it leads to an election."""
    failures: list[tuple[PackedAction, Violation]]

    @classmethod
    def of(cls, packed: Encoding, view: View, process_state: int) -> TransitionRow:
        """Return the row of a process state."""
        row = packed.action_row(view, process_state)
        simple = [
            (packed.key_delta(action), edge_label(action), action.after)
            for action in row.actions
            if not action.prepares_rebalance
        ]
        special = [
            (packed.key_delta(action), edge_label(action), action.after, action.prepares_rebalance, elects)
            for actions, elects in ((row.actions, False), (row.elections, True))
            for action in actions
            if elects or action.prepares_rebalance
        ]
        return cls(simple, special, row.failures)


Election = tuple[int, int, tuple[int, ...]]
"""The addition of an election to a key, its multiplicity, and the process states after it, sorted."""


def election_table(packed: Encoding) -> Memo[tuple[int, ...], list[Election]]:
    """Return a table of sorted process states => the elections among them."""

    def elections(process_states: tuple[int, ...]) -> list[Election]:
        elections = []
        for process_state in dict.fromkeys(process_states):
            for added, elected in packed.elections[process_state]:
                after_election = list(process_states)
                after_election[after_election.index(process_state)] = elected
                elections.append((added, process_states.count(process_state), tuple(sorted(after_election))))
        return elections

    return Memo(elections)


class ViewEntry(NamedTuple):
    """The facts of the states with one summary."""

    rows: dict[int, TransitionRow]
    special: bool
    summary: StateSummary


class TransitionTable(Memo[int, ViewEntry]):
    """Summary bits => what the search needs to know of states with these bits."""

    def __init__(self, packed: Encoding) -> None:
        super().__init__(self._entry)
        self._packed: Final = packed
        self._rows: Final[dict[View, dict[int, TransitionRow]]] = {}

    def _entry(self, summary_bits: int) -> ViewEntry:
        summary = self._packed.summary_of(summary_bits)
        rows = self._rows.setdefault(summary.view, {})
        return ViewEntry(rows, summary.leader_assigns or summary.terminal, summary)

    def fill(self, view: View, process_states: Iterable[int]) -> None:
        """Compute the missing rows of these process states."""
        rows = self._rows[view]
        for process_state in process_states:
            if process_state not in rows:
                rows[process_state] = TransitionRow.of(self._packed, view, process_state)
