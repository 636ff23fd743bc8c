"""Describing groups through scripted brokers: partial results and retries; tests/lab/integration has real ones."""

from contextlib import contextmanager
from types import SimpleNamespace as Answer
from uuid import UUID

import pytest

from streams_assignor.codec import TaskId
from streams_assignor.codec.consumer_protocol import ConsumerSubscription, encode_consumer_subscription
from streams_assignor.codec.streams_group import DESCRIBE, encode_message
from streams_assignor.groups import Assigned, BrokerGroup, DescribedGroup, NoSuchGroup, inspect_group, topics_of
from streams_assignor.groups.describe.kafka_python import group_lookup
from streams_assignor.groups.describe.kafka_python._facts import with_facts
from streams_assignor.groups.describe.kafka_python._requests import REQUESTS, described_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.upgrade.cluster.client.connection import ClusterNodes, Deadline
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable
from streams_assignor.upgrade.topology_description import DescribedNode
from streams_assignor.upgrade.verdict import TopologyFeature, features_of_nodes

LOADING, NOT_AUTHORIZED, NOT_FOUND = 14, 30, 69
UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, TOPIC_DENIED = 3, 5, 29


def listed(name, state="Stable", group_type="classic"):
    return Answer(group_id=name, group_state=state, group_type=group_type, protocol_type="consumer")


def described(name, error=0, state="Stable"):
    return Answer(
        group_id=name,
        error_code=error,
        error_message=None,
        group_state="" if error else state,
        protocol_type="consumer",
        protocol_data="range",
        members=[],
    )


