"""``StreamsAssignor`` combines codec, version probing, ``upgrade.from`` and task assignment for one member.

It does no input or output: client adapters and the simulation drive the same object.
Java: ``StreamsPartitionAssignor``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID, uuid4

from attrs import evolve

from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.codec.errors import require_type
from streams_assignor.config import AssignmentConfigs
from streams_assignor.errors import UsageError
from streams_assignor.extension import Extension, check_extension
from streams_assignor.probing import MemberVersion, VersionAnswer
from streams_assignor.probing.model import AssignorError
from streams_assignor.probing.rules import BY_NAME
from streams_assignor.protocol import PROTOCOL_NAME, leader
from streams_assignor.protocol.end_offsets import RequiredOffsets, required_offsets
from streams_assignor.protocol.internal_topics import InternalTopicPlan, plan_internal_topics
from streams_assignor.protocol.member import Member, ReceivedAssignment
from streams_assignor.task_assignor import TaskAssignor
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.task_assignors.sticky import StickyTaskAssignor
from streams_assignor.topology import Topology
from streams_assignor.upgrade import (
    OURS,
    ConfigException,
    Release,
    StreamsConfig,
    StreamsSettings,
    as_release,
    as_streams_config,
)


class StreamsAssignor:
    """The assignor of one member: ``subscription`` to join, ``assign`` as leader, ``on_assignment`` after that.

    Args:
        topology: The subtopologies of the application, equal in all members.
        config: The configuration of the member; None for the defaults.
        process_id: Shared by the members of a process; None for a new one.
        release: The release whose behaviour it has, or its name, as ``kip-268``; our own by default.
        stored: The tasks of which there is state on disk.
        task_assignor: Assigns tasks to processes if this member leads: one of the application's, or one of
            ``task_assignor.BUILT_IN``. None: sticky for our own release, else the default of the release.
        cooperative: False for consumers that know only the eager protocol, whatever the configuration says.
        extension: Uses the bytes after the last field of userdata, such as ``CarriedLevels`` of
            ``upgrade.cluster.features.carried_levels``. No release of Kafka has one.

    Raises:
        UsageError: ``topology`` or ``extension`` is none.
        ConfigException: ``config`` or ``extension`` do not suit the release.
        UnknownRelease: there is no such ``release``.
    """

    name = PROTOCOL_NAME

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | StreamsSettings | None = None,
        *,
        process_id: UUID | None = None,
        release: Release | str = OURS,
        stored: Iterable[TaskId] = (),
        task_assignor: TaskAssignor | None = None,
        cooperative: bool = True,
        extension: Extension | None = None,
    ) -> None:
        check_topology(topology)
        check_extension(extension)
        config = as_streams_config(config)
        release = as_release(release)
        rules = BY_NAME[release.rule_set]
        version = MemberVersion.initial(rules.member, release.supported_version, config.pinned_version(release))
        config.end_point(release)  # raises what a member of that release raises
        if extension is not None and release.kafka_name:
            raise ConfigException(f"expected no extension, as Kafka Streams {release} has none, got {extension!r}")
        process_id = process_id or uuid4()
        self.topology: Final = topology
        self.release: Final = release
        self._extension = extension
        self._settings: Final = leader.LeaderSettings(
            rules=rules,
            supported_version=release.supported_version,
            topology=topology,
            process_id=process_id,
            configs=AssignmentConfigs.of(config),
            behaviour=release.behaviour,
            task_assignor=task_assignor or _default_task_assignor(release),
            as_release=release.kafka_name,
        )
        self._member = Member(
            process_id=process_id,
            version=version,
            behaviour=release.behaviour,
            cooperative=cooperative and release.rebalance_protocol(config.upgrade_from) == "cooperative",
            stateful_subtopologies=frozenset(
                number for number, subtopology in enumerate(topology.subtopologies) if subtopology.stateful
            ),
            end_point=config.application_server,
            client_tags=config.client_tags,
            rack_id=config.client_rack or None,
            as_release=release.kafka_name,
            stored=frozenset(stored),
        )
        self._completes = False
        self.probed: Mapping[str, VersionAnswer] = {}
        """The answers of the last ``assign`` to members that sent a version which this one does not support."""

    @property
    def used_version(self) -> int:
        """The version of the next subscription."""
        return self._member.version.used_version

    @property
    def supported_version(self) -> int:
        """The newest version that this member can send."""
        return self._member.version.supported_version

    @property
    def member(self) -> Member:
        """The member as a value: the whole state of this object, but for its extension."""
        return self._member

    @property
    def needs_replica_racks(self) -> bool:
        """Whether a leader needs the racks of replicas (KIP-925)."""
        return self._settings.configs.rack_aware_assignment_strategy != "none"

    def subscription(
        self,
        topics: Iterable[str] | None = None,
        *,
        offset_sums: Mapping[TaskId, int] | None = None,
        owned_partitions: Iterable[TopicPartition] | None = None,
    ) -> bytes:
        """Return the bytes for JoinGroup.

        ``topics`` are the source topics of the topology if not given. ``offset_sums`` and ``owned_partitions``: see
        ``Member.encode_subscription``. Raises ``FatalError`` if a leader has made this member use a version that it
        cannot send (KAFKA-8649).
        """
        encoded = self._member.encode_subscription(
            self.topology.source_topics if topics is None else topics,
            offset_sums,
            owned_partitions,
            self._extension.trailing() if self._extension else b"",
        )
        self._member = self._member.after_join()
        return encoded

    def plan_internal_topics(self, partitions: Mapping[str, int]) -> tuple[InternalTopicPlan, RequiredOffsets]:
        """Return the internal topics that a leader has to create before ``assign``, and the offsets that it needs.

        ``partitions`` has the number of partitions of each topic that exists. Raises ``FatalError`` if they do not fit.
        """
        prepared = plan_internal_topics(self.topology, partitions, self.release.behaviour)
        return prepared, required_offsets(self.topology, partitions, prepared.task_infos)

    def assign(
        self,
        cluster: ClusterSnapshot | Mapping[str, int],
        subscriptions: Mapping[str, bytes],
        plan: InternalTopicPlan | None = None,
    ) -> dict[str, bytes]:
        """Assign the tasks of the group as its leader; see ``leader.perform_assignment``.

        ``cluster`` may be just the number of partitions of each topic. ``plan`` is the one of these partitions, if the
        leader has asked for it. Raises ``FatalError`` if no member can get an assignment.
        """
        require_type("cluster", cluster, ClusterSnapshot, Mapping)
        require_type("subscriptions", subscriptions, Mapping)
        snapshot = cluster if isinstance(cluster, ClusterSnapshot) else ClusterSnapshot(partitions=cluster)
        merge = self._extension.merge if self._extension else leader.send_nothing
        answered = leader.perform_assignment(self._settings, snapshot, subscriptions, plan, merge)
        self._completes, self.probed = answered.completes, answered.probed
        return answered.assignments

    def on_assignment(self, assignment: bytes) -> ReceivedAssignment:
        """Decode and apply the bytes from SyncGroup. Raises ``FatalError`` and changes nothing if they are invalid."""
        completes, self._completes = self._completes, False
        self._member, received = self._member.on_assignment(assignment, completes=completes)
        if self._extension:
            self._extension.on_assignment(received.trailing)
        return received

    def on_partitions_lost(self) -> None:
        """Forget the tasks: the group has rebalanced without this member (Java: ``onPartitionsLost``)."""
        self._member = self._member.after_partitions_lost()

    def restore(self, member: Member) -> None:
        """Continue in the state of a member, as a simulation does whose history began before its records.

        Args:
            member: Such as ``evolve(self.member, ...)``.
        """
        self._member = member

    def request_shutdown(self) -> None:
        """Request with the next subscription that all members of the group shut down (KIP-663; from version 9 on)."""
        self._member = evolve(self._member, error_code=AssignorError.SHUTDOWN_REQUESTED)


def check_topology(topology: object) -> None:
    """Raise ``UsageError`` for anything but a ``Topology``."""
    if not isinstance(topology, Topology):
        raise UsageError(
            f"expected a Topology, got a {type(topology).__name__}: use Topology.of(Subtopology(sources=[...]), ...)"
        )


def _default_task_assignor(release: Release) -> TaskAssignor:
    if release.task_assignor == "high-availability":
        return HighAvailabilityTaskAssignor(release.behaviour)
    is_java = release.task_assignor == "sticky" and release.kafka_name
    return StickyTaskAssignor(stateless_standbys=release.behaviour.stateless_standbys, hash_order=bool(is_java))
