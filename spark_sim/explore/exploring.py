"""One cell explored: what is asked for (``Cell``) goes in, what was found (``Explored``) comes out; both are small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve, field, frozen

from spark_sim.explore.confirm import confirmed, second_owner
from spark_sim.explore.counting import UNCOUNTED
from spark_sim.explore.course import Cell
from spark_sim.explore.engines import PLAIN, Engine
from spark_sim.explore.packed import Packed
from spark_sim.explore.paths import line
from spark_sim.explore.search import LEAD, MOST_STATES, MOST_SUSPECTS, Graph
from spark_sim.owners import second_owner_after_bounces
from spark_sim.properties import ENDLESS, NOBODY_DIES, OWNED_ONCE
from upgrade import ConfigException

GIVEN_AWAY: Final = "a leader that knows nothing of members that keep tasks gives them to others"


@frozen
class Broken:
    """A property that does not hold: a shortest way to see it, as a scenario (``""``: nobody even starts).

    ``confirmed``: real members and bytes do the same; None if that was not tried.
    """

    property: str
    text: str
    example: str
    confirmed: bool | None = None


@frozen
class Explored:
    """What came of a cell.

    ``states`` are counted up to the names of the members, ``transitions`` are moves from them. ``schedules``, exact and
    with the members told apart, ``depth`` (the moves of the longest schedule) and ``max_rebalances`` (the most
    generations between two things that somebody did or that went wrong) are None if rebalancing can be endless, or if
    the cell is too large (``complete`` says that it is not). ``suspects``: states in which tasks might get a second
    owner.
    """

    cell: Cell
    states: int
    transitions: int
    schedules: int | None = None
    depth: int | None = None
    max_rebalances: int | None = None
    suspects: int = 0
    complete: bool = True
    broken: tuple[Broken, ...] = field(default=())

    @property
    def safe(self) -> bool:
        """Whether every property holds on every way."""
        return self.complete and not self.broken


def explore(cell: Cell, *, confirm: bool = True, most: int = MOST_STATES, engine: Engine = PLAIN) -> Explored:
    """Explore a cell: every order of moves that its operator, its faults and the protocol allow.

    ``confirm``: hold what is found against real members; without it nothing is known of second owners. ``most``: the
    most states, in whose vicinity exploration ends; then it is not ``complete``. ``engine``: who does it; no other
    result comes of another one.
    """
    try:
        for instance in cell.instances:
            instance.config()
    except ConfigException as error:
        return Explored(cell, 0, 0, broken=(Broken(NOBODY_DIES, str(error), ""),))
    graph = engine.search(Packed(cell), most)
    counted = engine.count(graph) if graph.complete else UNCOUNTED
    found = Explored(
        cell,
        graph.states,
        graph.transitions,
        counted.schedules,
        counted.depth,
        counted.max_rebalances,
        len(graph.suspects),
        graph.complete,
    )
    return evolve(found, broken=tuple(_broken(graph, counted.circle, confirm=confirm)))


def _broken(graph: Graph, circle: int | None, *, confirm: bool) -> Iterator[Broken]:
    """Yield each property that does not hold, by its shortest example."""
    for name in dict.fromkeys(each.violation.property for each in graph.broken):
        found = _example(graph, name, confirm=confirm)
        if found:
            yield found
    if circle is not None:
        text = "rebalances lead back to where they began, without anybody's doing"
        yield Broken(ENDLESS, text, str(line(graph, circle)))
    if graph.suspects and confirm:
        yield from _two_owners(graph)


def _example(graph: Graph, name: str, *, confirm: bool) -> Broken | None:
    first = next((each for each in graph.broken if each.violation.property == name), None)
    if first is None:
        return None
    scenario = line(graph, first.at, *([first.move] if first.move else []))
    return Broken(name, first.violation.text, str(scenario), confirmed(scenario, name) if confirm else None)


def _two_owners(graph: Graph) -> Iterator[Broken]:
    """Let real members find out whether tasks really get a second owner; one example is enough."""
    for suspect in graph.suspects[:MOST_SUSPECTS]:
        if (scenario := second_owner(line(graph, suspect, LEAD))) is not None:
            yield Broken(OWNED_ONCE, GIVEN_AWAY, str(scenario), True)
            return
    if (scenario := second_owner_after_bounces(graph.packed.cell.courses)) is not None:
        yield Broken(OWNED_ONCE, GIVEN_AWAY, str(scenario), True)
