"""A member of the simulated group: a stream thread of a process, with the real assignor.

The assignor is memoized: schedules differ in a few steps, and otherwise repeat the same calls. Its return value follows
from its state and the arguments, and both are values. So each call is made once, and every simulation of this process
uses its result. Large groups hardly repeat a call, and their results are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from functools import lru_cache
from typing import Any, Final, TypeVar
from uuid import UUID

from attrs import define, field

from streams_assignor import ReceivedAssignment, StreamsAssignor
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.protocol.internal_topics import InternalTopicPlan
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.upgrade.release_behaviour import ReportedTasks

T = TypeVar("T")
MAX_ENTRIES: Final = 1 << 14
MAX_ENTRY_BYTES: Final = 1 << 11
"""The largest arguments of a call whose result is kept."""

_memo: Final[dict[Hashable, tuple[Any, ...]]] = {}


def clear_memo() -> None:
    """Forget all results. A check that equal calls have equal results has to do this between them."""
    _memo.clear()


class MemoizedAssignor(StreamsAssignor):
    """Returns what an assignor in the same state returned for the same arguments. Errors are not kept."""

    def subscription(
        self,
        topics: Iterable[str] | None = None,
        *,
        offset_sums: Mapping[TaskId, int] | None = None,
        owned_partitions: Iterable[TopicPartition] | None = None,
    ) -> bytes:
        """See ``StreamsPartitionAssignor``."""
        compute = super().subscription
        if topics is not None or offset_sums is None or owned_partitions is not None:
            return compute(topics, offset_sums=offset_sums, owned_partitions=owned_partitions)
        return self._memoized(
            ("subscription", frozenset(offset_sums.items())),
            16 * len(offset_sums),
            lambda: compute(offset_sums=offset_sums),
        )

    def assign(
        self,
        cluster: ClusterSnapshot | Mapping[str, int],
        subscriptions: Mapping[str, bytes],
        plan: InternalTopicPlan | None = None,
    ) -> dict[str, bytes]:
        """See ``StreamsPartitionAssignor``."""
        compute = super().assign
        if plan or not isinstance(cluster, ClusterSnapshot):
            return compute(cluster, subscriptions, plan)
        arguments = (cluster, frozenset(subscriptions.items()))
        return self._memoized(arguments, sum(map(len, subscriptions.values())), lambda: compute(cluster, subscriptions))

    def on_assignment(self, assignment: bytes) -> ReceivedAssignment:
        """See ``StreamsPartitionAssignor``."""
        compute = super().on_assignment
        return self._memoized(assignment, len(assignment), lambda: compute(assignment))

    def _memoized(self, arguments: Hashable, size: int, compute: Callable[[], T]) -> T:
        key = (self._settings, self._member, self._completes, arguments)
        entry = _memo.get(key)
        if entry is None:
            entry = compute(), self._member, self._completes
            if size <= MAX_ENTRY_BYTES:
                if len(_memo) >= MAX_ENTRIES:
                    clear_memo()
                _memo[key] = entry
        result: T
        result, self._member, self._completes = entry
        return result


STATIC_MEMBERSHIP_SINCE = (2, 3)
"""The first release with ``group.instance.id`` (KIP-345)."""


@define(eq=False)
class SimulatedMember:
    """One member, and what the simulation knows of it."""

    name: str
    process: str
    """The name of its process: its own name if the process has no other thread."""
    instance: Instance
    assignor: MemoizedAssignor
    group_instance_id: str | None = None
    member_id: str | None = None
    """The id that the coordinator gave it; None before its first JoinGroup and after it has left."""
    running: bool = True
    shut_down: bool = False
    """Whether it has stopped because a shutdown was requested."""
    crash_countdown: int = 0
    """In how many rebalances from now it crashes; 0: in none."""
    rejoin_needed: bool = True
    leave_before_rejoin: bool = False
    """Whether it sends LeaveGroup before its next JoinGroup."""
    owned_tasks: frozenset[TaskId] = frozenset()
    """The active tasks that it processes."""
    assigned_tasks: frozenset[TaskId] = frozenset()
    """The active and standby tasks of its last assignment."""
    received_version: int | None = None
    """The version of its last assignment."""
    rejoin_reason: FollowUpReason | None = None
    """Why it has to rejoin; None once the coordinator has started a rebalance for it."""
    next_probing_rebalance_ms: int | None = None
    """When it rejoins for a probing rebalance, in simulated ms; None: not at all."""
    initial_version: int = field(init=False)
    """The version that it sends first."""

    def __attrs_post_init__(self) -> None:
        self.initial_version = self.assignor.used_version

    @classmethod
    def start(
        cls,
        name: str,
        process: str,
        instance: Instance,
        workload: Workload,
        process_id: UUID,
        stored_tasks: Iterable[TaskId],
    ) -> SimulatedMember:
        """Return a member that runs as an instance and finds the state stores of some tasks on disk."""
        static = workload.static and instance.release.number >= STATIC_MEMBERSHIP_SINCE
        assignor = copy(_new_assignor(instance, workload, process_id, frozenset(stored_tasks)))
        return cls(name, process, instance, assignor, group_instance_id=name if static else None)

    @property
    def cooperative(self) -> bool:
        """Whether it keeps its tasks while it rejoins (KIP-429)."""
        return self.assignor.member.cooperative

    @property
    def stored_tasks(self) -> frozenset[TaskId]:
        """The tasks whose state stores it knows of."""
        return frozenset(self.assignor.member.stored)

    @property
    def reports_whole_state_dir(self) -> bool:
        """Whether it reports all state stores of its process, whichever thread has them open (up to 2.5)."""
        return self.assignor.member.behaviour.reported_tasks is not ReportedTasks.STATEFUL

    def terminate(self) -> None:
        """Stop running, with or without a reason."""
        self.running = False
        self.owned_tasks = frozenset()

    def fork(self) -> SimulatedMember:
        """Return an independent copy; the state of an assignor is a value, so a shallow copy of it is enough."""
        twin = copy(self)
        twin.assignor = copy(self.assignor)
        return twin


@lru_cache(maxsize=1 << 8)
def _new_assignor(
    instance: Instance, workload: Workload, process_id: UUID, stored_tasks: frozenset[TaskId]
) -> MemoizedAssignor:
    return MemoizedAssignor(
        instance.stream_topology(workload),
        instance.config(workload),
        process_id=process_id,
        release=instance.release,
        stored=stored_tasks,
        task_assignor=workload.task_assignor(instance.release),
    )
