"""A state of the model of a roll: the group, what it reads, where the roll stands, and what may still happen."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.rolls.properties import FORESEEN
from streams_assignor.spark_sim.rolls.rolled_group import RolledGroup, text_of
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.group_observation import GroupObservation, PartitionOffsets, StateBehind
from streams_assignor.upgrade.roll.journal import CommandEnded, QuestionAnswered, RollRecord, RollResumed, StepPassed
from streams_assignor.upgrade.roll.state import RollState

_TASK: Final = "0_0"
_SOME: Final = 5
"""Records that are not committed yet: more than a marker, and no lag that matters."""


class InputFlow(enum.Enum):
    """How records come and are processed."""

    PROCESSED = "no record is left"
    ADVANCING = "records come, and are committed"
    BEHIND = "a store was far behind when its owner joined, and is restored"
    STUCK = "nothing is committed of what comes"
    HIDDEN = "offsets cannot be read"
    UNSEEN = "no broker describes the group"


TROUBLES: Final = (InputFlow.BEHIND, InputFlow.STUCK, InputFlow.HIDDEN, InputFlow.UNSEEN)
"""Unwanted states that time may mend."""


@frozen
class SimulatedInput:
    """One partition that the group reads."""

    flow: InputFlow = InputFlow.PROCESSED
    committed: int = 0

    def offsets(self) -> Mapping[str, PartitionOffsets] | None:
        """Return what a look shows of it."""
        if self.flow in (InputFlow.HIDDEN, InputFlow.UNSEEN):
            return None
        end = self.committed + (0 if self.flow is InputFlow.PROCESSED else _SOME)
        return {"data-0": PartitionOffsets(committed=self.committed, end=end, task=_TASK)}

    def state_lags(self, limit: int) -> Mapping[str, StateBehind]:
        """Return how far the state of the task was behind when its owner joined."""
        return {_TASK: StateBehind("", limit + 1 if self.flow is InputFlow.BEHIND else 0)}

    def later(self) -> SimulatedInput:
        """Return it after some time."""
        return evolve(self, committed=self.committed + 1) if self.flow is InputFlow.ADVANCING else self


@frozen
class RollBudget:
    """How much more may happen in a schedule."""

    faults: int = 1
    answers: int = 2
    """To deviations, other than to stop and to roll back."""
    backs: int = 1
    """How often the operator wants back without being asked."""
    troubles: int = 0
    """How often the input is not processed as it should be."""


@frozen(eq=False)
class RollModelState:
    """A group, where its roll stands, and what may still happen."""

    group: RolledGroup
    roll: RollState
    input: SimulatedInput = field(factory=SimulatedInput)
    committed_then: int = 0
    """The committed offsets when a command ended last."""
    watch: RollWatch = field(factory=RollWatch)
    seconds: float = 0.0
    budget: RollBudget = field(factory=RollBudget)
    ran: frozenset[tuple[int, str, str]] = frozenset()
    """The commands that were run: step, instance and verb."""
    died: frozenset[str] = frozenset()
    """The processes that died after they had joined, and no time has passed since."""
    replaced: frozenset[tuple[str, frozenset[str]]] = frozenset()
    """The processes of earlier steps that started again by themselves, with the members that they had."""
    excused: bool = False
    """Whether something has happened in this step that no forecast of it shows, or an operator goes on with."""
    consented: bool = False
    """Whether an operator has gone on with a deviation, or answered what roll could not see."""
    is_disturbed: bool = False
    """Whether something has happened that is no part of the plan."""
    faults_at_turn: int | None = None
    """How many faults were left when the roll turned back."""
    wrong: Violation | None = None
    """The violations that the roll has caused or allowed."""
    final: engine.RollFinished | None = None
    stuck: bool = False

    def look(self, *, sees_leader: bool) -> GroupObservation:
        """Return what a look shows now."""
        if self.input.flow is InputFlow.UNSEEN:
            return GroupObservation(seconds=self.seconds, state="", problem=self.input.flow.value)
        seen = self.group.look(self.seconds, sees_leader=sees_leader)
        state_lags = self.input.state_lags(self.roll.plan.limits.max_lag)
        return evolve(seen, offsets=self.input.offsets(), state_lags=state_lags)

    def later(self, seconds: float) -> RollModelState:
        """Return the state after some time in which nothing else happens."""
        return evolve(self, seconds=self.seconds + seconds, input=self.input.later(), died=frozenset())

    def spent(self) -> RollModelState:
        """Return the state with one fault less to come."""
        return evolve(self, budget=evolve(self.budget, faults=self.budget.faults - 1), is_disturbed=True)

    def at(self, group: RolledGroup) -> RollModelState:
        """Return the state with a group after something has happened; what is wrong is excused, or was foreseeable."""
        new = group.violations[len(self.group.violations) :]
        step = self.roll.step
        asked = step is not None and (step.unchecked or any(place == step.number for place, *_ in self.roll.accepted))
        if new and not (self.excused or asked or self.wrong):
            return evolve(self, group=group, wrong=Violation(FORESEEN, new[0].member, text_of(new[0])))
        return evolve(self, group=group)

    def noted(self, command: engine.RunCommand, status: int = 0) -> RollModelState:
        """Return the state after the end of a command was written."""
        record = CommandEnded(step=command.step, instance=command.instance, verb=command.verb, status=status)
        return self.written(record)

    def written(self, record: RollRecord) -> RollModelState:
        """Return the state after a record was written."""
        then = self.input.committed if isinstance(record, CommandEnded) else self.committed_then
        replaced = frozenset() if isinstance(record, QuestionAnswered) else self.replaced
        if isinstance(record, StepPassed):  # with the members that are there now
            seen = self.look(sees_leader=False)
            replaced = frozenset(each for each in replaced if seen.incarnations(each[0]) <= each[1])
        return evolve(self, roll=self.roll.after(record), committed_then=then, replaced=replaced)

    def resumed(self, *, torn: bool = False) -> RollModelState:
        """Return the state after roll was called again: all that is not in its journal is forgotten."""
        return evolve(self, roll=self.roll.after(RollResumed(torn=torn)), watch=RollWatch())
