"""Impact of an upgrade plan on a given group: every hop is explored, and then its restarts are simulated and measured.

Groups of up to five members are explored exactly, with one crash and one rebalance timeout in each schedule; of larger
groups five members are explored. Groups of any size are explored as well, with any number of faults, and the result
says which groups its verdict is about. The measured simulation has the group with its tasks and
standbys, restarted in the order A, B, C, ... without faults: rebalances, task movements, time without an owner. It
takes time with the square of the members, so of a group of more than ``MAX_PLAYED_MEMBERS`` members or
``MAX_PLAYED_TASKS`` tasks smaller ones are played, with as many tasks per member. If the figures of seven sizes are
values of one polynomial in the size, it gives those of the group; else they are those of a sample, and the result says
so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from attrs import asdict, evolve, frozen

from streams_assignor.spark_sim.advice.upgrade_guide import UpgradePath, derive_guide
from streams_assignor.spark_sim.model.coordinator import SESSION_TIMEOUT_MS
from streams_assignor.spark_sim.model.metrics import MAX_GROUP_METADATA_BYTES, MeasuredSimulation
from streams_assignor.spark_sim.model.scenario import Instance, Scenario, Step, make_step
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.packed import ExplorationResult, UpgradeCell, explore
from streams_assignor.spark_sim.packed.upgrade_result import MAX_EXPLORED_MEMBERS, group_size, upgrade_result
from streams_assignor.spark_sim.search.cell_result import ERROR, SAFE, UNKNOWN, UNSAFE, groups_in_words
from streams_assignor.spark_sim.search.sampling import member_names
from streams_assignor.upgrade.plans import Plan, Upgrade, all_plans

MAX_PLAYED_MEMBERS: Final = 20
MAX_PLAYED_TASKS: Final = 200
RESTART_MODES: Final = {
    "": "each member is back only after its session has timed out",
    "fast": "each member is back before its session has timed out",
    "leave": "each member leaves the group as it stops",
}
ASSUMPTIONS: Final = (
    "members restart one after the other, the next when the group has come to rest",
    "messages, assignment and restoring state take no time: what is counted is waiting for session timeouts",
    "each process has one thread, and all tasks are of one subtopology that reads one topic",
)
PERSISTENT_ASSUMPTION: Final = (
    "--state persistent: each process finds its state stores when it starts, and from 2.6.2, 2.7.1 and 2.8.0 on its "
    "process id, so that its tasks stay where they are"
)
EPHEMERAL_ASSUMPTION: Final = "--state ephemeral: each process starts without state, with a new process id"
DRAWS: Final = 10
"""How often a hop is played in which restarted processes have new process ids."""
_MOST_DRAWN: Final = 5_000
"""The members times tasks up to which a hop is played so often; a larger group is played twice."""
DRAWN_ASSUMPTION: Final = (
    "new process ids are random and decide which process gets which task: where two numbers are given, they are the "
    "least and the most of several draws"
)
STATIC_MEMBERSHIP_ASSUMPTION: Final = "explored were members without group.instance.id; only what is played has it"


@frozen
class GroupProfile:
    """The group that a plan is for."""

    members: int = 3
    workload: Workload = DEFAULT_WORKLOAD
    session_timeout_s: float = SESSION_TIMEOUT_MS / 1000

    @property
    def tasks(self) -> int:
        """The number of its tasks."""
        return len(self.workload.partitions_by_task)

    @property
    def played(self) -> GroupProfile:
        """The group that is played in full: this one, or a smaller sample with as many tasks per member.

        >>> sample = GroupProfile(100, workload_with(1_000, 0, static=False)).played
        >>> sample.members, sample.tasks
        (20, 200)
        """
        members = min(self.members, MAX_PLAYED_MEMBERS)
        tasks = min(math.ceil(self.tasks * members / self.members), MAX_PLAYED_TASKS)
        return evolve(self, members=members, workload=evolve(self.workload, partitions=tasks))


@frozen
class ExploredHop:
    """A hop of the plan as explored."""

    exploration: ExplorationResult
    group_size: str | None = None
    """The groups that the verdict is about (``UpgradeResult.group_size``)."""
    alternative: UpgradePath | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the keys of ``matrix.json``."""
        kept = ("from_release", "to_release", "plan", "upgrade_from", "verdict", "group_size", "members", "faults")
        more = (
            "states",
            "transitions",
            "schedules",
            "schedules_log10",
            "max_rebalances",
            "property",
            "message",
            "example",
        )
        result = upgrade_result(self.exploration, self.group_size)
        plain = result.as_record()
        explored = {"verdict": result.explored_verdict}  # the plan has the conditions
        return (
            {key: plain[key] for key in (*kept, *more)}
            | explored
            | {"groups": groups_in_words(self.group_size)}
            | {"instead": self.alternative and str(self.alternative)}
        )


