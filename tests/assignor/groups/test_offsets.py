"""Lags of partitions, tasks and replicas of state, from the offsets that brokers have returned."""

from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import (
    BrokerGroup,
    DescribedGroup,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
    finding_text,
    inspect_group,
)
from streams_assignor.groups.described_group import GroupOffsets
from streams_assignor.groups.offsets import (
    GroupsOverTime,
    LagState,
    UnreadRecordsDetector,
    active_state_lags,
    check_lag,
    group_gauges,
    lag_json,
    lag_summary,
    offset_request,
    partition_lags,
    state_lags,
    task_lags,
)
from tests.assignor.groups.described_groups import assigned, broker_assigned, group, member, of_range


def at(**offsets):
    """Offsets by partition: ``orders_0=5`` is orders-0."""
    pairs = ((name.rpartition("_"), offset) for name, offset in offsets.items())
    return {TopicPartition(topic.replace("__", "-"), int(number)): offset for (topic, _, number), offset in pairs}


def seen(*members, committed=(), ends=(), failures=(), **facts):
    offsets = GroupOffsets(committed=at(**dict(committed)), ends=at(**dict(ends)), failures=tuple(failures))
    return evolve(inspect_group(group(*members, **facts)), offsets=offsets)


def lags(found):
    return [(str(each.partition), each.task and str(each.task), each.lag) for each in partition_lags(found)]


@pytest.mark.parametrize(
    ("committed", "end", "lag"),
    [
        (40, 100, 60),
        (100, 100, 0),
        (None, 100, None),  # what it reads first depends on auto.offset.reset
        (None, 0, 0),
        (40, None, None),
        (40, 10, 0),  # the topic was made again
    ],
)
def test_a_lag_is_what_is_behind_the_committed_offset(committed, end, lag):
    given = {
        name: {"orders_0": value} for name, value in (("committed", committed), ("ends", end)) if value is not None
    }

    assert [("orders-0", "0_0", lag)] == lags(seen(member("a", active="0_0"), **given))


def test_tasks_are_those_of_the_sorted_partitions():
    """As ``StreamsPartitionAssignor.onAssignment`` reads them: a task of two topics is there twice."""
    (one,) = seen(member("a", active="1_0 0_1")).members
    two = evolve(one, assignment=evolve(one.assignment, partitions=(TopicPartition("a", 0), TopicPartition("b", 0))))
    found = evolve(seen(committed={"a_0": 1, "b_0": 1, "c_0": 2}, ends={"a_0": 4, "b_0": 5, "c_0": 2}), members=(two,))

    assert [("a-0", "1_0", 3), ("b-0", "0_1", 4), ("c-0", None, 0)] == lags(found)
    assert [("1_0", 3), ("0_1", 4)] == [(str(each.task), each.lag) for each in task_lags(partition_lags(found))]


def test_the_lag_of_a_task_is_the_sum_of_its_partitions_if_all_are_known():
    (one,) = seen(member("a", active="0_0 0_0")).members
    parts = tuple(TopicPartition(topic, 0) for topic in "ab")
    both = (evolve(one, assignment=evolve(one.assignment, partitions=parts)),)
    known = evolve(seen(committed={"a_0": 1, "b_0": 1}, ends={"a_0": 4, "b_0": 5}), members=both)
    unknown = evolve(seen(committed={"a_0": 1}, ends={"a_0": 4, "b_0": 5}), members=both)
    reverse = evolve(seen(committed={"b_0": 1}, ends={"a_0": 4, "b_0": 5}), members=both)

    assert [[7], [None], [None]] == [
        [each.lag for each in task_lags(partition_lags(found))] for found in (known, unknown, reverse)
    ]


def test_partitions_of_plain_consumers_have_no_task():
    found = seen(
        of_range("a", (0, 1)), protocol="range", committed={"orders_0": 1}, ends={"orders_0": 3, "orders_1": 9}
    )

    assert [("orders-0", None, 2), ("orders-1", None, None)] == lags(found)
    assert [] == task_lags(partition_lags(found))


