"""The next decision of a roll: one function, without side effects, for the command and for the sweep."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from streams_assignor.upgrade.roll.deviations import DEVIATIONS, DeviationKind, SafeOption
from streams_assignor.upgrade.roll.expectation import NO_FORECAST, Expectation
from streams_assignor.upgrade.roll.gates import AwaitedEvent, GatePhase, GateResult, GateStatus, O, RollRules, RollWatch
from streams_assignor.upgrade.roll.journal import (
    FOUND,
    BackPlanned,
    CommandEnded,
    CommandIntended,
    DeviationFound,
    RollEnded,
    RollRecord,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import ALL_INSTANCES, BY_HAND, GROUP, RollRound, RoundAction, back_rounds
from streams_assignor.upgrade.roll.state import (
    ABOUT_DEVIATION,
    ABOUT_DONE,
    ABOUT_FORECAST,
    ABOUT_NEEDS,
    ABOUT_ORIGIN,
    ABOUT_OUTCOME,
    ABOUT_PLAN,
    ABOUT_WAY_BACK,
    RollState,
    StepInProgress,
)

FINISHED = "finished"
ROLLED_BACK = "rolled back"
NO_WAY_BACK = "no way back"


@frozen
class WriteRecord:
    """Something is known now: it belongs into the journal."""

    record: RollRecord


@frozen
class BeginStep:
    """A step comes next: its forecast is asked for, and ``began`` is written."""

    step: int
    round: RollRound
    instances: tuple[str, ...]
    absent: tuple[str, ...] = ()
    """On the way back, the instances whose turn comes later, and that are not there."""


@frozen
class RunCommand:
    """A command comes next: it is intended, run, and its end is written."""

    step: int
    instance: str
    verb: str
    round: RollRound


@frozen
class KeepWaiting:
    """Look again."""

    phase: GatePhase
    results: tuple[GateResult, ...]
    left_s: float
    """How long it is waited for."""


@frozen
class AskOperator:
    """Somebody has to decide; the answer is written."""

    about: str
    text: str
    options: tuple[SafeOption, ...]
    step: int = 0
    kind: DeviationKind | None = None
    instances: tuple[str, ...] = ()


@frozen
class RollFinished:
    """Nothing is left to do, or an operator has stopped."""

    outcome: str
    """Empty: it is not finished."""


@frozen
class ReplanInstances:
    """The instances of now are the plan, as soon as the group is stable; what they are is written."""


RollDecision = ReplanInstances | WriteRecord | BeginStep | RunCommand | KeepWaiting | AskOperator | RollFinished


def watching(state: RollState, watch: RollWatch, seen: O, rules: RollRules[O]) -> RollWatch:
    """Return what is remembered after a look. Called once for each look, before ``decide``."""
    step, awaited, memory = state.step, AwaitedEvent.of(state), watch.memory
    if not awaited.is_of_same_look(watch.awaited):
        in_same_step = bool(step and step.touched) and awaited.is_of_same_step(watch.awaited)
        memory = rules.renew(memory) if in_same_step and memory is not None else None
    began_at = watch.began if watch.awaited == awaited else seen.seconds
    lasting = rules.follow(state, watch.lasting, seen)
    return RollWatch(awaited, began_at, rules.remember(state, memory, seen), lasting)


def decide(state: RollState, watch: RollWatch, seen: O, rules: RollRules[O]) -> RollDecision:
    """Return what comes next.

    Args:
        state: Where the roll stands.
        watch: The return value of ``watching`` for this look.
        seen: The look.
        rules: Those of the kind of roll.
    """
    if state.wants_back:
        return _going_back(state)
    if state.wants is SafeOption.REPLAN:
        return ReplanInstances()
    if state.outcome or state.is_paused:
        return RollFinished(state.outcome)
    if state.plan.may_be_done and ABOUT_DONE not in state.agreed:
        how = "--from RELEASE says what they run"
        if state.plan.bounced:
            how = f"not all run {state.plan.origin} any more; --journal FILE continues a roll, continue restarts them"
        text = f"all members may run {state.plan.target} already, which shows the same: {how}"
        return AskOperator(ABOUT_DONE, text, (SafeOption.CONTINUE, SafeOption.STOP))
    if not state.confirmed:
        return AskOperator(ABOUT_PLAN, "execute the plan (--yes answers)", (SafeOption.CONTINUE, SafeOption.STOP))
    if state.deviation:
        found = state.deviation
        return AskOperator(ABOUT_DEVIATION, found.observed, found.options, found.step, found.kind, found.instances)
    if state.round is None:
        return WriteRecord(RollEnded(outcome=ROLLED_BACK if state.is_going_back else FINISHED))
    if joined := rules.joins(state, watch):
        return WriteRecord(joined)
    if state.step:
        return _in_step(state, state.step, state.round, watch, seen, rules)
    if state.remaining:
        return _next_step(state, state.round, watch, seen, rules)
    results = rules.results(GatePhase.ROUND, state, watch, seen)
    verified = RoundVerified(round=state.at + 1, gates=_texts(results))
    return _judged(state, watch, seen, GatePhase.ROUND, results, WriteRecord(verified))


def intended(decision: RunCommand, seen: O) -> CommandIntended:
    """Return the record of a command that is about to be run."""
    return CommandIntended(
        step=decision.step,
        instance=decision.instance,
        verb=decision.verb,
        before=tuple(sorted(seen.incarnations(decision.instance))),
    )


def began(decision: BeginStep, seen: O, expectation: Expectation = NO_FORECAST) -> StepBegan:
    """Return the record of a step that begins."""
    return StepBegan(
        step=decision.step,
        instances=decision.instances,
        before={name: tuple(sorted(seen.incarnations(name))) for name in decision.instances},
        owners=seen.owners(),
        expectation=expectation,
        absent=decision.absent,
    )


def _going_back(state: RollState) -> RollDecision:
    if not state.can_return:
        return WriteRecord(RollEnded(outcome=NO_WAY_BACK))
    rounds = () if state.is_going_back else back_rounds(state.begun_rounds, state.configs)
    if rounds and (origins := state.plan.origins):
        text = f"what ran before is not known, {origins[0]} to {origins[-1]} show the same: --from RELEASE says it"
        return AskOperator(ABOUT_ORIGIN, text, (SafeOption.STOP,))
    return WriteRecord(BackPlanned(rounds=rounds)) if rounds else WriteRecord(RollEnded(outcome=ROLLED_BACK))


def ended(state: RollState) -> RollState | None:
    """Return what a roll has left that is finished, or rolled back, to be looked at again; None if it is neither."""
    done = frozenset((*state.plan.names, ALL_INSTANCES))
    return evolve(state, at=len(state.rounds) - 1, done=done) if state.is_finished else None


def unlike_its_end(left: RollState, watch: RollWatch, seen: O, rules: RollRules[O]) -> tuple[GateResult, ...]:
    """Return how what is rolled differs now from what ``ended`` has returned, or why that is not known yet.

    Results without a kind say the latter: a member that has died is counted until its session times out.
    """
    results = rules.results(GatePhase.ROUND, left, watch, seen)
    return tuple(result for result in results if result.status is not GateStatus.PASSED)


# -- the next step ---------------------------------------------------------------------------------------------------


def _next_step(state: RollState, roll_round: RollRound, watch: RollWatch, seen: O, rules: RollRules[O]) -> RollDecision:
    for position in state.asked_together:
        if position not in state.consents and (question := _question_before(state, state.rounds[position])):
            return question
    absent = frozenset(rules.absent(state, seen) if state.is_going_back else ()).intersection(state.remaining)
    instances = next_instances(state, roll_round, rules.leader(seen), absent)
    begins = BeginStep(state.steps + 1, roll_round, instances, tuple(sorted(absent.difference(instances))))
    if (state.suspects | absent).intersection(instances):  # it is they that disturb the group
        return begins
    results = rules.results(GatePhase.BEFORE, state, watch, seen)
    return _judged(state, watch, seen, GatePhase.BEFORE, results, begins)


def _question_before(state: RollState, roll_round: RollRound) -> AskOperator | None:
    """Return what is asked before a round."""
    if not roll_round.has_way_back:
        text = f"{roll_round.text}: there is no way back instance by instance afterwards: {roll_round.back}"
        return AskOperator(
            ABOUT_WAY_BACK, text, _options(state, (SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP))
        )
    if roll_round.needs:
        text = f"{roll_round.text}: no broker shows whether it can begin: {roll_round.needs}"
        return AskOperator(ABOUT_NEEDS, text, (SafeOption.CONTINUE, SafeOption.STOP), state.steps + 1)
    return None


def next_instances(
    state: RollState, roll_round: RollRound, leader: str | None, absent: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return the instances of the next step: the canary alone, the leader last if it has to be, others in order.

    The leader is the one that is seen, or else the one that an operator has named. Those of a step that was given up
    come first, and then those that are absent.
    """
    leader = leader or state.plan.leader
    remaining = state.remaining
    if roll_round.at_once:
        return remaining
    if first := [*filter(state.suspects.__contains__, remaining)] or [*filter(absent.__contains__, remaining)]:
        return tuple(first[: state.plan.batch])
    if remaining[0] == state.plan.canary:
        return remaining[:1]
    others = tuple(name for name in remaining if not (roll_round.leader_last and name == leader))
    return (others or remaining)[: state.plan.batch]


