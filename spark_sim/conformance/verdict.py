"""Compares a capture with simulated members and returns the verdict: differences, failures and the final state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import asdict, frozen

from streams_assignor.groups.capture import Capture, InvalidCapture, instance_prefix
from streams_assignor.probing.model import AssignorError
from streams_assignor.spark_sim.conformance._compare import Difference, active_owner_counts
from streams_assignor.spark_sim.conformance._environment import infer_environment
from streams_assignor.spark_sim.conformance._identity import (
    Incarnation,
    IncarnationsByGeneration,
    has_tasks,
    identify_members,
    resume_members,
    simultaneous_starts,
    snapshot_generations,
)
from streams_assignor.spark_sim.conformance._replay import Replay
from streams_assignor.spark_sim.conformance._step_inference import infer_steps
from streams_assignor.spark_sim.conformance.messages import (
    AssignmentMessage,
    SubscriptionMessage,
    decode_subscription_message,
)
from streams_assignor.spark_sim.conformance.result import GenerationReplay, MemberReplay, SimulatedFailure

PROCESS_TERMINATED: Final = "its process had ended"
RESTARTED: Final = "it had been started again"
LEFT_GROUP: Final = "it had left the group"
NO_RECORD_SINCE: Final = "it has not had a record since"
NOT_SEEN: Final = "it is not seen again"

_ENDS_WITHOUT_EXCEPTION: Final = AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA.name
"""Error code that stops a thread without an exception: up to 2.3 the process goes on without the thread."""


@frozen
class ReplayResult:
    """Result of one of the two replays: its generations and its differences, in order."""

    generations: tuple[GenerationReplay, ...]
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


@frozen
class ObservedFailure:
    """A failure of a simulated member, and the evidence for it in the capture."""

    failure: SimulatedFailure
    observed: str


@frozen
class ConformanceVerdict:
    """The verdict on one capture."""

    step_by_step: ReplayResult
    end_to_end: ReplayResult
    failures: tuple[ObservedFailure, ...]
    unexplained_failures: tuple[tuple[int, str], ...]
    """Instances whose process ended for a reason outside the protocol, each with its step."""
    quiescent: bool
    """Whether the capture ends with a stable group."""
    inferred: tuple[str, ...] = ()
    """The inferred steps of a capture without steps, in order."""

    @property
    def complete(self) -> bool:
        """Whether the verdict is reliable; a difference from inferred steps is not."""
        return self.agrees or not self.inferred

    @property
    def agrees(self) -> bool:
        """Whether neither replay has a difference."""
        return self.step_by_step.agrees and self.end_to_end.agrees

    @property
    def first_difference(self) -> Difference | None:
        """The first difference of the step-by-step replay, else of the end-to-end replay; None if both agree."""
        return next(iter(self.step_by_step.differences + self.end_to_end.differences), None)

    @property
    def observed_failures(self) -> int:
        """The number of failures that the capture shows; it does not refute the others."""
        return sum(failure.observed == PROCESS_TERMINATED for failure in self.failures)

    @property
    def subscriptions(self) -> int:
        """The number of subscriptions that were compared step by step."""
        return sum(part.our_subscription is not None for part in self._members)

    @property
    def answers(self) -> int:
        """The number of assignments that were compared step by step."""
        return sum(part.our_assignment is not None for part in self._members)

    @property
    def _members(self) -> Iterator[MemberReplay]:
        return (part for generation in self.step_by_step.generations for part in generation.members)

    @property
    def generations(self) -> int:
        """The number of generations with members."""
        return sum(bool(generation.members) for generation in self.step_by_step.generations)

    @property
    def same_tasks(self) -> int:
        """The number of generations in which our leader assigns exactly the captured tasks to each member."""
        return sum(generation.same_tasks is True for generation in self.step_by_step.generations)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return {
            "verdict": _word(self, complete=self.complete),
            "generations": self.generations,
            "subscriptions": self.subscriptions,
            "answers": self.answers,
            "same_tasks": self.same_tasks,
            "step_by_step": _result_json(self.step_by_step, complete=self.complete),
            "end_to_end": _result_json(self.end_to_end, complete=self.complete),
            "failures": [
                {
                    "member": observed.failure.incarnation.name,
                    "step": _step_text(observed.failure.incarnation),
                    "generation": observed.failure.generation,
                    "reason": observed.failure.reason,
                    "bug": observed.failure.bug or None,
                    "captured": observed.observed,
                }
                for observed in self.failures
            ],
            "unexplained_failures": [
                {"instance": instance, "step": step} for instance, step in self.unexplained_failures
            ],
            "quiescent": self.quiescent,
            "inferred_steps": list(self.inferred),
            "notes": [
                {"generation": generation.number, "text": note}
                for generation in self.step_by_step.generations
                for note in generation.notes
            ],
        }


def check_conformance(capture: Capture, *, is_excerpt: bool = False) -> ConformanceVerdict:
    """Replay a capture step by step and end to end, and compare.

    The end-to-end replay stops at its first difference: later ones would be consequences.

    Args:
        capture: The messages.
        is_excerpt: Whether generations before the first one are missing. Members that are not new in the capture then
            begin in the state of their first subscription. The first generation is the state to begin with: its
            messages are not evidence.

    Raises:
        InvalidCapture: nothing in the capture can be compared.
    """
    if not is_excerpt:
        _require_first_generation(capture)
    incarnations = identify_members(capture)
    if is_excerpt:
        resume_members(incarnations)
    infer_steps(capture, incarnations)
    environment = infer_environment(capture, incarnations)
    stepwise = Replay(capture, incarnations, environment)
    generations = tuple(stepwise.generations())
    shown = snapshot_generations(capture)
    settled = _is_quiescent(capture, shown)
    observed = [_observe_failure(capture, shown, failure) for failure in stepwise.failures]
    differences = [
        *(difference for generation in generations for difference in generation.differences),
        *(observation for observation in observed if isinstance(observation, Difference)),
        *(_unsettled_members(stepwise, generations) if settled else ()),
    ]
    failures = tuple(observation for observation in observed if isinstance(observation, ObservedFailure))
    verdict = ConformanceVerdict(
        step_by_step=ReplayResult(generations, tuple(differences)),
        end_to_end=_end_to_end(Replay(capture, incarnations, environment, stepwise), settled=settled),
        failures=failures,
        unexplained_failures=tuple(_unexplained_failures(capture, shown, failures)),
        quiescent=settled,
        inferred=tuple(_inferred(incarnations)),
    )
    if not verdict.subscriptions and verdict.agrees:
        notes = dict.fromkeys(note for generation in generations for note in generation.notes)
        raise InvalidCapture(f"nothing in it can be compared: {'; '.join(notes) or 'no generation has members'}")
    return verdict


def verdict_or_error(capture: Capture) -> ConformanceVerdict | str:
    """Return the verdict on a whole capture, or why nothing in it can be compared."""
    try:
        return check_conformance(capture)
    except InvalidCapture as error:
        return str(error)


def _inferred(incarnations: IncarnationsByGeneration) -> Iterator[str]:
    """Yield the steps that the capture does not give, in order of appearance."""
    guessed = dict.fromkeys(
        incarnation for by_member_id in incarnations for incarnation in by_member_id.values() if incarnation.guessed
    )
    yield from dict.fromkeys(incarnation.started_as.text for incarnation in guessed if incarnation.started_as)


def _require_first_generation(capture: Capture) -> None:
    """Reject a capture that begins with members of unknown history, such as the middle of a group's life."""
    first = next((generation for generation in capture.generations if generation.members), None)
    if first is None or first.number <= 1:
        return
    for record in first.members:
        if has_tasks(decode_subscription_message(record.subscription)):
            name = record.client_id or record.member_id
            raise InvalidCapture(f"what came before generation {first.number} is missing: {name} already has tasks")


