"""The rolls that are searched: plans of the upgrade matrix, groups of two and three, the leader seen or not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from string import ascii_uppercase
from typing import Final

from attrs import field, frozen

from spark_sim.model.violations import Violation
from spark_sim.model.workload import Workload
from spark_sim.rolls.model import RETURNS, RollAction, RollBudget, RollModel, RollModelState
from spark_sim.search.bfs import bfs
from spark_sim.search.graph import StateGraph, StateViolation, path_to
from spark_sim.search.path_counting import count_paths
from upgrade.planner import advise
from upgrade.releases import release_named
from upgrade.roll.engine import ROLLED_BACK
from upgrade.roll.plan import RESTART, START, STOP, RollInstance, RollLimits, RollPlan, group_rounds


@frozen(kw_only=True)
class RollKind:
    """A kind of plan, with a pair of releases that needs it."""

    origin: str
    target: str
    topology: str = "counts"
    verbs: tuple[str, ...] = (RESTART,)
    """The commands that restart an instance."""
    offline: bool = False
    """Whether all instances are stopped at once."""


ROLLS: Final[Mapping[str, RollKind]] = {
    "one bounce": RollKind(origin="2.4.1", target="2.8.2"),
    "two bounces": RollKind(origin="2.3.1", target="2.8.2"),
    "two bounces, stop and start": RollKind(origin="2.3.1", target="2.8.2", verbs=(STOP, START)),
    "two bounces, version pinned": RollKind(origin="1.1.1", target="2.0.1"),
    "bridge release": RollKind(origin="2.3.1", target="4.3.1"),
    "leader last": RollKind(origin="2.0.1", target="2.3.0"),
    "leader last, without state": RollKind(origin="2.3.1", target="3.0.2", topology="stateless"),
    "offline": RollKind(origin="2.3.1", target="2.8.2", verbs=(STOP, START), offline=True),
}
"""Plans by name."""
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
    """A key of ``ROLLS``."""
    members: int
    sees_leader: bool
    budget: RollBudget = field(factory=RollBudget)

    @property
    def kind(self) -> RollKind:
        """The kind of plan."""
        return ROLLS[self.title]

    @property
    def name(self) -> str:
        """Its name: the kind of plan and the group."""
        seen = "seen" if self.sees_leader else "not seen"
        return f"{ROLL} {self.title}, {self.members} members, leader {seen}"

    def __str__(self) -> str:
        return f"{self.name}: {self.kind.origin} to {self.kind.target}"

    @property
    def plan(self) -> RollPlan:
        """The plan of ``advise``."""
        kind = self.kind
        advice = advise(release_named(kind.origin), release_named(kind.target), offline=kind.offline)
        return RollPlan(
            name="app",
            origin=kind.origin,
            target=kind.target,
            verbs=kind.verbs,
            rounds=group_rounds(advice),
            instances=tuple(map(RollInstance, ascii_uppercase[: self.members])),
            limits=LIMITS,
        )

    def explore(self) -> RollExploration:
        """Explore every schedule."""
        model = RollModel(self.plan, self.budget, self.sees_leader, Workload(topology=self.kind.topology))
        graph = bfs(model)
        kinds: dict[str, StateViolation[RollAction]] = {}
        for found in (*graph.violations, *_without_return(model, graph)):
            kinds.setdefault(found.violation.property, found)
        return RollExploration(
            states=graph.state_count,
            transitions=graph.transition_count,
            schedules=count_paths(graph).schedules,
            ends=Counter(map(_end, map(graph.state, graph.terminal_states))),
            findings=tuple(_finding(graph, found) for found in kinds.values()),
        )


def _without_return(
    model: RollModel, graph: StateGraph[RollModelState, RollAction]
) -> Iterator[StateViolation[RollAction]]:
    """Yield the states in which a roll goes back, and from which no schedule ends with that."""
    before = defaultdict[int, list[int]](list)
    for number in range(1, graph.state_count + 1):
        for edge in graph.edges(number):
            before[edge.target].append(number)
    waiting = [number for number in graph.terminal_states if _end(graph.state(number)) == ROLLED_BACK]
    returning = set(waiting)
    while waiting:
        new = [number for number in before[waiting.pop()] if number not in returning]
        returning.update(new)
        waiting += new
    for number in range(1, graph.state_count + 1):
        if number not in returning and model.must_return(graph.state(number)):
            yield StateViolation(number, Violation(RETURNS, "", "it does not, whatever the operator answers"))


def _finding(graph: StateGraph[RollModelState, RollAction], found: StateViolation[RollAction]) -> RollFinding:
    _, actions = path_to(graph, found.state)
    return RollFinding(found.violation, tuple(map(str, (*actions, *([found.action] if found.action else [])))))


def _end(state: RollModelState) -> str:
    return (state.final.outcome or "stopped") if state.final else "without an end"


def roll_searches() -> Iterator[RollSearch]:
    """Yield the searches of a sweep."""
    for title, members, sees_leader in product(ROLLS, SIZES, (True, False)):
        yield RollSearch(title, members, sees_leader)
