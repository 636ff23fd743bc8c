"""The leader's work, step by step: read the subscriptions, decide the versions, assign the tasks, write the answers.

Pure: gets everything it may look at, sorts what comes in and what goes out, so equal groups get equal bytes.
Java: ``StreamsPartitionAssignor.assign``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import frozen

from assignor.client_state import ClientState
from assignor.errors import FatalError
from assignor.internal_topics import prepare, rules_for
from assignor.sticky import assign_tasks
from assignor.topology import Tasks, Topology
from probing import Answer, Content, Decision, Heard, ProbingError, RuleSet, decide
from subscription_codec import (
    Assignment,
    DecodeError,
    EncodeError,
    FutureSubscription,
    FutureVersion,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TopicPartition,
    decode_subscription,
    encode_assignment,
)
from subscription_codec.consumer_protocol import (
    MemberAssignment,
    decode_member_subscription,
    encode_member_assignment,
    grouped,
)
from upgrade import ConfigException
from upgrade.config import split_host

FUTURE_CLIENT: Final = UUID(int=0)
"""Stands for all members from the future: their process ids cannot be read (Java: ``FUTURE_ID``)."""


@frozen
class LeaderSettings:
    """What a leader knows of itself: its rules, its latest version, the topology and the number of standbys.

    ``as_release``: see ``Member``.
    """

    rules: RuleSet
    latest_version: int
    topology: Topology
    standbys: int = 0
    as_release: str | None = None


@frozen
class Share:
    """What one member gets: its active and standby tasks, each in order."""

    active: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()


@frozen
class Answered:
    """Whole consumer-protocol assignments by member id; ``completes`` as in ``probing.Decision``."""

    assignments: dict[str, bytes]
    completes: bool


def assign(settings: LeaderSettings, partitions: Mapping[str, int], subscriptions: Mapping[str, bytes]) -> Answered:
    """Answer a group: ``subscriptions`` are whole consumer-protocol subscriptions by member id, ``partitions`` the
    number of partitions of each topic.

    Raises ``FatalError`` where Kafka's leader dies; nobody gets an answer then.
    """
    read = _read(settings.latest_version, subscriptions)
    decision = _decide(settings, read)
    prepared = prepare(settings.topology, partitions, rules_for(settings.latest_version))
    if prepared.error_code:
        return Answered(_refuse(settings, sorted(read), prepared.error_code), completes=False)
    tasks = prepared.tasks
    shares = _shares(settings, decision, read, tasks)
    hosts = _partitions_by_host(read, shares, tasks)
    assignments = {
        member: _write(answer, shares.get(member, Share()), tasks, hosts, settings.as_release)
        for member, answer in sorted(decision.answers.items())
    }
    return Answered(assignments, decision.completes)


def _refuse(settings: LeaderSettings, members: Iterable[str], error_code: int) -> dict[str, bytes]:
    """Answer everybody with nothing but the reason, in the leader's latest version (Java: ``errorAssignment``)."""
    latest = settings.latest_version
    answer = _write(Answer(latest, latest, Content.ERROR, error_code), Share(), {}, (), settings.as_release)
    return dict.fromkeys(members, answer)


def _read(latest: int, subscriptions: Mapping[str, bytes]) -> dict[str, Subscription | FutureSubscription]:
    read: dict[str, Subscription | FutureSubscription] = {}
    for member, blob in sorted(subscriptions.items()):
        try:
            read[member] = decode_subscription(decode_member_subscription(blob).user_data, supported=latest)
        except FutureVersion as error:
            raise FatalError(error.problem) from error
        except DecodeError as error:
            raise FatalError(f"unable to decode subscription data of member {member}: {error}") from error
    return read


def _decide(settings: LeaderSettings, read: Mapping[str, Subscription | FutureSubscription]) -> Decision:
    heard = {member: Heard(each.version, each.latest_supported) for member, each in read.items()}
    try:
        return decide(settings.rules.leader, settings.latest_version, heard)
    except ProbingError as error:
        raise FatalError(str(error.args[0]), error.kafka) from error


