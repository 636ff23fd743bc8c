"""The steps of Kafka's ``streams_cooperative_rebalance_upgrade_test.py``."""

from __future__ import annotations

from itertools import combinations
from typing import Final

from tests.lab.kafka_system_tests.processors import Processor, SystemTestFailed
from tests.lab.kafka_system_tests.system import System

_CLASS: Final = "StreamsUpgradeToCooperativeRebalanceTest"
_SOURCE, _SINK = "source", "sink"
_PROCESSED, _RUNNING = "Processed [0-9]* records so far", "STREAMS in a RUNNING State"
_CLOSED: Final = "COOPERATIVE-REBALANCE-TEST-CLIENT-CLOSED"
_TASKS: Final = "TASK-ASSIGNMENTS:"
_FIRST, _SECOND = "first_bounce_phase-", "second_bounce_phase-"


def two_bounces(system: System, *, upgrade_from: str) -> None:
    """``test_upgrade_to_cooperative_rebalance``: first with ``upgrade.from``, then without."""
    system.create_topics({_SOURCE: 9, _SINK: 9})
    system.produce(_SOURCE)
    system.add_processors(**{"source.topic": _SOURCE, "sink.topic": _SINK, "report.interval": "1000"})
    for processor in system.processors:
        system.use(processor, _CLASS, upgrade_from)
        processor.start_until(f"^{_PROCESSED}")
    _wait_for_processing(system, "")
    short = upgrade_from.rpartition(".")[0]
    for before, phase, value, protocol in (
        ("", _FIRST, short, f"Eager rebalancing protocol is enabled now for upgrade from {short}"),
        (_FIRST, _SECOND, None, "Cooperative rebalancing protocol is enabled now"),
    ):
        for processor in system.processors:
            processor.stop_until(before + _CLOSED)
            system.use(processor, _CLASS, system.release)
            processor.set({"upgrade.phase": phase, "upgrade.from": value})
            mark = processor.start()
            for line in (protocol, phase + _RUNNING, phase + _PROCESSED):
                processor.wait_for(line, mark)
        _wait_for_processing(system, phase)
    _check_tasks(system)
    for processor in system.processors:
        processor.stop_until(_SECOND + _CLOSED)


def _wait_for_processing(system: System, phase: str) -> None:
    marks = [(processor, processor.mark) for processor in system.processors]
    for processor, mark in marks:
        processor.wait_for(f"{phase}{_PROCESSED}", mark)


def _check_tasks(system: System) -> None:
    """No two processors may have the same task."""
    owned = {processor.name: _active(processor) for processor in system.processors}
    for one, other in combinations(owned, 2):
        if both := owned[one] & owned[other]:
            raise SystemTestFailed(f"{one} and {other} both have {sorted(both)}")


def _active(processor: Processor) -> set[str]:
    last = processor.found(_TASKS)[-1]
    return set(last.partition(_TASKS)[2].partition("#")[0].split(","))
