"""One application on the broker: its topics, its members, its records."""

import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.demo.member_settings import MemberSettings
from tests.lab.integration.kafka_jars import counting
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, PythonMember, wait_until

PARTITIONS = 6
TASKS = {f"0_{partition}" for partition in range(PARTITIONS)}
SESSION_MS = 6000  # what a broker accepts without configuration


class Application:
    """``APP-data`` is counted into ``APP-store-changelog`` and ``APP-output``; all are there from the beginning."""

    def __init__(self, broker: str, session_timeout_ms: int = SESSION_MS) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.name = f"app-{uuid4().hex[:8]}"
        self.source, self.output = f"{self.name}-data", f"{self.name}-output"
        self._broker = broker
        topics = {self.source: PARTITIONS, f"{self.name}-store-changelog": PARTITIONS, self.output: 1}
        admin = AdminClient({"bootstrap.servers": broker})
        made = admin.create_topics([NewTopic(topic, count, 1) for topic, count in topics.items()])
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def python(self, **settings: str) -> PythonMember:
        return PythonMember(
            MemberSettings(
                bootstrap_servers=self._broker,
                group=self.name,
                topic=(self.source,),
                session_timeout_ms=self.session_timeout_ms,
                **settings,
            )
        )

    def java(self, release: str, state: Path, protocol: str = "classic", **given: Any) -> JavaMember:
        """Kafka Streams, with further settings; in the protocol "streams" the broker has the timeouts."""
        timeouts = {"session.timeout.ms": self.session_timeout_ms, "heartbeat.interval.ms": 500}
        settings = {
            **(timeouts if protocol == "classic" else {"group.protocol": protocol}),
            "bootstrap.servers": self._broker,
            "application.id": self.name,
            "state.dir": state,
            "cache.max.bytes.buffering": 0,  # every count is written, not every last one
            "statestore.cache.max.bytes": 0,  # its name since 3.4
            **given,
        }
        arguments = [self.source, self.output, *(f"{key}={value}" for key, value in settings.items())]
        return JavaMember(f"Kafka Streams {release}", [*counting(release), *arguments])

    def send(self, records: int) -> None:
        """That many records to each partition; its number is their key."""
        producer = Producer({"bootstrap.servers": self._broker})
        for number in range(records * PARTITIONS):
            partition = number % PARTITIONS
            producer.produce(self.source, key=str(partition), value=b"x", partition=partition)
        assert 0 == producer.flush(TIMEOUT_SECONDS)

    def counts(self, keys: set[str], records: int) -> Counter[str]:
        """What Java has counted, as soon as it has counted that many of each of these keys."""
        counts: Counter[str] = Counter()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        reader = Consumer({"bootstrap.servers": self._broker, "group.id": "unused", "enable.auto.commit": False})
        try:
            reader.assign([TopicPartition(self.output, 0, 0)])
            while any(counts[key] < records for key in keys):
                assert time.monotonic() < deadline, f"counted only {counts} of {records} each of {sorted(keys)}"
                if (message := reader.poll(1)) and not message.error():
                    key = message.key().decode()
                    counts[key] = max(counts[key], int.from_bytes(message.value(), "big"))
        finally:
            reader.close()
        return counts


def settled(*members: PythonMember | JavaMember) -> bool:
    """Whether every member has tasks and every task has one member."""
    owned = [member.tasks for member in members]
    return all(owned) and sorted(TASKS) == sorted(task for tasks in owned for task in tasks)


def settle(*members: PythonMember | JavaMember) -> None:
    """Wait for that."""
    wait_until(lambda: settled(*members), *members)


def partitions(tasks: set[str]) -> set[str]:
    return {task.removeprefix("0_") for task in tasks}


def processed(member: PythonMember) -> Counter[str]:
    """How many records it has processed of each partition."""
    counts: Counter[str] = Counter()
    for event in member.events:
        if event["event"] == "processed":
            counts[event["partition"].rpartition("-")[2]] += event["to"] + 1 - event["from"]
    return counts
