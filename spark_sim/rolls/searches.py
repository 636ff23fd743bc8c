"""The rolls that are searched: plans of the upgrade matrix, groups of two and three, the leader seen or not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from string import ascii_uppercase
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.rolls.model import RollAction, RollModel
from streams_assignor.spark_sim.rolls.properties import RETURNS
from streams_assignor.spark_sim.rolls.state import RollBudget, RollModelState
from streams_assignor.spark_sim.search.bfs import bfs
from streams_assignor.spark_sim.search.graph import StateGraph, StateViolation, path_to
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.upgrade.planner import Advice, advise
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.roll.engine import ROLLED_BACK
from streams_assignor.upgrade.roll.plan import RESTART, START, STOP, RollInstance, RollLimits, RollPlan, group_rounds


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

    @property
    def advice(self) -> Advice:
        """The advice of ``advise``."""
        return advise(release_named(self.origin), release_named(self.target), offline=self.offline)

    @property
    def is_leader_last(self) -> bool:
        """Whether the leader has to be the last one in some round."""
        return any(roll_round.leader_last for roll_round in group_rounds(self.advice))


_WARM_UP: Final = "one bounce, warm-up"
ROLLS: Final[Mapping[str, RollKind]] = {
    "one bounce": RollKind(origin="2.4.1", target="2.8.2"),
    _WARM_UP: RollKind(origin="2.8.2", target="3.9.2"),
    "two bounces": RollKind(origin="2.3.1", target="2.8.2"),
    "two bounces, stop and start": RollKind(origin="2.3.1", target="2.8.2", verbs=(STOP, START)),
    "two bounces, version pinned": RollKind(origin="1.1.1", target="2.0.1"),
    "bridge release": RollKind(origin="2.3.1", target="4.3.1"),
    "leader last": RollKind(origin="2.0.1", target="2.3.0"),
    "leader last, chained tasks": RollKind(origin="2.3.1", target="3.0.2", topology="chained"),
    "offline": RollKind(origin="2.3.1", target="2.8.2", verbs=(STOP, START), offline=True),
}
"""Plans by name."""
_PLANS: Final = tuple(title for title in ROLLS if title != _WARM_UP)
ROLL: Final = "roll:"
"""The beginning of the names of searches."""
LIMITS: Final = RollLimits(timeout_s=600, max_unowned_s=300, session_timeout_s=45, soak_s=45)


@frozen(kw_only=True)
class RollSetting:
    """A setting of a search beside the plan, and its plans."""

    titles: tuple[str, ...]
    """Keys of ``ROLLS``."""
    sizes: tuple[int, ...] = (2,)
    """How many instances."""
    sees_leader: tuple[bool, ...] = (True,)
    workload: Workload = DEFAULT_WORKLOAD
    """Its topology is that of the plan."""
    batch: int = 1
    looks_between: bool = False
    budget: RollBudget = field(factory=RollBudget)


SETTINGS: Final[Mapping[str, RollSetting]] = {
    "": RollSetting(titles=_PLANS, sizes=(2, 3), sees_leader=(True, False)),
    "lag and commits": RollSetting(
        titles=("one bounce", "two bounces, stop and start", "offline"), budget=RollBudget(faults=0, troubles=1)
    ),
    "looks in between": RollSetting(
        titles=(_WARM_UP, "two bounces, stop and start", "offline"),
        workload=Workload(lag=True, ephemeral=True),
        looks_between=True,
        budget=RollBudget(answers=1, backs=0),
    ),
    "static members": RollSetting(
        titles=("one bounce", "two bounces, stop and start", "bridge release", "leader last, chained tasks"),
        workload=Workload(static=True),
    ),
    "two threads": RollSetting(
        titles=("one bounce", "two bounces, stop and start", "leader last"),
        workload=Workload(threads=2),
        budget=RollBudget(answers=1),
    ),
    "batches of two": RollSetting(titles=_PLANS, sizes=(3,), batch=2),
    "two faults": RollSetting(titles=("one bounce",), sizes=(3,), budget=RollBudget(faults=2, answers=0, backs=0)),
}
"""The further searches, by name. The first one is crossed with every plan; the others are not with each other."""


def _searched(setting: RollSetting) -> Iterator[tuple[str, int, bool]]:
    """Yield plan, size and whether the leader is seen; only where it has to be last that makes a difference."""
    for title, size, sees_leader in product(setting.titles, setting.sizes, setting.sees_leader):
        if sees_leader or ROLLS[title].is_leader_last:
            yield title, size, sees_leader


@frozen
class RollFinding:
    """A fault of a roll, and a shortest way to it."""

    violation: Violation
    actions: tuple[str, ...]


@frozen
class RollExploration:
    """The result of a search."""

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
    """How many instances."""
    sees_leader: bool
    setting: str = ""
    """A key of ``SETTINGS``."""
    budget: RollBudget = field()

    @budget.default
    def _budget(self) -> RollBudget:
        return SETTINGS[self.setting].budget

    @property
    def kind(self) -> RollKind:
        """The kind of plan."""
        return ROLLS[self.title]

    @property
    def name(self) -> str:
        """Its name: the kind of plan, the group, and what else is searched."""
        seen = "seen" if self.sees_leader else "not seen"
        return ", ".join(
            filter(None, [f"{ROLL} {self.title}", f"{self.members} members", f"leader {seen}", self.setting])
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.kind.origin} to {self.kind.target}"

    @property
    def workload(self) -> Workload:
        """The configuration of each instance."""
        return evolve(SETTINGS[self.setting].workload, topology=self.kind.topology)

    @property
    def plan(self) -> RollPlan:
        """The plan of ``advise``."""
        kind, threads = self.kind, self.workload.threads
        return RollPlan(
            name="app",
            origin=kind.origin,
            target=kind.target,
            verbs=kind.verbs,
            rounds=group_rounds(kind.advice),
            instances=tuple(RollInstance(name, threads) for name in ascii_uppercase[: self.members]),
            batch=SETTINGS[self.setting].batch,
            limits=LIMITS,
        )

    @property
    def model(self) -> RollModel:
        """The explored subject."""
        looks_between = SETTINGS[self.setting].looks_between
        return RollModel(self.plan, self.budget, self.sees_leader, self.workload, looks_between)

    def explore(self) -> RollExploration:
        """Explore every schedule."""
        model = self.model
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
    for name, setting in SETTINGS.items():
        for title, members, sees_leader in _searched(setting):
            yield RollSearch(title, members, sees_leader, name)