class Broker:
    """Answers each kind of request with the next of its answers, and then always with the last one."""

    def __init__(self, address, **answers):
        self.server = address
        self.answers = {"Metadata": [Answer(topics=[])], "DescribeConfigs": [Answer(results=[])], **answers}
        self.requests = []

    def describe_brokers(self, _deadline):
        return ClusterNodes({1: "a:1", 2: "b:2"}, 1, "an id")

    def supports(self, request):
        return request.__name__.removesuffix("Request") in self.answers

    def send(self, request, _deadline, **fields):
        name = request.__name__.removesuffix("Request")
        self.requests.append(name)
        answers = self.answers[name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return self._with_unknown_topics(answer, fields["topics"]) if name == "Metadata" else answer

    @staticmethod
    def _with_unknown_topics(answer, asked):
        """As a broker does, name every topic that was asked for."""
        missing = {topic.name for topic in asked} - {topic.name for topic in answer.topics}
        unknown = [Answer(name=name, topic_id=None, error_code=UNKNOWN_TOPIC, partitions=[]) for name in missing]
        return Answer(topics=[*answer.topics, *unknown])


def groups_of(*names, error=0, **facts):
    return Answer(error_code=error, error_message=None, groups=[listed(name, **facts) for name in names])


@pytest.fixture(name="cluster", autouse=True)
def fixture_cluster(monkeypatch):
    """Brokers by address; an address without a broker refuses connections."""
    brokers = {}

    @contextmanager
    def connect(_self, address, _deadline):
        if address not in brokers:
            raise Unreachable(f"{address}: refused")
        yield brokers[address]

    monkeypatch.setattr(GroupLookup, "_connect", connect)
    monkeypatch.setattr(group_lookup, "_RETRY_SECONDS", 0.01)
    return brokers


def broker(cluster, address, **answers):
    cluster[address] = Broker(address, **answers)
    return cluster[address]


def of_class(answer):
    return Answer(groups=[answer])


def test_an_unreachable_broker_does_not_hide_the_groups_of_others(cluster):
    broker(cluster, "a:1", ListGroups=[groups_of("x")], DescribeGroups=[of_class(described("x"))])

    found = GroupLookup("a:1").groups()

    assert (["x"], ("broker 2: b:2: refused",)) == ([group.name for group in found.groups], found.failures)


def test_without_any_answer_it_is_an_error(cluster):
    broker(cluster, "a:1", ListGroups=[Unreachable("a:1: closed")])

    with pytest.raises(Unreachable, match="broker 1: a:1: closed; broker 2: b:2: refused"):
        GroupLookup("a:1").groups()


def test_a_group_that_the_user_may_not_describe_has_an_error(cluster):
    for address, name in (("a:1", "x"), ("b:2", "y")):
        answers = of_class(described(name, NOT_AUTHORIZED if name == "y" else 0))
        broker(cluster, address, ListGroups=[groups_of(name)], DescribeGroups=[answers])

    fine, hidden = GroupLookup("a:1").groups().groups

    assert ("x", "") == (fine.name, fine.error)
    assert ("y", "Stable") == (hidden.name, hidden.state)
    assert hidden.error.startswith("GROUP_AUTHORIZATION_FAILED: ")


def test_a_listed_group_that_is_missing_in_the_answer_has_an_error(cluster):
    """It counted as deleted, as one does of which the answer says so."""
    missing = Answer(groups=[described("deleted", NOT_FOUND)])
    for address, names in (("a:1", ("deleted", "x")), ("b:2", ())):
        broker(cluster, address, ListGroups=[groups_of(*names)], DescribeGroups=[missing])

    (found,) = GroupLookup("a:1").groups().groups

    assert ("x", "the answer of a:1 does not have it") == (found.name, found.error)


def test_it_says_if_topics_are_not_known(cluster):
    """Without them a partition without an owner is not noticed."""
    reads_orders = Answer(**{**vars(described("x")), "members": [member_of("orders")]})
    for address, names in (("a:1", ["x"]), ("b:2", [])):
        broker(
            cluster,
            address,
            ListGroups=[groups_of(*names)],
            DescribeGroups=[of_class(reads_orders)],
            Metadata=[Unreachable(f"{address}: closed"), Answer(topics=[])],
        )
    found = GroupLookup("a:1").groups()

    assert (["x"], ("the topics of the groups are not known: a:1: closed",)) == (
        [group.name for group in found.groups],
        found.failures,
    )


def member_of(topic):
    return Answer(
        member_id="m",
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        member_metadata=encode_consumer_subscription(ConsumerSubscription((topic,), None)),
        member_assignment=b"",
    )


def test_it_says_if_partitions_without_a_leader_are_not_known(cluster):
    for address in ("a:1", "b:2"):
        broker(cluster, address, ListGroups=[groups_of()], Metadata=[Unreachable(f"{address}: closed")])

    assert GroupLookup("a:1").groups().failures == (
        "whether all partitions of __consumer_offsets have a leader is not known: a:1: closed",
    )


def test_groups_that_are_being_loaded_are_asked_for_again(cluster):
    """A broker that has just become the coordinator reads its part of the offsets topic."""
    loading = broker(
        cluster,
        "a:1",
        ListGroups=[groups_of(error=LOADING), groups_of("x")],
        DescribeGroups=[of_class(described("x", LOADING)), of_class(described("x"))],
    )
    other = broker(cluster, "b:2", ListGroups=[groups_of()])

    found = GroupLookup("a:1").groups()

    assert (["x"], [""], ()) == (
        [group.name for group in found.groups],
        [group.error for group in found.groups],
        found.failures,
    )
    assert (3, 1) == (loading.requests.count("ListGroups"), other.requests.count("ListGroups"))


def test_groups_that_are_loaded_too_slowly_are_a_failure(cluster):
    broker(cluster, "a:1", ListGroups=[groups_of(error=LOADING)])
    broker(cluster, "b:2", ListGroups=[groups_of("y")], DescribeGroups=[of_class(described("y", LOADING))])

    found = GroupLookup("a:1", timeout_seconds=0.2).groups()

    assert [("y", True)] == [(group.name, "COORDINATOR_LOAD" in group.error) for group in found.groups]
    assert 1 == len(found.failures)
    assert found.failures[0].startswith("broker 1: a:1: COORDINATOR_LOAD_IN_PROGRESS: ")


def test_a_group_that_is_deleted_in_the_meantime_is_left_out(cluster):
    broker(cluster, "a:1", ListGroups=[groups_of("x")], DescribeGroups=[of_class(described("x", NOT_FOUND))])
    broker(cluster, "b:2", ListGroups=[groups_of()])

    assert ((), ()) == (GroupLookup("a:1").groups().groups, GroupLookup("a:1").groups().failures)


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (Unreachable("b:2: no answer"), "b:2: no answer"),
        (ApiError(35, "UNSUPPORTED_VERSION", "No."), "UNSUPPORTED_VERSION: No."),
    ],
)
def test_groups_whose_description_is_lost_have_an_error(cluster, answer, output):
    broker(cluster, "a:1", ListGroups=[groups_of()])
    broker(cluster, "b:2", ListGroups=[groups_of("y")], DescribeGroups=[answer])

    assert [("y", output)] == [(group.name, group.error) for group in GroupLookup("a:1").groups().groups]


