"""What is done to a group, step by step: drawn from a seed, so that the same seed is the same course."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from itertools import cycle, islice
from typing import Final

from attrs import frozen

SESSION_SECONDS: Final = 3.0
SESSION_EXPIRED_SECONDS: Final = SESSION_SECONDS + 2.0  # by then the group has given a silent member up
LOCK_EXPIRED_SECONDS: Final = 12.0  # the same for the lock of a roll, whose session is ten seconds

FAULT_KINDS: Final = {
    "kill": "SIGKILL of a member, which is started again",
    "freeze": "SIGSTOP of a member past its session, then SIGCONT: a zombie",
    "stumble": "SIGSTOP of a member for less than its session",
    "cut": "the network of a member is gone for longer than its session",
    "cut-leader": "the same, of the member that leads",
    "clock": "the wall clock of a member jumps, and back again",
    "node-clock": "the wall clock of a broker jumps, and back again",
    "slow": "every assignment takes long, in one half of the cases longer than the session",
    "dying-leader": "the leader is killed in the middle of its assignment",
    "node": "a broker stops in peace and comes back",
    "node-kill": "SIGKILL of a broker, which is started again",
    "coordinator": "the broker that coordinates the group stops in peace and comes back",
    "coordinator-kill": "SIGKILL of the broker that coordinates the group",
    "duplicate": "a second process with the group.instance.id of a static member, which is fenced",
}
NEEDS_STATIC: Final = "duplicate"
OF_A_LEADER: Final = ("cut-leader", "slow", "dying-leader")
"""Those of a member that leads: a streams group has none."""
ENDS_A_PROCESS: Final = ("kill", "duplicate")
"""What ends the process of its target; the others go on with the memory that they have."""
ROLL_FAULT_KINDS: Final = {
    "roll-kill": "SIGKILL of `roll`; the same command continues",
    "roll-freeze": "SIGSTOP of `roll` past the session of its lock, then SIGCONT",
    "roll-cut": "the network of `roll` is gone for longer than the session of its lock",
    "roll-clock": "the wall clock of `roll` jumps, and back again",
    "torn-journal": "SIGKILL of `roll`, and the last record of its journal is incomplete",
    "stranger": "a process whose name begins like that of a member joins, and leaves later",
    "second-process": "a second process of a member joins, and leaves later",
    "lost": "the command of a restart only stops the instance",
    "endless": "the command of a restart does its work, and does not end",
    "failed-command": "the command of a restart does nothing, and fails",
    "old-release": "the command of a restart starts the old release again",
}
"""What else happens while `roll` upgrades the group."""
MISTAKES: Final = ("lost", "failed-command", "old-release", "endless")
"""What a command does instead of its work."""
NODES: Final = 3
_JUMPS: Final = (3600.0, -3600.0, 30.0, -30.0, 86400.0)  # seconds
_FUTURE: Final = 1800.0  # brokers of 4.x refuse records that seem to be from an hour ahead of their clock


@frozen
class Fault:
    """One thing that goes wrong for ``seconds``; ``target`` is a member or the number of a node, if it matters."""

    kind: str
    target: str = ""
    seconds: float = 0.0
    amount: float = 0.0

    def __str__(self) -> str:
        amount = f" by {self.amount:+.1f} s" if self.amount else ""
        return " ".join(filter(None, [self.kind, self.target])) + f" {self.seconds:.1f} s{amount}"


@frozen
class MemberVersion:
    """What a member is started as."""

    release: str
    upgrade_from: str | None = None

    def __str__(self) -> str:
        return self.release + (f" with upgrade.from={self.upgrade_from}" if self.upgrade_from else "")


OLD_VERSION: Final = MemberVersion("streams-assignor-3")  # metadata version 3, eager
INTERMEDIATE_VERSION: Final = MemberVersion("streams-assignor", "2.3")  # version 11 and probing, still eager
NEW_VERSION: Final = MemberVersion("streams-assignor")  # version 11, cooperative


def java_version(speaks: MemberVersion, release: str, *, exactly_once: bool) -> MemberVersion:
    """What a member of Kafka Streams is started as while others are this, if it is to get to a release.

    With exactly-once it begins with the first line whose transactions are fenced by the member's generation; that is
    cooperative already if it is not told otherwise. Releases from 4.0 on cannot be told any more that some are eager.

    >>> versions = (OLD_VERSION, INTERMEDIATE_VERSION, NEW_VERSION)
    >>> [str(java_version(each, "4.3.1", exactly_once=False)) for each in versions]
    ['2.0.1', '3.9.2 with upgrade.from=2.0', '4.3.1']
    """
    begin, eager = (MemberVersion("2.6.3", "2.3"), "2.3") if exactly_once else (MemberVersion("2.0.1"), "2.0")
    return {
        OLD_VERSION: begin,
        INTERMEDIATE_VERSION: MemberVersion("3.9.2", eager),
        NEW_VERSION: MemberVersion(release),
    }.get(speaks, speaks)  # a roll names releases of Kafka


@frozen
class Step:
    """A fault, and ``gap`` seconds later perhaps a bounce of a member, before the group has got over the fault."""

    fault: Fault | None
    gap: float = 0.0
    bounce: str | None = None
    to: MemberVersion = NEW_VERSION

    def __str__(self) -> str:
        bounce = f"bounce {self.bounce} to {self.to}" if self.bounce else ""
        return f" and {self.gap:.1f} s later ".join(filter(None, [self.fault and str(self.fault), bounce]))


@frozen
class TimedFault:
    """A fault, ``after`` seconds after the command of a restart has begun its work, or before it."""

    fault: Fault
    after: float

    def __str__(self) -> str:
        return f"{self.fault}, {self.after:+.1f} s"


def draw_schedule(
    seed: int,
    members: Collection[str],
    faults: int,
    kinds: Collection[str] = tuple(FAULT_KINDS),
    static: Collection[str] = (),
) -> list[Step]:
    """Draw an upgrade in two rounds with a fault at each of its bounces, and the faults that are left before and after.

    Every kind comes once before one comes twice. The targets of ``duplicate`` are the ``static`` members.

    >>> [step.bounce for step in draw_schedule(7, "AB", 6)]
    [None, 'A', 'B', 'B', 'A', None]
    """
    chance = random.Random(seed)
    drawn = list(islice(_faults(chance, sorted(members), list(kinds), sorted(static)), faults)) if kinds else []
    bounces = [
        (member, to)
        for to in (INTERMEDIATE_VERSION, NEW_VERSION)
        for member in chance.sample(sorted(members), len(members))
    ]
    alone = max(0, faults - len(bounces))
    before, between, after = drawn[: alone // 2], drawn[alone // 2 : faults - alone + alone // 2], []
    after = drawn[len(before) + len(between) :]
    pairs = [*between, *[None] * (len(bounces) - len(between))]
    return [
        *(Step(fault) for fault in before),
        *(
            Step(fault, _some(chance, 0.0, SESSION_SECONDS), *bounce)
            for fault, bounce in zip(pairs, bounces, strict=True)
        ),
        *(Step(fault) for fault in after),
    ]


def draw_roll(
    seed: int,
    members: Collection[str],
    restarts: int,
    faults: int,
    kinds: Collection[str],
    static: Collection[str] = (),
) -> list[list[TimedFault]]:
    """Draw the faults around each restart of a roll: as many as there are, a second one of each when there are more.

    Who is restarted is up to `roll`. Every kind comes once before one comes twice.

    >>> [len(around) for around in draw_roll(7, "AB", restarts=3, faults=5, kinds=["kill", "lost"])]
    [2, 2, 1]
    """
    chance = random.Random(seed)
    drawn = islice(_faults(chance, sorted(members), list(kinds), sorted(static)), faults) if kinds else ()
    around: list[list[TimedFault]] = [[] for _ in range(restarts)]
    for place, fault in zip(cycle(around), drawn, strict=False):
        place.append(TimedFault(fault, _some(chance, -SESSION_SECONDS, SESSION_SECONDS)))
    return around


def draw_soak(seed: int, members: Collection[str], static: Collection[str], kinds: Collection[str]) -> Iterator[Step]:
    """Draw faults without end, and no upgrade. Only a static member is a target of what ends a process.

    >>> steps = draw_soak(7, "ABC", "A", ["kill", "freeze"])
    >>> sorted((step.fault.kind, step.fault.target) for step in islice(steps, 2))
    [('freeze', 'B'), ('kill', 'A')]
    """
    chance = random.Random(seed)
    for _ in cycle([None]):
        for kind in chance.sample(list(kinds), len(kinds)):
            yield Step(_fault(kind, chance, sorted(static if kind in ENDS_A_PROCESS else members)))


def _faults(chance: random.Random, members: list[str], kinds: list[str], static: list[str]) -> Iterator[Fault]:
    for _ in cycle([None]):
        for kind in chance.sample(kinds, len(kinds)):
            yield _fault(kind, chance, static or members if kind == NEEDS_STATIC else members)


def _fault(kind: str, chance: random.Random, members: list[str]) -> Fault:
    member, node = chance.choice(members), str(chance.randint(1, NODES))
    short, amount = _some(chance, 0.2, 2.0), chance.choice(_JUMPS)
    match kind:
        case "kill" | "duplicate":
            return Fault(kind, member, short)
        case "stumble":
            return Fault(kind, member, short / 2)
        case "freeze" | "cut":
            return Fault(kind, member, SESSION_EXPIRED_SECONDS)
        case "roll-kill" | "torn-journal" | "lost" | "failed-command" | "old-release" | "endless":
            return Fault(kind)
        case "stranger" | "second-process":
            return Fault(kind, member, 2 * SESSION_EXPIRED_SECONDS)
        case "roll-freeze" | "roll-cut":
            return Fault(kind, "", LOCK_EXPIRED_SECONDS)
        case "roll-clock":
            return Fault(kind, "", SESSION_EXPIRED_SECONDS, amount)
        case "cut-leader":
            return Fault(kind, "", SESSION_EXPIRED_SECONDS)
        case "clock":
            return Fault(kind, member, SESSION_EXPIRED_SECONDS, amount)
        case "node-clock":
            return Fault(kind, node, SESSION_EXPIRED_SECONDS, max(amount, -_FUTURE))
        case "slow" | "dying-leader":
            return Fault(kind, "", chance.choice([1.5, SESSION_EXPIRED_SECONDS]) if kind == "slow" else 1.5)
        case "node" | "node-kill":
            return Fault(kind, node, short)
        case "coordinator" | "coordinator-kill":
            return Fault(kind, "", short)
    raise ValueError(f"expected one of {', '.join(FAULT_KINDS | ROLL_FAULT_KINDS)} as a kind of fault, got {kind!r}")


def _some(chance: random.Random, low: float, high: float) -> float:
    return round(chance.uniform(low, high), 1)
