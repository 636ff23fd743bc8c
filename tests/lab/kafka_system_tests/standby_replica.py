"""The steps of Kafka's ``streams_standby_replica_test.py``."""

from __future__ import annotations

from typing import Final

from tests.lab.kafka_system_tests.system import STICKY, System

_CLASS: Final = "StreamsStandByReplicaTest"
_SOURCE, _SINKS = "standbyTaskSource1", ("standbyTaskSink1", "standbyTaskSink2")
_RECORDS, _RATE, _KEYS = 30_000, 1500, 6
"""A tenth of kafkatest's records, at a tenth of its rate: our member counts in Python."""
_CLOSED: Final = "Shut down streams now"
_ALONE, _OF_TWO, _OF_THREE = (
    f"ACTIVE_TASKS:{active} STANDBY_TASKS:{standby}" for active, standby in (("6", "0"), ("3", "3"), ("2", "[1-3]"))
)
_STEPS: Final = (
    ("start 1", {1: (_ALONE, 1)}),
    ("start 2", {1: (_OF_TWO, 1), 2: (_OF_TWO, 1)}),
    ("start 3", {1: (_OF_THREE, 1), 2: (_OF_THREE, 1), 3: (_OF_THREE, 1)}),
    ("stop 1", {2: (_OF_TWO, 2), 3: (_OF_TWO, 1)}),
    ("stop 2", {3: (_ALONE, 1)}),
    ("start 1", {1: (_OF_TWO, 1), 3: (_OF_TWO, 2)}),
    ("start 2", {1: (_OF_THREE, 1), 2: (_OF_THREE, 1), 3: (_OF_THREE, 2)}),
    ("stop 3", {1: (_OF_TWO, 2), 2: (_OF_TWO, 1)}),
    ("stop 1", {2: (_ALONE, 1)}),
    ("start 3", {3: (_OF_TWO, 1), 2: (_OF_TWO, 2)}),
    ("start 1", {1: (_OF_THREE, 1), 2: (_OF_THREE, 2), 3: (_OF_THREE, 1)}),
)
"""What happens to which processor, and which line its log and those of the others have how many times since they
started."""


def rebalances(system: System) -> None:
    """``test_standby_tasks_rebalance``."""
    system.create_topics({_SOURCE: 6, **dict.fromkeys(_SINKS, 1)})
    producer = system.produce(_SOURCE, number=_RECORDS, rate=_RATE, keys=_KEYS)
    topics = {"sourceTopic": _SOURCE, "sinkTopic1": _SINKS[0], "sinkTopic2": _SINKS[1]}
    more = {"application.id": "kafka-streams-standby-tasks", **topics, **STICKY}  # the class of 4.3.1 sets no id
    system.add_resilient_processors(_CLASS, more)
    for what, expected in _STEPS:
        verb, number = what.split()
        processor = system.processors[int(number) - 1]
        if verb == "start":
            system.clean(processor)
            processor.start()
        else:
            processor.stop_until(_CLOSED)
        for other, (line, times) in expected.items():
            each = system.processors[other - 1]
            each.wait_for(line, each.started_at, times)
    for sink in _SINKS:
        system.consume(sink, _RECORDS)
    producer.wait()
    for processor in system.processors:
        processor.stop_until(_CLOSED)
