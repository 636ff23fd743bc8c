"""A small real member of a group on kafka-python: it processes records at least once and reports its events.

It keeps no state. Its changelog is only a name, so that its tasks can have standbys.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event as Flag
from typing import Final

from kafka import KafkaConsumer
from kafka.errors import CommitFailedError, InvalidRequestError, KafkaConnectionError, KafkaTimeoutError

from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.clients.mock_cluster import delay_leader
from streams_assignor.codec import TaskId
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.observability.events import (
    Event,
    MemberClosed,
    MemberFailed,
    MemberStarted,
    MemberStopped,
    Observer,
    RecordsProcessed,
)
from streams_assignor.rebalance_listener import NoOpListener
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.cluster.client.connection import with_token_provider
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.upgrade_from import line_number

_COMMIT_MS: Final = 1000
_BOOTSTRAP_LIMIT: Final = {"bootstrap_timeout_ms": 30_000}
"""With a wrong password kafka-python would try again for ever."""
_CONNECT_SECONDS: Final = 5
_CLOSE_MS: Final = 5000


def run_member(settings: MemberSettings, emit: Observer, stopping: Flag) -> bool:
    """Run a member until `stopping` is set.

    Args:
        settings: of the member.
        emit: receives the events of the member and of its process.
        stopping: set from outside.

    Returns:
        False if the member failed; the last event is then ``MemberFailed``.

    Raises:
        UpgradeError: for settings that Kafka refuses, or a file of settings that cannot be read.
    """

    def observe(event: Event) -> None:
        if not isinstance(event, MemberFailed | MemberClosed):  # the end of the process is reported below
            emit(event)

    streams = _assignor(settings, observe)
    config = CommandConfig.read(settings.command_config) if settings.command_config else CommandConfig()
    # Errors arrive as exceptions and events, so standard error stays empty.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    logging.getLogger("streams_assignor").addHandler(logging.NullHandler())
    emit(MemberStarted(settings.release, settings.upgrade_from, str(streams.assignor.member.process_id)))
    try:
        consumer = _consumer(settings, config, streams)
        try:
            consumer.subscribe(settings.topic)
            _poll_loop(consumer, streams, emit, stopping)
        finally:
            consumer.close(timeout_ms=_CLOSE_MS)
    except Exception as error:  # of any kind: the event line replaces the traceback
        emit(MemberFailed(error))
        return False
    emit(MemberStopped("told to"))
    return True


def _poll_loop(consumer: KafkaConsumer, streams: StreamsPartitionAssignor, emit: Observer, stopping: Flag) -> None:
    while not stopping.is_set():
        try:
            batch = consumer.poll(timeout_ms=streams.poll_timeout_ms)
        except InvalidRequestError:
            # On the mock cluster the leader's SyncGroup can arrive before a follower's; kafka-python rejoins.
            continue
        for partition, records in batch.items():
            emit(RecordsProcessed(f"{partition.topic}-{partition.partition}", records[0].offset, records[-1].offset))
        if batch:
            _commit(consumer)


def _commit(consumer: KafkaConsumer) -> None:
    """Commit after processing. If a rebalance comes first, the next owner processes the records again."""
    with suppress(CommitFailedError, KafkaTimeoutError):
        consumer.commit(timeout_ms=_COMMIT_MS)


def _consumer(settings: MemberSettings, config: CommandConfig, streams: StreamsPartitionAssignor) -> KafkaConsumer:
    _check_reachable(settings.bootstrap_servers)
    consumer = KafkaConsumer(
        **{**with_token_provider(config.settings), **_BOOTSTRAP_LIMIT},
        bootstrap_servers=settings.bootstrap_servers.split(","),
        group_id=settings.group,
        partition_assignment_strategy=[streams],
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.session_timeout_ms // 10,
        api_version=line_number(settings.api_version) if settings.api_version else None,
    )
    streams.bind(consumer)
    return consumer


def _check_reachable(bootstrap_servers: str) -> None:
    """Raise ``KafkaConnectionError`` if no broker listens: with a given api_version a consumer would wait for ever."""
    for server in bootstrap_servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
        except (OSError, ValueError):
            continue
        return
    raise KafkaConnectionError(f"no broker answers at {bootstrap_servers}")


def _assignor(settings: MemberSettings, observer: Observer) -> StreamsPartitionAssignor:
    topology = Topology.of(Subtopology(sources=settings.topic, changelogs=[f"{settings.group}-store-changelog"]))
    config = StreamsConfig(
        application_server=settings.application_server,
        num_standby_replicas=settings.standbys,
        upgrade_from=settings.upgrade_from,
    )
    streams: StreamsPartitionAssignor = StreamsPartitionAssignor(
        topology,
        config,
        release=release_named(settings.release),
        listener=EmptyStateListener(lambda: streams.assignor.member.stored),
        observer=observer,
    )
    if settings.api_version:  # which only the mock cluster needs
        delay_leader(streams)
    return streams


class EmptyStateListener(NoOpListener):
    """Reports offset sum 0 for each stored task: without sums, leaders up to 3.1 never treat it as caught up."""

    def __init__(self, stored_tasks: Callable[[], Iterable[TaskId]]) -> None:
        self._stored_tasks = stored_tasks

    def offset_sums(self) -> dict[TaskId, int]:
        return dict.fromkeys(self._stored_tasks(), 0)
