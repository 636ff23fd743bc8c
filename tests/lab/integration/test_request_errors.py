"""Each error that an answer may carry, and answers that lack something, in the answers of kfake.

    pytest -n0 -m exhaustive tests/lab/integration/test_request_errors.py -s

A member reads on at its committed offset, or raises; a command shows what it shows without the error, or says what is
missing.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaConsumer

from streams_assignor import Subtopology, Topology, codec
from streams_assignor.clients import aiokafka, kafka_python
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.demo.load_generator import create_topic
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.groups.offsets import OffsetRequest
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.cluster.client.feature_client import FeatureClient
from tests.assignor.clients.request_errors import CODES, ERRORS
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until
from tests.lab.integration.test_kfake import kfake

pytestmark = [pytest.mark.broker, pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(7200)]

KEYS = {
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "DescribeConfigs": 32,
    "DescribeCluster": 60,
    "ConsumerGroupDescribe": 69,
}
OF_MEMBERS = tuple(KEYS)[:8]
OF_MEMBERS_ALONE = {"OffsetCommit", "JoinGroup", "Heartbeat", "SyncGroup"}
MISSING = "missing"
CASES = [
    (request, level, code)
    for request, levels in ERRORS.items()
    if request in KEYS
    for level, names in levels.items()
    for code in (*names, MISSING)
]
TRUE = {
    ("DescribeGroups", "group", "GROUP_ID_NOT_FOUND"),
    ("DescribeGroups", "group", MISSING),  # librdkafka drops the group; the list has it, as of another type
    ("ListGroups", "group", MISSING),
    ("ListOffsets", "partition", MISSING),  # the lag of the partition is unknown then
    ("OffsetFetch", "partition", MISSING),  # all committed offsets are asked for
    ("Metadata", "topic", "UNKNOWN_TOPIC_OR_PARTITION"),
    ("Metadata", "topic", "INVALID_TOPIC_EXCEPTION"),
    ("Metadata", "topic", "TOPIC_AUTHORIZATION_FAILED"),
    ("Metadata", "topic", MISSING),
}
"""What says that a group or topic is not there, or may not be seen; a list of all leaves out the latter."""
FAULTS, RECORDS, COMMITTED = 3, 6, 3
MEMBER_SECONDS = 60
"""How long a member may take to read on, with its errors."""


class Kfake(Subprocess):
    """The broker, and what its answers are to have."""

    def __init__(self) -> None:
        super().__init__("kfake", [str(kfake())])
        wait_until(lambda: any("listens at" in line for line in self.lines), self)
        self.address = self.lines[-1].split()[-1]

    def fault(self, request: str, level: str, code: str, number: int) -> int:
        """Change the next answers; return how many of the last fault were not used."""
        count = len(self.lines)
        print(KEYS[request], level, CODES.get(code, code), number, file=self._process.stdin, flush=True)
        wait_until(lambda: len(self.lines) > count, self)
        return int(self.lines[-1].split()[-1])


@pytest.fixture(name="broker", scope="module")
def fixture_broker() -> Iterator[Kfake]:
    for name in ("kafka", "aiokafka", "asyncio", "assignor"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        broker = Kfake()
    except Unavailable as missing:
        pytest.skip(str(missing))
    with broker:
        yield broker


# -- members -----------------------------------------------------------------------------------------------------------

SETTINGS = {
    "enable_auto_commit": False,
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 300,
    "retry_backoff_ms": 50,
    "metadata_max_age_ms": 1000,
}


class KafkaPython:
    def __init__(self, topic: str, servers: str, reset: str) -> None:
        streams = kafka_python.StreamsPartitionAssignor(Topology.of(Subtopology(sources=[topic])))
        self._consumer = KafkaConsumer(
            topic, partition_assignment_strategy=[streams], bootstrap_servers=servers, group_id=topic,
            auto_offset_reset=reset, **SETTINGS,
        )  # fmt: skip
        streams.bind(self._consumer)

    def poll(self) -> list[int]:
        return [record.offset for records in self._consumer.poll(200).values() for record in records]

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close(timeout_ms=3000)


class Aiokafka:
    def __init__(self, topic: str, servers: str, reset: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._make(topic, servers, reset))

    async def _make(self, topic: str, servers: str, reset: str) -> None:
        streams = aiokafka.StreamsPartitionAssignor(Topology.of(Subtopology(sources=[topic])))
        self._consumer = AIOKafkaConsumer(
            topic, partition_assignment_strategy=[streams], bootstrap_servers=servers, group_id=topic,
            auto_offset_reset=reset, **SETTINGS,
        )  # fmt: skip
        streams.bind(self._consumer)
        try:
            await asyncio.wait_for(self._consumer.start(), MEMBER_SECONDS)
        except BaseException:
            await self._consumer.stop()
            raise

    def poll(self) -> list[int]:
        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=200))
        return [record.offset for records in found.values() for record in records]

    def commit(self) -> None:
        self._loop.run_until_complete(self._consumer.commit())

    def close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()


class Confluent:
    def __init__(self, topic: str, servers: str, reset: str) -> None:
        config = {
            "bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": reset, "log_level": 0,
            "session.timeout.ms": 6000, "heartbeat.interval.ms": 300,
        }  # fmt: skip
        self._consumer = StreamsConsumer(config, Topology.of(Subtopology(sources=[topic])))

    def poll(self) -> list[int]:
        message = self._consumer.poll(0.2)
        if message is not None and message.error():
            raise KafkaException(message.error())
        return [] if message is None else [message.offset()]

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


LIBRARIES: dict[str, Callable[[str, str, str], Any]] = {
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
    "confluent-kafka": Confluent,
}


def prepare(servers: str) -> str:
    """Make a topic with records, half of them committed by a group of its name."""
    name = f"orders-{uuid4().hex[:10]}"
    create_topic(servers, name, 1)
    producer = Producer({"bootstrap.servers": servers})
    for _ in range(RECORDS):
        producer.produce(name, b"x", partition=0)
    assert 0 == producer.flush(TIMEOUT_SECONDS)
    commit_by_hand(servers, name, COMMITTED)
    return name


def commit_by_hand(servers: str, name: str, offset: int) -> None:
    other = Consumer({"bootstrap.servers": servers, "group.id": name})
    other.commit(offsets=[TopicPartition(name, 0, offset)], asynchronous=False)
    other.close()


def stored(servers: str, name: str) -> int:
    other = Consumer({"bootstrap.servers": servers, "group.id": name})
    try:
        return other.committed([TopicPartition(name, 0)], timeout=60)[0].offset
    finally:
        other.close()


def course(library: str, servers: str, name: str, reset: str) -> tuple[str, list[str]]:
    """Let members read and commit until one has; return what is wrong, and the errors that their user saw."""
    errors: list[str] = []
    deadline, member, read = time.monotonic() + MEMBER_SECONDS, None, list[int]()
    committed = False
    try:
        while not committed and time.monotonic() < deadline:
            try:
                if member is None:
                    member = LIBRARIES[library](name, servers, reset)
                read += member.poll()
                if read and read[-1] == RECORDS - 1:
                    committed = True  # also of a commit that raises: the broker has made it before its answer changes
                    member.commit()
            except Exception as error:
                errors.append(f"{type(error).__name__}: {str(error)[:90]}")
                if committed:
                    break
                if member is not None:
                    member.close()
                member, read = None, []
                time.sleep(0.1)
    finally:
        if member is not None:
            member.close()
    if not committed:
        return f"nothing in {MEMBER_SECONDS} s, read {read}", errors
    if read != list(range(COMMITTED, RECORDS)):
        return f"read {read}", errors
    return ("" if stored(servers, name) == RECORDS else f"committed {stored(servers, name)}"), errors


UNSEEN = {
    ("confluent-kafka", "OffsetFetch", "partition", MISSING),
    ("confluent-kafka", "Metadata", "topic", "TOPIC_AUTHORIZATION_FAILED"),
}
"""librdkafka has the same result for a partition that is not in the answer and for one without a committed offset, and
asks for a topic again minutes after it was denied."""


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_member_reads_on_at_its_committed_offset_or_raises(broker: Kfake, library: str) -> None:
    wrong, raised, unused = [], 0, []
    # The name of a topic stays invalid: kafka-python does not ask again.
    cases = [case for case in CASES if case[0] in OF_MEMBERS and case[2] != "INVALID_TOPIC_EXCEPTION"]
    for request, level, code in cases:
        if (library, request, level, code) in UNSEEN:
            continue
        for reset in ("earliest", "latest") if request == "OffsetFetch" else ("earliest",):
            name = prepare(broker.address)
            broker.fault(request, level, code, FAULTS)
            what, errors = course(library, broker.address, name, reset)
            left = broker.fault(request, level, code, 0)
            case = f"{request}, {level}, {code}, {reset}"
            unused += [case] * (left == FAULTS)
            raised += bool(errors)
            wrong += [f"{case}: {what} {sorted(set(errors))}"] * bool(what)
            print(f"{library}: {case}: {FAULTS - left} faults, {what or 'right'} {sorted(set(errors))}", flush=True)
    print(f"{library}: {len(cases)} cases, {raised} with an error, {len(unused)} not met: {unused}")
    assert [] == wrong, "\n".join(wrong)


# -- commands ----------------------------------------------------------------------------------------------------------


def looked_up(lookup: Any, name: str) -> dict[str, Callable[[], Any]]:
    """The calls of a client that describes groups."""

    asked = frozenset({codec.TopicPartition(name, 0)})

    def offsets() -> Any:
        group = lookup.group(name)
        return lookup.offsets([OffsetRequest(group=name, coordinator=group.coordinator, partitions=asked)])

    return {"group": lambda: lookup.group(name), "groups": lookup.groups, "offsets": offsets}


def says_so(found: Any) -> bool:
    """Whether a result says that something is missing in it."""
    if isinstance(found, dict):
        return any(offsets.failures for offsets in found.values())
    return bool(getattr(found, "failures", ()) or getattr(found, "error", "")) or any(
        group.error for group in getattr(found, "groups", ())
    )


@pytest.mark.parametrize("client", ["kafka-python", "features"])
def test_a_command_shows_the_same_or_says_what_is_missing(broker: Kfake, client: str) -> None:
    name, wrong = prepare(broker.address), []
    member = KafkaPython(name, broker.address, "earliest")
    while not member.poll():
        pass
    try:
        if client == "features":
            features = FeatureClient(broker.address, timeout_seconds=8)
            calls: dict[str, Callable[[], Any]] = {"describe": features.describe}
        else:
            calls = looked_up(GroupLookup(broker.address, timeout_seconds=8), name)
        for call, ask in calls.items():
            expected = ask()
            for request, level, code in (case for case in CASES if case[0] not in OF_MEMBERS_ALONE):
                member.poll()  # who does not leaves the group after five minutes, in whichever case that is
                broker.fault(request, level, code, FAULTS)
                try:
                    found = ask()
                except ClusterError as error:
                    outcome = f"raised {type(error).__name__}: {str(error)[:90]}"
                except Exception as error:
                    outcome = "WRONG"
                    wrong.append(f"{call}, {request}, {level}, {code}: {type(error).__name__}: {error}")
                else:
                    outcome = "the same" if found == expected else "says so" if says_so(found) else "WRONG"
                    if outcome == "WRONG" and (request, level, code) not in TRUE:
                        wrong.append(f"{call}, {request}, {level}, {code}: {found}")
                if (left := broker.fault(request, level, code, 0)) < FAULTS:
                    print(
                        f"{client}: {call}, {request}, {level}, {code}: {FAULTS - left} faults, {outcome}", flush=True
                    )
    finally:
        member.close()
    assert [] == wrong, "\n".join(wrong)
