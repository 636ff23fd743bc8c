"""The segments of a real broker: the causes are what the driver did, and Kafka's own tool reads the same records."""

import json
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from streams_assignor.codec.coordinator import decode_key, decode_value
from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm

SEGMENTS = Path(__file__).parent / "segments"
EXPECTED = json.loads((SEGMENTS / "expected.json").read_text(encoding="utf-8"))
STEPS = json.loads((SEGMENTS / "driver.json").read_text(encoding="utf-8"))
SLACK_MS = 500


def partitions():
    return segments_source(SEGMENTS).partitions


@pytest.fixture(scope="module")
def rows():
    return rows_of(partitions())


def rows_of(partitions):
    found = defaultdict(list)
    for partition in partitions:
        history = PartitionHistory()
        records = (record for _, record in partition.records(SegmentReader()))
        for read in (history.read(records), history.close()):
            for table, row in read:
                found[table].append(row)
        assert history.problems == []
    return found


def test_a_group_that_changes_its_protocol_is_read():
    """No member of KIP-848 was read, so epochs had too few members, and topics had no names."""
    found = rows_of(segments_source(SEGMENTS.parent / "converted_segments").partitions)
    generations = [(row["type"], row["generation"], row["members"], row["cause"]) for row in found["generations"]]

    assert generations[3:] == [
        ("classic", 3, 1, "member-left"),
        ("consumer", 3, 1, "group-converted"),
        ("consumer", 4, 2, "member-joined"),
        ("consumer", 5, 1, "member-left"),
        ("consumer", 6, 2, "member-joined"),
        ("consumer", 7, 1, "member-left"),
        ("consumer", 8, 2, "member-joined"),
        ("classic", 8, 1, "group-converted"),
        ("classic", 9, 1, "group-converted"),
        ("classic", 10, 0, "all-members-left"),
    ]
    assert {row["task"].rpartition("-")[0] for row in found["tasks"]} == {"plain-converted-1"}
    assert {row["tasks"] for row in found["generations"] if row["type"] == "consumer"} == {6}


def test_streams_groups_have_epochs_with_tasks_and_topics():
    """Two instances come and go; one has standbys of the other's tasks."""
    found = rows_of(segments_source(SEGMENTS.parent / "streams_segments").partitions)
    group = "orders-5fad62aa"
    generations = [
        (row["generation"], row["members"], row["tasks"], row["cause"])
        for row in found["generations"]
        if row["group"] == group
    ]
    tasks = [row for row in found["tasks"] if row["group"] == group]

    assert generations == [
        (2, 1, 0, "group-started"),
        (3, 1, 8, "topics-changed"),  # the broker has made the internal topics
        (4, 2, 8, "member-joined"),
        (5, 1, 4, "member-gone"),
        (6, 0, 0, "all-members-left"),
    ]
    assert {row["topics"][1] for row in found["members"] if row["group"] == group} == {f"{group}-store-repartition"}
    assert {row["task"] for row in tasks if row["role"] == "standby"} == {f"1_{number}" for number in range(4)}
    assert {row["type"] for row in found["generations"]} == {"streams", "consumer"}
    assert {row["confidence"] for row in found["generations"] if row["cause"] == "group-started"} == {"likely"}


def test_a_frozen_member_keeps_its_tasks_until_it_confirms_that_it_has_revoked_them():
    found = rows_of(segments_source(SEGMENTS.parent / "streams_segments").partitions)
    group = "frozen-d354d3da"
    (third, fourth) = [row for row in found["generations"] if row["group"] == group][1:]
    intervals = {
        (row["role"], row["member"]): (row["from_time"] - fourth["time"], (row["until_time"] or 0) - fourth["time"])
        for row in found["tasks"]
        if (row["group"], row["task"]) == (group, "0_2")
    }

    assert (0, 120_719, []) == (third["duration_ms"], fourth["duration_ms"], fourth["pending"])
    assert (0, 120_719) == intervals["awaited", "cskGPMiE"]
    assert (0, 119_986) == intervals["to-revoke", "7RMTm1cp"]
    assert (119_986, 120_719) == intervals["unowned", ""]
    assert [row["code"] for row in found["findings"] if row["group"] == group] == ["slow-reconciliation"]


