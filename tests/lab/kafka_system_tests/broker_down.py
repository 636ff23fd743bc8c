"""The steps of Kafka's ``streams_broker_down_resilience_test.py``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from tests.lab.kafka_system_tests.processors import Processor
from tests.lab.kafka_system_tests.system import STICKY, System

_CLASS: Final = "StreamsBrokerDownResilienceTest"
_SOURCE, _SINK = "streamsResilienceSource", "streamsResilienceSink"
_PROCESSED: Final = "processed [0-9]* messages"
_CONNECTED, _UNAVAILABLE = "Discovered group coordinator", "Node may not be available"
_RUNNING: Final = "State transition from REBALANCING to RUNNING"
_CLOSED: Final = "Complete shutdown of streams resilience test app now"
_FEW, _MANY = 5, 10_000
_DOWN_SECONDS: Final = 70
"""More than twice retries times request timeout."""


def resilient(system: System) -> None:
    """``test_streams_resilient_to_broker_down``: one processor goes on after the broker was down."""
    _begin(system, {}, processors=1)
    system.processors[0].start()
    _send_and_read(system, _FEW)
    node = _stop_broker(system)
    time.sleep(_DOWN_SECONDS)
    _wait_for(_CONNECTED, system.processors, lambda: system.start_broker(node))
    _send_and_read(system, _FEW)


def down_initially(system: System) -> None:
    """``test_streams_runs_with_broker_down_initially``."""
    _begin(system, {"application.id": "starting_wo_broker_id"})
    node = _stop_broker(system)
    for processor in system.processors:
        processor.start()
    for processor in system.processors:
        processor.wait_for(_UNAVAILABLE, processor.started_at, 10)
    _wait_for(_CONNECTED, system.processors, lambda: system.start_broker(node))
    _send_through_all(system)


def scale_in(system: System) -> None:
    """``test_streams_should_scale_in_while_brokers_down``: two of three processors stop."""
    _begin(system, {"application.id": "shutdown_with_broker_down", **STICKY})
    _start_three(system)
    node = _stop_broker(system)
    *leaving, staying = system.processors
    for processor in leaving:
        processor.stop_until(_CLOSED)
    _wait_for(_CONNECTED, [staying], lambda: system.start_broker(node))
    _send_and_read(system, _MANY)


def fail_over(system: System) -> None:
    """``test_streams_should_failover_while_brokers_down``: all three processors are killed and come back."""
    _begin(system, {"application.id": "failover_with_broker_down", **STICKY})
    _start_three(system)
    node = _stop_broker(system)
    for processor in system.processors:
        processor.kill()
        processor.start()
    _wait_for(_CONNECTED, system.processors, lambda: system.start_broker(node))
    _send_through_all(system)


def _begin(system: System, more: dict[str, str], processors: int = 3) -> None:
    system.create_topics({_SOURCE: 3, _SINK: 1})
    system.add_resilient_processors(_CLASS, more, processors)


def _start_three(system: System) -> None:
    for processor in system.processors:
        mark = processor.start()
    processor.wait_for(_RUNNING, mark)
    _send_through_all(system)


def _stop_broker(system: System) -> int:
    node = system.leader(_SOURCE)
    system.cluster.stop(node)
    return node


def _send_through_all(system: System) -> None:
    """Send records of which each processor gets some, and read what they write."""
    _wait_for(_PROCESSED, system.processors, lambda: system.produce(_SOURCE, number=_MANY).wait())
    system.consume(_SINK, _MANY)


def _send_and_read(system: System, number: int) -> None:
    system.produce(_SOURCE, number=number).wait()
    system.consume(_SINK, number)


def _wait_for(pattern: str, processors: Sequence[Processor], act: Callable[[], None]) -> None:
    """Do something, and wait for a line that each of these processors prints from then on."""
    marks = [(each, each.mark) for each in processors]
    act()
    for each, mark in marks:
        each.wait_for(pattern, mark)
