"""One connection to one broker or controller, on kafka-python (3.x): six requests, and their answers as plain values.

The admin client of kafka-python (3.0.12) has ``describe_features`` and ``update_features``, but it cannot bootstrap
from a controller, cannot ask a given node, retries by itself, and puts the whole request into its errors. So this
module uses its connections and protocol messages; TLS, SASL, timeouts and bytes are kafka-python's. Private interfaces
of kafka-python are used only here.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, Self

from attrs import field, frozen

from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials, TokenSource
from streams_assignor.upgrade.cluster.client.answer_check import check_answer
from streams_assignor.upgrade.cluster.client.errors import ApiError, OutcomeUnknown, Unreachable, unreachable
from streams_assignor.upgrade.cluster.client.node_address import node_address
from streams_assignor.upgrade.cluster.features.dialects import Code
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, FeatureUpdate, Listener, UpgradeType
from streams_assignor.upgrade.extras import importing

with importing("kafka"):
    from kafka import __version__ as kafka_python
    from kafka.errors import IncompatibleBrokerVersion, KafkaError, for_code
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.protocol.admin import (
        DescribeClusterRequest,
        DescribeLogDirsRequest,
        DescribeQuorumRequest,
        UpdateFeaturesRequest,
    )
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

    try:
        from kafka.net.backend.selector import NetworkSelector
    except ModuleNotFoundError:  # before 3.1
        from kafka.net.selector import NetworkSelector

_UNREADABLE: Final = (LookupError, TypeError, AttributeError, struct.error)
"""The exceptions of kafka-python for an answer that ends early, or is null where it does not look."""
CONNECTION_ERRORS: Final = (
    KafkaError,
    OSError,  # no server listens, or a certificate file is missing
    ValueError,
    *_UNREADABLE,
)
_BYTES_AT_A_TIME: Final = 1 << 20
_CONTROLLER_ENDPOINT_TYPE: Final = 2  # DescribeCluster's endpoint type
# A broker sends an error and closes; kafka-python (3.0.12) mostly reports only that the connection was closed.
_SASL_HINT: Final = " during the login with SASL: are the mechanism, the name and the password right?"
_SECURITY_PROTOCOL_HINT: Final = ": is the security protocol right?"  # TLS or SASL on one side only
_PROTOCOL_MISMATCH_SIGNS: Final = ("UNEXPECTED_EOF", "WRONG_VERSION_NUMBER", "Invalid frame length")
_PACKAGES: Final = {"GSSAPI": "gssapi", "AWS_MSK_IAM": "botocore"}
"""The settings of kafka-python for a SASL mechanism."""
_RETRY_SECONDS: Final = 0.2
_METADATA_TOPIC: Final = "__cluster_metadata"
_API_NAMES: Final = {
    ApiVersionsRequest.API_KEY: "API_VERSIONS",
    DescribeClusterRequest.API_KEY: "DESCRIBE_CLUSTER",
    DescribeLogDirsRequest.API_KEY: "DESCRIBE_LOG_DIRS",
    DescribeQuorumRequest.API_KEY: "DESCRIBE_QUORUM",
    MetadataRequest.API_KEY: "METADATA",
    UpdateFeaturesRequest.API_KEY: "UPDATE_FEATURES",
}


class Deadline:
    """The time by which a call has to end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """The seconds that are left; 0 after the deadline."""
        return max(0.0, self._end - time.monotonic())

    def share(self, parts: int) -> Deadline:
        """Return an earlier deadline: the time that is left, divided by ``parts``."""
        return Deadline(self.remaining / parts)

    def at_most(self, seconds: float) -> Deadline:
        """Return this deadline, or one in so many seconds if that is earlier."""
        return Deadline(min(self.remaining, seconds))


@frozen
class ClusterNodes:
    """The nodes of a cluster: the address of each, and the id of the (active) controller or -1."""

    addresses: Mapping[int, str]
    controller: int
    cluster_id: str = ""
    """The id of the cluster; empty if the answer has none, as of brokers before 0.10.1."""