def test_a_group_of_an_unknown_type_has_an_error(cluster):
    broker(cluster, "a:1", ListGroups=[groups_of("x", group_type="Quorum")])
    broker(cluster, "b:2", ListGroups=[groups_of()])

    (found,) = GroupLookup("a:1").groups().groups
    assert "expected a group of type classic, consumer, share, streams, got quorum" == found.error


def test_partitions_of_the_offsets_topic_without_a_leader_are_a_failure(cluster):
    """No broker lists their groups."""
    partitions = [Answer(leader_id=leader) for leader in (1, -1, 1)]
    offsets = Answer(topics=[Answer(name="__consumer_offsets", error_code=0, partitions=partitions)])
    for address in ("a:1", "b:2"):
        broker(cluster, address, ListGroups=[groups_of()], Metadata=[offsets])

    assert ("1 of 3 partitions of __consumer_offsets have no leader",) == GroupLookup("a:1").groups().failures


@pytest.mark.parametrize(
    ("code", "is_failure"), [(UNKNOWN_TOPIC, False), (TOPIC_DENIED, False), (LEADER_NOT_AVAILABLE, True)]
)
def test_an_error_of_the_offsets_topic_is_a_failure_unless_it_is_not_there_or_hidden(cluster, code, is_failure):
    offsets = Answer(topics=[Answer(name="__consumer_offsets", error_code=code, partitions=[])])
    for address in ("a:1", "b:2"):
        broker(cluster, address, ListGroups=[groups_of()], Metadata=[offsets])

    failures = GroupLookup("a:1").groups().failures

    assert is_failure == any("__consumer_offsets have a leader is not known: topic" in failure for failure in failures)


def test_a_topic_that_is_not_in_the_answer_is_an_error(cluster, monkeypatch):
    monkeypatch.setattr(Broker, "_with_unknown_topics", staticmethod(lambda answer, _asked: answer))
    for address in ("a:1", "b:2"):
        broker(cluster, address, ListGroups=[groups_of()])

    (failure,) = GroupLookup("a:1").groups().failures

    assert failure.endswith("expected topic __consumer_offsets in the answer to Metadata, got none")


ITSELF = Answer(coordinators=[Answer(error_code=0, host="a", port=1)])
COORDINATOR = Answer(coordinators=[Answer(error_code=0, host="b", port=2)])


def test_a_coordinator_that_does_not_answer_is_asked_for_again(cluster):
    """Its broker restarts, and another one becomes the coordinator."""
    moved = Answer(coordinators=[Answer(error_code=0, host="a", port=1)])
    answers = {"ListGroups": [groups_of("x")], "DescribeGroups": [of_class(described("x"))]}
    broker(cluster, "a:1", FindCoordinator=[COORDINATOR, moved], **answers)

    found = [GroupLookup("a:1").group("x") for _ in range(2)]
    assert [("x", True), ("x", False)] == [(group.name, group.coordinator_was_away) for group in found]


@pytest.mark.parametrize("state", ["Stable", "Empty", "Dead"])
def test_the_listed_type_decides_how_a_group_is_described(cluster, state):
    """Brokers of another make describe a group of KIP-848 as a classic one without members."""
    broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x", state=state))],
        ListGroups=[groups_of("x", group_type="Consumer")],
        ConsumerGroupDescribe=[of_class(consumer_answer("x"))],
    )

    assert ("consumer", 3) == ((found := GroupLookup("a:1").group("x")).type, found.broker.epoch)


