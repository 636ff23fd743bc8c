"""Subscription userdata: each member's message to the leader, in JoinGroup. Java: ``SubscriptionInfo``."""

from __future__ import annotations

from subscription_codec._messages import (
    decode_record,
    encode_future,
    encode_record,
    layout_for_version,
    read_future_version,
    read_header_integer,
    reject_trailing_bytes,
    require_bytes,
)
from subscription_codec.errors import BadVersion, FutureVersion
from subscription_codec.layout import SUBSCRIPTION_LAYOUTS
from subscription_codec.quirks import imitate_release
from subscription_codec.records import FutureSubscription, Subscription
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, LATEST_SUPPORTED_VERSION
from subscription_codec.wire.types import Reader


def decode_subscription(
    userdata: bytes | None, *, supported_version: int = LATEST_SUPPORTED_VERSION, strict: bool = False
) -> Subscription | FutureSubscription:
    r"""Read subscription userdata as a leader does.

    Args:
        userdata: The userdata of a consumer-protocol subscription; None is malformed.
        supported_version: The latest version that the leader supports.
        strict: Refuse bytes after the last field. Otherwise they are kept in ``trailing``, as Kafka ignores them.

    Returns:
        The record. For a version above ``supported_version`` it is a ``FutureSubscription``, of which Kafka (2.0 and
        later) reads the two version numbers only.

    Raises:
        FutureVersion: The version is above ``supported_version``, and that is below 3 (Kafka before 2.0).
        DecodeError: The bytes are malformed.

    >>> decode_subscription(bytes.fromhex("0000000c0000000dcafe"))
    FutureSubscription(version=12, supported_version=13, rest=b'\xca\xfe')
    """
    data = require_bytes(userdata)
    version = int.from_bytes(data[:4], "big", signed=True)
    layout = SUBSCRIPTION_LAYOUTS.get(version) if version <= supported_version else None
    if layout is None:
        return _decode_future(data, supported_version)
    record: Subscription = decode_record(data, layout, version)
    if version >= EARLIEST_PROBEABLE_VERSION > record.supported_version:
        _check_supported_version(EARLIEST_PROBEABLE_VERSION, record.supported_version)
    if strict:
        reject_trailing_bytes(record, len(data))
    return record


def encode_subscription(subscription: Subscription | FutureSubscription, *, as_release: str | None = None) -> bytes:
    """Write subscription userdata.

    Args:
        subscription: The record to write.
        as_release: A release such as ``"1.1.1"``: write the bytes that this release writes, see ``quirks``.

    Raises:
        EncodeError: The version has no layout, or a value does not fit its field.
    """
    if isinstance(subscription, FutureSubscription):
        return encode_future(subscription)
    layout = layout_for_version(subscription.version, SUBSCRIPTION_LAYOUTS)
    if as_release is not None:
        subscription = imitate_release(as_release, subscription)
    return encode_record(subscription, layout)


def _decode_future(data: bytes, supported_version: int) -> FutureSubscription:
    reader = Reader(data)
    version = read_future_version(reader)
    if supported_version < EARLIEST_PROBEABLE_VERSION:
        raise FutureVersion(f"unable to decode subscription data: version={version}", 0, "version")
    latest = _check_supported_version(version, read_header_integer(reader, "supported_version"))
    return FutureSubscription(version, latest, reader.read_rest())


def _check_supported_version(lowest: int, supported_version: int) -> int:
    # Kafka 2.5 and later refuse a supported version below the used one (IllegalArgumentException). 2.0 to 2.4 do not
    # check it, and 2.1 to 2.3 can write 4 with 3. The codec reads all that a release has written, and refuses the rest.
    if supported_version < lowest:
        raise BadVersion(f"supported version {supported_version}, expected {lowest} or more", 4, "supported_version")
    return supported_version
