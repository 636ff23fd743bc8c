"""Look for a bug in a pair of releases: the same search for all bugs, which are told only what has to break.

Exploring goes through every schedule of three members, one crash, and one missed rebalance timeout, by an operator who
lets the group come to rest; hunting through every coarse schedule of up to three steps (``hunt``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from attrs import evolve, field, frozen

from assignor.eras import era_of
from spark_sim.explore import Cell, Faults, Variant, explore
from spark_sim.explore.behaviours import behaviour, kind_of
from spark_sim.explore.counting import count
from spark_sim.explore.packed import Packed
from spark_sim.explore.paths import line
from spark_sim.explore.search import search
from spark_sim.known.bugs import BUGS, Bug, By, Ways
from spark_sim.known.circles import once_round
from spark_sim.known.hunt import Hunt, hunt
from spark_sim.known.noting import stays_behind
from spark_sim.properties import ENDLESS
from spark_sim.shape import NORMAL, Shape
from spark_sim.steps import FIRST_WITH_SHUTDOWN
from upgrade.releases import Release

FAULTS: Final = Faults(crashes=1, lates=1)
STEPS: Final = 3


@frozen
class Search:
    """One bug in one pair of releases, which is ``affected`` or not."""

    bug: Bug
    ways: Ways
    origin: Release
    target: Release
    affected: bool

    @property
    def cell(self) -> Cell:
        """What is explored."""
        variant = Variant.NEVER_REMOVED if self.ways.stays else Variant.FOLLOWED
        return Cell(self.ways.upgrade(self.origin, self.target), faults=FAULTS, patient=True, variant=variant)

    @property
    def kind(self) -> Hashable:
        """What is equal for searches that cannot differ."""
        course = self.ways.course(self.origin, self.target)
        seen = [(behaviour(each), era_of(each.release.number).since, _may_shut_down(each.release)) for each in course]
        return self.bug.name, self.affected, tuple(seen) if self.bug.by is By.HUNTING else kind_of(self.cell)

    def __str__(self) -> str:
        return f"{self.bug.name} {' '.join(map(str, self.ways.course(self.origin, self.target)))}"


def _may_shut_down(release: Release) -> bool:
    return release.number >= FIRST_WITH_SHUTDOWN


@frozen
class Found:
    """What came of a search: ``example`` is a shortest schedule that shows the bug, ``said`` what is seen there.

    Searched were ``schedules``, and for that ``states`` if they were explored; both None if nobody even starts.
    ``confirmed``: real members do what packed states say (None: nobody asked them).
    """

    search: Search = field(eq=False)
    said: str | None = None
    example: str = ""
    schedules: int | None = None
    states: int | None = None
    confirmed: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values; numbers of schedules as text, as they can be larger than JSON readers like."""
        wanted = self.search
        return {
            "bug": wanted.bug.name,
            "course": [str(each) for each in wanted.ways.course(wanted.origin, wanted.target)],
            "affected": wanted.affected,
            "found": self.said is not None,
            "said": self.said,
            "example": self.example,
            "schedules": None if self.schedules is None else str(self.schedules),
            "states": self.states,
            "confirmed": self.confirmed,
        }

    @property
    def as_expected(self) -> bool:
        """Whether it is there where it was, and not where it was not."""
        return (self.said is not None) == self.search.affected and self.confirmed is not False


def searches(*, every: bool = False) -> Iterator[Search]:
    """Yield what to look for: of each bug an affected and a fixed pair, or ``every`` pair that may differ."""
    known: set[Hashable] = set()
    for bug in BUGS:
        for affected, some in ((True, bug.affected), (False, bug.fixed)):
            found = [Search(bug, ways, *pair, affected) for ways in some for pair in ways.pairs()]
            for each in found if every else found[:1]:
                if each.kind not in known:
                    known.add(each.kind)
                    yield each


def find(wanted: Search, *, steps: int = STEPS) -> Found:
    """Search."""
    match wanted.bug.by:
        case By.HUNTING:
            return _hunted(wanted, steps)
        case By.ENDING:
            return _ended(wanted)
        case _:
            return _explored(wanted)


def _hunted(wanted: Search, steps: int) -> Found:
    bug = wanted.bug
    shape = Shape.parse(bug.shape.split()) if bug.shape else NORMAL
    course = wanted.ways.course(wanted.origin, wanted.target)
    found = hunt(Hunt(course, bug.shows, bug.says, shape, bug.members, steps))
    if found.example is None:
        return Found(wanted, schedules=found.schedules)
    return Found(wanted, found.said, str(found.example), found.schedules, confirmed=True)


def _ended(wanted: Search) -> Found:
    graph = search(Packed(wanted.cell))
    said = stays_behind(graph)
    example = str(line(graph, graph.ending[0])) if said else ""
    return Found(wanted, said, example, count(graph).schedules, graph.states)


def _explored(wanted: Search) -> Found:
    """Look for a schedule without faults first: that is the simpler one to read."""
    found = _explored_with(wanted, evolve(wanted.cell, faults=Faults(0, 0)))
    return found if found.said else _explored_with(wanted, wanted.cell)


def _explored_with(wanted: Search, cell: Cell) -> Found:
    bug = wanted.bug
    explored = explore(cell)
    found = Found(wanted, schedules=explored.schedules, states=explored.states)
    broken = (each for each in explored.broken if each.property == bug.shows and bug.says in each.text)
    for each in broken:
        if not each.example:
            return evolve(found, said=each.text, example=_refused(cell))
        if bug.shows == ENDLESS:
            return evolve(found, said=each.text, example=str(once_round(search(Packed(cell)))))
        return evolve(found, said=each.text, example=each.example, confirmed=each.confirmed)
    return found


def _refused(cell: Cell) -> str:
    """Return what nobody can play, as somebody does not start."""
    first, second, *_ = cell.courses[0]
    return f"A@{first} | bounce A>{second}"
