"""What can go wrong between bytes and records, each with the field and the place."""

from __future__ import annotations


class CodecError(ValueError):
    """Base class of everything this package raises on purpose."""


class EncodeError(CodecError):
    """The record cannot be written: a value of the caller's does not fit its field.

    ``field`` is the path of the value, for example ``standby_tasks[2].partition``.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem, field)
        self.problem = problem
        self.field = field

    def within(self, outer: str) -> EncodeError:
        """Return the same error with the field named from one level further out."""
        return EncodeError(self.problem, joined(outer, self.field))

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem


class DecodeError(CodecError):
    """The bytes are not a record: ``field`` and ``offset`` (bytes from the start of the blob) say where.

    A decoder raises this and nothing else, whatever the bytes.
    """

    def __init__(self, problem: str, offset: int, field: str = "") -> None:
        super().__init__(problem, offset, field)
        self.problem = problem
        self.offset = offset
        self.field = field

    def within(self, outer: str) -> DecodeError:
        """Return the same error (same class) with the field named from one level further out."""
        return type(self)(self.problem, self.offset, joined(outer, self.field))

    def __str__(self) -> str:
        return f"{self.field or 'record'} at offset {self.offset}: {self.problem}"


class Truncated(DecodeError):
    """The bytes end inside a field."""


class BadCount(DecodeError):
    """A count or length is negative, or promises more than the bytes that are left."""


class BadText(DecodeError):
    """Bytes that are not text in the encoding of their field."""


class BadVersion(DecodeError):
    """A version number that no release has written, or a pair of numbers that contradict each other."""


class FutureVersion(DecodeError):
    """A version above the reader's, where Kafka too refuses to read on (``TaskAssignmentException``)."""


class TrailingBytes(DecodeError):
    """Bytes behind the last field, where the caller asked for none (``strict=True``)."""


def joined(outer: str, inner: str) -> str:
    """Join two parts of a field path: ``a`` + ``b`` is ``a.b``, ``a`` + ``[0].b`` is ``a[0].b``."""
    return outer + inner if not inner or inner.startswith("[") else f"{outer}.{inner}"
