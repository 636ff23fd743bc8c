"""The streams protocol in each release. ``upgrade.group_configurations`` has the settings.

Java: ``GroupConfig`` and ``GroupCoordinatorConfig`` of kafka-group-coordinator, ``StreamsConfig`` and ``KafkaStreams``
of kafka-streams. ``tests/upgrade/streams_protocol/test_facts_java.py`` compares the rows with the jars.
"""

from __future__ import annotations

import enum
from typing import Final

from attrs import frozen


class Protocol(enum.Enum):
    """A value of ``group.protocol`` in Kafka Streams."""

    CLASSIC = "classic"
    STREAMS = "streams"

    @property
    def other(self) -> Protocol:
        """The protocol that a group leaves when it changes to this one."""
        return Protocol.CLASSIC if self is Protocol.STREAMS else Protocol.STREAMS


GROUP_PROTOCOL: Final = "group.protocol"
STREAMS_VERSION: Final = "streams.version"
STREAMS_VERSION_LEVEL: Final = 1
"""The level of ``streams.version`` from which brokers accept streams groups."""

FIXED_BROKERS: Final = (4, 2, 1)
"""The first brokers without KAFKA-20254."""

STATIC_MEMBERSHIP: Final = (4, 4)
"""The first clients and brokers whose streams groups have static members."""


@frozen
class Survival:
    """Something that a group has, and what becomes of it when the group changes its protocol, in either direction."""

    what: str
    survives: bool
    how: str
    evidence: str


_SEEN: Final = "seen with 4.2.2, 4.3.1 and 4.4.0"
SURVIVALS: Final = (
    Survival("committed offsets", True, "the group of the other protocol goes on from them", _SEEN),
    Survival("changelog and repartition topics", True, "they keep their names and their records", _SEEN),
    Survival(
        "stores on disk",
        True,
        "a member opens those of its tasks; brokers do not know where stores are, so tasks may move",
        "read, not run",
    ),
    Survival("group configurations", True, "they stay on the brokers; classic groups ignore them", _SEEN),
    Survival("members, epochs or generations, and the assignment", False, "the group starts anew", _SEEN),
    Survival(
        "static members",
        False,
        "they join anew; streams groups of brokers before 4.4 refuse them",
        "read, not run; the refusal seen with 4.2.2 and 4.3.1",
    ),
    Survival("warm-up tasks", False, "streams groups have none, those of 4.4.0 neither", "read in the jars of 4.4.0"),
)
"""Of a change of the protocol."""

_OF_TOPOLOGIES: Final = "seen with 4.4.0"
TOPOLOGY_SURVIVALS: Final = (
    Survival(
        "of a new topology: stores and internal topics of the same name",
        True,
        "those with other names start empty; a store whose subtopology has another number is restored",
        "read, not run",
    ),
    Survival(
        "committed offsets, if the group is deleted instead",
        False,
        "members begin where auto.offset.reset says; changelogs keep what they count, so records count twice",
        f"{_OF_TOPOLOGIES}: all of 8,427 records were processed again",
    ),
    Survival(
        "committed offsets, stores and internal topics, with another application.id instead",
        False,
        "its name is part of those of the group and of all internal topics",
        "read, not run",
    ),
)
"""Of a new topology in the same plan, and of the other ways to get one into a streams group."""
