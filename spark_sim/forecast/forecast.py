"""The forecast of a step in a live group: rebalances, moved tasks, state to restore, time without an owner.

A group does not show all that decides: which member leads, exactly which release each runs. All possibilities that
repeat the last decision of the group are played, and those that end alike are one outcome. Without any there is no
forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from attrs import evolve, field, frozen

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.forecast.assumptions import (
    EITHER_PROTOCOL,
    SEVERAL_AT_A_TIME,
    assumptions,
    default_session_s,
)
from streams_assignor.spark_sim.forecast.live_simulation import NEW_PROCESS, LiveSimulation, RestoredStore
from streams_assignor.spark_sim.forecast.observation import ObservedGroup
from streams_assignor.spark_sim.forecast.operations import ADD, STOP, Operation
from streams_assignor.spark_sim.forecast.possibilities import (
    new_process_ids,
    next_leaders,
    possible_groups,
    with_standbys,
)
from streams_assignor.spark_sim.model.coordinator import SESSION_TIMEOUT_MS
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.settle import is_warming_up
from streams_assignor.upgrade.release_behaviour import RebalanceProtocol
from streams_assignor.upgrade.release_detection import format_ranges
from streams_assignor.upgrade.releases import Release


@frozen
class Possibility:
    """A possible value of the facts that a group does not show."""

    leader: str
    """The process of the leader."""
    next_leader: str | None
    """The process whose member leads when the leader has gone; None if it stays."""
    releases: tuple[Release, ...]
    """Those that the leader can be."""
    task_assignor: str | None = None
    """The task assignor of our own leaders; None if the leader is Kafka's."""
    rebalance_protocol: RebalanceProtocol = "cooperative"
    """The protocol of the leader."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "leader": self.leader,
            "next_leader": self.next_leader,
            "releases": format_ranges(self.releases),
            "task_assignor": self.task_assignor,
            "rebalance_protocol": self.rebalance_protocol,
        }


@frozen
class MovedTask:
    """A task that has another owner afterwards."""

    task: TaskId
    origin: str
    target: str | None
    """None: it has no owner."""


@frozen(kw_only=True)
class Outcome:
    """One way in which a step ends, and for which possibilities it does."""

    rebalances: int
    moved: tuple[MovedTask, ...]
    moves: int
    """How often a task changes its process, all rebalances together."""
    restored: tuple[RestoredStore, ...]
    unowned_s: Mapping[TaskId, float] = field(hash=False)
    """Seconds without an owner, of the tasks that have none for some time."""
    versions: tuple[int, ...]
    """The versions that members send afterwards."""
    violations: tuple[str, ...]
    """The failure."""
    at_rest: bool = True
    """Whether no rebalance is scheduled; if not, tasks still warm up, and what follows was not played."""
    probes_in_vain: bool = False
    """Whether probing rebalances go on for ever and move nothing."""
    when: tuple[Possibility, ...] = field(default=(), eq=False)
    """The possibilities with which it ends like this."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rebalances": self.rebalances,
            "moved": [{"task": str(row.task), "from": row.origin, "to": row.target} for row in self.moved],
            "moves": self.moves,
            "restored": [
                {"process": row.process, "task": str(row.task), "offsets": row.offsets, "bytes": row.bytes}
                for row in self.restored
            ],
            "unowned_seconds": {str(task): seconds for task, seconds in sorted(self.unowned_s.items())},
            "versions": list(self.versions),
            "violations": list(self.violations),
            "at_rest": self.at_rest,
            "probes_in_vain": self.probes_in_vain,
            "when": [possibility.as_json() for possibility in self.when],
        }


@frozen(kw_only=True)
class Forecast:
    """The effect of a step on a group."""

    group: str
    operation: Operation
    process: str
    """The process that it is about; several with commas."""
    tasks: int
    processes: int
    outcomes: tuple[Outcome, ...]
    assumptions: tuple[str, ...]

    @property
    def is_safe(self) -> bool:
        """Whether nothing goes wrong in any outcome."""
        return not any(outcome.violations for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "group": self.group,
            "step": str(self.operation),
            "process": self.process,
            "processes": self.processes,
            "tasks": self.tasks,
            "outcomes": [outcome.as_json() for outcome in self.outcomes],
            "assumed": list(self.assumptions),
        }


