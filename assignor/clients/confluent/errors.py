"""Errors of the member in confluent-kafka's words.

A broker's error codes are the same in every client; only where a client answers itself there is something to choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import kafka.errors
from confluent_kafka import KafkaError, KafkaException

from assignor.errors import FatalError

# kafka-python's own, which no broker has sent.
_OWN: Final[Mapping[type[Exception], int]] = MappingProxyType(
    {
        kafka.errors.CommitFailedError: KafkaError.UNKNOWN_MEMBER_ID,  # "not part of an active group"
        kafka.errors.KafkaTimeoutError: KafkaError._TIMED_OUT,
        kafka.errors.KafkaConnectionError: KafkaError._TRANSPORT,
    }
)


_REFUSALS: Final[Mapping[int, str]] = MappingProxyType(
    {KafkaError._AUTHENTICATION: "SaslAuthenticationException", KafkaError._SSL: "SslAuthenticationException"}
)
# With TLS 1.3 a broker looks at a client's certificate when the handshake is over for the client, so librdkafka only
# tells of a connection that was lost, and why. Of a broker's certificate it may do so, too.
_ALERT: Final = re.compile(r"SSL routines:.*( alert .*(certificate|unknown ca)|certificate verify failed)")


def as_kafka_error(error: BaseException) -> KafkaError:
    """Say what a plain ``Consumer`` would have said."""
    if isinstance(error, kafka.errors.CommitFailedError) and isinstance(
        error.args[0], kafka.errors.BrokerResponseError
    ):
        return as_kafka_error(error.args[0])  # it wraps what the broker has answered
    if isinstance(error, kafka.errors.BrokerResponseError):
        return KafkaError(error.errno, str(error))
    code = next((code for kind, code in _OWN.items() if isinstance(error, kind)), KafkaError._FAIL)
    return KafkaError(code, f"{type(error).__name__}: {error}")


def refusal(error: KafkaError) -> str | None:
    """Return Java's exception if librdkafka says that a broker does not let us in, or must not be trusted."""
    return "SslAuthenticationException" if _ALERT.search(error.str()) else _REFUSALS.get(error.code())


def failed(code: int, reason: str) -> KafkaException:
    """What a ``Consumer`` raises, with our reason."""
    return KafkaException(KafkaError(code, reason))


def as_fatal(error: Exception) -> FatalError:
    """Say what has ended the membership; `kafka` is the name of Java's exception for a broker's error."""
    if isinstance(error, FatalError):
        return error
    name = type(error).__name__
    java = f"{name.removesuffix('Error').removesuffix('Failed')}Exception"
    if not isinstance(error, kafka.errors.KafkaError):
        java = name
    return FatalError(f"the membership has ended: {error}", java)


def is_passing(error: Exception) -> bool:
    """Whether a member just tries again.

    InvalidRequestError: on the mock cluster a leader can be faster than a follower's SyncGroup.
    """
    return isinstance(error, kafka.errors.RetriableError | kafka.errors.InvalidRequestError)
