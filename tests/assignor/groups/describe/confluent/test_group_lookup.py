"""Groups as confluent-kafka describes them; tests/lab/integration/test_group_view.py has real ones."""

from types import SimpleNamespace

import pytest
from attrs import evolve
from confluent_kafka import ConsumerGroupState, ConsumerGroupType

from streams_assignor.codec import TopicPartition
from streams_assignor.groups import NoSuchGroup, finding_text, group_progress, inspect_group, progress_text
from streams_assignor.groups.describe.confluent import group_lookup
from streams_assignor.groups.describe.confluent.group_lookup import GroupLookup, librdkafka_config
from streams_assignor.groups.offsets import OffsetRequest
from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable

DENIED = group_lookup.KafkaError.TOPIC_AUTHORIZATION_FAILED
BROKER = SimpleNamespace(host="a", port=1, id=1)


def described(name, state="Dead"):
    """As ``list_groups`` describes a group; one that is not classic is dead, without a type."""
    return SimpleNamespace(id=name, error=None, state=state, protocol_type="", protocol="", broker=BROKER, members=[])


class Done(SimpleNamespace):
    """A future of the library: it has a result, or raises an error."""

    def result(self, _seconds):
        if self.error:
            raise group_lookup.KafkaException(group_lookup.KafkaError(self.error))
        return self.value


def of(value, error=None):
    return Done(value=value, error=error)


class Committed:
    """What consumers of ``orders`` have committed: 4 of the 10 records of ``a-0`` and of ``b-0``."""

    closed = 0

    def __init__(self, group, *errors):
        self.group = group
        self.errors = [*errors]

    def committed(self, asked, **_):
        if self.group != "orders" or self.errors:
            code = self.errors.pop(0) if self.errors else DENIED
            raise group_lookup.KafkaException(group_lookup.KafkaError(code))
        return [
            SimpleNamespace(
                topic=each.topic, partition=each.partition, offset=4 if each.topic in "ab" else -1001, error=None
            )
            for each in asked
        ]

    def close(self):
        Committed.closed += 1


class Admin:
    """A cluster with the topics ``a``, ``b``, ``c`` and a changelog; the end of ``b-0`` is refused."""

    def list_offsets(self, asked, **_):
        return {each: of(SimpleNamespace(offset=10), DENIED if each.topic == "b" else None) for each in asked}

    def __init__(self, listed_type=ConsumerGroupType.CONSUMER, **consumer_groups):
        self.consumer_groups = consumer_groups
        self.listed_type = listed_type

    def list_consumer_groups(self, **_):
        valid = [
            SimpleNamespace(group_id=name, state=ConsumerGroupState.STABLE, type=self.listed_type)
            for name in self.consumer_groups
            if self.listed_type
        ]
        return SimpleNamespace(result=lambda _: SimpleNamespace(valid=valid, errors=[]))

    def describe_consumer_groups(self, names, **_):
        missing = of(None, group_lookup.KafkaError.GROUP_ID_NOT_FOUND)
        return {name: self.consumer_groups.get(name, missing) for name in names}

    def list_topics(self, **_):
        names = ("a", "b", "c", "orders-s-changelog")
        return SimpleNamespace(topics={name: SimpleNamespace(partitions={0: None}, error=None) for name in names})

    def describe_configs(self, *_, **_seconds):
        raise group_lookup.KafkaException


@pytest.fixture(name="lookup")
def fixture_lookup(monkeypatch):
    """A cluster with one group of KIP-1071."""
    groups = [described("orders")]
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin())
    monkeypatch.setattr(GroupLookup, "_consumer", lambda _, group: Committed(group))
    monkeypatch.setattr(
        group_lookup._private_api,
        "list_groups",
        lambda _, *name, **_seconds: [each for each in groups if not name or each.id in name],
    )
    return GroupLookup("a:1")


