"""The steps of Kafka's ``streams_application_upgrade_test.py``."""

from __future__ import annotations

from typing import Final

from tests.lab.kafka_system_tests import smoke
from tests.lab.kafka_system_tests.system import System

_PROCESSED: Final = "processed [0-9]* records"


def full_bounce(system: System, *, origin: str) -> None:
    """``test_app_upgrade``: all processors stop, and start with another release."""
    system.create_topics(dict.fromkeys(smoke.TOPICS, 5))
    driver = system.drive(smoke.CLASS, system.release, "run", "disableAutoTerminate")
    smoke.add_processors(system)
    _start(system, origin)
    for processor in system.processors:
        processor.stop_until(smoke.CLOSED)
    _start(system, system.release)
    driver.kill()
    for processor in system.shuffled():
        processor.stop_until(smoke.CLOSED)


def _start(system: System, release: str) -> None:
    for processor in system.processors:
        system.use(processor, smoke.CLASS, release, "process")
        processor.start()
    for processor in system.processors:
        for line in (system.version_line(processor, release), smoke.STARTED, _PROCESSED):
            processor.wait_for(line, processor.started_at)