def _shares(
    settings: LeaderSettings,
    decision: Decision,
    read: Mapping[str, Subscription | FutureSubscription],
    tasks: Tasks,
) -> dict[str, Share]:
    """Give every member its tasks, as the kind of answer it gets says."""
    shares = {
        member: _previous(subscription, tasks)
        for member, subscription in read.items()
        if isinstance(subscription, Subscription) and decision.answers[member].content is Content.PREVIOUS
    }
    sharing = {member: each for member, each in read.items() if decision.answers[member].content is Content.REGULAR}
    members_of, clients = _clients(sharing)
    stateful = {task for task in tasks if settings.topology.stateful(task)}
    assign_tasks(clients, tasks, stateful, settings.standbys)
    for client in clients:
        shares |= _to_members(client, members_of[client.process_id])
    return shares


def _clients(
    read: Mapping[str, Subscription | FutureSubscription],
) -> tuple[dict[UUID, list[str]], list[ClientState]]:
    """Group members by process. Java: ``ClientMetadata``; members from the future share one client."""
    members_of: dict[UUID, list[str]] = {}
    active: dict[UUID, set[TaskId]] = {}
    standby: dict[UUID, set[TaskId]] = {}
    for member, each in read.items():
        known = each if isinstance(each, Subscription) else Subscription(process_id=FUTURE_CLIENT)
        members_of.setdefault(known.process_id, []).append(member)
        active.setdefault(known.process_id, set()).update(known.prev_tasks)
        standby.setdefault(known.process_id, set()).update(known.standby_tasks)
    clients = [
        ClientState(process, len(members), frozenset(active[process]), frozenset(standby[process]))
        for process, members in members_of.items()
    ]
    return members_of, clients


def _to_members(client: ClientState, members: Sequence[str]) -> dict[str, Share]:
    """Deal a client's tasks to its members in turn, in order (Java: up to 2.3, ``interleaveTasksByGroupId``)."""
    ordered = sorted(members)
    active, standby = sorted(client.active), sorted(client.standby)
    return {
        member: Share(tuple(active[place :: len(ordered)]), tuple(standby[place :: len(ordered)]))
        for place, member in enumerate(ordered)
    }


def _previous(subscription: Subscription, tasks: Tasks) -> Share:
    """Give a member back what it says it had, as leaders of 2.0 to 2.3 do while one of the others is being probed."""
    return Share(
        tuple(sorted(task for task in subscription.prev_tasks if task in tasks)),
        tuple(sorted(task for task in subscription.standby_tasks if task in tasks)),
    )


def _partitions_by_host(
    read: Mapping[str, Subscription | FutureSubscription], shares: Mapping[str, Share], tasks: Tasks
) -> tuple[HostPartitions, ...]:
    """Say for interactive queries which host serves which partitions: those of its active tasks."""
    served: dict[HostInfo, set[TopicPartition]] = {}
    for member, each in read.items():
        host = _host(each.user_end_point) if isinstance(each, Subscription) else None
        if host is not None:
            inputs = (tasks[task] for task in shares[member].active)
            served.setdefault(host, set()).update(partition for group in inputs for partition in group)
    return tuple(HostPartitions(host, tuple(sorted(partitions))) for host, partitions in sorted(served.items()))


def _host(end_point: str) -> HostInfo | None:
    try:
        return HostInfo(*split_host(end_point)) if end_point else None
    except ConfigException:
        return None  # a foreign member's nonsense must not stop the leader: it just serves no queries


def _write(
    answer: Answer, share: Share, tasks: Tasks, hosts: Iterable[HostPartitions], as_release: str | None
) -> bytes:
    """Write the answer for one member: one task id for each partition, in the order of the partitions."""
    owned = sorted((partition, task) for task in share.active for partition in tasks[task])
    plain = answer.content in {Content.EMPTY, Content.ERROR}
    assignment = Assignment(
        version=answer.version,
        latest_supported=answer.supported,
        active_tasks=tuple(task for _, task in owned),
        standby_tasks=tuple(StandbyTask(task, tasks[task]) for task in share.standby),
        partitions_by_host=() if plain else tuple(hosts),
        error_code=answer.error_code,
    )
    try:
        userdata = encode_assignment(assignment, as_release=as_release)
        return encode_member_assignment(MemberAssignment(grouped(partition for partition, _ in owned), userdata))
    except EncodeError as error:
        raise FatalError(f"cannot write an assignment of version {answer.version}: {error}") from error
