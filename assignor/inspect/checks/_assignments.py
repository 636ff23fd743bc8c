"""Checks of assignments: members without one, tasks and partitions with two owners or none, error codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from assignor.inspect import standbys
from assignor.inspect.check import GroupView, Match, names_of
from assignor.inspect.described_group import CLASSIC, STABLE
from assignor.inspect.member import InspectedMember, in_order

T = TypeVar("T")


def error_codes(view: GroupView) -> Iterator[Match]:
    """Error codes that members received or sent."""
    for member in view.members:
        for code, received in ((member.assignment.error_code, True), (member.subscription.error_code, False)):
            if code:
                yield Match({"name": member.name, "code": code, "received": received}, [member.name])


def missing_assignment(view: GroupView) -> Iterator[Match]:
    """Members of a stable classic group without an assignment."""
    if view.described_group.state == STABLE and view.described_group.type == CLASSIC:
        names = names_of([member for member in view.members if not member.described.assignment])
        if names:
            yield Match({"names": names}, names)


def multiple_owners(view: GroupView) -> Iterator[Match]:
    """Active tasks and partitions with more than one owner."""
    if tasks := _with_multiple_owners(standbys.owners_by_task(view.members)):
        names = in_order(tasks)
        owners = _owner_names(tasks)
        yield Match({"tasks": [*map(str, names)], "owners": owners}, owners)
    partitions, found = [], set[str]()
    for partition, its in standbys.partitions_with_multiple_owners(view.members):
        partitions.append(str(partition))
        found.update(its)
    if partitions:
        yield Match({"partitions": partitions, "owners": sorted(found)}, sorted(found))


def _with_multiple_owners(owners: Mapping[T, tuple[str, ...]]) -> Mapping[T, tuple[str, ...]]:
    return {thing: names for thing, names in owners.items() if len(names) > 1}


def _owner_names(owners: Mapping[T, tuple[str, ...]]) -> list[str]:
    return sorted({name for names in owners.values() for name in names})


def unassigned(view: GroupView) -> Iterator[Match]:
    """Tasks and partitions without an owner, with no rebalance pending."""
    if not _rebalance_pending(view):
        yield from map(Match, _unassigned(view))


def being_moved(view: GroupView) -> Iterator[Match]:
    """Tasks and partitions without an owner until a pending rebalance."""
    if _rebalance_pending(view):
        yield from map(Match, _unassigned(view))


def _rebalance_pending(view: GroupView) -> bool:
    return any(member.is_about_to_rejoin for member in view.members)


def _has_assignment(member: InspectedMember) -> bool:
    return bool(member.described.assignment or member.described.broker_assignment)


def _unassigned(view: GroupView) -> Iterator[dict[str, Any]]:
    if view.described_group.state != STABLE or not any(map(_has_assignment, view.members)):
        return
    active = standbys.owners_by_task(view.members)
    replicas = (chain(member.assignment.standbys, member.assignment.warm_ups) for member in view.members)
    if tasks := {task for task in chain.from_iterable(replicas) if task not in active}:
        yield {"tasks": [*map(str, in_order(tasks))]}
    if partitions := standbys.unassigned_partitions(view.members, view.described_group.partition_counts):
        yield {"partitions": [*map(str, partitions)]}
