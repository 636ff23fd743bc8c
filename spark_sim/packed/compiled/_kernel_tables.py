"""The tables of the compiled loop: every entry is computed by ``Encoding`` and stored as integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.actions import ActionRow, PackedAction
from streams_assignor.spark_sim.packed.compiled import _kernel
from streams_assignor.spark_sim.packed.compiled._kernel import UNKNOWN, KernelTables
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.tables.memo import Interner
from streams_assignor.spark_sim.packed.tables.transition_table import edge_label
from streams_assignor.spark_sim.packed.view import (
    GROUP_FIELD_BITS,
    SUMMARY_MASK,
    OperatorView,
    PackedGroupView,
    saturate,
)


class TooManyProcessStatesError(StreamsAssignorError, ValueError):
    """There are more process states than a compiled state has bits for."""


class KernelTableBuilder:
    """Tables that are filled on demand; ``tables`` is what the kernel reads."""

    def __init__(self, packed: Encoding) -> None:
        self.encoding: Final = packed
        self.actions: Final[list[PackedAction]] = []
        self.failures: Final[dict[int, Violation]] = {}
        self.elections: Final[list[tuple[int, int]]] = []
        self._protocol_views: Final[Interner[PackedGroupView]] = Interner()
        self._operator_views: Final[Interner[OperatorView]] = Interner()
        self._view_count, self._row_count, self._state_count = 0, 1, 0
        self._leader_results: Final[list[Any]] = [None]
        self._arrays: Final[dict[str, Any]] = {
            "slots": np.zeros(1 << 11, np.int64),
            "views": np.zeros((1 << 9, 3), np.int32),
            "protocol_rows": np.full((64, 256), UNKNOWN, np.int32),
            "operator_rows": np.full((64, 256), UNKNOWN, np.int32),
            "bounds": np.zeros((1 << 12, 2), np.int32),
            "actions": np.zeros((1 << 13, 4), np.int32),
            "process_states": np.full((_kernel.MAX_PROCESS_STATES + 1, 6), UNKNOWN, np.int64),
            "elections": np.zeros(1 << 9, np.int32),
            "leader_slots": np.zeros(1 << 7, np.int64),
            "leader_results": np.full((64, 256), UNKNOWN, np.int32),
        }
        self.tables = KernelTables(**self._arrays)
        self._add_process_states()

    def fill(self, missing: int, key: int, other_key: int, process_states: Sequence[int]) -> None:
        """Add the entry that the kernel misses for a state with these process states."""
        if missing == _kernel.MISSING_VIEW:
            self._add_view(key, other_key)
        elif missing == _kernel.MISSING_TRANSITIONS:
            self._add_rows(key, process_states)
        elif missing == _kernel.MISSING_ELECTIONS:
            self._add_elections(key)
        elif missing == _kernel.MISSING_LEADER_ENTRY:
            self._add_leader_entry(key, other_key)
        else:
            self._add_leader_result(key, other_key)
        self._add_process_states()

    def _reserve(self, name: str, *shape: int) -> Any:
        """Return an array that has room for at least so many entries."""
        old = self._arrays[name]
        if old.shape[0] >= shape[0] and old.shape[1:2] >= shape[1:]:
            return old
        wider = [max(there, 2 * needed) for there, needed in zip(old.shape, (*shape, 0), strict=False)]
        new = np.full(wider, UNKNOWN, old.dtype)
        new[tuple(map(slice, old.shape))] = old
        self._set_array(name, new)
        return new

    def _set_array(self, name: str, new: Any) -> None:
        self._arrays[name] = new
        self.tables = KernelTables(**self._arrays)

    def _add_slot(self, name: str, low: int, high: int, number: int) -> None:
        """Map two words to a number."""
        if 4 * number > self._arrays[name].size:
            new = np.zeros(2 * self._arrays[name].size, np.int64)
            _kernel.rehash(self._arrays[name], new)
            self._set_array(name, new)
        _kernel.number_of(low, high, self._arrays[name], number)

    def _add_process_states(self) -> None:
        packed, state_count = self.encoding, len(self.encoding.weights)
        if state_count == self._state_count:
            return
        if state_count > _kernel.MAX_PROCESS_STATES:
            raise TooManyProcessStatesError(
                f"expected at most {_kernel.MAX_PROCESS_STATES} process states, not {state_count}"
            )
        for number in range(self._state_count, state_count):
            tallies = (packed.weights[number] & SUMMARY_MASK) >> GROUP_FIELD_BITS
            subscriptions = packed.subscription_bits[number]
            self._arrays["process_states"][number, :4] = (
                tallies,
                packed.join_pending_state[number],
                packed.leader_instances[number],
                subscriptions,
            )
        self._state_count = state_count
        self._reserve("protocol_rows", 1, state_count)
        self._reserve("operator_rows", 1, state_count)
        self._reserve("leader_results", 1, state_count)

    def _add_view(self, tallies: int, group: int) -> None:
        summary = self.encoding.summary_of((tallies << GROUP_FIELD_BITS) + group)
        protocol, operator = self._protocol_views.of(summary.view.group), self._operator_views.of(summary.view.operator)
        self._view_count += 1
        self._add_slot("slots", saturate(tallies), group, self._view_count)
        flags = _kernel.LEADER_ASSIGNS * summary.leader_assigns + _kernel.TERMINAL * summary.terminal
        self._reserve("views", self._view_count + 1)[self._view_count] = protocol, operator, flags
        self._reserve("protocol_rows", protocol + 1, self._state_count)
        self._reserve("operator_rows", operator + 1, self._state_count)

    def _add_rows(self, view: int, process_states: Sequence[int]) -> None:
        protocol, operator, _ = self._arrays["views"][view].tolist()
        halves = (
            (self._arrays["protocol_rows"], protocol, self._protocol_views.values[protocol]),
            (self._arrays["operator_rows"], operator, self._operator_views.values[operator]),
        )
        for process_state in dict.fromkeys(process_states):
            for rows, number, half in halves:
                if rows[number, process_state] == UNKNOWN:
                    rows[number, process_state] = self._add_row(self.encoding.half_rows[half, process_state])

    def _add_row(self, row: ActionRow) -> int:
        """Add a row and return its number."""
        if not any(row):
            return _kernel.NO_ACTIONS
        added = [
            (action.after, action.add, _kernel.PREPARES_REBALANCE * action.prepares_rebalance, edge_label(action))
            for action in row.actions
        ]
        simple = [kind for *_, kind, _ in added].count(_kernel.SIMPLE)
        for action in row.elections:
            kind = _kernel.ELECTION + _kernel.PREPARES_REBALANCE * action.prepares_rebalance
            added.append((action.after, action.add, kind, edge_label(action)))
        for action, violation in row.failures:
            self.failures[len(self.actions) + len(added)] = violation
            added.append((action.after, 0, _kernel.FAILS, 0))
        begin, end = len(self.actions), len(self.actions) + len(added)
        self.actions.extend([*row.actions, *row.elections, *(action for action, _ in row.failures)])
        self._reserve("actions", end)[begin:end] = added
        number = self._row_count
        self._reserve("bounds", number + 2)[number : number + 2] = (begin, begin + simple), (end, end)
        self._row_count += 1
        return number

    def _add_elections(self, process_state: int) -> None:
        begin = len(self.elections)
        self.elections.extend((process_state, chosen) for _, chosen in self.encoding.elections[process_state])
        end = len(self.elections)
        self._reserve("elections", end)[begin:end] = [chosen for _, chosen in self.elections[begin:]]
        self._arrays["process_states"][process_state, _kernel.ELECTIONS_BEGIN :] = begin, end

    def _add_leader_entry(self, subscriptions: int, leader: int) -> None:
        answers = self.encoding.leader_table[leader, subscriptions]
        number = len(self._leader_results)
        self._leader_results.append(answers)
        self._add_slot("leader_slots", subscriptions, leader, number)
        results = self._reserve("leader_results", number + 1, self._state_count)
        if isinstance(answers, Violation):
            results[number] = _kernel.LEADER_FAILS

    def _add_leader_result(self, answers: int, process_state: int) -> None:
        results = self._leader_results[answers]
        if isinstance(results, Violation):  # The array has got wider since.
            self._arrays["leader_results"][answers] = _kernel.LEADER_FAILS
            return
        after = results[process_state]
        self._add_process_states()
        self._arrays["leader_results"][answers, process_state] = after
