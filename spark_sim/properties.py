"""What must hold: *always* (at every message), *eventually* (at the end), *sometimes* (somewhere in a cell).

The third kind keeps an experiment honest: a probing cell in which nobody ever probed has shown nothing. What is only a
waste (``SOFT``) is remarked, and makes no run unsafe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from attrs import frozen

from assignor import FatalError, Received
from assignor.member import Member
from spark_sim.copies import complete
from subscription_codec import EARLIEST_PROBEABLE_VERSION, DecodeError

if TYPE_CHECKING:
    from spark_sim.threads import Thread
    from spark_sim.world import World

OWNED_ONCE: Final = "always: no task is owned twice in a generation"
READABLE: Final = "always: nobody receives a version it cannot read"
NOBODY_DIES: Final = "always: nobody dies"
ANSWERED: Final = "always: the leader answers every member"
MATCHED: Final = "always: a task comes with its own partitions"
NO_WASTE: Final = "always: nobody gets a standby that nobody asked for"
BEST_COPY: Final = "always: a task moves to a complete copy if there is one"
ALL_OWNED: Final = "eventually: every task is owned"
HIGHEST_VERSION: Final = "eventually: everyone is on the highest common version"
FOLLOWED: Final = "eventually: a rebalance that is asked for happens"
ALL_END: Final = "eventually: all end if one asks for it"
ENDLESS: Final = "eventually: rebalancing ends"
PROBED: Final = "sometimes: a probe really happens"
PROPERTIES: Final = (
    OWNED_ONCE,
    READABLE,
    NOBODY_DIES,
    ANSWERED,
    MATCHED,
    ALL_OWNED,
    HIGHEST_VERSION,
    FOLLOWED,
    ALL_END,
    ENDLESS,
)
"""What a single run can violate."""
SOFT: Final = frozenset({NO_WASTE, BEST_COPY})
"""What makes a run no worse than wasteful or slow."""

AS_TOLD: Final = frozenset({"INCOMPLETE_SOURCE_TOPIC_METADATA", "MissingSourceTopicException", "SHUTDOWN_REQUESTED"})
"""What a member ends with that does what an error code tells it."""


@frozen
class Violation:
    """A property that did not hold: which, at which member ("" for the group), and what was seen."""

    property: str
    member: str
    text: str

    def __str__(self) -> str:
        return f"{self.member}: {self.text}" if self.member else self.text

    @classmethod
    def of_death(cls, member: str, error: FatalError, *, answered: bool = True) -> Violation:
        """Tell a death by bytes that could not be read, or were not there at all, from other deaths."""
        if not answered:
            return cls(ANSWERED, member, "the leader has left it out, and it cannot read nothing")
        return cls(READABLE if isinstance(error.__cause__, DecodeError) else NOBODY_DIES, member, str(error))


def as_told(error: FatalError) -> bool:
    """Whether a member does not die, but ends because an error code tells it to."""
    return error.kafka in AS_TOLD


def always(world: World) -> list[Violation]:
    """Check a group in which somebody has just taken its answer."""
    owned = [thread.owned for thread in world.living]
    if sum(map(len, owned)) == len(frozenset().union(*owned)):
        return []
    owners = Counter(task for its in owned for task in its)
    twice = sorted(task for task, count in owners.items() if count > 1)
    return [Violation(OWNED_ONCE, "", f"task {task} has {owners[task]} owners") for task in twice]


def after_answer(world: World, thread: Thread, before: Member, received: Received) -> list[Violation]:
    """Check what a member makes of an answer, given what it was before."""
    return [*_mixed_up(world, thread, received), *_wasted(world, thread, before, received)]


def _mixed_up(world: World, thread: Thread, received: Received) -> Iterator[Violation]:
    tasks = world.shape.tasks
    for task, partitions in received.active.items():
        if partitions != tasks[task]:
            text = f"task {task} comes with {', '.join(map(str, sorted(partitions)))}"
            yield Violation(MATCHED, thread.name, text)


def _wasted(world: World, thread: Thread, before: Member, received: Received) -> Iterator[Violation]:
    """Find standbys of tasks whose state was not here, and tasks that begin at the start though a copy is elsewhere."""
    if received.standby and not (world.shape.standbys or world.shape.lag):
        had = before.stored.union(*(each.stored for each in world.crew(thread) if each is not thread))
        for task in sorted(received.standby.keys() - had):
            yield Violation(NO_WASTE, thread.name, f"standby of {task}, which it never had")
    if world.shape.lag and world.leader_balances:
        for task in sorted(received.active.keys() - before.previous_active - complete(world, thread)):
            if better := sorted({each.process for each in world.living if task in complete(world, each)}):
                yield Violation(BEST_COPY, thread.name, f"has to restore {task}, although {better[0]} has all of it")


def eventually(world: World) -> list[Violation]:
    """Check a group that has come to rest."""
    return [*_unowned(world), *_versions(world), *_unheard(world), *_unended(world)]


def _unowned(world: World) -> Iterator[Violation]:
    """Find tasks that nobody has; whose topics are gone, or whose members ended as they were told, needs no owner."""
    if not any(world.living) and any(thread.ended for thread in world.threads.values()):
        return
    expected = world.shape.layout.tasks(world.cluster.partitions)
    if missing := sorted(expected.keys() - frozenset().union(*(thread.owned for thread in world.living))):
        yield Violation(ALL_OWNED, "", f"nobody owns {', '.join(map(str, missing))}")


def _versions(world: World) -> Iterator[Violation]:
    common = min((thread.sendable for thread in world.living), default=0)
    for thread in world.living:
        used = thread.assignor.used_version
        if thread.received != common or (common >= EARLIEST_PROBEABLE_VERSION and used != common):
            text = f"sends version {used} and got {thread.received}, but all can speak {common}"
            yield Violation(HIGHEST_VERSION, thread.name, text)


def _unheard(world: World) -> Iterator[Violation]:
    for thread in world.living:
        if thread.waits is not None:
            yield Violation(FOLLOWED, thread.name, f"is not heard, and {thread.waits.value}")


def _unended(world: World) -> Iterator[Violation]:
    if world.shutdown_wanted:
        for thread in world.living:
            yield Violation(ALL_END, thread.name, "goes on, although the whole application was to end")