@pytest.mark.parametrize(("listing", "requests"), [(LOADING, 2), (NOT_AUTHORIZED, 1)])
def test_a_classic_group_is_described_without_a_list(cluster, listing, requests):
    """Of a coordinator that loads its groups the list is asked for again; its user may not be allowed to list them."""
    node = broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x"))],
        ListGroups=[groups_of(error=listing), groups_of("x")],
    )

    assert ("classic", "Stable") == ((found := GroupLookup("a:1").group("x")).type, found.state)
    assert requests == node.requests.count("ListGroups")


def test_a_coordinator_that_never_answers_is_an_error(cluster):
    broker(cluster, "a:1", FindCoordinator=[COORDINATOR])

    with pytest.raises(Unreachable, match="b:2: refused"):
        GroupLookup("a:1", timeout_seconds=0.1).group("x")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (of_class(described("x", NOT_FOUND)), NoSuchGroup),
        (of_class(described("x", NOT_AUTHORIZED)), ApiError),
    ],
)
def test_a_group_of_kip_848_that_cannot_be_described(cluster, answer, error):
    broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x", NOT_FOUND))],
        ListGroups=[groups_of("x", group_type="Consumer")],
        ConsumerGroupDescribe=[answer],
    )

    with pytest.raises(error):
        GroupLookup("a:1").group("x")


@pytest.mark.parametrize(("state", "is_error"), [("", True), ("Stable", True), ("Empty", False)])
def test_a_group_that_is_listed_without_a_type_and_not_described_is_not_missing(cluster, state, is_error):
    broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x", NOT_FOUND))],
        ListGroups=[groups_of("x", state=state, group_type=None)],
    )

    assert is_error == ("lists this group" in GroupLookup("a:1").group("x").error)


def consumer_answer(name):
    facts = {"group_epoch": 3, "assignment_epoch": 3, "members": [], "authorized_operations": 8}
    return Answer(group_id=name, error_code=0, group_state="Stable", assignor_name="uniform", **facts)


OTHER_TYPE = (described("x"), described("x", state="Dead"), described("x", NOT_FOUND))
"""How a classic description may say of a group of another type that it has no members, or is not there."""


def with_member(answer):
    """The same description, with one member of any type."""
    member = Answer(**vars(member_of("orders")), member_epoch=3, rack_id=None, subscribed_topic_names=["orders"])
    return Answer(**{**vars(answer), "members": [Answer(**vars(member), assignment=Answer(topic_partitions=[]))]})


ORDERS, GONE = UUID(int=7), UUID(int=8)


@pytest.mark.parametrize(("topic", "shown"), [(ORDERS, "orders-1"), (GONE, f"{GONE}-1")], ids=["known", "gone"])
@pytest.mark.parametrize(("request_name", "target"), [("ConsumerGroupDescribe", True), ("ShareGroupDescribe", False)])
def test_topics_that_a_broker_describes_by_their_ids_alone_get_their_names(cluster, request_name, target, topic, shown):
    """franz-go's kfake leaves the names empty: the partitions were "-1", and those of the topic had no owner."""
    answer = with_member(consumer_answer("x"))
    (member,) = answer.members
    member.assignment = Answer(topic_partitions=[Answer(topic_id=topic, topic_name="", partitions=[1])])
    if target:
        member.target_assignment = Answer(topic_partitions=[Answer(topic_id=topic, topic_name="", partitions=[1])])
    metadata = [
        Answer(topics=[Answer(topic_id=ORDERS, name="orders", error_code=0, partitions=[Answer(leader_id=1)])]),
    ]
    broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        ListGroups=[groups_of("x", group_type=request_name.removesuffix("GroupDescribe"))],
        **{request_name: [of_class(answer)]},
        Metadata=metadata,
    )
    (found,) = [each.broker_assignment for each in GroupLookup("a:1").group("x").members]

    assert [shown] == [*map(str, found.current.partitions)]
    assert ([shown] if target else None) == (found.target and [*map(str, found.target.partitions)])