# -- a step that has begun -------------------------------------------------------------------------------------------


def _in_step(
    state: RollState, step: StepInProgress, roll_round: RollRound, watch: RollWatch, seen: O, rules: RollRules[O]
) -> RollDecision:
    if step.expectation.violations and not step.unchecked and step.is_untouched:
        text = f"the forecast is unsafe: {'; '.join(step.expectation.violations)}"
        return AskOperator(
            ABOUT_FORECAST, text, _options(state, (SafeOption.STOP, SafeOption.BACK, SafeOption.CONTINUE)), step.number
        )
    for instance, verb in state.commands:
        if (instance, verb) not in step.ended:
            starts = roll_round.action is RoundAction.START and instance not in step.touched
            if starts and rules.happened(state, instance, verb, seen):  # somebody has started it since all were stopped
                return WriteRecord(CommandIntended(step=step.number, instance=instance, verb=verb))
            results = rules.results(GatePhase.COMMAND, state, watch, seen)
            command = RunCommand(step.number, instance, verb, roll_round)
            return _judged(state, watch, seen, GatePhase.COMMAND, results, command)
        end = step.ended[instance, verb]
        if end is None:
            return _unknown(state, step, instance, verb, watch, seen, rules)
        if end.status and (step.number, DeviationKind.COMMAND_FAILED, verb, instance) not in state.accepted:
            text = f"{verb} of {instance} ended with status {end.status}: {end.output or 'without output'}"
            return _deviation(state, DeviationKind.COMMAND_FAILED, verb, "exit status 0", text, (instance,))
    results = rules.results(GatePhase.AFTER, state, watch, seen)
    members = {name: tuple(sorted(seen.incarnations(name))) for name in state.plan.names}
    passed = StepPassed(
        step=step.number,
        gates=_texts(results),
        observed=rules.observed(state, watch, seen),
        members={name: ids for name, ids in members.items() if ids != state.members.get(name, ())},
    )
    return _judged(state, watch, seen, GatePhase.AFTER, results, WriteRecord(passed))


