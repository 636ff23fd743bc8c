"""What the members of a capture run and where: topology and topics, as far as their own messages tell.

Assignments say which partitions make a task, so they say which topics a subtopology reads; that a subtopology has state
shows in standbys and in the state that members say they have. Each stateful subtopology gets one changelog. How long
changelogs are is not in the messages: the furthest that any member has come so far stands in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from assignor import Subtopology, Topology
from assignor.cluster import Cluster
from probing.events import AssignorError
from spark_sim.conform.capture import Capture, Generation, NotACapture
from spark_sim.conform.said import Got, Sent, read_got, read_sent
from subscription_codec import TaskId, TopicPartition

MOST_PARTITIONS: Final = 100_000
MOST_SUBTOPOLOGIES: Final = 1_000
"""Nobody has more; a file that says so is broken, and would take for ever."""
_UNSEEN: Final = "(unseen topic of subtopology {})"
_CHANGELOG: Final = "(changelog of subtopology {})"


@frozen
class Surroundings:
    """Topology and number of partitions of each topic."""

    topology: Topology
    partitions: dict[str, int]

    def cluster(self, generation: Generation, ends: Mapping[TaskId, int]) -> Cluster:
        """Say what the leader of a generation saw, given how far each changelog goes.

        That a topic was missing can be seen from the answers only: error code 1 says it.
        """
        missing = any(
            isinstance(got, Got) and got.error_code == AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA
            for got in (read_got(seat.assignment) for seat in generation.seats)
        )
        changelogs = {
            TopicPartition(topic, partition): ends.get(TaskId(number, partition), 0)
            for number, each in enumerate(self.topology.subtopologies)
            for topic in each.changelogs
            for partition in range(self.partitions[topic])
        }
        return Cluster(partitions={} if missing else self.partitions, offsets=changelogs)


def surroundings_of(capture: Capture) -> Surroundings:
    """Find them in all messages of a capture; ``NotACapture`` if nobody can have had so many tasks."""
    readers: dict[str, Counter[int]] = {}
    sizes: dict[str, int] = {}
    for task, inputs in _tasks(capture):
        for topic, partition in inputs:
            sizes[topic] = max(sizes.get(topic, 0), partition + 1)
            readers.setdefault(topic, Counter())[task.subtopology] += 1
    reads: dict[int, set[str]] = {}
    for topic, said in readers.items():
        reads.setdefault(_most_said(said), set()).add(topic)
    _check(sizes, reads)
    count = max(reads, default=-1) + 1
    unseen = {number: _UNSEEN.format(number) for number in range(count) if number not in reads}
    stateful = {task.subtopology for task in _with_state(capture)}
    changelogs = {number: _CHANGELOG.format(number) for number in sorted(stateful & reads.keys())}
    partitions = {
        **sizes,
        **dict.fromkeys(unseen.values(), 0),
        **{topic: max(sizes[each] for each in reads[number]) for number, topic in changelogs.items()},
    }
    subtopologies = (
        Subtopology(
            sources=reads.get(number) or {unseen[number]},
            changelogs=[changelogs[number]] if number in changelogs else (),
        )
        for number in range(count)
    )
    return Surroundings(Topology.of(*subtopologies), partitions)


def _most_said(said: Counter[int]) -> int:
    """Choose the subtopology that most messages name as the reader of a topic: one that is wrong is to be found out."""
    return max(sorted(said), key=said.__getitem__)


def _check(sizes: dict[str, int], reads: dict[int, set[str]]) -> None:
    for topic, size in sizes.items():
        if not 0 < size <= MOST_PARTITIONS:
            raise NotACapture(f"expected at most {MOST_PARTITIONS} partitions, but topic {topic!r} has a {size - 1}th")
    for number in reads:
        if not 0 <= number < MOST_SUBTOPOLOGIES:
            raise NotACapture(f"expected at most {MOST_SUBTOPOLOGIES} subtopologies, got number {number}")


def _sent(capture: Capture) -> Iterator[Sent]:
    for generation in capture.generations:
        for seat in generation.seats:
            if isinstance(sent := read_sent(seat.subscription), Sent):
                yield sent


def _got(capture: Capture) -> Iterator[Got]:
    for generation in capture.generations:
        for seat in generation.seats:
            if isinstance(got := read_got(seat.assignment), Got):
                yield got


def _tasks(capture: Capture) -> Iterator[tuple[TaskId, Iterable[TopicPartition]]]:
    for got in _got(capture):
        yield from got.inputs.items()
        yield from got.standby.items()


def _with_state(capture: Capture) -> Iterator[TaskId]:
    for got in _got(capture):
        yield from got.standby
    for sent in _sent(capture):
        yield from sent.sums
        yield from sent.stored