@pytest.mark.parametrize("classic", OTHER_TYPE, ids=["without members", "dead", "unknown"])
@pytest.mark.parametrize(
    ("listed_type", "request_name"),
    [
        (listed_type, f"{known}GroupDescribe")
        for known in ("Consumer", "Share")
        for listed_type in (known, None, "Classic")
    ],
)
def test_a_group_is_described_as_in_the_list_of_all(cluster, classic, listed_type, request_name):
    """It had no members where the list showed one: brokers may list no type, or describe any group as a classic one."""
    broker(
        cluster,
        "a:1",
        FindCoordinator=[ITSELF],
        DescribeGroups=[of_class(classic)],
        ListGroups=[groups_of("x", group_type=listed_type)],
        **{request_name: [of_class(with_member(consumer_answer("x")))]},
    )
    cluster["b:2"] = Broker("b:2", ListGroups=[groups_of()])

    (listed,) = GroupLookup("a:1").groups().groups
    assert listed == GroupLookup("a:1").group("x")
    assert (request_name.removesuffix("GroupDescribe").lower(), 1, "") == (
        listed.type,
        len(listed.members),
        listed.error,
    )


@pytest.mark.parametrize(("state", "error"), [("Stable", "expected a group of type classic"), ("Empty", "")])
def test_a_group_of_an_unknown_type_is_described_as_in_the_list_of_all(cluster, state, error):
    broker(
        cluster,
        "a:1",
        FindCoordinator=[ITSELF],
        DescribeGroups=[of_class(described("x", state="Dead"))],
        ListGroups=[groups_of("x", state=state, group_type="Quorum")],
    )
    cluster["b:2"] = Broker("b:2", ListGroups=[groups_of()])

    assert GroupLookup("a:1").groups().groups == ((found := GroupLookup("a:1").group("x")),)
    assert (True, state, "quorum") == (found.error.startswith(error), found.state, found.type)


def streams_answer(name):
    topology = Answer(
        epoch=0,
        subtopologies=[
            Answer(
                subtopology_id="0",
                source_topics=["orders", "gone", "hidden"],
                repartition_sink_topics=[],
                state_changelog_topics=[],
                repartition_source_topics=[],
            )
        ],
    )
    facts = {"group_epoch": 1, "assignment_epoch": 1, "members": [], "authorized_operations": 8}
    return Answer(group_id=name, error_code=0, group_state="NotReady", topology=topology, **facts)


def topic(name, error=0, topic_id="id"):
    return Answer(name=name, topic_id=topic_id, error_code=error, partitions=[Answer(leader_id=1)] * 3)


@pytest.mark.parametrize(
    ("known", "name", "codes"),
    [
        (topic("orders", topic_id=7), "orders", []),
        (topic("orders", 29, 7), "7", ["partly-described"]),  # the user may not see it
    ],
)
def test_topics_that_are_described_by_ids_have_their_names(cluster, known, name, codes):
    """kfake sends no names: each partition was "not assigned to any member"."""
    given = Answer(topic_partitions=[Answer(topic_name="", topic_id=7, partitions=[0, 1, 2])])
    member = Answer(**{**vars(with_member(consumer_answer("x")).members[0]), "assignment": given})
    answer = Answer(**{**vars(consumer_answer("x")), "members": [Answer(**vars(member), target_assignment=given)]})
    broker(
        cluster,
        "a:1",
        FindCoordinator=[ITSELF],
        ListGroups=[groups_of("x", group_type="Consumer")],
        ConsumerGroupDescribe=[of_class(answer)],
        Metadata=[Answer(topics=[known])],
    )

    found = GroupLookup("a:1").group("x")

    (assignment,) = [each.broker_assignment for each in found.members]
    assert {name} == {each.topic for part in (assignment.current, assignment.target) for each in part.partitions}
    assert codes == [each.code for each in inspect_group(found).findings]


