"""Search among coarse schedules of simulated members for what packed states cannot show: tasks, threads, topics, lags.

An action is one thing that the operator or a fault does: a member stops, starts as what it was or as what comes next,
is restarted within its session timeout, a source topic is deleted, or a member requests the application's shutdown.
The group settles after each, except that the first two may also happen at once. The search is breadth first, so its
first example is a shortest one, and a search without an example has played *all* schedules of so many steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.model.processes import SHUTDOWN_REQUEST_SINCE
from streams_assignor.spark_sim.model.scenario import Instance, Scenario, Step, make_step
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.regressions._extra_properties import ExtraPropertySimulation
from streams_assignor.spark_sim.search.bfs import walk
from streams_assignor.spark_sim.search.model import BaseModel
from streams_assignor.spark_sim.search.sampling import member_names

HOLD: Final = Step("hold")
SETTLE: Final = Step("settle")
ELECTION_MODES: Final = ("oldest", "newest")


@frozen
class CoarseSearch:
    """The subject and the property of a search."""

    instance_sequence: tuple[Instance, ...]
    """The first instance of every member, and the following ones, one after the other."""
    violated_property: str
    error_code: str = ""
    """The code of the violation; "" for any."""
    workload: Workload = DEFAULT_WORKLOAD
    members: int = 2
    max_steps: int = 4
    """The steps of the longest schedules; two steps at once count as two."""


@frozen
class CoarseSearchResult:
    """The outcome of a search."""

    schedules: int
    """How many schedules were played, the example included."""
    example: Scenario | None = None
    """A shortest schedule that violates the property as wanted; None if there is none."""
    message: str = ""


class CoarseModel(BaseModel[Simulation, tuple[Step, ...]]):
    """The coarse schedules of a search. A state is a simulation with the steps that it has played.

    The two steps that happen at once are two transitions: the state between them is held, and no schedule ends there.
    """

    def __init__(self, search: CoarseSearch) -> None:
        self._search = search

    def initial_states(self) -> Iterator[Simulation]:
        """Yield the settled group, once for each election rule."""
        members = tuple((name, self._search.instance_sequence[0]) for name in member_names(self._search.members))
        for rule in ELECTION_MODES:
            steps = () if rule == ELECTION_MODES[0] else (Step("elect", mode=rule),)
            yield ExtraPropertySimulation(Scenario(members, (), self._search.workload)).begin().after(*steps)

    def actions(self, state: Simulation) -> Iterator[tuple[Step, ...]]:
        """Yield what may happen to a group next."""
        for step in _enabled_steps(self._search, state):
            yield (step, SETTLE) if state.held else (step,)
        if self._search.max_steps > 1 and all(step.verb == "elect" for step in state.scenario.steps):
            for step in _enabled_steps(self._search, state):
                yield HOLD, step

    def next(self, state: Simulation, action: tuple[Step, ...]) -> Simulation:
        """Return the simulation after these steps."""
        return state.after(*action)


def coarse_bfs(search: CoarseSearch) -> CoarseSearchResult:
    """Play all schedules, shorter ones first, until one violates the property as wanted."""
    played = 0
    for simulation in walk(CoarseModel(search), max_depth=search.max_steps, rank=lambda state: state.held):
        if simulation.held:
            continue
        played += 1
        if (message := _violation_message(simulation, search)) is not None:
            return CoarseSearchResult(played, simulation.scenario, message)
    return CoarseSearchResult(played)


def _enabled_steps(search: CoarseSearch, state: Simulation) -> Iterator[Step]:
    """Yield the steps that may be next: at most one topic is deleted, and nothing follows a shutdown request."""
    before = {step.verb for step in state.scenario.steps}
    if "shutdown" in before:
        return
    for name in member_names(search.members):
        instance = next(member.instance for member in state.members.values() if member.process == name)
        place = search.instance_sequence.index(instance)
        onward = search.instance_sequence[place + 1 : place + 2]
        if state.is_process_running(name):
            yield make_step("stop", name)
            for next_instance in (instance, *onward):
                yield make_step("bounce", name, instance=next_instance, mode="fast")
            if instance.release.number >= SHUTDOWN_REQUEST_SINCE:
                yield make_step("shutdown", name)
        else:
            yield make_step("start", name)
            yield from (make_step("start", name, instance=next_instance) for next_instance in onward)
    if "lose" not in before:
        yield make_step("lose", min(search.workload.stream_topology.external_topics))


def _violation_message(simulation: Simulation, search: CoarseSearch) -> str | None:
    """Return the text of the wanted violation; None if the simulation does not have it."""
    simulation.finish()
    violations = (
        violation
        for violation in (*simulation.violations, *simulation.remarks)
        if violation.property == search.violated_property
    )
    return next((str(violation) for violation in violations if search.error_code in {"", violation.code}), None)
