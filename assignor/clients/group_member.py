"""A small real member of a group, on kafka-python: it processes records at least once and tells what happens to it.

It keeps no state; its changelog is a name only, so that its tasks can have standbys.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event as Flag
from typing import Any, Final

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import CommitFailedError, InvalidRequestError, KafkaConnectionError, KafkaError, KafkaTimeoutError

from assignor.clients.kafka_python import StreamsPartitionAssignor
from assignor.clients.mock_cluster import SYNC_GRACE_SECONDS
from assignor.errors import FatalError
from assignor.member_process import (
    Assigned,
    Event,
    Failed,
    MemberSettings,
    Processed,
    Rejoin,
    Revoked,
    Started,
    Stopped,
    Subscribed,
)
from assignor.task_listener import TaskListener
from assignor.topology import Subtopology, Topology
from subscription_codec import TaskId
from upgrade import StreamsConfig
from upgrade.releases import release_named

Emit = Callable[[Event], None]

# A poll that ends while a join is under way may lose it (see `assignor.clients.kafka_python`), so poll long then;
# otherwise short, to notice that it is time to stop.
_JOINING_MS: Final = 5000
_STABLE_MS: Final = 500
_COMMIT_MS: Final = 1000
_CONNECT_SECONDS: Final = 5
_CLOSE_MS: Final = 5000


def run(settings: MemberSettings, emit: Emit, stopping: Flag) -> bool:
    """Be a member until `stopping` is set; say whether it ended well.  ``UpgradeError`` for settings Kafka refuses."""
    streams = _assignor(settings, emit)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters arrives as an exception
    logging.getLogger("assignor").addHandler(logging.NullHandler())  # likewise, so nothing on stderr
    emit(Started(settings.release, settings.upgrade_from, str(streams.core.member.process_id)))
    try:
        consumer = _consumer(settings, streams)
        try:
            consumer.subscribe(settings.topic, listener=_Listener(emit))
            _process(consumer, streams, emit, stopping)
        finally:
            consumer.close(timeout_ms=_CLOSE_MS)
    except Exception as error:  # whatever ends a member ends it with one line; a traceback helps nobody who watches
        emit(Failed(_words(error)))
        return False
    emit(Stopped("told to"))
    return True


def _process(consumer: KafkaConsumer, streams: _Telling, emit: Emit, stopping: Flag) -> None:
    while not stopping.is_set():
        try:
            batch = consumer.poll(timeout_ms=_JOINING_MS if streams.joining else _STABLE_MS)
        except InvalidRequestError:
            # The mock's leader was faster than our SyncGroup, SYNC_GRACE_SECONDS or not; kafka-python will rejoin.
            continue
        for partition, records in batch.items():
            emit(Processed(f"{partition.topic}-{partition.partition}", records[0].offset, records[-1].offset))
        if batch:
            _commit(consumer)


def _commit(consumer: KafkaConsumer) -> None:
    """Commit after processing: if a rebalance comes first, the records come again, perhaps to someone else."""
    with suppress(CommitFailedError, KafkaTimeoutError):
        consumer.commit(timeout_ms=_COMMIT_MS)


def _consumer(settings: MemberSettings, streams: StreamsPartitionAssignor) -> KafkaConsumer:
    _knock(settings.bootstrap_servers)
    consumer = KafkaConsumer(
        bootstrap_servers=settings.bootstrap_servers.split(","),
        group_id=settings.group,
        partition_assignment_strategy=[streams],
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.session_timeout_ms // 10,
        api_version=_numbers(settings.api_version) if settings.api_version else None,
    )
    streams.bind(consumer)
    return consumer


def _knock(bootstrap_servers: str) -> None:
    """Fail if nobody is there: with a given api_version a consumer waits for ever, without a word."""
    for server in bootstrap_servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
        except (OSError, ValueError):
            continue
        return
    raise KafkaConnectionError(f"no broker answers at {bootstrap_servers}")


def _assignor(settings: MemberSettings, emit: Emit) -> _Telling:
    topology = Topology.of(Subtopology(sources=settings.topic, changelogs=[f"{settings.group}-store-changelog"]))
    config = StreamsConfig(
        application_server=settings.application_server,
        num_standby_replicas=settings.standbys,
        upgrade_from=settings.upgrade_from,
    )
    return _Telling(
        emit,
        topology,
        config,
        release=release_named(settings.release),
        # Only the mock needs a given version, and only the mock needs the leader to wait.
        sync_grace_seconds=SYNC_GRACE_SECONDS if settings.api_version else 0.0,
    )


class _Telling(StreamsPartitionAssignor):
    """Says what passes through."""

    def __init__(self, emit: Emit, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, listener=NothingRestored(lambda: self.core.member.stored), **settings)
        self.joining = True
        self._emit = emit

    def metadata(self, topics: Iterable[str]) -> bytes:
        subscription = super().metadata(topics)
        self.joining = True
        self._emit(Subscribed(self.core.used_version, self.core.latest_version))
        return subscription

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        received = self.received
        assert received is not None, "taken just now"
        self.joining = received.rejoin is not None
        self._emit(
            Assigned.of(
                received, generation=generation, member_id=self.consumer.group_metadata().member_id, leader=self._leads
            )
        )
        if received.rejoin:
            self._emit(Rejoin(received.rejoin.name.lower()))


class NothingRestored(TaskListener):
    """Says that it would begin at the start: said it nothing, no leader up to 3.1 would ever find it caught up."""

    def __init__(self, stored: Callable[[], Iterable[TaskId]]) -> None:
        self._stored = stored

    def offset_sums(self) -> dict[TaskId, int]:
        return dict.fromkeys(self._stored(), 0)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no type information
    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        if revoked:
            self._emit(Revoked(sorted(f"{partition.topic}-{partition.partition}" for partition in revoked)))

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self.on_partitions_revoked(lost)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Say nothing: the assignor has told which tasks these are."""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _words(error: Exception) -> str:
    named = isinstance(error, FatalError | KafkaError)  # these begin with their Kafka name
    return " ".join((str(error) if named else f"{type(error).__name__}: {error}").split())
