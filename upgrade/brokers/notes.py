"""What Kafka's upgrade notes say about crossing certain releases: one row per fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from upgrade.brokers.versions import BrokerRelease, Mode


@frozen
class Note:
    """A fact for everybody who goes from a release below ``crosses`` to one that is not; ``modes`` names whom."""

    crosses: tuple[int, ...]
    text: str
    source: str
    modes: tuple[Mode, ...] = (Mode.ZOOKEEPER, Mode.KRAFT)


_ZOOKEEPER: Final = (Mode.ZOOKEEPER,)

NOTES: Final = (
    Note(
        (2, 0),
        "prefixed ACLs, if you add any, are ignored by older brokers after a downgrade",
        "upgrade notes of 2.0",
        _ZOOKEEPER,
    ),
    Note(
        (2, 1),
        "once inter.broker.protocol.version is 2.1 or later, offsets and groups are stored in schemas that brokers "
        "before 2.1 cannot read: no way back to those",
        "upgrade notes of 2.1",
        _ZOOKEEPER,
    ),
    Note(
        (2, 4),
        "the ZooKeeper of 2.4 (3.5) does not start on a data directory of 3.4 that has no snapshot; see ZOOKEEPER-3056",
        "upgrade notes of 2.4",
        _ZOOKEEPER,
    ),
    Note(
        (2, 8),
        "a downgrade below protocol 2.8 may lose the ids of topics in ZooKeeper, and new topics get none",
        "upgrade notes of 2.8",
        _ZOOKEEPER,
    ),
    Note(
        (3, 0),
        "with inter.broker.protocol.version 3.0 or later, log.message.format.version is taken to be 3.0 whatever it "
        "says; clear it (and message.format.version of topics) at the same time",
        "upgrade notes of 3.0",
        _ZOOKEEPER,
    ),
    Note(
        (3, 8),
        "bring ZooKeeper itself to 3.8.3 or later first",
        "upgrade notes of 3.8 and 3.9",
        _ZOOKEEPER,
    ),
    Note(
        (4, 0),
        "clients (also Streams and Connect) must be of 2.1 or later before the brokers are of 4.0, and brokers need "
        "Java 17",
        "upgrade notes of 4.0, KIP-896",
    ),
    Note(
        (4, 0),
        "once consumer groups use the protocol of KIP-848, which finalising 4.0 turns on, no way back below 3.4.1",
        "upgrade notes of 4.0",
    ),
    Note(
        (4, 0),
        "with --release-version the tool raises the other features as well (group.version, transaction.version ...); "
        "the way back judges metadata.version alone",
        "kafka-features version-mapping of 4.3.1",
    ),
)


def notes_between(origin: BrokerRelease, target: BrokerRelease, mode: Mode) -> Iterator[str]:
    """Yield what is said about the way up from one release to the other, each with its source."""
    for note in NOTES:
        if origin.number < note.crosses <= target.number and mode in note.modes:
            yield f"{note.text} ({note.source})"
