"""Model of a cluster in the middle of a roll: compatibility between brokers, written data, possible downgrades.

Brokers are bounced one at a time, so a cluster has two releases or two configurations for a while. A broker sends
requests of its configured version, which the receiver must support. All replicas copy unchanged what the leader of a
partition writes.

The model only knows static configuration. Kafka negotiates some requests between brokers (ApiVersions), so not every
incompatible pair of this model fails at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from attrs import evolve, frozen

from streams_assignor.upgrade.cluster.brokers.config import BrokerConfig
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, ProtocolVersion
from streams_assignor.upgrade.errors import UpgradeError


@frozen
class WrittenRecord:
    """One written record: the version of its schema in an internal topic, and its message format."""

    schema: ProtocolVersion
    message_format: int

    def is_readable_by(self, release: BrokerRelease) -> bool:
        """Whether brokers of this release can decode both."""
        schema_pairs = zip(self.schema.schemas, release.newest.schemas, strict=True)
        return all(has <= knows for has, knows in schema_pairs) and self.message_format <= release.newest.message_format


@frozen
class Broker:
    """One broker and its log of the one partition that all brokers replicate."""

    name: str
    config: BrokerConfig
    log: tuple[WrittenRecord, ...] = ()


@frozen
class DowngradeCheck:
    """Whether the cluster can be downgraded to a release: the objections, and the log entries it could not read."""

    release: BrokerRelease
    objections: tuple[str, ...]
    unreadable_entries: tuple[WrittenRecord, ...]

    @property
    def is_possible(self) -> bool:
        """Whether there are no objections, and the release can read everything that was written."""
        return not self.objections and not self.unreadable_entries


@frozen
class RollingCluster:
    """An immutable cluster of brokers; every step returns a new one."""

    brokers: tuple[Broker, ...]

    @classmethod
    def of(cls, config: BrokerConfig, names: str = "ABC") -> Self:
        """Start identical brokers, one for each letter of ``names``."""
        return cls(tuple(Broker(name, config) for name in names))

    def broker(self, name: str) -> Broker:
        """Return the broker with this name; ``UpgradeError`` if there is none."""
        for broker in self.brokers:
            if broker.name == name:
                return broker
        raise UpgradeError(f"no broker {name!r}; there are {', '.join(broker.name for broker in self.brokers)}")

    def bounce(self, name: str, config: BrokerConfig) -> Self:
        """Restart one broker with another release or configuration; its log stays."""
        bounced = evolve(self.broker(name), config=config)
        return evolve(self, brokers=tuple(bounced if broker.name == name else broker for broker in self.brokers))

    def roll(self, config: BrokerConfig) -> Iterator[Self]:
        """Bounce all brokers one by one, and yield the cluster after each."""
        cluster = self
        for broker in self.brokers:
            cluster = cluster.bounce(broker.name, config)
            yield cluster

    def write(self, leader: str) -> Self:
        """Append a record written by ``leader``. The replicas copy it unchanged.

        "Replicas will generally take the format from the leader" (draft of persistent.metadata.version).
        """
        config = self.broker(leader).config
        entry = WrittenRecord(config.schema_version, config.record_format)
        return evolve(self, brokers=tuple(evolve(broker, log=(*broker.log, entry)) for broker in self.brokers))

    @property
    def incompatible_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs (receiver, sender) in which the receiver's release does not support the sender's protocol."""
        return tuple(
            (receiver.name, sender.name)
            for receiver in self.brokers
            for sender in self.brokers
            if not receiver.config.supports(sender.config.protocol)
        )

    def downgrade(self, release: BrokerRelease) -> DowngradeCheck:
        """Return whether all brokers could be downgraded to an older release.

        Kafka: "Once the brokers begin using the latest protocol version, it will no longer be possible to downgrade the
        cluster to an older version" (upgrade notes). Draft: the same, of ``persistent.metadata.version``.
        """
        against = tuple(
            f"{broker.name} writes schemas of {broker.config.schema_version}, "
            f"{release} supports at most {release.newest}"
            for broker in self.brokers
            if broker.config.schema_version > release.newest
        )
        lost = [entry for broker in self.brokers for entry in broker.log if not entry.is_readable_by(release)]
        return DowngradeCheck(release, against, tuple(dict.fromkeys(lost)))
