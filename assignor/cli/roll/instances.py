"""The instances of a roll: those of a file, or those that a live group shows, and the members of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.formats.text import join_names
from streams_assignor.groups import DescribedGroupMember, InspectedGroup, InspectedMember, member_label
from streams_assignor.groups.member_names import kept_name, process_names
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.input_values import InvalidInput, read_text
from streams_assignor.upgrade.roll.plan import RollInstance, RollPlan

_MOST: Final = 10_000
NOBODY: Final[Mapping[str, RollInstance]] = {}


class InstancesError(UpgradeError):
    """The instances are not known; the message says why."""


@frozen
class InstanceNames:
    """The instances by name, and how the group shows each: as ``group --restarted`` takes it."""

    shown: Mapping[str, str] = field(hash=False)
    _names: Mapping[str, str] = field(init=False, eq=False)
    """By what the group shows: a group of thousands is looked at again and again."""

    @_names.default
    def _by_shown(self) -> Mapping[str, str]:
        return {shown: name for name, shown in sorted(self.shown.items()) if shown}

    def of(self, member: DescribedGroupMember) -> str:
        """Return the instance of a member, by an id before a host, and the longest one; empty if it belongs to none."""
        host = member.host.removeprefix("/")
        shown = self._names.keys() & process_names(member)
        fitting = [(word != host, len(word), self._names[word]) for word in shown]
        return max(fitting)[-1] if fitting else ""

    def instances(self, group: InspectedGroup, away: Mapping[str, RollInstance] = NOBODY) -> tuple[RollInstance, ...]:
        """Return the instances with the number of their members; of those that may be away, the one that is known.

        Raises:
            InstancesError: A member belongs to no instance, or an instance has none.
        """
        members: dict[str, list[InspectedMember]] = defaultdict(list)
        for member in group.members:
            members[self.of(member.described)].append(member)
        if strangers := [member_label(member.described) for member in members[""]]:
            raise InstancesError(
                f"expected members of {join_names(self.shown)} in the group, got {join_names(strangers)}"
            )
        if absent := [name for name in self.shown if not members[name] and name not in away]:
            raise InstancesError(f"no member of the group is {join_names(absent)}: expected all instances to run")
        for name in self.shown:
            if name not in away and len(processes := processes_of(members[name], self, name)) > 1:
                raise InstancesError(
                    f"{name} is {len(processes)} processes of the group, expected one: one that has failed is counted "
                    "until its session times out, so look again later, or give --instances FILE"
                )
        sizes = {name: len(members[name]) for name in self.shown} | {name: each.members for name, each in away.items()}
        return tuple(
            RollInstance(name, sizes[name], "" if shown == name else shown) for name, shown in self.shown.items()
        )


def names_of(instances: Iterable[RollInstance]) -> InstanceNames:
    """Return the names of a plan."""
    return InstanceNames({instance.name: instance.shown or instance.name for instance in instances})


def names_of_now(plan: RollPlan, group: InspectedGroup, away: Mapping[str, RollInstance]) -> InstanceNames:
    """Name the instances of a plan that are there or may be away, and those that have come."""
    names = names_of(plan.instances)
    of_members = [(names.of(member.described), member) for member in group.members]
    there = {name for name, _ in of_members}
    kept = names_of(each for each in plan.instances if each.name in there or each.name in away)
    new = seen_instances(evolve(group, members=tuple(member for name, member in of_members if not name)))
    if twice := sorted(new.shown.keys() & kept.shown.keys()):
        raise InstancesError(f"{join_names(twice)} would be the name of several instances: give --instances FILE")
    return InstanceNames({**kept.shown, **new.shown})


def read_instances(path: Path) -> InstanceNames:
    """Read a file: a line for each instance, its name and, if the group shows it by another one, that."""
    shown: dict[str, str] = {}
    try:
        lines = read_text(path, "utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, InvalidInput) as error:
        raise InstancesError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 2 or words[0] in shown or len(shown) >= _MOST:
            raise InstancesError(
                f"{path}, line {number}: expected a new NAME and at most one word that the group shows, and at most "
                f"{_MOST:,} of them, got {line.strip()!r}"
            )
        shown[words[0]] = words[-1]
    if not shown:
        raise InstancesError(f"{path}: expected a line for each instance, got none")
    return InstanceNames(shown)


def seen_instances(group: InspectedGroup) -> InstanceNames:
    """Name the instances of a group by what they keep: instance id or client id without the thread, else host.

    Raises:
        InstancesError: The metadata of members does not tell them apart.
    """
    processes: dict[object, list[InspectedMember]] = defaultdict(list)
    for member in group.members:
        processes[member.subscription.process_id or member.described.member_id].append(member)
    names = [kept_name(threads[0].described) for threads in processes.values()]
    if not all(names) or len({*names}) < len(names):
        labels = join_names(sorted({member.label for member in group.members}))
        raise InstancesError(
            f"cannot name the instances by what they keep when they restart (group.instance.id, client.id or host): "
            f"{labels}; give --instances FILE"
        )
    return InstanceNames({name: name for name in sorted(names, key=_natural)})


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which pod-2 comes before pod-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def processes_of(members: Iterable[InspectedMember], names: InstanceNames, instance: str) -> list[str]:
    """Return the process ids of an instance."""
    ids = {str(member.subscription.process_id) for member in members if names.of(member.described) == instance}
    return sorted(ids)
