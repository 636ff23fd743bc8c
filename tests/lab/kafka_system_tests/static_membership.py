"""The steps of Kafka's ``streams_static_membership_test.py``."""

from __future__ import annotations

from typing import Final

from tests.lab.kafka_system_tests.processors import SystemTestFailed
from tests.lab.kafka_system_tests.system import System

_CLASS: Final = "StaticMemberTestClient"
_TOPIC: Final = "inputTopic"
_RUNNING, _PROCESSED, _CLOSED = "REBALANCING -> RUNNING", "PROCESSED", "Static membership test closed"
_INSTANCES: Final = ("consumer-A", "consumer-B", "consumer-C")
_THREADS, _BOUNCES = 3, 3


def rolling_bounces(system: System) -> None:
    """``test_rolling_bounces_will_not_trigger_rebalance_under_static_membership``."""
    system.create_topics({_TOPIC: 18})
    system.produce(_TOPIC)
    system.add_processors(**{"num.stream.threads": str(_THREADS), "session.timeout.ms": "60000", "input.topic": _TOPIC})
    for processor, instance in zip(system.processors, _INSTANCES, strict=True):
        processor.set({"group.instance.id": instance})
        system.use(processor, _CLASS, system.release)
        processor.start_until(_RUNNING)
    _wait_for_processing(system)
    for _ in range(_BOUNCES):
        for processor in system.processors:
            processor.stop_until(_CLOSED)
            processor.start_until(_RUNNING)
    _check_generations(system)
    _wait_for_processing(system)
    for processor in system.processors:
        processor.stop_until(_CLOSED)


def _wait_for_processing(system: System) -> None:
    marks = [(processor, processor.mark) for processor in system.processors]
    for processor, mark in marks:
        processor.wait_for(_PROCESSED, mark)


def _check_generations(system: System) -> None:
    """Every member that came back must have joined the same generation."""
    joined = _BOUNCES * _THREADS
    for processor in system.processors:
        if len(processor.generations) < joined:
            raise SystemTestFailed(f"{processor.name} joined {len(processor.generations)} times, not {joined}")
    found = {number for processor in system.processors for number in processor.generations[-joined:]}
    if len(found) > 1:
        raise SystemTestFailed(f"the bounces caused rebalances: members joined generations {sorted(found)}")
