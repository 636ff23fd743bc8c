"""A member of one of the two adapters, whose broker's answers to one kind of request are broken for some seconds.

    python -m tests.lab.integration.broken_member LIBRARY BROKER GROUP TOPIC API FAULT [FAULT ...]

It begins behind each fault in turn, in a group of its own. Then the answers are whole again, and it has to read and
commit. It prints a JSON object for each fault: the errors that its user saw, the offsets that it committed without an
error, those that the broker has, and records that were passed over. A call that does not return ends the process.
"""

import asyncio
import faulthandler
import json
import logging
import resource
import sys
import time
from threading import Timer
from typing import Any

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer

from streams_assignor import Subtopology, Topology
from streams_assignor.clients import aiokafka, kafka_python
from tests.lab.integration.breaking_proxy import FAULTS, BreakingProxy

BROKEN_SECONDS = 6
CALL_SECONDS = 120
"""After which a call hangs."""
RECOVERY_SECONDS = 90
POLL_MS = 200
SETTINGS = {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 500,
    "request_timeout_ms": 7000,
    "max_poll_interval_ms": 9000,
    "retry_backoff_ms": 100,
    "metadata_max_age_ms": 5000,
}


class KafkaPython:
    def __init__(self, topic: str, **where: Any) -> None:
        streams = kafka_python.StreamsPartitionAssignor(Topology.of(Subtopology(sources=[topic])))
        self._consumer = KafkaConsumer(topic, partition_assignment_strategy=[streams], **where, **SETTINGS)
        streams.bind(self._consumer)

    def poll(self) -> list[Any]:
        return [each for some in self._consumer.poll(POLL_MS, max_records=1).values() for each in some]

    def commit(self) -> None:
        self._consumer.commit()

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    def __init__(self, topic: str, **where: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._start(topic, where))

    async def _start(self, topic: str, where: Any) -> None:
        streams = aiokafka.StreamsPartitionAssignor(Topology.of(Subtopology(sources=[topic])))
        self._consumer = AIOKafkaConsumer(topic, partition_assignment_strategy=[streams], **where, **SETTINGS)
        streams.bind(self._consumer)
        try:
            await self._consumer.start()
        except BaseException:
            await self._consumer.stop()
            raise

    def poll(self) -> list[Any]:
        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=POLL_MS, max_records=1))
        return [each for some in found.values() for each in some]

    def commit(self) -> None:
        self._loop.run_until_complete(self._consumer.commit())

    def close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()


LIBRARIES = {"kafka-python": KafkaPython, "aiokafka": Aiokafka}


class Course:
    """What its user sees of a member."""

    def __init__(self, library: str, topic: str, **where: Any) -> None:
        self.errors: list[str] = []
        self.committed: dict[int, int] = {}
        self.skipped: list[str] = []
        self.members = 0
        self._make = lambda: LIBRARIES[library](topic, **where)
        self._member: Any = None
        self._next: dict[int, int] = {}

    def step(self) -> bool:
        """Read a record and commit; return whether that is done."""
        if self._member is None:
            self._member = self._called(self._make)
            self.members += 1
            return False
        records = self._called(self._member.poll)
        for each in records or ():
            expected = self._next.get(each.partition, 0)
            if each.offset > expected:
                self.skipped.append(f"{each.partition}: {expected} to {each.offset}")
            self._next[each.partition] = max(expected, each.offset + 1)
        if not records or self._called(self._member.commit) is self:
            return False
        self.committed.update({each.partition: each.offset + 1 for each in records})
        time.sleep(0.01)
        return True

    def close(self) -> None:
        if self._member is not None:
            self._called(self._member.close)
            self._member = None

    def _called(self, call: Any) -> Any:
        """Call; after an error return self, or None instead of a result."""
        faulthandler.dump_traceback_later(CALL_SECONDS, exit=True)
        try:
            return call()
        except Exception as error:
            name = getattr(call, "__name__", "?").replace("<lambda>", "start")
            self.errors.append(f"{name}: {type(error).__module__}.{type(error).__name__}: {str(error)[:160]}")
            time.sleep(0.2)
            return self if name == "commit" else None
        finally:
            faulthandler.cancel_dump_traceback_later()


def stored(broker: str, group: str, topic: str, partitions: dict[int, int]) -> dict[int, int]:
    reader = Consumer({"bootstrap.servers": broker, "group.id": group})
    try:
        found = reader.committed([TopicPartition(topic, each) for each in partitions], timeout=60)
        return {each.partition: each.offset for each in found}
    finally:
        reader.close()


def play(library: str, broker: str, group: str, topic: str, api: int, fault: str) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with BreakingProxy(broker, api, fault) as proxy:
        began = time.monotonic()
        Timer(
            BROKEN_SECONDS, lambda: setattr(proxy, "broken", None)
        ).start()  # a call may wait for the end of the fault
        course = Course(library, topic, bootstrap_servers=proxy.address, group_id=group)
        while proxy.broken is not None:
            course.step()
        broken = len(course.errors)
        while not (recovered := course.step()) and time.monotonic() < began + RECOVERY_SECONDS:
            pass
        seconds = time.monotonic() - began - BROKEN_SECONDS
        course.close()
        asked = proxy.asked[api]
    found = stored(broker, group, topic, course.committed)
    return {
        "fault": fault,
        "recovered": recovered,
        "seconds": round(seconds, 1),
        "asked": asked,
        "members": course.members,
        "errors": sorted(set(course.errors[:broken])),
        "later": sorted(set(course.errors[broken:])),
        "lost": {each: (end, found[each]) for each, end in course.committed.items() if found[each] < end},
        "skipped": course.skipped[:3],
        "most": (most := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) >> 10,
        "growth": (most - before) >> 10,
    }


def main(library: str, broker: str, group: str, topic: str, api: str, *faults: str) -> None:
    for name in ("kafka", "aiokafka", "asyncio", "assignor"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for number, fault in enumerate(faults or FAULTS):
        print(json.dumps(play(library, broker, f"{group}-{number}", topic, int(api), fault)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
