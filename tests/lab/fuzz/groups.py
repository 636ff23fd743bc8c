"""Whole groups with one hostile member: ``python -m tests.lab.fuzz.groups --groups 100000 [--seed 0] [--seconds 120]``.

``check(seed)`` plays one rebalance and raises ``Broken`` if a property does not hold; the seed alone decides about it.
The hostile member sends mutated bytes of a real member or a record with extreme values, as a follower or as the leader.
Topic metadata are extreme in some groups, and each group is inspected as a broker would describe it.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any, Final
from uuid import UUID

from attrs import evolve

from streams_assignor import FatalError, StreamsAssignor, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import (
    Assignment,
    ClientTag,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.groups import DescribedGroup, DescribedGroupMember, finding_text, inspect_group
from streams_assignor.task_assignor import BUILT_IN
from streams_assignor.upgrade import StreamsConfig, release_named
from streams_assignor.upgrade.cluster.features.carried_levels import MAGIC, CarriedLevels, encode_levels
from tests.lab.fuzz import shapes

NAMES: Final = "abc"
HOSTILE: Final = "b"
"""Neither first nor last, so that members before and after it in the leader's order are honest."""
WATCHED: Final = "group.version"
LISTS_TASKS_WRONGLY: Final = "2.0.1"
"""While a member of a later version is probed, a leader of this release assigns tasks twice (``probing.rules``)."""
RELEASES: Final = ("streams-assignor", "streams-assignor", "streams-assignor-3", "2.0.1", "2.6.3", "2.8.2", "4.3.1")

TOPOLOGIES: Final = (
    Topology.of(Subtopology(sources=["orders"], changelogs=["counts"])),
    Topology.of(
        Subtopology(sources=["orders"], repartition_sinks=["by-user"]),
        Subtopology(sources=["clicks"], repartition_sources=["by-user"], changelogs=["totals", "clicks"]),
    ),
)
SIZES: Final = {"orders": 4, "clicks": 3, "by-user": 4, "counts": 4, "totals": 4}
INTEGERS: Final = (0, 1, 2, 3, 7, 11, 12, 99, 255, 65_536, 2**31 - 1, -1, -2, -3, -(2**31))
LONGS: Final = (*INTEGERS, 2**63 - 1, -(2**63))
TEXTS: Final = ("", "orders", "clicks", "counts", "h:1", "h", ":", "h:99999", "\0", "\udcff", "é😀", "h" * 300 + ":1")
LONG_END_POINT: Final = "h" * 70_000 + ":1"


class Broken(AssertionError):
    """A property does not hold."""


@cache
def subscription_of(topology: int, name: str, release: str, joined: bool) -> bytes:
    """Return the first or second subscription of an honest member."""
    member = an_honest_member(topology, name, release)
    if joined:
        answers = member.assign(a_cluster(topology), {name: member.subscription()})
        member.on_assignment(answers[name])
    return member.subscription()


def an_honest_member(topology: int, name: str, release: str) -> StreamsAssignor:
    ours = release.startswith("streams-assignor")
    return StreamsAssignor(
        TOPOLOGIES[topology],
        StreamsConfig(application_server=f"{name}:1"),
        process_id=UUID(int=ord(name)),
        release=release_named(release),
        extension=watching() if ours else None,
    )


def watching() -> CarriedLevels:
    """Return the memory of a member of which the cluster has answered level 1."""
    carried = CarriedLevels([WATCHED])
    carried.observed = {WATCHED: 1}
    return carried


@cache
def a_cluster(topology: int) -> ClusterSnapshot:
    names = {
        topic
        for each in TOPOLOGIES[topology].subtopologies
        for topic in (*each.inputs, *each.repartition_sinks, *each.changelogs)
    }
    return cluster_of({topic: SIZES[topic] for topic in sorted(names)})


def cluster_of(sizes: Mapping[str, int], end: int = 100) -> ClusterSnapshot:
    ends = {TopicPartition(topic, number): end for topic, size in sizes.items() for number in range(size)}
    return ClusterSnapshot(partitions=sizes, end_offsets=ends, now_ms=1)


# -- what a hostile member sends -------------------------------------------------------------------------------------


