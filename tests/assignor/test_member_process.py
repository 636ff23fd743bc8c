"""A member as a process: the lines it prints, and the process itself on the embedded cluster."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event as Flag

import pytest
from confluent_kafka import Producer

from assignor.cli.member import member
from assignor.clients import group_member
from assignor.clients.mock_cluster import MockCluster
from assignor.member import Received
from assignor.member_process import (
    KINDS,
    Assigned,
    Event,
    Failed,
    MemberSettings,
    Processed,
    Rejoin,
    Revoked,
    Started,
    Stopped,
    Subscribed,
    from_line,
    to_line,
)
from probing.events import Rejoining
from subscription_codec import TaskId

EVENTS = [
    Started("2.0.1", "1.1", "an id"),
    Started("2.0.1", None, "an id"),
    Subscribed(2, 3),
    Assigned(7, "a member", True, 3, 4, ["0_0", "0_1"], [], False),
    Rejoin("keep_member_id"),
    Revoked(["orders-0"]),
    Processed("orders-0", 3, 5),
    Failed('it\'s "over"\n'),
    Stopped("told to"),
]
SECONDS = 120.0
PARTITIONS = 3
RECORDS = 30


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_an_event_survives_its_line(event: Event) -> None:
    line = to_line(event, time=1.25)

    assert event == from_line(line)
    assert {"event": event.kind, "time": 1.25}.items() <= json.loads(line).items()
    assert "\n" not in line


def test_what_a_member_received_is_told_with_its_tasks_in_order() -> None:
    active = {TaskId(0, 10): (), TaskId(0, 9): ()}
    received = Received(
        version=3, supported=4, active=active, standby={TaskId(1, 0): ()}, rejoin=Rejoining.KEEP_MEMBER_ID
    )

    assert Assigned(7, "a member", True, 3, 4, ["0_9", "0_10"], ["1_0"], True) == Assigned.of(
        received, generation=7, member_id="a member", leader=True
    )


def test_every_kind_of_event_has_been_tried() -> None:
    assert KINDS.keys() == {event.kind for event in EVENTS}


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "{}", "null", '{"event": "moon"}', '{"event": "rejoin"}'])
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not an event of a member"):
        from_line(line)


def test_settings_survive_the_command_line() -> None:
    settings = MemberSettings(
        bootstrap_servers="a:1,b:2",
        group="g",
        topic=("t", "u"),
        release="2.0.1",
        upgrade_from="1.1",
        standbys=2,
        application_server="h:80",
        session_timeout_ms=2000,
        api_version="2.3",
    )

    assert settings == MemberSettings(**member.make_context("member", settings.arguments()).params)


def test_the_defaults_of_settings_and_command_line_agree() -> None:
    settings = MemberSettings(bootstrap_servers="a:1", group="g", topic=("t",))
    arguments = ["--bootstrap-servers", "a:1", "--group", "g", "--topic", "t"]

    assert settings == MemberSettings(**member.make_context("member", arguments).params)


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": PARTITIONS}, initial_rebalance_delay_ms=100) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        for number in range(RECORDS):
            producer.produce("orders", b"x", partition=number % PARTITIONS)
        producer.flush(SECONDS)
        yield cluster


@contextmanager
def a_member(cluster: MockCluster, group: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    settings = MemberSettings(
        bootstrap_servers=cluster.bootstrap,
        group=group,
        topic=("orders",),
        session_timeout_ms=1800,
        api_version="2.3",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "assignor.cli.member", *settings.arguments(), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def read_until_all_processed(process: subprocess.Popen[str]) -> list[Event]:
    events: list[Event] = []
    while sum(event.last + 1 - event.first for event in events if isinstance(event, Processed)) < RECORDS:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        events.append(from_line(line))
    return events


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None])
def test_it_processes_every_record_and_ends_well(cluster: MockCluster, ending: signal.Signals | None) -> None:
    with a_member(cluster, f"ends with {ending}") as process:
        events = read_until_all_processed(process)
        if ending:
            process.send_signal(ending)
        else:
            process.stdin.close()
        events += map(from_line, process.stdout)

        assert 0 == process.wait(SECONDS)
        assert "" == process.stderr.read()
    assert isinstance(events[0], Started)
    assert Stopped("told to") == events[-1]
    assert Subscribed(11, 11) in events
    last = [event for event in events if isinstance(event, Assigned)][-1]
    assert (True, 11, 11, ("0_0", "0_1", "0_2"), ()) == (
        last.leader,
        last.version,
        last.supported,
        last.active,
        last.standby,
    )


def test_it_goes_on_where_the_one_before_it_has_committed(cluster: MockCluster) -> None:
    with a_member(cluster, "in turn") as process:
        read_until_all_processed(process)
        process.terminate()
        process.wait(SECONDS)
    with a_member(cluster, "in turn") as process:
        while not isinstance(event := from_line(process.stdout.readline()), Assigned) or not event.active:
            pass
        time.sleep(1)
        process.terminate()
        after = list(map(from_line, process.stdout))

    assert [] == [event for event in after if isinstance(event, Processed)]
    assert Stopped("told to") == after[-1]


def test_it_dies_with_one_line_and_status_1(cluster: MockCluster) -> None:
    with a_member(cluster, "mixed", "--release", "1.1.1") as leader:
        while not isinstance(from_line(leader.stdout.readline()), Subscribed):
            pass
        with a_member(cluster, "mixed", "--release", "2.0.1"):
            lines = leader.stdout.readlines()

        assert 1 == leader.wait(SECONDS)
        assert "" == leader.stderr.read()
    assert Failed("TaskAssignmentException: unable to decode subscription data: version=3") == from_line(lines[-1])


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--bootstrap-servers", "127.0.0.1:1"], 1, "no broker answers at 127.0.0.1:1"),
        (["--bootstrap-servers", "nonsense"], 2, "expected HOST:PORT,..., got 'nonsense'"),
        (["--release", "7.0"], 2, "unknown release '7.0'"),
        (["--upgrade-from", "7.0"], 2, "upgrade.from"),
        (["--application-server", "nowhere"], 2, "Expected format host:port"),
        (["--api-version", "new"], 2, "'new' is not a version"),
        (["--session-timeout-ms", "5"], 2, "session-timeout-ms"),
    ],
)
def test_it_says_what_is_wrong(cluster: MockCluster, arguments: list[str], status: int, problem: str) -> None:
    with a_member(cluster, "unused", *arguments) as process:
        out, err = process.communicate(timeout=SECONDS)

    assert status == process.returncode
    assert problem in out + err
    assert "Traceback" not in err


def test_it_knocks_at_an_address_of_ipv6_without_its_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    # "no broker answers at [::1]:9092": it looked for a host with this name.
    knocked = []

    def nobody(address: tuple[str, int], timeout: float) -> None:
        knocked.append(address)
        raise ConnectionRefusedError(timeout)

    monkeypatch.setattr("socket.create_connection", nobody)
    settings = MemberSettings(bootstrap_servers="[::1]:9092", group="g", topic=("t",))

    assert not group_member.run(settings, lambda _event: None, Flag())
    assert [("::1", 9092)] == knocked
