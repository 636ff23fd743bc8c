"""What an application is told about its tasks, the same with every client library, and what it tells in return.

Java: the moments in which ``TaskManager`` creates, recycles and closes tasks, told to the application itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final, TypeVar

from attrs import field, frozen

from subscription_codec import TaskId, TopicPartition

Tasks = Mapping[TaskId, frozenset[TopicPartition]]
"""Tasks with the partitions that each of them reads."""

Sums = Mapping[TaskId, int] | None
"""Offset sums by task; None: not known."""

_T = TypeVar("_T")


class TaskListener:
    """Derive from it and override what matters; each method gets at least one task.

    In a rebalance the order is: ``revoked`` or ``lost``, ``standby_removed``, ``assigned``, ``standby_added``. A task
    that was a standby here and becomes active is removed as one and assigned as the other. Each change is told once,
    also to a method that raises. The adapters say on which thread, and which of them await methods that are
    ``async def``.
    """

    def assigned(self, tasks: Tasks) -> Awaitable[None] | None:
        """These tasks are ours from now on: read their partitions, restore their state first."""

    def revoked(self, tasks: Tasks) -> Awaitable[None] | None:
        """These tasks go to others, who wait: flush and commit them now. They are still ours until this returns."""

    def lost(self, tasks: Tasks) -> Awaitable[None] | None:
        """These tasks went to others without us (the session timed out): drop them, do not commit."""

    def standby_added(self, tasks: Tasks) -> Awaitable[None] | None:
        """Keep copies of the state of these tasks from now on, out of their changelogs."""

    def standby_removed(self, tasks: Tasks) -> Awaitable[None] | None:
        """These copies are not wanted here any more."""

    def offset_sums(self) -> Sums | Awaitable[Sums]:
        """Say how far the state on this machine is: for each task the sum of the offsets of its changelog partitions.

        Asked before every rebalance. A leader that balances by lag (KIP-441) gives nothing to who is unknown.
        """
        return None


@frozen
class Held:
    """What a member has at one moment."""

    active: Tasks = field(factory=dict)
    standby: Tasks = field(factory=dict)


@frozen(kw_only=True)
class Changes:
    """What is different between two moments, in the words of ``TaskListener`` and in its order."""

    revoked: Tasks = field(factory=dict)
    lost: Tasks = field(factory=dict)
    standby_removed: Tasks = field(factory=dict)
    assigned: Tasks = field(factory=dict)
    standby_added: Tasks = field(factory=dict)

    @classmethod
    def between(cls, before: Held, after: Held, *, lost: bool = False) -> Changes:
        """Compare; a task whose partitions have changed is revoked and assigned, or ``lost`` and assigned.

        >>> from subscription_codec import TaskId
        >>> moved = Changes.between(Held(active={TaskId(0, 1): frozenset()}), Held(standby={TaskId(0, 1): frozenset()}))
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

    def named(self) -> dict[str, Tasks]:
        """By the names of the methods, in their order; what did not change is not there."""
        return {name: tasks for name in _ORDER if (tasks := getattr(self, name))}

    def calls(self, listener: TaskListener) -> Iterator[Callable[[], Awaitable[None] | None]]:
        """What has to be called, in this order; what did not change is not told."""
        for name, tasks in self.named().items():
            yield _calling(getattr(listener, name), tasks)

    def tell(self, listener: TaskListener) -> None:
        """Call them where nothing can be awaited; ``TypeError`` if a method is ``async def``."""
        for call in self.calls(listener):
            told_plainly(call())


_ORDER: Final = ("revoked", "lost", "standby_removed", "assigned", "standby_added")


def told_plainly(answer: _T | Awaitable[_T]) -> _T:
    """Return what a plain method has answered; ``TypeError`` if the method is ``async def``."""
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()  # else Python warns that it was never awaited
    raise TypeError(
        "expected a task listener with plain methods, as nothing can be awaited here, got one with async def"
    )


async def told(answer: _T | Awaitable[_T]) -> _T:
    """Return what a method has answered, plain or ``async def``."""
    return await answer if inspect.isawaitable(answer) else answer


def _calling(method: Callable[[Tasks], Awaitable[None] | None], tasks: Tasks) -> Callable[[], Awaitable[None] | None]:
    return lambda: method(tasks)


def _only_in(one: Tasks, other: Tasks) -> Tasks:
    return {task: partitions for task, partitions in one.items() if other.get(task) != partitions}
