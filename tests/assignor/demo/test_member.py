"""A member process on the embedded cluster: its events and exit status."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from kafka.errors import InvalidRequestError

from streams_assignor.cli.member import member as member_command
from streams_assignor.clients.mock_cluster import MockCluster
from streams_assignor.demo import member
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.observability.event_fields import parse_line
from tests.each import each_third

ON_THE_MOCK = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

SECONDS = 120.0
PARTITIONS = 3
RECORDS = 30


def test_settings_survive_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "client.properties").touch()
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
        command_config=tmp_path / "client.properties",
    )

    assert settings == MemberSettings(**member_command.make_context("member", settings.command_line_arguments()).params)


def test_the_defaults_of_settings_and_command_line_agree() -> None:
    settings = MemberSettings(bootstrap_servers="a:1", group="g", topic=("t",))
    arguments = ["--bootstrap-servers", "a:1", "--group", "g", "--topic", "t"]

    assert settings == MemberSettings(**member_command.make_context("member", arguments).params)


class Stopped(Exception):
    """The member is not to go on."""


def settings_of_the_consumer(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, Any]:
    """Run the command until it makes its consumer; return the settings of that."""
    found: dict[str, Any] = {}

    def consumer(**settings: Any) -> None:
        found.update(settings)
        raise Stopped

    monkeypatch.setattr(member, "KafkaConsumer", consumer)
    monkeypatch.setattr(member, "_check_reachable", lambda _: None)
    result = CliRunner().invoke(member_command, ["--group", "g", "--topic", "t", *arguments])
    assert "Stopped" in result.output, result.output
    return found


def test_it_connects_with_the_settings_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "client.properties"
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="anna" password="secret";'
    file.write_text(
        f"bootstrap.servers=a:1,b:2\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n"
    )
    found = settings_of_the_consumer(monkeypatch, "--command-config", str(file))

    assert (["a:1", "b:2"], "SASL_SSL", "PLAIN", "anna", "secret") == tuple(
        found[name]
        for name in (
            "bootstrap_servers",
            "security_protocol",
            "sasl_mechanism",
            "sasl_plain_username",
            "sasl_plain_password",
        )
    )


def test_the_file_may_be_named_by_the_environment_and_an_option_wins_over_its_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nsecurity.protocol=SSL\n")
    monkeypatch.setenv("KAFKA_COMMAND_CONFIG", str(file))
    found = settings_of_the_consumer(monkeypatch, "--bootstrap-servers", "c:3")

    assert (["c:3"], "SSL") == (found["bootstrap_servers"], found["security_protocol"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected --bootstrap-servers, or bootstrap.servers in the file of --command-config"),
        ("bootstrap.servers=a:1\nssl.truststore.type=JKS\n", "ssl.truststore.type: "),
    ],
)
def test_a_file_that_does_not_say_how_to_connect_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(text)
    result = CliRunner().invoke(
        member_command,
        ["--group", "g", "--topic", "t", "--command-config", str(file)],
        env={"KAFKA_BOOTSTRAP_SERVERS": ""},
    )

    assert 2 == result.exit_code
    assert expected in result.output
    assert "Traceback" not in result.output


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster() -> Iterator[MockCluster]:
    with a_cluster() as cluster:
        yield cluster


@contextmanager
def a_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": PARTITIONS}, initial_rebalance_delay_ms=100) as cluster:
        send(cluster, RECORDS)
        yield cluster


def send(cluster: MockCluster, records: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(records):
        producer.produce("orders", b"x", partition=number % PARTITIONS)
    assert 0 == producer.flush(SECONDS)


@contextmanager
def a_member(
    cluster: MockCluster, group: str, *arguments: str, stdin: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    settings = MemberSettings(
        bootstrap_servers=cluster.bootstrap_servers,
        group=group,
        topic=("orders",),
        session_timeout_ms=1800,
        api_version="2.3",
    )
    given = settings.command_line_arguments()
    for option in {*arguments}.intersection(given):
        del given[(place := given.index(option)) : place + 2]
    process = subprocess.Popen(
        [sys.executable, "-m", "streams_assignor.cli.member", *given, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def read_until_all_processed(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    return read_until_processed(process, RECORDS)


def read_until_processed(process: subprocess.Popen[str], records: int) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while sum(event["to"] + 1 - event["from"] for event in events if event["event"] == "processed") < records:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        events.append(parse_line(line))
    return events


@ON_THE_MOCK
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None])
def test_it_processes_every_record_and_exits_with_0(cluster: MockCluster, ending: signal.Signals | None) -> None:
    with a_member(cluster, f"ends with {ending}") as process:
        events = read_until_all_processed(process)
        if ending:
            process.send_signal(ending)
        else:
            process.stdin.write("what it reads does not matter\n")
            process.stdin.close()
        events += map(parse_line, process.stdout)

        assert 0 == process.wait(SECONDS)
        assert "" == process.stderr.read()
    assert "started" == events[0]["event"]
    assert {"event": "stopped", "reason": "told to"}.items() <= events[-1].items()
    assert (11, 11) in [(event["used"], event["supported"]) for event in events if event["event"] == "subscribed"]
    last = [event for event in events if event["event"] == "assigned"][-1]
    expected = {"leader": True, "version": 11, "supported": 11, "active": ["0_0", "0_1", "0_2"], "standby": []}
    assert expected.items() <= last.items()
    assert last["member_id"]


@ON_THE_MOCK
def test_without_a_pipe_as_input_it_runs_until_a_signal(cluster: MockCluster) -> None:
    with a_member(cluster, "no pipe", stdin=subprocess.DEVNULL) as process:
        read_until_all_processed(process)
        process.terminate()

        assert 0 == process.wait(SECONDS)


@ON_THE_MOCK
def test_a_rejected_request_of_a_rebalance_does_not_end_the_member() -> None:
    """On the mock cluster a SyncGroup can come too early."""
    stopping, polled = Flag(), []

    class Consumer:
        def poll(self, timeout_ms: int) -> dict[Any, Any]:
            polled.append(timeout_ms)
            if len(polled) == 1:
                raise InvalidRequestError
            stopping.set()
            return {}

    class Streams:
        poll_timeout_ms = 7

    member._poll_loop(Consumer(), Streams(), lambda _event: None, stopping)

    assert [7, 7] == polled


@ON_THE_MOCK
def test_it_continues_at_the_committed_offsets() -> None:
    """The first record that it processes in each partition is the one that came after the others."""
    with a_cluster() as cluster:
        with a_member(cluster, "in turn") as process:
            read_until_all_processed(process)
            process.terminate()
            process.wait(SECONDS)
        send(cluster, PARTITIONS)
        with a_member(cluster, "in turn") as process:
            first = read_until_processed(process, PARTITIONS)
            process.terminate()
            after = list(map(parse_line, process.stdout))

    assert {RECORDS // PARTITIONS} == {event["from"] for event in first if event["event"] == "processed"}
    assert "stopped" == after[-1]["event"]


@ON_THE_MOCK
def test_it_fails_with_one_line_and_status_1(cluster: MockCluster) -> None:
    with a_member(cluster, "mixed", "--release", "1.1.1") as leader:
        while parse_line(leader.stdout.readline())["event"] != "subscribed":
            pass
        with a_member(cluster, "mixed", "--release", "2.0.1"):
            lines = leader.stdout.readlines()

        assert 1 == leader.wait(SECONDS)
        assert "" == leader.stderr.read()
    failed = [parse_line(line) for line in lines if parse_line(line)["event"] == "failed"]
    assert ["TaskAssignmentException: unable to decode subscription data: version=3"] == [
        event["error"] for event in failed
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    each_third(
        [
            (["--bootstrap-servers", "127.0.0.1:1"], 1, "no broker answers at 127.0.0.1:1"),
            (["--bootstrap-servers", "nonsense"], 2, "expected HOST:PORT,..., got 'nonsense'"),
            (["--release", "7.0"], 2, "unknown release '7.0'"),
            (["--upgrade-from", "7.0"], 2, "upgrade.from"),
            (["--application-server", "nowhere"], 2, "Expected format host:port"),
            (["--api-version", "new"], 2, "'new' is not a version"),
            (["--session-timeout-ms", "5"], 2, "session-timeout-ms"),
        ]
    ),
)
def test_an_error_is_one_line(cluster: MockCluster, arguments: list[str], status: int, problem: str) -> None:
    with a_member(cluster, "unused", *arguments) as process:
        out, err = process.communicate(timeout=SECONDS)

    assert status == process.returncode
    assert problem in out + err
    assert "Traceback" not in err


def test_an_ipv6_address_is_checked_without_its_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    # Else it would resolve a host with the name "[::1]".
    addresses = []

    def refuse(address: tuple[str, int], timeout: float) -> None:
        addresses.append(address)
        raise ConnectionRefusedError(timeout)

    monkeypatch.setattr("socket.create_connection", refuse)
    settings = MemberSettings(bootstrap_servers="[::1]:9092", group="g", topic=("t",))

    assert not member.run_member(settings, lambda _event: None, Flag())
    assert [("::1", 9092)] == addresses
