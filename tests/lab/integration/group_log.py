"""Every generation of a group, as stored in ``__consumer_offsets``: its leader, and what each member sent and received.

Kafka: ``GroupMetadataKey`` and ``GroupMetadataValue.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from streams_assignor.codec import (
    EARLIEST_PROBEABLE_VERSION,
    LATEST_SUPPORTED_VERSION,
    decode_assignment,
    decode_subscription,
)
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from streams_assignor.codec.coordinator import RECORD_TYPES, decode_key, decode_value, record_type_number
from streams_assignor.codec.wire.types import Reader
from streams_assignor.groups.decoded import assignment_seen, subscription_seen
from streams_assignor.groups.rejoin import RejoinCause, rejoin_causes

_TOPIC = "__consumer_offsets"
GROUP_KEY = 2  # 0 and 1 are keys of committed offsets
_SECONDS = 60  # on a quiet machine it takes none


class StoredMember(NamedTuple):
    """A member in a generation, its messages whole."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes

    @property
    def name(self) -> str:
        """What ``client.id`` its process was given; Kafka Streams adds the thread."""
        return self.client_id.partition("-StreamThread")[0]

    @property
    def envelope(self) -> int:
        """The version of the consumer protocol that it speaks."""
        return decode_consumer_subscription(self.subscription).version

    @property
    def sent(self) -> str:
        """Version and supported version of its subscription, such as 3/4."""
        return _versions(decode_consumer_subscription(self.subscription).user_data)

    @property
    def got(self) -> str:
        """Those of its assignment; "" while its leader has not answered."""
        return _versions(decode_consumer_assignment(self.assignment).user_data) if self.assignment else ""

    @property
    def rejoin_causes(self) -> tuple[RejoinCause, ...]:
        """Why it rejoins as soon as it has this assignment."""
        sent, got = subscription_seen(self.subscription, streams=True), assignment_seen(self.assignment, streams=True)
        return rejoin_causes(sent, got)

    @property
    def standbys(self) -> set[str]:
        """The names of its standby tasks; none while its leader has not answered."""
        if not self.assignment:
            return set()
        userdata = decode_consumer_assignment(self.assignment).user_data
        return {str(standby.task) for standby in decode_assignment(_as_supported_version(userdata)).standby_tasks}

    @property
    def active(self) -> set[str]:
        """The names of its active tasks; none while its leader has not answered."""
        if not self.assignment:
            return set()
        userdata = decode_consumer_assignment(self.assignment).user_data
        return set(map(str, decode_assignment(_as_supported_version(userdata)).active_tasks))

    @property
    def sums(self) -> dict[str, int]:
        """The offset sums that it sent to its leader, by the names of tasks; from version 7 on."""
        userdata = decode_consumer_subscription(self.subscription).user_data
        return {
            str(task): known for task, known in decode_subscription(_as_supported_version(userdata)).task_offset_sums
        }


class Generation(NamedTuple):
    """One record of the group; without a leader there are no members."""

    protocol_type: str
    number: int
    protocol: str | None
    leader: str | None
    changed_ms: int
    members: tuple[StoredMember, ...]

    @property
    def leading(self) -> str:
        """The name of the leader's process."""
        return next((seat.name for seat in self.members if seat.member_id == self.leader), "")

    @property
    def answered(self) -> bool:
        """Whether the leader has answered all members."""
        return all(seat.assignment for seat in self.members)

    def standbys(self) -> dict[str, set[str]]:
        """The standby tasks of each process."""
        found: dict[str, set[str]] = {seat.name: set() for seat in self.members}
        for seat in self.members:
            found[seat.name] |= seat.standbys
        return found

    def owner(self, task: str) -> str:
        """The name of the process that has been given an active task; "" while none has."""
        return next((seat.name for seat in self.members if task in seat.active), "")

    def sum_of(self, name: str, task: str) -> int | None:
        """The offset sum that a process has reported for a task."""
        return max(
            (sums[task] for seat in self.members if seat.name == name and task in (sums := seat.sums)), default=None
        )


def generations(brokers: str, group: str) -> list[Generation]:
    """All generations of a group that have members, oldest first."""
    return [each for _, each in timed_generations(brokers, group)]


def timed_generations(brokers: str, group: str) -> list[tuple[float, Generation]]:
    """Likewise, each with the time when it was stored, in seconds since 1970."""
    read = ((stored_ms / 1000, _generation(value)) for _, stored_ms, value in group_records(brokers, group))
    return [(stored, each) for stored, each in read if each.members]


def group_records(brokers: str, group: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield offset, time in milliseconds since 1970 and value of each record of a group itself."""
    # No record of a group itself is part of a transaction, and open ones must not hide what comes after them.
    settings = {
        "group.id": "group-log",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_uncommitted",
    }
    reader = Consumer({"bootstrap.servers": brokers, **settings})
    try:
        for number in reader.list_topics(_TOPIC, timeout=_SECONDS).topics[_TOPIC].partitions:
            at, end = reader.get_watermark_offsets(TopicPartition(_TOPIC, number), timeout=_SECONDS)
            reader.assign([TopicPartition(_TOPIC, number, at)])
            while at < end:
                message = reader.poll(_SECONDS)
                assert message is not None, f"nothing came from {_TOPIC}-{number} at {at}"
                if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                    break  # the last records are markers of transactions
                assert not message.error(), message.error()
                at = message.offset() + 1
                if message.value() and _group_of(message.key()) == group:
                    yield message.offset(), message.timestamp()[1], message.value()
    finally:
        reader.close()


def _versions(userdata: bytes) -> str:
    """The bytes after them: they may be of a version that is unknown here."""
    reader = Reader(userdata)
    used = reader.read_integer(4)
    return f"{used}/{reader.read_integer(4)}" if used >= EARLIEST_PROBEABLE_VERSION else str(used)


def _as_supported_version(userdata: bytes) -> bytes:
    """Read what is newer as what is known: what comes next looks like it, in these tests."""
    used = min(LATEST_SUPPORTED_VERSION, Reader(userdata).read_integer(4))
    return used.to_bytes(4, "big") + userdata[4:]


def _group_of(key: bytes) -> str | None:
    return decode_key(key).group if record_type_number(key) == GROUP_KEY else None


def _generation(value: bytes) -> Generation:
    fields = decode_value(RECORD_TYPES[GROUP_KEY], value).fields  # since version 3 (2.3) all that is asked for here
    members = tuple(StoredMember(*member.values()) for member in fields.pop("members"))
    return Generation(*fields.values(), members)
