"""Wire types of text: UTF-8 with a length, Java's modified UTF-8, and UTF-16."""

from __future__ import annotations

import sys
from array import array
from functools import lru_cache
from typing import Any, Final

from streams_assignor.codec.errors import BadCount, BadText, EncodeError
from streams_assignor.codec.wire.types import Reader, Sized, WireType

_NATIVE_UTF16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


@lru_cache(maxsize=1 << 10)
def shared_name(name: str) -> str:
    """Return the same object for equal names: a group has few topologies and many tasks."""
    return name


def _require_str(value: Any) -> str:
    if not isinstance(value, str):
        raise EncodeError(f"needs a text, got {value!r}")
    return value


class Utf8(Sized["str | None"]):
    """Length and standard UTF-8. Bytes that are not UTF-8 survive as surrogate escapes.

    Java decodes them as U+FFFD, so a leader must not fail on them.
    """

    def __init__(self, length: int, *, nullable: bool = False) -> None:
        super().__init__(length, nullable=nullable)
        self.name = f"{'nullable ' if nullable else ''}string ({f'int{8 * length}' if length else 'varint'} length)"

    def read(self, reader: Reader) -> str | None:
        length = self.read_length(reader)
        return None if length is None else reader.read_bytes(length).decode("utf-8", "surrogateescape")

    def from_json(self, value: Any) -> str | None:
        return None if value is None and self.nullable else _require_str(value)

    def write(self, out: bytearray, value: str | None) -> None:
        try:
            text = None if value is None else value.encode("utf-8", "surrogateescape")
        except (AttributeError, UnicodeEncodeError):
            raise EncodeError(f"needs a string, got {value!r}") from None
        self.write_length(out, text)
        out += text or b""


STRING: Final = Utf8(2)


class ModifiedUtf8(WireType[str]):
    """uint16 length and *modified* UTF-8 (``DataOutputStream.writeUTF``).

    U+0000 is C0 80 and a character beyond U+FFFF is a pair of surrogates of three bytes each.
    """

    name = "UTF (uint16 length, modified UTF-8)"
    size = 2

    def read(self, reader: Reader) -> str:
        length = int.from_bytes(reader.read_bytes(2), "big")
        if length > reader.remaining:
            raise BadCount(f"a text of {length} bytes, but {reader.remaining} bytes are left", reader.position - 2)
        at = reader.position
        return decode_modified_utf8(reader.read_bytes(length), at)

    def from_json(self, value: Any) -> str:
        return _require_str(value)

    def write(self, out: bytearray, value: str) -> None:
        try:
            out += encode_modified_utf8(value)
        except AttributeError:
            raise EncodeError(f"needs a text, got {value!r}") from None


def decode_modified_utf8(raw: bytes, at: int = 0) -> str:
    """Decode as ``DataInputStream.readUTF`` does, including over-long forms. ``at``: offset of ``raw``, for errors."""
    if raw.isascii():
        return raw.decode("ascii")
    units = array("H")
    i = 0
    while i < len(raw):
        first = raw[i]
        size = 1 if first < 0x80 else 2 if first >> 5 == 0b110 else 3 if first >> 4 == 0b1110 else 0
        tail = raw[i + 1 : i + size]
        if size == 0 or len(tail) < size - 1 or any(byte >> 6 != 0b10 for byte in tail):
            raise BadText("not modified UTF-8", at + i)
        unit = first if size == 1 else first & (0x1F if size == 2 else 0x0F)
        for byte in tail:
            unit = unit << 6 | byte & 0x3F
        units.append(unit)
        i += size
    return units.tobytes().decode(_NATIVE_UTF16, "surrogatepass")


def encode_modified_utf8(value: str) -> bytes:
    """Encode as ``DataOutputStream.writeUTF`` does, with the length."""
    text = value.encode("ascii") if value.isascii() and "\0" not in value else _modified_utf8_bytes(value)
    if len(text) > 0xFFFF:
        raise EncodeError(f"a text of {len(text)} bytes; 65535 is the most that writeUTF can write")
    return len(text).to_bytes(2, "big") + text


def _modified_utf8_bytes(value: str) -> bytes:
    # One UTF-16 unit at a time, so that surrogate pairs become two groups of three bytes.
    units = memoryview(value.encode(_NATIVE_UTF16, "surrogatepass")).cast("H")
    return b"".join(b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass") for unit in units)


class Utf16(WireType["str | None"]):
    """int32 number of UTF-16 code units, then the units; 0 units are null (the name of a topology in an assignment)."""

    name = "nullable string (int32 length, UTF-16)"
    size = 4

    def read(self, reader: Reader) -> str | None:
        length = 0 if reader.skip_null(4) else reader.read_count(2)
        return shared_name(reader.read_bytes(2 * length).decode("utf-16-be", "surrogatepass")) if length else None

    def from_json(self, value: Any) -> str | None:
        return None if value is None else _require_str(value)

    def write(self, out: bytearray, value: str | None) -> None:
        if value == "":
            raise EncodeError("must not be empty: no characters stand for no name")
        try:
            text = (value or "").encode("utf-16-be", "surrogatepass")
        except AttributeError:
            raise EncodeError(f"needs a text or None, got {value!r}") from None
        out += (len(text) // 2).to_bytes(4, "big") + text
