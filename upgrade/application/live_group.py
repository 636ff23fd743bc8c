"""A live group beside a plan: which release its members run, and what else the plan depends on.

It is pure: a command reads the cluster and passes what it found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import ApplicationTopology, GroupFacts
from streams_assignor.upgrade.releases import Release, ResolvedRelease

_MOST_SHOWN: Final = 5


@frozen
class LiveMember:
    """A member as far as its broker shows it."""

    label: str
    """Its name for people."""
    releases: tuple[Release, ...]
    """Those that it can run, oldest first; none: it cannot be told."""
    shown: str = ""
    """They in words, or why they cannot be told."""
    instance_id: str | None = None

    def origins(self, target: ResolvedRelease) -> tuple[Release, ...]:
        """Return what it may run before an upgrade: older releases than the target, else that one, else all.

        Those of Kafka, if one is.
        """
        releases = tuple(release for release in self.releases if release.kafka_name) or self.releases
        newest = target.candidates[-1].known_number
        older = tuple(release for release in releases if release.known_number < newest)
        return older or tuple(release for release in releases if release.known_number == newest) or releases

    def runs(self, target: ResolvedRelease) -> bool:
        """Whether it is shown to run a release, and no other one."""
        return bool(self.releases) and {*self.origins(target)} <= {*target.candidates}

    def may_run(self, target: ResolvedRelease) -> bool:
        """Whether it can be one of the releases that a spelling stands for."""
        return not {*self.releases}.isdisjoint(target.candidates)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "label": self.label,
            "releases": self.shown if self.releases else None,
            "problem": None if self.releases else self.shown,
            "group_instance_id": self.instance_id,
        }


@frozen
class LiveBroker:
    """A broker and its features."""

    number: int
    line: tuple[int, ...] | None
    """The release of which it has the features; None: it has no ``metadata.version``."""
    levels: Mapping[str, int] | None = field(hash=False)
    """The finalized features; None: it does not know them now."""

    @property
    def text(self) -> str:
        """Its release and levels."""
        release = ".".join(map(str, self.line)) if self.line else "a release before 3.3, or with ZooKeeper"
        if self.levels is None:
            return f"features of {release}, finalized levels not known now"
        levels = ", ".join(f"{name} {level}" for name, level in sorted(self.levels.items()))
        return f"features of {release}, finalized: {levels or 'none'}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        line = ".".join(map(str, self.line)) if self.line else None
        return {"broker": self.number, "release": line, "finalized": None if self.levels is None else {**self.levels}}


@frozen(kw_only=True)
class LiveGroup:
    """The view of a group in its cluster."""

    name: str
    type: str
    """``classic``, ``streams``, or another type of Kafka."""
    state: str
    members: tuple[LiveMember, ...] = ()
    tasks: int = 0
    standbys: int = 0
    """The most standby replicas of a task."""
    processes: int = 0
    """The processes of its members, as far as they show them."""
    partitions: Mapping[str, int] = field(factory=dict, hash=False)
    """Of each topic that it reads."""
    missing_topics: tuple[str, ...] = ()
    brokers: tuple[LiveBroker, ...] = ()
    unknown_brokers: str = ""
    """Why the brokers are not known."""
    subtopologies: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    """The topics that each subtopology reads, of a group whose broker has them."""

    topology: ApplicationTopology | None = None
    """The nodes of its topology, if its broker has them and all members have that topology."""
    protocol: str = ""
    """The name of the assignor; empty unless a classic group is stable."""
    protocol_type: str = ""
    """Of a classic group: ``consumer``, or that of other clients."""
    standby_tasks: int = 0
    """Tasks with a standby that is no warm-up."""
    warm_ups: int = 0
    classic: tuple[str, ...] = ()
    """Of a group of the consumer protocol: the members that are classic still."""
    userdata: tuple[str, ...] = ()
    """The members whose assignments have userdata that is not of Kafka Streams."""
    error: str = ""
    """Why it is not described."""

    @property
    def is_streams_group(self) -> bool:
        """Whether brokers assign its tasks (KIP-1071)."""
        return self.type == "streams"

    @property
    def static(self) -> tuple[str, ...]:
        """The instance ids."""
        return tuple(sorted(member.instance_id for member in self.members if member.instance_id))

    @property
    def facts(self) -> GroupFacts:
        """The facts for the conditions of hazards."""
        lines = [broker.line for broker in self.brokers if broker.line]
        return GroupFacts(
            self.name,
            has_static_members=bool(self.static) if self.members else None,
            lacks_topics=bool(self.missing_topics) if self.partitions or self.missing_topics else None,
            has_standbys=bool(self.standbys) if self.standbys or self.processes > 1 else None,  # one has no room
            is_streams_group=self.is_streams_group if self.members or self.is_streams_group else None,
            brokers=(min(lines), max(lines)) if lines and len(lines) == len(self.brokers) else None,
        )

    @property
    def unknown(self) -> tuple[LiveMember, ...]:
        """The members whose release cannot be told."""
        return tuple(member for member in self.members if not member.releases)

    @property
    def common_releases(self) -> tuple[Release, ...]:
        """The releases that all members of which something is known can run: of Kafka, if one is."""
        possible = [member.releases for member in self.members if member.releases]
        common = [
            release for release in (possible[0] if possible else ()) if all(release in others for others in possible)
        ]
        return tuple(release for release in common if release.kafka_name) or tuple(common)

    @property
    def is_mixed(self) -> bool:
        """Whether no release explains all members."""
        return len(self.unknown) < len(self.members) and not self.common_releases

    def origin(self, target: ResolvedRelease) -> ResolvedRelease:
        """Return the releases that the members run, of each of them those that are older than the target, if any.

        Raises:
            UpgradeError: It cannot be told of any member; or of some, and all others run the target already.
        """
        known = [member for member in self.members if member.releases]
        behind = self.not_on(target)
        if not any(member.releases for member in behind or known):
            why = behind[0].shown if behind else "it has no members"
            of = f"{listed([member.label for member in behind])} in " if known else ""
            raise UpgradeError(
                f"cannot tell the release of {of}group {self.name}, {self.state}: {why}; give FROM and TO"
            )
        candidates = {release for member in known for release in member.origins(target)}
        shown = " and ".join(dict.fromkeys(member.shown for member in known))
        reading = [f"group {self.name}: its members show that they run {shown}"]
        if behind and len(behind) < len(self.members):
            labels = listed([member.label for member in behind])
            reading.append(f"group {self.name}: members that are not shown to run {target.release}: {labels}")
        if may_be_there := [member.label for member in behind if member.may_run(target)]:
            who = "its members" if len(may_be_there) == len(self.members) else listed(may_be_there)
            reading.append(f"group {self.name}: {who} may run {target.release} already, which shows the same")
        ordered = sorted(candidates, key=lambda release: release.known_number)
        return ResolvedRelease(self._given, tuple(ordered), tuple(reading))

    def not_on(self, target: ResolvedRelease) -> tuple[LiveMember, ...]:
        """Return the members that are not shown to run a release."""
        return tuple(member for member in self.members if not member.runs(target))

    @property
    def _given(self) -> str:
        return f"group {self.name}"

    def is_between(self, origin: ResolvedRelease, along: Collection[Release]) -> bool:
        """Whether members have left a release, and all run it or another one of the way from there.

        Args:
            origin: The release that a user has named; the one that ``origin`` has returned is none to have left.
            along: The other releases of the way.
        """
        of_the_way = {*origin.candidates, *along}
        are_there = all(of_the_way.intersection(member.releases) for member in self.members if member.releases)
        return are_there and origin.given != self._given and bool(self.left(origin))

    def has_some_on(self, origin: ResolvedRelease) -> bool:
        """Whether a member can be one of a release."""
        return any(member.may_run(origin) for member in self.members)

    def left(self, origin: ResolvedRelease) -> tuple[str, ...]:
        """Return the members that do not run a release."""
        return tuple(member.label for member in self.members if member.releases and not member.may_run(origin))

    def blocked(self, origin: ResolvedRelease) -> str:
        """Say why a plan from a release is none for this group; empty if it may be one."""
        if self.is_mixed:
            return (
                f"members of group {self.name} run several releases, see below: finish that upgrade first, or name the "
                "release from which it began"
            )
        if others := self.left(origin):
            return f"{origin.given} is not the release of {listed(others)} in group {self.name}, see below"
        return ""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "group": self.name,
            "type": self.type,
            "state": self.state,
            "releases": [release.name for release in self.common_releases],
            "members": [member.as_json() for member in self.members],
            "static": list(self.static),
            "tasks": self.tasks,
            "standbys": self.standbys,
            "partitions": {**self.partitions},
            "missing_topics": list(self.missing_topics),
            "brokers": [broker.as_json() for broker in self.brokers],
            "unknown_brokers": self.unknown_brokers or None,
            "topology_nodes": len(self.topology.nodes) if self.topology else None,
            "subtopologies": None
            if self.subtopologies is None
            else {name: list(topics) for name, topics in self.subtopologies.items()},
        }

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """Write it as a list."""
        tasks = f"{self.tasks} tasks, {self.standbys} standbys of a task at most" if self.tasks else "no task is shown"
        size = f"{_count(self.members, 'member')}, {tasks}"
        yield f"group {self.name}: {self.type}, {self.state}; {size}"
        by_release: dict[str, list[str]] = {}
        for member in self.members:
            by_release.setdefault(member.shown if member.releases else "", []).append(member.label)
        for shown, labels in by_release.items():
            if shown:
                yield f"- release {shown}: {listed(labels, verbose=verbose)}"
        for member in self.unknown:
            yield f"- release cannot be told: {member.label}: {member.shown}"
        if self.static:
            yield f"- static: {listed(self.static, verbose=verbose)}"
        by_text: dict[str, list[str]] = {}
        for broker in self.brokers:
            by_text.setdefault(broker.text, []).append(str(broker.number))
        yield from (f"- broker {', '.join(numbers)}: {text}" for text, numbers in by_text.items())
        if self.unknown_brokers:
            yield f"- brokers: {self.unknown_brokers}"
        topics = [f"{name} {number}" for name, number in sorted(self.partitions.items())]
        if topics:
            yield f"- partitions: {listed(topics, verbose=verbose)}"
        if self.missing_topics:
            yield f"- topics that do not exist: {listed(self.missing_topics, verbose=verbose)}"
        if self.topology:
            yield f"- topology: {_count(self.topology.nodes, 'node')}, described by the broker"
        for name, inputs in (self.subtopologies or {}).items():
            yield f"- subtopology {name} reads {listed(inputs, verbose=verbose)}"


def listed(names: Sequence[str], *, verbose: bool = False) -> str:
    """Join names, only the first ones unless all are asked for.

    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    shown = names if verbose else names[:_MOST_SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more}"


def _count(things: Iterable[object], noun: str) -> str:
    number = len(list(things))
    return f"{number} {noun}{'' if number == 1 else 's'}"
