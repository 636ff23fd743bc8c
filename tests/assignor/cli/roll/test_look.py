"""One look at a group: what a gate compares of its offsets."""

from types import SimpleNamespace

import pytest
from attrs import evolve

from streams_assignor.cli.roll._brokers import look_at_cluster
from streams_assignor.cli.roll.instances import InstanceNames
from streams_assignor.cli.roll.look import look_at
from streams_assignor.codec import TopicPartition
from streams_assignor.groups.offsets import GroupOffsets
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.roll.group_observation import GroupEpochs, PartitionOffsets, StateBehind
from tests.assignor.groups.described_groups import assigned, broker_assigned, group, member, streams_group

MEMBERS = (member("a", active="0_0", had="0_0"), member("b", active="0_1", sums={"0_1": 30}))
ID = {"a": MEMBERS[0].member_id, "b": MEMBERS[1].member_id}
INPUT = {TopicPartition("orders", 0): 5, TopicPartition("orders", 1): 6}
ENDS = {**INPUT, TopicPartition("app-s-changelog", 0): 100, TopicPartition("app-s-changelog", 1): 100}


class Cluster:
    """One described group and its offsets."""

    def __init__(self, offsets):
        self.asked = []
        self._offsets = offsets

    def group(self, _name):
        return evolve(group(*MEMBERS), coordinator="b1:9092")

    def offsets(self, requests, _report):
        self.asked += requests
        return {requests[0].group: self._offsets}


def seen(cluster):
    return look_at(cluster, "app", InstanceNames({"a": "app-a", "b": "app-b"})).seen


def test_partitions_have_their_tasks_and_owners_and_tasks_what_their_owners_lacked():
    cluster = Cluster(GroupOffsets(committed={TopicPartition("orders", 0): 4}, ends=ENDS))
    found = seen(cluster)

    assert [True] == [request.reads_changelogs for request in cluster.asked]
    assert {
        "orders-0": PartitionOffsets(committed=4, end=5, task="0_0", owner=ID["a"]),
        "orders-1": PartitionOffsets(end=6, task="0_1", owner=ID["b"]),
    } == found.offsets
    assert {"0_0": StateBehind(ID["a"], 0), "0_1": StateBehind(ID["b"], 70)} == found.state_lags
    assert "b1:9092" == found.coordinator


def test_a_look_has_the_time_of_the_description_and_not_that_of_the_offsets():
    """With slow brokers, members were taken for alive within the session before the answer that came last."""
    now = [7.0]
    cluster = Cluster(GroupOffsets())
    cluster.offsets = lambda requests, _report: now.append(15.0) or {requests[0].group: GroupOffsets()}
    cluster.group = lambda _name: evolve(group(*MEMBERS), coordinator_was_away=True)
    found = look_at(cluster, "app", InstanceNames({}), clock=lambda: now[-1]).seen

    assert ([7.0, 15.0], 7.0, True) == (now, found.seconds, found.coordinator_was_away)


@pytest.mark.parametrize(
    ("offsets", "known"),
    [
        (GroupOffsets(committed=INPUT, ends=INPUT, failures=("end offset of app-s-changelog: no leader",)), True),
        (GroupOffsets(committed=INPUT, ends={TopicPartition("orders", 0): 5}, failures=("no leader",)), False),
        (GroupOffsets(ends=INPUT, failures=("committed offsets: no answer",)), False),
        (GroupOffsets(ends=INPUT), True),  # nothing is committed yet
    ],
)
def test_offsets_are_known_if_those_of_all_owned_partitions_are(offsets, known):
    found = seen(Cluster(offsets))

    assert known == (found.offsets is not None)
    assert StateBehind(ID["b"], None) == found.state_lags["0_1"]


@pytest.mark.parametrize("where", ["group", "offsets", "error of the group", "nodes"])
def test_what_a_broker_says_of_an_error_is_kept_without_tokens(where):
    """An authenticator repeats what it was sent; journal and report keep what a look has shown."""
    text = "cannot log in with token=abcdefgh12345678"

    def refused(*_):
        raise Unreachable(text)

    cluster = Cluster(GroupOffsets(failures=(text,)))
    if where == "nodes":
        problem = look_at_cluster(SimpleNamespace(describe_health=refused), {}).problem
    else:
        if where == "group":
            cluster.group = refused
        elif where == "error of the group":
            cluster.group = lambda _name: evolve(group(), state="", error=text)
        problem = seen(cluster).problem or seen(cluster).offsets_problem

    assert ("cannot log in with token=[hidden]" in problem, "abcdefgh" in problem) == (True, False)


def test_members_of_a_group_that_rebalances_are_seen_and_its_offsets_are_not_asked_for():
    cluster = Cluster(GroupOffsets())
    cluster.group = lambda _name: evolve(group(*MEMBERS), state="PreparingRebalance", protocol="")
    found = seen(cluster)

    assert (["a", "b"], None, []) == ([each.instance for each in found.members], found.offsets, cluster.asked)


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance"])
def test_a_static_member_is_seen_as_one(state):
    static, dynamic = evolve(MEMBERS[0], group_instance_id="pod-0"), MEMBERS[1]
    cluster = Cluster(GroupOffsets(committed=INPUT, ends=ENDS))
    cluster.group = lambda _name: evolve(group(static, dynamic), state=state)

    assert [True, False] == [each.is_static for each in seen(cluster).members]


def test_a_streams_group_is_seen_with_epochs_offsets_and_the_tasks_whose_state_is_not_shown():
    cluster = Cluster(GroupOffsets(committed={TopicPartition("orders", 0): 4}, ends={TopicPartition("orders", 0): 5}))
    described = streams_group(broker_assigned("app-a", assigned("0_0 1_0")))
    cluster.group = lambda _name: described
    found = seen(cluster)

    assert (GroupEpochs(1, 1, 0), [1]) == (found.epochs, [each.epoch for each in found.members])
    assert PartitionOffsets(committed=4, end=5, task="0_0", owner="app-a") == found.offsets["orders-0"]
    assert {"1_0": StateBehind("app-a", None)} == found.state_lags

    cluster.group = lambda _name: evolve(described, state="Reconciling")
    assert None is seen(cluster).offsets
