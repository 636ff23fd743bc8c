"""The data of a bounce: steps, member status, timeline, results; and the rules that judge them.

A bounce is a rolling restart. All data follow from the event lines of the members; nothing here has a process or clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from attrs import asdict, evolve, field, frozen

from streams_assignor.demo.member_process import EventLine


@frozen
class BounceStep:
    """Restart every member with a release."""

    title: str
    release: str

    version: int
    """The metadata version that all members use afterwards."""

    upgrade_from: str | None = None


RELEASES_BY_RULES: Final[Mapping[str, tuple[str, str]]] = {
    "today": ("streams-assignor-3", "simulated-4"),
    "kip-268": ("kip-268", "kip-268-next"),
}
"""The releases with metadata versions 3 and 4 that follow a rule set of ``probing``."""


def upgrade_steps(rules: str) -> tuple[BounceStep, ...]:
    """Return the upgrades of a bounce whose members follow a rule set from version 3 on."""
    third, fourth = RELEASES_BY_RULES[rules]
    return (
        BounceStep("start on 1.1.1", "1.1.1", 2),
        BounceStep("2 to 3, first bounce: upgrade.from=1.1", third, 2, "1.1"),
        BounceStep("2 to 3, second bounce: without upgrade.from", third, 3),
        BounceStep("3 to 4, one bounce: version probing", fourth, 4),
    )


DEFAULT_STEPS: Final = upgrade_steps("today")


@frozen(kw_only=True)
class MemberStatus:
    """The status of one member."""

    name: str

    process: str = "stopped"
    """The state of the process: starting, running, stopping or stopped."""

    release: str = ""
    upgrade_from: str | None = None
    used: int | None = None
    supported: int | None = None
    leader: bool = False
    generation: int | None = None
    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    rejoining: bool = True
    processed: int = 0
    """The number of records that it has processed since the last assignment."""

    def after(self, event: EventLine) -> MemberStatus:
        """Return the status after an event."""
        match event:
            case {"event": "started", "release": release, "upgrade_from": upgrade_from}:
                return evolve(self, process="running", release=release, upgrade_from=upgrade_from)
            case {"event": "subscribed", "used": used, "supported": supported}:
                return evolve(self, used=used, supported=supported, rejoining=True)
            case {"event": "assigned"}:
                return evolve(
                    self,
                    leader=event["leader"],
                    generation=event["generation"],
                    active=tuple(event["active"]),
                    standby=tuple(event["standby"]),
                    rejoining=event["rejoin"],
                    processed=0,
                )
            case {"event": "processed", "from": first, "to": last}:
                return evolve(self, processed=self.processed + last + 1 - first)
            case {"event": "revoked"}:
                return evolve(self, active=(), standby=(), rejoining=True)
            case {"event": "failed" | "stopped"}:
                return MemberStatus(name=self.name, release=self.release, upgrade_from=self.upgrade_from)
        return self


@frozen
class TimelineEntry:
    """Something that happened to a member or to the group."""

    seconds: float
    """The time since the beginning of the bounce."""

    member: str
    """The name of the member; empty if the line is about the whole group."""

    event: EventLine
    """A line of the member, or ``starting``, ``step``, ``step_finished`` or ``records_finished`` of the bounce."""

    @property
    def text(self) -> str:
        """The event in words."""
        return event_text(self.event)


def event_text(event: EventLine) -> str:
    """Render an event of a timeline."""
    match event:
        case {"event": "step", "title": title}:
            return str(title)
        case {"event": "step_finished", "version": version}:
            return f"all use metadata version {version}, every task is owned once"
        case {"event": "records_finished"}:
            return "all records are processed"
        case {"event": "starting", "release": release, "upgrade_from": upgrade_from}:
            return f"starts as {release}" + (f" with upgrade.from={upgrade_from}" if upgrade_from else "")
        case {"event": "subscribed", "used": used, "supported": supported}:
            return f"subscribes with version {used}, supports {supported}"
        case {"event": "probed", "members": members, "version": version, "supported": supported, "content": content}:
            number = "1 member that sent a" if len(members) == 1 else f"{len(members)} members that sent a"
            answer = {"empty": "an empty assignment", "error": "an error code"}.get(content, "an assignment")
            return f"answers {number} newer version with {answer}: version {version}, supported {supported}"
        case {"event": "assigned", "generation": generation, "version": version, "supported": supported}:
            role = "leads" if event["leader"] else "follows"
            newest = f", supported {supported}" if supported > 0 else ""
            owned = "takes only the version" if event["dropped"] else f"owns {' '.join(event['active']) or 'nothing'}"
            return f"{role} generation {generation}, version {version}{newest}: {owned}"
        case {"event": "rejoin", "how": "leave_and_join"}:
            return "leaves and joins immediately to change its version"
        case {"event": "rejoin"}:
            return "rejoins immediately to change its version"
        case {"event": "failed", "error": error}:
            return f"fails: {error}"
    return "leaves"


class Instability(Enum):
    """Why a group is not stable."""

    NOT_RUNNING = "member {member} is {process}"
    REBALANCING = "member {member} is rebalancing"
    IDLE = "member {member} does not process records"
    OTHER_VERSION = "member {member} uses metadata version {used}, not {expected}"
    TASKS = "tasks are owned as {owned}"


@frozen
class UnstableReason:
    """One reason why a group is not stable, and its parameters."""

    code: Instability
    values: Mapping[str, Any]

    def __str__(self) -> str:
        return self.code.value.format_map(self.values)


def unstable_reasons(
    members: Iterable[MemberStatus], tasks: Iterable[str], expected_version: int | None = None
) -> list[UnstableReason]:
    """List why a group is not stable, on a metadata version if given; empty means stable."""
    codes: list[tuple[Instability, MemberStatus]] = []
    generations = {member.generation for member in members}
    for member in members:
        if member.process != "running":
            codes.append((Instability.NOT_RUNNING, member))
        elif member.generation is None or member.rejoining or len(generations) > 1:
            codes.append((Instability.REBALANCING, member))
        elif member.active and not member.processed:
            codes.append((Instability.IDLE, member))
        elif expected_version not in (None, member.used):
            codes.append((Instability.OTHER_VERSION, member))
    owned = sorted(task for member in members for task in member.active)
    if not codes and owned != sorted(tasks):
        return [UnstableReason(Instability.TASKS, {"owned": ", ".join(owned) or "none"})]
    return [
        UnstableReason(
            code,
            {"member": member.name, "process": member.process, "used": member.used, "expected": expected_version},
        )
        for code, member in codes
    ]


def doubly_owned_task(members: Iterable[MemberStatus]) -> str | None:
    """Name a task that two members own in the same generation; None if there is none."""
    owner: dict[tuple[int | None, str], str] = {}
    for member in members:
        for task in member.active:
            other = owner.setdefault((member.generation, task), member.name)
            if other != member.name:
                return f"task {task} is owned by {other} and {member.name} in generation {member.generation}"
    return None


@frozen
class ProcessedOffsets:
    """The processed offsets of each partition, and the sizes of the batches they came in."""

    offsets: dict[str, set[int]] = field(factory=dict)
    batch_sizes: list[int] = field(factory=list)

    def record(self, partition: str, first: int, last: int) -> None:
        """Record a range of offsets as processed, both ends included."""
        self.offsets.setdefault(partition, set()).update(range(first, last + 1))
        self.batch_sizes.append(last + 1 - first)

    @property
    def processed(self) -> int:
        """Number of different records processed."""
        return sum(map(len, self.offsets.values()))

    @property
    def duplicates(self) -> int:
        """Number of times that a record was processed again."""
        return sum(self.batch_sizes) - self.processed

    def lost(self, produced: Mapping[str, int]) -> int:
        """Count the unprocessed records; `produced` is the number of records by partition."""
        return sum(len(set(range(count)) - self.offsets.get(partition, set())) for partition, count in produced.items())


@frozen(kw_only=True)
class BounceSettings:
    """The group to bounce, and how."""

    bootstrap_servers: str | None = None
    """The brokers; None starts an embedded cluster."""

    members: int = 3
    partitions: int = 6
    standbys: int = 1
    records_per_second: int = 200
    seed: int = 0
    order: tuple[str, ...] = ()
    """Overrides the order that follows from the seed."""

    steps: tuple[BounceStep, ...] = DEFAULT_STEPS

    @property
    def member_names(self) -> tuple[str, ...]:
        """The members' names: A, B, C and so on."""
        return tuple(chr(ord("A") + number) for number in range(self.members))

    def bounce_orders(self) -> list[tuple[str, ...]]:
        """Return the order of members in each step; the first step only starts them.

        >>> BounceSettings(order=("C", "A", "B")).bounce_orders()[1:]
        [('C', 'A', 'B'), ('C', 'A', 'B'), ('C', 'A', 'B')]
        """
        generator = random.Random(self.seed)
        shuffled = [tuple(generator.sample(self.member_names, self.members)) for _ in self.steps[1:]]
        return [self.member_names, *(self.order or order for order in shuffled)]


@frozen(kw_only=True)
class StepResult:
    """The result of a step."""

    step: BounceStep
    order: tuple[str, ...]
    seconds: float
    generation: int
    rejoins: int
    """Rebalances that the version negotiation requested."""

    members: tuple[MemberStatus, ...]


@frozen(kw_only=True)
class BounceSummary:
    """The result of a bounce, finished or failed."""

    outcome: str
    seconds: float
    steps: tuple[StepResult, ...]
    produced: int
    processed: int
    duplicates: int
    lost: int
    timeline: tuple[TimelineEntry, ...]
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        timeline = [{"seconds": line.seconds, "member": line.member, "what": line.text} for line in self.timeline]
        return {**asdict(evolve(self, timeline=())), "timeline": timeline}
