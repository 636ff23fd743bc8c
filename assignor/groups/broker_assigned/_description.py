"""The description of groups whose broker assigns: KIP-848, KIP-932 and KIP-1071.

A group has epochs instead of generations. The broker raises the group's epoch when members, topics or settings change,
computes a target assignment for that epoch, and lets each member come to its part of it: a member first revokes what it
is not to have, confirms that, and then gets what no other member has any more. So each member has a current and a
target assignment. Java: ``StreamsGroup``, ``ConsumerGroup``, ``CurrentAssignmentBuilder``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.upgrade.topology_description import DescribedNode


@frozen(kw_only=True)
class Assigned:
    """The present or target assignment of a member."""

    partitions: tuple[TopicPartition, ...] = ()
    """The partitions of a member of KIP-848 or KIP-932; sorted."""

    active: tuple[TaskId, ...] = ()
    """The active tasks of a member of KIP-1071, which has the next two also; sorted."""

    standby: tuple[TaskId, ...] = ()
    warm_up: tuple[TaskId, ...] = ()


@frozen(kw_only=True)
class BrokerAssignment:
    """The assignment of a member by the broker, and its description."""

    AWAY: ClassVar[int] = -2
    """The epoch of a static member that has left for a while. Java: ``LEAVE_GROUP_STATIC_MEMBER_EPOCH``."""

    epoch: int | None = 0
    """The member's epoch: that of the last target assignment for which it has revoked what it is not to have.

    None if it is not shown."""

    current: Assigned = Assigned()
    """The tasks of the member, also while it is away; without those that it was asked to revoke."""

    target: Assigned | None = None
    """Its target; None in a share group, which has no target."""

    topics: tuple[str, ...] = ()
    """Subscribed topics; none in a group of KIP-1071, whose topology has them."""

    topic_regex: str | None = None
    """Subscribed pattern of topics (KIP-848)."""

    is_classic: bool | None = False
    """Whether it still speaks the classic protocol, in a group that is being migrated; None if it is not shown."""

    process_id: str = ""
    """The process of a member of KIP-1071, which also has all that follow; the rack is in every type."""

    topology_epoch: int = 0
    rack: str | None = None
    end_point: str = ""
    client_tags: Mapping[str, str] = field(factory=dict, hash=False)
    offset_sums: Mapping[TaskId, int] = field(factory=dict, hash=False)
    """Restored offsets of each task; empty with brokers up to 4.3, which do not store them."""

    end_offset_sums: Mapping[TaskId, int] = field(factory=dict, hash=False)
    """End offsets of the changelogs of each task; empty with brokers up to 4.3, too."""

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left and may return, with its assignment until its session ends."""
        return self.epoch == self.AWAY


@frozen(kw_only=True)
class InternalTopic:
    """A changelog or a repartition topic, which the broker creates."""

    name: str

    partitions: int = 0
    """0: not decided yet, or as many as the subtopology has tasks."""

    replication_factor: int = 0
    """0: the broker's default."""

    configs: Mapping[str, str] = field(factory=dict, hash=False)


@frozen(kw_only=True)
class DescribedSubtopology:
    """A subtopology of a streams group."""

    name: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    changelogs: tuple[InternalTopic, ...] = ()
    repartition_sources: tuple[InternalTopic, ...] = ()

    @property
    def input_topics(self) -> tuple[str, ...]:
        """All topics that its tasks read."""
        return (*self.source_topics, *(source.name for source in self.repartition_sources))


@frozen(kw_only=True)
class DescribedTopology:
    """The topology of a streams group, as its first member sent it."""

    epoch: int = 0

    subtopologies: tuple[DescribedSubtopology, ...] = ()
    """In a ready group with the decided number of partitions of repartition topics."""

    @property
    def topics(self) -> frozenset[str]:
        """All topics that have to exist."""
        return frozenset(
            name
            for subtopology in self.subtopologies
            for name in (*subtopology.input_topics, *(changelog.name for changelog in subtopology.changelogs))
        )


@frozen(kw_only=True)
class BrokerGroup:
    """The description of a group as a whole."""

    epoch: int = 0
    """It rises when members, topics or settings change."""

    assignment_epoch: int = 0
    """The epoch of the target assignment. Below the group's: the broker has not computed the next one yet."""

    topology: DescribedTopology | None = None
    """None unless it is a streams group."""

    topology_description: tuple[DescribedNode, ...] | None = None
    """The nodes of the topology, as a member of 4.4 or later has sent them (KIP-1331); None if they are not known."""

    topology_description_status: str | None = None
    """``not-stored``, ``error``, ``available``, or ``not-understood`` if it has another form.

    None with brokers before 4.4, which have no descriptions."""

    authorized_operations: int | None = None
    """Bits of the operations that the user may perform on the group; None if unknown."""

    configs: Mapping[str, str] | None = field(default=None, hash=False)
    """Settings of the group, such as ``streams.num.standby.replicas``; None if the user may not describe them."""
