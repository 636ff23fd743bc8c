"""Checks of groups whose broker assigns (KIP-848, KIP-1071): topics, epochs, reconciliation, standbys, end points.

The first ones are the statuses that a streams group sends to its members (``StreamsGroupHeartbeatResponse.Status``),
found again from a description. ``SHUTDOWN_APPLICATION`` is not part of one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from streams_assignor.codec import TaskId
from streams_assignor.groups.broker_assigned import BrokerAssignment, topics
from streams_assignor.groups.check import GroupView, Match, names_of
from streams_assignor.groups.decoded import in_order
from streams_assignor.groups.described_group import ASSIGNING, CLASSIC, RECONCILING, STABLE
from streams_assignor.groups.member import InspectedMember
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

STANDBYS_KEY: Final = "streams.num.standby.replicas"
"""The setting of a group; Kafka Streams ignores its own ``num.standby.replicas`` with the streams protocol."""

TAGS_KEY: Final = "streams.rack.aware.assignment.tags"
"""Names of the client tags by which brokers of 4.4 and later distribute standbys."""


def missing_source_topics(view: GroupView) -> Iterator[Match]:
    """Source topics that do not exist."""
    if names := topics.missing_source_topics(view.described):
        yield Match({"topics": names})


def missing_internal_topics(view: GroupView) -> Iterator[Match]:
    """Changelog and repartition topics that do not exist, while all source topics do."""
    if names := topics.missing_internal_topics(view.described):
        yield Match({"topics": names})


def incorrectly_partitioned_topics(view: GroupView) -> Iterator[Match]:
    """Internal topics with a wrong number of partitions; source topics that may keep a group from being ready."""
    if wrong := topics.wrong_internal_topics(view.described):
        yield Match({"wrong": wrong})
    for unequal in topics.unequal_source_topics(view.described):
        yield Match({"unequal": unequal})


def stale_topology(view: GroupView) -> Iterator[Match]:
    """Members with an older topology than the group: the broker assigns them nothing that is new."""
    broker = view.described.broker
    if broker is None or broker.topology is None:
        return
    stale: dict[int, list[InspectedMember]] = defaultdict(list)
    for member, assignment in _assigned_by_broker(view):
        if assignment.topology_epoch < broker.topology.epoch:
            stale[assignment.topology_epoch].append(member)
    for epoch, members in stale.items():
        names = names_of(members)
        yield Match({"names": names, "epoch": epoch, "group_epoch": broker.topology.epoch}, names)


def missing_client_tags(view: GroupView) -> Iterator[Match]:
    """Members that do not send each tag of the group's setting, by the tags that they lack."""
    wanted = [tag for part in _setting(view, TAGS_KEY).split(",") if (tag := part.strip())]
    lacking: dict[tuple[str, ...], list[InspectedMember]] = defaultdict(list)
    for member, assignment in _assigned_by_broker(view):
        lacking[tuple(tag for tag in wanted if tag not in assignment.client_tags)].append(member)
    for tags, members in lacking.items():
        if tags:
            names = names_of(members)
            yield Match({"names": names, "tags": tags}, names)


def assignment_delayed(view: GroupView) -> Iterator[Match]:
    """A target assignment that the broker has not computed yet."""
    broker = view.described.broker
    if broker and view.described.state == ASSIGNING:
        yield Match({"epoch": broker.epoch, "assignment_epoch": broker.assignment_epoch})


def unreconciled(view: GroupView) -> Iterator[Match]:
    """Members that have not confirmed the target assignment, or have to revoke what others wait for."""
    if view.described.state != RECONCILING:
        return
    waiting: dict[str, list[str]] = defaultdict(list)
    for name, reconciliation in view.reconciliations.items():
        for holder in reconciliation.waits_for:
            waiting[holder].append(name)
    for name, reconciliation in view.reconciliations.items():
        if (not reconciliation.is_confirmed or waiting[name]) and not reconciliation.is_away:
            things = {
                str(awaited.thing)
                for waiter in waiting[name]
                for awaited in view.reconciliations[waiter].awaited
                if awaited.holders == (name,)
            }
            parameters = {"name": name, "confirmed": reconciliation.is_confirmed, "things": sorted(things)}
            yield Match({**parameters, "waiting": waiting[name]}, [name])


def static_member_away(view: GroupView) -> Iterator[Match]:
    """Static members that have left for a while: nobody works on what they are assigned."""
    for member, assignment in _assigned_by_broker(view):
        if assignment.is_away:
            current = assignment.current
            things = [*map(str, (*current.active, *current.partitions))]
            yield Match({"name": member.name, "things": things}, [member.name])


def too_few_standbys(view: GroupView) -> Iterator[Match]:
    """Tasks with state that have fewer standbys than configured, in a stable group."""
    group = view.described
    wanted = _wanted_standbys(view)
    if not wanted or group.state != STABLE:
        return
    have = Counter[TaskId](task for member in view.members for task in member.assignment.standbys)
    expected = topics.expected_tasks(group, stateful=True)
    few = [task for task in in_order(expected) if have[task] < wanted]
    if few:
        processes = {assignment.process_id for _, assignment in _assigned_by_broker(view)}
        least = min(have[task] for task in few)
        yield Match({"tasks": [*map(str, few)], "wanted": wanted, "least": least, "processes": len(processes)})


def _wanted_standbys(view: GroupView) -> int:
    configured = _setting(view, STANDBYS_KEY)
    try:
        return parse_number(configured) if configured else 0
    except InvalidInput:
        return 0


def _setting(view: GroupView, key: str) -> str:
    """Return a setting of the group; empty if it is not known."""
    broker = view.described.broker
    return (broker.configs or {}).get(key, "") if broker else ""


def without_end_point(view: GroupView) -> Iterator[Match]:
    """Members without ``application.server`` beside members with it: interactive queries do not find their state."""
    streams_members = [member for member, _ in _assigned_by_broker(view)] if view.is_streams_group else []
    without = [member for member in streams_members if not member.subscription.user_end_point]
    if without and len(without) < len(streams_members):
        names = names_of(without)
        yield Match({"names": names}, names)


def classic_members(view: GroupView) -> Iterator[Match]:
    """Members that still speak the classic protocol, in a group that is being migrated to KIP-848."""
    classic = [member for member, assignment in _assigned_by_broker(view) if assignment.is_classic]
    if classic:
        names = names_of(classic)
        yield Match({"names": names}, names)


def _assigned_by_broker(view: GroupView) -> list[tuple[InspectedMember, BrokerAssignment]]:
    """Return the members with what the broker has assigned; none in a classic group."""
    if view.described.type == CLASSIC:
        return []
    return [(member, assigned) for member in view.members if (assigned := member.described.broker_assignment)]
