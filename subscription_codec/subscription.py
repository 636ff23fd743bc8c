"""Subscription userdata: what each member sends the leader with JoinGroup. Java: ``SubscriptionInfo``."""

from __future__ import annotations

from subscription_codec._driver import as_bytes, read_fields, read_number, write_fields
from subscription_codec._wire import Reader
from subscription_codec.errors import BadVersion, EncodeError, FutureVersion
from subscription_codec.layout import INT32, SUBSCRIPTION
from subscription_codec.records import FutureSubscription, Subscription
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, LATEST_SUPPORTED_VERSION


def decode_subscription(
    userdata: bytes | None, *, supported: int = LATEST_SUPPORTED_VERSION
) -> Subscription | FutureSubscription:
    r"""Read subscription userdata as a member whose latest supported version is ``supported`` does.

    A version above ``supported`` gives a ``FutureSubscription``: like Kafka since 2.0 it reads the two version
    numbers and nothing behind them; a reader of before 2.0 (``supported`` below 3) cannot, and raises
    ``FutureVersion``. Raises ``DecodeError`` for everything that is not a subscription; bytes behind
    the last field are kept in ``trailing``, as every Kafka decoder ignores them.

    >>> decode_subscription(bytes.fromhex("0000000900000009cafe"))
    FutureSubscription(version=9, latest_supported=9, rest=b'\xca\xfe')
    """
    reader = Reader(as_bytes(userdata))
    version = read_number(reader, "version")
    if version < 1:
        raise BadVersion(f"version {version}; the lowest is 1", 0, "version")
    if version > supported and supported < EARLIEST_PROBEABLE_VERSION:
        raise FutureVersion(f"unable to decode subscription data: version={version}", 0, "version")
    if version > supported:
        latest = _at_least(version, read_number(reader, "latest_supported"))
        return FutureSubscription(version, latest, reader.rest())
    reader.at = 0
    values = read_fields(reader, SUBSCRIPTION[version])
    if version >= EARLIEST_PROBEABLE_VERSION:
        _at_least(EARLIEST_PROBEABLE_VERSION, values["latest_supported"])
    return Subscription(**values, trailing=reader.rest())


def encode_subscription(subscription: Subscription | FutureSubscription) -> bytes:
    """Write subscription userdata; ``EncodeError`` if the version has no layout or a value does not fit."""
    out = bytearray()
    if isinstance(subscription, FutureSubscription):
        INT32.write(out, subscription.version)
        INT32.write(out, subscription.latest_supported)
        return bytes(out + subscription.rest)
    if subscription.version not in SUBSCRIPTION:
        raise EncodeError(
            f"must be one of {min(SUBSCRIPTION)} to {max(SUBSCRIPTION)}, got {subscription.version!r}", "version"
        )
    write_fields(subscription, SUBSCRIPTION[subscription.version], out)
    return bytes(out + subscription.trailing)


def _at_least(lowest: int, supported: int) -> int:
    # Kafka 2.5 and later refuse a supported version below the used one (IllegalArgumentException), 2.0 to 2.4 did not
    # look, and 2.1 to 2.3 can write 4 with 3. What a release wrote is read; what none could mean is refused.
    if supported < lowest:
        raise BadVersion(f"supported version {supported}, expected {lowest} or more", 4, "latest_supported")
    return supported
