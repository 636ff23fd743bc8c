"""What a bounce is about, as data: its steps, what is known of a member, what happened, how it went; and who judges it.

All of it follows from the events the members print (`assignor.member_process`); nothing here has a process or a clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from assignor.member_process import Assigned, Event, Failed, Processed, Revoked, Started, Stopped, Subscribed
from upgrade.releases import RELEASES, SIMULATED


@frozen
class Step:
    """Bounce every member to a release; afterwards all of them use metadata version `version`."""

    title: str
    release: str
    version: int
    upgrade_from: str | None = None


_OURS: Final = RELEASES["streams-assignor-3"]

STEPS: Final = (
    Step("start on 1.1.1", "1.1.1", 2),
    Step("2 to 3, first bounce: upgrade.from=1.1", _OURS.name, 2, "1.1"),
    Step("2 to 3, second bounce: without upgrade.from", _OURS.name, 3),
    Step("3 to 4, one bounce: version probing", SIMULATED.name, 4),
)


@frozen(kw_only=True)
class MemberStatus:
    """What is known of one member.

    `process` is starting, running, stopping or stopped; `processed` counts the records since its last assignment.
    """

    name: str
    process: str = "stopped"
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

    def after(self, event: Event) -> MemberStatus:
        """Return what is known once `event` has happened."""
        match event:
            case Started(release, upgrade_from):
                return evolve(self, process="running", release=release, upgrade_from=upgrade_from)
            case Subscribed(used, supported):
                return evolve(self, used=used, supported=supported, rejoining=True)
            case Assigned():
                return evolve(
                    self,
                    leader=event.leader,
                    generation=event.generation,
                    active=event.active,
                    standby=event.standby,
                    rejoining=event.rejoin,
                    processed=0,
                )
            case Processed(_, first, last):
                return evolve(self, processed=self.processed + last + 1 - first)
            case Revoked():
                return evolve(self, active=(), standby=(), rejoining=True)
            case Failed() | Stopped():
                return MemberStatus(name=self.name, release=self.release, upgrade_from=self.upgrade_from)
        return self


@frozen
class Moment:
    """Something happened, `seconds` after the beginning: to a member, or to all (then `member` is empty)."""

    seconds: float
    member: str
    what: str


def complaints(members: Iterable[MemberStatus], tasks: Iterable[str], version: int | None = None) -> list[str]:
    """List what keeps a group from being settled, on metadata `version` if given; nothing to complain means settled."""
    found: list[str] = []
    generations = {member.generation for member in members}
    for member in members:
        if member.process != "running":
            found.append(f"member {member.name} is {member.process}")
        elif member.generation is None or member.rejoining or len(generations) > 1:
            found.append(f"member {member.name} is rebalancing")
        elif member.active and not member.processed:
            found.append(f"member {member.name} does not process records")
        elif version not in (None, member.used):
            found.append(f"member {member.name} uses metadata version {member.used}, not {version}")
    owned = sorted(task for member in members for task in member.active)
    if not found and owned != sorted(tasks):
        found.append(f"tasks are owned as {', '.join(owned) or 'none'}")
    return found


def owned_twice(members: Iterable[MemberStatus]) -> str | None:
    """Name a task that two members own in the same generation, which must never be."""
    owner: dict[tuple[int | None, str], str] = {}
    for member in members:
        for task in member.active:
            other = owner.setdefault((member.generation, task), member.name)
            if other != member.name:
                return f"task {task} is owned by {other} and {member.name} in generation {member.generation}"
    return None


@frozen
class Ledger:
    """Which offsets have been processed, by partition, and how many of them again."""

    seen: dict[str, set[int]] = field(factory=dict)
    times: list[int] = field(factory=list)

    def enter(self, event: Processed) -> None:
        """Note a range of offsets as processed."""
        self.seen.setdefault(event.partition, set()).update(range(event.first, event.last + 1))
        self.times.append(event.last + 1 - event.first)

    @property
    def processed(self) -> int:
        """How many different records have been processed."""
        return sum(map(len, self.seen.values()))

    @property
    def duplicates(self) -> int:
        """How many records have been processed once more than needed."""
        return sum(self.times) - self.processed

    def lost(self, produced: Mapping[str, int]) -> int:
        """Count the produced records (`produced` has the number in each partition) that nobody has processed."""
        return sum(len(set(range(count)) - self.seen.get(partition, set())) for partition, count in produced.items())


@frozen(kw_only=True)
class BounceSettings:
    """What to bounce.  Without `bootstrap_servers` on an embedded cluster; `order` overrides the seed's order."""

    bootstrap_servers: str | None = None
    members: int = 3
    partitions: int = 6
    standbys: int = 1
    records_per_second: int = 200
    seed: int = 0
    order: tuple[str, ...] = ()
    steps: tuple[Step, ...] = STEPS

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names: A, B, C and so on."""
        return tuple(chr(ord("A") + number) for number in range(self.members))

    def orders(self) -> list[tuple[str, ...]]:
        """In which order each step bounces the members; the first just starts them.

        >>> BounceSettings(order=("C", "A", "B")).orders()[1:]
        [('C', 'A', 'B'), ('C', 'A', 'B'), ('C', 'A', 'B')]
        """
        chance = random.Random(self.seed)
        shuffled = [tuple(chance.sample(self.names, self.members)) for _ in self.steps[1:]]
        return [self.names, *(self.order or order for order in shuffled)]


@frozen(kw_only=True)
class StepResult:
    """How a step went.  `rejoins` counts the rebalances that only the negotiation of the version asked for."""

    step: Step
    order: tuple[str, ...]
    seconds: float
    generation: int
    rejoins: int
    members: tuple[MemberStatus, ...]


@frozen(kw_only=True)
class Summary:
    """How the bounce went, whether it finished or not."""

    outcome: str
    seconds: float
    steps: tuple[StepResult, ...]
    produced: int
    processed: int
    duplicates: int
    lost: int
    timeline: tuple[Moment, ...]
    problem: str | None = None
