"""What a step does to a live group: rebalances, moved tasks, state to restore, time without an owner.

A group does not show all that decides: which member leads, exactly which release each runs. All possibilities that
repeat the last decision of the group are played, and those that end alike are one outcome. Without any there is no
forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from random import Random
from typing import Any, Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import FatalError, StreamsAssignor
from assignor.groups import InspectedMember
from assignor.groups._release_detection import format_ranges
from assignor.groups.decoded import assignment_seen
from assignor.groups.standbys import StandbyKind
from spark_sim.forecast.live_simulation import NEW_PROCESS, LiveSimulation, ObservedWorkload, keeps_process_id
from spark_sim.forecast.observation import ForecastError, ObservedGroup, ObservedProcess, possible_releases
from spark_sim.forecast.operations import ADD, STOP, Operation
from spark_sim.model.coordinator import SESSION_TIMEOUT_MS
from spark_sim.model.scenario import Instance
from subscription_codec import TaskId
from upgrade.release_behaviour import ReleaseBehaviour
from upgrade.releases import Release

MOST_LEADERS: Final = 8
"""The processes up to which each of them is played as the leader."""
DRAWS: Final = 3
"""How many process ids are drawn at random, beside one for each place in the order of the ids."""
_HALF: Final = 1 << 127
_SESSION_S_BEFORE_3_0: Final = 10.0
_SESSION_S: Final = 45.0
_LONGER_SESSION_SINCE: Final = (3, 0)
ASSUMPTIONS: Final = (
    "members that stop are back before their sessions time out, unless they are stopped for good",
    "stores of active tasks, and of standbys while no probing rebalance is scheduled, are caught up",
    "messages and restoring take no time: what is counted is waiting for session timeouts",
)


@frozen
class Possibility:
    """What a group does not show, and may be."""

    leader: str
    """The process of the leader."""
    next_leader: str | None
    """The process whose member leads when the leader has gone; None if it stays."""
    releases: tuple[Release, ...]
    """Those that the leader can be."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"leader": self.leader, "next_leader": self.next_leader, "releases": format_ranges(self.releases)}


@frozen
class MovedTask:
    """A task that has another owner afterwards."""

    task: TaskId
    origin: str
    target: str | None
    """None: it has no owner."""


