"""What observers and the log hear of consumers: bare ones, and real ones on the embedded cluster."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from assignor.clients.confluent import StreamsConsumer
from assignor.clients.mock_cluster import MockCluster
from assignor.errors import FatalError
from assignor.metrics import DEATHS, FOLLOW_UPS, GROUP, LATEST, REBALANCES, TASKS, UNASSIGNED, USED
from assignor.observing import Event, Led, together
from subscription_codec.consumer_protocol import MemberAssignment, encode_member_assignment
from tests.assignor.clients.test_kafka_python import SECONDS, Running, an_assignor, eventually, owned
from tests.assignor.clients.test_kafka_python import TASKS as ALL_TASKS
from tests.assignor.clients.test_plugged import TOPOLOGY, Alone, Eager, at_once, rebalanced
from tests.assignor.test_metrics import Meter


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(ALL_TASKS)}) as cluster:
        yield cluster


def test_a_bounce_gives_the_counts_that_the_negotiation_has(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The leader is old; a newer member is probed down, and rises when the old one has gone."""
    old, new = Meter(), Meter()
    led: list[Event] = []

    def leading(event: Event) -> None:
        led.extend([event] if isinstance(event, Led) else [])

    with caplog.at_level(logging.INFO, "assignor"), ExitStack() as closing:
        first = Running(cluster, an_assignor("streams-assignor-3", observer=together(old.observe, leading)))
        closing.callback(first.close)
        eventually(lambda: owned([first]) == ALL_TASKS)
        second = Running(cluster, an_assignor("simulated-4", observer=new.observe))
        closing.callback(second.close)
        eventually(lambda: owned([first, second]) == ALL_TASKS and bool(second.active))
        eventually(lambda: new.of(USED) == 3)  # what it was given with the answer that made it rejoin is owned already
        assert (3, 3, 3) == tuple(map(old.of, (USED, LATEST, GROUP)))
        assert (3, 4, 3) == tuple(map(new.of, (USED, LATEST, GROUP)))
        first.close()
        eventually(lambda: owned([second]) == ALL_TASKS and second.version == 4)

    assert (4, 4, 4) == tuple(map(new.of, (USED, LATEST, GROUP)))
    assert {"version": 2} == new.of(FOLLOW_UPS)
    assert {"first_join", "version"} <= new.of(REBALANCES).keys() <= {"first_join", "version", "asked"}
    assert 1 == new.of(REBALANCES)["first_join"] == old.of(REBALANCES)["first_join"]
    assert 2 == new.of(REBALANCES)["version"]
    assert {"active": 0, "standby": 0, "warm_up": 0} == new.of(TASKS) == old.of(TASKS)
    assert {} == new.of(DEATHS) == old.of(DEATHS)
    assert 2 == max(len(event.heard) for event in led if isinstance(event, Led))

    logged = [vars(record) for record in caplog.records if record.name == "assignor"]
    assert {"billing"} == {each["group_id"] for each in logged}
    processes = {str(each.streams.core.member.process_id) for each in (first, second)}
    assert processes == {each["process_id"] for each in logged}
    assert {"INFO"} == {each["levelname"] for each in logged}
    assert {"join_sent", "led", "assigned", "moved", "rejoining", "ended"} == {each["event"] for each in logged}


def test_an_observer_that_raises_does_not_hurt_its_member(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_event: Event) -> None:
        raise LookupError("mine")

    member = Running(cluster, an_assignor(observer=failing))
    eventually(lambda: owned([member]) == ALL_TASKS)
    member.close()

    assert [] == member.errors
    assert 1 == sum("observer has failed" in record.getMessage() for record in caplog.records)


def test_a_death_of_the_membership_itself_is_counted_once() -> None:
    meter = Meter()
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
    consumer = StreamsConsumer(config, TOPOLOGY, member={"bootstrap_timeout_ms": 300}, observer=meter.observe)
    for _ in range(2):
        with pytest.raises(FatalError) as died:
            consumer.poll(SECONDS)
    consumer.close()

    assert {died.value.kafka: 1} == meter.of(DEATHS)


def test_a_death_is_counted_once_however_often_it_is_raised() -> None:
    member = Alone(observer=(meter := Meter()).observe)
    rebalanced(member)
    for _ in range(2):
        with pytest.raises(FatalError):
            member.take(encode_member_assignment(MemberAssignment((), b"?")))

    assert {"TaskAssignmentException": 1} == meter.of(DEATHS)
    assert 1 == meter.of(FOLLOW_UPS)["failure"]


def test_an_eager_member_is_without_tasks_in_every_rebalance_and_a_cooperative_one_when_it_has_lost_them() -> None:
    eager, cooperative = Meter(), Meter()
    members = [Eager(observer=eager.observe), Alone(observer=cooperative.observe)]
    for member in members:
        rebalanced(member)
        rebalanced(member)
    eager.now = cooperative.now = 10.0
    for member in members:
        at_once(member.before_join(lost=True))
    eager.now = cooperative.now = 13.0
    for member in members:
        rebalanced(member)

    assert {"revoked": [0.0], "lost": [3.0]} == eager.of(UNASSIGNED)
    assert {"lost": [3.0]} == cooperative.of(UNASSIGNED)
    assert {"active": 6, "standby": 0, "warm_up": 0} == eager.of(TASKS) == cooperative.of(TASKS)