def test_a_group_of_a_type_that_it_does_not_show_is_not_dead(lookup):
    """It was "Dead" in `group --all`, and did not exist for `group NAME`."""
    (listed,) = lookup.groups().groups

    assert listed == lookup.group("orders")
    assert ("unknown", "") == (listed.type, listed.state)
    assert [
        "not described: confluent-kafka cannot tell whether this is a streams group (KIP-1071) or a share group "
        "(KIP-932), and shows no members of either: use --client kafka-python"
    ] == [finding_text(each) for each in inspect_group(listed).findings]


def test_a_group_that_no_broker_lists_does_not_exist(lookup):
    with pytest.raises(NoSuchGroup):
        lookup.group("order")


def test_a_group_that_the_user_may_not_describe_is_not_said_to_be_missing(monkeypatch, lookup):
    """A list leaves it out, so that `roll` took its instances for stopped."""
    denied = of(None, group_lookup.KafkaError.GROUP_AUTHORIZATION_FAILED)
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(None, order=denied))
    with pytest.raises(ApiError, match="Group authorization failed") as raised:
        lookup.group("order")

    assert (30, "GROUP_AUTHORIZATION_FAILED") == (raised.value.code, raised.value.name)


def test_a_group_of_which_nothing_is_said_in_time_is_not_said_to_be_missing(monkeypatch, lookup):
    def late(_seconds):
        raise TimeoutError

    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(None, order=SimpleNamespace(result=late)))
    with pytest.raises(Unreachable, match="a:1: no answer in time"):
        lookup.group("order")


def assigned(*partitions, topic="a"):
    return SimpleNamespace(topic_partitions=[SimpleNamespace(topic=topic, partition=each) for each in partitions])


def consumer_group(state=ConsumerGroupState.STABLE, **changes):
    """As ``describe_consumer_groups`` describes a group of KIP-848 with a member that is to have another partition."""
    member = SimpleNamespace(
        member_id="m",
        group_instance_id=None,
        client_id="b",
        host="/1.2.3.4",
        assignment=assigned(1),
        target_assignment=assigned(2, 1),
    )
    facts = {"members": [member], "partition_assignor": "uniform", "type": ConsumerGroupType.CONSUMER, **changes}
    return SimpleNamespace(group_id="orders", state=state, coordinator=BROKER, **facts)


@pytest.mark.parametrize(
    ("listed_type", "state"),
    [
        *((ConsumerGroupType.CONSUMER, state) for state in ("Dead", "Stable", "Empty", "")),
        *((listed_type, state) for listed_type in (ConsumerGroupType.UNKNOWN, None) for state in ("Dead", "Stable")),
    ],
)
def test_a_group_of_kip_848_has_its_members(monkeypatch, lookup, listed_type, state):
    """Brokers describe it as a classic group without members, in the state that their make has for it.

    Those before 3.8 list no type; None: the broker that lists it did not answer.
    """
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(listed_type, orders=of(consumer_group())))
    monkeypatch.setattr(group_lookup._private_api, "list_groups", lambda *_, **__: [described("orders", state)])

    (listed,) = lookup.groups().groups

    assert listed == lookup.group("orders")
    found = inspect_group(listed)
    assert ("consumer", "Stable", "uniform", "a:1") == (listed.type, listed.state, listed.protocol, listed.coordinator)
    shown = found.as_json()
    (member,) = shown["members"]
    assert (["a-1"], ["a-1", "a-2"], False) == (
        member["partitions"],
        member["target"]["partitions"],
        member["has_target"],
    )
    assert [None] * 4 == [shown["epoch"], shown["assignment_epoch"], member["epoch"], member["is_classic"]]
    assert [
        "not completely described: confluent-kafka shows neither the epochs nor the subscribed topics of a consumer "
        "group (KIP-848), nor which members are classic: use --client kafka-python"
    ] == [finding_text(each) for each in found.findings]
    assert (
        "not completely described (Stable); 1 member (consumer, uniform); waiting for b (1.2.3.4, m); 1 problem"
        == progress_text(group_progress(found), 0)
    )