@frozen
class RestoredStore:
    """A store that a process has to restore."""

    process: str
    task: TaskId
    offsets: int | None
    """At least so many; None: no member has reported an offset of the task."""


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
    """What goes wrong."""
    when: tuple[Possibility, ...] = field(default=(), eq=False)
    """The possibilities with which it ends like this."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rebalances": self.rebalances,
            "moved": [{"task": str(row.task), "from": row.origin, "to": row.target} for row in self.moved],
            "moves": self.moves,
            "restored": [
                {"process": row.process, "task": str(row.task), "offsets": row.offsets} for row in self.restored
            ],
            "unowned_seconds": {str(task): seconds for task, seconds in sorted(self.unowned_s.items())},
            "versions": list(self.versions),
            "violations": list(self.violations),
            "when": [possibility.as_json() for possibility in self.when],
        }


@frozen(kw_only=True)
class Forecast:
    """What a step does to a group."""

    group: str
    operation: Operation
    process: str
    """The process that it is about."""
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
    on_played: Callable[[int], object] = lambda _number: None,
) -> Forecast:
    """Play a step on a group.

    Args:
        observed: The group.
        operation: The step.
        now_ms: The time, in milliseconds since 1970.
        session_timeout_s: ``session.timeout.ms`` of the members, in seconds; None: the default of their release.
        ephemeral: Whether a process that starts has no state of before.
        on_played: Called with the number of possibilities that are played, after each.

    Raises:
        ForecastError: The step does not fit the group, or no possibility repeats its last decision.
    """
    process = NEW_PROCESS if operation.verb == ADD else operation.process(observed).name
    observed = evolve(observed, config=evolve(observed.config, num_standby_replicas=_standbys(observed)))
    workload = ObservedWorkload.of(observed, ephemeral=ephemeral)
    outcomes: dict[Outcome, list[Possibility]] = {}
    session_s = session_timeout_s or _default_session_s(observed)
    played = count(1)
    for leader, instances in _possibilities(observed, process, now_ms):
        for elected in _next_leaders(observed, operation, leader, process):
            name = _process_of(observed, leader)
            possibility = Possibility(name, elected, _releases_like(leader, instances[name]))
            for new_id in _new_process_ids(workload, operation, process, instances):
                simulation = _continued(workload, instances, leader, now_ms, new_id)
                simulation.elect(elected)
                outcome = _play(simulation, operation, process, instances, session_s)
                outcomes.setdefault(outcome, []).append(possibility)
                on_played(next(played))
    return Forecast(
        group=observed.group.described.name,
        operation=operation,
        process=process,
        tasks=len(observed.tasks),
        processes=len(observed.processes),
        outcomes=tuple(evolve(outcome, when=tuple(_join(when))) for outcome, when in outcomes.items()),
        assumptions=(
            *ASSUMPTIONS,
            *(() if session_timeout_s else (f"session.timeout.ms is {session_s:.0f} s, the default of the release",)),
            *_state_assumptions(observed, ephemeral=ephemeral),
        ),
    )


# -- what the group does not show ------------------------------------------------------------------------------------


def _possibilities(
    observed: ObservedGroup, process: str, now_ms: int
) -> Iterator[tuple[InspectedMember, Mapping[str, Instance]]]:
    """Yield the possible leaders with what the processes run: those that repeat the last decision of the group."""
    tried: list[str | None] = []
    for leader in _possible_leaders(observed, process):
        for release in _by_behaviour(possible_releases(leader)):
            instances = {
                process.name: _instance(process.threads[0], release.behaviour) for process in observed.processes
            }
            tried.append(_difference(observed, leader, instances[_process_of(observed, leader)], now_ms))
            if tried[-1] is None:
                yield leader, instances
    if None in tried:
        return
    raise ForecastError(
        f"group {observed.group.described.name}: no release and leader repeats its last assignment "
        f"({min(filter(None, tried), key=len, default='no member can be the leader')}): the members have a "
        "configuration that the group does not show (num.standby.replicas, acceptable.recovery.lag, rack.aware..., a "
        "task assignor of their own), or subtopologies have state that no member has reported; --config names the first"
    )


def _possible_leaders(observed: ObservedGroup, process: str) -> Iterator[InspectedMember]:
    """Yield one member of each process that may lead: the process that schedules a rebalance, or each."""
    leading = observed.group.leading_process
    for candidate in _representatives(observed, process):
        if leading in (None, str(candidate.process_id)):
            yield candidate.threads[0]


def _representatives(observed: ObservedGroup, process: str) -> Sequence[ObservedProcess]:
    """Return all processes of a small group; of a large one the process of a step and one other."""
    if len(observed.processes) <= MOST_LEADERS:
        return observed.processes
    others = (other for other in observed.processes if other.name != process)
    return [*(other for other in observed.processes if other.name == process), next(others)]


def _next_leaders(
    observed: ObservedGroup, operation: Operation, leader: InspectedMember, process: str
) -> Iterator[str | None]:
    """Yield the processes that may lead when the leader has gone; None if it stays. A static leader comes back."""
    goes = operation.verb != ADD and _process_of(observed, leader) == process
    is_empty = operation.verb == STOP and len(observed.processes) == 1
    if not goes or is_empty or (leader.described.group_instance_id and operation.verb != STOP):
        yield None
        return
    for candidate in _representatives(observed, process):
        if operation.verb != STOP or candidate.name != process:
            yield candidate.name


def _join(when: Iterable[Possibility]) -> Iterator[Possibility]:
    """Join the possibilities that differ in the release of the leader only."""
    releases: dict[tuple[str, str | None], dict[Release, None]] = {}
    for possibility in when:
        place = possibility.leader, possibility.next_leader
        releases.setdefault(place, {}).update(dict.fromkeys(possibility.releases))
    for (leader, next_leader), alike in releases.items():
        yield Possibility(leader, next_leader, tuple(sorted(alike, key=lambda release: release.number)))


def _by_behaviour(releases: Iterable[Release]) -> Iterable[Release]:
    """Return the newest release of each behaviour."""
    return {release.behaviour: release for release in releases}.values()


def _instance(member: InspectedMember, behaviour: ReleaseBehaviour) -> Instance:
    """Return what a member runs: a release of this behaviour if it can be, else the newest that it can be."""
    candidates = possible_releases(member)
    alike = [release for release in candidates if release.behaviour == behaviour]
    release = (alike or candidates)[-1]
    if release in member.subscription.candidate_releases.unpinned:
        return Instance(release)
    used = member.subscription.used_version
    return Instance(release, next(value for value in release.upgrade_from if release.pinned_version(value) == used))


def _difference(observed: ObservedGroup, leader: InspectedMember, instance: Instance, now_ms: int) -> str | None:
    """Return how a leader's assignment differs from the last one of the group; None if the tasks are equal."""
    config = evolve(observed.config, upgrade_from=instance.upgrade_from)
    assignor = StreamsAssignor(
        observed.topology, config, process_id=leader.subscription.process_id, release=instance.release
    )
    members = observed.group.members
    subscriptions = {member.described.member_id: member.described.subscription for member in members}
    try:
        assignments = assignor.assign(observed.cluster(now_ms), subscriptions)
    except FatalError as error:
        return f"{instance} fails: {error}"
    differing = 0
    for member in members:
        ours, theirs = assignment_seen(assignments[member.described.member_id], streams=True), member.assignment
        differing += (ours.active, ours.standbys, ours.used_version) != (
            theirs.active,
            theirs.standbys,
            theirs.used_version,
        )
    return f"{instance} gives {differing} of {len(members)} members other tasks" if differing else None