def test_every_generation_has_the_cause_that_was_reviewed(rows):
    found = sorted((row["group"], row["generation"], row["cause"]) for row in rows["generations"])

    assert found == sorted((each["group"], each["generation"], each["cause"]) for each in EXPECTED)


def test_members_join_and_go_when_the_driver_says_so(rows):
    """A step's first generation comes after it began; a scenario's other rebalances follow from the bytes."""
    for step in STEPS:
        group, word = step["group"], step["step"]
        begin, end = step["began"] * 1000 - SLACK_MS, step["ended"] * 1000 + SLACK_MS
        causes = {row["cause"] for row in rows["generations"] if row["group"] == group and begin <= row["time"] <= end}
        name = re.match(r"[!-]?(\w+)", word)[1]
        again = any(
            each["group"] == group and each["step"].startswith(f"{name}@") and each["ended"] < step["began"] + 1
            for each in STEPS
        )
        if word.startswith("!"):
            assert "member-timed-out" in causes, step
        elif word.startswith("-"):
            assert "member-left" in causes, step
        elif again and name.startswith("java"):
            assert "member-restarted" in causes, step
        else:
            assert causes & {"group-started", "member-joined"}, step


def test_no_cause_is_unknown(rows):
    assert Counter(row["confidence"] for row in rows["generations"])["unknown"] == 0


def test_the_members_are_the_processes_of_the_driver(rows):
    ended = Counter(row["ended"] for row in rows["members"] if row["group"] == "group-4bed3131")

    assert ended == {"left": 1, "timed-out": 1, "gone": 1}


def test_a_run_that_ended_in_time_has_no_findings(rows):
    assert {row["group"] for row in rows["findings"]} <= {"group-5d50646a"}


@pytest.fixture(scope="module")
def dumped():
    """The output of Kafka's tool for each segment: a dict of offsets to keys and payloads."""
    try:
        jars = class_path("org.apache.kafka:kafka-tools:4.3.1")
        command = [
            *jvm(jars, "128m", "error"),
            "org.apache.kafka.tools.DumpLogSegments",
            "--offsets-decoder",
            "--files",
        ]
    except Unavailable as why:
        pytest.skip(str(why))
    found = {}
    for partition in partitions():
        done = subprocess.run([*command, str(partition.files[0])], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = re.findall(r"^\| offset: (\d+) .*? key: (\{.*?\}) payload: (.*)$", done.stdout, re.MULTILINE)
        found[partition.partition] = {int(at): (json.loads(key), json.loads(value)) for at, key, value in lines}
    return found


def _each(found):
    for _, one in found:
        yield from one.records() if isinstance(one, RecordColumns) else (one,)


def records():
    for partition in partitions():
        for record in _each(partition.records(SegmentReader())):
            key = decode_key(record.key)
            yield partition.partition, record.offset, key, decode_value(key.type, record.value).fields


@pytest.mark.java
def test_kafkas_tool_reads_the_same_records(dumped):
    ours = [(partition, offset, key.type.number, key.fields) for partition, offset, key, _ in records()]
    kafkas = [
        (partition, offset, int(key["type"]), key["data"])
        for partition, found in dumped.items()
        for offset, (key, _) in found.items()
    ]

    assert ours == kafkas
    assert len(ours) > 100


@pytest.mark.java
def test_kafkas_tool_reads_the_same_generations_members_and_commits(dumped):
    for partition, offset, key, value in records():
        theirs = dumped[partition][offset][1]["data"]
        if key.type.number == 1:
            assert (theirs["offset"], theirs["commitTimestamp"]) == (value["offset"], value["commitTimestamp"])
        else:
            assert (theirs["generation"], theirs["leader"]) == (value["generation"], value["leader"])
            assert [each["memberId"] for each in theirs["members"]] == [each["memberId"] for each in value["members"]]