PLAYED: Final = "played"
EXTRAPOLATED: Final = "extrapolated"
OF_SAMPLE: Final = "of a sample"


@frozen
class MeasuredHop:
    """A hop as simulated in one restart mode. Times are in seconds.

    A gap is a time in which some task has no owner. Of several draws of process ids the worst counts.
    """

    origin: str
    target: str
    plan: str
    how: str
    rebalances: int
    moved: int
    gaps: int
    longest_gap_s: float
    gaps_s: float
    """All gaps together."""
    task_seconds: float
    """The times without an owner, added over all tasks."""
    longest_s: float
    """The time without an owner of the task that has the most, all its gaps together."""
    member_bytes: int
    """The most that one member sent and received in a generation; of a sample, in the first one of the whole group."""
    group_bytes: int
    """The same of all members together."""
    least_rebalances: int
    """The rebalances of the best draw; as ``rebalances`` if there is only one."""
    least_moved: int
    figures: str = PLAYED
    """How counts and times are known: ``PLAYED``, ``EXTRAPOLATED`` from seven sizes, or ``OF_SAMPLE``."""
    violation: str | None = None
    example: str | None = None


@frozen
class Impact:
    """The impact of a plan on a group."""

    group: GroupProfile
    explored_hops: tuple[ExploredHop, ...]
    measured_hops: tuple[MeasuredHop, ...]

    @property
    def safe(self) -> bool:
        """Whether neither exploration nor simulation finds a violation in any hop.

        Simulation knows more: a static member that is back in time gets its old assignment, whatever its release.
        """
        return all(hop.exploration.safe for hop in self.explored_hops) and not any(
            hop.violation for hop in self.measured_hops
        )

    @property
    def verdict(self) -> str:
        """``unsafe`` if something is violated; ``error`` or ``unknown`` if an exploration failed or was cut short."""
        if any(hop.violation for hop in self.measured_hops):
            return UNSAFE
        verdicts = {upgrade_result(hop.exploration).explored_verdict for hop in self.explored_hops}
        return next((verdict for verdict in (UNSAFE, ERROR, UNKNOWN) if verdict in verdicts), SAFE)

    def _assumptions(self) -> Iterator[str]:
        yield from ASSUMPTIONS
        yield EPHEMERAL_ASSUMPTION if self.group.workload.ephemeral else PERSISTENT_ASSUMPTION
        if any(_draws(hop.exploration.cell.upgrade, self.group) > 1 for hop in self.explored_hops):
            yield DRAWN_ASSUMPTION
        if self.group.workload.static:
            yield STATIC_MEMBERSHIP_ASSUMPTION

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        played = self.group.played
        return {
            "members": self.group.members,
            "tasks": self.group.tasks,
            "sample": {"members": played.members, "tasks": played.tasks} if played != self.group else None,
            "explored": [hop.as_json() for hop in self.explored_hops],
            "measured": [asdict(hop) for hop in self.measured_hops],
            "assumed": [*self._assumptions()],
            "broker_limit_bytes": MAX_GROUP_METADATA_BYTES,
        }


def estimate_impact(hops: Iterable[Upgrade], group: GroupProfile) -> Impact:
    """Explore and measure every hop of a plan."""
    wanted = list(hops)
    checked = tuple(_explore_hop(hop, min(group.members, MAX_EXPLORED_MEMBERS)) for hop in wanted)
    return Impact(group, checked, tuple(measured for hop in wanted for measured in _measure_hop(hop, group)))


