"""The callbacks by which an application follows its tasks, the same with every client library.

Java: KIP-1071's ``StreamsRebalanceListener``, and the moments in which ``TaskManager`` creates, recycles and closes
standby tasks.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Final, TypeVar

from attrs import field, frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import UsageError

PartitionsByTask = Mapping[TaskId, frozenset[TopicPartition]]
"""The partitions that each task reads."""

OffsetSums = Mapping[TaskId, int] | None
"""Offset sums by task; None: not known."""

_T = TypeVar("_T")


class TaskRebalanceListener(ABC):
    """Receives the changes of one member's tasks; derive from it and implement at least the three abstract methods.

    Order: in one rebalance ``on_tasks_revoked`` or ``on_tasks_lost`` comes first, then ``on_standby_tasks_removed``,
    ``on_tasks_assigned``, ``on_standby_tasks_added``. A standby task that becomes active is removed as a standby and
    assigned as an active task.

    Arguments: each method gets at least one task. The mapping is read-only and does not change later.

    Exceptions: each change is delivered once, also to a method that raises. The remaining methods are called, then the
    first exception is raised again; the adapters say where.

    Threads: each adapter says on which thread it calls the methods, and whether they may be ``async def``.

    Raises:
        UsageError: when a derived class defines a method ``on_...`` that is a misspelt callback.
    """

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        callbacks = [name for name in vars(TaskRebalanceListener) if not name.startswith("_")]
        for name in vars(cls).keys() - callbacks:
            # A class may also be a client library's listener, so on_partitions_revoked and the like are not mistakes.
            if name.startswith("on_") and not name.startswith("on_partitions"):
                for meant in get_close_matches(name, callbacks, n=1, cutoff=0.8):
                    raise UsageError(
                        f"expected a callback of TaskRebalanceListener, got {cls.__name__}.{name}; "
                        f"did you mean {meant}?"
                    )

    @abstractmethod
    def on_tasks_assigned(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """The member owns these tasks from now on: restore their state, then read their partitions."""

    @abstractmethod
    def on_tasks_revoked(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """Another member will own these tasks: flush and commit them. The member owns them until this returns."""

    @abstractmethod
    def on_tasks_lost(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """Other members may own these tasks already, as the session timed out: drop them, do not commit."""

    def on_standby_tasks_added(self, tasks: PartitionsByTask) -> Awaitable[None] | None:  # noqa: B027  # optional
        """Replicate the state of these tasks from their changelogs from now on."""

    def on_standby_tasks_removed(self, tasks: PartitionsByTask) -> Awaitable[None] | None:  # noqa: B027  # optional
        """Stop replicating the state of these tasks."""

    def offset_sums(self) -> OffsetSums | Awaitable[OffsetSums]:
        """Return how far the local state is: for each task the sum of the offsets of its changelog partitions.

        Called before every rebalance; in a streams group of brokers of 4.4 each ``streams.task.offset.interval.ms``.
        Without it a lag-balancing leader (KIP-441) never treats this process as caught up.
        """
        return None


class NoOpListener(TaskRebalanceListener):
    """Ignores every change: the listener of a member without a listener of its own."""

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """Do nothing."""

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """Do nothing."""

    def on_tasks_lost(self, tasks: PartitionsByTask) -> Awaitable[None] | None:
        """Do nothing."""


def check_listener(listener: object) -> TaskRebalanceListener:
    """Return the listener, a `NoOpListener` for None; ``UsageError`` for anything else."""
    if listener is None:
        return NoOpListener()
    if isinstance(listener, TaskRebalanceListener):
        return listener
    got = f"the class {listener.__name__}" if isinstance(listener, type) else f"a {type(listener).__name__}"
    raise UsageError(f"expected an instance of a class that derives from TaskRebalanceListener, got {got}")


@frozen
class OwnedTasks:
    """The tasks of one member at one moment."""

    active: PartitionsByTask = field(factory=dict)
    standby: PartitionsByTask = field(factory=dict)


@frozen(kw_only=True)
class TaskChanges:
    """The difference between the tasks of two moments, in the order of ``TaskRebalanceListener``."""

    revoked: PartitionsByTask = field(factory=dict)
    lost: PartitionsByTask = field(factory=dict)
    standby_removed: PartitionsByTask = field(factory=dict)
    assigned: PartitionsByTask = field(factory=dict)
    standby_added: PartitionsByTask = field(factory=dict)

    @classmethod
    def between(cls, before: OwnedTasks, after: OwnedTasks, *, lost: bool = False) -> TaskChanges:
        """Compare two moments. A task with other partitions than before is revoked (or ``lost``) and assigned.

        >>> from streams_assignor.codec import TaskId
        >>> moved = TaskChanges.between(
        ...     OwnedTasks(active={TaskId(0, 1): frozenset()}), OwnedTasks(standby={TaskId(0, 1): frozenset()})
        ... )
        >>> [name for name in ("revoked", "assigned", "standby_added") if getattr(moved, name)]
        ['revoked', 'standby_added']
        """
        gone = _only_in(before.active, after.active)
        return cls(
            revoked={} if lost else gone,
            lost=gone if lost else {},
            standby_removed=_only_in(before.standby, after.standby),
            assigned=_only_in(after.active, before.active),
            standby_added=_only_in(after.standby, before.standby),
        )

    def by_kind(self) -> dict[str, PartitionsByTask]:
        """Return the changed tasks by kind, in the order of the callbacks; a kind without tasks is absent."""
        return {name: tasks for name in _CALLBACK_ORDER if (tasks := getattr(self, name))}

    def callbacks(self, listener: TaskRebalanceListener) -> Iterator[Callable[[], Awaitable[None] | None]]:
        """Yield the calls to make, in their order; nothing for a kind without tasks."""
        methods = {
            "revoked": listener.on_tasks_revoked,
            "lost": listener.on_tasks_lost,
            "standby_removed": listener.on_standby_tasks_removed,
            "assigned": listener.on_tasks_assigned,
            "standby_added": listener.on_standby_tasks_added,
        }
        for name, tasks in self.by_kind().items():
            yield partial(methods[name], tasks)

    def notify(self, listener: TaskRebalanceListener) -> None:
        """Call the listener where nothing can be awaited; ``UsageError`` if a method is ``async def``."""
        for call in self.callbacks(listener):
            require_synchronous(call())


_CALLBACK_ORDER: Final = ("revoked", "lost", "standby_removed", "assigned", "standby_added")


def require_synchronous(answer: _T | Awaitable[_T]) -> _T:
    """Return the result of a plain method; ``UsageError`` if the method is ``async def``."""
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()  # otherwise Python warns that it was never awaited
    raise UsageError(
        "expected a task listener with plain methods, as nothing can be awaited here, got one with async def"
    )


async def await_if_needed(answer: _T | Awaitable[_T]) -> _T:
    """Return the result of a method, plain or ``async def``."""
    return await answer if inspect.isawaitable(answer) else answer


def _only_in(tasks: PartitionsByTask, other: PartitionsByTask) -> PartitionsByTask:
    return {task: partitions for task, partitions in tasks.items() if other.get(task) != partitions}
