"""The model of a roll: each decision of ``decide``, each answer of an operator, and faults at any moment.

A transition is one thing that happens. The roll takes one decision: it writes a record, begins a step, runs a command,
or waits, in which the group comes to rest or, if it has, the time passes that is waited for. An operator answers with
each option that is shown. At any moment a process crashes or starts again by itself, roll ends and is called again, its
journal is lost and another roll begins, or the operator wants back; and a command may do something else than its work.
Of these there are as many as the budget allows.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from attrs import evolve, field, frozen

from spark_sim.model.coordinator import ELECT_NEWEST, ELECT_OLDEST
from spark_sim.model.violations import Violation
from spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from spark_sim.rolls.rolled_group import RolledGroup, config_of, text_of
from spark_sim.search.model import FAULT_ACTION, OPERATOR_ACTION, Transition
from upgrade.releases import resolve_release
from upgrade.roll import engine
from upgrade.roll.deviations import SafeOption
from upgrade.roll.expectation import NO_FORECAST
from upgrade.roll.gates import RollWatch
from upgrade.roll.group import GROUP_RULES, judge_member
from upgrade.roll.group_observation import GroupMemory
from upgrade.roll.interrupted import interrupted
from upgrade.roll.journal import BackPlanned, CommandEnded, QuestionAnswered, RollResumed
from upgrade.roll.plan import STOP, InstanceConfig, RollPlan, RoundAction
from upgrade.roll.state import ABOUT_FORECAST, ABOUT_NEEDS, ABOUT_PLAN, ABOUT_WAY_BACK, RollState, begin

FORESEEN: Final = "always: a roll enters no unsafe state that it could foresee"
ONCE: Final = "always: a roll repeats a command only if it is told to"
OUTCOME: Final = "always: a roll reports what has come about"
RETURNS: Final = "eventually: a roll back that nobody has overruled can end"
ENDS: Final = "eventually: a roll ends or asks"
WORKS: Final = "always: decide returns a decision"
_SETTLED_S: Final = 60.0
"""Longer than a session."""


class CommandFault(enum.Enum):
    """How a command does something else than it is to do."""

    NOT_RETURNED = "does not return"
    OLD_RELEASE = "returns as it was"
    NO_UPGRADE_FROM = "returns without upgrade.from"
    WRONG_UPGRADE_FROM = "returns with another upgrade.from"
    UNTOUCHED = "is not restarted"
    CRASH_LOOP = "fails and starts again and again"
    COMMAND_FAILED = "is not restarted, and the command fails"
    ROLL_ENDS_BEFORE = "is not restarted, as roll ends"
    ROLL_ENDS_AFTER = "is restarted, and roll ends before it is noted"


@frozen
class RollBudget:
    """How much more may happen in a schedule."""

    faults: int = 1
    answers: int = 2
    """To deviations, other than to stop and to roll back."""
    backs: int = 1
    """How often the operator wants back without being asked."""


@frozen
class RollAction:
    """One thing that happens, in words."""

    text: str

    def __str__(self) -> str:
        return self.text


@frozen(eq=False)
class RollModelState:
    """A group, where its roll stands, and what may still happen."""

    group: RolledGroup
    roll: RollState
    watch: RollWatch = field(factory=RollWatch)
    seconds: float = 0.0
    budget: RollBudget = field(factory=RollBudget)
    ran: frozenset[tuple[int, str, str]] = frozenset()
    """The commands that were run: step, instance and verb."""
    excused: bool = False
    """Whether something has happened in this step that no forecast of it shows, or an operator goes on with."""
    consented: bool = False
    """Whether an operator has gone on with a deviation, or answered what roll could not see."""
    faults_at_turn: int | None = None
    """How many faults were left when the roll turned back."""
    unsafe: Violation | None = None
    """What has gone wrong although it could be foreseen."""
    final: engine.RollFinished | None = None
    stuck: bool = False


@frozen
class RollModel:
    """The model of one roll (``spark_sim.search.model.Model``)."""

    plan: RollPlan
    budget: RollBudget
    sees_leader: bool
    """Whether a look shows which instance leads."""
    workload: Workload = DEFAULT_WORKLOAD

    def initial_states(self) -> Iterator[RollModelState]:
        """Yield the group before the upgrade, for each rule by which a next leader is elected."""
        for rule in (ELECT_OLDEST, ELECT_NEWEST):
            group = RolledGroup.started(self.plan.names, self.plan.rounds[0].before, self.workload)
            group.coordinator.election_rule = rule
            yield RollModelState(group, begin(self.plan), budget=self.budget)

    def transitions(self, state: RollModelState) -> Iterator[Transition[RollModelState, RollAction]]:
        """Yield what may come next."""
        if state.final or state.stuck:
            return
        seen = state.group.look(state.seconds, sees_leader=self.sees_leader)
        watch = engine.watching(state.roll, state.watch, seen, GROUP_RULES)
        state = evolve(state, watch=watch)
        try:
            decision = engine.decide(state.roll, watch, seen, GROUP_RULES)
        except Exception as error:  # whatever it raises is what the search looks for
            violation = Violation(WORKS, "", f"{type(error).__name__}: {error}")
            yield Transition(RollAction("roll decides"), None, violation=violation)
            return
        yield from self._decided(state, decision)
        if not isinstance(decision, engine.RollFinished):
            yield from self._meanwhile(state)

    def canonical(self, state: RollModelState) -> Hashable:
        """Return a key without numbers that only count, and with times that are left instead of those on a clock."""
        return (
            state.group.state,
            _roll_key(state.roll),
            _watch_key(state),
            state.budget,
            _ran_key(state),
            state.excused,
            state.consented,
            state.faults_at_turn,
            state.unsafe,
            state.final,
            state.stuck,
        )

    def is_terminal(self, _state: RollModelState, labels: Sequence[int]) -> bool:
        """Whether nothing comes next."""
        return not labels

    def violations(self, state: RollModelState, *, terminal: bool) -> Iterable[Violation]:  # noqa: ARG002
        """Return what is wrong in a state."""
        if state.unsafe:
            yield state.unsafe
        if state.stuck:
            yield Violation(ENDS, "", "it waits without an end, and asks nobody")
        if state.final and state.final.outcome and (wrong := _wrong_outcome(state)):
            yield Violation(OUTCOME, "", wrong)

    def must_return(self, state: RollModelState) -> bool:
        """Whether a roll goes back, and can: nothing happened since it turned, and what it does not restart runs."""
        roll, budget = state.roll, state.budget
        if not roll.is_going_back or roll.is_paused or state.final:
            return False
        if budget.answers < self.budget.answers or budget.faults != state.faults_at_turn:
            return False
        ended = {name for name, _ in roll.step.ended} if roll.step else frozenset[str]()
        restarted = {*roll.remaining}.difference(ended)
        group = state.group.settled()
        return all(group.runs(process) for process in self.plan.names if process not in restarted)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _decided(
        self, state: RollModelState, decision: engine.RollDecision
    ) -> Iterator[Transition[RollModelState, RollAction]]:
        match decision:
            case engine.WriteRecord(record):
                after = evolve(state, roll=state.roll.after(record))
                if isinstance(record, BackPlanned):
                    after = evolve(after, faults_at_turn=state.budget.faults)
                yield _transition(f"roll notes {type(record).__name__}", after)
            case engine.BeginStep():
                yield _transition(f"roll begins {', '.join(decision.instances)}", self._begun(state, decision))
            case engine.RunCommand():
                yield from self._run(state, decision)
            case engine.KeepWaiting(left_s=left):
                yield self._waited(state, left)
            case engine.AskOperator():
                yield from _answers(state, decision)
            case engine.RollFinished():
                yield _transition(f"roll ends: {decision.outcome or 'stopped'}", evolve(state, final=decision))

    def _begun(self, state: RollModelState, decision: engine.BeginStep) -> RollModelState:
        seen = state.group.look(state.seconds, sees_leader=self.sees_leader)
        (process, *others), config = decision.instances, decision.round.config
        expectation = NO_FORECAST
        if not others and decision.round.action is RoundAction.RESTART:
            expectation = state.group.expected_of(process, config, sees_leader=self.sees_leader)
        return evolve(state, roll=state.roll.after(engine.began(decision, seen, expectation)), excused=False)

    def _run(
        self, state: RollModelState, command: engine.RunCommand
    ) -> Iterator[Transition[RollModelState, RollAction]]:
        key = command.step, command.instance, command.verb
        text = f"{command.verb} {command.instance}"
        if key in state.ran:
            yield Transition(RollAction(text), None, violation=Violation(ONCE, command.instance, f"{text}, twice"))
            return
        seen = state.group.look(state.seconds, sees_leader=False)
        intended = state.roll.after(engine.intended(command, seen))
        state = evolve(state, roll=intended, ran=state.ran | {key})
        config = command.round.config
        yield _transition(
            f"{text} as {config}", _noted(_at(state, state.group.after(command.verb, *key[1:2], config)), command)
        )
        if state.budget.faults:
            spent = evolve(_spent(state), excused=True)
            for fault, after in _faulty(spent, command):
                yield _transition(f"{text} as {config}: it {fault.value}", after, FAULT_ACTION)

    def _waited(self, state: RollModelState, left: float) -> Transition[RollModelState, RollAction]:
        if not state.group.is_at_rest:
            settled = _at(state, state.group.settled())
            return _transition("the group comes to rest", evolve(settled, seconds=state.seconds + _SETTLED_S))
        if left <= 0:
            return _transition("roll waits", evolve(state, stuck=True))
        return _transition(f"{left:g} s pass", evolve(state, seconds=state.seconds + left + 1))

    # -- what happens at any moment ----------------------------------------------------------------------------------

    def _meanwhile(self, state: RollModelState) -> Iterator[Transition[RollModelState, RollAction]]:
        if state.budget.backs and not state.roll.is_going_back and not state.roll.wants_back and state.roll.confirmed:
            back = QuestionAnswered(about="back", option=SafeOption.BACK)
            budget = evolve(state.budget, backs=state.budget.backs - 1)
            yield _transition(
                "the operator wants back", evolve(state, roll=state.roll.after(back), budget=budget), OPERATOR_ACTION
            )
        if not state.budget.faults:
            return
        spent = _spent(state)
        yield _transition("roll ends, and is called again", _resumed(spent), FAULT_ACTION)
        if all(map(state.group.runs, self.plan.names)) and state.group.is_at_rest:
            yield _transition("the journal is lost, and another roll begins", self._begun_anew(spent), FAULT_ACTION)
        for process in self.plan.names:
            if state.group.runs(process):
                crashed = evolve(_at(spent, state.group.without(process)), excused=True)
                yield _transition(f"{process} crashes", crashed, FAULT_ACTION)
                config = config_of(state.group.members[process].instance)
                again = evolve(_at(spent, state.group.after("restart", process, config)), excused=True)
                yield _transition(f"{process} starts again by itself", again, FAULT_ACTION)

    def _begun_anew(self, state: RollModelState) -> RollModelState:
        """Return the state in which nothing is known but the group, the release from which it began, and the target."""
        members = state.group.look(state.seconds, sees_leader=False).members
        rest = interrupted(self.plan.rounds, members)
        plan = evolve(self.plan, rounds=rest.rounds, bounced=rest.bounced, begun=rest.begun)
        return evolve(state, roll=begin(plan), watch=RollWatch(), ran=frozenset(), excused=False)


def _transition(text: str, state: RollModelState, label: int = 0) -> Transition[RollModelState, RollAction]:
    return Transition(RollAction(text), state, label | 1)


def _spent(state: RollModelState) -> RollModelState:
    return evolve(state, budget=evolve(state.budget, faults=state.budget.faults - 1))


def _at(state: RollModelState, group: RolledGroup) -> RollModelState:
    """Return the state with a group after something has happened; what goes wrong is excused, or could be foreseen."""
    new = group.violations[len(state.group.violations) :]
    step = state.roll.step
    asked = step is not None and step.unchecked
    if new and not (state.excused or asked or state.unsafe):
        return evolve(state, group=group, unsafe=Violation(FORESEEN, new[0].member, text_of(new[0])))
    return evolve(state, group=group)


def _noted(state: RollModelState, command: engine.RunCommand, status: int = 0) -> RollModelState:
    record = CommandEnded(step=command.step, instance=command.instance, verb=command.verb, status=status)
    return evolve(state, roll=state.roll.after(record))


def _resumed(state: RollModelState) -> RollModelState:
    return evolve(state, roll=state.roll.after(RollResumed()), watch=RollWatch())


def _faulty(state: RollModelState, command: engine.RunCommand) -> Iterator[tuple[CommandFault, RollModelState]]:
    """Yield what a command may do instead of its work."""
    process, group, config = command.instance, state.group, command.round.config
    before = group.members[process].instance
    done = _at(state, group.after(command.verb, process, config))
    yield (
        CommandFault.ROLL_ENDS_BEFORE,
        _resumed(state),
    )
    yield CommandFault.ROLL_ENDS_AFTER, _resumed(done)
    yield CommandFault.COMMAND_FAILED, _noted(state, command, status=1)
    yield CommandFault.UNTOUCHED, _noted(state, command)
    if command.verb == STOP:
        return
    yield CommandFault.NOT_RETURNED, _noted(_at(state, group.after("stop", process, config)), command)
    others = {
        CommandFault.OLD_RELEASE: config_of(before),
        CommandFault.NO_UPGRADE_FROM: InstanceConfig(config.release),
        CommandFault.WRONG_UPGRADE_FROM: _another_value(config),
    }
    for fault, other in others.items():
        if other is not None and other != config:
            yield fault, _noted(_at(state, group.after("restart", process, other)), command)
    looping = state
    for _ in range(4):
        looping = _at(looping, looping.group.after("restart", process, config))
    yield CommandFault.CRASH_LOOP, _noted(looping, command)


def _another_value(config: InstanceConfig) -> InstanceConfig | None:
    """Return the same with a value of ``upgrade.from`` that makes a member send another version or be eager."""
    release = resolve_release(config.release).release

    def meaning(value: str | None) -> tuple[int | None, str]:
        return release.pinned_version(value), release.rebalance_protocol(value)

    others = (
        value for value in release.upgrade_from if meaning(value) not in (meaning(config.upgrade_from), meaning(None))
    )
    value = next(others, None)
    return InstanceConfig(config.release, value) if value and release.startup_outcome(value).exception is None else None


def _answers(state: RollModelState, question: engine.AskOperator) -> Iterator[Transition[RollModelState, RollAction]]:
    is_planned = question.about in (ABOUT_PLAN, ABOUT_WAY_BACK, ABOUT_NEEDS)
    for option in question.options:
        goes_on = option not in (SafeOption.BACK, SafeOption.STOP)
        if (question.about == ABOUT_PLAN and not goes_on) or (goes_on and not is_planned and not state.budget.answers):
            continue
        record = QuestionAnswered(
            about=question.about,
            option=option,
            step=question.step,
            kind=question.kind,
            instances=question.instances,
        )
        after = evolve(state, roll=state.roll.after(record))
        if goes_on and not is_planned:
            after = _answered(after, question, option)
        yield _transition(f"roll asks about {question.about}: {option.value}", after, OPERATOR_ACTION)


def _answered(state: RollModelState, question: engine.AskOperator, option: SafeOption) -> RollModelState:
    """Return the state after an answer by which the operator takes something on."""
    told = frozenset(key for key in state.ran if key[0] == question.step and key[1] in question.instances)
    goes_on = option is SafeOption.CONTINUE
    return evolve(
        state,
        budget=evolve(state.budget, answers=state.budget.answers - 1),
        ran=state.ran - told if option is SafeOption.AGAIN else state.ran,
        excused=state.excused or goes_on,
        consented=state.consented or (goes_on and question.about != ABOUT_FORECAST),
    )


# -- what is wrong ---------------------------------------------------------------------------------------------------


def _wrong_outcome(state: RollModelState) -> str:
    """Return how the group differs from what the roll says; empty if it does not, or somebody has been told."""
    assert state.final
    plan, group = state.roll.plan, state.group
    if state.consented:
        return ""
    wanted = plan.rounds[-1].config if state.final.outcome == engine.FINISHED else plan.rounds[0].before
    old = plan.rounds[-1].before
    seen = group.settled().look(state.seconds, sees_leader=False)
    for process in plan.names:
        if group.runs(process) == wanted or (group.runs(process) is None and seen_as_member(group, process)):
            continue
        members = seen.of(process)
        if not members:
            return f"{state.final.outcome}, and {process} does not run"
        if any(judge_member(member, wanted, old) for member in members):
            return f"{state.final.outcome}, and {process} runs {group.runs(process)}"
    return ""


def seen_as_member(group: RolledGroup, process: str) -> bool:
    """Whether a process is counted as a member, though it may not run any more."""
    return any(group.members[one.rpartition("-")[0]].process == process for one in group.coordinator.members)


# -- keys ------------------------------------------------------------------------------------------------------------


def _roll_key(roll: RollState) -> Hashable:
    step = roll.step
    number = step.number if step else roll.steps + 1
    return (
        roll.plan.bounced,
        roll.plan.begun,
        tuple(each.config for each in roll.rounds) if roll.is_going_back else len(roll.rounds),
        roll.at,
        frozenset(roll.configs.items()),
        roll.stopped,
        roll.suspects,
        roll.done,
        None
        if step is None
        else (
            step.instances,
            step.unchecked,
            step.expectation,
            frozenset((key, end.status if end else -1, end.how if end else "") for key, end in step.ended.items()),
        ),
        roll.confirmed,
        roll.consents,
        None if roll.deviation is None else (roll.deviation.kind, roll.deviation.instances, roll.deviation.options),
        frozenset((place - number, kind) for place, kind in roll.accepted),
        frozenset((place - number, kind) for place, kind in roll.patient),
        roll.wants_back,
        roll.is_going_back,
        roll.is_paused,
        roll.outcome,
    )


def _watch_key(state: RollModelState) -> Hashable:
    watch, memory = state.watch, state.watch.memory
    # Whether looking begins anew with the next look is decided by the phase that was seen last.
    waits = state.roll.waits - (watch.phase[4] if len(watch.phase) > 4 and isinstance(watch.phase[4], int) else 0)
    phase = (watch.phase[:2], watch.phase[3:4], watch.phase[5:], waits)
    if not isinstance(memory, GroupMemory):
        return phase
    joined = {instance: len(ids) for instance, ids in memory.joined.items()}
    return (
        phase,
        state.seconds - watch.began,
        frozenset(joined.items()),
        frozenset((task, state.seconds - since) for task, since in memory.unowned.items()),
        memory.touched,
        memory.eager,
    )


def _ran_key(state: RollModelState) -> Hashable:
    number = state.roll.step.number if state.roll.step else state.roll.steps + 1
    return frozenset((place - number, *what) for place, *what in state.ran if place >= number)
