"""Bytes of a hostile member that cost the most for their size, each in any length, for ``limits``.

``SUBSCRIPTIONS`` and ``ASSIGNMENTS``: a name and a function that returns about so many bytes, a whole consumer-protocol
message. ``TOPICS``: topic metadata.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID
from zlib import crc32

from streams_assignor.codec import Subscription, encode_subscription
from streams_assignor.codec.consumer_protocol import ConsumerSubscription, encode_consumer_subscription
from streams_assignor.upgrade.cluster.features.carried_levels import MAGIC, VERSION

Shape = Callable[[int], bytes]
SHORT: Final = "\u0100".encode()
"""The shortest text that Python stores in the widest way that a userdata can ask for."""
PROCESS: Final = bytes(range(16))


def int32(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)


def text(raw: bytes) -> bytes:
    return len(raw).to_bytes(2, "big") + raw


def distinct(number: int, size: int = 2) -> bytes:
    """Distinct short names that Python stores in the widest way that so few bytes can ask for."""
    return b"".join(bytes([0xC4 + (number >> shift) % 8, 0x80 + (number >> shift + 3) % 64]) for shift in (0, 9, 18))[
        : 2 * size
    ]


def subscription(userdata: bytes, topics: bytes = int32(0), rest: bytes = b"", version: int = 0) -> bytes:
    return version.to_bytes(2, "big") + topics + int32(len(userdata)) + userdata + rest


PLAIN: Final = encode_subscription(Subscription(11, 11, UUID(bytes=PROCESS)))

TAIL: Final = b"\1" + int32(0, 0)
"""The fields after the offset sums of version 11."""


def assignment(userdata: bytes, partitions: bytes = int32(0)) -> bytes:
    return bytes(2) + partitions + int32(len(userdata)) + userdata


def levels(size: int) -> bytes:
    """One entry for each four bytes, with a right sum."""
    entries = b"".join(b"\3" + number.to_bytes(3, "big") + b"\0\1" for number in range(size // 6))
    whole = MAGIC + VERSION + int32(len(entries)) + entries
    return whole + crc32(whole).to_bytes(4, "big")


def rows(size: int, row: Callable[[int], bytes]) -> bytes:
    """A count and its rows: about ``size`` bytes."""
    count = size // len(row(0))
    return int32(count) + b"".join(map(row, range(count)))


def end_point(size: int) -> bytes:
    """An end point with a host of so many characters; a leader ignores one of more than 65,535."""
    return encode_consumer_subscription(
        ConsumerSubscription(("a",), encode_subscription(Subscription(10, 11, UUID(int=9), (), (), "h" * size + ":1")))
    )


def v(version: int, rest: bytes) -> bytes:
    return int32(version, 11) + PROCESS + rest


SUBSCRIPTIONS: Final[dict[str, Shape]] = {
    "levels": lambda size: subscription(PLAIN + levels(size)),
    "long end point": lambda size: end_point(max(size, 65_536)),
    "zeros behind": lambda size: subscription(PLAIN + bytes(size)),
    "zeros behind the envelope": lambda size: subscription(PLAIN, rest=bytes(size)),
    "one topic, many times": lambda size: subscription(PLAIN, rows(size, lambda _: text(b"\xff"))),
    "distinct topics": lambda size: subscription(PLAIN, rows(size, lambda each: text(distinct(each)))),
    "distinct topics of two bytes": lambda size: subscription(
        PLAIN, rows(size, lambda each: text(bytes([0x80 + each % 128, 0x80 + each // 128 % 64])))
    ),
    "topics without owned partitions": lambda size: subscription(
        PLAIN, rest=rows(size, lambda _: text(b"\xff") + int32(0)), version=1
    ),
    "owned partitions of short topics": lambda size: subscription(
        PLAIN, rest=rows(size, lambda each: text(b"\xff") + int32(1, each + 999)), version=1
    ),
    "owned partitions of one long topic": lambda size: subscription(
        PLAIN,
        rest=int32(1) + text(bytes(min(size // 10, 32_767))) + rows(size * 9 // 10, lambda each: int32(each)),
        version=1,
    ),
    "owned partitions of one topic": lambda size: subscription(
        PLAIN, rest=int32(1) + text(b"orders") + rows(size, lambda each: int32(each + 999)), version=1
    ),
    "owned partitions of many topics": lambda size: subscription(
        PLAIN, rest=rows(size, lambda each: text(distinct(each)) + int32(1, each + 999)), version=1
    ),
    "tasks, version 2": lambda size: subscription(
        int32(2) + PROCESS + rows(size, lambda each: int32(each % 999, each)) + int32(0, 0)
    ),
    "tasks, version 6": lambda size: subscription(
        v(6, int32(0) + rows(size, lambda each: int32(each % 999, each)) + int32(0))
    ),
    "tasks of the process of another member, version 6": lambda size: subscription(
        int32(6, 11)
        + UUID(int=10**6).bytes
        + rows(size // 2, lambda each: int32(each % 999, each))
        + rows(size // 2, lambda each: int32(each % 997, each))
        + int32(0)
    ),
    "tasks, version 6, cut off": lambda size: subscription(
        v(6, int32(0) + rows(size, lambda each: int32(each + 999, each + 999)) + int32(1))
    ),
    "sums, version 8": lambda size: subscription(
        v(8, int32(0, 1, 7) + rows(size, lambda each: int32(each, 9, each)) + b"\1" + int32(0))
    ),
    "groups of sums, version 8": lambda size: subscription(
        v(8, int32(0) + rows(size, lambda each: int32(each, 1, each + 999, 9, each)) + b"\1" + int32(0))
    ),
    "sums, version 11": lambda size: subscription(
        v(
            11,
            int32(0) + rows(size, lambda each: int32(each + 999, each + 999, 9, each) + b"\xff\xff") + b"\1" + bytes(8),
        )
    ),
    "named sums, version 11": lambda size: subscription(
        v(
            11,
            int32(0)
            + rows(size, lambda each: int32(each, each + 999, 9, each) + text(distinct(each)))
            + b"\1"
            + bytes(8),
        )
    ),
    "sums with short names, version 11": lambda size: subscription(
        v(11, int32(0) + rows(size, lambda each: int32(each, each + 999, 9, each) + text(b"\xff")) + b"\1" + bytes(8))
    ),
    "short tags, version 11": lambda size: subscription(
        v(11, int32(0, 0) + b"\1" + int32(0) + rows(size, lambda _: 2 * (int32(1) + b"\xff")))
    ),
    "the most tags, version 11": lambda _: subscription(
        v(11, int32(0, 0) + b"\1" + int32(0) + rows(2560, lambda _: 2 * (int32(1) + b"\xff")))
    ),
    "tags, version 11": lambda size: subscription(
        v(11, int32(0, 0) + b"\1" + int32(0) + rows(size, lambda each: 2 * (int32(4) + distinct(each))))
    ),
}
"""Of a hostile member; the leader reads them, and a tool that describes the group."""

ASSIGNMENTS: Final[dict[str, Shape]] = {
    "levels": lambda size: assignment(int32(11, 11, 0, 0, 0, 0, 0, 0) + int32(0, 0) + levels(size)),
    "tasks": lambda size: assignment(
        int32(6, 11) + rows(size * 2 // 3, lambda each: int32(each % 999, each)) + bytes(20),
        int32(1) + text(b"orders") + rows(size // 3, lambda each: int32(each)),
    ),
    "tasks with state": lambda size: assignment(
        int32(6, 11) + rows(size * 2 // 3, lambda each: int32(0, each)) + bytes(20),
        int32(1) + text(b"orders") + rows(size // 3, lambda each: int32(each)),
    ),
    "tasks with state and a name, version 11": lambda size: assignment(
        int32(11, 11) + rows(size // 18 * 14, lambda each: int32(0, each, 1) + b"\1\0") + bytes(28),
        int32(1) + text(b"orders") + rows(size // 18 * 4, lambda each: int32(each)),
    ),
    "tasks only": lambda size: assignment(int32(6, 11) + rows(size, lambda each: int32(0, each)) + bytes(20)),
    "tasks of many topics": lambda size: assignment(
        int32(6, 11) + rows(size // 22 * 8, lambda each: int32(each % 999, each)) + bytes(20),
        rows(size // 22 * 14, lambda each: text(distinct(each)) + int32(1, each)),
    ),
    "partitions of many topics": lambda size: assignment(
        int32(6, 11) + bytes(24), rows(size, lambda each: text(distinct(each)) + int32(1, each))
    ),
    "partitions of short topics": lambda size: assignment(
        int32(6, 11) + bytes(24), rows(size, lambda each: text(b"\xff") + int32(1, each))
    ),
    "partitions of one topic": lambda size: assignment(
        int32(6, 11) + bytes(24), int32(1) + text(b"orders") + rows(size, lambda each: int32(each))
    ),
    "partitions of one topic, twice": lambda size: assignment(
        int32(6, 11) + bytes(24), int32(1) + text(b"orders") + rows(size, lambda each: int32(each // 2))
    ),
    "standbys with state and one partition, version 4": lambda size: assignment(
        int32(4, 11, 0) + rows(size, lambda each: int32(0, each, 1) + text(SHORT) + int32(each)) + bytes(12)
    ),
    "standbys, version 4": lambda size: assignment(
        int32(4, 11, 0) + rows(size, lambda each: int32(each, each + 999, 0)) + bytes(12)
    ),
    "standbys with partitions, version 4": lambda size: assignment(
        int32(4, 11, 0, 1, 0, 0) + rows(size, lambda each: text(distinct(each)) + int32(each)) + bytes(12)
    ),
    "hosts, version 4": lambda size: assignment(
        int32(4, 11, 0, 0) + rows(size, lambda each: text(distinct(each)) + int32(each, 0)) + bytes(8)
    ),
    "partitions of a host, version 4": lambda size: assignment(
        int32(4, 11, 0, 0, 1) + text(b"h") + int32(80) + rows(size, lambda each: text(distinct(each)) + int32(each))
        + bytes(8)
    ),
    "dictionary, version 6": lambda size: assignment(
        int32(6, 11, 0, 0) + rows(size, lambda each: int32(each) + text(distinct(each))) + bytes(16)
    ),
    "standbys with partitions of short topics, version 4": lambda size: assignment(
        int32(4, 11, 0, 1, 0, 0) + rows(size, lambda each: text(SHORT) + int32(each)) + bytes(12)
    ),
    "short hosts, version 4": lambda size: assignment(
        int32(4, 11, 0, 0) + rows(size, lambda each: text(SHORT) + int32(each, 0)) + bytes(8)
    ),
    "dictionary of short topics, version 6": lambda size: assignment(
        int32(6, 11, 0, 0) + rows(size, lambda each: int32(each) + text(SHORT)) + bytes(16)
    ),
    "hosts, version 6": lambda size: assignment(
        int32(6, 11, 0, 0, 0) + rows(size, lambda each: text(distinct(each)) + int32(each, 0)) + bytes(12)
    ),
    "partitions of a host, version 6": lambda size: assignment(
        int32(6, 11, 0, 0, 1, 7) + text(b"a") + int32(1) + text(b"h") + int32(80)
        + rows(size, lambda each: int32(7, each + 999)) + bytes(12)
    ),
}  # fmt: skip
"""Of a hostile leader; the followers read them, and a tool that describes the group."""