TOPOLOGY = DescribedTopology(
    subtopologies=(
        DescribedSubtopology(
            name="0", source_topics=("orders", "small"), changelogs=(InternalTopic(name="app-s-changelog"),)
        ),
        DescribedSubtopology(name="1", repartition_sources=(InternalTopic(name="app-r"),)),
    )
)
STREAMS = {
    "type": "streams",
    "protocol": "",
    "partition_counts": {"orders": 2, "small": 1, "app-r": 2},
}


def streams(*members, topology=TOPOLOGY, **facts):
    return seen(*members, **STREAMS, broker=BrokerGroup(epoch=1, assignment_epoch=1, topology=topology), **facts)


def test_tasks_of_a_streams_group_read_what_the_topology_says():
    """A subtopology with topics of different sizes has tasks that do not read all of them."""
    found = streams(broker_assigned("a", assigned(active="0_0 0_1 1_1 7_0")))

    assert [("app-r-1", "1_1"), ("orders-0", "0_0"), ("orders-1", "0_1"), ("small-0", "0_0")] == [
        (partition, task) for partition, task, _ in lags(found)
    ]
    assert [] == lags(streams(broker_assigned("a", assigned(active="0_0")), topology=None))


def test_replicas_of_a_streams_group_are_beside_the_changelogs_of_its_topology():
    replica = broker_assigned("a", assigned(standby="0_0", warm_up="0_1 7_0"), offset_sums={TaskId(0, 0): 40})
    found = streams(replica, ends={"app__s__changelog_0": 100})

    asked = offset_request(found)
    assert {"app-s-changelog"} == {each.topic for each in asked.partitions}
    assert not asked.reads_changelogs
    assert [("0_0", 40, 100, 60), ("0_1", None, None, None), ("7_0", None, None, None)] == states(found)


def test_no_broker_knows_how_much_of_its_state_an_active_task_of_a_streams_group_had():
    found = streams(broker_assigned("a", assigned(active="0_0 1_1 7_0")))

    assert [("0_0", None, None)] == [(str(each.task), each.restored, each.end) for each in active_state_lags(found)]


def test_end_offsets_that_the_broker_stores_come_first():
    stored = broker_assigned(
        "a", assigned(standby="0_0"), offset_sums={TaskId(0, 0): 40}, end_offset_sums={TaskId(0, 0): 41}
    )

    found = streams(stored, ends={"app__s__changelog_0": 100})
    assert [("0_0", 40, 41, 1)] == states(found)
    assert [1] == [value for gauge in group_gauges([found]) if "state_lag" in gauge.name for _, value in gauge.samples]


def states(found):
    return [(str(each.task), each.restored, each.end, each.lag) for each in state_lags(found)]


ENDS = {"app__a__changelog_1": 100, "app__b__changelog_1": 10, "other__changelog_1": 5}


@pytest.mark.parametrize(
    ("replica", "ends", "state"),
    [
        (member("a", standby="0_1", sums={"0_1": 90}), ENDS, ("0_1", 90, 110, 20)),
        (member("a", standby="0_1", sums={"0_1": -3}), ENDS, ("0_1", None, 110, None)),
        (member("a", 6, 6, standby="0_1", envelope=1), ENDS, ("0_1", None, 110, None)),
        (member("a", standby="0_1", sums={"0_1": 90}), {}, ("0_1", 90, None, None)),
        # Which store is in which subtopology is not in metadata: the numbers of tasks can tell.
        (member("a", standby="0_1", sums={"0_1": 90, "1_1": 7}), ENDS, ("0_1", 90, None, None)),
        (member("a", standby="0_1", sums={"0_1": 90, "1_0": 7}), ENDS, ("0_1", 90, 110, 20)),
        (member("a", standby="0_1", sums={"0_1": 90, "1_2": 7}), ENDS, ("0_1", 90, 110, 20)),
        (member("a", standby="0_0", sums={"0_0": 90}), ENDS, ("0_0", 90, None, None)),
    ],
)
def test_replicas_of_a_classic_group_are_beside_the_changelogs_of_their_subtopology_if_known(replica, ends, state):
    found = seen(replica, ends=ends)

    assert [state] == states(found)
    assert offset_request(found).reads_changelogs
    assert not offset_request(seen(member("a", active="0_0"))).reads_changelogs


