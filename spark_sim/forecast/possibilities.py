"""The possibilities of a live group that it does not show: which member leads, what each runs, the next process ids.

A group shows the input and the result of its last decision. A possibility repeats that decision; without any there
is no forecast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from random import Random
from typing import Final
from uuid import UUID

from attrs import evolve, frozen

from streams_assignor import FatalError, StreamsAssignor
from streams_assignor.codec import TaskId
from streams_assignor.groups import InspectedMember
from streams_assignor.groups.decoded import AssignmentSeen, assignment_seen
from streams_assignor.groups.standbys import StandbyKind
from streams_assignor.spark_sim.forecast.live_simulation import LiveSimulation, ObservedWorkload, keeps_process_id
from streams_assignor.spark_sim.forecast.observation import (
    ForecastError,
    ObservedGroup,
    ObservedProcess,
    possible_releases,
)
from streams_assignor.spark_sim.forecast.operations import ADD, STOP, Operation
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.task_assignor import BUILT_IN
from streams_assignor.task_assignors.java_order import bucket_order, spread, string_hash
from streams_assignor.upgrade.release_behaviour import BOTH, COOPERATIVE, EAGER, RebalanceProtocol, ReleaseBehaviour
from streams_assignor.upgrade.releases import OURS, Release
from streams_assignor.upgrade.upgrade_from import EAGER_LINES

MOST_LEADERS: Final = 8
"""The processes up to which each of them is played as the leader."""
DRAWS: Final = 3
"""How many process ids are drawn at random, beside one for each place in the order of the ids."""
DRAWS_OF_SEVERAL: Final = 16
"""How many sets of process ids are drawn for several processes at a time."""
_HALF: Final = 1 << 127


@frozen(kw_only=True, eq=False)
class PossibleGroup:
    """The group as it may be: it repeats its last decision."""

    observed: ObservedGroup
    leader: InspectedMember
    instances: Mapping[str, Instance]
    """Process => what it runs."""
    task_assignor: str | None
    """The task assignor of our own leaders, a key of ``task_assignor.BUILT_IN``; None if the leader is Kafka's."""

    @property
    def rebalance_protocol(self) -> RebalanceProtocol:
        """The protocol of the leader."""
        instance = self.instances[self.leading]
        return instance.release.rebalance_protocol(instance.upgrade_from)

    @property
    def leading(self) -> str:
        """The process of the leader."""
        return process_of(self.observed, self.leader)

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases that the leader can be, which behave alike."""
        behaviour = self.instances[self.leading].release.behaviour
        return tuple(release for release in possible_releases(self.leader) if release.behaviour == behaviour)

    def continued(self, now_ms: int, new_process_ids: Mapping[str, UUID], *, ephemeral: bool) -> LiveSimulation:
        """Return a simulation that continues it; ``ForecastError`` if a member fails on what it was sent."""
        workload = ObservedWorkload.of(self.observed, ephemeral=ephemeral, task_assignor_name=self.task_assignor)
        try:
            return LiveSimulation(workload, self.instances, self.leader, now_ms, new_process_ids)
        except FatalError as error:
            name = self.observed.group.described.name
            raise ForecastError(f"group {name}: a member fails on its assignment: {error}") from error


def possible_groups(
    observed: ObservedGroup, stepped: Sequence[str], now_ms: int, known: Mapping[str, Instance] | None = None
) -> Iterator[PossibleGroup]:
    """Yield the group as it may be: with the leaders that repeat its last decision, and what the processes run.

    Args:
        observed: The group, with its standbys.
        stepped: The processes of a step: in a large group the first of them is among the leaders that are tried.
        now_ms: The time, in milliseconds since 1970.
        known: The configuration of each process, up to the patch level; if that does not repeat the last decision, the
            group decides.

    Raises:
        ForecastError: There is none.
    """
    tried: list[str | None] = []
    for by_process in (False, True):
        for leader in _possible_leaders(observed, stepped):
            leading = process_of(observed, leader)
            for instances in _known_instances(leader, leading, known) if known else _shown_instances(observed, leader):
                instance = instances[leading]
                for name in BUILT_IN if instance.release == OURS else (None,):
                    tried.append(difference(observed, leader, instance, name, now_ms, by_process=by_process))
                    if tried[-1] is None:
                        yield PossibleGroup(observed=observed, leader=leader, instances=instances, task_assignor=name)
        if None in tried:
            return
    if known:
        yield from possible_groups(observed, stepped, now_ms)
        return
    raise ForecastError(
        f"group {observed.group.described.name}: no release and leader repeats its last assignment "
        f"({min(filter(None, tried), key=len, default='no member can be the leader')}): the members have a "
        "configuration that the group does not show (num.standby.replicas, acceptable.recovery.lag, rack.aware..., a "
        "task assignor of their own), or subtopologies have state that no member has reported; --config names the first"
    )


def _shown_instances(observed: ObservedGroup, leader: InspectedMember) -> Iterator[Mapping[str, Instance]]:
    """Yield what the processes may run, as their members show it: each protocol, and each release of the leader."""
    for protocol in possible_protocols(observed):
        eager = protocol in EAGER
        for release in _by_behaviour(_candidates(leader, eager=eager)):
            yield {
                process.name: _instance(process.threads[0], release.behaviour, eager=eager)
                for process in observed.processes
            }


def _known_instances(
    leader: InspectedMember, leading: str, known: Mapping[str, Instance]
) -> Iterator[Mapping[str, Instance]]:
    """Yield what the processes are said to run; the leader with each patch level that it can be."""
    for instance in with_patch_levels(leader, known[leading]):
        yield {**known, leading: instance}


def with_patch_levels(member: InspectedMember, instance: Instance) -> Iterator[Instance]:
    """Yield what a member is said to run, then the same with other patch levels that it can be and that differ."""
    yield instance
    said = instance.release
    for release in _by_behaviour(release for release in possible_releases(member) if release.line == said.line):
        if release.behaviour != said.behaviour:
            yield evolve(instance, release=release)


def _possible_leaders(observed: ObservedGroup, stepped: Sequence[str]) -> Iterator[InspectedMember]:
    """Yield one member of each process that may lead: the process that schedules a rebalance, or each."""
    leading = observed.group.leading_process
    for candidate in _representatives(observed, stepped):
        if leading in (None, str(candidate.process_id)):
            yield candidate.threads[0]


def _representatives(observed: ObservedGroup, stepped: Sequence[str]) -> Sequence[ObservedProcess]:
    """Return all processes of a small group; of a large one a process of the step and one other."""
    if len(observed.processes) <= MOST_LEADERS:
        return observed.processes
    of_step = (process for process in observed.processes if process.name in stepped)
    others = (process for process in observed.processes if process.name not in stepped)
    return [*islice(of_step, 1), *islice(others, 1)]


def next_leaders(group: PossibleGroup, operation: Operation, stepped: Sequence[str]) -> Iterator[str | None]:
    """Yield the processes that may lead when the leader has gone; None if it stays. A static leader comes back."""
    goes = operation.verb != ADD and group.leading in stepped
    is_away = operation.verb == STOP or operation.after_session
    is_empty = is_away and len(group.observed.processes) == len(stepped)
    if not goes or is_empty or (group.leader.described.group_instance_id and not is_away):
        yield None
        return
    for candidate in _representatives(group.observed, stepped):
        if not is_away or candidate.name not in stepped:
            yield candidate.name


def _by_behaviour(releases: Iterable[Release]) -> Iterable[Release]:
    """Return the newest release of each behaviour."""
    return {release.behaviour: release for release in releases}.values()


def possible_protocols(observed: ObservedGroup) -> tuple[RebalanceProtocol, ...]:
    """Return the protocols that members may have, if their release has both (``upgrade.from`` chooses).

    Owned partitions are cooperative. Without any, tasks of before (up to version 6) are eager. Otherwise nothing shows
    it: a member that has joined again may have owned nothing, and one of Kafka joins twice at first (KIP-394).
    """
    sent = [member.subscription for member in observed.group.members]
    if any(each.owned_partitions for each in sent):
        return COOPERATIVE
    if any(each.previous_active for each in sent):
        return EAGER
    can_be_both = any(
        release.rebalance_protocols == BOTH and release in member.subscription.candidate_releases.unpinned
        for member in observed.group.members
        for release in possible_releases(member)
    )
    return COOPERATIVE + EAGER if can_be_both else COOPERATIVE


def _candidates(member: InspectedMember, *, eager: bool) -> Sequence[Release]:
    """Return the releases that a member can be; those that can be eager, in a group that is."""
    releases = possible_releases(member)
    return [release for release in releases if not eager or EAGER[0] in release.rebalance_protocols] or releases


def _instance(member: InspectedMember, behaviour: ReleaseBehaviour, *, eager: bool) -> Instance:
    """Return what a member runs: a release of this behaviour if it can be, else the newest that it can be."""
    candidates = _candidates(member, eager=eager)
    alike = [release for release in candidates if release.behaviour == behaviour]
    release = (alike or candidates)[-1]
    if release in member.subscription.candidate_releases.unpinned:
        can_be_both = eager and release.rebalance_protocols == BOTH
        return Instance(release, EAGER_LINES[-1] if can_be_both else None)
    used = member.subscription.used_version
    return Instance(release, next(value for value in release.upgrade_from if release.pinned_version(value) == used))


def difference(
    observed: ObservedGroup,
    leader: InspectedMember,
    instance: Instance,
    task_assignor: str | None,
    now_ms: int,
    *,
    by_process: bool = False,
) -> str | None:
    """Return how a leader's assignment differs from the last one of the group; None if the tasks are equal.

    Args:
        observed: The group, with its standbys.
        leader: The member that is tried as the leader.
        instance: Its configuration.
        task_assignor: The task assignor of a leader of our own; None if it is Kafka's.
        now_ms: The time, in milliseconds since 1970.
        by_process: Whether threads are not compared where nothing shows how they are given their tasks: a leader since
            2.6 goes by lags, and nobody reports the ends of changelogs of running tasks.
    """
    config = evolve(observed.config, upgrade_from=instance.upgrade_from)
    name = f"{instance} ({task_assignor})" if task_assignor else str(instance)
    assignor = StreamsAssignor(
        observed.topology,
        config,
        process_id=leader.subscription.process_id,
        release=instance.release,
        task_assignor=BUILT_IN[task_assignor] if task_assignor else None,
    )
    members = observed.group.members
    is_by_lag = by_process and instance.release.behaviour.lag_based
    fewest = len(members)
    for names in _names_in_order(observed, instance.release):
        subscriptions = {names[member.described.member_id]: member.described.subscription for member in members}
        try:
            answers = assignor.assign(observed.cluster(now_ms), subscriptions)
        except FatalError as error:
            return f"{name} fails: {error}"
        assignments = {member_id: answers[named] for member_id, named in names.items()}
        differing = sum(
            _differing(process, assignments, together=is_by_lag and _reports_lags(process))
            for process in observed.processes
        )
        fewest = min(fewest, differing)
    return f"{name} gives {fewest} of {len(members)} members other tasks" if fewest else None


def _names_in_order(observed: ObservedGroup, release: Release) -> Iterator[Mapping[str, str]]:
    """Yield names of member ids, so that threads are in the order in which a leader deals tasks to them.

    The order is that of the ids; up to 2.5 Kafka has the ids in a Java hash set (``ClientMetadata.consumers``).
    """
    ids = [[thread.described.member_id for thread in process.threads] for process in observed.processes]
    yield {member_id: member_id for of_process in ids for member_id in of_process}
    if release.behaviour.lag_based or not release.kafka_name:
        return
    hashes = {member_id: spread(string_hash(member_id)) for of_process in ids for member_id in of_process}
    yield {
        member_id: f"{number:06}-{place:06}"
        for number, of_process in enumerate(ids)
        for place, member_id in enumerate(bucket_order(sorted(of_process), hashes))
    }


def _reports_lags(process: ObservedProcess) -> bool:
    """Whether a thread has reported how far a store is that it does not run: one reports it for all threads."""
    sums = (thread.subscription.offset_sums or {} for thread in process.threads)
    return len(process.threads) > 1 and any(each >= 0 for of_thread in sums for each in of_thread.values())


def _differing(process: ObservedProcess, assignments: Mapping[str, bytes], *, together: bool) -> int:
    """Return how many threads of a process have other tasks; ``together``: all, if the process has."""
    threads = process.threads
    computed = [assignment_seen(assignments[thread.described.member_id], streams=True) for thread in threads]
    decided = [thread.assignment for thread in threads]
    if together:
        return len(threads) * (_together(computed) != _together(decided))
    return sum(_shown(one) != _shown(other) for one, other in zip(computed, decided, strict=True))


def _together(assignments: Iterable[AssignmentSeen]) -> tuple[object, ...]:
    """Return what has to be equal of a process."""
    active, standbys, versions, are_last = zip(*map(_shown, assignments), strict=True)
    return sorted(chain(*active)), sorted(chain(*standbys)), {*versions}, all(are_last)


def _shown(assignment: AssignmentSeen) -> tuple[tuple[TaskId, ...], tuple[TaskId, ...], int | None, bool]:
    """Return what has to be equal; the time of a scheduled rebalance depends on that of the decision."""
    is_last = assignment.next_rebalance_ms is None
    return assignment.active, assignment.standbys, assignment.used_version, is_last


def with_standbys(observed: ObservedGroup) -> ObservedGroup:
    """Return a group with its ``num.standby.replicas``: as configured, or as many as the tasks with standbys have."""
    configured = observed.config.num_standby_replicas
    kinds = observed.group.standby_kinds
    replicas: dict[TaskId, int] = {}
    for member in observed.group.members:
        for task in member.assignment.standbys:
            if kinds[task] is StandbyKind.STANDBY:
                replicas[task] = replicas.get(task, 0) + 1
    number = configured or max(replicas.values(), default=0)
    return evolve(observed, config=evolve(observed.config, num_standby_replicas=number))


def process_of(observed: ObservedGroup, member: InspectedMember) -> str:
    """Return the name of the process of a member."""
    return next(process.name for process in observed.processes if member in process.threads)


def new_process_ids(
    group: PossibleGroup, operation: Operation, stepped: Sequence[str], *, ephemeral: bool
) -> Sequence[Mapping[str, UUID]]:
    """Return process ids of which one set is like the one that a step makes: assignors go by their order.

    For one process there is an id for each place among those of the group that has room; in a large group, for some of
    them. Up to 2.8 the order of hash codes counts, too, so others are drawn. For several processes all are drawn. None
    is that of another process: leaders would take the two for one.
    """
    has_state = not ephemeral and any(subtopology.stateful for subtopology in group.observed.topology.subtopologies)

    def keeps(process: str) -> bool:
        """Whether the release that runs has written its id on the disk, and the one that starts reads it."""
        runs = group.instances.get(process)
        started = operation.instance or runs
        both = runs and started and keeps_process_id(runs.release) and keeps_process_id(started.release)
        return has_state and bool(both)

    drawing = [process for process in stepped if not keeps(process)]
    kept = dict.fromkeys(stepped, UUID(int=0))
    if operation.verb == STOP or not drawing:
        return [kept]
    if len(drawing) > 1:
        return [
            {**kept, **{process: UUID(int=Random(f"{number} {process}").getrandbits(128)) for process in drawing}}
            for number in range(DRAWS_OF_SEVERAL)
        ]
    taken = sorted(_as_number(process.process_id) for process in group.observed.processes)
    middles = ((below + above) // 2 for below, above in pairwise([-_HALF, *taken, _HALF]))
    places = [middle for middle in middles if middle not in taken]
    step = max(1, len(places) // MOST_LEADERS)
    drawn = (Random(number).getrandbits(128) for number in range(DRAWS))
    ids = [*(UUID(int=place % (2 * _HALF)) for place in places[::step]), *(UUID(int=bits) for bits in drawn)]
    return [{**kept, drawing[0]: new_id} for new_id in ids]


def _as_number(process_id: UUID) -> int:
    """Return the number by which Java orders ids: one with a sign."""
    return process_id.int - 2 * _HALF if process_id.int >= _HALF else process_id.int
