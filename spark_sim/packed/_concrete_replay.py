"""Replay of the packed model's counterexamples with simulated members, which have real assignors and bytes.

Packed states know no tasks, so a second owner is only suspected there: one path to a suspected state is replayed of the
many that lead to it, and on most of them the leader moves no task that matters. ``find_second_owner`` therefore plays
many coarse schedules: a member is bounced, and the group settles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from attrs import evolve

from streams_assignor.spark_sim.model.properties import check_always
from streams_assignor.spark_sim.model.scenario import GroupAction, Instance, Scenario, ScenarioError, Step, make_step
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import SINGLE_OWNER
from streams_assignor.spark_sim.search.bfs import walk
from streams_assignor.spark_sim.search.model import BaseModel
from streams_assignor.spark_sim.search.sampling import member_names

MAX_BOUNCES: Final = 1_000
"""Enough for all schedules of three members that are bounced once, with either kind of restart."""


def both_kinds_of_restart(scenario: Scenario) -> tuple[Scenario, ...]:
    """Return the scenario with processes that find their state and process id again, and with those that do not.

    Packed states know neither, so both may be on the path to a state.
    """
    workload = scenario.workload
    if not workload.has_persistent_state:
        return (scenario,)
    return scenario, evolve(scenario, workload=evolve(workload, ephemeral=True))


def replay_confirms(scenario: Scenario, violated_property: str) -> bool:
    """Whether a scenario can be played with simulated members, and violates a property with them too."""
    try:
        simulations = [Simulation(variant).run() for variant in both_kinds_of_restart(scenario)]
    except ScenarioError:
        return False
    return any(
        violation.property == violated_property for simulation in simulations for violation in simulation.violations
    )


def replay_for_second_owner(scenario: Scenario) -> Scenario | None:
    """Let members take what a leader has just assigned, eager ones first, until a task has two owners.

    Returns:
        The scenario up to there; None if no task gets a second owner, or if the scenario cannot be played.
    """
    return next(filter(None, map(_replay_for_second_owner, both_kinds_of_restart(scenario))), None)


def _replay_for_second_owner(scenario: Scenario) -> Scenario | None:
    simulation = Simulation(scenario).begin()
    try:
        for step in scenario.steps:
            simulation.play(step)
    except ScenarioError:
        return None
    taken: list[Step] = []
    for member in sorted(simulation.running_members, key=lambda member: member.cooperative):
        take = GroupAction("take", member.name)
        if take not in simulation.enabled_actions():
            continue
        simulation.apply(take)
        taken.append(make_step(take.verb, take.member))
        if any(violation.property == SINGLE_OWNER for violation in check_always(simulation)):
            return evolve(scenario, steps=(*scenario.steps, *taken))
    return None


class _BounceState(NamedTuple):
    """A simulation, and how often each member has been bounced."""

    simulation: Simulation
    rounds_done: tuple[int, ...]


class BounceModel(BaseModel[_BounceState, tuple[Step, ...]]):
    """All orders of bounces, slow or fast, with every successor of a leader that is bounced.

    No member is bounced for the second time before every member has been bounced once.
    """

    def __init__(self, instance_sequences: Sequence[Sequence[Instance]]) -> None:
        self._sequences = instance_sequences
        self._names = member_names(len(instance_sequences))

    def initial_states(self) -> Iterator[_BounceState]:
        """Yield the settled group as what its members are at first, once for each kind of restart."""
        first = (sequence[0] for sequence in self._sequences)
        for scenario in both_kinds_of_restart(Scenario(tuple(zip(self._names, first, strict=True)))):
            yield _BounceState(Simulation(scenario).begin(), (0,) * len(self._names))

    def actions(self, state: _BounceState) -> Iterator[tuple[Step, ...]]:
        """Yield the bounce of each member that has not finished the round, after the election that it leads to."""
        done = min(state.rounds_done)
        if done + 1 == len(self._sequences[0]):
            return
        for name, sequence, rounds in zip(self._names, self._sequences, state.rounds_done, strict=True):
            for mode in ("", "fast") if rounds == done else ():
                bounce = make_step("bounce", name, instance=sequence[done + 1], mode=mode)
                for election in _leader_elections(state.simulation, name, mode):
                    yield *election, bounce

    def next(self, state: _BounceState, action: tuple[Step, ...]) -> _BounceState:
        """Return the group after a bounce."""
        (bounced,) = action[-1].names
        rounds = zip(self._names, state.rounds_done, strict=True)
        return _BounceState(state.simulation.after(*action), tuple(done + (name == bounced) for name, done in rounds))


def find_second_owner(
    instance_sequences: Sequence[Sequence[Instance]], max_bounces: int = MAX_BOUNCES
) -> Scenario | None:
    """Return a shortest schedule of bounces after which a task has had two owners.

    Args:
        instance_sequences: For each member what it runs as, one instance after the other; all of the same length.
        max_bounces: No further schedule is extended once so many bounces have been played.

    Returns:
        The schedule; None if no schedule that was played has a second owner.
    """
    for state in walk(BounceModel(instance_sequences), max_states=max_bounces):
        if any(violation.property == SINGLE_OWNER for violation in state.simulation.violations):
            return state.simulation.scenario
    return None


def _leader_elections(simulation: Simulation, process: str, mode: str) -> Iterator[tuple[Step, ...]]:
    """Yield the elections that a bounce may lead to; one without a step if the member does not lead.

    A member that is back before its session times out may be elected again.
    """
    if simulation.members[process].member_id != simulation.coordinator.leader:
        yield ()
        return
    for successor in simulation.members:
        if successor != process or mode == "fast":
            yield (make_step("elect", successor),)
