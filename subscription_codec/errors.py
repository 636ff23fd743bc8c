"""The errors of the codec, and the base class of all errors of this product."""

from __future__ import annotations


class StreamsAssignorError(Exception):
    """Base class of all errors that the packages of this product define."""


class WrongArgument(StreamsAssignorError, TypeError):
    """An argument has a type that the function does not take; the message names it."""


def require_type(argument: str, value: object, *kinds: type, use: str = "") -> None:
    """Raise ``WrongArgument`` unless a value is of one of the types; ``use`` says how to make one.

    >>> require_type("name", None, str)
    Traceback (most recent call last):
    streams_assignor.codec.errors.WrongArgument: expected str as name, got None
    """
    if not isinstance(value, kinds):
        given = "None" if value is None else f"{type(value).__name__} {value!r:.80}"
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise WrongArgument(f"expected {expected} as {argument}, got {given}{use and f': {use}'}")


class CodecError(StreamsAssignorError, ValueError):
    """Base class of the errors of ``subscription_codec``."""


class EncodeError(CodecError):
    """The record cannot be written: a value does not fit its field."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem, field)
        self.problem = problem
        self.field = field
        """The path of the value, for example ``standby_tasks[2].partition``."""

    def within(self, outer: str) -> EncodeError:
        """Return the same error with ``outer`` in front of the path."""
        return EncodeError(self.problem, join_path(outer, self.field))

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem


class DecodeError(CodecError):
    """The bytes are not a record. A decoder raises no other error, for any bytes."""

    def __init__(self, problem: str, offset: int, field: str = "") -> None:
        super().__init__(problem, offset, field)
        self.problem = problem
        self.offset = offset
        """The place of the error, in bytes from the start of the blob."""
        self.field = field
        """The path of the field."""

    def within(self, outer: str) -> DecodeError:
        """Return the same error, of the same class, with ``outer`` in front of the path."""
        return type(self)(self.problem, self.offset, join_path(outer, self.field))

    def __str__(self) -> str:
        return f"{self.field or 'record'} at offset {self.offset}: {self.problem}"


class Truncated(DecodeError):
    """The bytes end inside a field."""


class BadCount(DecodeError):
    """A count or length is negative, or needs more bytes than are left."""


class BadText(DecodeError):
    """The bytes are not text in the encoding of their field."""


class BadVersion(DecodeError):
    """No release has written this version number, or two version numbers contradict each other."""


class FutureVersion(DecodeError):
    """The version is above the reader's supported version. Kafka throws ``TaskAssignmentException`` here."""


class TrailingBytes(DecodeError):
    """There are bytes after the last field, and the caller asked for none (``strict=True``)."""


def join_path(outer: str, inner: str) -> str:
    """Join two parts of a field path: ``a`` + ``b`` is ``a.b``, ``a`` + ``[0].b`` is ``a[0].b``."""
    return outer + inner if not inner or inner.startswith("[") else f"{outer}.{inner}"
