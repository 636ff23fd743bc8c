"""A simulated group with somebody who counts: what moves, what nobody owns meanwhile, how many bytes travel."""

from __future__ import annotations

from collections import Counter
from typing import Final

from assignor.inspect.raw import DEFAULT_LIMIT
from spark_sim.coordinator import SESSION_TIMEOUT_MS
from spark_sim.scenario import Scenario, Step
from spark_sim.threads import Thread
from spark_sim.world import World
from subscription_codec import TaskId

MOST_BYTES_OF_A_GROUP: Final = DEFAULT_LIMIT
"""``message.max.bytes`` of a broker, by default: a group's metadata is one record of ``__consumer_offsets``."""


class Watched(World):
    """A world that counts. ``moved``: tasks that have another owner after a step than before it, all steps together.

    ``unowned_ms``: for each task how long nobody had it, in simulated time, which passes only when sessions time out.
    ``member_bytes`` and ``group_bytes``: the most that a member sent and got in a generation, and all of them together.
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.moved = 0
        self.unowned_ms: Counter[TaskId] = Counter()
        self.member_bytes = 0
        self.group_bytes = 0
        self._owners: dict[TaskId, str] = {}

    def begin(self) -> Watched:
        """Start the members; whom the tasks are given to at first is no move."""
        super().begin()
        self._owners = self._owned()
        return self

    def play(self, step: Step) -> None:
        """Play a step, and count the tasks that it moves."""
        super().play(step)
        owners = self._owned()
        self.moved += sum(self._owners.get(task, owner) != owner for task, owner in owners.items())
        self._owners |= owners

    def expire(self, member_ids: list[str]) -> None:
        """Let the session timeout pass; whatever nobody owns meanwhile stands still."""
        for task in self.shape.tasks.keys() - self._owned().keys():
            self.unowned_ms[task] += SESSION_TIMEOUT_MS
        super().expire(member_ids)

    def answered(self, leader: Thread, answers: dict[str, bytes]) -> None:
        """Hand on the leader's answers, and weigh them with what was asked."""
        asked = self.coordinator.subscriptions
        sizes = [len(asked[member]) + len(answer) for member, answer in answers.items() if member in asked]
        self.member_bytes = max(self.member_bytes, *sizes)
        self.group_bytes = max(self.group_bytes, sum(sizes))
        super().answered(leader, answers)

    def fork(self) -> Watched:
        """Return an independent copy."""
        twin = super().fork()
        assert isinstance(twin, Watched)
        twin.unowned_ms = self.unowned_ms.copy()
        twin._owners = self._owners.copy()
        return twin

    def _owned(self) -> dict[TaskId, str]:
        return {task: thread.process for thread in self.living for task in thread.owned}
