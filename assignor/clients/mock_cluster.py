"""An embedded Kafka cluster: librdkafka's mock cluster, out of the confluent-kafka wheel.

Nothing to install and nothing to start: the librdkafka inside confluent-kafka exports ``rd_kafka_mock_*``, and a
cluster of real sockets on 127.0.0.1 is up in some ten milliseconds.  It is a mock, though.  What differs from a broker
and matters to members of a group (read in rdkafka_mock_cgrp.c, and run):

* A rebalance always lasts ``session.timeout.ms`` - 1 s, even if everybody has rejoined; only the very first join obeys
  `initial_rebalance_delay_ms`.  Who waits longer than its session timeout is thrown out, so use 1.5 to 3 s.
* The leader's SyncGroup completes the rebalance, and a follower whose SyncGroup comes later gets INVALID_REQUEST: let
  the leader wait `SYNC_GRACE_SECONDS` in its ``assign``.
* Members whose *first* protocol names differ fail an assertion in C, which aborts the process hosting the cluster.
* The oldest member is the leader, also when it rejoins.  Static membership is not emulated.
* A commit while the group is rejoining is refused with REBALANCE_IN_PROGRESS (a broker takes it), so what was processed
  since the last commit comes again; a commit into an empty group gives UNKNOWN_MEMBER_ID.
* Transactions are nodded through; ListGroups, DescribeGroups and CreateTopics are absent.
* kafka-python must be told `KAFKA_PYTHON_API_VERSION` (or less); it cannot read the mock's answer to its ApiVersions.
* A partition keeps 5 MB and drops its oldest records beyond that, without a sign.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, cast

KAFKA_PYTHON_API_VERSION: Final = (2, 3)
SYNC_GRACE_SECONDS: Final = 0.05

# Request versions the mock advertises but answers in the wrong layout: the newest that works, by API key.
#   JoinGroup 6, Heartbeat 4, SyncGroup 4, LeaveGroup 4 are flexible versions; LeaveGroup 3 has a list of members.
# rdkafka_mock_handlers.c reads none of these shapes.
SAFE_CAPS: Final[Mapping[int, int]] = MappingProxyType({11: 5, 12: 3, 13: 2, 14: 3})

_Function = Callable[..., Any]  # what C gives back is checked by nobody

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


class MockClusterError(Exception):
    """The embedded cluster cannot be had, or refused what it was asked."""


class MockCluster:
    """A mock Kafka cluster inside this process, from ``with`` to the end of the block.

    >>> with MockCluster(topics={"orders": 6}) as cluster:
    ...     cluster.bootstrap.startswith("127.0.0.1:")
    True

    `topics` maps names to partition counts; a topic nobody created appears with 4 partitions when a client asks for it.
    `api_caps` maps API keys to the newest request version offered.  Raises `MockClusterError` if confluent-kafka is
    missing or brings a librdkafka without mock cluster.  Source: librdkafka's rdkafka_mock.h.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        topics: Mapping[str, int] = MappingProxyType({}),
        initial_rebalance_delay_ms: int = 300,
        api_caps: Mapping[int, int] = SAFE_CAPS,
    ) -> None:
        if brokers < 1:
            raise MockClusterError(f"a cluster has at least one broker, not {brokers}")
        self._rd = _librdkafka()
        self._brokers = brokers
        self._topics = dict(topics)
        self._initial_rebalance_delay_ms = initial_rebalance_delay_ms
        self._api_caps = dict(api_caps)
        self._client: int | None = None
        self._cluster: int | None = None

    def __enter__(self) -> Self:
        if self._cluster is not None:
            raise MockClusterError("this cluster is already running")
        self._client = _host_client(self._rd)
        self._cluster = self._rd["rd_kafka_mock_cluster_new"](self._client, self._brokers)
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
    def bootstrap(self) -> str:
        """The value for ``bootstrap.servers``; the ports are new in every run and cannot be chosen."""
        return str(self._rd["rd_kafka_mock_cluster_bootstraps"](self._running()).decode())

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic with one replica; `MockClusterError` if it exists or has no partition."""
        if partitions < 1:  # the mock would take it, and a negative count brings the process down
            raise MockClusterError(f"topic {name!r} has at least one partition, not {partitions}")
        self._check(f"topic {name!r}", "rd_kafka_mock_topic_create", name.encode(), partitions, 1)

    def _configure(self) -> None:
        self._rd["rd_kafka_mock_group_initial_rebalance_delay_ms"](self._running(), self._initial_rebalance_delay_ms)
        for api_key, newest in self._api_caps.items():
            self._check(f"version {newest} of API {api_key}", "rd_kafka_mock_set_apiversion", api_key, 0, newest)
        for name, partitions in self._topics.items():
            self.create_topic(name, partitions)

    def _check(self, what: str, function: str, *arguments: object) -> None:
        if code := self._rd[function](self._running(), *arguments):
            raise MockClusterError(f"{what}: {self._rd['rd_kafka_err2str'](code).decode()}")

    def _running(self) -> int:
        # A null pointer handed to librdkafka is a segmentation fault; better to say so in Python.
        if self._cluster is None:
            raise MockClusterError("the cluster is not running: use it inside its with block")
        return self._cluster

    def _destroy(self) -> None:
        # The cluster first: it runs on the client's timers and queues.
        if self._cluster is not None:
            self._rd["rd_kafka_mock_cluster_destroy"](self._cluster)
        if self._client is not None:
            self._rd["rd_kafka_destroy"](self._client)
        self._cluster = self._client = None


def _librdkafka() -> Mapping[str, _Function]:
    """The functions of `_SIGNATURES`, found through confluent-kafka's own extension module.

    A symbol is looked up in the extension *and the libraries it needs*, so this neither knows nor cares where the wheel
    (or a distribution) keeps librdkafka, and it is the same copy that the confluent clients in this process use.
    """
    try:
        from confluent_kafka import cimpl
    except ImportError as error:
        raise MockClusterError(
            "the embedded cluster lives in confluent-kafka: pip install 'streams-assignor[confluent]'"
        ) from error
    return {name: _function(ctypes.CDLL(cimpl.__file__), name) for name in _SIGNATURES}


def _function(extension: ctypes.CDLL, name: str) -> _Function:
    try:
        function = getattr(extension, name)
    except AttributeError as error:
        raise MockClusterError(f"this confluent-kafka brings a librdkafka without {name}; use its wheel") from error
    function.restype, function.argtypes = _SIGNATURES[name]
    return cast(_Function, function)


def _host_client(rd: Mapping[str, _Function]) -> int:
    """The producer a mock cluster needs for its book-keeping; it connects to nothing and logs nothing."""
    message = ctypes.create_string_buffer(256)
    conf = rd["rd_kafka_conf_new"]()
    # Otherwise it says on stderr that it has no bootstrap servers, which is the idea.
    if rd["rd_kafka_conf_set"](conf, b"log_level", b"0", message, len(message)) != _CONF_OK:
        raise MockClusterError(message.value.decode())
    client = rd["rd_kafka_new"](_PRODUCER, conf, message, len(message))
    if not client:
        raise MockClusterError(message.value.decode())
    return int(client)