def _explore_hop(hop: Upgrade, members: int) -> ExploredHop:
    explored = explore(UpgradeCell(hop, members, wait_for_quiescence=True))
    return ExploredHop(explored, group_size(explored), None if explored.safe else _safe_alternative(hop))


def _safe_alternative(hop: Upgrade) -> UpgradePath:
    """Return the simplest safe path for the pair of a hop; explored with three members, in a second or two."""
    results = [
        upgrade_result(explore(UpgradeCell(plan, wait_for_quiescence=True)))
        for plan in all_plans(hop.origin, hop.target)
    ]
    return derive_guide(results)[hop.origin, hop.target].path


# -- played in full --------------------------------------------------------------------------------------------------


class _Figures(NamedTuple):
    """The figures of a mode in the order of ``MeasuredHop``; times are in simulated milliseconds."""

    rebalances: int
    moved: int
    gaps: int
    longest_gap: int
    all_gaps: int
    unowned: int
    longest: int
    least_rebalances: int
    least_moved: int


def _measure_hop(hop: Upgrade, group: GroupProfile) -> Iterator[MeasuredHop]:
    played = group.played
    instances = map(Instance.of, hop.sequence)
    whole_sizes = [_first_generation_bytes(instance, group) for instance in instances] if played != group else []
    for mode, restart in _restart_modes(hop).items():
        scenario = _scenario(hop, played, mode)
        runs = _runs(hop, played, mode)
        broken = next((violation for run in runs for violation in run.violations), None)
        sizes = whole_sizes or [(run.member_bytes, run.group_bytes) for run in runs]
        continued = None if broken or len(runs) > 1 else _continued_figures(hop, group, mode)
        figures = continued or _figures(runs)
        longest_gap, all_gaps, unowned, longest = (_scale_to_session_timeout(each, group) for each in figures[3:7])
        yield MeasuredHop(
            hop.origin.name,
            hop.target.name,
            hop.plan.value,
            restart,
            *figures[:3],
            *(longest_gap, all_gaps, unowned, longest),
            max(member for member, _ in sizes),
            max(whole for _, whole in sizes),
            *figures[7:],
            figures=PLAYED if played == group else EXTRAPOLATED if continued else OF_SAMPLE,
            violation=f"{broken.property} ({broken.text})" if broken else None,
            example=str(scenario) if broken else None,
        )


def _runs(hop: Upgrade, group: GroupProfile, mode: str) -> list[MeasuredSimulation]:
    scenario = _scenario(hop, group, mode)
    return [_play(scenario, seed) for seed in range(_draws(hop, group))]


def _figures(runs: Sequence[MeasuredSimulation]) -> _Figures:
    worst = max(runs, key=lambda run: (sum(run.unowned_ms.values()), sum(run.gaps_ms)))
    return _Figures(
        max(map(_rebalances, runs)),
        max(run.moved_tasks for run in runs),
        len(worst.gaps_ms),
        max(worst.gaps_ms, default=0),
        sum(worst.gaps_ms),
        sum(worst.unowned_ms.values()),
        max(max(run.unowned_ms.values(), default=0) for run in runs),
        min(map(_rebalances, runs)),
        min(run.moved_tasks for run in runs),
    )


def _continued_figures(hop: Upgrade, group: GroupProfile, mode: str) -> _Figures | None:
    """Return the figures of a large group that follow from those of small ones; None if they follow no polynomial."""
    small, steps = _small_groups(group)
    rows = [_figures(_runs(hop, each, mode)) for each in small]
    continued = [continue_polynomial(values, steps) for values in zip(*rows, strict=True)]
    return _Figures(*(each or 0 for each in continued)) if rows and None not in continued else None


