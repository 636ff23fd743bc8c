"""A task listener that records its calls, and fails if one is repeated or out of order."""

from streams_assignor.codec import TaskId
from streams_assignor.rebalance_listener import OffsetSums, OwnedTasks, PartitionsByTask, TaskRebalanceListener


class RecordingListener(TaskRebalanceListener):
    """Records its calls and its tasks; `sums` are its offset sums."""

    def __init__(self, sums: OffsetSums = None) -> None:
        self.callbacks: list[tuple[str, PartitionsByTask]] = []
        self.owned_tasks = OwnedTasks()
        self.sums = sums

    @property
    def callback_names(self) -> list[str]:
        return [word for word, _ in self.callbacks]

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        assert not self.owned_tasks.active.keys() & tasks.keys()
        self._record("assigned", tasks, OwnedTasks({**self.owned_tasks.active, **tasks}, self.owned_tasks.standby))

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
        assert tasks.items() <= self.owned_tasks.active.items()
        self._record(
            "revoked", tasks, OwnedTasks(remove_tasks(self.owned_tasks.active, tasks), self.owned_tasks.standby)
        )

    def on_tasks_lost(self, tasks: PartitionsByTask) -> None:
        assert tasks.items() <= self.owned_tasks.active.items()
        self._record("lost", tasks, OwnedTasks(remove_tasks(self.owned_tasks.active, tasks), self.owned_tasks.standby))

    def on_standby_tasks_added(self, tasks: PartitionsByTask) -> None:
        assert not self.owned_tasks.standby.keys() & tasks.keys()
        self._record("standby_added", tasks, OwnedTasks(self.owned_tasks.active, {**self.owned_tasks.standby, **tasks}))

    def on_standby_tasks_removed(self, tasks: PartitionsByTask) -> None:
        assert tasks.items() <= self.owned_tasks.standby.items()
        self._record(
            "standby_removed", tasks, OwnedTasks(self.owned_tasks.active, remove_tasks(self.owned_tasks.standby, tasks))
        )

    def offset_sums(self) -> OffsetSums:
        return self.sums

    def _record(self, word: str, tasks: PartitionsByTask, after: OwnedTasks) -> None:
        assert tasks
        self.callbacks.append((word, tasks))
        self.owned_tasks = after


class ContentionListener(RecordingListener):
    """Records the tasks that it is assigned while another of its `rivals` still owns them; it is one of them.

    After a session timeout that is expected.
    """

    def __init__(self, rivals: list[RecordingListener], sums: OffsetSums = None) -> None:
        super().__init__(sums)
        self.contested: set[TaskId] = set()
        self._rivals = rivals
        rivals.append(self)

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        super().on_tasks_assigned(tasks)
        for rival in self._rivals:
            if rival is not self:
                self.contested |= rival.owned_tasks.active.keys() & tasks.keys()


def remove_tasks(tasks: PartitionsByTask, gone: PartitionsByTask) -> PartitionsByTask:
    return {task: partitions for task, partitions in tasks.items() if task not in gone}