@frozen
class QuorumState:
    """How far the nodes of a cluster in KRaft mode are with its metadata, as the active controller sees it."""

    leader: int | None
    """The active controller; None during an election."""
    high_watermark: int
    """The offset up to which the metadata is committed."""
    voters: Mapping[int, int]
    """The end of the log of each controller that votes."""
    observers: Mapping[int, int]
    """The end of the log of each other node: of brokers, and of controllers that do not vote."""
    fetched: Mapping[int, int] = field(factory=dict)
    """When each node has fetched metadata last, in milliseconds of the active controller's clock, as far as known."""

    def has_committed(self, node: int) -> bool:
        """Whether a node has all metadata that is committed."""
        ends = {**self.observers, **self.voters}
        return ends.get(node, -1) >= self.high_watermark


@frozen
class ReplicaState:
    """The brokers and replicas of a cluster, as one of its brokers sees them."""

    brokers: Mapping[int, str]
    """The address of each broker that is registered and not fenced."""
    under_replicated: tuple[str, ...]
    """The partitions with fewer replicas in sync than replicas, or without a leader."""
    topics: frozenset[str] = frozenset()
    """The topics of which that is known: those that this user may describe."""


class Connection:
    """A connection that is ready for requests; use it in a ``with`` statement.

    Args:
        server: ``HOST:PORT``.
        settings: Settings of kafka-python.
        deadline: The time by which the connection has to be ready.

    Raises:
        Unreachable: The connection is not ready at the deadline, or an answer does not come.
        ApiError: The answer is an error, or the server does not support the request.
    """

    def __init__(self, server: str, settings: Mapping[str, Any], deadline: Deadline) -> None:
        self._server = server
        mechanism = settings.get("sasl_mechanism")
        if (package := _PACKAGES.get(str(mechanism))) and find_spec(package) is None:
            # kafka-python would only close the connection.
            raise Unreachable(
                f"the SASL mechanism {mechanism} needs the Python package {package}, which is not installed"
            )
        settings = with_token_provider(settings)
        self._net = NetworkSelector()
        try:
            # A manager without bootstrap accepts any server; a selector without a thread runs in the waiting thread.
            self._manager = KafkaConnectionManager(self._net, **{**settings, "bootstrap_servers": [server]})
            self._manager._build_transport = reading_in_parts(self._manager._build_transport)
            (node,) = self._manager.cluster.bootstrap_brokers()
            self._connection = self._manager.get_connection(
                node.node_id, timeout_ms=_milliseconds(deadline), refresh_metadata_on_err=False
            )
            self._wait(self._connection.init_future, deadline)
        except CONNECTION_ERRORS as error:
            self.close()
            raise unreachable(server, error_text(error), _hint(settings, str(error))) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if hasattr(self, "_manager"):
            self._manager.close()
        self._net.close()

    def describe_features(self, listener: Listener, deadline: Deadline) -> FeatureMetadata:
        """Request the supported and finalized features (ApiVersions; before v4 without features that begin at 0)."""
        software = {"client_software_name": "kafka-python", "client_software_version": kafka_python}
        answer = self._request(ApiVersionsRequest, deadline, **software)
        epoch = answer.finalized_features_epoch
        has_epoch = epoch is not None and epoch >= 0
        return FeatureMetadata(
            listener=listener,
            epoch=epoch if has_epoch else None,
            supported={
                feature.name: (feature.min_version, feature.max_version) for feature in answer.supported_features or ()
            },
            finalized={
                feature.name: feature.max_version_level for feature in answer.finalized_features or () if has_epoch
            },
        )

    def describe_brokers(self, deadline: Deadline) -> ClusterNodes:
        """Request the brokers from a broker (Metadata, which controllers do not support)."""
        answer = self._nodes(MetadataRequest, deadline, topics=[], allow_auto_topic_creation=False)
        addresses = {broker.node_id: node_address(broker) for broker in answer.brokers}
        return ClusterNodes(addresses, answer.controller_id, answer.cluster_id or "")

    def describe_controllers(self, deadline: Deadline) -> ClusterNodes:
        """Request the controllers from a controller (DescribeCluster)."""
        answer = self._nodes(DescribeClusterRequest, deadline, min_version=1, endpoint_type=_CONTROLLER_ENDPOINT_TYPE)
        addresses = {broker.broker_id: node_address(broker) for broker in answer.brokers}
        return ClusterNodes(addresses, answer.controller_id)

    def describe_replicas(self, deadline: Deadline) -> ReplicaState:
        """Request brokers and partitions of all topics from a broker (Metadata)."""
        answer = self._nodes(MetadataRequest, deadline, topics=None, allow_auto_topic_creation=False)
        missing = sorted(
            f"{topic.name}-{partition.partition_index}"
            for topic in answer.topics
            for partition in topic.partitions
            if partition.leader_id < 0 or set(partition.replica_nodes) - set(partition.isr_nodes)
        ) + sorted(topic.name for topic in answer.topics if topic.error_code)
        addresses = {broker.node_id: node_address(broker) for broker in answer.brokers}
        return ReplicaState(addresses, tuple(missing), frozenset(topic.name for topic in answer.topics))

    def describe_stored_topics(self, deadline: Deadline) -> frozenset[str]:
        """Request the topics that a broker stores (DescribeLogDirs), also those that this user may not describe."""
        answer = self._request(DescribeLogDirsRequest, deadline, topics=None)
        for folder in answer.results:
            if refused := _error_of(folder):
                raise refused
        return frozenset(topic.name for folder in answer.results for topic in folder.topics) - {_METADATA_TOPIC}

    def describe_quorum(self, deadline: Deadline) -> QuorumState:
        """Request the state of the metadata quorum, which a broker asks the active controller for (KIP-595)."""
        partition = DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)
        topic = DescribeQuorumRequest.TopicData(topic_name=_METADATA_TOPIC, partitions=[partition])
        answer = self._request(DescribeQuorumRequest, deadline, topics=[topic])
        states = [state for topic in answer.topics for state in topic.partitions]
        if len(states) != 1:
            raise Unreachable(f"{self._server}: expected the state of one metadata log, got {len(states)}")
        (state,) = states
        if refused := _error_of(state):
            raise refused
        replicas = (*state.current_voters, *state.observers)
        return QuorumState(
            leader=state.leader_id if state.leader_id >= 0 else None,
            high_watermark=state.high_watermark,
            voters={voter.replica_id: voter.log_end_offset for voter in state.current_voters},
            observers={observer.replica_id: observer.log_end_offset for observer in state.observers},
            fetched={each.replica_id: each.last_fetch_timestamp for each in replicas if each.last_fetch_timestamp > 0},
        )

    def _nodes(self, request_class: Any, deadline: Deadline, **fields: Any) -> Any:
        """Request nodes. One that has just started may know none; it is asked again, as by Java's and C's clients."""
        while not (answer := self._request(request_class, deadline, **fields)).brokers:
            if deadline.remaining <= _RETRY_SECONDS:
                raise Unreachable(f"{self._server}: expected the nodes of the cluster, got none")
            time.sleep(_RETRY_SECONDS)
        return answer

    def update_features(
        self, updates: Mapping[str, FeatureUpdate], deadline: Deadline, *, dry_run: bool
    ) -> Mapping[str, ApiError | None]:
        """Change levels; return an error, or None for success, for each feature.

        Raises:
            ApiError: The whole request failed.
            OutcomeUnknown: No answer came: the request may have been applied.
        """
        answer = self._request(
            UpdateFeaturesRequest,
            deadline,
            min_version=1 if dry_run else 0,  # version 0 has no dry run: it would be a real update
            error_if_lost=OutcomeUnknown,
            timeout_ms=_milliseconds(deadline),
            feature_updates=[
                UpdateFeaturesRequest.FeatureUpdateKey(**_feature_update_key(*update)) for update in updates.items()
            ],
            validate_only=dry_run,
        )
        # Since version 2 there are no results: without a top-level error all updates are applied.
        errors = {result.feature: _error_of(result) for result in answer.results or ()}
        if errors and (missing := updates.keys() - errors):
            raise OutcomeUnknown(f"{self._server}: the answer has no result for {', '.join(sorted(missing))}")
        return {feature: errors.get(feature) for feature in updates}

    def _request(
        self,
        request_class: Any,
        deadline: Deadline,
        *,
        min_version: int = 0,
        error_if_lost: type[Unreachable | OutcomeUnknown] = Unreachable,
        **fields: Any,
    ) -> Any:
        """Send a request in the highest version that both sides support, and return an answer without an error."""
        name = _API_NAMES[request_class.API_KEY]
        if request_class.API_KEY not in self._connection.broker_version_data.api_versions:
            raise _unsupported(f"The node does not support {name}")
        try:
            request = request_class(min_version=min_version, **fields)
            sent = self._connection.send_request(request, request_timeout_ms=_milliseconds(deadline))
            answer = self._wait(sent, deadline)
            check_answer(answer)
        except IncompatibleBrokerVersion:
            raise _unsupported(f"The node does not support version {min_version} of {name}") from None
        except CONNECTION_ERRORS as error:
            raise error_if_lost(f"{self._server}: {error_text(error)}") from None
        if refused := _error_of(answer):
            raise refused
        return answer

    def _wait(self, future: Any, deadline: Deadline) -> Any:
        return self._net.run(self._manager.wait_for, future, _milliseconds(deadline))


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no type information
    """Returns the tokens of a source to kafka-python."""

    def __init__(self, source: TokenSource) -> None:
        super().__init__()
        self._source = source

    def token(self) -> str:
        """Return a valid token."""
        return self._source.token()


