"""Checks of a group as a whole: its type, its state, its size, unreadable members, duplicate process ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from streams_assignor.formats.text import join_names
from streams_assignor.groups.check import GroupView, Match, names_of
from streams_assignor.groups.described_group import (
    CLASSIC,
    CONSUMER,
    CONSUMER_PROTOCOL,
    DEAD,
    DEFAULT_MAX_MESSAGE_BYTES,
    EMPTY,
    NOT_READY,
    REBALANCING,
    STABLE,
    STREAMS,
    UNKNOWN_TYPE,
    WITHOUT_METADATA,
)
from streams_assignor.groups.member import InspectedMember
from streams_assignor.protocol import PROTOCOL_NAME

_WITH_MEMBERS: Final = frozenset({STABLE, NOT_READY, *REBALANCING}) - {*WITHOUT_METADATA}
"""States of a group with at least one member. A rebalance of a classic group may begin with members without an id."""

_SHOWN_TOPICS: Final = 5
_NO_COUNTS: Final = "whether every partition has an owner cannot be told, as the user may not see these topics"
_NO_SETTINGS: Final = (
    "whether every task has its standbys cannot be told, as the user may not see the settings of the group "
    "(DESCRIBE_CONFIGS on it)"
)


def not_described(view: GroupView) -> Iterator[Match]:
    """A group whose members the broker does not show, so that it could have any problem."""
    raw = view.described
    if raw.hides_members:
        yield Match({"error": raw.error})
    elif raw.state in _WITH_MEMBERS and not raw.members:
        yield Match({"state": raw.state})


def partly_described(view: GroupView) -> Iterator[Match]:
    """A group of which only some is shown, so that it could have other problems."""
    raw = view.described
    if raw.error and raw.members:
        yield Match({"error": raw.error})
    if raw.unknown_topics:
        topics = join_names(sorted(raw.unknown_topics), limit=_SHOWN_TOPICS)
        yield Match({"error": f"{_NO_COUNTS} (DESCRIBE on the topics): {topics}"})
    if raw.type == STREAMS and raw.members and raw.broker and raw.broker.configs is None:
        yield Match({"error": _NO_SETTINGS})


def not_ready(view: GroupView) -> Iterator[Match]:
    """A group of KIP-1071 to which the broker assigns no task, because topics do not fit its topology."""
    if view.described.state == NOT_READY:
        yield Match({})


def not_classic(view: GroupView) -> Iterator[Match]:
    """A group of a type that has neither versions nor a target assignment."""
    if view.described.type not in (CLASSIC, CONSUMER, STREAMS, UNKNOWN_TYPE):
        yield Match({"group_type": view.described.type})


def not_streams(view: GroupView) -> Iterator[Match]:
    """A classic group that does not run Kafka Streams."""
    raw = view.described
    if raw.type == CLASSIC and raw.protocol_type not in ("", CONSUMER_PROTOCOL):
        yield Match({"protocol_type": raw.protocol_type})
    elif raw.type == CLASSIC and raw.protocol not in ("", PROTOCOL_NAME):
        yield Match({"protocol": raw.protocol})


def no_online_conversion(view: GroupView) -> Iterator[Match]:
    """Assignments with userdata, with which no coordinator converts a classic group to KIP-848 (KAFKA-18134)."""
    names = names_of([member for member in view.members if member.assignment.has_unread_userdata])
    if names:
        yield Match({"names": names, "protocol": view.described.protocol}, names)


def unsettled(view: GroupView) -> Iterator[Match]:
    """A state in which the assignment is not complete, or there are no members."""
    if view.described.state in (*REBALANCING, EMPTY, DEAD):
        yield Match({"state": view.described.state})


def unreadable(view: GroupView) -> Iterator[Match]:
    """Members whose subscription or assignment cannot be decoded."""
    for member in [member for member in view.members if member.subscription.problem or member.assignment.problem]:
        for problem in filter(None, (member.subscription.problem, member.assignment.problem)):
            yield Match({"name": member.name, "problem": problem}, [member.name])


def same_process(view: GroupView) -> Iterator[Match]:
    """One process id on several hosts."""
    started = [
        (process.int, member) for member in view.members if (process := member.subscription.process_id) is not None
    ]
    if len(dict(started)) == len(started):  # no process has two members
        return
    processes: dict[int, list[InspectedMember]] = defaultdict(list)
    for number, member in started:
        processes[number].append(member)
    for members in processes.values():
        hosts = [*dict.fromkeys([member.described.host for member in members])]
        if len(hosts) > 1:
            names = names_of(sorted(members, key=lambda member: hosts.index(member.described.host)))
            yield Match({"process_id": members[0].subscription.process_id, "hosts": hosts}, names)


def large(view: GroupView) -> Iterator[Match]:
    """More than 50 % of the record size limit, up to 90 %."""
    yield from _metadata_size(view, 0.5, 0.9)


def too_large(view: GroupView) -> Iterator[Match]:
    """More than 90 % of the record size limit."""
    yield from _metadata_size(view, 0.9, float("inf"))


def _metadata_size(view: GroupView, above: float, at_most: float) -> Iterator[Match]:
    if view.described.type != CLASSIC:
        return  # stored in one record per member
    limit = view.described.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES
    if above < view.record_bytes / limit <= at_most:
        yield Match({"size": view.record_bytes, "limit": limit})
