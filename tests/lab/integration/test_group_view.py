"""``streams-assignor group`` on real brokers, with real members of Kafka Streams and of ours beside them."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.groups.describe.kafka_python import group_lookup as kafka_python_lookup
from streams_assignor.groups.record_size import group_record_bytes
from tests.lab.integration.applications import PARTITIONS, TASKS, Application, settle
from tests.lab.integration.brokers import a_broker
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, JavaStreams, Subprocess, wait_until
from tests.matrix import with_matrix
from tests.peers_required import not_applicable

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(
    name="broker", scope="module", params=with_matrix(["a broker", NEWEST], [NEWEST], "the same on an older broker")
)
def fixture_broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap address of a broker of 3.9.2 (or what the container has), and of one of the newest release."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        try:
            if request.param == NEWEST:
                cluster = stack.enter_context(Cluster(tmp_path_factory.mktemp("newest")))
                cluster.start(1, settings={"group.initial.rebalance.delay.ms": "0"})
                yield cluster.brokers
            else:
                yield stack.enter_context(a_broker())
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")


def reports(broker: str, name: str, *flags: str) -> Any:
    """What the command says of a group, as JSON."""
    done = reported(broker, name, "--json", *flags)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def reported(broker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = "from streams_assignor.cli.main import main; main()"
    command = [sys.executable, "-c", script, "group", *arguments, "--bootstrap-servers", broker]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)


def codes(found: Any) -> list[str]:
    return [finding["code"] for finding in found["findings"]]


def active(found: Any) -> list[str]:
    return sorted(task for member in found["members"] for task in member["active"])


@pytest.mark.java
def test_a_group_in_the_middle_of_an_upgrade(application: Application, java_streams: JavaStreams, broker: str) -> None:
    """2.0.1 holds the others back, one of ours among them; when it has gone, they go up to their own version."""
    old = java_streams("2.0.1")
    settle(old)
    with application.python(upgrade_from="2.0") as python:
        settle(old, python)

        found = reports(broker, application.name, "--check")
        by_release = {member["releases"].partition(" ")[0]: member for member in found["members"]}
        assert ("waiting", 3, {"3": 2}) == tuple(found["upgrade"][key] for key in ("stage", "common", "used"))
        assert [by_release["2.0.0"]["name"]] == found["upgrade"]["waiting_for"]
        assert ("eager", 3, 0) == facts(by_release["2.0.0"])
        assert ("unknown", 11, 3) == facts(by_release["3.4.0"])
        assert old.tasks == set(by_release["2.0.0"]["active"])
        assert python.tasks == set(by_release["3.4.0"]["active"])
        assert [] == found["findings"]
        stuck = reported(broker, application.name, "--wait", "release=4.3.1", "--timeout", "2s")
        assert 124 == stuck.returncode
        name = by_release["2.0.0"]["name"]
        assert "1 of 2 members may run 4.3.1; waiting for " in stuck.stderr
        assert f", {name}); no rebalance is due" in stuck.stderr
        old.stop()
        done = reported(broker, application.name, "--wait", "release=4.3.1", "--members", "1", "--timeout", "2m")
        assert (3, True) == (done.returncode, "may be on 4.3.1: 1 member may run 4.3.1" in done.stdout), done
        assert "what these members send is that of 3.4.0 or newer" in done.stderr
        settle(python)
        assert {"11": 1} == reports(broker, application.name)["upgrade"]["used"]
    assert 0 == reported(broker, application.name, "--wait", "empty", "--timeout", "1m").returncode


def facts(member: Any) -> tuple[str, int, int]:
    return member["rebalance_protocol"], member["supported_version"], member["consumer_protocol_version"]


@pytest.mark.java
def test_members_of_two_releases_and_a_python_member(
    application: Application, java_streams: JavaStreams, broker: str
) -> None:
    members = [java_streams("2.8.2")]
    settle(*members)
    members.append(java_streams("4.3.1"))
    settle(*members)
    with application.python(standbys=1) as python:
        settle(*members, python)

        found = reports(broker, application.name)
        assert {"9": 3} == found["upgrade"]["used"]
        assert sorted(TASKS) == active(found)
        assert {frozenset(each.tasks) for each in (*members, python)} == {
            frozenset(member["active"]) for member in found["members"]
        }
        assert {"2.8.0 to 2.8.2", "3.4.0 or newer, or streams-assignor"} == {
            member["releases"] for member in found["members"]
        }
        assert not [finding for finding in found["findings"] if finding["kind"] == "problem"]


@pytest.mark.java
def test_upgrade_from_that_is_still_set(application: Application, java_streams: JavaStreams, broker: str) -> None:
    """1.1.1 and a member of ours with that release: the two versions are the same, the envelopes are not."""
    old = java_streams("1.1.1")
    settle(old)
    with application.python(upgrade_from="1.1") as python:
        settle(old, python)

        found = reports(broker, application.name, "--check")
        assert {"2": 2} == found["upgrade"]["used"]
        assert {"upgrade-from", "maybe-upgrade-from"} == set(codes(found))
        (pinned,) = [finding["members"] for finding in found["findings"] if finding["code"] == "upgrade-from"]
        assert [3] == [member["consumer_protocol_version"] for member in found["members"] if member["name"] in pinned]


@pytest.mark.java
def test_a_plan_finds_the_release_of_the_members(
    application: Application, java_streams: JavaStreams, broker: str
) -> None:
    member = java_streams("2.8.2")
    settle(member)
    at = ("--group", application.name, "--bootstrap-servers", broker, "--json")
    script = "from streams_assignor.cli.main import main; main()"
    plans = {
        releases: subprocess.run(
            [sys.executable, "-c", script, "plan", *releases, *at],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        for releases in [("4.3",), ("3.0", "4.3")]
    }

    found = json.loads(plans["4.3",].stdout)
    assert "2.8" == found["from"][:3], plans["4.3",].stderr
    live = found["live_group"]
    assert (["2.8.0", "2.8.1", "2.8.2"], len(TASKS), 0) == (live["releases"], live["tasks"], live["standbys"])
    assert PARTITIONS in live["partitions"].values()
    assert live["brokers"]
    assert all(each["release"] and each["finalized"]["metadata.version"] for each in live["brokers"])
    assert 1 == plans["3.0", "4.3"].returncode
    assert json.loads(plans["3.0", "4.3"].stdout)["notes"][0].startswith("3.0 is not the release of ")


def test_python_members_with_standbys(application: Application, broker: str) -> None:
    with application.python(standbys=1) as one, application.python(standbys=1) as other:
        settle(one, other)
        wait_until(lambda: bool(one.status.standby and other.status.standby), one, other)

        found = reports(broker, application.name, "--check")
        assert sorted(TASKS) == active(found)
        assert {frozenset(one.status.standby), frozenset(other.status.standby)} == {
            frozenset(task for kind in ("standby", "warm_up", "standby_or_warm_up") for task in member[kind])
            for member in found["members"]
        }
        check_that_the_size_is_right(broker, application.name, found["metadata_bytes"])


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_plain_consumers_an_empty_group_and_all(broker: str, assignor: str) -> None:
    name = f"plain-{uuid4().hex[:8]}"
    with plain(broker, name, assignor):
        found = reports(broker, name, "--check")
        assert ("Stable", assignor, "unknown") == (found["state"], found["protocol"], found["upgrade"]["stage"])
        assert [f"{name}-{each}" for each in range(3)] == sorted(found["members"][0]["partitions"])
        assert ["not-streams"] == codes(found)
        assert name in reported(broker, "--all").stdout
    found = reports(broker, name, "--check")

    assert ("Empty", [], ["unsettled"]) == (found["state"], found["members"], codes(found))
    assert name in {each["group"] for each in json.loads(reported(broker, "--all", "--json").stdout)}


def plain(broker: str, name: str, assignor: str = "range", **settings: str) -> ExitStack:
    """One consumer that has got its partitions; it has a topic of the group's name."""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(TIMEOUT_SECONDS)
    classic = {} if settings else {"partition.assignment.strategy": assignor, "session.timeout.ms": 6000}
    consumer = Consumer({"bootstrap.servers": broker, "group.id": name, **classic, **settings})
    stack = ExitStack()
    stack.callback(consumer.close)
    consumer.subscribe([name])
    for _ in range(TIMEOUT_SECONDS):
        consumer.poll(1)
        if consumer.assignment():
            # So that something is left of the group when it has no members.
            consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
            return stack
    raise AssertionError("got no partitions")