def mutated(random: Random, encoded: bytes) -> bytes:
    """Return real bytes with one to four changes."""
    raw = bytearray(encoded)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(raw) + 1)
        match random.randrange(6):
            case 0:
                raw[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                raw[at : at + 4] = shapes.int32(random.choice(INTEGERS))
            case 2:
                del raw[at : at + random.randint(1, 8)]
            case 3:
                raw[at:at] = random.randbytes(random.randint(1, 8))
            case 4:
                raw[at:at] = raw[random.randrange(len(raw) + 1) :][:40]
            case _:
                raw += random.choice((MAGIC, encode_levels({WATCHED: 32767}), shapes.levels(600)))
    return bytes(raw)


def some(random: Random, make: Callable[[Random], Any], most: int = 6) -> tuple[Any, ...]:
    return tuple(make(random) for _ in range(random.randrange(most)))


def a_task(random: Random) -> TaskId:
    far = random.random() < 0.3
    numbers = (random.choice(INTEGERS), random.choice(INTEGERS)) if far else (random.randrange(3), random.randrange(5))
    return TaskId(*numbers, random.choice((None, None, None, "n")))


def a_partition(random: Random) -> TopicPartition:
    return TopicPartition(random.choice(TEXTS[:4]), random.choice((0, 1, 2, 3, 4, *INTEGERS)))


def a_text(random: Random) -> str:
    return LONG_END_POINT if random.random() < 0.02 else random.choice(TEXTS)


def hostile_subscription(random: Random) -> bytes:
    """Return a record that no member of Kafka sends, in valid bytes."""
    version = random.randint(1, 11)
    named = version >= 10

    def task(random: Random) -> TaskId:
        made = a_task(random)
        return made if named else made._replace(topology=None)

    userdata = Subscription(
        version,
        random.choice((version, 11, 11, 12, *INTEGERS)) if version >= 3 else -1,
        random.choice((UUID(int=0), UUID(int=ord("a")), UUID(int=7), UUID(int=2**128 - 1))),
        some(random, lambda random: task(random)._replace(topology=None)),
        some(random, lambda random: task(random)._replace(topology=None)),
        a_text(random),
        tuple(TaskOffsetSum(task(random), random.choice(LONGS)) for _ in range(random.randrange(6))),
        random.randint(-128, 127),
        random.choice((0, 0, 0, 1, 2, 3, *INTEGERS)),
        some(random, lambda random: ClientTag(a_text(random), a_text(random))),
        encode_levels(
            {WATCHED: random.choice((1, 2, 32767)), **dict.fromkeys(map(str, range(random.randrange(80))), 1)}
        ),
    )
    owned = tuple(
        TopicPartitions(random.choice(TEXTS[:4]), some(random, lambda random: random.choice((0, 1, 2, 3, *INTEGERS))))
        for _ in range(random.randrange(3))
    )
    envelope = ConsumerSubscription(
        ("orders",), encode_subscription(userdata), owned, random.choice(INTEGERS), random.choice((None, "r")),
        random.choice((0, 1, 2, 3, 4, 9)),
    )  # fmt: skip
    return encode_consumer_subscription(envelope)


def hostile_assignment(random: Random) -> bytes:
    """Return an assignment that no leader of Kafka sends, in valid bytes."""
    version = random.randint(1, 11)
    tasks, partitions = some(random, a_task), some(random, a_partition)
    if version < 10:
        tasks = tuple(each._replace(topology=None) for each in tasks)
    hosts = tuple(
        HostPartitions(HostInfo(random.choice(TEXTS), random.choice(INTEGERS)), some(random, a_partition))
        for _ in range(random.randrange(3))
    )
    userdata = Assignment(
        version,
        random.choice((version, 11, 12, *INTEGERS)) if version >= 3 else -1,
        tasks,
        tuple(StandbyTask(each, partitions) for each in tasks),
        hosts,
        hosts,
        random.choice((0, 0, 0, 1, 2, 3, *INTEGERS)),
        random.choice(LONGS),
        trailing=encode_levels({WATCHED: 32767}),
    )
    assigned = tuple(TopicPartitions(each.topic, (each.partition,)) for each in partitions[: len(tasks)])
    return encode_consumer_assignment(ConsumerAssignment(assigned, encode_assignment(userdata)))


def hostile_cluster(random: Random, topology: int) -> ClusterSnapshot:
    """Return topic metadata that do not fit: missing topics, other numbers of partitions, extreme offsets."""
    usual = a_cluster(topology)
    sizes = {
        topic: random.choice((0, 1, size, size, size, 50))
        for topic, size in usual.partitions.items()
        if random.random() < 0.9
    }
    made = cluster_of(sizes, random.choice((0, 100, 2**63 - 1, -1)))
    return evolve(
        made,
        topics_complete=random.random() < 0.5,
        end_offsets=made.end_offsets if random.random() < 0.8 else None,
        now_ms=random.choice((0, 1, 2**62)),
    )


# -- one group -------------------------------------------------------------------------------------------------------


def check(seed: int) -> str:
    """Play one rebalance; return what came of it. Raises ``Broken``, or what no reader documents."""
    random = Random(seed)
    topology = random.randrange(len(TOPOLOGIES))
    release = random.choice(RELEASES)
    honest = {name: an_honest_member(topology, name, release) for name in NAMES if name != HOSTILE}
    joined = {name: subscription_of(topology, name, release, random.random() < 0.7) for name in honest}
    cluster = hostile_cluster(random, topology) if random.random() < 0.2 else a_cluster(topology)
    if random.random() < 0.25:
        return led_by_a_hostile_member(random, honest, cluster, topology)
    template = subscription_of(topology, HOSTILE, random.choice(RELEASES), random.random() < 0.7)
    joined[HOSTILE] = mutated(random, template) if random.random() < 0.5 else hostile_subscription(random)
    leader = random.choice(sorted(honest))
    return led_by_an_honest_member(random, honest, leader, joined, cluster, topology, release)


def led_by_an_honest_member(
    random: Random, honest: Mapping[str, StreamsAssignor], leader: str, joined: Mapping[str, bytes],
    cluster: ClusterSnapshot, topology: int, release: str,
) -> str:  # fmt: skip
    """The leader answers all members or raises ``FatalError``; the answers hold for honest members."""
    if release == "streams-assignor":
        honest = {**honest, leader: with_assignor(topology, leader, random)}
    before = honest[leader].member
    inspected(cluster, joined, {})
    try:
        answers = honest[leader].assign(cluster, joined)
    except FatalError as error:
        ensure(honest[leader].member == before, "a failed step has changed the leader")
        ensure(str(error) and len(str(error)) < 2_000, "an error without a text of some lines")
        return f"leader fails: {error.kafka_exception}"
    ensure(answers.keys() == joined.keys(), "a member without an answer")
    inspected(cluster, joined, answers)
    owners: Counter[TopicPartition] = Counter()
    ended: set[str] = set()
    for name, member in honest.items():
        try:
            owners.update(member.on_assignment(answers[name]).partitions)
        except FatalError as error:
            ended.add(error.code)
            continue
        ensure(
            not isinstance(carried := member._extension, CarriedLevels) or carried.levels.get(WATCHED, 0) <= 32767,
            "a level that Kafka cannot have",
        )
        ensure(len(answers[name]) < 8_000, f"an answer of {len(answers[name])} bytes")
    if release == LISTS_TASKS_WRONGLY:
        return "a leader of 2.0.1 answers"
    ensure("PARTITION_COUNT_MISMATCH" not in ended, "an honest leader's answer terminates an honest member")
    ensure(max(owners.values(), default=0) <= 1, f"a partition with two owners: {owners.most_common(1)}")
    return f"member fails: {', '.join(sorted(ended))}" if ended else "assigned"


def with_assignor(topology: int, name: str, random: Random) -> StreamsAssignor:
    """Return a leader with one of the built-in task assignors."""
    assignor = BUILT_IN[random.choice(sorted(BUILT_IN))] if isinstance(BUILT_IN, Mapping) else random.choice(BUILT_IN)
    return StreamsAssignor(
        TOPOLOGIES[topology], StreamsConfig(num_standby_replicas=random.randrange(3)), process_id=UUID(int=ord(name)),
        task_assignor=assignor, extension=watching(),
    )  # fmt: skip


def led_by_a_hostile_member(
    random: Random, honest: Mapping[str, StreamsAssignor], cluster: ClusterSnapshot, topology: int
) -> str:
    """A follower applies an assignment or raises ``FatalError``; it can always join again."""
    name, member = random.choice(sorted(honest.items()))
    if random.random() < 0.5:
        try:
            encoded = mutated(random, member.assign(a_cluster(topology), {name: member.subscription()})[name])
        except FatalError as error:
            raise Broken(f"an honest group fails: {error}") from error
    else:
        encoded = hostile_assignment(random)
    inspected(cluster, {}, {name: encoded})
    before = member.member
    try:
        member.on_assignment(encoded)
    except FatalError as error:
        ensure(evolve(member.member) == before, "a refused assignment has changed the member")
        return f"follower fails: {error.kafka_exception}"
    try:
        member.subscription()
    except FatalError as error:
        return f"follower cannot join: {error.kafka_exception}"
    return "followed"


def inspected(cluster: ClusterSnapshot, joined: Mapping[str, bytes], answers: Mapping[str, bytes]) -> None:
    """An inspection never raises, and has a text for each of its findings."""
    members = tuple(
        DescribedGroupMember(
            member_id=name, client_id=name, subscription=joined.get(name, b""), assignment=answers.get(name, b"")
        )
        for name in sorted({*joined, *answers})
    )
    found = inspect_group(
        DescribedGroup(
            name="g",
            state="Stable",
            protocol_type="consumer",
            protocol="stream",
            members=members,
            partition_counts=cluster.partitions,
        )
    )
    found.as_json()
    for finding in found.findings:
        ensure(finding_text(finding), "a finding without a text")


def ensure(holds: object, what: str) -> None:
    """Like ``assert``, which ``python -O`` removes."""
    if not holds:
        raise Broken(what)


def main() -> int:
    """Play groups until the number or the time is reached; print the results, and the seeds of failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    results: Counter[str] = Counter()
    broken: dict[str, int] = {}
    began = time.monotonic()
    for seed in range(options.seed, options.seed + options.groups):
        if time.monotonic() - began > options.seconds:
            break
        try:
            results[check(seed)] += 1
        except Exception as error:
            results["BROKEN"] += 1
            broken.setdefault(f"{type(error).__name__}: {error}"[:150], seed)
    for result, count in results.most_common():
        print(f"{count:8} {result}")
    print(f"{results.total():8} groups, CPU time {time.process_time():.0f} s")
    for error, seed in broken.items():
        print(f"seed {seed}: {error}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