def forecast(
    observed: ObservedGroup,
    operation: Operation,
    *,
    now_ms: int,
    session_timeout_s: float | None = None,
    ephemeral: bool = False,
    known: Mapping[str, Instance] | None = None,
    on_played: Callable[[int], object] = lambda _number: None,
) -> Forecast:
    """Play a step on a group.

    Args:
        observed: The group.
        operation: The step.
        now_ms: The time, in milliseconds since 1970.
        session_timeout_s: ``session.timeout.ms`` of the members, in seconds; None: the default of their release.
        ephemeral: Whether a process that starts has no state of before.
        known: The configuration of each process, by name; None: what the group shows.
        on_played: Called with the number of possibilities that are played, after each.

    Raises:
        ForecastError: The step does not fit the group, or no possibility repeats its last decision.
    """
    stepped = (
        [NEW_PROCESS]
        if operation.verb == ADD
        else [process.name for process in operation.processes(observed.processes)]
    )
    observed = with_standbys(observed)
    outcomes: dict[Outcome, list[Possibility]] = {}
    session_s = session_timeout_s or default_session_s(observed)
    played = count(1)
    for group in possible_groups(observed, stepped, now_ms, known):
        for elected in next_leaders(group, operation, stepped):
            possibility = Possibility(
                group.leading, elected, group.releases, group.task_assignor, group.rebalance_protocol
            )
            for new_ids in new_process_ids(group, operation, stepped, ephemeral=ephemeral):
                simulation = group.continued(now_ms, new_ids, ephemeral=ephemeral)
                simulation.elect(elected)
                for together in _schedules(stepped):
                    outcome = _play(simulation.fork(), operation, together, group.instances, session_s)
                    outcomes.setdefault(outcome, []).append(possibility)
                    on_played(next(played))
    several = [SEVERAL_AT_A_TIME] if len(stepped) > 1 else []
    protocols = {possibility.rebalance_protocol for when in outcomes.values() for possibility in when}
    either = [EITHER_PROTOCOL] if len(protocols) > 1 else []
    return Forecast(
        group=observed.group.described.name,
        operation=operation,
        process=", ".join(stepped),
        tasks=len(observed.tasks),
        processes=len(observed.processes),
        outcomes=tuple(evolve(outcome, when=tuple(_join(when))) for outcome, when in outcomes.items()),
        assumptions=(*assumptions(observed, session_timeout_s, ephemeral=ephemeral), *either, *several),
    )


def _schedules(stepped: Sequence[str]) -> Iterator[Sequence[Sequence[str]]]:
    """Yield in which the processes of a step are done: all at a time, or one after the other has come to rest."""
    yield [stepped]
    if len(stepped) > 1:
        yield [[process] for process in stepped]


def _join(when: Iterable[Possibility]) -> Iterator[Possibility]:
    """Join the possibilities that differ in the release of the leader only."""
    releases: dict[Possibility, dict[Release, None]] = {}
    for possibility in when:
        releases.setdefault(evolve(possibility, releases=()), {}).update(dict.fromkeys(possibility.releases))
    for place, alike in releases.items():
        yield evolve(place, releases=tuple(sorted(alike, key=lambda release: release.number)))


# -- playing ---------------------------------------------------------------------------------------------------------


def _play(
    simulation: LiveSimulation,
    operation: Operation,
    schedule: Sequence[Sequence[str]],
    instances: Mapping[str, Instance],
    session_s: float,
) -> Outcome:
    before, generation = dict(simulation.owner_by_task), simulation.coordinator.generation
    first = next(iter(instances.values()))
    for together in schedule:
        if operation.verb == STOP or operation.after_session:
            simulation.stop(*together)
        if operation.verb != STOP:
            simulation.start({name: operation.instance or instances.get(name, first) for name in together})
    simulation.finish()
    after = simulation.owner_by_task
    return Outcome(
        rebalances=simulation.coordinator.generation - generation,
        moved=tuple(
            MovedTask(task, owner, after.get(task))
            for task, owner in sorted(before.items())
            if after.get(task) != owner
        ),
        moves=simulation.moved_tasks,
        restored=tuple(sorted(simulation.restored, key=lambda row: (row.process, row.task))),
        unowned_s={
            task: round(ms * session_s / SESSION_TIMEOUT_MS, 3) for task, ms in sorted(simulation.unowned_ms.items())
        },
        versions=tuple(sorted({member.assignor.used_version for member in simulation.running_members})),
        violations=simulation.violation_texts,
        at_rest=not is_warming_up(simulation),
        probes_in_vain=simulation.probes_in_vain,
    )
