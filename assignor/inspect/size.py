"""How large the record is that a broker stores of a group: all subscriptions and assignments in one message.

Java: ``GroupMetadataValue`` in ``__consumer_offsets``. If it is larger than ``max.message.bytes`` of that topic (by
default the broker's ``message.max.bytes``), the broker fails the SyncGroup, so the group rebalances for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from assignor.inspect.raw import RawGroup, RawMember

_BATCH: Final = 61  # header of a batch of records
_RECORD: Final = 20  # lengths, attributes, time and offset of a record, at most
_NUMBERS: Final = 2 + 4 + 8 + 4  # version, generation, time, number of members
_TIMEOUTS: Final = 4 + 4


def member_bytes(member: RawMember) -> int:
    """Count what one member adds."""
    names = (member.member_id, member.instance_id, member.client_id, member.host)
    return _texts(names) + _TIMEOUTS + 4 + len(member.subscription) + 4 + len(member.assignment)


def group_bytes(group: RawGroup) -> int:
    """Count the bytes of the record, within a few: the broker's version of it decides about two bytes per field."""
    leader = max((member.member_id for member in group.members), key=len, default="")
    key = 2 + _texts((group.name,))
    head = _NUMBERS + _texts((group.protocol_type, group.protocol, leader))
    return _BATCH + _RECORD + key + head + sum(map(member_bytes, group.members))


def _texts(texts: Iterable[str | None]) -> int:
    return sum(2 + len((text or "").encode()) for text in texts)