def test_partitions_of_topics_without_a_name_are_not_shown(monkeypatch, lookup):
    """kfake describes topics by ids, which librdkafka drops; asking for their offsets ended in a ValueError."""
    (member,) = consumer_group().members
    member.assignment, member.target_assignment = assigned(0, topic=""), None
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(orders=of(consumer_group(members=[member]))))

    found = lookup.group("orders")

    assert found.error.startswith(
        "the broker describes topics by ids without names; confluent-kafka shows no partitions"
    )
    assert [()] == [each.broker_assignment.current.partitions for each in found.members]


def test_classic_groups_are_not_asked_for_as_consumer_groups(monkeypatch, lookup):
    admin = Admin(ConsumerGroupType.CLASSIC, orders=of(consumer_group()), other=of(consumer_group()))
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: admin)
    monkeypatch.setattr(admin, "describe_consumer_groups", None)
    monkeypatch.setattr(
        group_lookup._private_api, "list_groups", lambda *_, **__: [described("orders", "PreparingRebalance")]
    )

    orders, other = lookup.groups().groups

    assert orders == lookup.group("orders")
    assert ("classic", "PreparingRebalance", "") == (orders.type, orders.state, orders.error)
    assert ("classic", "Stable", True) == (other.type, other.state, other.hides_members), "it could not be described"


def test_whether_a_member_has_confirmed_its_target_is_unknown(monkeypatch, lookup):
    (member,) = consumer_group().members
    member.target_assignment = member.assignment
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(orders=of(consumer_group(members=[member]))))

    assert [None] == [each["has_target"] for each in inspect_group(lookup.group("orders")).as_json()["members"]]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (of(None, group_lookup.KafkaError.GROUP_AUTHORIZATION_FAILED), "Broker: Group authorization failed"),
        (of(consumer_group(ConsumerGroupState.UNKNOWN, members=[])), group_lookup._NOT_SHOWN),
        (of(consumer_group(ConsumerGroupState.EMPTY, members=[])), ""),
        (
            of(consumer_group(type=ConsumerGroupType.CLASSIC)),
            "confluent-kafka shows no members of this consumer group: use --client kafka-python",
        ),
    ],
    ids=["denied", "of an unknown state", "empty", "described as a classic one"],
)
@pytest.mark.parametrize("state", ["Dead", "Stable"])
def test_a_group_of_kip_848_without_members_has_a_reason(monkeypatch, lookup, answer, error, state):
    """It had "0 members; not described" if the broker described it as a stable classic group."""
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin(orders=answer))
    monkeypatch.setattr(group_lookup._private_api, "list_groups", lambda *_, **__: [described("orders", state)])

    (listed,) = lookup.groups().groups

    assert listed == lookup.group("orders")
    assert ("consumer", error) == (listed.type, listed.error)
    assert bool(error) == ("not-described" in {each.code for each in inspect_group(listed).problems})


def test_offsets_that_are_missing_have_a_reason(lookup):
    lines = []
    known, refused = (
        OffsetRequest(group="orders", coordinator="", reads_changelogs=True),
        OffsetRequest(group="other", coordinator=""),
    )

    found = lookup.offsets([known, refused], lines.append)

    a, b, changelog = (TopicPartition(name, 0) for name in ("a", "b", "orders-s-changelog"))
    assert ({a: 4, b: 4}, {a: 10, changelog: 10}) == (found["orders"].committed, found["orders"].ends)
    assert ["end offset of b: Broker: Topic authorization failed"] == [*found["orders"].failures]
    assert "committed offsets: Broker: Topic authorization failed" == found["other"].failures[0]
    assert ["committed offsets: 2 groups", "end offsets: 3 partitions"] == lines
    assert {} == lookup.offsets([])


