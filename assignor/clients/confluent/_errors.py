"""Translates errors of kafka-python, which is the member, into those of confluent-kafka.

The error codes of brokers are the same in every client; only the errors that a client raises by itself need a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import kafka.errors
from confluent_kafka import KafkaError, KafkaException

from streams_assignor.clients.confluent._private_api import is_tls_refusal
from streams_assignor.errors import FatalError

_CLIENT_ERROR_CODES: Final[Mapping[type[Exception], int]] = MappingProxyType(
    {
        kafka.errors.CommitFailedError: KafkaError.UNKNOWN_MEMBER_ID,  # "not part of an active group"
        kafka.errors.KafkaTimeoutError: KafkaError._TIMED_OUT,
        kafka.errors.KafkaConnectionError: KafkaError._TRANSPORT,
    }
)
"""Errors that kafka-python raises by itself."""

_AUTHENTICATION_EXCEPTIONS: Final[Mapping[int, str]] = MappingProxyType(
    {KafkaError._AUTHENTICATION: "SaslAuthenticationException", KafkaError._SSL: "SslAuthenticationException"}
)


def as_kafka_error(error: BaseException) -> KafkaError:
    """Return the error that a plain ``Consumer`` reports in the same situation."""
    if isinstance(error, kafka.errors.CommitFailedError) and isinstance(
        error.args[0], kafka.errors.BrokerResponseError
    ):
        return as_kafka_error(error.args[0])  # it wraps the broker's error
    if isinstance(error, kafka.errors.BrokerResponseError):
        return KafkaError(error.errno, str(error))
    code = next((code for kind, code in _CLIENT_ERROR_CODES.items() if isinstance(error, kind)), KafkaError._FAIL)
    return KafkaError(code, f"{type(error).__name__}: {error}")


def authentication_exception(error: KafkaError) -> str | None:
    """Return the name of Java's exception if authentication failed, of the client or of the broker; otherwise None."""
    return "SslAuthenticationException" if is_tls_refusal(error) else _AUTHENTICATION_EXCEPTIONS.get(error.code())


def kafka_exception(code: int, reason: str) -> KafkaException:
    """Return the exception of a ``Consumer`` with this code and reason."""
    return KafkaException(KafkaError(code, reason))


def as_fatal_error(error: Exception) -> FatalError:
    """Return the error that terminates the membership, with the name of Java's exception for a broker's error."""
    if isinstance(error, FatalError):
        return error
    name = type(error).__name__
    java = f"{name.removesuffix('Error').removesuffix('Failed')}Exception"
    if not isinstance(error, kafka.errors.KafkaError):
        java = name
    return FatalError(f"the membership has ended: {error}", java)


def is_retriable(error: BaseException) -> bool:
    """Whether the member polls again after this error.

    InvalidRequestError: on the mock cluster a leader's SyncGroup can arrive before a follower's.
    """
    return isinstance(error, kafka.errors.RetriableError | kafka.errors.InvalidRequestError)