def active_states(found):
    return [(str(each.task), each.member.name, each.restored, each.end, each.lag) for each in active_state_lags(found)]


@pytest.mark.parametrize(
    ("owner", "state"),
    [
        (member("a", active="0_1", had="0_1"), (None, 110, 0)),  # it ran
        (member("a", active="0_1", sums={"0_1": 90}), (90, 110, 20)),  # suspended, or on disk
        (member("a", active="0_1", sums={"0_0": 90}), (0, 110, 110)),  # it has nothing of it
        (member("a", active="0_1", sums={"0_1": -3}), (None, 110, None)),
        (member("a", 6, 6, envelope=1, active="0_1", had="0_1"), (None, 110, 0)),
        (member("a", 6, 6, envelope=1, active="0_1", owned="0_1"), (None, 110, None)),
    ],
)
def test_an_active_task_is_behind_by_what_its_process_reported_when_it_joined(owner, state):
    other = member("b", sums={"0_0": 5})
    found = seen(owner, other, ends=ENDS)

    (task,) = [each for each in active_states(found) if each[0] == "0_1"]
    assert state == task[2:]


def test_any_thread_of_a_process_reports_its_state():
    """Each thread reports what it runs, and one of them what else is on disk."""
    process = UUID(int=7)
    threads = [
        member("a", active="0_1", process=process),
        member("b", sums={"0_1": 90}, active="0_2", process=process),
        member("c", had="0_1 0_2", process=UUID(int=8)),
        member("d", had="0_2", process=process),
        member("e", sums={"0_2": 4}, process=process),
    ]
    found = seen(*threads, ends=ENDS)

    assert [20, 0] == [each[-1] for each in active_states(found)]


def test_the_changelogs_of_active_tasks_are_asked_for_while_some_may_be_restored():
    running = seen(member("a", active="0_0", had="0_0"))
    stateless = seen(member("a", active="0_0"))
    restoring = seen(member("a", active="0_0", sums={"0_0": 1}))

    assert [False, False, True] == [
        offset_request(found, of_active_state=True).reads_changelogs for found in (running, stateless, restoring)
    ]
    assert not offset_request(restoring).reads_changelogs
    assert [] == active_states(stateless)


def test_offsets_that_were_not_read_have_no_lag():
    found = inspect_group(group(member("a", active="0_0")))

    assert (None, None) == (lag_summary(found), lag_json(found))
    assert found == check_lag(found, 0)
    assert [None] == [each.lag for each in partition_lags(found)]
    assert [] == state_lags(found)
    assert [] == [each for each in group_gauges([found]) if each.samples and "lag" in each.name]


@pytest.mark.parametrize(
    ("committed", "ends", "short", "text"),
    [
        ({}, {}, "?", "unknown of 2 partitions"),
        ({"orders_0": 1}, {"orders_0": 9}, "≥ 8", "8 in 2 partitions, at most 8 in one; unknown of 1 partition"),
        ({"orders_0": 1}, {"orders_0": 9, "orders_1": 0}, "8", "8 in 2 partitions, at most 8 in one"),
    ],
)
def test_a_sum_says_what_is_not_in_it(committed, ends, short, text):
    found = lag_summary(seen(member("a", active="0_0 0_1"), committed=committed, ends=ends))

    assert (short, text) == (found.sum_text, found.text)


@pytest.mark.parametrize(
    ("failures", "lag", "text"), [((), 0, "0 in 0 partitions, at most 0 in one"), (("a:1",), None, "unknown")]
)
def test_no_lag_of_no_partition_needs_an_answer(failures, lag, text):
    """It was 0 when no broker had answered."""
    empty = DescribedGroup(name="app", state="Empty", protocol_type="consumer")
    found = evolve(inspect_group(empty), offsets=GroupOffsets(failures=failures))
    gauges = {
        gauge.name.rpartition("_group_")[2]: [value for _, value in gauge.samples] for gauge in group_gauges([found])
    }

    assert (lag, lag, text) == (lag_json(found)["total"], lag_json(found)["most"], lag_summary(found).text)
    assert ([] if failures else [0]) == gauges["lag"]


