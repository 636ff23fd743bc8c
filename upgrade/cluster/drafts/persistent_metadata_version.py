"""The three steps of the draft KIP "persistent.metadata.version": protocol, then metadata, then message format.

The draft was never adopted; metadata.version took its place. The model shows the problem that the draft solves: with
one configuration for protocol and schemas, a test of a new protocol commits the cluster to its schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, PMV, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease
from streams_assignor.upgrade.errors import UpgradeError


class StoredMetadata(Enum):
    """The kinds of data that brokers store besides records."""

    INTERNAL_TOPICS = "schemas for internal topics"
    ZOOKEEPER = "metadata in ZooKeeper"
    PARTITION = "index files, producer snapshots, the leader epoch checkpoint"
    LOGS = "replication and cleaner checkpoints"


@frozen
class StoredMetadataChange:
    """A change of stored data; ``compatible``: older brokers can still read it."""

    kind: StoredMetadata
    compatible: bool

    @property
    def controlled_by(self) -> str:
        """The configuration that enables it: the protocol, "only if the change is compatible"."""
        return IBP if self.compatible else PMV


@frozen
class RollStage:
    """One roll: the action, the configuration of each broker after it, and whether a downgrade stays possible."""

    do: str
    why: str
    if_skipped: str
    settings: Mapping[str, str] = field(hash=False)
    """The values that are configured."""
    config: BrokerConfig
    can_downgrade: bool


def persistent_metadata_rolls(
    origin: BrokerRelease, target: BrokerRelease, *, together: bool = False
) -> tuple[RollStage, ...]:
    """Return the rolls of the draft from one release to a newer one; ``UpgradeError`` if there is nothing to raise.

    The draft's introduction of the steps is cut off ("When a user is testing an upgrade to"), so their preconditions
    are unknown. The first roll, which the draft presupposes, installs the binary and pins all three values. The message
    format has a roll of its own only if there is a newer one.

    ``together``: "It is possible to update inter.broker.protocol.version and persistent.metadata.version at the same
    time, but doing so will prevent the possibility of downgrade."
    """
    if target.newest <= origin.newest:
        raise UpgradeError(f"{target} supports no version that {origin} does not: there is nothing to raise")
    old, new = origin.newest.config_value, target.newest.config_value
    rolls = [
        (_BINARY, {IBP: old, PMV: old, LMF: old}, True),
        (_PROTOCOL, {IBP: new, PMV: old, LMF: old}, True),
        (_METADATA, {IBP: new, PMV: new, LMF: old}, False),
        (_FORMAT, {IBP: new, PMV: new, LMF: new}, False),
    ]
    if together:
        rolls[1:3] = [(_TOGETHER, rolls[2][1], False)]
    if target.newest.message_format == origin.newest.message_format:
        del rolls[-1]
    return tuple(
        RollStage(*words, values, BrokerConfig.of(target, values, draft=True), way_back)
        for words, values, way_back in rolls
    )


_BINARY: Final = (
    "install the new release",
    "brokers of both releases use the same protocol and the same schemas",
    "brokers of the new release use a protocol that the others do not support",
)
_PROTOCOL: Final = (
    f"raise {IBP} and validate",
    "the new protocol is tried, while stored metadata stays readable for the old release",
    f"a higher {PMV} is refused",
)
_METADATA: Final = (
    f"raise {PMV}",
    "the protocol has proved itself: brokers store metadata by the new schemas",
    "stored metadata keeps the old schemas",
)
_TOGETHER: Final = (
    f"raise {IBP} and {PMV}",
    "a roll is saved, and with it the possibility of a downgrade",
    "protocol and schemas stay as they were",
)
_FORMAT: Final = (
    f"make sure that the clients are new, raise {LMF}",
    "older consumers would need a conversion of each record",
    "records keep the old format",
)
"""The action of a roll, its reason, and the consequence of skipping it."""
