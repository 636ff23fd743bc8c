"""Metrics of a simulated run: task movements, time without an owner, and bytes of subscriptions and assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, Self

from streams_assignor import ReceivedAssignment
from streams_assignor.codec import TaskId
from streams_assignor.groups.described_group import DEFAULT_MAX_MESSAGE_BYTES
from streams_assignor.spark_sim.model.coordinator import SESSION_TIMEOUT_MS
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.scenario import Scenario, Step
from streams_assignor.spark_sim.model.simulation import Simulation

MAX_GROUP_METADATA_BYTES: Final = DEFAULT_MAX_MESSAGE_BYTES
"""``message.max.bytes`` of a broker, by default: a group's metadata is one record of ``__consumer_offsets``."""


class MeasuredSimulation(Simulation):
    """A simulation that measures its run."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.moved_tasks = 0
        """How often a task is given to another process than the one that had it last, all generations together."""
        self.unowned_ms: Counter[TaskId] = Counter()
        """Task => simulated time without an owner; time passes only when sessions time out."""
        self.gaps_ms: list[int] = []
        """The length of each gap, a time in which some task has no owner."""
        self._in_gap = False
        self.member_bytes = 0
        """The most that one member sent and received in a generation."""
        self.group_bytes = 0
        """The most that all members together sent and received in a generation."""
        self._owner_by_task: dict[TaskId, str] = {}

    def begin(self) -> Self:
        """Start the members; the first assignment is no movement."""
        super().begin()
        self.moved_tasks = 0
        return self

    def play(self, step: Step) -> None:
        """Play a step; a gap ends with it if all tasks have an owner."""
        super().play(step)
        self._in_gap = self._in_gap and bool(self.workload.partitions_by_task.keys() - self.owner_by_task.keys())

    def on_sync(self, member: SimulatedMember, assignment: bytes, received: ReceivedAssignment) -> None:  # noqa: ARG002
        """Count the tasks that come from another process."""
        for task in received.active:
            self.moved_tasks += self._owner_by_task.get(task, member.process) != member.process
            self._owner_by_task[task] = member.process

    def on_session_timeout(self) -> None:
        """Add the timeout to the unowned time of every task without an owner, and to the gap."""
        unowned = self.workload.partitions_by_task.keys() - self.owner_by_task.keys()
        for task in unowned:
            self.unowned_ms[task] += SESSION_TIMEOUT_MS
        if unowned and self._in_gap:
            self.gaps_ms[-1] += SESSION_TIMEOUT_MS
        elif unowned:
            self.gaps_ms.append(SESSION_TIMEOUT_MS)
        self._in_gap = bool(unowned)

    def on_assignment_computed(self, leader: SimulatedMember, assignments: Mapping[str, bytes]) -> None:  # noqa: ARG002
        """Measure the assignments, with the subscriptions that they answer."""
        subscriptions = self.coordinator.subscriptions
        sizes = [
            len(subscriptions[member]) + len(encoded)
            for member, encoded in assignments.items()
            if member in subscriptions
        ]
        self.member_bytes = max(self.member_bytes, *sizes)
        self.group_bytes = max(self.group_bytes, sum(sizes))

    def fork(self) -> Self:
        """Return an independent copy."""
        twin = super().fork()
        twin.unowned_ms = self.unowned_ms.copy()
        twin.gaps_ms = self.gaps_ms.copy()
        twin._owner_by_task = self._owner_by_task.copy()
        return twin
