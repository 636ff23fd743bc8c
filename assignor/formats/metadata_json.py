"""Rebalance metadata as JSON and back: userdata, and the consumer-protocol messages around it.

``codec.json_fields`` describes userdata; this module adds the envelope, also by its layout.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from streams_assignor.codec import (
    LATEST_SUPPORTED_VERSION,
    AnnotatedField,
    CodecError,
    EncodeError,
    Subscription,
    consumer_protocol,
    decode_assignment,
    decode_subscription,
    describe,
    encode_assignment,
    encode_subscription,
    explain,
    explain_envelope,
    from_fields,
)
from streams_assignor.codec.json_fields import MessageKind, to_json
from streams_assignor.codec.wire.schema import Layout
from streams_assignor.formats.jsonl import BadLine, error_object


class _ConsumerProtocolMessage(NamedTuple):
    """A type of consumer-protocol message: the kind of its userdata, its fields by version, its decoder and encoder."""

    userdata_kind: MessageKind
    layouts: Mapping[int, Layout]
    decode: Callable[..., Any]
    encode: Callable[[Any], bytes]

    def layout(self, version: int) -> Layout:
        """Return the fields of a version; a future version begins with the fields of the highest known one."""
        return self.layouts[min(version, consumer_protocol.HIGHEST_SUPPORTED_VERSION)]


USERDATA_KINDS: Final[tuple[MessageKind, ...]] = ("subscription", "assignment")
MESSAGE_TYPES: Final[Mapping[str, _ConsumerProtocolMessage]] = {
    "member-subscription": _ConsumerProtocolMessage(
        "subscription",
        consumer_protocol.SUBSCRIPTION_LAYOUTS,
        consumer_protocol.decode_consumer_subscription,
        consumer_protocol.encode_consumer_subscription,
    ),
    "member-assignment": _ConsumerProtocolMessage(
        "assignment",
        consumer_protocol.ASSIGNMENT_LAYOUTS,
        consumer_protocol.decode_consumer_assignment,
        consumer_protocol.encode_consumer_assignment,
    ),
}
METADATA_KINDS: Final = (*USERDATA_KINDS, *MESSAGE_TYPES)


class DecodeOptions(NamedTuple):
    """How metadata is decoded."""

    supported_version: int
    """Decode like a member that supports this version."""

    strict: bool = False
    """Reject bytes after the last field."""


# -- text to bytes ---------------------------------------------------------------------------------------------------


def parse_hex(text: object) -> bytes:
    """Parse hex, with or without spaces."""
    try:
        return bytes.fromhex(text)  # type: ignore[arg-type]  # a TypeError is caught
    except (TypeError, ValueError):
        raise BadLine(f"expected hex, got {_excerpt(text)}") from None


def parse_base64(text: object) -> bytes:
    """Parse base64."""
    try:
        return base64.b64decode(text.strip(), validate=True)  # type: ignore[attr-defined]  # an AttributeError is caught
    except (AttributeError, ValueError):
        raise BadLine(f"expected base64, got {_excerpt(text)}") from None


def parse_bytes(text: str) -> bytes:
    """Parse hex, or base64 if it is not hex."""
    for read in (parse_hex, parse_base64):
        try:
            return read(text)
        except BadLine:
            continue
    raise BadLine(f"expected hex or base64, got {_excerpt(text)}")


def _excerpt(given: object) -> str:
    return repr(str(given).strip()[:40])


# -- bytes to JSON ---------------------------------------------------------------------------------------------------


def decode_to_json(kind: str, encoded: bytes, options: DecodeOptions) -> dict[str, Any]:
    """Decode metadata to JSON; ``CodecError`` if it is not of this kind."""
    kind = _message_kind(kind, encoded)
    if kind in MESSAGE_TYPES:
        return _message_to_json(MESSAGE_TYPES[kind], encoded, options)
    decode = decode_subscription if kind == "subscription" else decode_assignment
    return describe(decode(encoded, supported_version=options.supported_version, strict=options.strict))


def _message_kind(kind: str, encoded: bytes) -> str:
    """Return the kind of the envelope if userdata is expected but a whole message is given.

    As userdata, the head of an envelope would be a version of 65,536 or more, which no member sends. It is treated as
    an envelope only if it decodes to the last byte, with userdata of the right kind inside.
    """
    if kind in MESSAGE_TYPES or encoded[:4] not in _MESSAGE_PREFIXES:
        return kind
    envelope = MESSAGE_TYPES[f"member-{kind}"]
    try:
        record = envelope.decode(encoded)
        if record.user_data is not None:
            decode_to_json(envelope.userdata_kind, record.user_data, DecodeOptions(LATEST_SUPPORTED_VERSION))
    except CodecError:
        return kind
    return kind if record.trailing else f"member-{kind}"


def _message_to_json(envelope: _ConsumerProtocolMessage, encoded: bytes, reading: DecodeOptions) -> dict[str, Any]:
    record = envelope.decode(encoded, strict=reading.strict)
    fields = {field.name: getattr(record, field.key) for field in envelope.layout(record.version).members}
    if record.user_data is not None:
        fields["userData"] = decode_or_error(envelope.userdata_kind, record.user_data, reading)
    if record.trailing:
        fields["trailing"] = record.trailing.hex()
    return {"version": record.version, "fields": {name: to_json(value) for name, value in fields.items()}}


def decode_or_error(kind: str, encoded: bytes, options: DecodeOptions) -> dict[str, Any]:
    """Decode metadata to JSON, or return an error object."""
    try:
        return decode_to_json(kind, encoded, options)
    except CodecError as error:  # an EncodeError if Kafka accepts a value that this JSON cannot express
        return error_object(error) | kind_hint(kind, encoded)


def has_error(result: dict[str, Any]) -> bool:
    """Return whether metadata, or the userdata in it, could not be decoded."""
    inside = result.get("fields", {}).get("userData")
    return "error" in result or (inside is not None and "error" in inside)


_MESSAGE_PREFIXES: Final = {version.to_bytes(2, "big") + bytes(2) for version in consumer_protocol.SUBSCRIPTION_LAYOUTS}
"""First four bytes of envelopes: the version, and half of the number of topics. In userdata these are the version."""


def kind_hint(kind: str, encoded: bytes) -> dict[str, str]:
    """Return a hint if rejected userdata may be an envelope."""
    if kind in MESSAGE_TYPES or encoded[:4] not in _MESSAGE_PREFIXES:
        return {}
    return {"hint": f"this looks like a whole consumer-protocol {kind}: use kind member-{kind}"}


def explain_parts(kind: str, encoded: bytes, supported: int) -> Iterator[AnnotatedField]:
    """Yield the annotated fields of metadata."""
    kind = _message_kind(kind, encoded)
    if kind in MESSAGE_TYPES:
        return explain_envelope(MESSAGE_TYPES[kind].userdata_kind, encoded, supported_version=supported)
    return explain("subscription" if kind == "subscription" else "assignment", encoded, supported_version=supported)


# -- JSON to bytes ---------------------------------------------------------------------------------------------------


def encode_from_json(kind: str, fields: Mapping[str, Any], as_release: str | None = None) -> bytes:
    """Encode metadata from the fields that ``decode_to_json`` returns; ``EncodeError`` names the invalid field."""
    if kind not in MESSAGE_TYPES:
        return _userdata("subscription" if kind == "subscription" else "assignment", fields, as_release)
    envelope, version = MESSAGE_TYPES[kind], fields.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise EncodeError(f"must be 0 or more, got {version!r}", "version")
    layout = envelope.layout(version)
    read: dict[str, tuple[str, Callable[[Any], Any]]] = {
        **{field.name: (field.key, field.wire.from_json) for field in layout.members},
        "userData": ("user_data", lambda given: _user_data(envelope.userdata_kind, given, as_release)),
        "trailing": ("trailing", _hex),
    }
    if unknown := fields.keys() - read.keys():
        raise EncodeError(f"{kind} version {version} has no such field, only {', '.join(read)}", min(unknown))
    values = {}
    for name, given in fields.items():
        key, from_json = read[name]
        try:
            values[key] = from_json(given)
        except EncodeError as error:
            raise error.within(name) from None
    return envelope.encode(layout.record(**values))


def _userdata(kind: MessageKind, fields: Mapping[str, Any], as_release: str | None) -> bytes:
    record = from_fields(kind, fields)
    if isinstance(record, Subscription):
        return encode_subscription(record, as_release=as_release)
    return encode_assignment(record, as_release=as_release)


def _user_data(kind: MessageKind, given: Any, as_release: str | None) -> bytes | None:
    match given:
        case None:
            return None
        case str():
            return _hex(given)
        case {"fields": dict() as fields}:
            return _userdata(kind, fields, as_release)
        case _:
            raise EncodeError('needs null, hex or {"fields": {...}}')


def _hex(text: object) -> bytes:
    try:
        return parse_hex(text)
    except BadLine as error:
        raise EncodeError(str(error)) from None