def _small_groups(group: GroupProfile) -> tuple[list[GroupProfile], int]:
    """Return seven groups that may be played and grow evenly, and the steps from the first to this group.

    All have as many tasks per member as this group, and as it some tasks more, or none. No groups if there are none.
    """
    each, rest = divmod(group.tasks, group.members)
    for growth, more in ((1, 0), (1, 1), (2, 1)):
        first = MAX_PLAYED_MEMBERS - 6 * growth
        first -= (group.members - first) % growth
        steps = (group.members - first) // growth
        further = rest - more * steps
        alike = 0 < further < first if rest else further == 0
        if alike and steps > 6 and each * MAX_PLAYED_MEMBERS <= MAX_PLAYED_TASKS:
            sizes = ((first + growth * place, further + more * place) for place in range(7))
            workloads = ((members, evolve(group.workload, partitions=each * members + add)) for members, add in sizes)
            return [evolve(group, members=members, workload=workload) for members, workload in workloads], steps
    return [], 0


def continue_polynomial(values: Iterable[int], steps: int) -> int | None:
    """Return the value so many steps after the first of a polynomial of degree 3 or less; None if it is none.

    >>> continue_polynomial([0, 1, 8, 27, 64, 125, 216], 10), continue_polynomial([0, 1, 8, 27, 64, 125, 217], 10)
    (1000, None)
    """
    left, result, weight = list(values), 0, 1
    for degree in range(4):
        result += left[0] * weight
        weight = weight * (steps - degree) // (degree + 1)
        left = [after - before for before, after in pairwise(left)]
    return None if any(left) else result


def _first_generation_bytes(instance: Instance, group: GroupProfile) -> tuple[int, int]:
    """Return the most bytes of a member, and those of all members, as a group of one instance starts."""
    members = tuple((name, instance) for name in member_names(group.members))
    simulation = MeasuredSimulation(Scenario(members, (), group.workload)).begin()
    return simulation.member_bytes, simulation.group_bytes


def _play(scenario: Scenario, seed: int) -> MeasuredSimulation:
    simulation = MeasuredSimulation(scenario)
    simulation.process_id_seed = seed
    simulation.run()
    return simulation


def _rebalances(simulation: MeasuredSimulation) -> int:
    return simulation.coordinator.generation - 1


def _draws(hop: Upgrade, group: GroupProfile) -> int:
    """Return how often a hop is played: once if all processes keep their ids."""
    releases = [instance.release for instance in hop.sequence]
    if group.workload.has_persistent_state and all(release.behaviour.keeps_process_id for release in releases):
        return 1
    return DRAWS if group.members * len(group.workload.partitions_by_task) <= _MOST_DRAWN else 2


def _scale_to_session_timeout(simulated_ms: int, group: GroupProfile) -> float:
    """Return a time of the simulation, which waits only for session timeouts, scaled to the group's session timeout."""
    return round(simulated_ms * group.session_timeout_s / SESSION_TIMEOUT_MS, 3)


def _restart_modes(hop: Upgrade) -> dict[str, str]:
    """Return the restart modes: members that send LeaveGroup on close always do, and others never."""
    if hop.plan is Plan.OFFLINE:
        return {"": "all members stop, and start when their sessions have timed out"}
    leaves = [release.leaves_on_close for release in (hop.origin, hop.target)]
    return {
        mode: text
        for mode, text in RESTART_MODES.items()
        if (mode == "leave" and any(leaves)) or (mode != "leave" and not all(leaves))
    }


def _scenario(hop: Upgrade, group: GroupProfile, mode: str) -> Scenario:
    names = member_names(group.members)
    origin, *rounds = map(Instance.of, hop.sequence)
    members = tuple((name, origin) for name in names)
    if hop.plan is Plan.OFFLINE:
        steps: list[Step] = [make_step("stop", *names), make_step("start", *names, instance=rounds[0])]
    else:
        steps = [make_step("bounce", name, instance=instance, mode=mode) for instance in rounds for name in names]
    return Scenario(members, tuple(steps), group.workload)


def workload_with(tasks: int | None, standbys: int, *, static: bool, ephemeral: bool = False) -> Workload:
    """Return a workload with one stateful subtopology of so many tasks."""
    return evolve(
        DEFAULT_WORKLOAD,
        partitions=tasks or DEFAULT_WORKLOAD.partitions,
        standbys=standbys,
        static=static,
        ephemeral=ephemeral,
    )