def _end_to_end(replay: Replay, *, settled: bool) -> ReplayResult:
    generations: list[GenerationReplay] = []
    for generation in replay.generations():
        generations.append(generation)
        if generation.differences:
            return ReplayResult(tuple(generations), tuple(generation.differences))
    return ReplayResult(tuple(generations), tuple(_final_task_differences(replay, generations)) if settled else ())


# -- final state -----------------------------------------------------------------------------------------------------


def _is_quiescent(capture: Capture, shown: Sequence[int]) -> bool:
    """Whether the last snapshot shows a stable group in the last generation."""
    if not capture.generations or not capture.snapshots:
        return False
    return capture.snapshots[-1].quiescent and shown[-1] == len(capture.generations) - 1


def _unsettled_members(replay: Replay, generations: Sequence[GenerationReplay]) -> Iterator[Difference]:
    for twin in sorted(replay.rejoining_members, key=lambda twin: twin.incarnation.name):
        reason = twin.received.follow_up.value if twin.received and twin.received.follow_up else "-"
        ours = f"rejoins immediately ({reason})"
        yield Difference(generations[-1].number, twin.incarnation.name, "in the end", "is stable", ours, twin.history)


def _final_task_differences(replay: Replay, generations: Sequence[GenerationReplay]) -> Iterator[Difference]:
    """Settle our members and compare: the same tasks have to be owned, each by one member."""
    captured = active_owner_counts(part.assignment for part in generations[-1].members)
    ours = replay.settle(generations[-1])
    if ours is not None and (captured.keys() != ours.keys() or max(ours.values(), default=1) > 1):
        yield Difference(
            generations[-1].number, "", "tasks in the end", _counts(captured), _counts(ours), "our members are stable"
        )