def test_a_missing_group(broker: str) -> None:
    done = reported(broker, "unknown")

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("Error: no group 'unknown' at ")
    assert 1 == len(done.stderr.splitlines())


def test_a_group_of_the_new_protocol(broker: str, request: pytest.FixtureRequest) -> None:
    """KIP-848: the broker assigns. It was "Stable with 0 members"."""
    if request.node.callspec.params["broker"] != NEWEST:
        not_applicable("only the newest broker has it switched on")
    name = f"kip-848-{uuid4().hex[:8]}"
    with plain(broker, name, **{"group.protocol": "consumer"}):
        found = reports(broker, name, "--check")

    assert ("consumer", "Stable", []) == (found["type"], found["state"], codes(found))
    assert [[f"{name}-{each}" for each in range(3)]] == [member["partitions"] for member in found["members"]]


@pytest.mark.java
def test_warm_ups_and_the_process_of_the_leader(application: Application, broker: str, tmp_path: Path) -> None:
    """With no lag accepted, a second instance gets two warm-ups first; the first one leads and plans the next look."""
    settings = {"acceptable.recovery.lag": "0", "commit.interval.ms": "100", "session.timeout.ms": "6000"}
    with newest_java(application, broker, tmp_path / "1", settings) as first:
        settle(first)
        application.send(20)
        application.counts({task.removeprefix("0_") for task in TASKS}, 20)
        leader = reports(broker, application.name)["members"][0]["process_id"]
        with newest_java(application, broker, tmp_path / "2", settings):
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while not (found := reports(broker, application.name))["leading_process"]:
                assert time.monotonic() < deadline, found
                time.sleep(0.3)
    assert leader == found["leading_process"]
    assert [2, 0] == sorted((len(member["warm_up"]) for member in found["members"]), reverse=True)
    assert not any(member["standby"] or member["standby_or_warm_up"] for member in found["members"])
    assert sorted(TASKS) == active(found)


