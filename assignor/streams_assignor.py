"""``StreamsPartitionAssignor``: codec, version probing, ``upgrade.from`` and task assignment in one object.

One per consumer, and without any input or output: client adapters and the simulated group drive this same object.
Java: ``StreamsPartitionAssignor``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID, uuid4

from assignor import leader
from assignor.member import Member, Received
from assignor.topology import Topology
from probing import MemberVersion
from probing.rules import BY_NAME
from subscription_codec import TaskId
from upgrade import OURS, Release, StreamsConfig

NAME: Final = "stream"
"""The name of the protocol in JoinGroup, the same in every release of Kafka Streams."""


class StreamsPartitionAssignor:
    """The assignor of one member: call ``subscription`` to join, ``assign`` when leading, ``on_assignment`` after.

    ``release`` says whose behaviour it has; the default is our own (today's rules). ``process_id`` is shared by the
    members of a process. Raises ``ConfigException`` if ``config`` does not suit the release.
    """

    name = NAME

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        process_id: UUID | None = None,
        release: Release = OURS,
        stored: Iterable[TaskId] = (),
    ) -> None:
        config = config or StreamsConfig()
        rules = BY_NAME[release.rules]
        version = MemberVersion.started(rules.member, release.latest_version, config.pinned_version(release))
        self.topology: Final = topology
        self.release: Final = release
        self._settings: Final = leader.LeaderSettings(
            rules, release.latest_version, topology, config.num_standby_replicas, release.of_kafka
        )
        self._stateful: Final = frozenset(
            number for number, subtopology in enumerate(topology.subtopologies) if subtopology.stateful
        )
        self._member = Member(
            process_id or uuid4(),
            version,
            config.application_server,
            stored=frozenset(stored),
            as_release=release.of_kafka,
        )
        self._completes = False

    @property
    def used_version(self) -> int:
        """The version of the next subscription."""
        return self._member.version.used

    @property
    def latest_version(self) -> int:
        """The newest version this member could send."""
        return self._member.version.latest

    @property
    def member(self) -> Member:
        """All that this object remembers, as a value."""
        return self._member

    def subscription(self, topics: Iterable[str] | None = None) -> bytes:
        """Return the bytes for JoinGroup; ``topics`` are the topology's sources if not given.

        Raises ``FatalError`` if a leader has made this member use a version it does not have (KAFKA-8649).
        """
        return self._member.subscription(self.topology.source_topics if topics is None else topics)

    def assign(self, partitions: Mapping[str, int], subscriptions: Mapping[str, bytes]) -> dict[str, bytes]:
        """Lead: answer all members (see ``leader.assign``); ``FatalError`` if the group cannot be answered."""
        answered = leader.assign(self._settings, partitions, subscriptions)
        self._completes = answered.completes
        return answered.assignments

    def on_assignment(self, assignment: bytes) -> Received:
        """Take the bytes from SyncGroup; ``FatalError`` if they cannot be taken, and then nothing has changed."""
        completes, self._completes = self._completes, False
        self._member, received = self._member.receive(assignment, completes=completes, stateful=self._stateful)
        return received
