"""The lock of `roll` in real clusters: its ACLs, a holder that dies or is on another host, a coordinator that moves.

The holder is a roll of the brokers that waits for somebody to restart one by hand.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from tests.lab.integration.broker_rolls import NODES, REPLICATED
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path, counting
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import SESSION_S, Operator, RollProcess, records
from tests.lab.integration.secure_cluster import PASSWORD, USERS, SecureCluster, allow, secure_cluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.slow]

HELD_S = 15
"""The session of a holder that has died, and some."""
OFFSETS = "__consumer_offsets"
ELSEWHERE = "import socket; socket.gethostname = lambda: 'host-{}'"
BROKERS_LOCK = "brokers-roll-lock"


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes, of which any may coordinate."""
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{OLDER}")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    with Cluster(tmp_path_factory.mktemp("cluster"), controllers=3, others=0) as cluster:
        for node in NODES:
            cluster.launch(node, OLDER, settings=REPLICATED)
        for node in NODES:
            cluster.wait(node)
        yield cluster


@pytest.fixture(name="roll")
def fixture_roll(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., RollProcess]]:
    started: list[RollProcess] = []
    servers = ",".join(map(cluster.broker, NODES))

    def roll(host: str, *more: str) -> RollProcess:
        started.append(
            RollProcess(
                *(
                    "--brokers",
                    "--to",
                    NEWEST,
                    "--level-unchanged",
                    "--by-hand",
                    "--yes",
                    "--bootstrap-servers",
                    servers,
                ),
                *("--journal", str(tmp_path / f"{host}.jsonl"), *more),
                patch=ELSEWHERE.format(host),
            )
        )
        return started[-1]

    yield roll
    for process in started:
        process.kill()


def works(process: RollProcess) -> None:
    """Wait until it has the lock, and waits for a restart."""
    process.until("step 1: please restart")


def lines(process: RollProcess) -> str:
    return "\n".join(process.lines)


def test_a_roll_on_another_host_is_kept_out_and_told_who_holds_the_lock(roll):
    first = roll("a")
    works(first)
    second = roll("b")

    assert 5 == second.wait(), lines(second)
    assert re.search(
        rf"another roll of brokers is under way: process {first.pid} of \S+ on host-a holds", lines(second)
    )


def test_of_rolls_that_begin_at_the_same_moment_one_works(roll):
    processes = [roll(host) for host in "abc"]
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not any("step 1: please restart" in lines(process) for process in processes):
        assert time.monotonic() < deadline, [process.lines for process in processes]
        time.sleep(0.1)
    (holder,) = (process for process in processes if "step 1: please restart" in lines(process))
    for process in processes:
        if process is not holder:
            assert 5 == process.wait(), lines(process)


def test_the_lock_of_a_killed_roll_is_free_after_its_session_and_who_waits_says_for_whom(roll):
    first = roll("a")
    works(first)
    second = roll("b")
    second.until(f"waiting for the lock {BROKERS_LOCK}: process {first.pid} of ")
    first.kill()
    works(second)


def test_a_roll_that_ends_leaves_the_lock_free_at_once(roll):
    first = roll("a")
    works(first)
    first.signal(signal.SIGTERM)
    assert 130 == first.wait(), lines(first)
    second = roll("b")
    works(second)

    assert "waiting for the lock" not in lines(second)


def test_a_coordinator_that_moves_leaves_the_lock_with_its_holder(roll, cluster):
    earlier = roll("earlier")  # the first group makes the topic of the coordinators
    works(earlier)
    earlier.signal(signal.SIGTERM)
    earlier.wait()
    admin = AdminClient({"bootstrap.servers": ",".join(map(cluster.broker, NODES))})
    node = admin.list_topics(OFFSETS, TIMEOUT_SECONDS).topics[OFFSETS].partitions[0].leader
    # Its step is of another node: the coordinator returns as it was, which would be a deviation.
    first = roll("a", "--canary", str(next(other for other in NODES if other != node)))
    works(first)
    cluster.stop(node)
    try:
        second = roll("b")
        assert 5 == second.wait(), lines(second)
        assert f"process {first.pid} of " in lines(second)
    finally:
        cluster.start(node, OLDER, settings=REPLICATED)
    third = roll("c")
    assert 5 == third.wait(), lines(third)


