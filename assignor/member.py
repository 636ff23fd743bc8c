"""A member's own half: what it says when it joins, and what it makes of the answer.

Pure: a ``Member`` is a value; joining writes bytes from it, an assignment gives the next one.
Java: ``StreamsPartitionAssignor.subscriptionUserData``, ``onAssignment`` and ``maybeScheduleFollowupRebalance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import carried_levels
from assignor.carried_levels import NO_LEVELS, Levels, highest, only
from assignor.client_state import NOTHING
from assignor.eras import NEWEST, Era, Names
from assignor.errors import FatalError
from probing import Action, AssignmentReceived, MemberVersion, ProbingError, Rejoining
from probing.events import AssignorError
from probing.follow_up import NEVER, NOW, FollowUp, Reason, follow_up
from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_WITH_OFFSET_SUMS,
    RUNNING,
    UNKNOWN_SUM,
    UNKNOWN_VERSION,
    Assignment,
    ClientTag,
    DecodeError,
    EncodeError,
    FutureVersion,
    HostInfo,
    HostPartitions,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    encode_subscription,
)
from subscription_codec.columns import TaskOffsetSums
from subscription_codec.consumer_protocol import (
    MemberSubscription,
    decode_member_assignment,
    encode_member_subscription,
    flattened,
    grouped,
)
from upgrade.config import split_host

Partitions = frozenset[TopicPartition]


@frozen(kw_only=True)
class Received:
    """What an assignment means for the member.

    ``active`` and ``standby`` map each task to its partitions (empty if the assignment was dropped), ``hosts`` and
    ``standby_hosts`` say where the partitions of the group are served. ``follow_up`` says why there has to be another
    rebalance; ``rejoin`` how, if at once; ``rejoin_at_ms`` when, if later (milliseconds since 1970). ``levels`` are the
    highest levels that the group knows of the features that the member watches.
    """

    version: int
    supported: int
    active: Mapping[TaskId, Partitions] = NOTHING
    standby: Mapping[TaskId, Partitions] = NOTHING
    hosts: Mapping[HostInfo, Partitions] = NOTHING
    standby_hosts: Mapping[HostInfo, Partitions] = NOTHING
    follow_up: Reason | None = None
    rejoin: Rejoining | None = None
    rejoin_at_ms: int | None = None
    dropped: bool = False
    levels: Levels = NO_LEVELS

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """All partitions of the active tasks, sorted."""
        return tuple(sorted(partition for partitions in self.active.values() for partition in partitions))


@frozen(kw_only=True)
class Member:
    """One member between two rebalances: who it is, which version it sends, and what it had last.

    ``era`` says what it does where versions say nothing; ``cooperative`` members keep their partitions while they
    rejoin (``owned``). ``stateful`` are the subtopologies with state. ``as_release`` is the release of Kafka whose very
    bytes it writes, if it imitates one (``quirks``).

    ``previous_active`` are the tasks it ran last; ``stored`` those of which it has state at hand, a superset of its
    standbys. ``joins`` counts its subscriptions, ``error_code`` goes out with the next one.

    ``watches`` are the features whose ``levels`` it remembers and carries; those never go down (KIP-584).
    """

    process_id: UUID
    version: MemberVersion
    era: Era = NEWEST
    cooperative: bool = False
    stateful: frozenset[int] = frozenset()
    end_point: str = ""
    tags: Mapping[str, str] = field(default=NOTHING, hash=False)
    rack: str | None = None
    as_release: str | None = None
    previous_active: frozenset[TaskId] = frozenset()
    stored: frozenset[TaskId] = frozenset()
    owned: Partitions = frozenset()
    joins: int = 0
    error_code: int = 0
    watches: frozenset[str] = frozenset()
    levels: Levels = field(default=NO_LEVELS, hash=False)

    # -- joining -------------------------------------------------------------------------------------------------

    def subscription(
        self,
        topics: Iterable[str],
        sums: Mapping[TaskId, int] | None = None,
        owned: Iterable[TopicPartition] | None = None,
    ) -> bytes:
        """Write the whole consumer-protocol subscription for the next JoinGroup.

        ``sums`` are the offset sums of the stateful tasks it has state of; those it runs need none. Without them the
        position of everything in ``stored`` is unknown. ``owned`` are its partitions, if it is not to go by its memory.
        """
        try:
            used = self.version.version_to_send()
            userdata = encode_subscription(self._userdata(used, sums), as_release=self.as_release)
            keeps = (self.owned if owned is None else owned) if self.cooperative else ()
            return encode_member_subscription(
                MemberSubscription(
                    tuple(sorted(topics)),
                    userdata,
                    owned_partitions=grouped(keeps),
                    rack_id=self.rack,
                    version=self.era.envelope,
                )
            )
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.kafka) from error
        except EncodeError as error:
            raise FatalError(f"cannot write the subscription: {error}", "IllegalArgumentException") from error

    def _userdata(self, used: int, sums: Mapping[TaskId, int] | None) -> Subscription:
        state = dict.fromkeys(self.stored, UNKNOWN_SUM) if sums is None else self._with_state(sums)
        return Subscription(
            version=used,
            latest_supported=self.version.latest if used >= EARLIEST_PROBEABLE_VERSION else UNKNOWN_VERSION,
            process_id=self.process_id,
            user_end_point=self.end_point,
            unique_field=_signed_byte(self.joins + 1),
            error_code=self.error_code,
            client_tags=tuple(ClientTag(key, value) for key, value in sorted(self.tags.items())),
            trailing=carried_levels.write(self.levels),
            **(self._in_sums(state) if used >= FIRST_WITH_OFFSET_SUMS else self._in_lists(state)),
        )

    def _in_sums(self, state: Mapping[TaskId, int]) -> dict[str, Any]:
        running = self._with_state(dict.fromkeys(self.previous_active, RUNNING))
        return {"task_offset_sums": TaskOffsetSums.of(dict(sorted({**state, **running}.items())))}

    def _in_lists(self, state: Mapping[TaskId, int]) -> dict[str, Any]:
        """Name the tasks it ran, as far as its era names them, and those it has state of."""
        if self.era.names is Names.STATEFUL:
            ran = {task for task in self.previous_active if task.subtopology in self.stateful}
        else:
            ran = set() if self.cooperative else set(self.previous_active)
        return {
            "prev_tasks": tuple(sorted(ran)),
            "standby_tasks": tuple(sorted(state.keys() - self.previous_active)),
        }

    def _with_state(self, sums: Mapping[TaskId, int]) -> dict[TaskId, int]:
        """The sums of those that have state; no Kafka leader expects the others (2.6 dies of them)."""
        return {task: known for task, known in sums.items() if task.subtopology in self.stateful}

    def joined(self) -> Member:
        """Return the member after a subscription."""
        return evolve(self, joins=self.joins + 1)

    def lost(self) -> Member:
        """Return the member after others were given its tasks without its knowing; the state it has stays."""
        return evolve(self, previous_active=frozenset(), owned=frozenset())

    # -- being assigned ------------------------------------------------------------------------------------------

    def receive(self, blob: bytes, *, completes: bool = False) -> tuple[Member, Received]:
        """Take a whole consumer-protocol assignment: the member after it, and what it means.

        ``completes``: see ``AssignmentReceived``. Raises ``FatalError`` where Kafka's member dies; the member is as
        before then.
        """
        assignment, partitions = _read(blob, self.version.latest)
        code = assignment.error_code
        event = AssignmentReceived(assignment.version, assignment.latest_supported, completes, code)
        try:
            version, actions = self.version.receive(event)
        except ProbingError as error:
            raise FatalError(str(error.args[0]), error.kafka) from error
        if not _ENDING.isdisjoint(actions):
            raise FatalError(f"the leader sent error code {code}", AssignorError(code).name)
        levels = self._raised(carried_levels.read(assignment.trailing))
        hosts = _by_host(assignment.partitions_by_host)
        next_one = self._next_rebalance(hosts, assignment.next_rebalance_ms, Action.REJOIN in actions)
        taken = Action.TAKE in actions
        received = Received(
            version=assignment.version,
            supported=assignment.latest_supported,
            active=_active(assignment, partitions) if taken else NOTHING,
            standby={task: frozenset(inputs) for task, inputs in assignment.standby_tasks} if taken else NOTHING,
            hosts=hosts,
            standby_hosts=_by_host(assignment.standby_partitions_by_host),
            follow_up=next_one.reason,
            rejoin=self.version.rules.rejoining if next_one.at_ms == NOW else None,
            rejoin_at_ms=next_one.at_ms if NOW < next_one.at_ms < NEVER else None,
            dropped=not taken,
            levels=levels,
        )
        return self._after(received, version, levels), received

    def _after(self, received: Received, version: MemberVersion, levels: Levels) -> Member:
        if received.dropped:
            return evolve(self, version=version, levels=levels)
        held = {task for task in (*received.active, *received.standby) if task.subtopology in self.stateful}
        return evolve(
            self,
            version=version,
            levels=levels,
            previous_active=frozenset(received.active),
            stored=self.stored | held,
            owned=frozenset(received.partitions),
        )

    def _raised(self, levels: Levels) -> Levels:
        """What it knows after it has heard of these levels: "shall not downgrade (...) once they upgrade" (KIP-584)."""
        return highest(self.levels, only(self.watches, levels))

    def raised_by(self, seen: Levels) -> bool:
        """Say whether the group has to hear of levels that this member has seen on the cluster."""
        return self._raised(seen) != self.levels

    def _next_rebalance(self, hosts: Mapping[HostInfo, Partitions], encoded_ms: int, version_changed: bool) -> FollowUp:
        """Say whether another rebalance is needed.

        A static member that came back at another endpoint is handed its old assignment: the group knows endpoints, but
        not this one.
        """
        unheard_of = bool(self.end_point and hosts) and HostInfo(*split_host(self.end_point)) not in hosts
        return follow_up(
            self.version.rules, version_changed=version_changed, end_point_missing=unheard_of, encoded_ms=encoded_ms
        )


_ENDING: Final = frozenset({Action.STOP, Action.STOP_APPLICATION})


def _signed_byte(number: int) -> int:
    return (number + 128) % 256 - 128


def _by_host(hosts: Iterable[HostPartitions]) -> Mapping[HostInfo, Partitions]:
    return {host: frozenset(partitions) for host, partitions in hosts}


def _read(blob: bytes, latest: int) -> tuple[Assignment, tuple[TopicPartition, ...]]:
    try:
        envelope = decode_member_assignment(blob)
        assignment = decode_assignment(envelope.user_data, supported=latest)
    except FutureVersion as error:
        unknown = "Unknown assignment data version" if latest < EARLIEST_PROBEABLE_VERSION else "Unable to decode"
        raise FatalError(f"{unknown}: {error.problem}") from error
    except DecodeError as error:
        raise FatalError(f"Failed to decode AssignmentInfo: {error}") from error
    return assignment, flattened(envelope.assigned_partitions)


def _active(assignment: Assignment, partitions: tuple[TopicPartition, ...]) -> Mapping[TaskId, Partitions]:
    """Match the i-th task id with the i-th partition. Java: ``getActiveTasks``."""
    tasks = assignment.active_tasks
    if len(tasks) != len(partitions):
        message = f"Number of assigned partitions {len(partitions)} is not equal to the number of active taskIds"
        raise FatalError(f"{message} {len(tasks)}")
    active: dict[TaskId, set[TopicPartition]] = {}
    for task, partition in zip(tasks, partitions, strict=True):
        active.setdefault(task, set()).add(partition)
    return {task: frozenset(inputs) for task, inputs in active.items()}
