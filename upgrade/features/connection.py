"""One connection to one broker or controller, on kafka-python (3.x): four questions and their answers as plain values.

kafka-python has ``describe_features`` and ``update_features`` on its admin client, which (3.0.12) cannot start at a
controller, because it wants Metadata; cannot ask a given node; retries behind one's back; and fills its errors with the
whole request. So this file uses what lies below: a connection and the messages of the protocol. TLS, SASL, time limits
and bytes are kafka-python's. Whatever it does not promise to keep is used here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final, Self

from attrs import frozen
from kafka import __version__ as kafka_python
from kafka.errors import IncompatibleBrokerVersion, KafkaError, for_code
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.admin import DescribeClusterRequest, UpdateFeaturesRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from upgrade.features.dialects import Code
from upgrade.features.rpc import Described, FeatureUpdate, Listener, OutcomeUnknown, Refused, Unreachable, UpgradeType

_PROBLEMS: Final = (KafkaError, OSError, ValueError)  # OSError: nobody listens, or no such file of certificates
_CONTROLLERS: Final = 2  # DescribeCluster's endpoint type
# A broker says so and hangs up; kafka-python (3.0.12) mostly sees but the latter.
_LOGIN: Final = " during the login with SASL: are the mechanism, the name and the password right?"
_AT_ONCE: Final = ": is the security protocol right?"  # TLS, or SASL, where none is expected, or the reverse
_NOT_THAT_PROTOCOL: Final = ("UNEXPECTED_EOF", "WRONG_VERSION_NUMBER", "Invalid frame length")
_JAVA_NAMES: Final = {
    ApiVersionsRequest.API_KEY: "API_VERSIONS",
    DescribeClusterRequest.API_KEY: "DESCRIBE_CLUSTER",
    MetadataRequest.API_KEY: "METADATA",
    UpdateFeaturesRequest.API_KEY: "UPDATE_FEATURES",
}


class Deadline:
    """When something has to be done."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, 0 from then on."""
        return max(0.0, self._end - time.monotonic())

    def share(self, parts: int) -> Deadline:
        """Return a nearer one, so that time is left for the other ``parts`` of the work."""
        return Deadline(self.left / parts)


@frozen
class Nodes:
    """Who is there: an address for each node, and the (active) controller or -1."""

    addresses: Mapping[int, str]
    controller: int