def test_a_roll_that_was_frozen_does_not_go_on_when_another_one_has_taken_its_lock(roll, tmp_path, cluster):
    """It finds out before its next command, and ends."""
    go = tmp_path / "go"
    template = f"sh -c 'until [ -e {go} ]; do sleep 0.1; done'"
    servers = ",".join(map(cluster.broker, NODES))
    first = RollProcess(
        *(
            "--brokers",
            "--to",
            NEWEST,
            "--level-unchanged",
            "--stop",
            template,
            "--start",
            "true",
            "--yes",
            "--soak",
            "2s",
        ),
        *("--bootstrap-servers", servers, "--journal", str(tmp_path / "frozen.jsonl")),
    )
    try:
        first.until("step 1: stop ")
        first.signal(signal.SIGSTOP)
        second = roll("b")
        works(second)
        first.signal(signal.SIGCONT)
        go.touch()

        assert 1 == first.wait(), lines(first)
        assert f"the lock {BROKERS_LOCK} is lost: another process holds" in lines(first)
        assert ["stop"] == [each["verb"] for each in records(tmp_path / "frozen.jsonl") if each["record"] == "command"]
    finally:
        first.kill()


# -- ACLs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="secure")
def fixture_secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    try:
        counting(OLDER)
        with secure_cluster(tmp_path_factory.mktemp("secure")) as cluster:
            yield cluster
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")


def login(secure: SecureCluster, user: str, folder: Path) -> tuple[str, ...]:
    file = folder / f"{user}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in secure.java_login(user).items()))
    return ("--bootstrap-servers", secure.secure, "--command-config", str(file))


@pytest.mark.java
def test_a_roll_of_a_group_needs_read_on_its_lock_and_describe_on_the_group_and_its_topics(
    secure: SecureCluster, tmp_path: Path
) -> None:
    """Without each of them it says what is missing, before it touches anything."""
    user = USERS[1]
    with Group(secure.open, "stateful", tmp_path) as group, Operator(group, tmp_path) as operator:
        for name in "ab":
            operator.start(name, OLDER)
        group.settle()
        application = group.topics.application
        arguments = (
            *(application, "--from", OLDER, "--to", NEWEST, "--restart", operator.template),
            *("--yes", "--timeout", "60s", "--journal", str(tmp_path / "roll.jsonl"), *login(secure, user, tmp_path)),
            *("--session-timeout", f"{SESSION_S}s"),
        )
        admin = AdminClient({"bootstrap.servers": secure.open})

        def refused(status: int, why: str) -> None:
            process = RollProcess(*arguments)
            assert status == process.wait(), process.lines
            print(*process.lines[-6:], sep="\n")
            assert why in lines(process), process.lines
            assert [] == operator.calls

        refused(1, f"the lock of a roll needs READ on group {application}-roll-lock; --no-lock does without")
        allow(admin, user, ResourceType.GROUP, f"{application}-roll-lock", AclOperation.READ)
        refused(1, "(describing a group needs DESCRIBE on it)")
        allow(admin, user, ResourceType.GROUP, application, AclOperation.DESCRIBE)
        refused(1, "(does this user have DESCRIBE on the topics?)")
        allow(admin, user, ResourceType.TOPIC, group.topics.source, AclOperation.DESCRIBE)
        done = RollProcess(*arguments)
        assert 0 == done.wait(), done.lines
        assert ["a", "b"] == [name for _, name, *_ in operator.calls]
        assert PASSWORD not in (tmp_path / "roll.jsonl").read_text() + lines(done)


def test_a_roll_of_brokers_needs_the_cluster_all_topics_and_its_lock(secure: SecureCluster, tmp_path: Path) -> None:
    """The nodes run the release, so that only the levels are raised: refused first, and then done once."""
    user = USERS[3]  # he may describe the cluster
    arguments = ("--brokers", "--from", NEWEST, "--to", NEWEST, "--restart", "true", *login(secure, user, tmp_path))
    journal = tmp_path / "roll.jsonl"
    admin = AdminClient({"bootstrap.servers": secure.open})

    def rolled(*more: str) -> RollProcess:
        process = RollProcess(*arguments, "--yes", "--journal", str(journal), *more)
        process.wait()
        print(*process.lines[-8:], sep="\n")
        return process

    without = rolled()
    assert f"the lock of a roll needs READ on group {BROKERS_LOCK}" in lines(without)
    allow(admin, user, ResourceType.GROUP, BROKERS_LOCK, AclOperation.READ)

    blind = rolled()
    assert 1 == blind.wait(), lines(blind)
    assert "needs DESCRIBE on all topics" in lines(blind)
    allow(admin, user, ResourceType.TOPIC, "*", AclOperation.DESCRIBE)

    asked = rolled()
    assert 3 == asked.wait(), lines(asked)
    assert "there is no way back" in lines(asked)

    refused = rolled("--accept-no-way-back")
    assert 3 == refused.wait(), lines(refused)
    (found,) = [record for record in records(journal) if record["record"] == "deviation"]
    assert "command-failed" == found["kind"]
    assert "needs ALTER permission" in found["observed"]
    assert PASSWORD not in journal.read_text()

    allow(admin, user, ResourceType.BROKER, "kafka-cluster", AclOperation.ALTER)
    done = rolled("--accept-no-way-back", "--answer", "again")
    assert 0 == done.wait(), lines(done)
    assert any("metadata.version 4.3-IV0" in line for line in done.lines)
