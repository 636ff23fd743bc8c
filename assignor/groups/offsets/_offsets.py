"""The request for the offsets of a group, with ``described_group.GroupOffsets`` as the answer; and log sizes."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from streams_assignor.codec import TopicPartition


@frozen(kw_only=True)
class OffsetRequest:
    """The offsets that a group needs."""

    group: str

    coordinator: str
    """Address of its coordinator; empty if unknown."""

    partitions: frozenset[TopicPartition] = frozenset()
    """Those whose end is needed, beside those with committed offsets."""

    reads_changelogs: bool = False
    """Whether the ends of all topics are needed that have the name of a changelog of the group."""

    def is_changelog(self, topic: str) -> bool:
        """Whether a topic has the name of a changelog. Java: ``ProcessorStateManager.storeChangelogTopic``.

        >>> OffsetRequest(group="app", coordinator="").is_changelog("app-store-changelog")
        True
        """
        return topic.startswith(f"{self.group}-") and topic.endswith("-changelog")


@frozen(kw_only=True)
class ChangelogSizes:
    """How much the leaders of the changelogs of a group hold, as far as brokers say."""

    sizes: Mapping[TopicPartition, int] = field(factory=dict, hash=False)
    """The bytes of each partition."""

    begins: Mapping[TopicPartition, int] = field(factory=dict, hash=False)
    """Its first offset."""

    ends: Mapping[TopicPartition, int] = field(factory=dict, hash=False)
    """The offset behind its last record that is replicated."""

    failures: tuple[str, ...] = ()
    """Why some are missing."""
