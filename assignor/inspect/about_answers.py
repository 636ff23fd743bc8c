"""Findings about answers: who was left out, tasks and partitions with two owners or none, error codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from assignor.inspect import copies
from assignor.inspect.member import Member, task_order
from assignor.inspect.raw import STABLE
from assignor.inspect.scene import Said, Scene, names
from assignor.inspect.standing import listed
from subscription_codec import EARLIEST_PROBEABLE_VERSION, TaskId, TopicPartition

T = TypeVar("T")

_ERRORS: Final[Mapping[int, str]] = {
    1: "a source topic is missing (1)",
    2: "version probing (2)",
    3: "the assignment failed (3)",
    4: "somebody asked all to shut down (4)",
}


def errors(scene: Scene) -> Iterator[Said]:
    """Error codes, both ways."""
    for member in scene.members:
        for what, code in (("was answered", member.got.error_code), ("sent", member.sent.error_code)):
            if code:
                said = _ERRORS.get(code, f"{code}, which nobody knows")
                yield Said(f"{member.name} {what} an error: {said}", [member.name])


def no_assignment(scene: Scene) -> Iterator[Said]:
    """Members without an answer."""
    if scene.raw.state == STABLE:
        without = [member for member in scene.members if not member.raw.assignment]
        if without:
            yield Said(f"the leader left out {names(without)}", [member.name for member in without])


def owned_twice(scene: Scene) -> Iterator[Said]:
    """What two members have."""
    tasks = _doubled(copies.owners(scene.members))
    if tasks:
        yield Said(f"{_tasks(tasks)} active twice, at {listed(_holders(tasks))}", _holders(tasks))
    partitions = _doubled(copies.owners_of_partitions(scene.members))
    if partitions:
        yield Said(f"{_partitions(partitions)} assigned twice, to {listed(_holders(partitions))}", _holders(partitions))


def _doubled(owners: Mapping[T, tuple[str, ...]]) -> Mapping[T, tuple[str, ...]]:
    return {thing: holders for thing, holders in owners.items() if len(holders) > 1}


def _holders(owners: Mapping[T, tuple[str, ...]]) -> list[str]:
    return sorted({name for holders in owners.values() for name in holders})


def owned_by_nobody(scene: Scene) -> Iterator[Said]:
    """What nobody has, and nobody will soon."""
    if not _soon(scene):
        yield from map(Said, _nobodys(scene))


def moving(scene: Scene) -> Iterator[Said]:
    """What nobody has as yet."""
    if _soon(scene):
        for text in _nobodys(scene):
            yield Said(f"{text} as yet: being moved, a rebalance follows at once")


def _soon(scene: Scene) -> bool:
    return any(map(_comes_back, scene.members))


def _comes_back(member: Member) -> bool:
    """Say whether a member is about to rejoin: it is asked to, its version changes, or it has to give up partitions."""
    sent, got = member.sent, member.got
    if got.next_rebalance_ms == 0 or not {*sent.owned} <= {*got.partitions}:
        return True
    used, version = sent.used or 0, got.version or 0
    return version >= EARLIEST_PROBEABLE_VERSION and (version < used or (got.supported or 0) > used)


def _nobodys(scene: Scene) -> list[str]:
    if scene.raw.state != STABLE or not any(member.raw.assignment for member in scene.members):
        return []
    active = copies.owners(scene.members)
    tasks = {task for member in scene.members for task in member.got.standbys if task not in active}
    partitions = copies.ownerless(scene.members, scene.raw.partitions)
    return [
        *([f"{_tasks(tasks)} active nowhere"] if tasks else []),
        *([f"{_partitions(partitions)} assigned to nobody"] if partitions else []),
    ]


def _tasks(tasks: Iterable[TaskId]) -> str:
    found = sorted(tasks, key=task_order)
    return f"task {found[0]} is" if len(found) == 1 else f"tasks {listed(found)} are"


def _partitions(partitions: Iterable[TopicPartition]) -> str:
    found = list(map(str, partitions))
    return f"partition {found[0]} is" if len(found) == 1 else f"partitions {listed(found)} are"
