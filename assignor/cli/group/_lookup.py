"""The client libraries that describe groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from streams_assignor.upgrade.extras import MissingExtraError, how_to_install, is_installed

if TYPE_CHECKING:  # `plan` has an option with these names, and seldom a group
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

    def names(self) -> Sequence[str]:
        """List the names of the groups, as far as brokers answer."""
        ...


LookupFactory = Callable[[str, Mapping[str, Any], float], Lookup]
"""Takes bootstrap servers, settings of the client library, and the time limit of each call in seconds."""


def _load_kafka_python() -> LookupFactory:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

    return GroupLookup


def _load_confluent() -> LookupFactory:
    from streams_assignor.groups.describe.confluent.group_lookup import GroupLookup

    return GroupLookup


LOOKUP_LOADERS: Final[Mapping[str, Callable[[], LookupFactory]]] = {
    "kafka-python": _load_kafka_python,
    "confluent-kafka": _load_confluent,
}
"""Lookups by client library, in order of preference. Each raises ``MissingExtraError`` if its library is
not installed."""

_MODULES: Final = ("kafka", "confluent_kafka")


def load_lookup(client: str | None = None) -> LookupFactory:
    """Return the lookup of a client library, or of the first that is installed.

    Raises:
        MissingExtraError: None is, or in no release that can be used.
    """
    problems = []
    for name in [client] if client else LOOKUP_LOADERS:
        try:
            return LOOKUP_LOADERS[name]()
        except MissingExtraError as error:
            problems.append(str(error))
    if len(problems) > 1 and not any(map(is_installed, _MODULES)):
        raise MissingExtraError(f"neither {' nor '.join(LOOKUP_LOADERS)} is installed: {how_to_install(_MODULES[:1])}")
    raise MissingExtraError("; or ".join(problems))
