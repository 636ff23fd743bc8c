"""Names of a member, for programs and for people, from what a broker describes."""

from __future__ import annotations

import re
from typing import Final

from assignor.groups.described_group import DescribedGroupMember

UUID_TEXT: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KAFKA_UUID: Final = re.compile(r"[\w+/-]{22}", re.ASCII)
"""A UUID in base64, of Kafka or librdkafka: the whole member id in groups of KIP-848 and KIP-1071."""


def member_name(raw: DescribedGroupMember) -> str:
    """Return the instance id, the beginning of the broker's UUID, or the member id."""
    return raw.group_instance_id or short_name(raw.member_id)


def shorten_uuids(text: str) -> str:
    """Shorten each UUID to its first eight digits.

    >>> shorten_uuids("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer")
    'app-a6cdcd8c…-StreamThread-1-consumer'
    """
    return UUID_TEXT.sub(r"\1…", text)


def short_name(member_id: str) -> str:
    """Return the beginning of the last UUID in a member id; the member id if it has none.

    >>> short_name("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11"), short_name("D0mU8HO4RSaQvoRUEoWQnQ")
    ('a6cdcd8c', 'D0mU8HO4')
    """
    if _KAFKA_UUID.fullmatch(member_id):
        return member_id[:8]
    uuids = UUID_TEXT.findall(member_id)
    return str(uuids[-1]) if uuids else member_id


def place_of(member: DescribedGroupMember) -> str:
    """Return what a member keeps when its process is restarted: instance id or client id, and host.

    A client id may contain the process id, which is new without a state directory.

    >>> client = "app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer"
    >>> place_of(DescribedGroupMember(member_id="x", client_id=client, host="/10.0.0.1"))
    'app-…-StreamThread-1 (10.0.0.1)'
    """
    client = member.group_instance_id or UUID_TEXT.sub("…", member.client_id.removesuffix("-consumer"))
    return f"{client} ({host})" if (host := member.host.removeprefix("/")) else client


def member_label(member: DescribedGroupMember, uuid: str = "") -> str:
    """Name a member for people; ``uuid`` stands in the place of that in its member id.

    >>> member_label(DescribedGroupMember(member_id="D0mU8HO4RSaQvoRUEoWQnQ", client_id="a-consumer", host="/10.0.0.1"))
    'a (10.0.0.1, D0mU8HO4)'
    """
    own_name = short_name(member.member_id)
    client = member.group_instance_id or shorten_uuids(member.client_id.removesuffix("-consumer")) or own_name
    shown = uuid or ("" if member.group_instance_id or client == own_name else own_name)
    beside = ", ".join(filter(None, (member.host.removeprefix("/"), shown)))
    return f"{client} ({beside})" if beside else client
