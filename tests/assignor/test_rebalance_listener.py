"""The calls of a listener: which, in which order, and what is refused."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import UsageError
from streams_assignor.rebalance_listener import (
    NoOpListener,
    OwnedTasks,
    PartitionsByTask,
    TaskChanges,
    TaskRebalanceListener,
    check_listener,
    require_synchronous,
)
from tests.assignor.clients.recording_listener import RecordingListener

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
# Whole sets to choose from: Hypothesis draws one of them in a fraction of the time that it takes to put one together.
INPUTS = [frozenset(some) for size in range(3) for some in combinations(PARTITIONS, size)]
TASKS = st.dictionaries(st.sampled_from([TaskId(0, number) for number in range(5)]), st.sampled_from(INPUTS))
HELD = st.builds(OwnedTasks, TASKS, TASKS)


@given(st.lists(HELD))
def test_a_listener_has_the_tasks_of_its_member_at_every_moment(moments: list[OwnedTasks]) -> None:
    listener = RecordingListener()
    for before, after in zip([OwnedTasks(), *moments], moments, strict=False):
        TaskChanges.between(before, after).notify(listener)
        assert after == listener.owned_tasks


@given(HELD, HELD)
def test_lost_tasks_are_not_revoked(before: OwnedTasks, after: OwnedTasks) -> None:
    revoked, lost = TaskChanges.between(before, after), TaskChanges.between(before, after, lost=True)

    assert (revoked.revoked, {}) == (lost.lost, lost.revoked)
    assert {} == revoked.lost
    assert revoked.assigned == lost.assigned


@given(HELD)
def test_unchanged_tasks_are_not_announced(held: OwnedTasks) -> None:
    assert TaskChanges() == TaskChanges.between(held, held)


def test_revocations_come_before_assignments() -> None:
    listener = RecordingListener()
    before = OwnedTasks({TaskId(0, 0): frozenset()}, {TaskId(0, 1): frozenset()})
    TaskChanges.between(OwnedTasks(), before).notify(listener)
    TaskChanges.between(before, OwnedTasks(before.standby, before.active)).notify(listener)

    assert [
        "assigned",
        "standby_added",
        "revoked",
        "standby_removed",
        "assigned",
        "standby_added",
    ] == listener.callback_names


def test_async_methods_are_refused_where_nothing_can_be_awaited() -> None:
    class Waiting(NoOpListener):
        async def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
            """Wait, as it were."""

    with pytest.raises(UsageError, match="plain methods"):
        TaskChanges(assigned={TaskId(0, 0): frozenset()}).notify(Waiting())
    with pytest.raises(UsageError, match="plain methods"):
        require_synchronous(_Awaitable())


def test_a_listener_without_state_returns_no_offset_sums() -> None:
    assert NoOpListener().offset_sums() is None
    TaskChanges.between(
        OwnedTasks({TaskId(0, 0): frozenset()}), OwnedTasks(standby={TaskId(0, 0): frozenset()})
    ).notify(NoOpListener())
    TaskChanges.between(OwnedTasks({}, {TaskId(0, 0): frozenset()}), OwnedTasks({TaskId(0, 0): frozenset()})).notify(
        NoOpListener()
    )
    TaskChanges.between(OwnedTasks({TaskId(0, 0): frozenset()}), OwnedTasks(), lost=True).notify(NoOpListener())


class _Awaitable:
    """Not a coroutine, and yet not an answer."""

    def __await__(self):
        yield


def test_a_misspelt_callback_is_refused_where_it_is_defined() -> None:
    with pytest.raises(UsageError, match=r"got Billing\.on_task_assigned; did you mean on_tasks_assigned\?"):

        class Billing(NoOpListener):
            def on_task_assigned(self, tasks: PartitionsByTask) -> None:
                """Never called."""


def test_callbacks_of_other_listeners_are_no_misspelt_ones() -> None:
    class Both(NoOpListener):
        def on_partitions_assigned(self, partitions: object) -> None:
            """A client library's callback."""

        def on_shutdown(self) -> None:
            """A method of the application."""

    assert isinstance(Both(), TaskRebalanceListener)


@pytest.mark.parametrize(("listener", "got"), [(NoOpListener, "the class NoOpListener"), (print, "a builtin_function")])
def test_only_an_instance_is_a_listener(listener: object, got: str) -> None:
    with pytest.raises(UsageError, match=f"expected an instance of a class .*, got {got}"):
        check_listener(listener)