@pytest.mark.parametrize("release", with_matrix([NEWEST, OLDER], [NEWEST], "the same on an older broker"))
def test_one_unreachable_broker_does_not_hide_the_groups_of_another(tmp_path: Path, release: str) -> None:
    """The second broker advertises an address at which no server listens."""
    with Cluster(tmp_path) as cluster:
        try:
            cluster.start(1, release, settings={"group.initial.rebalance.delay.ms": "0"})
            with plain(cluster.brokers, "visible"):
                cluster.start(2, release, settings={"advertised.listeners": "PLAINTEXT://127.0.0.1:9"})
                words = ("list", "--check", "--json", "--timeout", "10s")
                done = reported(cluster.brokers, *words)
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")

    assert (1, ["visible"]) == (done.returncode, [each["group"] for each in json.loads(done.stdout)])
    # A line of progress comes first if brokers are slow.
    assert any(line.startswith("note: ") for line in done.stderr.splitlines())
    assert [1] == [len(each["members"]) for each in json.loads(done.stdout)]
    assert "127.0.0.1:9" in done.stderr


def newest_java(application: Application, broker: str, state: Path, more: dict[str, str]) -> JavaMember:
    """The newest Kafka Streams, with settings that others of the application do not have."""
    usual = {"bootstrap.servers": broker, "application.id": application.name, "state.dir": str(state)}
    settings = [f"{key}={value}" for key, value in {**usual, "statestore.cache.max.bytes": "0", **more}.items()]
    try:
        program = counting(NEWEST)
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {NEWEST}: {missing}")
    return JavaMember(f"Kafka Streams in {state.name}", [*program, application.source, application.output, *settings])


