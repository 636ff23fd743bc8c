"""Libraries that wrap Kafka Streams."""

from __future__ import annotations

from typing import Final

PASSIVE_LIBRARIES: Final = frozenset(
    {
        "micrometer-core",
        "quarkus-kafka-streams",
        "spring-boot",
        "spring-boot-autoconfigure",
        "spring-boot-kafka",
        "spring-cloud-stream-binder-kafka-streams",
        "spring-kafka",
    }
)
"""Their references say nothing: they call what the application gives them, or asks for."""
