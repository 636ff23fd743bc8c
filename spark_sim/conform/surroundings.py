"""What the members of a capture run and where: topology and topics, as far as their own messages tell.

Assignments say which partitions make a task, so they say which topics a subtopology reads; that a subtopology has state
shows in the state that members say they have, and in standbys (which up to 2.5 stateless tasks have too). Each stateful
subtopology gets one changelog. How long changelogs are is not in the messages: the furthest that any member has come so
far stands in. (Who runs a task does not say how far it has come.)
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from assignor import Subtopology, Topology
from assignor.cluster import Cluster
from assignor.eras import era_of
from probing.events import AssignorError
from spark_sim.conform.capture import Capture, Generation, NotACapture
from spark_sim.conform.lives import Cast
from spark_sim.conform.said import Got, Sent, read_got, read_sent
from subscription_codec import TaskId, TopicPartition

MOST_PARTITIONS: Final = 100_000
MOST_SUBTOPOLOGIES: Final = 1_000
"""Nobody has more; a file that says so is broken, and would take for ever."""
_MOST_UNSEEN: Final = 1_000
"""A leader gives every partition to somebody; a single wrong number is to be found out, not to make a topic."""
_SHORTEST: Final = 1
"""State has a record, even if nobody tells of it."""
_UNSEEN: Final = "(unseen topic of subtopology {})"
_CHANGELOG: Final = "(changelog of subtopology {})"


@frozen
class Surroundings:
    """Topology, and the number of partitions of each topic as the leader of each generation saw it.

    ``furthest`` is the longest changelog that anybody tells of.
    """

    topology: Topology
    partitions: tuple[Mapping[str, int], ...]
    furthest: int

    def cluster(self, at: int, ends: Mapping[TaskId, int]) -> Cluster:
        """Say what the leader of the generation at this place saw, given how far each changelog goes."""
        partitions = self.partitions[at]
        changelogs = {
            TopicPartition(topic, partition): ends.get(TaskId(number, partition), 0)
            for number, each in enumerate(self.topology.subtopologies)
            for topic in each.changelogs
            for partition in range(partitions.get(topic, 0))
        }
        return Cluster(partitions=partitions, offsets=changelogs)


def surroundings_of(capture: Capture, cast: Cast) -> Surroundings:
    """Find them in all messages of a capture; ``NotACapture`` if nobody can have had so many tasks."""
    readers: dict[str, Counter[int]] = {}
    named: dict[str, set[int]] = {}
    for task, inputs in itertools.chain.from_iterable(map(_given, capture.generations)):
        for topic, partition in inputs:
            named.setdefault(topic, set()).add(partition)
            readers.setdefault(topic, Counter())[task.subtopology] += 1
    reads: dict[int, set[str]] = {}
    for topic, said in readers.items():
        reads.setdefault(_most_said(said), set()).add(topic)
    _check(named, reads)
    sizes = {topic: max(partitions) + 1 for topic, partitions in named.items()}
    count = max(reads, default=-1) + 1
    unseen = {number: _UNSEEN.format(number) for number in range(count) if number not in reads}
    stateful = {task.subtopology for task in _with_state(capture, cast)}
    changelogs = {number: _CHANGELOG.format(number) for number in sorted(stateful & reads.keys())}
    partitions = {
        **sizes,
        **dict.fromkeys(unseen.values(), 0),
        **{topic: max(sizes[each] for each in reads[number]) for number, topic in changelogs.items()},
    }
    fixed = {topic for number in changelogs for topic in reads[number]}
    subtopologies = (
        Subtopology(
            sources=reads.get(number) or {unseen[number]},
            changelogs=[changelogs[number]] if number in changelogs else (),
        )
        for number in range(count)
    )
    furthest = max((known for sent in _sent(capture) for known in sent.sums.values()), default=0)
    return Surroundings(Topology.of(*subtopologies), tuple(_seen(capture, partitions, fixed)), max(furthest, _SHORTEST))


def _seen(capture: Capture, in_the_end: Mapping[str, int], fixed: Collection[str]) -> Iterator[Mapping[str, int]]:
    """Say how many partitions each topic had in each generation: up to the last one that had been given away by then.

    Who leads gives away all that it sees, and withholds nothing that nobody had: so a topic that has got more shows.
    Those that are ``fixed`` cannot: state has as many partitions as what it is made of, and Kafka Streams refuses to go
    on with another number. That a topic was missing can be seen from the answers only: error code 1 says it.
    """
    so_far: dict[str, int] = {}
    for generation in capture.generations:
        for topic, partition in itertools.chain.from_iterable(inputs for _, inputs in _given(generation)):
            if topic not in fixed:
                so_far[topic] = max(so_far.get(topic, 0), partition + 1)
        missing = any(got.error_code == AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA for got in _answers(generation))
        yield {} if missing else {**in_the_end, **so_far}


def _most_said(said: Counter[int]) -> int:
    """Choose the subtopology that most messages name as the reader of a topic: one that is wrong is to be found out."""
    return max(sorted(said), key=said.__getitem__)


def _check(named: Mapping[str, Collection[int]], reads: Mapping[int, Collection[str]]) -> None:
    for topic, partitions in named.items():
        if wrong := [number for number in partitions if not 0 <= number < MOST_PARTITIONS]:
            raise NotACapture(f"expected at most {MOST_PARTITIONS} partitions, but topic {topic!r} has a {wrong[0]}th")
        if (last := max(partitions)) - len(partitions) >= _MOST_UNSEEN:
            seen = f"only {len(partitions)} of its partitions are ever given away"
            raise NotACapture(f"topic {topic!r} has a {last}th partition, but {seen}")
    for number in reads:
        if not 0 <= number < MOST_SUBTOPOLOGIES:
            raise NotACapture(f"expected at most {MOST_SUBTOPOLOGIES} subtopologies, got number {number}")


def _sent(capture: Capture) -> Iterator[Sent]:
    for generation in capture.generations:
        for seat in generation.seats:
            if isinstance(sent := read_sent(seat.subscription), Sent):
                yield sent


def _answers(generation: Generation) -> Iterator[Got]:
    for seat in generation.seats:
        if isinstance(got := read_got(seat.assignment), Got):
            yield got


def _given(generation: Generation) -> Iterator[tuple[TaskId, Iterable[TopicPartition]]]:
    for got in _answers(generation):
        yield from got.inputs.items()
        yield from got.standby.items()


def _with_state(capture: Capture, cast: Cast) -> Iterator[TaskId]:
    for sent in _sent(capture):
        yield from sent.sums
        yield from sent.stored
    for generation, lives in zip(capture.generations, cast, strict=True):
        leader = lives.get(generation.leader or "")
        if leader is None or leader.step is None or not era_of(leader.step.release.number).standbys_without_state:
            yield from (task for got in _answers(generation) for task in got.standby)