def _unknown(
    state: RollState,
    step: StepInProgress,
    instance: str,
    verb: str,
    watch: RollWatch,
    seen: O,
    rules: RollRules[O],
) -> RollDecision:
    """Find out whether a command has run whose end nobody has seen; it is never run again unasked."""
    if verb == BY_HAND or rules.happened(state, instance, verb, seen):
        return WriteRecord(CommandEnded(step=step.number, instance=instance, verb=verb, how=FOUND))
    session_s = state.plan.limits.session_timeout_s
    left = session_s - watch.waited(seen)
    if left > 0:
        text = f"{verb} {instance} was under way when roll ended: looking whether it has done its work"
        waiting = GateResult(gate="outcome", status=GateStatus.WAITING, text=text, instances=(instance,))
        return KeepWaiting(GatePhase.AFTER, (waiting,), left)
    options = (SafeOption.AGAIN, SafeOption.CONTINUE, SafeOption.BACK, SafeOption.STOP)
    text = (
        f"{verb} {instance} was under way when roll ended, and in {session_s:g} s the group did not show that it has "
        "done its work"
    )
    return AskOperator(ABOUT_OUTCOME, text, _options(state, options), step.number, instances=(instance,))


# -- gates -----------------------------------------------------------------------------------------------------------


def _judged(
    state: RollState,
    watch: RollWatch,
    seen: O,
    phase: GatePhase,
    results: tuple[GateResult, ...],
    if_open: RollDecision,
) -> RollDecision:
    """Return what follows from gates: what comes next, another look, or a deviation."""
    number = _number(state)
    results = tuple(_as_decided(state, number, result) for result in results)
    closed = [result for result in results if result.status is GateStatus.WAITING]
    if failed := [result for result in results if result.status is GateStatus.FAILED]:
        return _of_results(state, [*failed, *closed])
    if not closed:
        return if_open
    left = state.plan.limits.timeout_s - watch.waited(seen)
    if left <= 0:
        late = [result for result in closed if result.kind and not result.is_patient]
        if late:
            return _of_results(state, late)
    return KeepWaiting(phase, results, max(left, 0.0, *(result.left_s for result in closed)))


