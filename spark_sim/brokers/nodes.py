"""A node as a process on a machine: which release it runs, what that supports, and what is on its disk."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from attrs import frozen

from spark_sim.brokers.scenario import number_of
from upgrade.brokers.versions import BrokerRelease
from upgrade.features.cluster import Ranges
from upgrade.features.dialects import Dialect
from upgrade.features.levels import CATALOGS, METADATA, NEWEST, Catalog


class Role(Enum):
    """What a node is. In KIP-584 all are brokers, and the active controller is one of them."""

    BOTH = "broker and controller"
    BROKER = "broker"
    CONTROLLER = "controller"


@frozen
class Process:
    """One node. ``meant`` is whether somebody wants it to run; ``runs`` is whether it does.

    ``own`` nodes are those of the scenario's first part, others came later. ``stale`` ones hear of no changes.
    ``loaded`` and ``compacted`` count the entries of the metadata log that it has, and that its last snapshot has.
    """

    name: str
    role: Role
    release: BrokerRelease
    runs: bool = False
    meant: bool = True
    crashed: bool = False
    own: bool = True
    stale: bool = False
    loaded: int = 0
    compacted: int = 0

    @property
    def id(self) -> int:
        """Its node id."""
        return number_of(self.name)

    @property
    def votes(self) -> bool:
        """Whether it is one of the controllers."""
        return self.role is not Role.BROKER

    @property
    def serves(self) -> bool:
        """Whether it is a broker."""
        return self.role is not Role.CONTROLLER

    def begins_at(self, dialect: Dialect) -> int:
        """Return the entry from which it reads the log when it starts.

        A node that writes a snapshot with every change of the level (KIP-778) goes on where it was. Others read all
        since their last regular snapshot once more.
        """
        return self.loaded if dialect.snapshot else self.compacted


def catalog_of(release: BrokerRelease) -> Catalog:
    """Return the tables of levels that a release has: 4.x those of 4.3.1, older ones those of 3.9.2."""
    return NEWEST if release.number >= (4,) else CATALOGS["3.9.2"]


@lru_cache
def supports(release: BrokerRelease, dialect: Dialect) -> Ranges:
    """Return what a node of a release advertises: metadata.version up to the release's own, the rest as a new cluster.

    Exact for the two releases whose tables are known. Others may have a level as a preview that is not in here.

    >>> from upgrade.brokers.versions import broker_release
    >>> from upgrade.features.dialects import KAFKA_4
    >>> supports(broker_release("4.0.0"), KAFKA_4)["metadata.version"]
    (7, 25)
    """
    catalog, newest = catalog_of(release), newest_level(release)
    others = {feature: catalog.default(feature, newest) for feature in catalog.features if feature != METADATA}
    ranges = {feature: (dialect.lowest_level, highest) for feature, highest in others.items() if highest}
    return {METADATA: (catalog.supported(METADATA)[0], newest), **ranges}


def newest_level(release: BrokerRelease) -> int:
    """Return the highest metadata.version of a release."""
    assert release.newest.level is not None, f"{release} has no levels; this should never happen"
    return release.newest.level


Processes = Mapping[str, Process]
