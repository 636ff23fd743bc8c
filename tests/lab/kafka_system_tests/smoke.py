"""What the tests with ``StreamsSmokeTest`` have in common."""

from __future__ import annotations

from typing import Final

from tests.lab.kafka_system_tests.system import System

CLASS: Final = "StreamsSmokeTest"
STARTED, CLOSED = "SMOKE-TEST-CLIENT-STARTED", "SMOKE-TEST-CLIENT-CLOSED"
TOPICS: Final = (
    *("echo", "data", "min", "min-suppressed", "min-raw", "max", "sum", "sws-raw", "sws-suppressed", "dif", "cnt"),
    *("avg", "wcnt", "tagg", "fk"),
)
"""Those that kafkatest creates, and ``fk``, which the driver writes too."""


def add_processors(system: System, number: int = 3, *, threads: int = 3, replicas: int = 1) -> None:
    """Add processors with the settings of ``StreamsSmokeTestBaseService``."""
    system.add_processors(
        number,
        **{
            "processing.guarantee": "at_least_once",
            "num.stream.threads": str(threads),
            "replication.factor": str(replicas),
            "num.standby.replicas": "2",
            "buffered.records.per.partition": "100",
            "commit.interval.ms": "1000",
            "auto.offset.reset": "earliest",
            "acks": "all",
        },
    )
