"""Events and log lines of consumers: without a client library, and on the embedded cluster."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.mock_cluster import MockCluster
from streams_assignor.codec.consumer_protocol import ConsumerAssignment, encode_consumer_assignment
from streams_assignor.errors import FatalError
from streams_assignor.observability.events import AssignmentComputed, Event, combine_observers
from streams_assignor.observability.metrics import (
    FAILURES,
    FOLLOW_UPS,
    GROUP_VERSION,
    REBALANCES,
    SUPPORTED,
    TASKS,
    UNASSIGNED,
    USED_VERSION,
)
from tests.assignor.clients.kafka_python.test_partition_assignor import SECONDS, Running, an_assignor, eventually, owned
from tests.assignor.clients.kafka_python.test_partition_assignor import TASKS as ALL_TASKS
from tests.assignor.clients.test_adapter import TOPOLOGY, Alone, Eager, at_once, rebalanced
from tests.assignor.observability.test_metrics import Meter

pytestmark = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": len(ALL_TASKS)}) as cluster:
        yield cluster


def test_a_rolling_restart_has_the_expected_metrics(cluster: MockCluster, caplog: pytest.LogCaptureFixture) -> None:
    """The leader is old; a newer member is probed down, and rises when the old one has gone."""
    old, new = Meter(), Meter()
    led: list[Event] = []

    def leading(event: Event) -> None:
        led.extend([event] if isinstance(event, AssignmentComputed) else [])

    with caplog.at_level(logging.INFO, "streams_assignor"), ExitStack() as closing:
        first = Running(cluster, an_assignor("streams-assignor-3", observer=combine_observers(old.observe, leading)))
        closing.callback(first.close)
        eventually(lambda: owned([first]) == ALL_TASKS)
        second = Running(cluster, an_assignor("simulated-4", observer=new.observe))
        closing.callback(second.close)
        eventually(lambda: owned([first, second]) == ALL_TASKS and bool(second.active))
        eventually(
            lambda: new.of(USED_VERSION) == 3
        )  # what it was given with the answer that made it rejoin is owned already
        assert (3, 3, 3) == tuple(map(old.of, (USED_VERSION, SUPPORTED, GROUP_VERSION)))
        assert (3, 4, 3) == tuple(map(new.of, (USED_VERSION, SUPPORTED, GROUP_VERSION)))
        first.close()
        eventually(lambda: owned([second]) == ALL_TASKS and second.version == 4)

    assert (4, 4, 4) == tuple(map(new.of, (USED_VERSION, SUPPORTED, GROUP_VERSION)))
    assert {"version": 2} == new.of(FOLLOW_UPS)
    assert {"first_join", "version"} <= new.of(REBALANCES).keys() <= {"first_join", "version", "rebalance_in_progress"}
    assert 1 == new.of(REBALANCES)["first_join"] == old.of(REBALANCES)["first_join"]
    assert 2 == new.of(REBALANCES)["version"]
    assert {"active": 0, "standby": 0, "warm_up": 0} == new.of(TASKS) == old.of(TASKS)
    assert {} == new.of(FAILURES) == old.of(FAILURES)
    assert 2 == max(len(event.subscription_sizes) for event in led if isinstance(event, AssignmentComputed))

    logged = [vars(record) for record in caplog.records if record.name == "streams_assignor"]
    assert {"billing"} == {each["group_id"] for each in logged}
    processes = {str(each.streams.assignor.member.process_id) for each in (first, second)}
    assert processes == {each["process_id"] for each in logged}
    assert {"INFO"} == {each["levelname"] for each in logged}
    assert {each["event"] for each in logged} == {
        *("join_sent", "assignment_computed", "assignment_received"),
        *("tasks_changed", "rejoin_requested", "member_closed"),
    }


def test_an_exception_of_an_observer_does_not_fail_its_member(
    cluster: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_event: Event) -> None:
        raise LookupError("mine")

    member = Running(cluster, an_assignor(observer=failing))
    eventually(lambda: owned([member]) == ALL_TASKS)
    member.close()

    assert [] == member.errors
    assert 1 == sum("an observer failed" in record.getMessage() for record in caplog.records)


def test_a_failure_of_the_membership_is_counted_once() -> None:
    meter = Meter()
    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "billing",
        "log_level": 0,
        "main.consumer.bootstrap_timeout_ms": 300,
    }
    consumer = StreamsConsumer(config, TOPOLOGY, observer=meter.observe)
    for _ in range(2):
        with pytest.raises(FatalError) as error:
            consumer.poll(SECONDS)
    consumer.close()

    assert {error.value.kafka_exception: 1} == meter.of(FAILURES)


def test_a_failure_is_counted_once_however_often_it_is_raised() -> None:
    member = Alone(observer=(meter := Meter()).observe)
    rebalanced(member)
    for _ in range(2):
        with pytest.raises(FatalError):
            member.receive_assignment(encode_consumer_assignment(ConsumerAssignment((), b"?")))

    assert {"TaskAssignmentException": 1} == meter.of(FAILURES)
    assert 1 == meter.of(FOLLOW_UPS)["failure"]


def test_time_without_tasks_is_measured_for_eager_and_lost_members() -> None:
    eager, cooperative = Meter(), Meter()
    members = [Eager(observer=eager.observe), Alone(observer=cooperative.observe)]
    for member in members:
        rebalanced(member)
        rebalanced(member)
    eager.now = cooperative.now = 10.0
    for member in members:
        at_once(member.on_join_prepare(lost=True))
    eager.now = cooperative.now = 13.0
    for member in members:
        rebalanced(member)

    assert {"revoked": [0.0], "lost": [3.0]} == eager.of(UNASSIGNED)
    assert {"lost": [3.0]} == cooperative.of(UNASSIGNED)
    assert {"active": 6, "standby": 0, "warm_up": 0} == eager.of(TASKS) == cooperative.of(TASKS)
