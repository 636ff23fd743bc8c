"""The states and actions of a group as integers.

A state is the process states and a few fields of the group. Processes in equal states are interchangeable, so a state
is a multiset of process state numbers. A multiset of N numbers is determined by the sums of their first N powers; an
action changes one or two numbers, and so adds a constant to these sums. Therefore a state is one integer, and taking
an action is one addition.

    key = sum of weight[number] over the processes + the group fields
          weight[number] = tallies | number << ... | number**2 << ... | number**3 << ... (side by side)

The tallies (``view``) are summed up with them, so the lowest bits of a key are the summary of the state. The actions
are those of ``spark_sim.model._actions``; what members and leaders send comes from ``tables``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.spark_sim.model.violations import COMMON_VERSION_REACHED, SINGLE_OWNER, Violation
from streams_assignor.spark_sim.packed._cell import UpgradeCell
from streams_assignor.spark_sim.packed.actions import ActionRow, PackedAction, operator_actions, protocol_actions
from streams_assignor.spark_sim.packed.process_state import (
    COMPLETING,
    JOIN_PENDING,
    NOT_A_MEMBER,
    PREPARING,
    PackedProcessState,
    elected_states,
)
from streams_assignor.spark_sim.packed.tables.memo import Memo
from streams_assignor.spark_sim.packed.tables.process_table import ProcessTable
from streams_assignor.spark_sim.packed.view import (
    CRASHES,
    GROUP_FIELD_BITS,
    GROUP_FIELDS_MASK,
    PHASE,
    REBALANCE_TIMEOUTS,
    SPURIOUS_JOINS,
    SUMMARY_MASK,
    OperatorView,
    PackedGroupView,
    StateSummary,
    View,
    saturate,
    summarize,
)

SECOND_OWNER: Final = Violation(
    SINGLE_OWNER, "", "a leader before 2.4 assigns partitions that cooperative members still own"
)
_PREPARES_REBALANCE: Final = attrgetter("prepares_rebalance")


class Encoding(ProcessTable):
    """The states and actions of a cell as integers."""

    def __init__(self, cell: UpgradeCell) -> None:
        super().__init__(cell)
        self.elections: Final = Memo(self._elections)
        """Number of a process state => what it becomes if one of its ids is elected, and what that adds to a key."""
        self.half_rows: Final = Memo(self._half_row)
        """Half of a view and the number of a process state => its actions there."""
        self._summaries: Final = Memo(partial(summarize, cell))

    # -- numbers ---------------------------------------------------------------------------------------------------

    def key(self, states: Sequence[int], group_fields: int) -> int:
        """Return the state as one integer."""
        return sum(self.weights[state] for state in states) + group_fields

    def summary(self, states: Sequence[int], group_fields: int) -> StateSummary:
        """Return the summary of a state."""
        return self.summary_of(self.key(states, group_fields) & SUMMARY_MASK)

    def summary_of(self, summary_bits: int) -> StateSummary:
        """Return the summary of all states with these bits."""
        summary_bits = (saturate(summary_bits >> GROUP_FIELD_BITS) << GROUP_FIELD_BITS) + (
            summary_bits & GROUP_FIELDS_MASK
        )
        return self._summaries[summary_bits]

    # -- initial and terminal states ---------------------------------------------------------------------------------

    def initial_states(self) -> list[tuple[list[int], int]]:
        """Return the settled group before the upgrade, once for each leader."""
        return [self._initial_state(leader) for leader in range(self.cell.members)]

    def _initial_state(self, leader: int) -> tuple[list[int], int]:
        faults = self.cell.faults
        group = (
            PREPARING * PHASE
            + faults.crashes * CRASHES
            + faults.rebalance_timeouts * REBALANCE_TIMEOUTS
            + faults.spurious_joins * SPURIOUS_JOINS
        )
        states = [
            self.state_number(
                PackedProcessState(
                    course, 0, NOT_A_MEMBER, self.protocol_table.initial_version(self.instance_sequences[course][0])
                )
            )
            for course in map(self.instance_sequences.index, self.instance_sequences)
        ]
        order = [leader, *(instance for instance in range(len(states)) if instance != leader)]
        # All members join together; a leader that joins alone would start a generation by itself.
        for member in order:
            state = self.process_states.values[states[member]]
            states[member] = self.state_number(state._replace(status=JOIN_PENDING, leads=member == leader))
        while not self.summary(states, group).quiescent:
            states, group = self._settle_step(states, group)
        return states, group

    def _settle_step(self, states: list[int], group_fields: int) -> tuple[list[int], int]:
        view = self.summary(states, group_fields).view
        if view.group.phase == COMPLETING:
            results = self.leader_result(states)
            assert isinstance(results, Mapping), f"a group of {self.instances[0]} alone: {results}"
            return [results[state] for state in states], group_fields + PHASE
        for member, number in enumerate(states):
            actions = [action for action in self.action_row(view, number).actions if action.verb in {"take", "join"}]
            if actions:
                return self.apply(states, group_fields, member, actions[0])[:2]
        raise AssertionError("a group that is not quiescent has an action")

    def check_eventually(self, states: Sequence[int]) -> Violation | None:
        """Return what does not hold eventually in a quiescent group whose members all run; None if all does.

        The same property as that of ``spark_sim.model.properties``, which reads it off real members.
        """
        process_states = [self.process_states.values[number] for number in states]
        common = min(self.protocol_table.initial_sent_version(self.instance_of(state)) for state in process_states)
        for state in process_states:
            used = self.protocol_table.used_version(state.version)
            if state.payload != common or (common >= EARLIEST_PROBEABLE_VERSION and used != common):
                text = f"sends version {used} and got {state.payload}, but all can speak {common}"
                return Violation(COMMON_VERSION_REACHED, "", text)
        return None

    # -- actions -----------------------------------------------------------------------------------------------------

    def apply(
        self, states: Sequence[int], group_fields: int, member: int, action: PackedAction
    ) -> tuple[list[int], int, int | None]:
        """Take an action of a member, whose state is ``action.before``.

        Returns:
            The states, the group fields, and the elected member: of those in equal states the first. None without an
            election.
        """
        after = [self.join_pending_state[state] for state in states] if action.prepares_rebalance else list(states)
        after[member] = action.after
        elected = None
        if action.elects:
            elected = after.index(action.elects[0])
            after[elected] = action.elects[1]
        return after, group_fields + action.add, elected

    def action_row(self, view: View, number: int) -> ActionRow:
        """Return the actions of a process state, except ``lead``."""
        protocol_row, operator_row = self.half_rows[view.group, number], self.half_rows[view.operator, number]
        return ActionRow(
            sorted([*protocol_row.actions, *operator_row.actions], key=_PREPARES_REBALANCE),
            protocol_row.elections,
            protocol_row.failures,
        )

    def _half_row(self, view_and_number: tuple[PackedGroupView | OperatorView, int]) -> ActionRow:
        view, number = view_and_number
        if isinstance(view, PackedGroupView):
            return protocol_actions(self, view, number)
        return operator_actions(self, view, number)

    def _elections(self, number: int) -> list[tuple[int, int]]:
        elected = [self.state_number(state) for state in elected_states(self.process_states.values[number])]
        return [(self.weights[process_state] - self.weights[number], process_state) for process_state in elected]

    def key_delta(self, action: PackedAction) -> int:
        """Return what an action adds to a key, after what preparing a rebalance adds."""
        before = self.join_pending_state[action.before] if action.prepares_rebalance else action.before
        return self.weights[action.after] - self.weights[before] + action.add

    # -- leading ---------------------------------------------------------------------------------------------------

    def leader_result(self, states: Iterable[int]) -> Mapping[int, int] | Violation | None:
        """Return what each process state becomes as the leader assigns, its failure, or None if it does not run."""
        bits, leader = 0, -1
        for number in states:
            bits |= self.subscription_bits[number]
            leader = max(leader, self.leader_instances[number])
        return self.leader_table[leader, bits] if leader >= 0 else None

    def may_have_second_owner(self, states: Sequence[int]) -> bool:
        """Whether the leader may assign tasks that members keep, because its release does not know them (KIP-429)."""
        if not self.checks_single_owner:
            return False
        process_states = [self.process_states.values[number] for number in states]
        leader = next(state for state in process_states if state.leads and state.running)
        if self.protocol_table.withholds_owned_tasks(self.instance_of(leader)):
            return False
        return (
            any(state.keeps_tasks for state in process_states) and sum(state.is_member for state in process_states) > 1
        )
