"""A cluster of brokers in the middle of a roll: who understands whom, who has written what, and who could go back.

Brokers are bounced one at a time, so for a while there are two releases, or two configurations, in one cluster. What a
broker sends to another is of the version it is configured to speak, and the other must know it; what it writes where
it leads is copied as it is by all replicas.

Seen here by static configuration alone. In Kafka some requests between brokers are negotiated (ApiVersions), so not
every pair that is called deaf here fails at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from attrs import evolve, frozen

from upgrade.brokers.config import BrokerConfig
from upgrade.brokers.versions import BrokerRelease, ProtocolVersion
from upgrade.errors import UpgradeError


@frozen
class Entry:
    """Something written: the version whose schema it has in an internal topic, and the format of the record."""

    schema: ProtocolVersion
    message_format: int

    def readable_by(self, release: BrokerRelease) -> bool:
        """Whether brokers of this release have a decoder for both."""
        known = zip(self.schema.schemas, release.newest.schemas, strict=True)
        return all(has <= knows for has, knows in known) and self.message_format <= release.newest.message_format


@frozen
class Broker:
    """One broker, and the log of the partition that all of them are replicas of."""

    name: str
    config: BrokerConfig
    log: tuple[Entry, ...] = ()


@frozen
class Downgrade:
    """Whether the cluster can go back to a release: what is against it, and what that release could not read."""

    release: BrokerRelease
    against: tuple[str, ...]
    lost: tuple[Entry, ...]

    @property
    def possible(self) -> bool:
        """Whether nothing is against it."""
        return not self.against


@frozen
class RollingCluster:
    """The brokers of a cluster. Nothing changes in place: every step returns a new one."""

    brokers: tuple[Broker, ...]

    @classmethod
    def of(cls, config: BrokerConfig, names: str = "ABC") -> Self:
        """Start brokers that are all alike; each letter names one."""
        return cls(tuple(Broker(name, config) for name in names))

    def broker(self, name: str) -> Broker:
        """Find a broker; ``UpgradeError`` if there is none."""
        for found in self.brokers:
            if found.name == name:
                return found
        raise UpgradeError(f"no broker {name!r}; there are {', '.join(each.name for each in self.brokers)}")

    def bounce(self, name: str, config: BrokerConfig) -> Self:
        """Stop one broker and start it again with another release or configuration; its log stays."""
        bounced = evolve(self.broker(name), config=config)
        return evolve(self, brokers=tuple(bounced if each.name == name else each for each in self.brokers))

    def roll(self, config: BrokerConfig) -> Iterator[Self]:
        """Bounce all of them one by one, and yield the cluster after each."""
        cluster = self
        for each in self.brokers:
            cluster = cluster.bounce(each.name, config)
            yield cluster

    def write(self, leader: str) -> Self:
        """Let a broker lead and write something. The replicas copy it, whatever they would write themselves.

        "Replicas will generally take the format from the leader" (draft of persistent.metadata.version).
        """
        config = self.broker(leader).config
        entry = Entry(config.writes, config.writes_format)
        return evolve(self, brokers=tuple(evolve(each, log=(*each.log, entry)) for each in self.brokers))

    @property
    def deaf(self) -> tuple[tuple[str, str], ...]:
        """The pairs (listener, speaker) in which the listener's release does not know what the speaker speaks."""
        return tuple(
            (listener.name, speaker.name)
            for listener in self.brokers
            for speaker in self.brokers
            if not listener.config.knows(speaker.config.protocol)
        )

    def downgrade(self, release: BrokerRelease) -> Downgrade:
        """Ask whether all brokers could be taken back to an older release.

        Kafka: "Once the brokers begin using the latest protocol version, it will no longer be possible to downgrade the
        cluster to an older version" (upgrade notes). Draft: the same, of ``persistent.metadata.version``.
        """
        against = tuple(
            f"{each.name} writes what {each.config.writes} brought, {release} knows no more than {release.newest}"
            for each in self.brokers
            if each.config.writes > release.newest
        )
        lost = [entry for each in self.brokers for entry in each.log if not entry.readable_by(release)]
        return Downgrade(release, against, tuple(dict.fromkeys(lost)))