def test_no_broker_answers() -> None:
    done = reported("127.0.0.1:1", "app", "--timeout", "2")

    assert (1, "") == (done.returncode, done.stdout)
    assert "Error: 127.0.0.1:1: connection refused: does a broker listen at 127.0.0.1:1?" in done.stderr.splitlines()


def check_that_the_size_is_right(broker: str, name: str, reported_bytes: int) -> None:
    """Within a twentieth of the record that the broker has really stored."""
    raw = kafka_python_lookup.GroupLookup(broker).group(name)
    stored = 0
    settings = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    reader = Consumer({"bootstrap.servers": broker, **settings})
    try:
        reader.assign([TopicPartition("__consumer_offsets", 0, 0)])
        while (message := reader.poll(TIMEOUT_SECONDS)) is not None and message.error() is None:
            if (key := message.key()) and key[:2] == b"\0\2" and key[4:].decode() == name and message.value():
                stored = len(key) + len(message.value())
    finally:
        reader.close()

    assert group_record_bytes(raw) == reported_bytes
    assert stored <= reported_bytes <= 1.05 * stored + 100


def test_lags_of_tasks_until_they_are_read(application: Application, broker: str) -> None:
    def lag(*flags: str) -> Any:
        return reports(broker, application.name, *flags)["lag"]

    with application.python() as python:
        settle(python)
        application.send(10)
        wait_until(lambda: (found := lag())["total"] == 0 == found["unknown"], python)
        assert [10] * PARTITIONS == [each["committed"] for each in lag()["partitions"]]
        assert sorted(TASKS) == sorted(each["task"] for each in lag()["tasks"])
    application.send(5)

    assert (5 * PARTITIONS, 5, 0) == ((found := lag())["total"], found["most"], found["unknown"])
    statuses = [reported(broker, application.name, "--check", "--max-lag", most).returncode for most in ("4", "5")]
    assert [1, 0] == statuses
    metrics = reported(broker, "list", "-o", "openmetrics").stdout.splitlines()
    assert f'streams_assignor_group_lag{{group="{application.name}"}} {5 * PARTITIONS}' in metrics


def test_the_limit_of_the_broker_is_looked_up(broker: str) -> None:
    name = f"limit-{uuid4().hex[:8]}"
    with plain(broker, name):
        found = reports(broker, name)

    assert (1_048_588, True) == (found["metadata_limit"], found["metadata_limit_known"])


def test_a_picture_shows_the_tasks(application: Application, broker: str) -> None:
    with application.python() as python:
        settle(python)
        assert PARTITIONS == len(python.tasks)
        shown = reported(broker, application.name).stdout

    assert f"{application.name}  Stable  stream" in shown
    assert "active 0_0–5" in shown


@pytest.mark.parametrize("flags", [("--watch",), ("--wait", "stable", "--members", "1", "--session-timeout", "6s")])
def test_a_coordinator_that_restarts_is_reported_and_looked_at_again(flags: tuple[str, ...], tmp_path: Path) -> None:
    """It was silent for ever after one line."""
    try:
        cluster = Cluster(tmp_path)
        with cluster:
            cluster.start(1, settings={"group.initial.rebalance.delay.ms": "0"})
            with plain(cluster.brokers, "restarted", **{"session.timeout.ms": "45000"}):
                waits = "--wait" in flags
                if waits:
                    cluster.stop(1)
                script = "from streams_assignor.cli.main import main; main()"
                arguments = [
                    "group",
                    "restarted",
                    "--bootstrap-servers",
                    cluster.brokers,
                    "--timeout",
                    "4m" if waits else "2s",
                ]
                with Subprocess("group", [sys.executable, "-c", script, *arguments, *flags]) as command:
                    if not waits:
                        wait_until(lambda: shows(command, "Stable with 1 member"), command)
                        cluster.stop(1)
                    wait_until(lambda: shows(command, "connection refused: does a broker listen at"), command)
                    cluster.start(1, settings={"group.initial.rebalance.delay.ms": "0"})
                    again = "restarted is stable: 1 member" if waits else "the brokers answer again"
                    wait_until(lambda: shows(command, again))
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")


def shows(command: Subprocess, text: str) -> bool:
    return any(text in line for line in command.lines)