def test_the_json_has_partitions_tasks_and_state():
    replica = member("b", standby="0_0", sums={"0_0": 3})
    found = seen(
        member("a", active="0_0"),
        replica,
        committed={"orders_0": 1, "old_0": 1},
        ends={"orders_0": 9, "app__s__changelog_0": 4},
    )

    shown = lag_json(found)
    assert (8, 8, 1) == (shown["total"], shown["most"], shown["unknown"])
    assert [
        {"topic": "old", "partition": 0, "task": None, "member": None, "committed": 1, "end": None, "lag": None},
        {"topic": "orders", "partition": 0, "task": "0_0", "member": "61000000", "committed": 1, "end": 9, "lag": 8},
    ] == shown["partitions"]
    assert [{"task": "0_0", "member": "61000000", "lag": 8}] == shown["tasks"]
    assert [{"task": "0_0", "member": "62000000", "restored": 3, "end": 4, "lag": 1}] == shown["state"]
    samples = {gauge.name: gauge.samples for gauge in group_gauges([found])}
    assert 3 == samples["streams_assignor_group_state_restored_offset"][0][1]
    # It was 1, and grew for ever: the member of a classic group says it when it joins, and not while it runs.
    assert [] == samples["streams_assignor_group_state_lag"]
    assert 1 == len(samples["streams_assignor_group_partition_lag"])


def test_a_limit_names_the_largest_lags_first():
    found = seen(
        member("a", active="0_0 0_1 0_2"),
        committed={"orders_0": 1, "orders_1": 1},
        ends={"orders_0": 5, "orders_1": 9, "orders_2": 9},
    )

    assert [
        "2 partitions with a lag above 3: orders-1 (8) and orders-0 (4)",
        "the lag of 1 partition is unknown (there is no commit): orders-2",
    ] == [finding_text(each) for each in check_lag(found, 3).problems]
    assert [("61000000",), ("61000000",)] == [each.members for each in check_lag(found, 3).problems]


def test_a_limit_that_is_kept_is_no_problem():
    above = seen(member("a", active="0_0"), committed={"orders_0": 1}, ends={"orders_0": 5})

    assert above == check_lag(above, 4)
    assert ["lag"] == [each.code for each in check_lag(above, 3).problems]


def test_which_partitions_there_are_may_be_unknown():
    found = seen(state="Empty", failures=["committed offsets: not authorized"])

    assert ["the lag is unknown (committed offsets: not authorized)"] == [
        finding_text(each) for each in check_lag(found, 3).problems
    ]
    assert [] == [*check_lag(seen(state="Empty"), 3).problems]


EMPTY = {"state": "Empty", "protocol": ""}
GROWS = "no members, and the lag grows: records come that nobody reads"
COMMITTED = {"orders_0": 1, "orders_1": 5}


@pytest.mark.parametrize(
    ("looks", "texts", "is_undecided"),
    [
        # Each look: the group, and its end offsets.
        ([(EMPTY, {"orders_0": 4, "orders_1": 5})], [], True),
        ([(EMPTY, {"orders_0": 4, "orders_1": 5})] * 2, [], True),
        ([(EMPTY, {"orders_0": 4, "orders_1": 5}), (EMPTY, {"orders_0": 4, "orders_1": 6})], [GROWS], False),
        ([(EMPTY, {"orders_0": 4, "orders_1": 5}), ({}, {"orders_0": 9, "orders_1": 9})], [], False),
        (
            [
                (EMPTY, {"orders_0": 4, "orders_1": 5}),
                ({}, {"orders_0": 9, "orders_1": 9}),
                (EMPTY, {"orders_0": 9, "orders_1": 9}),
            ],
            [],
            True,
        ),
        # What a later look shows for the first time has not grown.
        (
            [(EMPTY, {"orders_0": 4}), (EMPTY, {"orders_0": 4, "orders_1": 6})],
            [],
            True,
        ),
        # A topic that was made anew grows from its new end on.
        ([(EMPTY, {"orders_0": end, "orders_1": 5}) for end in (9, 0)], [], True),
        ([(EMPTY, {"orders_0": end, "orders_1": 5}) for end in (9, 0, 3)], [GROWS], False),
        ([(EMPTY, {"orders_0": 4})], ["the lag of 1 partition is unknown (no answer): orders-1"], True),
    ],
)
def test_a_lag_that_grows_without_members_is_a_problem(looks, texts, is_undecided):
    detector = UnreadRecordsDetector()
    for second, (facts, ends) in enumerate(looks):
        members = [] if facts else [member("a", active="0_0 0_1")]
        failures = [] if len(ends) == 2 else ["no answer"]
        given = seen(*members, committed=COMMITTED, ends=ends, failures=failures, **facts)
        found = detector.update(given, float(second))

    assert texts == [finding_text(each) for each in found.problems]
    assert is_undecided is detector.is_undecided(5, 10)
    assert not detector.is_undecided(50, 10)
    assert texts[1:] == [finding_text(each) for each in check_lag(found, 9).problems if each not in found.problems]


