"""A group as its leader reads it: from the subscriptions of all members to clients that a task assignor can look at.

A *client* is a process; its members are the consumers in it. Java: ``ClientMetadata``, ``ClientState``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import frozen

from assignor import carried_levels
from assignor.carried_levels import NO_LEVELS, Levels
from assignor.client_state import RUNNING, UNKNOWN_LAG, ClientState
from assignor.dealing import NOT_IN_THIS_PROCESS
from assignor.errors import FatalError
from assignor.topology import Tasks
from probing import Heard
from subscription_codec import (
    FIRST_WITH_OFFSET_SUMS,
    UNKNOWN_SUM,
    DecodeError,
    FutureSubscription,
    FutureVersion,
    HostInfo,
    Subscription,
    TaskId,
    TopicPartition,
    decode_subscription,
)
from subscription_codec.columns import TaskOffsetSums
from subscription_codec.consumer_protocol import decode_member_subscription, flattened
from upgrade import ConfigException
from upgrade.config import split_host

FUTURE_CLIENT: Final = UUID(int=0)
"""Stands for all members from the future: their process ids cannot be read (Java: ``FUTURE_ID``)."""


@frozen(kw_only=True)
class Joined:
    """One member as its subscription describes it.

    ``sums`` are its offset sums; below version 7 there are none, and ``RUNNING`` and ``UNKNOWN_SUM`` stand for its
    previous active and standby tasks (Java: ``SubscriptionInfo.taskOffsetSums``). ``owned`` are the partitions it has
    not given up; ``levels`` are those of features that it carries. A member from the future has none of what stands in
    its userdata.
    """

    member: str
    heard: Heard
    process_id: UUID = FUTURE_CLIENT
    owned: tuple[TopicPartition, ...] = ()
    sums: Mapping[TaskId, int] = {}
    end_point: str = ""
    tags: Mapping[str, str] = {}
    rack: str | None = None
    error_code: int = 0
    levels: Levels = NO_LEVELS

    @property
    def future(self) -> bool:
        """Whether its userdata cannot be read."""
        return self.process_id == FUTURE_CLIENT

    @property
    def host(self) -> HostInfo | None:
        """Where it answers queries. A foreign member's nonsense must not stop the leader: it just serves none."""
        try:
            return HostInfo(*split_host(self.end_point)) if self.end_point else None
        except ConfigException:
            return None


@frozen
class Client:
    """A process: its members in the order of their ids, and its state for the task assignor."""

    members: tuple[Joined, ...]
    state: ClientState

    @property
    def process_id(self) -> UUID:
        """The id of the process; members from the future are one process."""
        return self.state.process_id

    @property
    def host(self) -> HostInfo | None:
        """Where it answers queries: what the first of its members that says anything says."""
        return next((member.host for member in self.members if member.host), None)

    def had(self) -> dict[str, list[TaskId]]:
        """Say of which stateful tasks each member has state, least behind first. Java: ``prevTasksByLag``."""
        lags = self.state.lags
        return {
            each.member: [task for _, task in sorted((lags[task], task) for task in each.sums if task in lags)]
            for each in self.members
        }

    def without_lag(self) -> list[TaskId]:
        """Return the tasks that its members name although they have no state or are no tasks at all, in order."""
        return sorted(task for each in self.members for task in each.sums if task not in self.state.lags)


def read(subscriptions: Mapping[str, bytes], latest: int) -> list[Joined]:
    """Read whole consumer-protocol subscriptions by member id, as a leader whose latest version is ``latest``.

    Raises ``FatalError`` for bytes that nobody could have sent, or that this leader is too old for.
    """
    return [_read(member, blob, latest) for member, blob in sorted(subscriptions.items())]


def _read(member: str, blob: bytes, latest: int) -> Joined:
    try:
        envelope = decode_member_subscription(blob)
        userdata = decode_subscription(envelope.user_data, supported=latest)
    except FutureVersion as error:
        raise FatalError(error.problem) from error
    except DecodeError as error:
        raise FatalError(f"unable to decode subscription data of member {member}: {error}") from error
    heard = Heard(userdata.version, userdata.latest_supported)
    owned = flattened(envelope.owned_partitions)
    if isinstance(userdata, FutureSubscription):
        return Joined(member=member, heard=heard, owned=owned, rack=envelope.rack_id)
    return Joined(
        member=member,
        heard=heard,
        process_id=userdata.process_id,
        owned=owned,
        sums=_sums(userdata),
        end_point=userdata.user_end_point,
        tags=dict(userdata.client_tags),
        rack=envelope.rack_id,
        error_code=userdata.error_code,
        levels=carried_levels.read(userdata.trailing),
    )