def configs(name, error=0, **values):
    found = [Answer(name=key.replace("_", "."), value=value) for key, value in values.items()]
    return Answer(resource_name=name, error_code=error, configs=found)


def test_a_streams_group_has_its_settings_and_what_is_known_of_its_topics(cluster):
    """A topic that the user may not see is not missing."""
    node = broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x", NOT_FOUND))],
        ListGroups=[groups_of("x", group_type="Streams")],
        StreamsGroupDescribe=[of_class(streams_answer("x"))],
        Metadata=[Answer(topics=[topic("orders"), topic("gone", 3), topic("hidden", 29)])],
        DescribeConfigs=[
            Answer(results=[configs("x", streams_num_standby_replicas="1", consumer_session_timeout_ms="7")]),
            Answer(results=[configs("x", NOT_AUTHORIZED)]),
        ],
    )
    found = GroupLookup("a:1").group("x")

    assert ({"orders": 3}, {"gone"}, None) == (found.partition_counts, found.missing_topics, found.max_message_bytes)
    assert ({"streams.num.standby.replicas": "1"}, "a:1") == (found.broker.configs, found.coordinator)
    assert "StreamsGroupDescribe" in node.requests


def test_a_user_that_may_see_neither_topics_nor_settings_gets_the_group(cluster):
    broker(
        cluster,
        "a:1",
        ListGroups=[groups_of("x", group_type="Streams")],
        StreamsGroupDescribe=[of_class(streams_answer("x"))],
        Metadata=[Unreachable("a:1: no answer")],
        DescribeConfigs=[Unreachable("a:1: no answer")],
    )
    (found,) = GroupLookup("a:1").groups().groups

    assert ({}, set(), None, None) == (
        found.partition_counts,
        found.missing_topics,
        found.broker.configs,
        found.max_message_bytes,
    )


def test_a_broker_without_streams_groups_is_named(cluster):
    broker(
        cluster,
        "a:1",
        FindCoordinator=[Answer(coordinators=[Answer(error_code=0, host="a", port=1)])],
        DescribeGroups=[of_class(described("x", NOT_FOUND))],
        ListGroups=[groups_of()],
        ConsumerGroupDescribe=[of_class(described("x", NOT_FOUND))],
    )

    with pytest.raises(NoSuchGroup, match=r"this broker does not support groups of type streams \(KIP-1071: Kafka 4.1"):
        GroupLookup("a:1").group("x")


def test_the_requests_are_made_of_kafkas_schemas():
    assert {"consumer": 69, "share": 77, "streams": 89} == {kind: each.API_KEY for kind, each in REQUESTS.items()}


@pytest.mark.parametrize("version", [0, 1])
def test_a_broker_before_4_4_is_not_asked_for_a_topology_description(version):
    """The request leaves out what its version lacks."""
    fields = {"group_ids": ["app"], "include_authorized_operations": True, "include_topology_description": True}
    expected = {"groupIds": ["app"], "includeAuthorizedOperations": True, "includeTopologyDescription": True}

    assert REQUESTS["streams"](**fields).encode(version=version) == encode_message(DESCRIBE.request, version, expected)


