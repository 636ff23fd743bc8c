"""What must hold: *always* (after every rebalance), *eventually* (at the end), *sometimes* (somewhere in a cell).

The third kind keeps an experiment honest: a probing cell in which nobody ever probed has shown nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from attrs import frozen

from assignor import FatalError
from subscription_codec import EARLIEST_PROBEABLE_VERSION, DecodeError

if TYPE_CHECKING:
    from spark_sim.world import World

OWNED_ONCE: Final = "always: no task is owned twice in a generation"
READABLE: Final = "always: nobody receives a version it cannot read"
NOBODY_DIES: Final = "always: nobody dies"
ALL_OWNED: Final = "eventually: every task is owned"
HIGHEST_VERSION: Final = "eventually: everyone is on the highest common version"
ENDLESS: Final = "eventually: rebalancing ends"
PROBED: Final = "sometimes: a probe really happens"
PROPERTIES: Final = (OWNED_ONCE, READABLE, NOBODY_DIES, ALL_OWNED, HIGHEST_VERSION, ENDLESS)
"""What a single run can violate."""


@frozen
class Violation:
    """A property that did not hold: which, at which member ("" for the group), and what was seen."""

    property: str
    member: str
    text: str

    def __str__(self) -> str:
        return f"{self.member}: {self.text}" if self.member else self.text

    @classmethod
    def of_death(cls, member: str, error: FatalError) -> Violation:
        """Tell a death by bytes that could not be read from other deaths."""
        return cls(READABLE if isinstance(error.__cause__, DecodeError) else NOBODY_DIES, member, str(error))


def always(world: World) -> list[Violation]:
    """Check a group right after a rebalance."""
    owners = Counter(task for process in world.living for task in process.owned)
    twice = sorted(task for task, count in owners.items() if count > 1)
    return [Violation(OWNED_ONCE, "", f"task {task} has {owners[task]} owners") for task in twice]


def eventually(world: World) -> list[Violation]:
    """Check a group that has come to rest."""
    found = []
    if missing := sorted(world.tasks.difference(*(process.owned for process in world.living))):
        found.append(Violation(ALL_OWNED, "", f"nobody owns {', '.join(map(str, missing))}"))
    common = min((process.sendable for process in world.living), default=0)
    for process in world.living:
        used = process.assignor.used_version
        if process.received != common or (common >= EARLIEST_PROBEABLE_VERSION and used != common):
            text = f"sends version {used} and got {process.received}, but all can speak {common}"
            found.append(Violation(HIGHEST_VERSION, process.name, text))
    return found