def _standbys(observed: ObservedGroup) -> int:
    """Return ``num.standby.replicas``: as configured, or as many as the tasks with standbys have."""
    configured = observed.config.num_standby_replicas
    kinds = observed.group.standby_kinds
    replicas: dict[TaskId, int] = {}
    for member in observed.group.members:
        for task in member.assignment.standbys:
            if kinds[task] is StandbyKind.STANDBY:
                replicas[task] = replicas.get(task, 0) + 1
    return configured or max(replicas.values(), default=0)


def _process_of(observed: ObservedGroup, member: InspectedMember) -> str:
    return next(process.name for process in observed.processes if member in process.threads)


def _releases_like(member: InspectedMember, instance: Instance) -> tuple[Release, ...]:
    """Return the releases that a member can be and that behave alike."""
    return tuple(release for release in possible_releases(member) if release.behaviour == instance.release.behaviour)


# -- playing ---------------------------------------------------------------------------------------------------------


def _new_process_ids(
    workload: ObservedWorkload, operation: Operation, process: str, instances: Mapping[str, Instance]
) -> Sequence[UUID]:
    """Return process ids of which one is like the one that a step makes: assignors go by their order.

    There is one for each place among those of the group; in a large group, some of them. Up to 2.8 the order of hash
    codes counts, too, so others are drawn.
    """
    started = operation.instance or instances.get(process)
    keeps = started is not None and keeps_process_id(started.release) and workload.has_persistent_state
    if operation.verb == STOP or (keeps and operation.verb != ADD):
        return [UUID(int=0)]
    taken = sorted(_as_number(process.process_id) for process in workload.observed.processes)
    places = [(below + above) // 2 for below, above in pairwise([-_HALF, *taken, _HALF])]
    step = max(1, len(places) // MOST_LEADERS)
    drawn = (Random(number).getrandbits(128) for number in range(DRAWS))
    return [*(UUID(int=place % (2 * _HALF)) for place in places[::step]), *(UUID(int=bits) for bits in drawn)]


def _as_number(process_id: UUID) -> int:
    """Return the number by which Java orders ids: one with a sign."""
    return process_id.int - 2 * _HALF if process_id.int >= _HALF else process_id.int


def _continued(
    workload: ObservedWorkload,
    instances: Mapping[str, Instance],
    leader: InspectedMember,
    now_ms: int,
    new_process_id: UUID,
) -> LiveSimulation:
    try:
        return LiveSimulation(workload, instances, leader, now_ms, new_process_id)
    except FatalError as error:
        name = workload.observed.group.described.name
        raise ForecastError(f"group {name}: a member fails on its assignment: {error}") from error


def _play(
    simulation: LiveSimulation,
    operation: Operation,
    process: str,
    instances: Mapping[str, Instance],
    session_s: float,
) -> Outcome:
    before, generation = dict(simulation.owner_by_task), simulation.coordinator.generation
    if operation.verb == STOP:
        simulation.stop(process)
    else:
        first = next(iter(instances.values()))
        simulation.start(process, operation.instance or instances.get(process, first))
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
        restored=tuple(RestoredStore(*place, offsets) for place, offsets in sorted(simulation.restored.items())),
        unowned_s={
            task: round(ms * session_s / SESSION_TIMEOUT_MS, 3) for task, ms in sorted(simulation.unowned_ms.items())
        },
        versions=tuple(sorted({member.assignor.used_version for member in simulation.running_members})),
        violations=tuple(f"{violation.property} ({violation.text})" for violation in simulation.violations),
    )


def _default_session_s(observed: ObservedGroup) -> float:
    """Return the longest default of ``session.timeout.ms`` that a member may have."""
    releases = (release for member in observed.group.members for release in possible_releases(member))
    longer = any(release.number >= _LONGER_SESSION_SINCE for release in releases)
    return _SESSION_S if longer else _SESSION_S_BEFORE_3_0


def _state_assumptions(observed: ObservedGroup, *, ephemeral: bool) -> Iterator[str]:
    stateful = [
        str(number) for number, subtopology in enumerate(observed.topology.subtopologies) if subtopology.stateful
    ]
    if stateful:
        yield f"subtopologies with state, as far as members report stores: {', '.join(stateful)}"
        yield (
            "a process that starts has no state of before"
            if ephemeral
            else ("a process that starts finds its state stores, and since 2.6.2, 2.7.1 and 2.8.0 its process id")
        )
    else:
        yield "no subtopology has state: no member has reported a store"