def _as_decided(state: RollState, number: int, result: GateResult) -> GateResult:
    """Return a result as an operator has decided of its kind."""
    if result.status is GateStatus.PASSED or result.kind is None:
        return result
    if state.accepted.issuperset((number, result.kind, result.gate, name) for name in result.instances or ("",)):
        return evolve(result, status=GateStatus.PASSED, text=f"{result.text} (accepted)")
    if (number, result.kind) in state.patient:
        return evolve(result, status=GateStatus.WAITING)
    return result


def _number(state: RollState) -> int:
    """The number of the step to which a deviation belongs: the one that comes next if none has begun."""
    return state.step.number if state.step else state.steps + 1


def _of_results(state: RollState, closed: Sequence[GateResult]) -> RollDecision:
    """Return the deviation of the first gate that is closed; what the others say stands beside it.

    If it names no instances, and something may be restarted again, then it is what the others name of that.
    """
    first, known = closed[0], [result for result in closed if result.kind]
    assert first.kind
    texts = dict.fromkeys(result.text for result in known)
    beside = known if SafeOption.AGAIN in DEVIATIONS[first.kind].options else ()
    named = dict.fromkeys(name for result in beside for name in result.instances)
    instances = first.instances or (*filter(_restartable(state).__contains__, named),)
    return _deviation(state, first.kind, first.gate, first.expected or first.gate, "; ".join(texts), instances)


def _deviation(
    state: RollState, kind: DeviationKind, gate: str, expected: str, observed: str, instances: tuple[str, ...]
) -> RollDecision:
    meaning = DEVIATIONS[kind]
    options = _options(state, meaning.options)
    may_go_on = kind in (DeviationKind.MEMBER_GONE, DeviationKind.OTHER_RELEASE) and state.is_going_back
    to_come = set(state.remaining).difference(state.step.instances if state.step else ())
    if may_go_on and to_come.issuperset(instances):
        options = (SafeOption.CONTINUE, *options)  # their turn comes next
    if not ((state.step or instances) and _restartable(state).issuperset(instances)):
        options = tuple(option for option in options if option is not SafeOption.AGAIN)
    return WriteRecord(
        DeviationFound(
            step=_number(state),
            kind=kind,
            gate=gate,
            expected=expected,
            observed=observed,
            likely=meaning.likely,
            options=options,
            instances=instances,
        )
    )


def _restartable(state: RollState) -> frozenset[str]:
    """Return the instances whose command may be run again: those of the step that had one, or of all of the round."""
    return state.step.touched if state.step else state.done


def _options(state: RollState, options: tuple[SafeOption, ...]) -> tuple[SafeOption, ...]:
    """Return the options that there are: back only if something was done and it is not the way back already."""
    can_return = not state.is_going_back and bool(state.begun_rounds) and state.can_return
    possible = {SafeOption.BACK: can_return, SafeOption.REPLAN: state.plan.kind == GROUP}
    return tuple(option for option in options if possible.get(option, True))


def _texts(results: tuple[GateResult, ...]) -> dict[str, str]:
    return {result.gate: result.text for result in results}
