"""A task listener that writes down what it hears, and sees at once if it is told twice or out of order."""

from assignor.task_listener import Held, Sums, TaskListener, Tasks
from subscription_codec import TaskId


class Recorder(TaskListener):
    """Knows what it was told and has; `sums` is what it answers."""

    def __init__(self, sums: Sums = None) -> None:
        self.heard: list[tuple[str, Tasks]] = []
        self.held = Held()
        self.sums = sums

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.heard]

    def assigned(self, tasks: Tasks) -> None:
        assert not self.held.active.keys() & tasks.keys()
        self._heard("assigned", tasks, Held({**self.held.active, **tasks}, self.held.standby))

    def revoked(self, tasks: Tasks) -> None:
        assert tasks.items() <= self.held.active.items()
        self._heard("revoked", tasks, Held(without(self.held.active, tasks), self.held.standby))

    def lost(self, tasks: Tasks) -> None:
        assert tasks.items() <= self.held.active.items()
        self._heard("lost", tasks, Held(without(self.held.active, tasks), self.held.standby))

    def standby_added(self, tasks: Tasks) -> None:
        assert not self.held.standby.keys() & tasks.keys()
        self._heard("standby_added", tasks, Held(self.held.active, {**self.held.standby, **tasks}))

    def standby_removed(self, tasks: Tasks) -> None:
        assert tasks.items() <= self.held.standby.items()
        self._heard("standby_removed", tasks, Held(self.held.active, without(self.held.standby, tasks)))

    def offset_sums(self) -> Sums:
        return self.sums

    def _heard(self, word: str, tasks: Tasks, after: Held) -> None:
        assert tasks
        self.heard.append((word, tasks))
        self.held = after


class Rival(Recorder):
    """Notes the tasks it is told of while one of its `rivals`, and it is one itself, still has them.

    Where a session has timed out, that is as it has to be.
    """

    def __init__(self, rivals: list[Recorder], sums: Sums = None) -> None:
        super().__init__(sums)
        self.contested: set[TaskId] = set()
        self._rivals = rivals
        rivals.append(self)

    def assigned(self, tasks: Tasks) -> None:
        super().assigned(tasks)
        for rival in self._rivals:
            if rival is not self:
                self.contested |= rival.held.active.keys() & tasks.keys()


def without(tasks: Tasks, gone: Tasks) -> Tasks:
    return {task: partitions for task, partitions in tasks.items() if task not in gone}
