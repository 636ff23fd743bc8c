"""The rolls that are searched: plans of the upgrade matrix, groups of two and three, the leader seen or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from string import ascii_uppercase
from typing import Final

from attrs import field, frozen

from spark_sim.model.violations import Violation
from spark_sim.model.workload import Workload
from spark_sim.rolls.model import Budget, RollAction, RollModel, RollModelState
from spark_sim.search.bfs import bfs
from spark_sim.search.graph import StateGraph, StateViolation, path_to
from spark_sim.search.path_counting import count_paths
from upgrade.planner import advise
from upgrade.releases import release_named
from upgrade.roll.plan import RollInstance, RollLimits, RollPlan, group_rounds

ROLLS: Final[Mapping[str, tuple[str, str, str]]] = {
    "one bounce": ("2.4.1", "2.8.2", "counts"),
    "two bounces": ("2.3.1", "2.8.2", "counts"),
    "two bounces, version pinned": ("1.1.1", "2.0.1", "counts"),
    "bridge release": ("2.3.1", "4.3.1", "counts"),
    "leader last": ("2.0.1", "2.3.0", "counts"),
    "leader last, without state": ("2.3.1", "3.0.2", "stateless"),
}
"""Plans by name, each with a pair of releases that needs it, and a topology."""
ROLL: Final = "roll:"
"""The beginning of the names of searches."""
SIZES: Final = (2, 3)
LIMITS: Final = RollLimits(timeout_s=600, max_unowned_s=300, session_timeout_s=45)


@frozen
class RollFinding:
    """What a roll does wrong, and a shortest way to it."""

    violation: Violation
    actions: tuple[str, ...]


@frozen
class RollExploration:
    """What a search has found."""

    states: int
    transitions: int
    schedules: int | None
    """Different ways from the beginning to an end; None: without an end."""
    ends: Mapping[str, int] = field(hash=False)
    """How schedules end: states by the outcome that roll reports."""
    findings: tuple[RollFinding, ...]
    """One for each property that does not hold."""


@frozen
class RollSearch:
    """One roll with all that can happen to it."""

    title: str
    """The kind of plan."""
    origin: str
    target: str
    topology: str
    members: int
    sees_leader: bool
    budget: Budget = field(factory=Budget)

    @property
    def name(self) -> str:
        """Its name: the kind of plan and the group."""
        seen = "seen" if self.sees_leader else "not seen"
        return f"{ROLL} {self.title}, {self.members} members, leader {seen}"

    def __str__(self) -> str:
        return f"{self.name}: {self.origin} to {self.target}"

    @property
    def plan(self) -> RollPlan:
        """The plan of ``advise``."""
        advice = advise(release_named(self.origin), release_named(self.target))
        return RollPlan(
            name="app",
            origin=self.origin,
            target=self.target,
            rounds=group_rounds(advice),
            instances=tuple(map(RollInstance, ascii_uppercase[: self.members])),
            limits=LIMITS,
        )

    def explore(self) -> RollExploration:
        """Explore every schedule."""
        graph = bfs(RollModel(self.plan, self.budget, self.sees_leader, Workload(topology=self.topology)))
        kinds: dict[str, StateViolation[RollAction]] = {}
        for found in graph.violations:
            kinds.setdefault(found.violation.property, found)
        return RollExploration(
            states=graph.state_count,
            transitions=graph.transition_count,
            schedules=count_paths(graph).schedules,
            ends=Counter(map(_end, map(graph.state, graph.terminal_states))),
            findings=tuple(_finding(graph, found) for found in kinds.values()),
        )


def _finding(graph: StateGraph[RollModelState, RollAction], found: StateViolation[RollAction]) -> RollFinding:
    _, actions = path_to(graph, found.state)
    return RollFinding(found.violation, tuple(map(str, (*actions, *([found.action] if found.action else [])))))


def _end(state: RollModelState) -> str:
    return (state.final.outcome or "stopped") if state.final else "without an end"


def roll_searches() -> Iterator[RollSearch]:
    """Yield the searches of a sweep."""
    for (title, roll), members, sees_leader in product(ROLLS.items(), SIZES, (True, False)):
        yield RollSearch(title, *roll, members, sees_leader)
