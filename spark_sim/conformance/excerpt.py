"""Judges an excerpt of a group's history, whose releases are not known: conforms, differs, or cannot be said.

Such a history has no steps, so a difference alone does not refute the simulator: the releases may be others. It is
decided if

- its fact depends on nothing but releases, upgrade.from and standbys. Numbers of tasks also depend on settings and
  lags that no message has;
- with every release and configuration that can have sent the first subscription of the responsible member, something
  differs in the same generation. Step by step, a member depends on its own release and on captured messages only, so
  no other member's release has to be tried;
- no record is missing right before it, with which a member's state may have changed.

An excerpt that agrees with inferred releases conforms: a real group of these releases may have written it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Final

from attrs import evolve, frozen

from streams_assignor.groups.capture import Capture, GenerationRecord, InvalidCapture
from streams_assignor.spark_sim.conformance._compare import Difference
from streams_assignor.spark_sim.conformance._environment import infer_environment
from streams_assignor.spark_sim.conformance._identity import Incarnation, StartedAs, open_steps
from streams_assignor.spark_sim.conformance._replay import Replay
from streams_assignor.spark_sim.conformance._step_inference import replica_counts
from streams_assignor.spark_sim.conformance.verdict import ConformanceVerdict, check_conformance

RELEASES_INFERRED: Final = "releases are inferred"
SETTINGS_UNKNOWN: Final = "settings and lags are not in the records"
RECORDS_MISSING: Final = "generations right before it have no record"
END_TO_END_ONLY: Final = "only the end-to-end replay differs"
NOTHING_COMPARED: Final = "no message can be compared"

_SENT: Final = frozenset(
    {"sends", "sends version", "sends supported version", "sends consumer protocol", "ran tasks", "owns partitions"}
)
"""Facts that the release of the member decides, given its last assignment."""
_RECEIVED: Final = frozenset(
    {
        "receives",
        "receives version",
        "receives supported version",
        "receives its previous tasks",
        "tasks assigned twice",
    }
)
"""Facts that the release of the leader decides, given the subscriptions."""


@frozen
class ExcerptVerdict:
    """The verdict on one excerpt."""

    conforms: bool | None
    """None if it cannot be said."""
    reason: str
    """Why it cannot be said; "" if it can."""
    difference: Difference | None = None
    """The first difference, also if it decides nothing."""
    subscriptions: int = 0
    """Compared subscriptions."""
    assignments: int = 0
    """Compared assignments."""


def judge_excerpt(capture: Capture) -> ExcerptVerdict:
    """Compare an excerpt with simulated members that begin in the state of its first generation."""
    try:
        verdict = check_conformance(capture, is_excerpt=True)
    except InvalidCapture:
        return ExcerptVerdict(None, NOTHING_COMPARED)
    difference, compared = verdict.first_difference, (verdict.subscriptions, verdict.answers)
    if difference is None:
        reason = "" if all(compared) else NOTHING_COMPARED
        return ExcerptVerdict(None if reason else True, reason, None, *compared)
    reason = _open_question(capture, verdict)
    return ExcerptVerdict(None if reason else False, reason, difference, *compared)


def _open_question(capture: Capture, verdict: ConformanceVerdict) -> str:
    """Return what may explain the first generation that differs; "" if nothing may."""
    if verdict.step_by_step.agrees:
        return END_TO_END_ONLY
    first = verdict.step_by_step.differences[0].generation
    at = next(at for at, generation in enumerate(verdict.step_by_step.generations) if generation.number == first)
    decisive = [
        difference
        for difference in verdict.step_by_step.differences
        if difference.generation == first and difference.what in _SENT | _RECEIVED
    ]
    if not decisive:
        return SETTINGS_UNKNOWN
    if at and _may_miss_record(*capture.generations[at - 1 : at + 1]):
        return RECORDS_MISSING
    explained = all(_can_be_explained(capture, verdict, at, difference) for difference in decisive)
    return RELEASES_INFERRED if explained else ""


def _may_miss_record(before: GenerationRecord, after: GenerationRecord) -> bool:
    """Whether a record between two that follow each other may be lost.

    The coordinator writes the record of a generation again when a static member comes back under another member id. If
    the first one is lost, no number is missing, but the subscription is newer than the assignment.
    """
    earlier_ids = {member.member_id for member in before.members}
    has_returned = any(member.group_instance_id and member.member_id not in earlier_ids for member in after.members)
    return after.number > before.number + 1 or has_returned


def _can_be_explained(capture: Capture, verdict: ConformanceVerdict, at: int, difference: Difference) -> bool:
    """Whether the responsible member may run another release with which it does not differ in this generation."""
    incarnations = [
        {part.record.member_id: part.incarnation for part in generation.members}
        for generation in verdict.step_by_step.generations
    ]
    members = verdict.step_by_step.generations[at].members
    is_sent = difference.what in _SENT
    responsible = next(
        (
            part.incarnation
            for part in members
            if (part.incarnation.name == difference.member if is_sent else part.is_leader)
        ),
        None,
    )
    if responsible is None:
        return True
    facts = _SENT if is_sent else _RECEIVED
    was = responsible.started_as
    try:
        for step in _steps(responsible, replica_counts(capture)):
            responsible.started_as = step
            replay = Replay(capture, incarnations, infer_environment(capture, incarnations))
            generation = next(itertools.islice(replay.generations(), at, None))
            if not any(
                other.what in facts and (not is_sent or other.member == responsible.name)
                for other in generation.differences
            ):
                return True
    finally:
        responsible.started_as = was
    return False


def _steps(incarnation: Incarnation, replicas: Collection[int]) -> Iterator[StartedAs]:
    for step, count in itertools.product(open_steps(incarnation.first_subscription), replicas):
        configured = evolve(step, config=evolve(step.config, num_standby_replicas=count))
        yield incarnation.with_reported_config(configured)
