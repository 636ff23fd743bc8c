"""A roll as plain lines, or as lines of JSON: the records of the journal, and what is waited for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from streams_assignor.cli.group.what_if import moves_text
from streams_assignor.cli.roll._driver import RollView
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import count, format_seconds, join_names, sanitize
from streams_assignor.upgrade.roll.engine import AskOperator, KeepWaiting
from streams_assignor.upgrade.roll.expectation import Expectation, ExpectedOutcome
from streams_assignor.upgrade.roll.gates import GateStatus
from streams_assignor.upgrade.roll.journal import (
    BY_OPERATOR,
    FOUND,
    BackPlanned,
    CommandEnded,
    CommandIntended,
    DeviationFound,
    InstancesPlanned,
    JournalLine,
    MembersJoined,
    OriginNamed,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from streams_assignor.upgrade.roll.plan import BY_HAND, GROUP, RollPlan, RollRound, RoundAction
from streams_assignor.upgrade.roll.state import RollState, begin

_NO_STARTS: Final = (RoundAction.STOP, RoundAction.ONCE)
_OUTCOMES_SHOWN: Final = 3
_PRINTED_LINES: Final = 5
_UNKNOWN_LEADER: Final = (
    "leader: not known, so it may be any of them: a description shows it only beside a scheduled probing rebalance, "
    "which versions below 7 do not have; --leader names it (the generations of audit have it)"
)
_THREADS: Final = ", by process: how they go to its threads depends on ends of changelogs that nobody reports"
_SECONDS: Final = re.compile(r"\d+ s\b")
"""Texts that grow from look to look."""


class RollLines:
    """A roll as plain lines."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._waiting = ""

    def record(self, line: JournalLine, state: RollState) -> None:
        """Write a record in words."""
        self._waiting = ""
        for text in record_lines(line, state):
            self._write(sanitize(text))

    def waiting(self, decision: KeepWaiting, state: RollState) -> None:
        """Write what is waited for, when that changes."""
        closed = [result for result in decision.results if result.status is GateStatus.WAITING]
        told = [result for result in closed if result.kind] or closed
        what = "; ".join(dict.fromkeys(result.text for result in told))
        if (kept := _SECONDS.sub("", what)) != self._waiting:
            self._waiting = kept
            step = f"step {state.step.number}" if state.step else f"before step {state.steps + 1}"
            left = f" (up to {format_seconds(decision.left_s)})" if decision.left_s else ""
            self._write(sanitize(f"{step}: waiting: {what}{left}"))

    def note(self, text: str) -> None:
        """Write a line."""
        self._write(sanitize(text))