@pytest.mark.parametrize(
    ("code", "partitions", "is_answer"),
    [
        (None, {0: None}, True),
        (None, {}, False),
        (group_lookup.KafkaError.UNKNOWN_TOPIC_OR_PART, {}, True),
        (group_lookup.KafkaError.TOPIC_AUTHORIZATION_FAILED, {}, True),
        (group_lookup.KafkaError.LEADER_NOT_AVAILABLE, {}, False),
    ],
)
def test_an_error_of_a_topic_does_not_say_that_it_is_not_there(lookup, monkeypatch, code, partitions, is_answer):
    topic = SimpleNamespace(partitions=partitions, error=code and group_lookup.KafkaError(code))
    monkeypatch.setattr(group_lookup, "topics_of", lambda _: {"payments"})
    monkeypatch.setattr(Admin, "list_topics", lambda _self, **_: SimpleNamespace(topics={"payments": topic}))

    if is_answer:
        assert "orders" == lookup.group("orders").name
    else:
        with pytest.raises(Unreachable, match="topic payments: "):
            lookup.group("orders")


def test_changelogs_that_are_not_told_have_a_reason(lookup, monkeypatch):
    """They had no lag."""

    def refused(_self, **_):
        raise group_lookup.KafkaException(group_lookup.KafkaError(group_lookup.KafkaError._TRANSPORT))

    monkeypatch.setattr(Admin, "list_topics", refused)
    found = lookup.offsets([OffsetRequest(group="orders", coordinator="", reads_changelogs=True)])["orders"]

    assert found.failures[0].startswith("partitions of topics: ")


@pytest.mark.parametrize("broken", [("", 0), ("a", -1), ("a\udc80", 0)])
def test_a_partition_that_no_topic_has_is_a_failure_and_not_asked_for(lookup, monkeypatch, broken):
    """A broker with such an answer ended the command with a traceback of confluent-kafka."""
    name, number = broken
    partitions = frozenset({TopicPartition("a", 0), TopicPartition(*broken)})
    monkeypatch.setattr(Admin, "list_topics", lambda *_, **__: SimpleNamespace(topics={}))
    found = lookup.offsets([OffsetRequest(group="orders", coordinator="", partitions=partitions)])["orders"]

    assert {TopicPartition("a", 0): 10} == found.ends
    assert (f"end offset of {name!r}, partition {number}: no such topic",) == found.failures


@pytest.mark.parametrize(
    "error", [group_lookup.KafkaError.NOT_COORDINATOR, group_lookup.KafkaError.COORDINATOR_NOT_AVAILABLE]
)
@pytest.mark.parametrize(("errors", "seconds", "is_known"), [(2, 60, True), (1000, 0, False)])
def test_a_coordinator_that_moves_is_asked_again(monkeypatch, lookup, error, errors, seconds, is_known):
    """``AdminClient.list_consumer_group_offsets`` ended the process with SIGSEGV."""
    monkeypatch.setattr(GroupLookup, "_consumer", lambda _, group: Committed(group, *[error] * errors))
    before = Committed.closed
    asked = evolve(lookup, timeout_seconds=seconds)
    found = asked.offsets([OffsetRequest(group="orders", coordinator="")])["orders"]

    assert is_known == bool(found.committed)
    assert is_known != any(text.startswith("committed offsets: Broker: ") for text in found.failures)
    assert before + 1 == Committed.closed


def test_client_credentials_are_those_of_librdkafka():
    found = librdkafka_config({"oauth": ClientCredentials("https://a/token", "me", "secret", "kafka")})

    assert "oidc" == found["sasl.oauthbearer.method"]
    assert ("https://a/token", "me", "secret", "kafka") == tuple(
        found[f"sasl.oauthbearer.{name}"] for name in ("token.endpoint.url", "client.id", "client.secret", "scope")
    )
    assert "sasl.oauthbearer.scope" not in librdkafka_config({"oauth": ClientCredentials("https://a", "me", "secret")})


def test_a_mechanism_that_librdkafka_lacks_is_an_error():
    with pytest.raises(Unreachable, match="librdkafka does not have the SASL mechanism AWS_MSK_IAM"):
        librdkafka_config({"sasl_mechanism": "AWS_MSK_IAM"})