def test_a_group_that_is_gone_is_forgotten():
    detector = UnreadRecordsDetector()
    detector.update(seen(committed=COMMITTED, ends=COMMITTED, **EMPTY), 0.0)
    detector.forget_others({"app"})
    assert detector.is_undecided(1.0, 10)
    detector.forget_others({"other"})
    assert not detector.is_undecided(1.0, 10)


LOOKS = range(10)


@pytest.mark.parametrize(
    ("committed", "ends", "state"),
    [
        ([3, 4, *[5] * 10], [9] * 12, LagState.STALLED),
        ([3, 4, *[5] * 10], [10 + look for look in range(12)], LagState.STALLED),
        ([3, None, 4, *[5] * 10], [9] * 13, LagState.STALLED),
        ([5] * 10, [9] * 10, LagState.UNKNOWN),  # no commit was seen
        ([4, *[5] * 20], [9] * 21, LagState.UNKNOWN),  # nor two of them
        ([3, *[4] * 12, *[5] * 10], [9] * 23, LagState.UNKNOWN),  # the commit before came after 120 s
        ([3, *[4] * 12, *[5] * 14], [9] * 27, LagState.UNKNOWN),
        ([3, *[4] * 12, *[5] * 15], [9] * 28, LagState.STALLED),
        ([3, *[4] * 12, *range(5, 15), *[15] * 10], [99] * 33, LagState.STALLED),  # that was long ago
        ([3, 4, *[5] * 14], [*[5] * 6, *[9] * 10], LagState.STALLED),
        ([3, 4, *[5] * 13], [*[5] * 12, *[9] * 3], LagState.KEEPS_UP),
        ([*LOOKS], [9 + look for look in LOOKS], LagState.GROWS),
        ([*LOOKS], [9 + 2 * look for look in LOOKS], LagState.GROWS),
        ([*LOOKS], [20] * 10, LagState.DRAINS),
        ([*LOOKS], [20 + 3 * (look % 2) for look in LOOKS], LagState.KEEPS_UP),
        ([*LOOKS], [*LOOKS], LagState.KEEPS_UP),
        ([5] * 10, [5, *[9] * 9], LagState.KEEPS_UP),  # it was read to its end at the first look
        ([5] * 9, [9] * 9, LagState.UNKNOWN),
        ([*[5] * 9, None], [9] * 10, LagState.UNKNOWN),
        ([5] * 10, [*[9] * 9, None], LagState.UNKNOWN),
        ([None, *LOOKS], [9 + look for look in range(11)], LagState.GROWS),  # an old look does not count
    ],
)
def test_a_lag_has_a_state_over_ten_looks(committed, ends, state):
    over = GroupsOverTime()
    for now, (at_group, end) in enumerate(zip(committed, ends, strict=True)):
        given = {
            name: {"orders_0": value} for name, value in (("committed", at_group), ("ends", end)) if value is not None
        }
        found = over.update([seen(member("a", active="0_0"), **given)], 10.0 * now)

    assert {state: 1} == found["app"].partitions


