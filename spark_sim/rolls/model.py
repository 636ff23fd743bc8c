"""The model of a roll: each decision of ``decide``, each answer of an operator, and faults at any moment.

A transition is one thing that happens. The roll takes one decision: it writes a record, begins a step, runs a command,
or waits, in which the group comes to rest or, if it has, the time passes that is waited for. An operator answers with
each option that is shown. At any moment a process crashes or starts again by itself, roll ends and is called again, its
journal is lost and another roll begins, or the operator wants back; and a command may do something else than its work.
Of these there are as many as the budget allows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from operator import or_
from typing import Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.model.coordinator import ELECT_NEWEST, ELECT_OLDEST
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.rolls.faults import faulty
from streams_assignor.spark_sim.rolls.judgement import begun_wrongly, unready, wrong_outcome
from streams_assignor.spark_sim.rolls.keys import model_key
from streams_assignor.spark_sim.rolls.properties import ENDS, ONCE, OUTCOME, READY, UNDISTURBED, WORKS
from streams_assignor.spark_sim.rolls.rolled_group import RolledGroup
from streams_assignor.spark_sim.rolls.state import TROUBLES, InputFlow, RollBudget, RollModelState, SimulatedInput
from streams_assignor.spark_sim.search.model import FAULT_ACTION, OPERATOR_ACTION, Transition
from streams_assignor.upgrade.roll import engine
from streams_assignor.upgrade.roll.deviations import DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import NO_FORECAST
from streams_assignor.upgrade.roll.gates import RollWatch
from streams_assignor.upgrade.roll.group import GROUP_RULES
from streams_assignor.upgrade.roll.interrupted import interrupted
from streams_assignor.upgrade.roll.journal import BackPlanned, QuestionAnswered, RoundVerified, StepPassed
from streams_assignor.upgrade.roll.plan import RESTART, STOP, RollPlan, RoundAction
from streams_assignor.upgrade.roll.state import ABOUT_FORECAST, ABOUT_NEEDS, ABOUT_PLAN, ABOUT_WAY_BACK, begin
from streams_assignor.upgrade.roll.static_members import keeps_unreadable_assignment

_PLANNED: Final = (ABOUT_PLAN, ABOUT_WAY_BACK, ABOUT_NEEDS)
"""The property of a roll in which nothing happens."""
_SETTLED_S: Final = 60.0
"""Longer than a session."""
_BETWEEN_S: Final = 5.0


@frozen
class RollAction:
    """One thing that happens, in words."""

    text: str

    def __str__(self) -> str:
        return self.text


@frozen
class RollModel:
    """The model of one roll (``spark_sim.search.model.Model``)."""

    plan: RollPlan
    budget: RollBudget
    sees_leader: bool
    """Whether a look shows which instance leads."""
    workload: Workload = DEFAULT_WORKLOAD
    looks_between: bool = False
    """Whether roll also looks in the middle of rebalances."""

    def initial_states(self) -> Iterator[RollModelState]:
        """Yield the group before the upgrade, for each rule by which a next leader is elected."""
        flows = (InputFlow.PROCESSED, InputFlow.ADVANCING) if self.budget.troubles else (InputFlow.PROCESSED,)
        for rule, flow in product((ELECT_OLDEST, ELECT_NEWEST), flows):
            group = RolledGroup.started(self.plan.names, self.plan.rounds[0].before, self.workload)
            group.coordinator.election_rule = rule
            yield RollModelState(group, begin(self.plan), SimulatedInput(flow), budget=self.budget)

    def transitions(self, state: RollModelState) -> Iterator[Transition[RollModelState, RollAction]]:
        """Yield what may come next."""
        if state.final or state.stuck:
            return
        seen = state.look(sees_leader=self.sees_leader)
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
        return model_key(state)

    def is_terminal(self, _state: RollModelState, labels: Sequence[int]) -> bool:
        """Whether nothing comes next."""
        return not labels

    def violations(self, state: RollModelState, *, terminal: bool) -> Iterable[Violation]:  # noqa: ARG002
        """Return what is wrong in a state."""
        if state.wrong:
            yield state.wrong
        if state.stuck:
            yield Violation(ENDS, "", "it waits without an end, and asks nobody")
        if state.final and state.final.outcome and (wrong := wrong_outcome(state)):
            yield Violation(OUTCOME, "", wrong)

    def must_return(self, state: RollModelState) -> bool:
        """Whether a roll goes back, and can: nothing happened since it turned, and what it does not restart runs.

        An instance with a thread that has failed is no such group: 2.4.1 beside it may rebalance without end.
        """
        roll, budget = state.roll, state.budget
        if not roll.is_going_back or roll.is_paused or state.final:
            return False
        if budget.answers < self.budget.answers or budget.faults != state.faults_at_turn:
            return False
        ended = {name for name, _ in roll.step.ended} if roll.step else frozenset[str]()
        restarted = {*roll.remaining}.difference(ended)
        group = state.group.settled()
        whole = [*map(group.is_whole, self.plan.names)]
        gone = [process in restarted and not group.is_process_running(process) for process in self.plan.names]
        return all(map(or_, whole, gone))

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _decided(
        self, state: RollModelState, decision: engine.RollDecision
    ) -> Iterator[Transition[RollModelState, RollAction]]:
        match decision:
            case engine.WriteRecord(record):
                after = state.written(record)
                if isinstance(record, BackPlanned):
                    after = evolve(after, faults_at_turn=state.budget.faults)
                if isinstance(record, StepPassed | RoundVerified):
                    number = state.roll.step.number if state.roll.step else state.roll.steps + 1
                    after = _gone_on(after, unready(state, number))
                yield _transition(f"roll notes {type(record).__name__}", after)
            case engine.BeginStep():
                wrong = begun_wrongly(state, decision)
                is_broken = state.roll.suspects.intersection(decision.instances) or self._is_absent(state, decision)
                if not wrong and not is_broken:
                    wrong = unready(state, decision.step)
                after = _gone_on(self._begun(state, decision), wrong)
                yield _transition(f"roll begins {', '.join(decision.instances)}", after)
            case engine.RunCommand():
                yield from self._run(state, decision)
            case engine.KeepWaiting(left_s=left):
                yield self._waited(state, left)
            case engine.AskOperator():
                yield from _answers(self._asked(state, decision), decision)
            case engine.RollFinished():
                yield _transition(f"roll ends: {decision.outcome or 'stopped'}", evolve(state, final=decision))

    @staticmethod
    def _is_absent(state: RollModelState, decision: engine.BeginStep) -> bool:
        """Whether instances of a step on the way back are gone, or not whole: then it is their turn."""
        seen, plan = state.look(sees_leader=False), state.roll.plan
        is_short = (len(seen.of(name)) < plan.members_of(name) for name in decision.instances)
        return state.roll.is_going_back and any(is_short)

    def _begun(self, state: RollModelState, decision: engine.BeginStep) -> RollModelState:
        seen = state.look(sees_leader=self.sees_leader)
        processes, config = decision.instances, decision.round.config
        expectation = NO_FORECAST
        if decision.round.action is RoundAction.RESTART:
            is_away = any(keeps_unreadable_assignment(seen, process, config) for process in processes)
            expectation = state.group.expected_of(processes, config, sees_leader=self.sees_leader, is_away=is_away)
        # No forecast can contain an event that no look has shown yet.
        excused = state.excused and not state.group.is_at_rest
        return evolve(state.written(engine.began(decision, seen, expectation)), excused=excused)

    def _run(
        self, state: RollModelState, command: engine.RunCommand
    ) -> Iterator[Transition[RollModelState, RollAction]]:
        key = command.step, command.instance, command.verb
        text = f"{command.verb} {command.instance}"
        if key in state.ran:
            yield Transition(RollAction(text), None, violation=Violation(ONCE, command.instance, f"{text}, twice"))
            return
        intended, before = engine.intended(command, state.look(sees_leader=False)), state.roll
        state = evolve(state.written(intended), ran=state.ran | {key})
        config = command.round.config
        replaced = frozenset(each for each in state.replaced if each[0] != command.instance)
        state = evolve(state, died=state.died - {command.instance}, replaced=replaced)
        done = state.at(state.group.after(command.verb, command.instance, config)).noted(command)
        yield _transition(f"{text} as {config}", done)
        if state.budget.faults:
            spent = evolve(state.spent(), excused=True)
            for fault, after in faulty(spent, command):
                yield _transition(f"{text} as {config}: it {fault.value}", after, FAULT_ACTION)
            torn = evolve(spent, roll=before).at(state.group.after(command.verb, command.instance, config))
            yield _transition(f"{text}: roll ends, its intent is torn", torn.resumed(torn=True), FAULT_ACTION)

    def _waited(self, state: RollModelState, left: float) -> Transition[RollModelState, RollAction]:
        if not state.group.is_at_rest and self.looks_between:
            seconds = _SETTLED_S if state.group.orphaned_ids else _BETWEEN_S
            return _transition("the group goes on", state.at(state.group.progressed()).later(seconds))
        if not state.group.is_at_rest:
            settled = state.at(state.group.settled())
            return _transition("the group comes to rest", settled.later(_SETTLED_S))
        if left <= 0:
            return _transition("roll waits", evolve(state, stuck=True))
        return _transition(f"{left:g} s pass", state.later(left + 1))

    def _asked(self, state: RollModelState, question: engine.AskOperator) -> RollModelState:
        """Return the state in which somebody is asked; a forecast may be unsafe where the leader is not seen."""
        is_planned = question.about in _PLANNED or (question.about == ABOUT_FORECAST and not self.sees_leader)
        if is_planned or state.is_disturbed or state.wrong:
            return state
        return evolve(state, wrong=Violation(UNDISTURBED, "", f"it asks about {question.about}: {question.text}"))

    # -- what happens at any moment ----------------------------------------------------------------------------------

    def _meanwhile(self, state: RollModelState) -> Iterator[Transition[RollModelState, RollAction]]:
        if state.budget.backs and not state.roll.is_going_back and not state.roll.wants_back and state.roll.confirmed:
            back = QuestionAnswered(about="back", option=SafeOption.BACK)
            budget = evolve(state.budget, backs=state.budget.backs - 1)
            yield _transition(
                "the operator wants back",
                evolve(state.written(back), budget=budget, is_disturbed=True),
                OPERATOR_ACTION,
            )
        yield from _of_input(state)
        if not state.budget.faults:
            return
        spent = state.spent()
        yield _transition("roll ends, and is called again", spent.resumed(), FAULT_ACTION)
        if state.roll.step and state.roll.next_command:
            yield _transition("roll ends, and a record is torn", spent.resumed(torn=True), FAULT_ACTION)
        if all(map(state.group.is_whole, self.plan.names)) and state.group.is_at_rest:
            yield _transition("the journal is lost, and another roll begins", self._begun_anew(spent), FAULT_ACTION)
        for process in self.plan.names:
            if config := state.group.runs(process):
                crashed = evolve(spent.at(state.group.without(process)), excused=True)
                yield _transition(f"{process} crashes", crashed, FAULT_ACTION)
                if state.roll.round:  # what happens after the last round was verified, no roll reports
                    expired = evolve(crashed, group=crashed.group.settled()).later(_SETTLED_S)
                    yield _transition(f"{process} crashes, and its session times out", expired, FAULT_ACTION)
                again = evolve(spent.at(state.group.after(RESTART, process, config)), excused=True)
                before = state.look(sees_leader=False).incarnations(process)
                again = evolve(again, replaced=again.replaced | {(process, before)})
                yield _transition(f"{process} starts again by itself", again, FAULT_ACTION)
                if self.workload.threads > 1 and state.group.is_whole(process):
                    less = evolve(spent.at(state.group.without_thread(process)), excused=True)
                    yield _transition(f"a thread of {process} fails", less, FAULT_ACTION)

    def _begun_anew(self, state: RollModelState) -> RollModelState:
        """Return the state in which nothing is known but the group, the release from which it began, and the target."""
        members = state.group.look(state.seconds, sees_leader=False).members
        rest = interrupted(self.plan.rounds, members)
        plan = evolve(self.plan, rounds=rest.rounds, bounced=rest.bounced, begun=rest.begun)
        return evolve(state, roll=begin(plan), watch=RollWatch(), ran=frozenset(), excused=False)


def _of_input(state: RollModelState) -> Iterator[Transition[RollModelState, RollAction]]:
    """Yield how the input changes: it mends by itself, and is in trouble as often as the budget allows."""
    flow = state.input.flow
    if flow in TROUBLES:
        mended = evolve(state.input, flow=InputFlow.ADVANCING).later()
        yield _transition("the input is processed again", evolve(state, input=mended))
    elif state.budget.troubles:
        budget = evolve(state.budget, troubles=state.budget.troubles - 1)
        for trouble in TROUBLES:
            after = evolve(state, input=evolve(state.input, flow=trouble), budget=budget, is_disturbed=True)
            yield _transition(trouble.value, after, FAULT_ACTION)


def _gone_on(after: RollModelState, wrong: str) -> RollModelState:
    """Return the state after a step has begun or passed, and why it must not."""
    return after if after.wrong or not wrong else evolve(after, wrong=Violation(READY, "", wrong))


def _transition(text: str, state: RollModelState, label: int = 0) -> Transition[RollModelState, RollAction]:
    return Transition(RollAction(text), state, label | 1)


def _answers(state: RollModelState, question: engine.AskOperator) -> Iterator[Transition[RollModelState, RollAction]]:
    is_planned = question.about in _PLANNED
    for option in question.options:
        if option is SafeOption.REPLAN:  # nobody scales the group of a model
            continue
        goes_on = option not in (SafeOption.BACK, SafeOption.STOP)
        counts = goes_on and not is_planned and not _is_foreseen(state, question, option)
        if (question.about == ABOUT_PLAN and not goes_on) or (counts and not state.budget.answers):
            continue
        record = QuestionAnswered(
            about=question.about,
            option=option,
            step=question.step,
            kind=question.kind,
            instances=question.instances,
        )
        after = evolve(state.written(record), is_disturbed=state.is_disturbed or option is SafeOption.BACK)
        if goes_on and not is_planned:
            after = _answered(after, question, option, counts)
        yield _transition(f"roll asks about {question.about}: {option.value}", after, OPERATOR_ACTION)


def _is_foreseen(state: RollModelState, question: engine.AskOperator, option: SafeOption) -> bool:
    """Whether an operator goes back though a forecast is unsafe, with what has come of that, or before who is gone.

    Who has crashed meanwhile, and whose turn comes, is waited for in vain: ``continue`` is offered for that alone.
    Some groups have no other way back: with 2.6 to 3.0 leading, members of 2.3 make one leader fail after the other.
    Each step asks twice then, so that the number of answers grows with the group.
    """
    if not state.roll.is_going_back or option is not SafeOption.CONTINUE:
        return False
    step, is_asked = state.roll.step, question.about == ABOUT_FORECAST
    is_unsafe = step is not None and bool(step.expectation.violations) and (is_asked or step.unchecked)
    return is_unsafe or question.kind is DeviationKind.MEMBER_GONE


def _answered(state: RollModelState, question: engine.AskOperator, option: SafeOption, counts: bool) -> RollModelState:
    """Return the state after an answer by which the operator takes something on."""
    step = state.roll.step
    instances = question.instances or (step.instances if step else ())
    told = frozenset(key for key in state.ran if key[0] == question.step and key[1] in instances)
    goes_on = option is SafeOption.CONTINUE
    group = state.group
    if question.kind is DeviationKind.STATIC_MEMBER and option is SafeOption.WAIT:
        (process,) = question.instances
        group = group.after(STOP, process, group.ran_last(process))
    return evolve(
        state.at(group),
        is_disturbed=True,
        budget=evolve(state.budget, answers=state.budget.answers - counts),
        ran=state.ran - told if option is SafeOption.AGAIN else state.ran,
        excused=state.excused or goes_on,
        consented=state.consented or (goes_on and question.about != ABOUT_FORECAST),
    )
