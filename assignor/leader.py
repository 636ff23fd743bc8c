"""The leader's work, step by step: read the subscriptions, decide the versions, place and deal the tasks, answer.

Pure: gets everything it may look at, sorts what comes in and what goes out, so equal groups get equal bytes.
Java: ``StreamsPartitionAssignor.assign``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import carried_levels, group
from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import RUNNING
from assignor.cluster import Cluster
from assignor.dealing import NOTHING_HAD, Crew, Share
from assignor.eras import NEWEST, Era
from assignor.errors import FatalError
from assignor.group import Client, Joined
from assignor.handover import Given, hand_over
from assignor.internal_topics import missing_sources, prepare, rules_for
from assignor.java_order import old_hash_order
from assignor.offsets import end_sums
from assignor.placement import STICKY, Placement, Work
from assignor.topology import Tasks, Topology
from probing import Answer, Content, Decision, ProbingError, RuleSet, decide
from probing.events import AssignorError, Check
from probing.leader import assignment_error
from subscription_codec import (
    Assignment,
    EncodeError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    TaskId,
    TopicPartition,
    encode_assignment,
)
from subscription_codec.assignment import FIRST_WITH_DICTIONARY, with_dictionary
from subscription_codec.consumer_protocol import MemberAssignment, encode_member_assignment, grouped

_ANSWERED: Final = "TaskAssignmentException"
"""The exception that leaders since 2.7 turn into an error code; of all others they die."""


@frozen(kw_only=True, cache_hash=True)
class LeaderSettings:
    """What a leader knows of itself: its rules, its latest version, its era, the topology, and how it assigns tasks.

    ``process_id`` is the process it belongs to. ``as_release``, ``watches``: see ``Member``.
    """

    rules: RuleSet = field(hash=False)
    latest_version: int
    topology: Topology
    process_id: UUID
    configs: AssignmentConfigs = field(factory=AssignmentConfigs)
    era: Era = NEWEST
    placement: Placement = STICKY
    as_release: str | None = None
    watches: frozenset[str] = frozenset()


@frozen
class Answered:
    """Whole consumer-protocol assignments by member id; ``completes`` as in ``probing.Decision``."""

    assignments: dict[str, bytes]
    completes: bool = False


def assign(settings: LeaderSettings, cluster: Cluster, subscriptions: Mapping[str, bytes]) -> Answered:
    """Answer a group: ``subscriptions`` are whole consumer-protocol subscriptions by member id.

    Raises ``FatalError`` where Kafka's leader dies; nobody gets an answer then. Kafka's leaders since 2.7 tell
    everybody of most errors instead, with an error code. What they cannot read kills them still.
    """
    joined = group.read(subscriptions, settings.latest_version)
    try:
        return _assign(settings, cluster, joined)
    except FatalError as error:
        told = assignment_error(settings.rules.leader, settings.latest_version, [each.member for each in joined])
        if told is None or error.kafka != _ANSWERED:
            raise
        return _refused(settings, told)


def _assign(settings: LeaderSettings, cluster: Cluster, joined: Sequence[Joined]) -> Answered:
    rules = rules_for(settings.latest_version)
    if not cluster.complete:
        rules = evolve(rules, answers_missing=False)
    missing = rules.answers_missing and missing_sources(settings.topology, cluster.partitions)
    decision = _decide(settings, joined, {Check.TOPICS} if missing else set())
    if all(answer.content is Content.ERROR for answer in decision.answers.values()):
        return _refused(settings, decision)
    tasks = prepare(settings.topology, cluster.partitions, rules).tasks
    clients, follow_ups = _placed(settings, cluster, tasks, [each for each in joined if _takes_part(each, decision)])
    given = _dealt(settings, clients, tasks, decision, follow_ups)
    everybody = _ForAll.of(clients, tasks, _levels(settings, cluster, joined))
    return Answered(_written(settings, decision, given, tasks, everybody), decision.completes)


def _refused(settings: LeaderSettings, decision: Decision) -> Answered:
    """Answer with nothing but the reason. Java: ``errorAssignment``."""
    return Answered(_written(settings, decision, {}, {}, _ForAll()))


def _decide(settings: LeaderSettings, joined: Sequence[Joined], found: set[Check]) -> Decision:
    heard = {each.member: each.heard for each in joined}
    wish = {Check.SHUTDOWN} if any(each.error_code == AssignorError.SHUTDOWN_REQUESTED for each in joined) else set()
    try:
        return decide(settings.rules.leader, settings.latest_version, heard, found | wish)
    except ProbingError as error:
        raise FatalError(str(error.args[0]), error.kafka) from error


def _takes_part(joined: Joined, decision: Decision) -> bool:
    """Whether tasks are assigned to a member: up to 2.3 not to those from the future."""
    return decision.answers[joined.member].content in {Content.REGULAR, Content.PREVIOUS}


def _placed(
    settings: LeaderSettings, cluster: Cluster, tasks: Tasks, joined: Sequence[Joined]
) -> tuple[list[Client], Mapping[UUID, int]]:
    """Let the task assignor fill the clients; say which of them shall ask for another rebalance when."""
    clients = group.clients_of(joined, tasks, end_sums(settings.topology, cluster, tasks))
    work = Work(
        topology=settings.topology,
        cluster=cluster,
        tasks=tasks,
        configs=settings.configs,
        leader=settings.process_id,
    )
    return clients, settings.placement(clients, work) if clients else {}


def _dealt(
    settings: LeaderSettings,
    clients: Sequence[Client],
    tasks: Tasks,
    decision: Decision,
    follow_ups: Mapping[UUID, int],
) -> dict[str, Given]:
    """Give every member its part of what its client got, as the kind of answer it gets says."""
    everybody = [each for client in clients for each in client.members]
    claims = group.owners(everybody) if settings.era.cooperates else {}
    stateful = frozenset(task for task in tasks if settings.topology.stateful(task))
    if settings.era.dies_without_lag:
        _look_up_lags(clients, stateful)
    crews = [
        Crew(
            members=[each.member for each in client.members],
            active=client.state.active,
            standby=client.state.standby,
            stateful=stateful,
            had=client.had() if settings.era.balances else NOTHING_HAD,
            owners=group.owners_inside(client, tasks, claims),
        )
        for client in clients
    ]
    shares = settings.era.deal(crews, decision.probing)
    for client in clients:
        for each in client.members:
            if decision.answers[each.member].content is Content.PREVIOUS:
                whose = client.members if settings.rules.leader.previous_of_process else (each,)
                shares[each.member] = _previous(whose, tasks)
    return {
        member: given
        for client in clients
        for member, given in hand_over(
            client, shares, tasks, claims, settings.era.interim, follow_ups.get(client.process_id)
        ).items()
    }


def _look_up_lags(clients: Iterable[Client], stateful: Set[TaskId]) -> None:
    """Die as leaders of 2.6 to 3.0 do of a task without state that a member names, first of all members up to 2.3."""
    for client in clients:
        if (client.state.standby or client.state.active & stateful) and (unknown := client.without_lag()):
            raise FatalError(f"Tried to lookup lag for unknown task {unknown[0]}", "IllegalStateException")


def _previous(members: Iterable[Joined], tasks: Tasks) -> Share:
    """Give back what was there before, as leaders of 2.0 to 2.3 do while another member is being probed."""
    had = [(task, known == RUNNING) for each in members for task, known in each.sums.items() if task in tasks]
    # What one thread runs the others of its process have state of: real leaders name it twice.
    active, standby = ({task for task, running in had if running is kind} for kind in (True, False))
    return Share(tuple(sorted(active)), tuple(sorted(standby)))


def _levels(settings: LeaderSettings, cluster: Cluster, joined: Iterable[Joined]) -> bytes:
    """Tell everybody the highest levels that any member carries or this leader has seen, if it watches any at all."""
    if not settings.watches:
        return b""
    seen = carried_levels.only(settings.watches, cluster.levels)
    return carried_levels.write(carried_levels.highest(seen, *(each.levels for each in joined)))


@frozen
class _ForAll:
    """What all are told alike.

    For interactive queries: which host has which partitions in its active tasks, and which in its standbys. Behind the
    last field: the levels of features.
    """

    active: tuple[HostPartitions, ...] = ()
    standby: tuple[HostPartitions, ...] = ()
    trailing: bytes = b""

    @classmethod
    def of(cls, clients: Iterable[Client], tasks: Tasks, trailing: bytes) -> _ForAll:
        served = [(host, client.state) for client in clients if (host := client.host)]
        return cls(
            _partitions_by_host(((host, state.active) for host, state in served), tasks),
            _partitions_by_host(((host, state.standby) for host, state in served), tasks),
            trailing,
        )


def _partitions_by_host(served: Iterable[tuple[HostInfo, set[TaskId]]], tasks: Tasks) -> tuple[HostPartitions, ...]:
    by_host: dict[HostInfo, set[TaskId]] = {}
    for host, its in served:
        by_host.setdefault(host, set()).update(its)
    return tuple(
        HostPartitions(host, tuple(sorted(partition for task in its for partition in tasks[task])))
        for host, its in sorted(by_host.items())
    )


def _written(
    settings: LeaderSettings, decision: Decision, given: Mapping[str, Given], tasks: Tasks, everybody: _ForAll
) -> dict[str, bytes]:
    """Write all answers. Those that are alike share what is the same for all, first of all the hosts."""
    try:
        alike = {answer: _common(answer, everybody) for answer in set(decision.answers.values())}
        return {
            member: _write(alike[answer], given.get(member, Given()), tasks, settings, _names(settings, answer))
            for member, answer in sorted(decision.answers.items())
        }
    except EncodeError as error:
        raise FatalError(f"cannot write an assignment: {error}") from error


def _common(answer: Answer, everybody: _ForAll) -> Assignment:
    plain = answer.content in {Content.EMPTY, Content.ERROR}
    assignment = Assignment(
        version=answer.version,
        latest_supported=answer.supported,
        partitions_by_host=() if plain else everybody.active,
        standby_partitions_by_host=() if plain else everybody.standby,
        error_code=answer.error_code,
        trailing=everybody.trailing,
    )
    return with_dictionary(assignment) if answer.version >= FIRST_WITH_DICTIONARY else assignment


_Owned = Sequence[tuple[TopicPartition, TaskId]]


def _by_partition(owned: _Owned) -> tuple[TaskId, ...]:
    """Name one task for each partition, in the order of the partitions."""
    return tuple(task for _, task in owned)


def _by_task(owned: _Owned) -> tuple[TaskId, ...]:
    """Name each task once, in no sensible order: what leaders up to 2.2.1 and of 2.3.0 did while probing."""
    return tuple(old_hash_order({task for _, task in owned}))


def _names(settings: LeaderSettings, answer: Answer) -> Callable[[_Owned], tuple[TaskId, ...]]:
    wrong = answer.content is Content.PREVIOUS and settings.rules.leader.previous_of_process
    return _by_task if wrong else _by_partition


def _write(
    common: Assignment,
    given: Given,
    tasks: Tasks,
    settings: LeaderSettings,
    names: Callable[[_Owned], tuple[TaskId, ...]],
) -> bytes:
    """Write the answer for one member, whose active tasks are named as ``names`` does."""
    owned = sorted((partition, task) for task in given.share.active for partition in tasks[task])
    assignment = common._replace(
        active_tasks=names(owned),
        standby_tasks=tuple(StandbyTask(task, tasks[task]) for task in given.share.standby),
        next_rebalance_ms=given.next_rebalance_ms,
    )
    userdata = encode_assignment(assignment, as_release=settings.as_release)
    partitions = grouped(partition for partition, _ in owned)
    return encode_member_assignment(MemberAssignment(partitions, userdata, version=settings.era.envelope))
