"""Infers the environment of a captured group from its messages: the topology and the topics.

Assignments contain the partitions of each task, and so the source topics of each subtopology. A subtopology has state
if members report state stores, or if it has standbys (up to 2.5 stateless tasks have standbys, too). Each stateful
subtopology has one changelog. End offsets are not in the messages. The largest offset sum that was reported so far
replaces them. (The owner of an active task does not report its offset.)
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from streams_assignor import Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups.capture import Capture, GenerationRecord, InvalidCapture
from streams_assignor.probing.model import AssignorError
from streams_assignor.spark_sim.conformance._identity import Incarnation, IncarnationsByGeneration
from streams_assignor.spark_sim.conformance.messages import (
    AssignmentMessage,
    SubscriptionMessage,
    decode_assignment_message,
    decode_subscription_message,
)

MAX_PARTITIONS: Final = 100_000
MAX_SUBTOPOLOGIES: Final = 1_000
"""No real group has more; a corrupt file with more would take too long."""
_MAX_UNSEEN: Final = 1_000
"""A leader assigns every partition, so a gap this large is a corrupt partition number."""
_MIN_END_OFFSET: Final = 1
"""A changelog has a record even if no member reports an offset."""
_UNSEEN: Final = "(unseen topic of subtopology {})"
_CHANGELOG: Final = "(changelog of subtopology {})"


@frozen
class Environment:
    """The topology and the topics of a captured group."""

    topology: Topology
    partitions: tuple[Mapping[str, int], ...]
    """The partition counts in the metadata of each generation's leader."""
    max_offset_sum: int
    """The largest reported offset sum."""

    def cluster(self, at: int, end_offsets: Mapping[TaskId, int]) -> ClusterSnapshot:
        """Return the metadata of the leader of the generation at an index, with the given end offsets of changelogs."""
        partitions = self.partitions[at]
        changelogs = {
            TopicPartition(topic, partition): end_offsets.get(TaskId(number, partition), 0)
            for number, subtopology in enumerate(self.topology.subtopologies)
            for topic in subtopology.changelogs
            for partition in range(partitions.get(topic, 0))
        }
        return ClusterSnapshot(partitions=partitions, end_offsets=changelogs)


def infer_environment(capture: Capture, incarnations: IncarnationsByGeneration) -> Environment:
    """Infer the environment from all messages of a capture.

    Raises:
        InvalidCapture: the capture has an impossible number of tasks.
    """
    readers: dict[str, Counter[int]] = {}
    named: dict[str, set[int]] = {}
    for task, inputs in itertools.chain.from_iterable(map(_tasks_with_partitions, capture.generations)):
        for topic, partition in inputs:
            named.setdefault(topic, set()).add(partition)
            readers.setdefault(topic, Counter())[task.subtopology] += 1
    reads: dict[int, set[str]] = {}
    for topic, counts in readers.items():
        reads.setdefault(_most_frequent(counts), set()).add(topic)
    _check(named, reads)
    sizes = {topic: max(partitions) + 1 for topic, partitions in named.items()}
    count = max(reads, default=0) + 1  # a capture without tasks has one subtopology without partitions
    unseen = {number: _UNSEEN.format(number) for number in range(count) if number not in reads}
    stateful = {task.subtopology for task in _stateful_tasks(capture, incarnations)}
    changelogs = {number: _CHANGELOG.format(number) for number in sorted(stateful & reads.keys())}
    partitions = {
        **sizes,
        **dict.fromkeys(unseen.values(), 0),
        **{topic: max(sizes[source] for source in reads[number]) for number, topic in changelogs.items()},
    }
    fixed = {topic for number in changelogs for topic in reads[number]}
    subtopologies = (
        Subtopology(
            sources=reads.get(number) or {unseen[number]},
            changelogs=[changelogs[number]] if number in changelogs else (),
        )
        for number in range(count)
    )
    max_offset_sum = max(
        (offset_sum for sent in _subscriptions(capture) for offset_sum in sent.offset_sums.values()), default=0
    )
    return Environment(
        Topology.of(*subtopologies),
        tuple(_partition_counts(capture, partitions, fixed, incarnations)),
        max(max_offset_sum, _MIN_END_OFFSET),
    )