def _sums(userdata: Subscription) -> Mapping[TaskId, int]:
    if userdata.version >= FIRST_WITH_OFFSET_SUMS:
        sums = userdata.task_offset_sums
        return sums.by_task() if isinstance(sums, TaskOffsetSums) else dict(sums)
    return {**dict.fromkeys(userdata.standby_tasks, UNKNOWN_SUM), **dict.fromkeys(userdata.prev_tasks, RUNNING)}


def clients_of(joined: Iterable[Joined], tasks: Tasks, ends: Mapping[TaskId, int]) -> list[Client]:
    """Put members together by process. ``ends`` are the sums of the ends of the changelogs of stateful tasks.

    What a client had active is what its members still own or were running, and of everything else that they have sums
    of it is a standby. Java: ``initializePrevTasks``, ``computeTaskLags``.
    """
    task_of = {partition: task for task, inputs in tasks.items() for partition in inputs}
    by_process: dict[UUID, list[Joined]] = {}
    for each in joined:
        by_process.setdefault(each.process_id, []).append(each)
    at_the_start = {task: lag(0, end) for task, end in ends.items()}
    return [
        _client(process_id, tuple(members), task_of, ends, at_the_start) for process_id, members in by_process.items()
    ]


def _client(
    process_id: UUID,
    members: tuple[Joined, ...],
    task_of: Mapping[TopicPartition, TaskId],
    ends: Mapping[TaskId, int],
    at_the_start: dict[TaskId, int],
) -> Client:
    sums = _best(members)
    owned = {task_of[partition] for each in members for partition in each.owned if partition in task_of}
    active = owned | {task for task, known in sums.items() if known == RUNNING}
    own = {task: lag(known, ends[task]) for task, known in sums.items() if task in ends}
    state = ClientState(
        process_id,
        len(members),
        frozenset(active),
        frozenset(sums.keys() - active),
        lags=ChainMap(own, at_the_start),
        tags=members[0].tags,
    )
    return Client(members, state)


def _best(members: Sequence[Joined]) -> Mapping[TaskId, int]:
    """Put the sums of a process together: who runs a task knows best, then who has come furthest."""
    if len(members) == 1:
        return members[0].sums
    sums: dict[TaskId, int] = {}
    for each in members:
        for task, known in each.sums.items():
            best = sums.get(task, known)
            sums[task] = RUNNING if RUNNING in (known, best) else max(known, best)
    return sums


def lag(known: int, end: int) -> int:
    """Return how far behind somebody is whose offset sum is ``known``. Java: ``ClientState.computeTaskLags``.

    A sum beyond the end is no use: the changelog is another one than it was, and all of it has to be restored.

    >>> lag(40, 100), lag(140, 100), lag(RUNNING, 100)
    (60, 100, -2)
    """
    if known in (RUNNING, UNKNOWN_LAG):
        return known
    return end if end < known else end - known


def owners(joined: Iterable[Joined]) -> dict[TopicPartition, frozenset[str]]:
    """Say which members claim to own each partition. Normally that is one."""
    claims: dict[TopicPartition, frozenset[str]] = {}
    for each in joined:
        for partition in each.owned:
            claims[partition] = claims.get(partition, frozenset()) | {each.member}
    return claims


def owners_inside(
    client: Client, tasks: Tasks, claims: Mapping[TopicPartition, frozenset[str]]
) -> dict[TaskId, frozenset[str]]:
    """Say who owns partitions of the tasks a client was given, seen from inside.

    Java: ``previousConsumersOfTaskPartitions``.
    """
    inside = {each.member for each in client.members}
    return {
        task: frozenset(owner if owner in inside else NOT_IN_THIS_PROCESS for owner in found)
        for task in client.state.active
        if (found := {owner for partition in tasks[task] for owner in claims.get(partition, ())})
    }
