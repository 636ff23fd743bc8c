"""Infers the releases of members from their behaviour, for captures without ``steps`` and ``snapshots``.

The first message of an incarnation allows several releases and configurations: a version 2 may come from 1.1.1, or from
3.9.2 with upgrade.from. Later messages decide. The search begins with the newest release that fits each incarnation and
replays the capture. At the first difference it tries the other steps of the incarnations involved, and keeps a step
with which the replay gets further. A capture that agrees with some steps agrees; one that differs with all steps
that were tried is incomplete, because the true steps may be others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.conformance._environment import infer_environment
from streams_assignor.spark_sim.conformance._identity import (
    Incarnation,
    IncarnationsByGeneration,
    StartedAs,
    open_steps,
)
from streams_assignor.spark_sim.conformance._replay import Replay
from streams_assignor.spark_sim.conformance.messages import (
    AssignmentMessage,
    SubscriptionMessage,
    decode_assignment_message,
)
from streams_assignor.spark_sim.conformance.result import GenerationReplay

_MAX_REPLAYS: Final = 200
"""Limit for a capture that no steps explain; real ones agree long before."""
_MIN_REPLAYS: Final = 20
_MAX_JOINS: Final = 20_000
"""Limit of the joins in all replays together, so that a large group is replayed less often."""


@frozen
class _ReplayProgress:
    """The first generation with differences."""

    score: tuple[int, int]
    """Higher for a later first difference, and for fewer differences in that generation."""
    generation: GenerationReplay | None
    """None if the replays agree."""


def infer_steps(capture: Capture, incarnations: IncarnationsByGeneration) -> None:
    """Set ``started_as`` of every incarnation whose step is a guess; those that no release fits stay unknown.

    A difference of either replay counts; the end-to-end replay runs after the step-by-step replay.
    """
    guessed = list(
        dict.fromkeys(
            incarnation
            for by_member_id in incarnations
            for incarnation in by_member_id.values()
            if incarnation.guessed and incarnation.started_as
        )
    )
    if not guessed:
        return
    replicas = replica_counts(capture)
    joins = sum(map(len, incarnations))
    replays = min(max(_MAX_JOINS // joins, _MIN_REPLAYS), _MAX_REPLAYS)
    reached = _reach(capture, incarnations)
    while reached.generation is not None:
        for change in _changes(guessed, reached.generation, replicas):
            before = {incarnation: incarnation.started_as for incarnation in change}
            for incarnation, step in change.items():
                incarnation.started_as = step
            replays -= 1
            candidate = _reach(capture, incarnations)
            if candidate.score > reached.score:
                reached = candidate
                break
            for incarnation, was in before.items():
                incarnation.started_as = was
            if replays <= 0:
                return
        else:
            return


def _reach(capture: Capture, incarnations: IncarnationsByGeneration) -> _ReplayProgress:
    environment = infer_environment(capture, incarnations)
    stepwise = Replay(capture, incarnations, environment)
    for at, generation in enumerate(stepwise.generations()):
        if generation.differences:
            return _ReplayProgress((at, -len(generation.differences)), generation)
    far = len(capture.generations)
    for at, generation in enumerate(Replay(capture, incarnations, environment, stepwise).generations(), far):
        if generation.differences:
            return _ReplayProgress((at, -len(generation.differences)), generation)
    return _ReplayProgress((2 * far, 0), None)


def _changes(
    guessed: Sequence[Incarnation], generation: GenerationReplay, replicas: Sequence[int]
) -> Iterator[Mapping[Incarnation, StartedAs]]:
    """Yield other steps of the incarnations behind a difference, first together with later ones that began alike."""
    named = {difference.member for difference in generation.differences}
    behind = [part.incarnation for part in generation.members if part.is_leader or part.incarnation.name in named]
    releases = [incarnation.started_as.release for incarnation in guessed if incarnation.started_as]
    for incarnation in behind:
        if not incarnation.guessed or incarnation.started_as is None:
            continue
        alike = [
            candidate
            for candidate in guessed
            if _versions(candidate) == _versions(incarnation) and candidate.first_index >= incarnation.first_index
        ]
        # Only the leader's number of standbys matters; processes that start later mostly have the same.
        for step, count in itertools.product(open_steps(incarnation.first_subscription, releases), replicas):
            changed = evolve(step, text=_text(step, count), config=evolve(step.config, num_standby_replicas=count))
            if changed.text == incarnation.started_as.text:
                continue
            together = {candidate: candidate.with_reported_config(changed) for candidate in alike}
            if len(together) > 1:
                yield together
            yield {incarnation: incarnation.with_reported_config(changed)}


def _text(step: StartedAs, replicas: int) -> str:
    return f"{step.text},num.standby.replicas={replicas}" if replicas else step.text


def _versions(incarnation: Incarnation) -> tuple[int, int, int] | None:
    began = incarnation.first_subscription
    return (
        (began.used_version, began.supported_version, began.consumer_protocol_version)
        if isinstance(began, SubscriptionMessage)
        else None
    )


def replica_counts(capture: Capture) -> list[int]:
    """Return the possible values of num.standby.replicas: those that some generation shows, and 0."""
    counts = {0}
    for generation in capture.generations:
        answers = [
            got
            for record in generation.members
            if isinstance(got := decode_assignment_message(record.assignment), AssignmentMessage)
        ]
        standbys = Counter(task for got in answers for task in got.standby_partitions_by_task)
        counts.add(max(standbys.values(), default=0))
    return sorted(counts)
