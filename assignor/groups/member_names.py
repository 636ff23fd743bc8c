"""Names of a member, for programs and for people, from what a broker describes."""

from __future__ import annotations

import re
from typing import Final

from streams_assignor.groups.described_group import DescribedGroupMember

UUID_TEXT: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KAFKA_UUID: Final = re.compile(r"[\w+/-]{22}", re.ASCII)
"""A UUID in base64, of Kafka or librdkafka: the whole member id in groups of KIP-848 and KIP-1071."""
_THREAD: Final = re.compile(r"-StreamThread-(?P<number>[0-9]+)(?:-consumer)?$")
"""Each release from 0.10.0 to 4.4.0 ends the ``client.id`` of the consumer that joins so, and no other client."""


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


def matches(name: str, member: DescribedGroupMember) -> bool:
    """Whether a name is that of a member's process: its host, its instance id or its client id.

    Of both ids the whole text counts, with or without what Kafka Streams adds for a thread, and nothing else: ``pod-1``
    is neither ``pod-10`` nor ``pod-1-canary``.

    >>> matches("pod-1", DescribedGroupMember(member_id="x", client_id="pod-1-StreamThread-1-consumer"))
    True
    >>> matches("pod-1", DescribedGroupMember(member_id="x", client_id="pod-1-canary-StreamThread-1-consumer"))
    False
    """
    return bool(name) and name in process_names(member)


def kept_name(member: DescribedGroupMember) -> str:
    """Return what a process keeps when it restarts: instance id or client id without the thread, else host.

    >>> kept_name(DescribedGroupMember(member_id="x", client_id="pod-1-StreamThread-1-consumer"))
    'pod-1'
    >>> kept_name(DescribedGroupMember(member_id="x", client_id="a-StreamThread-2", group_instance_id="static-2"))
    'static'
    """
    if member.group_instance_id:
        return _without_thread(member.group_instance_id, member.client_id)
    client = _THREAD.sub("", member.client_id)
    return member.host.removeprefix("/") if UUID_TEXT.search(client) or not client else client


def process_names(member: DescribedGroupMember) -> frozenset[str]:
    """Return the names that ``matches`` takes for a member's process."""
    client, instance = member.client_id, member.group_instance_id or ""
    of_threads = _THREAD.sub("", client), _without_thread(instance, client), client.removesuffix("-consumer")
    return frozenset({member.host.removeprefix("/"), client, instance, *of_threads})


def _without_thread(instance_id: str, client_id: str) -> str:
    """Return the instance id of a process: that of a thread ends with the number that its client id has, too."""
    thread = _THREAD.search(client_id)
    return instance_id.removesuffix(f"-{thread['number']}") if thread else instance_id


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
