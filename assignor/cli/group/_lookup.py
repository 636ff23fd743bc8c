"""How commands describe groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from streams_assignor.groups import ClusterGroups, DescribedGroup
    from streams_assignor.groups.offsets import ChangelogSizes, GroupOffsets, OffsetRequest


class Lookup(Protocol):
    """Describes the groups of a cluster; ``ClusterError`` if that fails."""

    def group(self, name: str) -> DescribedGroup:
        """Describe one group; ``NoSuchGroup`` if it does not exist."""
        ...

    def groups(self) -> ClusterGroups:
        """Describe all groups, as far as brokers answer."""
        ...

    def offsets(self, requests: Sequence[OffsetRequest], report: Callable[[str], object]) -> Mapping[str, GroupOffsets]:
        """Return the offsets of groups, by name, as far as brokers answer; call ``report`` before each step."""
        ...

    def changelog_sizes(self, group: str, report: Callable[[str], object]) -> ChangelogSizes:
        """Return how much the changelogs of a group hold, as far as brokers answer; ``report`` as in ``offsets``."""
        ...

    def group_settings(self) -> Mapping[int, Mapping[str, str]]:
        """Return what each broker says of configurations of groups, as far as the user may describe it."""
        ...

    def cluster_id(self) -> str:
        """Return the id of the cluster; empty if its brokers do not say it."""
        ...

    def names(self) -> Sequence[str]:
        """List the names of the groups, as far as brokers answer."""
        ...


LookupFactory = Callable[[str, Mapping[str, Any], float], Lookup]
"""Takes bootstrap servers, settings of the client library, and the time limit of each call in seconds."""


def load_lookup() -> LookupFactory:
    """Return the look-up of kafka-python, which has the requests of Kafka's own tools.

    Raises:
        MissingExtraError: It is not installed, or in no release that can be used.
    """
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

    return GroupLookup
