"""Checks of assignments: members without one, tasks and partitions with two owners or none, error codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streams_assignor.groups import standbys
from streams_assignor.groups.broker_assigned.topics import expected_tasks
from streams_assignor.groups.check import GroupView, Match, names_of
from streams_assignor.groups.decoded import in_order
from streams_assignor.groups.described_group import CLASSIC, STABLE
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.rejoin import RejoinCause, unsubscribed_topics

_OWN_FINDING: Final = frozenset({RejoinCause.END_POINT, RejoinCause.NOT_SUBSCRIBED})


def error_code(view: GroupView) -> Iterator[Match]:
    """Error codes that members received or sent."""
    failed = [member for member in view.members if member.assignment.error_code or member.subscription.error_code]
    for member in failed:
        for code, received in ((member.assignment.error_code, True), (member.subscription.error_code, False)):
            if code:
                yield Match({"name": member.name, "code": code, "received": received}, [member.name])


def no_assignment(view: GroupView) -> Iterator[Match]:
    """Members of a stable classic group without an assignment."""
    if view.described.state == STABLE and view.described.type == CLASSIC:
        names = names_of([member for member in view.members if not member.described.assignment])
        if names:
            yield Match({"names": names}, names)


def owned_twice(view: GroupView) -> Iterator[Match]:
    """Active tasks and partitions with more than one owner."""
    for kind, repeated in (
        ("tasks", standbys.tasks_with_multiple_owners(view.members)),
        ("partitions", standbys.partitions_with_multiple_owners(view.members)),
    ):
        texts, owners = [], set[str]()
        for thing, its in repeated:
            texts.append(str(thing))
            owners.update(its)
        if texts:
            yield Match({kind: texts, "owners": sorted(owners)}, sorted(owners))


def end_point_missing(view: GroupView) -> Iterator[Match]:
    """Members whose end point is not among those that the leader has found."""
    for member in view.members:
        if RejoinCause.END_POINT in member.rejoin_causes:
            hosts = sorted(map(str, member.assignment.hosts))
            parameters = {"name": member.name, "end_point": member.subscription.user_end_point, "hosts": hosts}
            yield Match(parameters, [member.name])


def not_subscribed(view: GroupView) -> Iterator[Match]:
    """Members with partitions of topics that they do not subscribe to: the leader runs another topology."""
    for member in view.members:
        if RejoinCause.NOT_SUBSCRIBED in member.rejoin_causes:
            topics = unsubscribed_topics(member.subscription, member.assignment)
            yield Match({"name": member.name, "topics": topics}, [member.name])


def rejoins(view: GroupView) -> Iterator[Match]:
    """Members that rejoin at once for a reason that ends by itself, unless the leader answers them the same again."""
    if view.described.state != STABLE:
        return
    by_causes: dict[tuple[RejoinCause, ...], list[str]] = {}
    for member in view.members:
        if causes := tuple(cause for cause in member.rejoin_causes if cause not in _OWN_FINDING):
            by_causes.setdefault(causes, []).append(member.name)
    for causes, names in by_causes.items():
        yield Match({"names": names, "causes": [cause.value for cause in causes]}, names)


def without_owner(view: GroupView) -> Iterator[Match]:
    """Tasks and partitions without an owner, with no rebalance pending."""
    if not _rebalance_pending(view):
        yield from map(Match, _unassigned(view))


def moving(view: GroupView) -> Iterator[Match]:
    """Tasks and partitions without an owner until a pending rebalance."""
    if _rebalance_pending(view):
        yield from map(Match, _unassigned(view))


def _rebalance_pending(view: GroupView) -> bool:
    return any(member.is_about_to_rejoin for member in view.members)


def _has_assignment(member: InspectedMember) -> bool:
    return bool(member.described.assignment or member.described.broker_assignment)


def _unassigned(view: GroupView) -> Iterator[dict[str, Any]]:
    if view.described.state != STABLE or not any(map(_has_assignment, view.members)):
        return
    tasks = expected_tasks(view.described)
    for member in view.members:
        tasks.update(member.assignment.standbys, member.assignment.warm_ups)
    for member in view.members:
        tasks.difference_update(member.assignment.active)
    if tasks:
        yield {"tasks": [*map(str, in_order(tasks))]}
    if partitions := standbys.unassigned_partitions(view.members, view.described.partition_counts):
        yield {"partitions": [*map(str, partitions)]}