class Connection:
    """A connection that is ready for questions; use it in a ``with`` statement.

    ``server`` is ``HOST:PORT``, ``settings`` are kafka-python's. `Unreachable` if it is not ready at the deadline, or
    if an answer does not come; `Refused` if the answer is an error, or the server does not know the question.
    """

    def __init__(self, server: str, settings: Mapping[str, Any], deadline: Deadline) -> None:
        self._server = server
        if settings.get("sasl_mechanism") == "GSSAPI" and find_spec("gssapi") is None:
            # kafka-python would only hang up.
            raise Unreachable("the SASL mechanism GSSAPI needs the Python package gssapi, which is not installed")
        self._net = NetworkSelector()
        try:
            # A manager that is not told to bootstrap takes any server, and a selector without its thread is driven by
            # whoever waits.
            self._manager = KafkaConnectionManager(self._net, **{**settings, "bootstrap_servers": [server]})
            (node,) = self._manager.cluster.bootstrap_brokers()
            self._connection = self._manager.get_connection(
                node.node_id, timeout_ms=_milliseconds(deadline), refresh_metadata_on_err=False
            )
            self._wait(self._connection.init_future, deadline)
        except _PROBLEMS as error:
            self.close()
            raise Unreachable(f"{server}: {_words(error)}{_hint(settings, str(error))}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; does nothing the second time."""
        if hasattr(self, "_manager"):
            self._manager.close()
        self._net.close()

    def features(self, listener: Listener, deadline: Deadline) -> Described:
        """Ask what it supports and what is finalised (ApiVersions; before v4 features that begin at 0 are left out)."""
        software = {"client_software_name": "kafka-python", "client_software_version": kafka_python}
        answer = self._ask(ApiVersionsRequest, deadline, **software)
        epoch = answer.finalized_features_epoch
        known = epoch is not None and epoch >= 0
        return Described(
            listener=listener,
            epoch=epoch if known else None,
            supported={each.name: (each.min_version, each.max_version) for each in answer.supported_features or ()},
            finalized={each.name: each.max_version_level for each in answer.finalized_features or () if known},
        )

    def brokers(self, deadline: Deadline) -> Nodes:
        """Ask a broker who is there (Metadata, which controllers do not know)."""
        answer = self._ask(MetadataRequest, deadline, topics=[], allow_auto_topic_creation=False)
        addresses = {each.node_id: _address(each) for each in answer.brokers}
        return Nodes(addresses, answer.controller_id)

    def controllers(self, deadline: Deadline) -> Nodes:
        """Ask a controller who is there (DescribeCluster)."""
        answer = self._ask(DescribeClusterRequest, deadline, since=1, endpoint_type=_CONTROLLERS)
        addresses = {each.broker_id: _address(each) for each in answer.brokers}
        return Nodes(addresses, answer.controller_id)

    def update(
        self, updates: Mapping[str, FeatureUpdate], deadline: Deadline, *, dry_run: bool
    ) -> Mapping[str, Refused | None]:
        """Have levels changed; returns what came of each, or raises what is the matter with all.

        `OutcomeUnknown` if no answer came: the request may have been applied.
        """
        answer = self._ask(
            UpdateFeaturesRequest,
            deadline,
            since=1 if dry_run else 0,  # version 0 knows no dry run: it would be a real update
            lost=OutcomeUnknown,
            timeout_ms=_milliseconds(deadline),
            feature_updates=[UpdateFeaturesRequest.FeatureUpdateKey(**_key(*each)) for each in updates.items()],
            validate_only=dry_run,
        )
        # From version 2 on there are no results: without a top-level error all is well.
        told = {each.feature: _refused(each) for each in answer.results or ()}
        return {feature: told.get(feature) for feature in updates}

    def _ask(
        self,
        kind: Any,
        deadline: Deadline,
        *,
        since: int = 0,
        lost: type[Unreachable | OutcomeUnknown] = Unreachable,
        **fields: Any,
    ) -> Any:
        """Send a request in the highest version that both sides know, and return an answer without an error."""
        name = _JAVA_NAMES[kind.API_KEY]
        if kind.API_KEY not in self._connection.broker_version_data.api_versions:
            raise _unsupported(f"The node does not support {name}")
        try:
            request = kind(min_version=since, **fields)
            sent = self._connection.send_request(request, request_timeout_ms=_milliseconds(deadline))
            answer = self._wait(sent, deadline)
        except IncompatibleBrokerVersion:
            raise _unsupported(f"The node does not support version {since} of {name}") from None
        except _PROBLEMS as error:
            raise lost(f"{self._server}: {_words(error)}") from None
        if refused := _refused(answer):
            raise refused
        return answer

    def _wait(self, future: Any, deadline: Deadline) -> Any:
        return self._net.run(self._manager.wait_for, future, _milliseconds(deadline))


def _address(node: Any) -> str:
    return f"[{node.host}]:{node.port}" if ":" in node.host else f"{node.host}:{node.port}"


def _key(feature: str, update: FeatureUpdate) -> dict[str, Any]:
    return {
        "feature": feature,
        "max_version_level": update.level,
        "allow_downgrade": update.type is not UpgradeType.UPGRADE,  # version 0
        "upgrade_type": int(update.type),  # from version 1 on
    }


def _refused(answer: Any) -> Refused | None:
    """The error that an answer, or the part of it about one feature, carries; not every kind of answer can."""
    code = getattr(answer, "error_code", 0)
    if not code:
        return None
    error = for_code(code)
    return Refused(code, error.message, getattr(answer, "error_message", None) or error.description)


def _unsupported(message: str) -> Refused:
    code = Code.UNSUPPORTED_VERSION
    return Refused(code.value, code.name, message)


def _hint(settings: Mapping[str, Any], said: str) -> str:
    if any(sign in said for sign in _NOT_THAT_PROTOCOL):
        return _AT_ONCE
    if "disconnected" not in said:
        return ""
    return _LOGIN if "sasl_mechanism" in settings else _AT_ONCE


def _milliseconds(deadline: Deadline) -> int:
    return int(1000 * deadline.left)


def _words(error: Exception) -> str:
    """What a library's error says, on one line; some say nothing but their name."""
    return " ".join(str(error).split()) or type(error).__name__
