"""``StreamsPartitionAssignor``: codec, version probing, ``upgrade.from`` and task assignment in one object.

One per consumer, and without any input or output: client adapters and the simulated group drive this same object.
Java: ``StreamsPartitionAssignor``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID, uuid4

from attrs import evolve

from assignor import leader, placement
from assignor.assignment_configs import AssignmentConfigs
from assignor.carried_levels import Levels, as_watches
from assignor.cluster import Cluster
from assignor.eras import Era, era_of
from assignor.high_availability import rules_of
from assignor.internal_topics import Prepared, prepare, rules_for
from assignor.member import Member, Received
from assignor.offsets import Wanted, wanted
from assignor.task_assignor import TaskAssignor
from assignor.topology import Topology
from probing import MemberVersion
from probing.events import AssignorError
from probing.rules import BY_NAME
from subscription_codec import TaskId, TopicPartition
from upgrade import OURS, ConfigException, Release, StreamsConfig

NAME: Final = "stream"
"""The name of the protocol in JoinGroup, the same in every release of Kafka Streams."""


class StreamsPartitionAssignor:
    """The assignor of one member: call ``subscription`` to join, ``assign`` when leading, ``on_assignment`` after.

    ``release`` says whose behaviour it has; the default is our own (today's rules). ``process_id`` is shared by the
    members of a process, ``stored`` are the tasks of which it finds state. ``task_assignor`` is who places tasks if it
    leads: one of the application's own, or one of ``task_assignor.BUILT_IN``. Without it our own members are sticky,
    and others do what their release does. ``cooperative`` forbids what the configuration would choose, for consumers
    that know only the eager protocol. ``watches`` are names of features: their levels, as the leader has seen them
    finalised, are carried to every member that watches them (KIP-584; no release of Kafka does it). Raises
    ``ConfigException`` if ``config`` or ``watches`` do not suit the release.
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
        task_assignor: TaskAssignor | None = None,
        cooperative: bool = True,
        watches: Iterable[str] = (),
    ) -> None:
        config = config or StreamsConfig()
        rules, era = BY_NAME[release.rules], era_of(release.number)
        version = MemberVersion.started(rules.member, release.latest_version, config.pinned_version(release))
        process_id, watched = process_id or uuid4(), _watched(release, watches)
        self.topology: Final = topology
        self.release: Final = release
        self._settings: Final = leader.LeaderSettings(
            rules=rules,
            latest_version=release.latest_version,
            topology=topology,
            process_id=process_id,
            configs=AssignmentConfigs.of(config),
            era=era,
            placement=_placement(release, era, task_assignor),
            as_release=release.of_kafka,
            watches=watched,
        )
        self._member = Member(
            process_id=process_id,
            version=version,
            era=era,
            cooperative=cooperative and release.protocol(config.upgrade_from) == "cooperative",
            stateful=frozenset(number for number, each in enumerate(topology.subtopologies) if each.stateful),
            end_point=config.application_server,
            tags=config.client_tags,
            rack=config.client_rack or None,
            as_release=release.of_kafka,
            stored=frozenset(stored),
            watches=watched,
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

    @property
    def looks_at_racks(self) -> bool:
        """Whether a leader wants to know where replicas are (KIP-925)."""
        return self._settings.configs.rack_aware_assignment_strategy != "none"

    def subscription(
        self,
        topics: Iterable[str] | None = None,
        *,
        sums: Mapping[TaskId, int] | None = None,
        owned: Iterable[TopicPartition] | None = None,
    ) -> bytes:
        """Return the bytes for JoinGroup; ``topics`` are the topology's sources if not given.

        ``sums`` and ``owned``: see ``Member.subscription``. Raises ``FatalError`` if a leader has made this member use
        a version it does not have (KAFKA-8649).
        """
        blob = self._member.subscription(self.topology.source_topics if topics is None else topics, sums, owned)
        self._member = self._member.joined()
        return blob

    def prepare(self, partitions: Mapping[str, int]) -> tuple[Prepared, Wanted]:
        """Before leading: say which internal topics have to be created, and which offsets ``assign`` will need.

        ``partitions`` has the number of partitions of each topic that exists. ``FatalError`` if they do not fit.
        """
        prepared = prepare(self.topology, partitions, rules_for(self.latest_version))
        return prepared, wanted(self.topology, partitions, prepared.tasks)

    def assign(self, cluster: Cluster | Mapping[str, int], subscriptions: Mapping[str, bytes]) -> dict[str, bytes]:
        """Lead: answer all members (see ``leader.assign``); ``FatalError`` if the group cannot be answered.

        Instead of a ``Cluster`` the number of partitions of each topic will do, where nothing else is known.
        """
        known = cluster if isinstance(cluster, Cluster) else Cluster(partitions=cluster)
        answered = leader.assign(self._settings, known, subscriptions)
        self._completes = answered.completes
        return answered.assignments

    def on_assignment(self, assignment: bytes) -> Received:
        """Take the bytes from SyncGroup; ``FatalError`` if they cannot be taken, and then nothing has changed."""
        completes, self._completes = self._completes, False
        self._member, received = self._member.receive(assignment, completes=completes)
        return received

    def lost(self) -> None:
        """Forget what this member had: the group has gone on without it (Java: ``onPartitionsLost``)."""
        self._member = self._member.lost()

    def raised_by(self, levels: Levels) -> bool:
        """While leading, for the finalised ``levels`` of the cluster: say whether this member has to rejoin for them.

        It then hands them to the next ``assign`` as ``Cluster.levels``.
        """
        return self._member.raised_by(levels)

    def request_shutdown(self) -> None:
        """Ask with the next subscription that every member of the group ends (KIP-663; from version 9 on)."""
        self._member = evolve(self._member, error_code=AssignorError.SHUTDOWN_REQUESTED)


def _watched(release: Release, watches: Iterable[str]) -> frozenset[str]:
    found = as_watches(watches)
    if found and release.of_kafka:
        raise ConfigException(
            f"expected no features to watch, as Kafka Streams {release} carries none, got {sorted(found)}"
        )
    return found


def _placement(release: Release, era: Era, task_assignor: TaskAssignor | None) -> placement.Placement:
    if task_assignor is not None:
        return placement.by(task_assignor)
    if release.of_kafka and era.balances:
        return placement.by_high_availability(rules_of(release.name))
    return placement.by_sticky(standbys_without_state=era.standbys_without_state)
