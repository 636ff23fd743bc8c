"""The errors of a call to a cluster: no connection, no answer, or an error code in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.redaction import hide

_REFUSED_SIGNS: Final = ("ECONNREFUSED", "Connection refused")
_JAVA_PACKAGE: Final = "org.apache.kafka.common.errors"


class ClusterError(UpgradeError):
    """Base class: a call to a cluster failed. A secret of this process that the text repeats is hidden."""

    def __init__(self, message: str) -> None:
        super().__init__(hide(message))


class Unreachable(ClusterError):
    """No node answered; nothing has been changed."""


def unreachable(server: str, text: str, hint: str = "") -> Unreachable:
    """Return the error that a server did not answer; ``text`` is that of the client library.

    >>> str(unreachable("a:1", "KafkaConnectionError: 111 ECONNREFUSED"))
    'a:1: connection refused: does a broker listen at a:1?'
    """
    if any(sign in text for sign in _REFUSED_SIGNS):
        text, hint = f"connection refused: does a broker listen at {server}?", ""
    return Unreachable(f"{server}: {text}{hint}")


class OutcomeUnknown(ClusterError):
    """The connection or the time ended after the request was sent: it may have been applied (KIP-584)."""


class NoSuchNode(ClusterError):
    """The cluster has no such node now."""


class ApiError(ClusterError):
    """An error code of Kafka: its number, its name, and the message in the answer."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.message = hide(message)

    @property
    def java_text(self) -> str:
        """The exception as Java prints it: class and text."""
        words = self.name.removesuffix("_FAILED").split("_")
        return f"{_JAVA_PACKAGE}.{''.join(map(str.capitalize, words))}Exception: {self.message}"

    def as_json(self) -> dict[str, object]:
        """Return the error as plain values."""
        return {"code": self.code, "name": self.name, "message": self.message}


class FeatureUpdateFailed(ClusterError):
    """At least one update was refused; ``results`` has for every feature an error, or None for success.

    Up to UpdateFeatures v1 some may succeed while others fail (KIP-584); Kafka 4.x applies all or none.
    """

    def __init__(self, results: Mapping[str, ApiError | None]) -> None:
        super().__init__("; ".join(sorted({error.message for error in results.values() if error})))
        self.results = MappingProxyType(dict(results))
