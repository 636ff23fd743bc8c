"""The three steps of the draft KIP "persistent.metadata.version": protocol, then metadata, then message format.

The draft was never adopted; metadata.version took its place. It is here because it says what goes wrong without it:
with one configuration for both, testing a new protocol commits the cluster to its schemas.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from upgrade.brokers.config import IBP, LMF, PMV, BrokerConfig
from upgrade.brokers.versions import BrokerRelease
from upgrade.errors import UpgradeError


class Metadata(Enum):
    """What brokers store besides records."""

    INTERNAL_TOPICS = "schemas for internal topics"
    ZOOKEEPER = "metadata in ZooKeeper"
    PARTITION = "index files, producer snapshots, the leader epoch checkpoint"
    LOGS = "replication and cleaner checkpoints"


@frozen
class Change:
    """A change of something that is stored; ``compatible``: older brokers can still read it."""

    what: Metadata
    compatible: bool

    @property
    def switched_on_by(self) -> str:
        """The configuration that it follows: the protocol, and at once, "only if the change is compatible"."""
        return IBP if self.compatible else PMV


@frozen
class Stage:
    """One roll of the path: what is done, the configuration each broker has after it, and whether one may go back."""

    do: str
    config: BrokerConfig
    way_back: bool


def persistent_path(origin: BrokerRelease, target: BrokerRelease, *, together: bool = False) -> tuple[Stage, ...]:
    """Return the rolls from one release to a newer one, under the draft. ``UpgradeError`` if nothing is to be raised.

    The sentence that leads to the steps is cut off in the text ("When a user is testing an upgrade to"), so nothing
    more is known about when they apply. The first roll here, which the draft takes for granted, brings the binary and
    pins all three values. The message format has a roll of its own only if there is a newer one.

    ``together``: "It is possible to update inter.broker.protocol.version and persistent.metadata.version at the same
    time, but doing so will prevent the possibility of downgrade."
    """
    if target.newest <= origin.newest:
        raise UpgradeError(f"{target} speaks nothing that {origin} does not: there is nothing to raise")
    old, new = origin.newest.value, target.newest.value
    rolls = [
        ("bounce to the new release with everything as it was", {IBP: old, PMV: old, LMF: old}, True),
        (f"raise {IBP} and validate", {IBP: new, PMV: old, LMF: old}, True),
        (f"raise {PMV}", {IBP: new, PMV: new, LMF: old}, False),
        (f"make sure that the clients are new, raise {LMF}", {IBP: new, PMV: new, LMF: new}, False),
    ]
    if together:
        rolls[1:3] = [(f"raise {IBP} and {PMV}", rolls[2][1], False)]
    if target.newest.message_format == origin.newest.message_format:
        del rolls[-1]
    return tuple(Stage(do, BrokerConfig.of(target, told, draft=True), way_back) for do, told, way_back in rolls)