@cache
def _token_source(credentials: ClientCredentials) -> TokenSource:
    """Return the tokens of a client; all connections share them."""
    return TokenSource(credentials)


def with_token_provider(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with a provider in the place of credentials; ``Unreachable`` if there is no token."""
    if "oauth" not in settings:
        return settings
    source = _token_source(settings["oauth"])
    try:
        source.token()  # an error in kafka-python's own call would only close the connection
    except OSError as error:
        raise Unreachable(str(error)) from None
    others = {name: value for name, value in settings.items() if name != "oauth"}
    return {**others, "sasl_oauth_token_provider": _TokenProvider(source)}


class _SocketInParts:
    """A socket that seems to be empty after each megabyte.

    kafka-python (3.0.12) reads whatever a peer sends without a pause before it looks at any of it, so a peer that is no
    broker filled the memory. Its frames then have a limit: a frame of more than 100 MB is refused.
    """

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._left = _BYTES_AT_A_TIME

    def recv(self, size: int) -> bytes:
        has_more = getattr(self._socket, "pending", int)  # of TLS: nothing would wake the reader for it
        if self._left <= 0 and not has_more():
            self._left = _BYTES_AT_A_TIME
            raise BlockingIOError
        data: bytes = self._socket.recv(size)
        self._left -= len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def reading_in_parts(build: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return what a ``KafkaConnectionManager`` makes its connections with, so that they have a limit of memory."""

    async def build_transport(*arguments: Any, **settings: Any) -> Any:
        transport = await build(*arguments, **settings)
        transport._sock = _SocketInParts(transport._sock)
        return transport

    return build_transport


def _feature_update_key(feature: str, update: FeatureUpdate) -> dict[str, Any]:
    return {
        "feature": feature,
        "max_version_level": update.level,
        "allow_downgrade": update.type is not UpgradeType.UPGRADE,  # version 0
        "upgrade_type": int(update.type),  # from version 1 on
    }


def _error_of(answer: Any) -> ApiError | None:
    """Return the error of an answer, or of its part about one feature; None if there is none."""
    code = getattr(answer, "error_code", 0)
    if not code:
        return None
    error = for_code(code)
    return ApiError(code, error.message, getattr(answer, "error_message", None) or error.description)


def _unsupported(message: str) -> ApiError:
    code = Code.UNSUPPORTED_VERSION
    return ApiError(code.value, code.name, message)


def _hint(settings: Mapping[str, Any], message: str) -> str:
    if any(sign in message for sign in _PROTOCOL_MISMATCH_SIGNS):
        return _SECURITY_PROTOCOL_HINT
    if "disconnected" not in message:
        return ""
    return _SASL_HINT if "sasl_mechanism" in settings else _SECURITY_PROTOCOL_HINT


def _milliseconds(deadline: Deadline) -> int:
    return int(1000 * deadline.remaining)


def error_text(error: Exception) -> str:
    """Return the text of one of ``CONNECTION_ERRORS`` on one line; its class name if it has no text."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, _UNREADABLE):
        return f"expected an answer of a Kafka broker, got one that kafka-python cannot read ({text})"
    return text