class RollJson:
    """A roll as lines of JSON: the records of the journal, ``waiting`` and ``note``."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._last: Any = None

    def record(self, line: JournalLine, _state: RollState) -> None:
        """Write a record as it is in the journal."""
        self._write(line.text().rstrip("\n"))

    def waiting(self, decision: KeepWaiting, state: RollState) -> None:
        """Write what the gates say, when that changes."""
        gates = {result.gate: {"status": result.status.value, "text": result.text} for result in decision.results}
        if gates != self._last:
            self._last = gates
            step = state.step.number if state.step else state.steps + 1
            left = {"step": step, "phase": decision.phase.value, "gates": gates, "left_seconds": round(decision.left_s)}
            self._write(json.dumps({"record": "waiting", **left}, ensure_ascii=False))

    def note(self, text: str) -> None:
        """Write a line."""
        self._write(json.dumps({"record": "note", "text": text}, ensure_ascii=False))


def show(view: RollView, lines: Iterable[str]) -> None:
    """Write lines before anything is asked, wrapped at words on a terminal."""
    for line in DisplayOptions.of_output(verbose=False).show(lines).splitlines():
        view.note(line)


def plan_lines(plan: RollPlan) -> Iterator[str]:
    """Write how much it is, the rounds, and the order of the instances."""
    yield f"{plan.name}: {plan.origin} to {plan.target}: {size_text(plan)}"
    yield from round_lines(plan.rounds)
    sizes = {instance.members for instance in plan.instances}
    threads = f", {count(sizes.pop(), 'member')} each" if plan.kind == GROUP and len(sizes) == 1 else ""
    yield f"order: {join_names(plan.names, limit=20)}{threads}; {pace_text(plan)}"
    if plan.kind == GROUP and plan.has_leader_last:
        yield f"leader: {plan.leader}, the last one (--leader)" if plan.leader else _UNKNOWN_LEADER
    yield from (f"note: {note}" for note in plan.notes)


def size_text(plan: RollPlan) -> str:
    """Write how many instances, rounds and restarts it has, and how long it takes at least."""
    number, soak_s = len(plan.instances), plan.limits.soak_s
    starting = [place for place, each in enumerate(plan.rounds) if each.action not in _NO_STARTS]
    sizes = (count(number, "instance"), count(len(plan.rounds), "round"), count(number * len(starting), "restart"))
    least_s = soak_s * sum(_steps_of(begin(plan), number, place) for place in starting)
    time = f", at least {format_seconds(least_s)} (--soak {format_seconds(soak_s)} for each step)" if least_s else ""
    return ", ".join(sizes) + time


def steps_left(state: RollState) -> int:
    """Return how many steps have not passed, as far as batches and canary are known."""
    later = sum(
        _steps_of(state, len(state.plan.instances), position) for position in range(state.at + 1, len(state.rounds))
    )
    return later + (_steps_of(state, len(state.remaining), state.at) if state.round else 0)


def _steps_of(state: RollState, instances: int, position: int) -> int:
    """Return in how many steps a round touches so many instances."""
    roll_round = state.rounds[position]
    if roll_round.at_once or roll_round.action is RoundAction.ONCE:
        return min(instances, 1)
    alone = 1 if state.plan.canary and instances == len(state.plan.instances) else 0
    return alone + -(-(instances - alone) // state.plan.batch)


def pace_text(plan: RollPlan) -> str:
    """Write how many instances are one step."""
    return "all at once" if all(roll_round.at_once for roll_round in plan.rounds) else f"{plan.batch} at a time"


def round_lines(rounds: tuple[RollRound, ...]) -> Iterator[str]:
    """Write rounds, each with its way back and what it needs."""
    for number, roll_round in enumerate(rounds, 1):
        last = "; the leader last" if roll_round.leader_last else ""
        yield f"round {number}: {round_text(roll_round)}{last}"
        if roll_round.back:
            yield f"  way back: {roll_round.way_back}: {roll_round.back}"
        if roll_round.needs:
            yield f"  needs: {roll_round.needs}"


def round_text(roll_round: RollRound) -> str:
    """Write what a round does, and what instances run afterwards if they run."""
    return roll_round.text if roll_round.action is RoundAction.STOP else f"{roll_round.text} ({roll_round.config})"


def verified_text(gates: Mapping[str, str]) -> str:
    """Write what the gates have seen after a round: of instances, of stopped ones, or of levels."""
    if config := gates.get("config"):
        wanted = config.removeprefix("as ").partition("; ")[0]
        if hidden := hidden_text(gates):
            return f"each instance was to be restarted as {wanted}, and nothing else shows it: {hidden}"
        return f"every instance runs {wanted}"
    return gates.get("gone") or gates.get("levels", "")


def hidden_text(gates: Mapping[str, str]) -> str:
    """Write what no metadata shows of the instances; empty if they are certainly what they were to be."""
    return gates.get("config", "").partition("; ")[2]


def forecast_lines(instances: Sequence[str], expectation: Expectation) -> Iterator[str]:
    """Write what is expected of the first step, a line for each outcome: those after a session last."""
    if not expectation.outcomes:
        yield f"first step, {join_names(instances)}: {expectation_text(expectation)}"
        return
    yield f"first step, {join_names(instances)}, one of:"
    for is_late, when in ((False, ""), (True, ", if it is back only after its session")):
        outcomes = (outcome for outcome in expectation.outcomes if outcome.after_session is is_late)
        yield from dict.fromkeys(f"- {_outcome_text(outcome)}{when}" for outcome in outcomes)


def expectation_text(expectation: Expectation) -> str:
    """Write what is expected in one line."""
    if not expectation.outcomes:
        why = expectation.why_none or "it was not asked for"
        return f"no forecast ({why}): the rules of the releases decide"
    in_time, late = (
        _outcomes_text(outcome for outcome in expectation.outcomes if outcome.after_session is is_late)
        for is_late in (False, True)
    )
    return f"forecast: {'; '.join(filter(None, [in_time, late and f'if it is back only after its session: {late}']))}"


def _outcomes_text(outcomes: Iterable[ExpectedOutcome]) -> str:
    texts = list(dict.fromkeys(map(_outcome_text, outcomes)))
    shown = " or ".join(texts[:_OUTCOMES_SHOWN])
    more = len(texts) - _OUTCOMES_SHOWN
    return f"{shown} or {count(more, 'other outcome')}" if more > 0 else shown


def _outcome_text(outcome: ExpectedOutcome) -> str:
    versions = f", version {', '.join(map(str, outcome.versions))}" if outcome.versions else ""
    moves = moves_text(outcome.moves, sum(map(bool, outcome.moved.values())))
    unsafe = "".join(f", UNSAFE: {text}" for text in outcome.violations)
    return f"{count(outcome.rebalances, 'rebalance')}, {moves}{versions}{unsafe}"


def question_lines(question: AskOperator, state: RollState) -> Iterator[str]:
    """Write what has to be decided, and what is safe."""
    if state.deviation is None:
        yield question.text
    yield f"options: {', '.join(option.value for option in question.options)}"


def record_lines(line: JournalLine, state: RollState) -> Iterator[str]:
    """Write a record in words."""
    match line.record:
        case PlanRecorded():
            return
        case RollResumed(torn=torn):
            yield "continued" + (": the last line of the journal was incomplete, and is dropped" if torn else "")
        case StepBegan(step=step, instances=instances, expectation=expectation):
            assert state.round
            doing = _doing(state.round, join_names(instances))
            yield f"step {step}, round {state.at + 1} of {len(state.rounds)}: {doing}"
            yield f"step {step}: {expectation_text(expectation)}"
        case CommandIntended(step=step, instance=instance, verb=verb):
            if verb == BY_HAND and state.round:
                yield f"step {step}: please {_asked(state.round, instance)}"
            else:
                yield f"step {step}: {verb} {instance}"
        case CommandEnded(step=step, instance=instance, verb=verb) as end:
            yield from _end_lines(step, instance, verb, end)
        case MembersJoined(joined=joined):
            yield from (f"note: {name} has joined again, without a command" for name in joined)
        case StepPassed(step=step, gates=gates, observed=observed):
            yield f"step {step}: passed after {observed.get('seconds', 0):g} s: {observed_text(observed)}"
            yield from (f"step {step}: {text}" for text in computed_again_lines(observed))
            if hidden := hidden_text(gates):
                yield f"step {step}: note: {hidden}"
            if observed.get("replaced"):
                yield f"step {step}: note: {gates['replaced']}"
        case RoundVerified(round=number, gates=gates):
            yield f"round {number}: {'done' if hidden_text(gates) else 'verified'}: {verified_text(gates)}"
        case DeviationFound() as found:
            yield f"step {found.step}: DEVIATION {found.kind.value}"
            yield f"  expected: {found.expected}"
            yield f"  observed: {' '.join(found.observed.split())}"
            yield f"  likely: {found.likely}"
            yield from _printed_lines(found, state)
        case QuestionAnswered(option=option, by=by, about=about):
            yield f"{about}: {option.value} ({by})"
        case InstancesPlanned():
            yield f"order: {join_names(state.plan.names, limit=20)}; {len(state.remaining)} of them left in this round"
        case OriginNamed(plan=plan, by=by):
            yield f"from: {plan.origin} ({by})"
        case BackPlanned(rounds=rounds):
            yield "rolling back:"
            yield from round_lines(rounds)
        case RollEnded(outcome=outcome):
            yield f"{state.plan.name}: {outcome}"


def _doing(roll_round: RollRound, names: str) -> str:
    """Write what a step does to instances."""
    return f"stop {names}" if roll_round.action is RoundAction.STOP else f"{names} to {roll_round.config}"


def _asked(roll_round: RollRound, instance: str) -> str:
    """Write what somebody is asked to do by hand."""
    match roll_round.action:
        case RoundAction.ONCE:
            return roll_round.text
        case RoundAction.STOP:
            return f"stop {instance}"
        case action:
            return f"{action.value} {instance} as {roll_round.config}"


def _end_lines(step: int, instance: str, verb: str, end: CommandEnded) -> Iterator[str]:
    if end.how == FOUND:
        yield f"step {step}: {verb} {instance}: the group shows that it was done"
    elif end.how != BY_OPERATOR:
        yield f"step {step}: {verb} {instance}: status {end.status} after {end.seconds:g} s"
        if end.status:
            yield from (f"  | {text}" for text in end.output.splitlines())


def _printed_lines(found: DeviationFound, state: RollState) -> Iterator[str]:
    """Write the last lines that the commands of a step have printed, if the step went wrong and not they."""
    ends = state.step.ended.values() if state.step and state.step.number == found.step else ()
    for end in ends:
        if end and end.output and not end.status:
            yield f"  printed by {end.verb} {end.instance}:"
            yield from (f"  | {text}" for text in end.output.splitlines()[-_PRINTED_LINES:])


def versions_text(observed: Any) -> str:
    """Write the versions that members send after a step; in a streams group they send none, and have an epoch."""
    if "epoch" in observed:
        return f"epoch {observed['epoch']}"
    return f"version {', '.join(map(str, versions))}" if (versions := observed.get("versions")) else "no version"


def moved_texts(observed: Any) -> Iterator[str]:
    """Write the rebalances and moves of a step as far as looks show them, and how many tasks have no owner."""
    owners = [*observed.get("moved", {}).values()]
    moved, left = sum(map(bool, owners)), owners.count("")
    if "rebalances" in observed:
        rebalances, moves = observed["rebalances"], max(observed["moves"], moved)
        yield f"{'' if observed['rebalances_counted'] else 'at least '}{count(rebalances, 'rebalance')}"
        yield f"{'' if observed['moves_counted'] else 'at least '}{count(moves, 'move')}"
    if moved or not left:
        yield f"{count(moved, 'task')} with another owner" if moved else "every task where it was"
    if left:
        yield f"{count(left, 'task')} without owner"


def forecast_text(observed: Any) -> str:
    """Write whether a step was as forecast, as far as looks show it; empty if there was no forecast."""
    match observed.get("as_forecast"):
        case None:
            return ""
        case False:
            return "not as forecast"
    how = " of an instance that is back after its session" if observed.get("after_session") else ""
    return f"as forecast{how}{'' if observed.get('moves_counted') else ', as far as looks show it'}"


def observed_text(observed: Any) -> str:
    """Write what came of a step, of members or of nodes."""
    if "controller" in observed:
        most = count(observed["most_under_replicated"], "under-replicated partition")
        return f"at most {most} meanwhile, controller {observed['controller']} active"
    parts = [
        versions_text(observed),
        *moved_texts(observed),
        f"longest time without owner {unowned_text(observed)}",
        forecast_text(observed),
    ]
    if observed.get("input_lag"):
        parts.append(f"lag of the input {observed['input_lag']:,}, before {observed['input_lag_before'] or 0:,}")
    return ", ".join(filter(None, parts))


def unowned_text(observed: Mapping[str, Any]) -> str:
    """Write how long a task had no owner at the longest: as exactly as looks show it, beside the forecast."""
    most, least = observed.get("unowned_seconds", 0), observed.get("unowned_seconds_at_least", 0)
    seconds = " or ".join(f"{each:g}" for each in observed.get("unowned_seconds_forecast", ()))
    forecast = f" (forecast {seconds} s)" if seconds else ""
    if most is None:
        return f"{f'at least {least:g} s' if least else 'not known'}{forecast}"
    return f"{least:g} to {most:g} s{forecast}"


def computed_again_lines(observed: Mapping[str, Any]) -> Iterator[str]:
    """Write how the decisions of a step compare with those that are computed again, and what a forecast assumed."""
    if "as_computed" not in observed:
        return
    if observed["unknown"]:
        yield f"not computed again: {observed['unknown']}"
    elif observed["as_computed"]:
        leaders = " or ".join(observed["leaders"])
        of_threads = "" if observed.get("threads_compared", True) else _THREADS
        how = f"from what members have sent ({leaders} leads){of_threads}"
        yield f"tasks as computed again {how}; {_drift_text(observed)}"
    else:
        differs = "TASKS DIFFER from those computed again from what members have sent"
        yield f"{differs}: {observed['difference']}; {_drift_text(observed)}"
    if superseded := observed["superseded_as_computed"]:
        same_number = sum(each is True for each in superseded)
        yield f"{count(len(superseded), 'generation')} before it seen, {same_number} as computed again"
    yield from (f"not as the forecast assumed: {text}" for text in observed["assumptions_broken"])


def _drift_text(observed: Mapping[str, Any]) -> str:
    drift = observed["drift"]
    return "drift not known" if drift is None else f"offset sums differ by up to {drift:,} from those of the forecast"