def test_members_of_kip_1071_have_tasks():
    tasks = [Answer(subtopology_id="0", partitions=[1, 0]), Answer(subtopology_id="left", partitions=[2])]
    none = Answer(active_tasks=[], standby_tasks=[], warmup_tasks=[])
    changelog = Answer(
        name="x-changelog",
        partitions=0,
        replication_factor=-1,
        topic_configs=[Answer(key="cleanup.policy", value="compact")],
    )
    member = Answer(
        member_id="m",
        member_epoch=3,
        instance_id=None,
        rack_id="r",
        client_id="c",
        client_host="/10.0.0.1",
        topology_epoch=7,
        process_id="p",
        user_endpoint=Answer(host="h", port=7),
        client_tags=[Answer(key="zone", value="z")],
        task_offsets=[Answer(subtopology_id="0", partition=1, offset=40)],
        task_end_offsets=[],
        assignment=Answer(active_tasks=tasks, standby_tasks=[], warmup_tasks=[]),
        target_assignment=none,
        is_classic=False,
    )
    subtopology = Answer(
        subtopology_id="0",
        source_topics=["orders"],
        repartition_sink_topics=[],
        state_changelog_topics=[changelog],
        repartition_source_topics=[],
    )
    answer = Answer(
        group_id="x",
        group_state="Reconciling",
        group_epoch=5,
        assignment_epoch=4,
        topology=Answer(epoch=7, subtopologies=[subtopology]),
        members=[member],
        authorized_operations=-(2**31),
    )
    group = described_group(answer, "streams")

    (found,) = [each.broker_assignment for each in group.members]
    assert ["0_0", "0_1", "left__0_2"] == [str(task) for task in found.current.active]
    assert (Assigned(), "h:7", {"zone": "z"}) == (found.target, found.end_point, found.client_tags)
    assert ({TaskId(0, 1): 40}, {}, 7) == (found.offset_sums, found.end_offset_sums, found.topology_epoch)
    assert (5, 4, 7, None) == (
        group.broker.epoch,
        group.broker.assignment_epoch,
        group.broker.topology.epoch,
        group.broker.authorized_operations,
    )
    assert {"orders", "x-changelog"} == topics_of(group)


def node(name, kind, *successors, topics=(), sink=None, stores=()):
    facts = {"source_topics": [*topics], "sink_topic": sink, "stores": [*stores], "successors": [*successors]}
    return Answer(name=name, node_type=kind, **facts)


def with_description(*nodes, status=3, subtopology="0", global_stores=()):
    """The answer of a broker of 4.4, with a subtopology of these nodes."""
    topology = streams_answer("app").topology
    topology.subtopologies[0].repartition_sink_topics = ["app-by-id-repartition"]
    subtopologies = [Answer(subtopology_id=subtopology, nodes=nodes)]
    facts = {**vars(streams_answer("app")), "topology": topology, "topology_description_status": status}
    description = Answer(subtopologies=subtopologies, global_stores=global_stores) if status == 3 else None
    return described_group(Answer(**facts, topology_description=description, assignor_name="sticky"), "streams")


def test_the_topology_description_is_that_of_the_text():
    """Internal topics have no application id there; the name of a filter is compared with theirs."""
    stores = [Answer(source=node("g", 1, "p", topics=["rates"]), processor=node("p", 2, stores=["global"]))]
    found = with_description(
        node("source", 1, "by-id-repartition-filter", topics=["orders"]),
        node("pattern", 1),
        node("by-id-repartition-filter", 2, "sink", "dynamic", stores=["store"]),
        node("sink", 3, sink="app-by-id-repartition"),
        node("dynamic", 3),
        global_stores=stores,
    )

    assert ("sticky", "available") == (found.protocol, found.broker.topology_description_status)
    filtering = ("by-id-repartition-filter",)
    assert (
        DescribedNode("Source", "source", 0, topics=("orders",)),
        DescribedNode("Source", "pattern", 0, topics=("(a pattern)",), has_pattern=True),
        DescribedNode("Processor", *filtering, 0, stores=("store",), predecessors=("source",)),
        DescribedNode("Sink", "sink", 0, topics=("by-id-repartition",), predecessors=filtering),
        DescribedNode("Sink", "dynamic", 0, predecessors=filtering),
        DescribedNode("Source", "g", None, topics=("rates",)),
        DescribedNode("Processor", "p", None, stores=("global",), predecessors=("g",)),
    ) == found.broker.topology_description
    features = features_of_nodes(found.broker.topology_description)
    assert TopologyFeature.REPARTITIONED_TABLES in features.absent
    assert TopologyFeature.SECOND_SOURCE_TOPIC in features.present
    shown = inspect_group(found).as_json()
    assert ["available", *([["orders"], None])] == [
        shown["topology_description_status"],
        *(each["topics"] for each in shown["topology_description"][:2]),
    ]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (with_description(status=0), None),
        (with_description(status=1), "not-stored"),
        (with_description(status=2), "error"),
        (with_description(status=9), "9"),
        (with_description(), "not-understood"),
        (with_description(node("new", 4)), "not-understood"),
        (with_description(node("a", 2), subtopology="left"), "not-understood"),
    ],
    ids=["before 4.4", "not stored", "error", "later status", "no nodes", "later kind", "no number"],
)
def test_a_topology_that_is_not_described_or_not_understood_is_unknown(found, status):
    assert (status, None) == (found.broker.topology_description_status, found.broker.topology_description)


