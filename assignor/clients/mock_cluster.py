"""An embedded Kafka cluster: librdkafka's mock cluster, from the confluent-kafka wheel.

The librdkafka inside confluent-kafka exports ``rd_kafka_mock_*``, which confluent-kafka itself does not call, so ctypes
does; no other library has a broker inside the process. A cluster of real sockets on 127.0.0.1 starts in
about ten milliseconds, without an installation. These differences from a broker matter to members of a group
(rdkafka_mock_cgrp.c, and observed):

* A rebalance lasts ``session.timeout.ms`` - 1 s, even if all members have rejoined; only the first join of a group uses
  `initial_rebalance_delay_ms`. A member that waits longer than its session timeout is removed, so use 1.5 to 3 s.
* The leader's SyncGroup completes the rebalance, and a follower whose SyncGroup arrives later gets INVALID_REQUEST.
  Call `delay_leader` for every member.
* Members whose *first* protocol names differ fail an assertion in C, which aborts the process hosting the cluster.
* The oldest member is the leader, also when it rejoins. Static membership is not emulated.
* A commit while the group rejoins is refused with REBALANCE_IN_PROGRESS (a broker accepts it), so records processed
  since the last commit are read again. A commit into an empty group returns UNKNOWN_MEMBER_ID.
* Transactions are accepted without effect; ListGroups, DescribeGroups and CreateTopics are absent.
* kafka-python cannot decode the mock's ApiVersions response, so its settings need an ``api_version``.
* A partition keeps 5 MB and drops its oldest records beyond that, without a log line.

``MockCluster.kafka_python_settings`` and its siblings return the settings that each client needs.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, cast

from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.errors import StreamsAssignorError
from streams_assignor.protocol.internal_topics import InternalTopicPlan

KAFKA_PYTHON_API_VERSION: Final = (2, 3)
_SYNC_GRACE_SECONDS: Final = 0.05

# Request versions the mock advertises but answers in the wrong layout: the newest that works, by API key.
#   JoinGroup 6, Heartbeat 4, SyncGroup 4, LeaveGroup 4 are flexible versions; LeaveGroup 3 has a list of members.
# rdkafka_mock_handlers.c reads none of these shapes.
MAX_API_VERSIONS: Final[Mapping[int, int]] = MappingProxyType({11: 5, 12: 3, 13: 2, 14: 3})

_Function = Callable[..., Any]  # results of C have no checked types

_PRODUCER: Final = 0  # rd_kafka_type_t
_CONF_OK: Final = 0  # rd_kafka_conf_res_t

_VOID, _INT, _SHORT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_int16, ctypes.c_char_p
_SIGNATURES: Final[Mapping[str, tuple[type | None, tuple[type, ...]]]] = {
    "rd_kafka_conf_new": (_VOID, ()),
    "rd_kafka_conf_set": (_INT, (_VOID, _TEXT, _TEXT, _TEXT, ctypes.c_size_t)),
    "rd_kafka_new": (_VOID, (_INT, _VOID, _TEXT, ctypes.c_size_t)),
    "rd_kafka_destroy": (None, (_VOID,)),
    "rd_kafka_err2str": (_TEXT, (_INT,)),
    "rd_kafka_mock_cluster_new": (_VOID, (_VOID, _INT)),
    "rd_kafka_mock_cluster_destroy": (None, (_VOID,)),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, (_VOID,)),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, (_VOID, ctypes.c_int32)),
    "rd_kafka_mock_set_apiversion": (_INT, (_VOID, _SHORT, _SHORT, _SHORT)),
    "rd_kafka_mock_topic_create": (_INT, (_VOID, _TEXT, _INT, _INT)),
}


class MockClusterError(StreamsAssignorError):
    """The embedded cluster is not available, or refused a call."""


class MockCluster:
    """A mock Kafka cluster inside this process, from ``with`` to the end of the block.

    >>> with MockCluster(topics={"orders": 6}) as cluster:
    ...     cluster.bootstrap_servers.startswith("127.0.0.1:")
    True

    Args:
        brokers: number of brokers.
        topics: topic names and their partition counts; any other topic is created with 4 partitions at its first use.
        initial_rebalance_delay_ms: length of the first rebalance of a group.
        max_api_versions: API keys and the newest request version offered.

    Raises:
        MockClusterError: if confluent-kafka is missing, or its librdkafka has no mock cluster (rdkafka_mock.h).
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        topics: Mapping[str, int] = MappingProxyType({}),
        initial_rebalance_delay_ms: int = 300,
        max_api_versions: Mapping[int, int] = MAX_API_VERSIONS,
    ) -> None:
        if not _is_count(brokers):
            raise MockClusterError(f"a cluster has at least one broker, not {brokers!r}")
        if not isinstance(topics, Mapping):
            raise MockClusterError(f"expected topics as names with partition counts, {{'orders': 3}}, got {topics!r}")
        self._librdkafka = _librdkafka()
        self._brokers = brokers
        self._topics = dict(topics)
        self._initial_rebalance_delay_ms = initial_rebalance_delay_ms
        self._max_api_versions = dict(max_api_versions)
        self._client: int | None = None
        self._cluster: int | None = None

    def __enter__(self) -> Self:
        if self._cluster is not None:
            raise MockClusterError("this cluster is already running")
        self._client = _host_producer(self._librdkafka)
        self._cluster = self._librdkafka["rd_kafka_mock_cluster_new"](self._client, self._brokers)
        try:
            self._configure()
        except BaseException:
            self._destroy()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._destroy()

    @property
    def bootstrap_servers(self) -> str:
        """The value of ``bootstrap.servers``; the ports are chosen at random."""
        return str(self._librdkafka["rd_kafka_mock_cluster_bootstraps"](self._running()).decode())

    def kafka_python_settings(self) -> dict[str, Any]:
        """Return the settings that a kafka-python client needs."""
        return {"bootstrap_servers": self.bootstrap_servers, "api_version": KAFKA_PYTHON_API_VERSION}

    def aiokafka_settings(self) -> dict[str, Any]:
        """Return the settings that an aiokafka client needs."""
        return {"bootstrap_servers": self.bootstrap_servers}

    def confluent_settings(self) -> dict[str, Any]:
        """Return the settings that a ``StreamsConsumer`` needs."""
        return {"bootstrap.servers": self.bootstrap_servers, "main.consumer.api_version": KAFKA_PYTHON_API_VERSION}

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic with one replica; `MockClusterError` if it exists or has no partition."""
        if not _is_count(partitions):  # the mock accepts it, and a negative count aborts the process
            raise MockClusterError(f"topic {name!r} has at least one partition, not {partitions!r}")
        self._check(f"topic {name!r}", "rd_kafka_mock_topic_create", name.encode(), partitions, 1)

    def _configure(self) -> None:
        self._librdkafka["rd_kafka_mock_group_initial_rebalance_delay_ms"](
            self._running(), self._initial_rebalance_delay_ms
        )
        for api_key, newest in self._max_api_versions.items():
            self._check(f"version {newest} of API {api_key}", "rd_kafka_mock_set_apiversion", api_key, 0, newest)
        for name, partitions in self._topics.items():
            self.create_topic(name, partitions)

    def _check(self, what: str, function: str, *arguments: object) -> None:
        if code := self._librdkafka[function](self._running(), *arguments):
            raise MockClusterError(f"{what}: {self._librdkafka['rd_kafka_err2str'](code).decode()}")

    def _running(self) -> int:
        # librdkafka would crash on a null pointer.
        if self._cluster is None:
            raise MockClusterError("the cluster is not running: use it inside its with block")
        return self._cluster

    def _destroy(self) -> None:
        # The cluster first: it runs on the client's timers and queues.
        if self._cluster is not None:
            self._librdkafka["rd_kafka_mock_cluster_destroy"](self._cluster)
        if self._client is not None:
            self._librdkafka["rd_kafka_destroy"](self._client)
        self._cluster = self._client = None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1


def delay_leader(streams: ClientAdapter, seconds: float = _SYNC_GRACE_SECONDS) -> None:
    """Delay the SyncGroup of a leader on a mock cluster, so that those of the followers arrive first.

    For a ``StreamsConsumer``: ``delay_leader(consumer.streams)``.
    """
    original = streams.snapshot_cluster

    def delayed(known_partition_counts: Mapping[str, int]) -> tuple[ClusterSnapshot, InternalTopicPlan | None]:
        time.sleep(seconds)  # kafka-python: the I/O thread; aiokafka: a thread of its own, not the event loop
        return original(known_partition_counts)

    streams.snapshot_cluster = delayed  # type: ignore[method-assign]  # only here; no setting of a real member


def _librdkafka() -> Mapping[str, _Function]:
    """Return the functions of `_SIGNATURES`, looked up through confluent-kafka's extension module.

    A symbol is looked up in the extension and the libraries it needs. So the place of librdkafka does not matter, and
    it is the same copy that the confluent clients in this process use.
    """
    try:
        from confluent_kafka import cimpl
    except ImportError as error:
        raise MockClusterError(
            "the embedded cluster is part of confluent-kafka: pip install 'streams-assignor[confluent]'"
        ) from error
    return {name: _function(ctypes.CDLL(cimpl.__file__), name) for name in _SIGNATURES}


def _function(extension: ctypes.CDLL, name: str) -> _Function:
    try:
        function = getattr(extension, name)
    except AttributeError as error:
        raise MockClusterError(f"this confluent-kafka has a librdkafka without {name}; use its wheel") from error
    function.restype, function.argtypes = _SIGNATURES[name]
    return cast(_Function, function)


def _host_producer(rd: Mapping[str, _Function]) -> int:
    """Return the producer that a mock cluster needs internally; it connects to nothing and logs nothing."""
    message = ctypes.create_string_buffer(256)
    conf = rd["rd_kafka_conf_new"]()
    # Otherwise it warns on stderr that it has no bootstrap servers.
    if rd["rd_kafka_conf_set"](conf, b"log_level", b"0", message, len(message)) != _CONF_OK:
        raise MockClusterError(message.value.decode())
    client = rd["rd_kafka_new"](_PRODUCER, conf, message, len(message))
    if not client:
        raise MockClusterError(message.value.decode())
    return int(client)
