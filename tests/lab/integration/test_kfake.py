"""Commands and members on a broker of another make: franz-go's kfake, which is written in Go and has no code of Kafka.

What it answers differs from Kafka in places; a test that depends on one says which.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from streams_assignor.demo.load_generator import create_topic
from tests.lab.integration.applications import TASKS, Application
from tests.lab.integration.kafka_jars import Unavailable, cache_folder, program
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SOURCES = Path(__file__).parent / "kfake"
BUILD_SECONDS = 600


def kfake() -> Path:
    """Return the program; it is built once for these sources. ``Unavailable`` without Go or the modules."""
    go = program("go", "install Go, 1.26 or later")
    sources = b"".join((SOURCES / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    built = cache_folder() / f"kfake_{hashlib.sha256(sources).hexdigest()[:12]}"
    if not built.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
            target = Path(scratch, "kfake")
            done = subprocess.run(
                [go, "build", "-o", str(target), "."],
                cwd=SOURCES,
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"},
            )
            if done.returncode:
                raise Unavailable(f"kfake cannot be built (is there a network?): {done.stderr[-300:]}")
            target.rename(built)
    return built


@pytest.fixture(name="brokers", scope="module")
def fixture_brokers() -> Iterator[str]:
    try:
        built = kfake()
    except Unavailable as missing:
        pytest.skip(str(missing))
    with Subprocess("kfake", [str(built)]) as running:
        wait_until(lambda: any("listens at" in line for line in running.lines), running)
        yield running.lines[-1].split()[-1]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    started = [sys.executable, "-m", "streams_assignor", *arguments]
    return subprocess.run(started, capture_output=True, text=True, timeout=2 * TIMEOUT_SECONDS)


def shown(*arguments: str) -> Any:
    done = command(*arguments, "--json")
    assert (0, "") == (done.returncode, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize("rules", ["today", "kip-268"])
def test_a_bounce_finishes_both_upgrades(brokers: str, rules: str) -> None:
    summary = shown("bounce", "--bootstrap-servers", brokers, "--rules", rules)

    assert ("finished", 0) == (summary["outcome"], summary["lost"])
    assert 0 < summary["produced"] == summary["processed"]
    assert [2, 2, 3, 4] == [step["step"]["version"] for step in summary["steps"]]


def test_its_features_are_described(brokers: str) -> None:
    done = command("features", "describe", "--bootstrap-server", brokers)

    assert (0, "") == (done.returncode, done.stderr)
    assert re.search(r"Feature: metadata\.version +SupportedMinVersion: 3\.3-IV3 ", done.stdout)


def test_a_classic_group_is_listed_and_described(brokers: str) -> None:
    application = Application(brokers)
    with application.python() as member:
        wait_until(lambda: member.tasks == TASKS, member)
        listed = shown("group", "list", "--bootstrap-servers", brokers)
        group = shown("group", application.name, "--bootstrap-servers", brokers)
        assert 0 == member.stop()

    (row,) = [row for row in listed if row["group"] == application.name]
    assert ("classic", "Stable", "stream") == (row["type"], row["state"], row["protocol"])
    assert [[11, sorted(TASKS)]] == [[found["used_version"], found["active"]] for found in group["members"]]


def test_the_lag_of_a_classic_group_is_that_of_its_records(brokers: str) -> None:
    create_topic(brokers, "behind", 1)
    producer = Producer({"bootstrap.servers": brokers})
    for _ in range(7):
        producer.produce("behind", b"x")
    assert 0 == producer.flush(TIMEOUT_SECONDS)
    settings = {"bootstrap.servers": brokers, "group.id": "late", "auto.offset.reset": "earliest"}
    with closing(Consumer({**settings, "enable.auto.commit": False})) as consumer:
        consumer.subscribe(["behind"])
        records = [message for _ in range(4) if (message := consumer.poll(TIMEOUT_SECONDS)) and not message.error()]
        consumer.commit(message=records[-1], asynchronous=False)
        lag = shown("group", "late", "--bootstrap-servers", brokers)["lag"]

    assert (7 - len(records), 0) == (lag["total"], lag["unknown"])


def test_a_consumer_group_is_listed_and_described_as_one(brokers: str) -> None:
    """KIP-848. kfake describes partitions by topic ids without names: they are looked up, or said to be missing."""
    create_topic(brokers, "new-protocol", 3)
    settings = {"bootstrap.servers": brokers, "group.id": "kip-848", "group.protocol": "consumer"}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe(["new-protocol"])
        while not consumer.assignment():
            consumer.poll(0.1)
        listed = shown("group", "list", "--bootstrap-servers", brokers)
        group = shown("group", "kip-848", "--bootstrap-servers", brokers)

    (row,) = [row for row in listed if row["group"] == "kip-848"]
    for found in (row, group):
        assert ("consumer", "Stable", 1) == (found["type"], found["state"], len(found["members"]))
        assert None is found["error"]
    (member,) = group["members"]
    assert ["new-protocol"] == member["topics"]
    assert [f"new-protocol-{number}" for number in range(3)] == member["partitions"]
    assert [] == group["findings"] == row["findings"]