@pytest.mark.parametrize(("between", "state"), [(1.0, LagState.UNKNOWN), (4.0, LagState.STALLED)])
def test_looks_within_one_commit_interval_show_no_stalled_lag(between, state):
    """A lag that was looked at for 9 seconds was stalled; members of Kafka Streams commit each 30 seconds."""
    over, ends = GroupsOverTime(), {"orders_0": 9}
    for look, committed in enumerate([3, 4, *[5] * 10]):
        group = seen(member("a", active="0_0"), committed={"orders_0": committed}, ends=ends)
        found = over.update([group], between * look)["app"].partitions

    assert {state: 1} == found


def test_a_group_that_was_not_there_begins_anew():
    over, stalled = GroupsOverTime(), seen(member("a", active="0_0"), committed={"orders_0": 5}, ends={"orders_0": 9})
    for now in range(10):
        over.update([stalled], float(now))
    over.update([], 10.0)

    assert {LagState.UNKNOWN: 1} == over.update([stalled], 11.0)["app"].partitions


def test_an_upgrade_that_does_not_move_has_its_seconds():
    half = inspect_group(group(member("a", 9, 9, active="0_0"), member("b", 9, active="0_1")))
    more = inspect_group(group(member("a", 9, active="0_0"), member("b", 9, active="0_1")))
    done = inspect_group(group(member("a", active="0_0"), member("b", active="0_1")))
    hidden = inspect_group(evolve(half.described, state="PreparingRebalance", protocol=""))
    plain = inspect_group(group(of_range("c", [0]), protocol="range"))
    over = GroupsOverTime()
    looks = [(hidden, None), (half, 0.0), (half, 10.0), (hidden, 20.0), (half, 30.0), (more, 0.0), (more, 10.0)]
    looks += [(done, None), (half, 0.0), (plain, None), (half, 0.0)]

    assert [idle for _, idle in looks] == [
        over.update([look], 10.0 * number)["app"].upgrade_idle_s for number, (look, _) in enumerate(looks)
    ]


def test_states_over_time_are_gauges():
    over = GroupsOverTime()
    for now, committed in enumerate([3, 4, *[5] * 10]):
        app = seen(member("a", 9, active="0_0"), committed={"orders_0": committed}, ends={"orders_0": 9})
        states = over.update([app], 10.0 * now)
    gauges = {gauge.name.removeprefix("streams_assignor_group_"): gauge for gauge in group_gauges([app], states)}

    assert {"keeps-up": 0, "grows": 0, "stalled": 1, "drains": 0, "unknown": 0} == {
        labels["state"]: value for labels, value in gauges["lag_states"].samples
    }
    assert [({"group": "app"}, 0)] == gauges["restart_loops"].samples
    assert [({"group": "app"}, 110.0)] == gauges["upgrade_idle_seconds"].samples
    without = group_gauges([evolve(app, offsets=None)], states)
    assert [] == [gauge for gauge in without if gauge.name.endswith("lag_states") and gauge.samples]


def test_no_restart_loop_needs_looks_that_could_show_one():
    """It was 0 after one look, and of a group whose members are hidden."""
    over, app = GroupsOverTime(), inspect_group(group(member("a", active="0_0")))
    hidden = inspect_group(evolve(app.described, members=(), error="no answer"))
    looks = [app, app, app, app, hidden, app]
    found = [group_gauges([look], over.update([look], float(now))) for now, look in enumerate(looks)]
    samples = [next(each.samples for each in gauges if each.name.endswith("restart_loops")) for gauges in found]

    assert [[], [], [], [({"group": "app"}, 0)], [], []] == samples


def test_a_group_that_has_committed_nothing_waits_for_nothing():
    detector = UnreadRecordsDetector()
    found = seen(**EMPTY)

    assert found == detector.update(found, 0.0)
    assert not detector.is_undecided(0.0, 10)


def test_a_group_that_is_not_described_has_no_number_of_members():
    hidden = inspect_group(group(error="hidden"))

    assert {"info", "problems", "notices"} == {
        gauge.name.removeprefix("streams_assignor_group_") for gauge in group_gauges([hidden]) if gauge.samples
    }
