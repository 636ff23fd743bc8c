"""Transitions of process states in a form that the search adds up: key deltas and labels.

``Encoding`` decides which actions there are; the tables compute each row once, when the search first needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from spark_sim.model.violations import Violation
from spark_sim.packed.actions import PackedAction
from spark_sim.packed.encoding import Encoding
from spark_sim.packed.tables.memo import Memo
from spark_sim.packed.view import StateSummary, View
from spark_sim.search.model import FAULT_ACTION, GENERATION, OPERATOR_ACTION

OPERATOR_VERBS: Final = frozenset({"stop", "start"})
FAULT_VERBS: Final = frozenset({"crash", "late", "spurious join"})


def edge_label(move: PackedAction) -> int:
    """Return the label of an action without its multiplicity."""
    return (
        GENERATION * move.begins_generation
        + OPERATOR_ACTION * (move.verb in OPERATOR_VERBS)
        + FAULT_ACTION * (move.verb in FAULT_VERBS)
    )


class TransitionRow(NamedTuple):
    """The actions of a process state in a view."""

    simple: list[tuple[int, int, int]]
    """Actions that change no other process: key delta, label without multiplicity, process state after it."""
    special: list[tuple[int, int, int, bool, bool]]
    """All others: likewise, whether a rebalance is prepared (the delta is to the key after that), and an election."""
    failures: list[tuple[PackedAction, Violation]]

    @classmethod
    def of(cls, packed: Encoding, view: View, part: int) -> TransitionRow:
        """Return the row of a process state."""
        row = packed.action_row(view, part)
        plain = [
            (packed.key_delta(move), edge_label(move), move.after)
            for move in row.actions
            if not move.prepares_rebalance
        ]
        others = [
            (packed.key_delta(move), edge_label(move), move.after, move.prepares_rebalance, elects)
            for moves, elects in ((row.actions, False), (row.elections, True))
            for move in moves
            if elects or move.prepares_rebalance
        ]
        return cls(plain, others, row.failures)


Election = tuple[int, int, tuple[int, ...]]
"""What an election adds to a key, its multiplicity, and the process states after it, sorted."""


def election_table(packed: Encoding) -> Memo[tuple[int, ...], list[Election]]:
    """Return a table of sorted process states => the elections among them."""

    def elections(parts: tuple[int, ...]) -> list[Election]:
        found = []
        for part in dict.fromkeys(parts):
            for gain, elected in packed.elections[part]:
                chosen = list(parts)
                chosen[chosen.index(part)] = elected
                found.append((gain, parts.count(part), tuple(sorted(chosen))))
        return found

    return Memo(elections)


class ViewEntry(NamedTuple):
    """What the search needs to know of the states with one summary."""

    rows: dict[int, TransitionRow]
    special: bool
    situation: StateSummary


class TransitionTable(Memo[int, ViewEntry]):
    """Summary bits => what the search needs to know of states with these bits."""

    def __init__(self, packed: Encoding) -> None:
        super().__init__(self._entry)
        self._packed: Final = packed
        self._lines: Final[dict[View, dict[int, TransitionRow]]] = {}

    def _entry(self, look: int) -> ViewEntry:
        situation = self._packed.summary_of(look)
        lines = self._lines.setdefault(situation.view, {})
        return ViewEntry(lines, situation.leader_assigns or situation.terminal, situation)

    def fill(self, view: View, parts: Iterable[int]) -> None:
        """Compute the missing rows of these process states."""
        lines = self._lines[view]
        for part in parts:
            if part not in lines:
                lines[part] = TransitionRow.of(self._packed, view, part)
