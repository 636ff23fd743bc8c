"""What is asked about the offsets of a group; ``described_group.GroupOffsets`` is the answer."""

from __future__ import annotations

from attrs import frozen

from subscription_codec import TopicPartition


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
