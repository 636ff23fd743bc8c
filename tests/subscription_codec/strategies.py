"""Records of every version for Hypothesis.

The strategies of a record's parts are made once: making it anew for each record takes as long as drawing.
"""

from functools import cache

from hypothesis import strategies as st

from streams_assignor.codec import (
    LATEST_OFFSET,
    LATEST_SUPPORTED_VERSION,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    Assignment,
    ClientTag,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
)

LATEST = LATEST_SUPPORTED_VERSION
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
numbers = st.integers(0, 40) | int32  # small ones, so that there are duplicates and groups
tuples = lambda items, most=4: st.lists(items, max_size=most).map(tuple)  # noqa: E731 - reads like the others
# Java texts are UTF-16 units: a lone surrogate is a text too, a pair of them is one character.
lone_surrogates = st.sampled_from(["\ud800", "a\udfffb", "\udc00\0"])
topics = (
    st.text(max_size=8, alphabet=st.characters(codec="utf-16")) | st.text("\0\x7fé€😀a", max_size=3) | lone_surrogates
)
topology_names = topics.filter(bool)
ordinary_names = st.from_regex(r"[a-zA-Z0-9._-]{1,9}", fullmatch=True)
utf8 = st.text(st.characters(codec="utf-8"), max_size=12)
# Bytes that are not UTF-8 are kept as surrogate escapes.
bad_utf8 = st.sampled_from([b"\xff:1", b"\xc3", b"a\x80b"]).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
texts = utf8 | bad_utf8
offset_sums = st.sampled_from([LATEST_OFFSET, OFFSET_UNKNOWN, 0, -1, -4, 2**63 - 1, -(2**63)]) | int64
task_ids = st.builds(TaskId, numbers, numbers, st.none())  # without the last, Hypothesis would make names up
trailing = st.just(b"") | st.binary(max_size=6)
versions = st.integers(1, LATEST)
error_codes = st.integers(0, 4) | int32
unique_fields = st.integers(-128, 127)
process_ids = st.uuids()
supported_version = {version: st.integers(version, 2**31 - 1) for version in range(3, LATEST + 1)}
next_rebalances = st.sampled_from([0, NO_FOLLOW_UP]) | int64
prev_tasks = tuples(task_ids)
no_names = st.none()


@cache
def optional(names):
    return no_names | names


@cache
def task_offset_sums(names):
    return tuples(st.builds(TaskOffsetSum, st.builds(TaskId, numbers, numbers, names), offset_sums), 8)


@cache
def client_tags(texts):
    return tuples(st.builds(ClientTag, texts, texts))


@st.composite
def subscriptions(draw, versions=versions, usual=False, texts=texts):
    """Any subscription; ``usual``: one without named topologies."""
    version = draw(versions)
    sums = draw(task_offset_sums(no_names if usual or version < 10 else optional(texts))) if version >= 7 else ()
    return Subscription(
        version=version,
        supported_version=draw(supported_version[version]) if version >= 3 else -1,
        process_id=draw(process_ids),
        prev_tasks=draw(prev_tasks) if version <= 6 else (),
        standby_tasks=draw(prev_tasks) if version <= 6 else (),
        user_end_point=draw(texts) if version >= 2 else "",
        task_offset_sums=sums if version >= 10 else tuple(sorted(sums)),  # before 10 they travel by subtopology
        unique_field=draw(unique_fields) if version >= 8 else 0,
        error_code=draw(error_codes) if version >= 9 else 0,
        client_tags=draw(client_tags(texts)) if version >= 11 else (),
        trailing=draw(trailing),
    )


def future_subscriptions():
    """Any future subscription."""
    versions = st.integers(LATEST + 1, 2**31 - 1)
    return st.tuples(versions, versions, trailing).map(lambda v: FutureSubscription(min(v[:2]), max(v[:2]), v[2]))


@cache
def active_tasks(names):
    return tuples(st.builds(TaskId, numbers, numbers, names), 8)


@cache
def partitions(topics):
    return tuples(st.builds(TopicPartition, topics, numbers))


@cache
def standby_tasks(names, topics):
    return tuples(st.builds(StandbyTask, st.builds(TaskId, numbers, numbers, names), partitions(topics)))


@cache
def partitions_by_host(texts):
    return tuples(st.builds(HostPartitions, st.builds(HostInfo, texts, int32), partitions(texts)))


@st.composite
def assignments(draw, versions=versions, usual=False):
    """Any assignment; ``usual``: one without named topologies whose hosts and topics have ordinary names."""
    version = draw(versions)
    names = no_names if usual or version < 10 else optional(topology_names)
    texts = ordinary_names if usual else topics
    by_host = partitions_by_host(texts)
    return Assignment(
        version=version,
        supported_version=draw(int32) if version >= 3 else -1,
        active_tasks=draw(active_tasks(names)),
        standby_tasks=draw(standby_tasks(names, texts)),
        partitions_by_host=draw(by_host) if version >= 2 else (),
        standby_partitions_by_host=draw(by_host) if version >= 6 else (),
        error_code=draw(error_codes) if version >= 4 else 0,
        next_rebalance_ms=draw(next_rebalances) if version >= 7 else NO_FOLLOW_UP,
        trailing=draw(trailing),
    )
