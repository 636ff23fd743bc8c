"""The answer of ``conform`` about a capture; workers compute it, and theirs is an environment without click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from streams_assignor.formats.text import format_table, printable

if TYPE_CHECKING:
    from streams_assignor.groups.capture import Capture
    from streams_assignor.spark_sim.audit.captures import Judged
    from streams_assignor.spark_sim.conformance.result import GenerationReplay, MemberReplay
    from streams_assignor.spark_sim.conformance.verdict import ConformanceVerdict, ReplayResult


def judge(capture: Capture) -> Judged:
    """Return what is found of a capture, as JSON with what is printed; a worker calls it."""
    from streams_assignor.spark_sim.conformance.verdict import verdict_or_error

    verdict = verdict_or_error(capture)
    if isinstance(verdict, str):
        return {"error": verdict}
    return {
        "json": verdict.as_json() | {"hint": _hint(verdict)},
        "agrees": verdict.agrees,
        "complete": verdict.complete,
        "row": _row(verdict),
        "generations": [*_verbose_lines(verdict)],
        "differences": [] if verdict.agrees else [*_difference_lines(verdict)],
    }


def _hint(verdict: ConformanceVerdict) -> str | None:
    """Return advice about inferred steps; None for a capture with steps."""
    if not verdict.inferred:
        return None
    steps = ", ".join(f'"{step}"' for step in verdict.inferred)
    add = 'add "steps", the releases in the order in which they were started, each with its configuration'
    if verdict.agrees:
        return (
            f"it has no steps; it agrees with the steps inferred from its messages: {steps}. To compare others, {add}"
        )
    return f"it has no steps, and differs with all steps that were tried, last with {steps}. To compare it, {add}"


def _row(verdict: ConformanceVerdict) -> Sequence[str]:
    """Return the cells of the table behind the name."""
    explained = verdict.observed_failures
    observed = explained + len(verdict.unexplained_failures)
    return (
        str(verdict.generations),
        str(verdict.subscriptions),
        str(verdict.answers),
        f"{verdict.same_tasks} of {verdict.generations}",
        f"{explained} of {observed}" if observed else "-",
        _word(verdict.step_by_step, complete=verdict.complete),
        _word(verdict.end_to_end, complete=verdict.complete),
    )


def _word(run: ReplayResult, *, complete: bool) -> str:
    if run.agrees:
        return "agrees"
    return f"{'differs' if complete else 'incomplete'} in generation {run.differences[0].generation}"


def _difference_lines(verdict: ConformanceVerdict) -> Iterator[str]:
    """Yield the explanation of the first generation that differs; the name of the capture comes before it."""
    replay, run = next(
        (replay, run)
        for replay, run in (("step by step", verdict.step_by_step), ("end to end", verdict.end_to_end))
        if not run.agrees
    )
    number = run.differences[0].generation
    what = "differs" if verdict.complete else "is incomplete: no inferred steps explain the difference"
    yield f"{what} in generation {number}, {replay}:"
    differences = [difference for difference in run.differences if difference.generation == number]
    for difference in differences:
        yield f"  {printable(str(difference))}"
    for why in dict.fromkeys(difference.why for difference in differences if difference.why):
        yield f"  because {printable(why)}"
    yield from (
        line for generation in run.generations if generation.number == number for line in _generation_lines(generation)
    )


def _verbose_lines(verdict: ConformanceVerdict) -> Iterator[str]:
    for generation in verdict.step_by_step.generations:
        yield from _generation_lines(generation)
        yield from (f"  {printable(note)}" for note in generation.notes)
    for observed_failure in verdict.failures:
        failure = observed_failure.failure
        step = failure.incarnation.started_as.text if failure.incarnation.started_as else "?"
        bug = f" ({_about(failure.bug)})" if failure.bug else ""
        line = f"{failure.incarnation} ({step}) fails in generation {failure.generation}: {failure.reason}{bug}"
        line += f"; in the capture {observed_failure.observed}"
        yield f"  {printable(line)}"
    for instance, step in verdict.unexplained_failures:
        yield f"  instance {instance} ({printable(step)}) ended for a reason outside the protocol"


def _about(bug: str) -> str:
    """Return the name of a known bug with its issue."""
    from streams_assignor.spark_sim.regressions.known_bugs import BUGS

    return f"{bug}, {next(known_bug.issue for known_bug in BUGS if known_bug.name == bug)}"


def _generation_lines(generation: GenerationReplay) -> Iterator[str]:
    if not generation.members:
        yield f"  generation {generation.number}: no members"
        return
    head = ("member", "runs", "sends", "ours", "receives", "ours", "active tasks", "ours")
    rows = [tuple(map(printable, _member_row(part))) for part in generation.members]
    yield f"  generation {generation.number}"
    yield from (f"    {line}" for line in format_table([head, *rows]).splitlines())


def _member_row(part: MemberReplay) -> Sequence[str]:
    from streams_assignor.spark_sim.conformance.messages import AssignmentMessage
    from streams_assignor.spark_sim.model.events import format_tasks

    def tasks(message: Any) -> str:
        return format_tasks(message.partitions_by_task) if isinstance(message, AssignmentMessage) else "?"

    return (
        part.incarnation.name + (" (leader)" if part.is_leader else ""),
        part.incarnation.started_as.text if part.incarnation.started_as else "?",
        _message_text(part.subscription),
        _message_text(part.our_subscription),
        _message_text(part.assignment),
        _message_text(part.our_assignment),
        tasks(part.assignment),
        tasks(part.our_assignment),
    )


def _message_text(message: object) -> str:
    from streams_assignor.spark_sim.conformance.messages import AssignmentMessage, SubscriptionMessage

    return str(message) if isinstance(message, SubscriptionMessage | AssignmentMessage) else "?" if message else "-"
