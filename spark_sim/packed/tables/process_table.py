"""Numbers for the process states of a cell, and what each number stands for.

The actions of a process (``actions``) and the encoding of a whole group (``encoding``) are built on these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed._cell import UpgradeCell
from streams_assignor.spark_sim.packed.process_state import (
    ASSIGNED,
    JOINED,
    SYNC_RESPONSE_PENDING,
    PackedProcessState,
    on_prepare_rebalance,
    with_join_pending,
)
from streams_assignor.spark_sim.packed.tables.memo import Interner, Memo
from streams_assignor.spark_sim.packed.tables.protocol_table import ProtocolTable
from streams_assignor.spark_sim.packed.view import SUMMARY_MASK, tallies_of

MAX_PROCESS_STATES: Final = (1 << 14) - 1


class ProcessTable:
    """The process states of a cell, numbered in the order in which they turn up."""

    def __init__(self, cell: UpgradeCell) -> None:
        self.cell: Final = cell
        self.instances: Final = cell.instances
        self.instance_sequences: Final = [
            tuple(map(self.instances.index, sequence)) for sequence in cell.instance_sequences
        ]
        """Sequence => the numbers of its instances, in the order of the rounds."""
        self.protocol_table: Final = ProtocolTable(self.instances)
        self.process_states: Final = Interner[PackedProcessState]()
        self.checks_single_owner = _checks_single_owner(self.protocol_table, range(len(self.instances)))
        """Whether a task can get a second owner: some members keep tasks, and some leaders do not know that."""
        self.weights: Final[list[int]] = []
        """Number => what a process in this state adds to the key of a group."""
        self.join_pending_state: Final[list[int]] = []
        """Number => number of the state once a rebalance is being prepared."""
        self.join_pending_weight: Final[list[int]] = []
        """Number => what that change adds to the key."""
        self.subscription_bits: Final[list[int]] = []
        """Number => the subscriptions that a leader reads of it, one bit each."""
        self.leader_instances: Final[list[int]] = []
        """Number => the instance as which it leads; -1 if it does not lead."""
        self.leader_table: Final[Memo[tuple[int, int], Memo[int, int] | Violation]] = Memo(self._leader_results)
        """The leader's instance, and one bit for each subscription that it reads => what process states become."""
        self._power_shifts = _power_shifts(cell.members)

    def state_number(self, process_state: PackedProcessState) -> int:
        """Return the number of a process state; ``OverflowError`` if there are too many."""
        number = self.process_states.of(process_state)
        if number == len(self.weights):
            if number >= MAX_PROCESS_STATES:
                raise OverflowError(f"more than {MAX_PROCESS_STATES} process states")
            self.weights.append(
                tallies_of(process_state) + sum(number**power << shift for power, shift in self._power_shifts)
            )
            self.subscription_bits.append(
                sum(1 << subscription for subscription in set(self._subscriptions(process_state)))
            )
            self.leader_instances.append(self._leader_instance(process_state))
            self.join_pending_state.append(-1)
            self.join_pending_weight.append(0)
            pending = self.join_pending_state[number] = self.state_number(on_prepare_rebalance(process_state))
            self.join_pending_weight[number] = self.weights[pending] - self.weights[number]
        return number

    def instance_of(self, state: PackedProcessState) -> int:
        """Return the number of the instance that a process runs as, or ran as last."""
        return self.instance_sequences[state.sequence][state.rounds_done]

    def _leader_results(self, leader_and_bits: tuple[int, int]) -> Memo[int, int] | Violation:
        leader, bits = leader_and_bits
        subscriptions = frozenset(number for number in range(bits.bit_length()) if bits >> number & 1)
        answers = self.protocol_table.answers(leader, subscriptions)
        return answers if isinstance(answers, Violation) else Memo(partial(self._after_assignment, answers))

    def _after_assignment(self, answers: Mapping[tuple[int, bool], int], number: int) -> int:
        """Return the number of a process state after the leader has assigned with certain answers."""
        state = self.process_states.values[number]
        after = state._replace(orphaned_ids=with_join_pending(state.orphaned_ids))
        if state.status == JOINED:
            subscription = self.protocol_table.subscriptions[state.version]
            assert isinstance(subscription, int)
            answer = answers.get((subscription, state.leads))
            after = (
                after._replace(status=ASSIGNED)
                if answer is None
                else after._replace(status=SYNC_RESPONSE_PENDING, payload=answer)
            )
        return self.state_number(after)

    def _leader_instance(self, state: PackedProcessState) -> int:
        return self.instance_of(state) if state.leads and state.running else -1

    def _subscriptions(self, state: PackedProcessState) -> Iterator[int]:
        if state.status == JOINED:
            subscription = self.protocol_table.subscriptions[state.version]
            assert isinstance(subscription, int)
            yield subscription
        yield from (orphan.subscription for orphan in state.orphaned_ids if orphan.subscription >= 0)


def _power_shifts(members: int) -> list[tuple[int, int]]:
    """Return each power, and the shift of its sum among the bits of a key."""
    shifts, shift = [], SUMMARY_MASK.bit_length()
    for power in range(1, members + 1):
        shifts.append((power, shift))
        shift += (members * (MAX_PROCESS_STATES + 1) ** power).bit_length()
    return shifts


def _checks_single_owner(tables: ProtocolTable, instances: Sequence[int]) -> bool:
    """Whether some instances keep tasks that others, as leaders, do not know of."""
    return any(map(tables.cooperative, instances)) and not all(map(tables.withholds_owned_tasks, instances))
