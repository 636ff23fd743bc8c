"""Warnings from Kafka's upgrade notes: one row per fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.cluster.brokers._known_bugs import READ, broker_bugs
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, MetadataMode


@frozen
class UpgradeNote:
    """A fact about upgrades from a release below ``since`` to that release or a later one, in one of ``modes``."""

    since: tuple[int, ...]
    text: str
    source: str
    modes: tuple[MetadataMode, ...] = (MetadataMode.ZOOKEEPER, MetadataMode.KRAFT)
    before: tuple[int, ...] = ()
    """If it is given, the older release must be before it, and the fact is about the way back as well."""

    def applies(self, origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode) -> bool:
        """Whether an upgrade, or a downgrade, meets it."""
        older, newer = sorted((origin.number, target.number))
        is_met = older < self.before if self.before else newer == target.number
        return is_met and older < self.since <= newer and mode in self.modes


_ZOOKEEPER: Final = (MetadataMode.ZOOKEEPER,)
_KRAFT: Final = (MetadataMode.KRAFT,)

UPGRADE_NOTES: Final = (
    UpgradeNote(
        (0, 11),
        "while a broker is older than 0.11, add no ACL for a TransactionalId: older brokers do not start any more",
        "KIP-98; a0x8o/kafka issue 4",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (2, 0),
        "prefixed ACLs, if you add any, are ignored by older brokers after a downgrade",
        "upgrade notes of 2.0",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (2, 1),
        "once inter.broker.protocol.version is 2.1 or later, offsets and groups are stored in schemas that brokers "
        "before 2.1 cannot read: no way back to those",
        "upgrade notes of 2.1",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (2, 4),
        "the ZooKeeper of 2.4 (3.5) does not start on a data directory of 3.4 that has no snapshot; see ZOOKEEPER-3056",
        "upgrade notes of 2.4",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (2, 8),
        "a downgrade below protocol 2.8 may lose the ids of topics in ZooKeeper, and new topics get none",
        "upgrade notes of 2.8",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (2, 8),
        "kafka-topics --zookeeper of an older release takes their ids from topics that it changes: use tools of 2.8 or "
        "later, or --bootstrap-server",
        "KAFKA-14190",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (3, 0),
        "with inter.broker.protocol.version 3.0 or later, log.message.format.version is taken to be 3.0 and the "
        "configured value is ignored; clear it (and message.format.version of topics) at the same time",
        "upgrade notes of 3.0",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (3, 8),
        "bring ZooKeeper itself to 3.8.3 or later before the brokers",
        "upgrade notes of 3.8 and 3.9",
        _ZOOKEEPER,
    ),
    UpgradeNote(
        (3, 7, 1),
        "with several log.dirs, raise metadata.version to 3.7-IV2 or later soon: below it nodes log a fault (Multiple "
        "log directories (aka JBOD) are not supported), and leaders stay on a directory that fails",
        "KAFKA-16606, seen with 3.8.1 and 3.9.2",
        _KRAFT,
    ),
    UpgradeNote(
        (3, 7),
        "with several log.dirs there is no way back to 3.3 (InconsistentBrokerMetadataException): each one gets a "
        "directory.id of its own",
        "KAFKA-18442, seen with 3.3.2, 3.6.2 and 3.9.2",
        _KRAFT,
        before=(3, 4),
    ),
    UpgradeNote(
        (4, 0),
        "clients (also Streams and Connect) must be of 2.1 or later before the brokers are of 4.0, clients of other "
        "makes as docs/how-to/brokers.md lists them (brokers from 3.7 on count requests of the others: "
        "DeprecatedRequestsPerSec), and brokers need Java 17",
        "upgrade notes of 4.0, KIP-896",
    ),
    UpgradeNote(
        (4, 0),
        "once consumer groups use the protocol of KIP-848, which finalizing 4.0 turns on, no way back below 3.4.1",
        "upgrade notes of 4.0",
    ),
    UpgradeNote(
        (4, 4),
        "brokers older than the kafka-storage tool that formatted a directory cannot use it, if the tool is of 4.4 or "
        "later: format new nodes with the oldest release of the cluster",
        "upgrade notes of 4.4",
        _KRAFT,
    ),
)


def upgrade_notes(origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode) -> Iterator[str]:
    """Yield the facts about the upgrade from ``origin`` to ``target``, each with its source."""
    for note in UPGRADE_NOTES:
        if note.applies(origin, target, mode):
            yield f"{note.text} ({note.source})"


def notes_read(origin: BrokerRelease, target: BrokerRelease, mode: MetadataMode) -> str:
    """Say which upgrade notes were read between two releases, in either direction, and how many facts they have."""
    older, newer = sorted((origin, target), key=lambda release: release.number)
    facts = [note for note in UPGRADE_NOTES if note.applies(older, newer, mode)]
    number = f"{len(facts) or 'no'} {'fact' if len(facts) == 1 else 'facts'} for operators"
    bugs = sum(bug.mode in {"", mode.value} for bug in broker_bugs())
    return f"Kafka's upgrade notes after {older} up to {newer} ({number}), {bugs} known bugs of brokers ({READ})"