def _partition_counts(
    capture: Capture,
    final_counts: Mapping[str, int],
    fixed: Collection[str],
    incarnations: IncarnationsByGeneration,
) -> Iterator[Mapping[str, int]]:
    """Yield the partition counts of each generation: up to the highest partition that was assigned by then.

    A leader assigns all partitions of its metadata and withholds only owned ones, so an added partition shows in the
    assignments. The counts of ``fixed`` topics cannot change: a stateful task needs as many changelog partitions, and
    Kafka Streams fails otherwise. Only error code 1 in the assignments shows that a topic was missing. The tasks
    of a resumed member were assigned before the excerpt.
    """
    so_far: dict[str, int] = {}
    for generation, by_member_id in zip(capture.generations, incarnations, strict=True):
        owned = (_owned_before(incarnation) for incarnation in by_member_id.values() if incarnation.resumed)
        for topic, partition in itertools.chain(
            *(inputs for _, inputs in _tasks_with_partitions(generation)), itertools.chain.from_iterable(owned)
        ):
            if topic in final_counts and topic not in fixed:
                so_far[topic] = max(so_far.get(topic, 0), partition + 1)
        missing = any(
            got.error_code == AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA for got in _assignments(generation)
        )
        yield {} if missing else {**final_counts, **so_far}


def _owned_before(incarnation: Incarnation) -> Collection[TopicPartition]:
    sent = incarnation.first_subscription
    return sent.owned_partitions if isinstance(sent, SubscriptionMessage) else ()


def _most_frequent(counts: Counter[int]) -> int:
    """Return the most frequent reader of a topic, so that a single wrong message shows as a difference."""
    return max(sorted(counts), key=counts.__getitem__)


def _check(named: Mapping[str, Collection[int]], reads: Mapping[int, Collection[str]]) -> None:
    for topic, partitions in named.items():
        if wrong := [number for number in partitions if not 0 <= number < MAX_PARTITIONS]:
            raise InvalidCapture(
                f"expected at most {MAX_PARTITIONS} partitions, but topic {topic!r} has a {wrong[0]}th"
            )
        if (last := max(partitions)) - len(partitions) >= _MAX_UNSEEN:
            seen = f"only {len(partitions)} of its partitions are ever assigned"
            raise InvalidCapture(f"topic {topic!r} has a {last}th partition, but {seen}")
    for number in reads:
        if not 0 <= number < MAX_SUBTOPOLOGIES:
            raise InvalidCapture(f"expected at most {MAX_SUBTOPOLOGIES} subtopologies, got number {number}")


def _subscriptions(capture: Capture) -> Iterator[SubscriptionMessage]:
    for generation in capture.generations:
        for record in generation.members:
            if isinstance(sent := decode_subscription_message(record.subscription), SubscriptionMessage):
                yield sent


def _assignments(generation: GenerationRecord) -> Iterator[AssignmentMessage]:
    for record in generation.members:
        if isinstance(got := decode_assignment_message(record.assignment), AssignmentMessage):
            yield got


def _tasks_with_partitions(generation: GenerationRecord) -> Iterator[tuple[TaskId, Iterable[TopicPartition]]]:
    for got in _assignments(generation):
        yield from got.partitions_by_task.items()
        yield from got.standby_partitions_by_task.items()


def _stateful_tasks(capture: Capture, incarnations: IncarnationsByGeneration) -> Iterator[TaskId]:
    for sent in _subscriptions(capture):
        yield from sent.offset_sums
        yield from sent.stored_tasks
    for generation, by_member_id in zip(capture.generations, incarnations, strict=True):
        leader = by_member_id.get(generation.leader or "")
        if leader is None or leader.started_as is None or not leader.started_as.release.behaviour.stateless_standbys:
            yield from (task for got in _assignments(generation) for task in got.standby_partitions_by_task)
