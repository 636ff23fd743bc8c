"""What a listener is told, and in which words."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.task_listener import Changes, Held, TaskListener, Tasks, told_plainly
from subscription_codec import TaskId, TopicPartition
from tests.assignor.clients.listening import Recorder

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
# Whole sets to choose from: Hypothesis draws one of them in a fraction of the time that it takes to put one together.
INPUTS = [frozenset(some) for size in range(3) for some in combinations(PARTITIONS, size)]
TASKS = st.dictionaries(st.sampled_from([TaskId(0, number) for number in range(5)]), st.sampled_from(INPUTS))
HELD = st.builds(Held, TASKS, TASKS)


@given(st.lists(HELD))
def test_who_listens_has_at_every_moment_what_the_member_has(moments: list[Held]) -> None:
    listener = Recorder()
    for before, after in zip([Held(), *moments], moments, strict=False):
        Changes.between(before, after).tell(listener)
        assert after == listener.held


@given(HELD, HELD)
def test_what_is_lost_is_not_revoked(before: Held, after: Held) -> None:
    revoked, lost = Changes.between(before, after), Changes.between(before, after, lost=True)

    assert (revoked.revoked, {}) == (lost.lost, lost.revoked)
    assert {} == revoked.lost
    assert revoked.assigned == lost.assigned


@given(HELD)
def test_what_stays_is_not_told(held: Held) -> None:
    assert Changes() == Changes.between(held, held)


def test_the_order_is_giving_before_taking() -> None:
    listener = Recorder()
    before = Held({TaskId(0, 0): frozenset()}, {TaskId(0, 1): frozenset()})
    Changes.between(Held(), before).tell(listener)
    Changes.between(before, Held(before.standby, before.active)).tell(listener)

    assert ["assigned", "standby_added", "revoked", "standby_removed", "assigned", "standby_added"] == listener.words


def test_where_nothing_can_wait_methods_have_to_be_plain() -> None:
    class Waiting(TaskListener):
        async def assigned(self, tasks: Tasks) -> None:
            """Wait, as it were."""

    with pytest.raises(TypeError, match="plain methods"):
        Changes(assigned={TaskId(0, 0): frozenset()}).tell(Waiting())
    with pytest.raises(TypeError, match="plain methods"):
        told_plainly(_Awaitable())


def test_who_overrides_nothing_knows_nothing() -> None:
    assert TaskListener().offset_sums() is None
    Changes.between(Held({TaskId(0, 0): frozenset()}), Held(standby={TaskId(0, 0): frozenset()})).tell(TaskListener())
    Changes.between(Held({}, {TaskId(0, 0): frozenset()}), Held({TaskId(0, 0): frozenset()})).tell(TaskListener())
    Changes.between(Held({TaskId(0, 0): frozenset()}), Held(), lost=True).tell(TaskListener())


class _Awaitable:
    """Not a coroutine, and yet not an answer."""

    def __await__(self):
        yield