def test_a_member_of_kip_848_has_a_current_and_a_target_assignment():
    one, two = (
        Answer(topic_partitions=[Answer(topic_name="orders", partitions=[*partitions])])
        for partitions in ((1, 0), (1,))
    )
    member = Answer(
        member_id="m",
        member_epoch=3,
        instance_id="i",
        rack_id=None,
        client_id="c",
        client_host="/10.0.0.1",
        subscribed_topic_names=[],
        subscribed_topic_regex="or.*",
        assignment=one,
        target_assignment=two,
        member_type=0,
    )
    answer = Answer(
        group_id="x",
        group_state="Reconciling",
        group_epoch=5,
        assignment_epoch=5,
        assignor_name="uniform",
        members=[member],
        authorized_operations=8,
    )
    group = described_group(answer, "consumer")

    (found,) = [each.broker_assignment for each in group.members]
    assert (["orders-0", "orders-1"], ["orders-1"]) == tuple(
        [*map(str, each.partitions)] for each in (found.current, found.target)
    )
    assert ("or.*", True, "uniform", 8) == (
        found.topic_regex,
        found.is_classic,
        group.protocol,
        group.broker.authorized_operations,
    )


@pytest.mark.parametrize("groups", [[], [described("y")]])
def test_an_answer_without_the_group_is_an_error(cluster, groups):
    """It ended in a ValueError of an assignment."""
    broker(
        cluster,
        "a:1",
        FindCoordinator=[ITSELF],
        ListGroups=[groups_of("x")],
        DescribeGroups=[Answer(groups=groups)],
    )

    with pytest.raises(Unreachable, match="the answer of a:1 does not have it"):
        GroupLookup("a:1", timeout_seconds=0.1).group("x")


@pytest.mark.parametrize("value", [None, "", "many", "9" * 5_000])
def test_a_limit_that_is_no_number_is_unknown(cluster, value):
    configs = Answer(results=[Answer(error_code=0, resource_name="x", configs=[Answer(name="k", value=value)])])
    broker(
        cluster,
        "a:1",
        FindCoordinator=[ITSELF],
        ListGroups=[groups_of("x")],
        DescribeGroups=[of_class(described("x"))],
        DescribeConfigs=[configs],
    )

    assert GroupLookup("a:1").group("x").max_message_bytes is None


def test_settings_about_groups_are_those_that_each_broker_shows(cluster):
    """They were those of the broker with the lowest number; broker 2 refuses the connection."""
    known = {"group.streams.min.session.timeout.ms": "1000", "group.consumer.migration.policy": "upgrade"}
    values = {**known, "group.consumer.max.session.timeout.ms": None}
    configs = [Answer(name=name, value=value) for name, value in values.items()]
    broker(cluster, "a:1", DescribeConfigs=[Answer(results=[Answer(error_code=0, resource_name="1", configs=configs)])])

    assert {1: known, 2: {}} == GroupLookup("a:1").group_settings()


def test_settings_of_a_group_that_was_not_asked_for_are_left_out():
    """It ended in a KeyError."""
    configs = Answer(results=[Answer(error_code=0, resource_name="other", configs=[])])
    group = DescribedGroup(name="x", state="Stable", type="streams", broker=BrokerGroup(epoch=1, assignment_epoch=1))

    assert [group] == with_facts([group], Broker("a:1", DescribeConfigs=[configs]), Deadline(60))


def test_the_id_of_the_cluster_is_what_a_broker_says(cluster):
    broker(cluster, "a:1")

    assert "an id" == GroupLookup("a:1").cluster_id()
