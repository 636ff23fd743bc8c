"""Blobs of rebalance metadata as plain JSON and back: userdata, and the consumer-protocol messages around it.

Userdata is described by ``subscription_codec.fields``; what is added here is the envelope, likewise by its layout.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from assignor.cli.lines import BadLine, refusal
from subscription_codec import (
    LATEST_SUPPORTED_VERSION,
    Assignment,
    CodecError,
    EncodeError,
    Part,
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
from subscription_codec.fields import Kind, to_json
from subscription_codec.layout import Layout


class _Envelope(NamedTuple):
    """A consumer-protocol message: what its userdata is, its fields in each version, its decoder and encoder."""

    inside: Kind
    layouts: Mapping[int, Layout]
    decode: Callable[..., Any]
    encode: Callable[[Any], bytes]

    def layout(self, version: int) -> Layout:
        """Return the fields of a version; one above the highest has those of the highest, and more behind them."""
        return self.layouts[min(version, consumer_protocol.HIGHEST_VERSION)]


USERDATA: Final[tuple[Kind, ...]] = ("subscription", "assignment")
ENVELOPES: Final[Mapping[str, _Envelope]] = {
    "member-subscription": _Envelope(
        "subscription",
        consumer_protocol.SUBSCRIPTION,
        consumer_protocol.decode_member_subscription,
        consumer_protocol.encode_member_subscription,
    ),
    "member-assignment": _Envelope(
        "assignment",
        consumer_protocol.ASSIGNMENT,
        consumer_protocol.decode_member_assignment,
        consumer_protocol.encode_member_assignment,
    ),
}
KINDS: Final = (*USERDATA, *ENVELOPES)


class Reading(NamedTuple):
    """How blobs are read: as a member that supports up to a version, and whether bytes may be left over."""

    supported: int
    strict: bool = False


# -- text to bytes ---------------------------------------------------------------------------------------------------


def blob_of_hex(text: object) -> bytes:
    """Read hex, with or without spaces."""
    try:
        return bytes.fromhex(text)  # type: ignore[arg-type]  # a TypeError is caught
    except (TypeError, ValueError):
        raise BadLine(f"expected hex, got {_start(text)}") from None


def blob_of_base64(text: object) -> bytes:
    """Read base64."""
    try:
        return base64.b64decode(text.strip(), validate=True)  # type: ignore[attr-defined]  # an AttributeError is caught
    except (AttributeError, ValueError):
        raise BadLine(f"expected base64, got {_start(text)}") from None


def blob_of(text: str) -> bytes:
    """Read hex, or base64 if it is no hex."""
    for read in (blob_of_hex, blob_of_base64):
        try:
            return read(text)
        except BadLine:
            continue
    raise BadLine(f"expected hex or base64, got {_start(text)}")


def printable(text: str) -> str:
    """Show control characters and bytes that are not text as escapes: a blob must not play with the terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _start(given: object) -> str:
    return repr(str(given).strip()[:40])


# -- bytes to JSON ---------------------------------------------------------------------------------------------------


def described(kind: str, blob: bytes, reading: Reading) -> dict[str, Any]:
    """Say what a blob holds; ``CodecError`` if it is not of this kind."""
    kind = _whole(kind, blob)
    if kind in ENVELOPES:
        return _envelope(ENVELOPES[kind], blob, reading)
    decode = decode_subscription if kind == "subscription" else decode_assignment
    return describe(decode(blob, supported=reading.supported, strict=reading.strict))


def _whole(kind: str, blob: bytes) -> str:
    """Return the kind of the envelope instead, if userdata is expected and a whole message has come.

    No member has ever sent a version of 65,536 or more, which is what the head of an envelope would be as userdata;
    and it is taken for one only if it is one to the last byte, with userdata of the right kind inside.
    """
    if kind in ENVELOPES or blob[:4] not in _LIKE_ENVELOPES:
        return kind
    envelope = ENVELOPES[f"member-{kind}"]
    try:
        record = envelope.decode(blob)
        if record.user_data is not None:
            described(envelope.inside, record.user_data, Reading(LATEST_SUPPORTED_VERSION))
    except CodecError:
        return kind
    return kind if record.trailing else f"member-{kind}"


def _envelope(envelope: _Envelope, blob: bytes, reading: Reading) -> dict[str, Any]:
    record = envelope.decode(blob, strict=reading.strict)
    fields = {field.kafka_name: getattr(record, field.name) for field in envelope.layout(record.version)}
    if record.user_data is not None:
        fields["userData"] = described_or_refused(envelope.inside, record.user_data, reading)
    if record.trailing:
        fields["trailing"] = record.trailing.hex()
    return {"version": record.version, "fields": {name: to_json(value) for name, value in fields.items()}}


def described_or_refused(kind: str, blob: bytes, reading: Reading) -> dict[str, Any]:
    """Say what a blob holds, or why it is refused."""
    try:
        return described(kind, blob, reading)
    except CodecError as error:  # an EncodeError where Kafka reads what no JSON of ours can say
        return refusal(error) | hint(kind, blob)


def is_refused(result: dict[str, Any]) -> bool:
    """Say whether a blob, or the userdata in it, could not be read."""
    inside = result.get("fields", {}).get("userData")
    return "error" in result or (inside is not None and "error" in inside)


_LIKE_ENVELOPES: Final = {version.to_bytes(2, "big") + bytes(2) for version in consumer_protocol.SUBSCRIPTION}
"""How envelopes begin: the version, and half of the number of topics. Userdata has its version in all four bytes."""


def hint(kind: str, blob: bytes) -> dict[str, str]:
    """Say what a refused blob may be instead."""
    if kind in ENVELOPES or blob[:4] not in _LIKE_ENVELOPES:
        return {}
    return {"hint": f"this looks like a whole consumer-protocol {kind}: use kind member-{kind}"}


def parts(kind: str, blob: bytes, supported: int) -> Iterator[Part]:
    """Yield the annotated bytes of a blob."""
    kind = _whole(kind, blob)
    if kind in ENVELOPES:
        return explain_envelope(ENVELOPES[kind].inside, blob, supported=supported)
    return explain("subscription" if kind == "subscription" else "assignment", blob, supported=supported)


# -- JSON to bytes ---------------------------------------------------------------------------------------------------


def encoded(kind: str, fields: Mapping[str, Any], as_release: str | None = None) -> bytes:
    """Write the blob of which ``described`` gives these fields; ``EncodeError`` names what does not fit."""
    if kind not in ENVELOPES:
        return _userdata("subscription" if kind == "subscription" else "assignment", fields, as_release)
    envelope, version = ENVELOPES[kind], fields.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise EncodeError(f"must be 0 or more, got {version!r}", "version")
    layout = envelope.layout(version)
    read: dict[str, tuple[str, Callable[[Any], Any]]] = {
        **{field.kafka_name: (field.name, field.wire.from_json) for field in layout},
        "userData": ("user_data", lambda given: _user_data(envelope.inside, given, as_release)),
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


def _userdata(kind: Kind, fields: Mapping[str, Any], as_release: str | None) -> bytes:
    match from_fields(kind, fields):
        case Subscription() as record:
            return encode_subscription(record, as_release=as_release)
        case Assignment() as record:
            return encode_assignment(record, as_release=as_release)


def _user_data(kind: Kind, given: Any, as_release: str | None) -> bytes | None:
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
        return blob_of_hex(text)
    except BadLine as error:
        raise EncodeError(str(error)) from None
