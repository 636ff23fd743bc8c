"""Failures of simulated members that a capture shows only indirectly: by missing records and missing generations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streams_assignor import FatalError, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.groups.capture import GenerationRecord
from streams_assignor.spark_sim.conformance._identity import Incarnation
from streams_assignor.spark_sim.conformance._twin import FailureInGeneration, Twin
from streams_assignor.spark_sim.conformance.messages import AssignmentMessage, SubscriptionMessage
from streams_assignor.spark_sim.conformance.result import (
    SUBTOPOLOGY_MISMATCH,
    GenerationReplay,
    MemberReplay,
    SimulatedFailure,
)
from streams_assignor.upgrade.plans import KAFKA_8649_RULE_SET


def final_failure(twin: Twin, index: int, next_generation: int | None) -> SimulatedFailure | None:
    """Return the failure of a member that has no record after the generation at ``index``; None if it could go on.

    ``next_generation``: the number of the generation that it would join next; None at the end of the capture.
    """
    for failure, immediate in (
        (twin.failure, True),
        (twin.mismatch_failure, True),
        (twin.delayed_failure, False),
    ):
        if failure:
            return SimulatedFailure(twin.incarnation, failure.generation, index, failure.error, immediate)
    if next_generation is not None and (error := twin.join_error()):
        return SimulatedFailure(twin.incarnation, next_generation, index, error)
    return None


def failures_in_missing_generations(
    index: int,
    before: tuple[GenerationRecord, Mapping[str, Incarnation]],
    after: tuple[GenerationRecord, Mapping[str, Incarnation]],
    twins: Mapping[Incarnation, Twin],
    cluster: ClusterSnapshot,
) -> Iterator[SimulatedFailure]:
    """Yield the failures of leaders in the generations that the capture lacks between two records.

    A leader that fails sends no assignments, so the broker writes no record. Only members without a later record can
    have failed; a client that starts again in the generation ``after`` was stopped. The members of the missing
    generations are those that disappear and those of ``after``.
    """
    (last_record, last_members), (record, members) = before, after
    starting = {incarnation.client_key for incarnation in members.values() if incarnation.first_index == index}
    disappearing = {
        member.member_id: incarnation
        for member in last_record.members
        if (incarnation := last_members[member.member_id]).last_index == index - 1
        and incarnation.client_key not in starting
    }
    group = {member.member_id: member.subscription for member in record.members}
    group |= {
        member: encoded
        for member, incarnation in disappearing.items()
        if (encoded := twins[incarnation].next_subscription()) is not None
    }
    leaders = sorted(
        group.keys() & disappearing.keys(), key=lambda member: (member != last_record.leader, disappearing[member].name)
    )
    for number, leader in zip(range(last_record.number + 1, record.number), leaders, strict=False):
        error = twins[disappearing[leader]].leader_error(cluster, group)
        if error is None:
            return
        yield SimulatedFailure(disappearing[leader], number, index, error)
        del group[leader]


def mark_subtopology_mismatches(
    generation: GenerationReplay,
    joining: list[MemberReplay],
    topology: Topology,
    twins: Mapping[Incarnation, Twin],
) -> None:
    """Mark the twins whose captured assignment pairs a task with partitions of another subtopology (KAFKA-8649).

    The captured member creates such a task immediately, finds no source node for the partition, and fails. Only leaders
    with that bug do it, and only while they probe: elsewhere a topic that seems to belong to another subtopology may
    have been moved there by a new topology.
    """
    leader = next((part for part in generation.members if part.is_leader), None)
    started_as = leader.incarnation.started_as if leader else None
    if started_as is None or started_as.release.rule_set != KAFKA_8649_RULE_SET:
        return
    if not any(
        isinstance(part.subscription, SubscriptionMessage)
        and part.subscription.used_version > started_as.release.supported_version
        for part in generation.members
    ):
        return
    sources = {number: subtopology.sources for number, subtopology in enumerate(topology.subtopologies)}
    for part in joining:
        if not isinstance(part.assignment, AssignmentMessage):
            continue
        for task, partitions in sorted(part.assignment.partitions_by_task.items()):
            foreign = sorted(
                partition for partition in partitions if partition.topic not in sources.get(task.subtopology, ())
            )
            if foreign:
                listed = ", ".join(map(str, foreign))
                error = FatalError(
                    f"task {task} comes with {listed}, which its subtopology does not read",
                    "NullPointerException",
                    code=SUBTOPOLOGY_MISMATCH,
                )
                twins[part.incarnation].mismatch_failure = FailureInGeneration(error, generation.number)
                generation.notes.append(f"{part.incarnation}: {error} (B6, KAFKA-8649)")
                break
