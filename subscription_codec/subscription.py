"""Subscription userdata: what each member sends the leader with JoinGroup. Java: ``SubscriptionInfo``."""

from __future__ import annotations

from subscription_codec._driver import (
    as_bytes,
    layout_of,
    nothing_behind,
    read_number,
    read_record,
    unknown_version,
    write_future,
    write_record,
)
from subscription_codec._wire import Reader
from subscription_codec.errors import BadVersion, FutureVersion
from subscription_codec.layout import SUBSCRIPTION
from subscription_codec.quirks import as_written_by
from subscription_codec.records import FutureSubscription, Subscription
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, LATEST_SUPPORTED_VERSION


def decode_subscription(
    userdata: bytes | None, *, supported: int = LATEST_SUPPORTED_VERSION, strict: bool = False
) -> Subscription | FutureSubscription:
    r"""Read subscription userdata as a member whose latest supported version is ``supported`` does.

    A version above ``supported`` gives a ``FutureSubscription``: like Kafka since 2.0 it reads the two version
    numbers and nothing behind them; a reader of before 2.0 (``supported`` below 3) cannot, and raises
    ``FutureVersion``. Raises ``DecodeError`` for everything that is not a subscription; bytes behind
    the last field are kept in ``trailing``, as every Kafka decoder ignores them, or refused if ``strict``.

    >>> decode_subscription(bytes.fromhex("0000000c0000000dcafe"))
    FutureSubscription(version=12, latest_supported=13, rest=b'\xca\xfe')
    """
    data = userdata if type(userdata) is bytes else as_bytes(userdata)
    version = int.from_bytes(data[:4], "big", signed=True)
    layout = SUBSCRIPTION.get(version) if version <= supported else None
    if layout is None:
        return _from_the_future(data, supported)
    record: Subscription = read_record(data, layout, version)
    if version >= EARLIEST_PROBEABLE_VERSION > record.latest_supported:
        _at_least(EARLIEST_PROBEABLE_VERSION, record.latest_supported)
    if strict:
        nothing_behind(record, len(data))
    return record


def encode_subscription(subscription: Subscription | FutureSubscription, *, as_release: str | None = None) -> bytes:
    """Write subscription userdata; ``EncodeError`` if the version has no layout or a value does not fit.

    ``as_release`` (``"1.1.1"``) writes what that release of Kafka would have written, see ``quirks``.
    """
    if isinstance(subscription, FutureSubscription):
        return write_future(subscription)
    layout = layout_of(subscription.version, SUBSCRIPTION)
    if as_release is not None:
        subscription = as_written_by(as_release, subscription)
    return write_record(subscription, layout)


def _from_the_future(data: bytes, supported: int) -> FutureSubscription:
    reader = Reader(data)
    version = unknown_version(reader)
    if supported < EARLIEST_PROBEABLE_VERSION:
        raise FutureVersion(f"unable to decode subscription data: version={version}", 0, "version")
    latest = _at_least(version, read_number(reader, "latest_supported"))
    return FutureSubscription(version, latest, reader.rest())


def _at_least(lowest: int, supported: int) -> int:
    # Kafka 2.5 and later refuse a supported version below the used one (IllegalArgumentException), 2.0 to 2.4 did not
    # look, and 2.1 to 2.3 can write 4 with 3. What a release wrote is read; what none could mean is refused.
    if supported < lowest:
        raise BadVersion(f"supported version {supported}, expected {lowest} or more", 4, "latest_supported")
    return supported
