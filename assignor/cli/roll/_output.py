"""A roll as plain lines, or as lines of JSON: the records of the journal, and what is waited for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from assignor.formats.text import count, format_seconds, join_names, sanitize
from upgrade.roll.engine import AskOperator, KeepWaiting
from upgrade.roll.expectation import Expectation, ExpectedOutcome
from upgrade.roll.gates import GateStatus
from upgrade.roll.journal import (
    BY_OPERATOR,
    FOUND,
    BackPlanned,
    CommandEnded,
    CommandIntended,
    DeviationFound,
    JournalLine,
    PlanRecorded,
    QuestionAnswered,
    RollEnded,
    RollResumed,
    RoundVerified,
    StepBegan,
    StepPassed,
)
from upgrade.roll.plan import BY_HAND, GROUP, RollPlan, RollRound, RoundAction
from upgrade.roll.state import RollState

_OUTCOMES_SHOWN: Final = 3
_UNKNOWN_LEADER: Final = (
    "leader: not known, so it may be any of them: a description shows it only beside a scheduled probing rebalance, "
    "which versions below 7 do not have; --leader names it (the generations of audit have it)"
)
_SECONDS: Final = re.compile(r"\d+ s\b")
"""What grows from look to look."""


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


def plan_lines(plan: RollPlan) -> Iterator[str]:
    """Write the rounds and the order of the instances."""
    yield f"{plan.name}: {plan.origin} to {plan.target}, {count(len(plan.instances), 'instance')}"
    yield from round_lines(plan.rounds)
    sizes = {instance.members for instance in plan.instances}
    threads = f", {count(sizes.pop(), 'member')} each" if plan.kind == GROUP and len(sizes) == 1 else ""
    yield f"order: {join_names(plan.names, limit=20)}{threads}; {plan.batch} at a time"
    if plan.kind == GROUP and plan.has_leader_last:
        yield f"leader: {plan.leader}, the last one (--leader)" if plan.leader else _UNKNOWN_LEADER
    yield from (f"note: {note}" for note in plan.notes)


def round_lines(rounds: tuple[RollRound, ...]) -> Iterator[str]:
    """Write rounds, each with its way back and what it needs."""
    for number, roll_round in enumerate(rounds, 1):
        last = "; the leader last" if roll_round.leader_last else ""
        yield f"round {number}: {roll_round.text} ({roll_round.config}){last}"
        if roll_round.back:
            yield f"  way back: {roll_round.way_back}: {roll_round.back}"
        if roll_round.needs:
            yield f"  needs: {roll_round.needs}"


def expectation_text(expectation: Expectation) -> str:
    """Write what is expected in one line."""
    if not expectation.outcomes:
        why = expectation.why_none or "it was not asked for"
        return f"no forecast ({why}): the rules of the releases decide"
    texts = list(dict.fromkeys(map(_outcome_text, expectation.outcomes)))
    shown = " or ".join(texts[:_OUTCOMES_SHOWN])
    more = len(texts) - _OUTCOMES_SHOWN
    others = f" or {count(more, 'other outcome')}" if more > 0 else ""
    return f"forecast: {shown}{others}"


def _outcome_text(outcome: ExpectedOutcome) -> str:
    versions = ", ".join(map(str, outcome.versions))
    moved = f"{count(len(outcome.moved), 'task')} moved" if outcome.moved else "no task moved"
    unsafe = "".join(f", UNSAFE: {text}" for text in outcome.violations)
    return f"{count(outcome.rebalances, 'rebalance')}, {moved}, version {versions}{unsafe}"


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
            config = state.round.config if state.round else ""
            yield f"step {step}, round {state.at + 1} of {len(state.rounds)}: {join_names(instances)} to {config}"
            yield f"step {step}: {expectation_text(expectation)}"
        case CommandIntended(step=step, instance=instance, verb=verb):
            if verb == BY_HAND and state.round:
                action = state.round.action
                doing = f"{action.value} {instance} as {state.round.config}"
                yield f"step {step}: please {state.round.text if action is RoundAction.ONCE else doing}"
            else:
                yield f"step {step}: {verb} {instance}"
        case CommandEnded(step=step, instance=instance, verb=verb) as end:
            yield from _end_lines(step, instance, verb, end)
        case StepPassed(step=step, gates=gates, observed=observed):
            yield f"step {step}: passed after {observed.get('seconds', 0):g} s: {observed_text(observed)}"
            hidden = gates.get("config", "").partition("; ")[2]
            if hidden:
                yield f"step {step}: note: {hidden}"
        case RoundVerified(round=number, gates=gates):
            config = gates.get("config", "")
            runs = f"every instance runs {config.removeprefix('as ')}" if config else gates.get("levels", "")
            yield f"round {number}: verified: {runs}"
        case DeviationFound() as found:
            yield f"step {found.step}: DEVIATION {found.kind.value}"
            yield f"  expected: {found.expected}"
            yield f"  observed: {found.observed}"
            yield f"  likely: {found.likely}"
        case QuestionAnswered(option=option, by=by, about=about):
            yield f"{about}: {option.value} ({by})"
        case BackPlanned(rounds=rounds):
            yield "rolling back:"
            yield from round_lines(rounds)
        case RollEnded(outcome=outcome):
            yield f"{state.plan.name}: {outcome}"


def _end_lines(step: int, instance: str, verb: str, end: CommandEnded) -> Iterator[str]:
    if end.how == FOUND:
        yield f"step {step}: {verb} {instance}: the group shows that it was done"
    elif end.how != BY_OPERATOR:
        yield f"step {step}: {verb} {instance}: status {end.status} after {end.seconds:g} s"
        if end.status:
            yield from (f"  | {text}" for text in end.output.splitlines())


def observed_text(observed: Any) -> str:
    """Write what came of a step, of members or of nodes."""
    if "controller" in observed:
        most = count(observed["most_under_replicated"], "under-replicated partition")
        return f"at most {most} meanwhile, controller {observed['controller']} active"
    moved, as_forecast = observed.get("moved", {}), observed.get("as_forecast")
    parts = [
        f"version {', '.join(map(str, observed.get('versions', ())))}",
        f"{count(len(moved), 'task')} moved" if moved else "no task moved",
        f"longest time without owner {observed.get('unowned_seconds', 0):g} s",
    ]
    if as_forecast is not None:
        parts.append("tasks as forecast" if as_forecast else "other tasks than forecast")
    return ", ".join(parts)
