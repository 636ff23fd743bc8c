"""Findings about a group as a whole: what kind of group it is, its state, its size, and members nobody can read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from assignor.inspect import size
from assignor.inspect.raw import CLASSIC, CONSUMER_PROTOCOL, DEAD, DEFAULT_LIMIT, EMPTY, REBALANCING, STREAM
from assignor.inspect.scene import Said, Scene
from assignor.inspect.standing import listed

_NEWER: Final[Mapping[str, str]] = {
    "consumer": "KIP-848: the broker assigns, and members send no metadata that could be decoded",
    "streams": "KIP-1071: the broker assigns tasks, and members send no metadata that could be decoded",
    "share": "KIP-932, a share group: nothing is assigned for long, and there is no metadata",
}


def not_classic(scene: Scene) -> Iterator[Said]:
    """A group of one of the newer kinds."""
    if scene.raw.type != CLASSIC:
        what = _NEWER.get(scene.raw.type, "members send no metadata that could be decoded")
        yield Said(f"a group of type {scene.raw.type} ({what})")


def not_streams(scene: Scene) -> Iterator[Said]:
    """A group of other members."""
    raw = scene.raw
    if raw.type == CLASSIC and raw.protocol_type not in ("", CONSUMER_PROTOCOL):
        yield Said(f"the protocol type is {raw.protocol_type}, not {CONSUMER_PROTOCOL}: no group of consumers")
    elif raw.protocol not in ("", STREAM):
        yield Said(f"the assignor is {raw.protocol}, not {STREAM}: there are partitions, but no versions and no tasks")


def unsettled(scene: Scene) -> Iterator[Said]:
    """A state in which there is little to see."""
    if scene.raw.state in REBALANCING:
        yield Said(f"it is rebalancing ({scene.raw.state}); the broker shows no bytes meanwhile")
    elif scene.raw.state == EMPTY:
        yield Said("nobody is in it; only its committed offsets are there")
    elif scene.raw.state == DEAD:
        yield Said("it is dead: about to be deleted")


def unreadable(scene: Scene) -> Iterator[Said]:
    """Members whose bytes are something else."""
    for member in scene.members:
        for problem in filter(None, (member.sent.problem, member.got.problem)):
            yield Said(f"{member.name} cannot be read: {problem}", [member.name])


def same_process(scene: Scene) -> Iterator[Said]:
    """One process id in two places."""
    hosts: dict[object, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for member in scene.members:
        if member.sent.process_id is not None:
            hosts[member.sent.process_id][member.raw.host].append(member.name)
    for process, where in hosts.items():
        if len(where) > 1:
            yield Said(
                f"process id {process} is on {len(where)} hosts ({listed(where)}): a state directory was copied?",
                [name for names in where.values() for name in names],
            )


def large(scene: Scene) -> Iterator[Said]:
    """More than half of the limit."""
    if 0.5 < _part_of_limit(scene) <= 0.9:
        yield _size(scene)


def too_large(scene: Scene) -> Iterator[Said]:
    """More than nine tenths of it."""
    if _part_of_limit(scene) > 0.9:
        yield _size(scene)


def _part_of_limit(scene: Scene) -> float:
    return size.group_bytes(scene.raw) / (scene.raw.limit or DEFAULT_LIMIT)


def _size(scene: Scene) -> Said:
    return Said(
        f"metadata of {size.group_bytes(scene.raw):,} bytes, {_part_of_limit(scene):.0%} of what the broker can store "
        "of a group; beyond that no rebalance ends (raise max.message.bytes of __consumer_offsets)"
    )