def _counts(tasks: Any) -> str:
    return ", ".join(f"{task}" + (f" ({count} times)" if count > 1 else "") for task, count in sorted(tasks.items()))


# -- failures --------------------------------------------------------------------------------------------------------


def _observe_failure(capture: Capture, shown: Sequence[int], failure: SimulatedFailure) -> ObservedFailure | Difference:
    """Compare a failure of ours with the snapshot after it."""
    after = [number for number, place in enumerate(shown) if place >= failure.generation_index]
    if not after or not any(
        snapshot.is_started_client(failure.incarnation.client_id) for snapshot in capture.snapshots
    ):
        return ObservedFailure(failure, NOT_SEEN)
    number = after[0]
    alike = tuple(simultaneous_starts(capture, number))
    client_id = failure.incarnation.client_id
    later = () if failure.immediate else capture.snapshots[number + len(alike) :]
    until = (*alike, *itertools.takewhile(lambda snapshot: not snapshot.is_started_client(client_id), later))
    if any(
        client_id.startswith(instance_prefix(instance))
        for snapshot in until
        for instance in snapshot.terminated_instances
    ):
        return ObservedFailure(failure, PROCESS_TERMINATED)
    if (
        number
        and failure.incarnation.first_index <= shown[number - 1]
        and any(snapshot.is_started_client(client_id) for snapshot in alike)
    ):
        return ObservedFailure(failure, RESTARTED)
    if failure.error.kafka_exception == _ENDS_WITHOUT_EXCEPTION and failure.incarnation.member_ids.isdisjoint(
        capture.snapshots[number].member_ids
    ):
        return ObservedFailure(failure, LEFT_GROUP)
    if not failure.immediate:
        return ObservedFailure(failure, NO_RECORD_SINCE)
    why = f"ours is {_step_text(failure.incarnation)}"
    return Difference(failure.generation, failure.incarnation.name, "fails", "goes on", f"fails: {failure.reason}", why)


def _unexplained_failures(
    capture: Capture, shown: Sequence[int], failures: Sequence[ObservedFailure]
) -> Iterator[tuple[int, str]]:
    """Yield captured failures without one of ours: corrupt state stores, bugs outside the protocol."""
    before: set[int] = set()
    for number, snapshot in enumerate(capture.snapshots):
        for instance in snapshot.terminated_instances:
            if instance not in before or snapshot.instance == instance:
                explained = any(
                    observed.failure.incarnation.client_id.startswith(instance_prefix(instance))
                    and (shown[number - 1] if number else -1) <= observed.failure.generation_index <= shown[number]
                    for observed in failures
                )
                if not explained:
                    yield instance, _started_as(capture, number, instance)
        before = set(snapshot.terminated_instances)


def _started_as(capture: Capture, number: int, instance: int) -> str:
    """Return the step that an instance was running at a snapshot, which may show the start of another instance.

    An empty group does not show simultaneous starts.
    """
    alike = (
        tuple(simultaneous_starts(capture, number))
        if capture.snapshots[number].member_ids
        else (capture.snapshots[number],)
    )
    until = (*capture.snapshots[:number], *alike)
    return next(
        (snapshot.step for snapshot in reversed(until) if snapshot.instance == instance), capture.snapshots[number].step
    )


# -- JSON ------------------------------------------------------------------------------------------------------------


def _word(judged: ConformanceVerdict | ReplayResult, *, complete: bool) -> str:
    if judged.agrees:
        return "agrees"
    return "differs" if complete else "incomplete"


def _step_text(incarnation: Incarnation) -> str:
    return incarnation.started_as.text if incarnation.started_as else "?"


def _result_json(run: ReplayResult, *, complete: bool) -> dict[str, Any]:
    return {
        "verdict": _word(run, complete=complete),
        "differences": [asdict(difference) for difference in run.differences],
        "generations": [
            {"generation": generation.number, "members": [_member_json(part) for part in generation.members]}
            for generation in run.generations
        ],
    }


def _member_json(part: MemberReplay) -> dict[str, Any]:
    return {
        "member": part.incarnation.name,
        "member_id": part.record.member_id,
        "step": _step_text(part.incarnation),
        "leader": part.is_leader,
        "captured": _messages_json(part.subscription, part.assignment),
        "ours": _messages_json(part.our_subscription, part.our_assignment),
    }


def _messages_json(sent: object, got: object) -> dict[str, Any]:
    return {
        "sends": {"version": sent.used_version, "supported": sent.supported_version}
        if isinstance(sent, SubscriptionMessage)
        else None,
        "gets": {
            "version": got.version,
            "supported": got.supported_version,
            "error_code": got.error_code,
            "active": [str(task) for task in sorted(got.partitions_by_task)],
            "standby": [str(task) for task in sorted(got.standby_partitions_by_task)],
        }
        if isinstance(got, AssignmentMessage)
        else None,
    }
