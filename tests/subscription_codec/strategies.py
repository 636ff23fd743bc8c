"""Records of every version for Hypothesis."""

from hypothesis import strategies as st

from subscription_codec import (
    Assignment,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TopicPartition,
)

int32 = st.integers(-(2**31), 2**31 - 1)
tuples = lambda items: st.lists(items, max_size=4).map(tuple)  # noqa: E731 - reads like the others
# Java texts are UTF-16 units: a lone surrogate is a text too, a pair of them is one character.
topics = st.text(st.characters(codec="utf-16"), max_size=8) | st.text(max_size=3, alphabet="\0\x7fé€😀")
task_ids = st.builds(TaskId, int32, int32)
partitions = st.builds(TopicPartition, topics, int32)
end_points = st.text(st.characters(codec="utf-8"), max_size=12)
by_host = st.builds(HostPartitions, st.builds(HostInfo, topics, int32), tuples(partitions))
trailing = st.binary(max_size=6)


@st.composite
def subscriptions(draw):
    """Any subscription of versions 1 to 4."""
    version = draw(st.integers(1, 4))
    return Subscription(
        version=version,
        latest_supported=draw(st.integers(max(version, 3), 2**31 - 1)) if version >= 3 else -1,
        process_id=draw(st.uuids()),
        prev_tasks=draw(tuples(task_ids)),
        standby_tasks=draw(tuples(task_ids)),
        user_end_point=draw(end_points) if version >= 2 else "",
        trailing=draw(trailing),
    )


def future_subscriptions():
    """Any subscription that a reader of version 4 does not know."""
    versions = st.integers(5, 2**31 - 1)
    return st.tuples(versions, versions, trailing).map(lambda v: FutureSubscription(min(v[:2]), max(v[:2]), v[2]))


@st.composite
def assignments(draw):
    """Any assignment of versions 1 to 4."""
    version = draw(st.integers(1, 4))
    return Assignment(
        version=version,
        latest_supported=draw(int32) if version >= 3 else -1,
        active_tasks=draw(tuples(task_ids)),
        standby_tasks=draw(tuples(st.builds(StandbyTask, task_ids, tuples(partitions)))),
        partitions_by_host=draw(tuples(by_host)) if version >= 2 else (),
        error_code=draw(int32) if version >= 4 else 0,
        trailing=draw(trailing),
    )
