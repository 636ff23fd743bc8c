"""Size of the record that a broker stores of a group: all subscriptions and assignments in one message.

Java: ``GroupMetadataValue`` in ``__consumer_offsets``. If it is larger than ``max.message.bytes`` of that topic (by
default the broker's ``message.max.bytes``), the broker fails the SyncGroup, so the group rebalances forever.
"""

from __future__ import annotations

from typing import Final

from streams_assignor.groups.described_group import DescribedGroup, DescribedGroupMember

_BATCH: Final = 61  # header of a batch of records
_RECORD: Final = 20  # lengths, attributes, time and offset of a record, at most
_FIXED_FIELDS: Final = 2 + 4 + 8 + 4  # version, generation, time, number of members
_TIMEOUTS: Final = 4 + 4


def member_record_bytes(*members: DescribedGroupMember) -> int:
    """Return the bytes that members add."""
    texts = [f"{member.member_id}{member.group_instance_id or ''}{member.client_id}{member.host}" for member in members]
    metadata = sum([len(member.subscription) + len(member.assignment) for member in members])
    return len(members) * (_TIMEOUTS + 4 + 4 + 4 * 2) + len(_encoded(*texts)) + metadata


def group_record_bytes(group: DescribedGroup) -> int:
    """Return the size in bytes, correct within a few: up to two bytes per field depend on the broker's version."""
    leader = max([member.member_id for member in group.members], key=len, default="")
    key = 2 + 2 + len(_encoded(group.name))
    head = _FIXED_FIELDS + 3 * 2 + len(_encoded(group.protocol_type, group.protocol, leader))
    return _BATCH + _RECORD + key + head + member_record_bytes(*group.members)


def _encoded(*texts: str) -> bytes:
    return "".join(texts).encode("utf-8", "surrogateescape")
