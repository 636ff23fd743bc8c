"""``audit`` of groups whose broker assigns, in which one member leaves and another one is killed (KIP-848, KIP-1071).

What the coordinator logs is the truth; the audit has its segments only.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from attrs import frozen

from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.lab.integration.background import sent_records
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.subprocesses import Subprocess, wait_until
from tests.lab.integration.test_broker_assigned_groups import SETTINGS, Groups

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

KEPT = os.environ.get("KEEP_SEGMENTS")
"""A folder for the segments."""
GONE = re.compile(r"GroupId (?P<group>[\w-]+)\].*?[Mm]ember \S+ (?P<how>left|fenced)")
TRUTHS = {"left": "member-left", "fenced": "member-timed-out"}
LOADED, IDLE = ("streams-loaded", "consumer-loaded"), ("streams-idle", "consumer-idle")


@frozen
class Played:
    """What the coordinator logged, and what the audit says of members that were gone, by group."""

    truths: dict[str, list[str]]
    causes: dict[str, list[str]]


def truths_of(log: list[str], group: str) -> list[str]:
    return [TRUTHS[found["how"]] for line in log if (found := GONE.search(line)) and found["group"] == group]


def consumer(brokers: str, group: str) -> Subprocess:
    settings = {
        "bootstrap.servers": brokers,
        "group.id": group,
        "group.protocol": "consumer",
        "auto.commit.interval.ms": "1000",
    }
    pairs = [f"{key}={value}" for key, value in settings.items()]
    return Subprocess(group, [sys.executable, "-m", "tests.lab.integration.plain_member", f"{group}-data", *pairs])


@pytest.fixture(name="played", scope="module")
def fixture_played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """Groups of three members: one leaves, then one is killed, until its session ends."""
    folder = tmp_path_factory.mktemp("leaving")
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(Cluster(folder / "cluster", metadata="4.3-IV0"))
            cluster.start(1, NEWEST, settings=SETTINGS)
            groups = Groups(cluster.brokers, NEWEST, folder, stack)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams of {NEWEST}: {missing}")
        names = (*LOADED, *IDLE)
        groups.topics(**{f"{name}-data": 6 for name in names}, **{f"{name}-out": 1 for name in names})
        members: dict[str, list[Subprocess]] = {}
        log = cluster._running[1].lines
        with sent_records(cluster.brokers, {f"{name}-data": 6 for name in LOADED}, 0.5):
            for name in names:
                settings = {"commit.interval.ms": "1000"}
                members[name] = [
                    groups.member(name, f"{name}-{number}", **settings)
                    if name.startswith("streams")
                    else stack.enter_context(consumer(cluster.brokers, name))
                    for number in range(3)
                ]
            for name in names:
                groups.until(name, lambda found: found["state"] == "Stable" and len(found["members"]) == 3)
            for name in names:
                members[name][1].stop()
            wait_until(lambda: all("member-left" in truths_of(log, name) for name in names))
            for name in names:
                groups.until(name, lambda found: found["state"] == "Stable" and len(found["members"]) == 2)
            for name in names:
                members[name][2].signal(signal.SIGKILL)
            wait_until(lambda: all("member-timed-out" in truths_of(log, name) for name in names))
            for name in names:
                groups.until(name, lambda found: found["state"] == "Stable" and len(found["members"]) == 1)
        segments = folder / "cluster" / "1" / "data"
        run_audit(segments_source(segments), folder / "audit", AuditFilter())
        if KEPT:
            for part in segments.glob("__consumer_offsets-*"):
                shutil.copytree(part, Path(KEPT, part.name))
        rows = pq.read_table(folder / "audit" / "generations").to_pylist()
        yield Played({name: truths_of(log, name) for name in names}, {name: causes_of(rows, name) for name in names})


def causes_of(rows: list[dict[str, Any]], group: str) -> list[str]:
    found = sorted((row for row in rows if row["group"] == group), key=lambda row: row["offset"])
    return [row["cause"] for row in found if row["cause"].startswith(("member-left", "member-timed", "member-gone"))]


@pytest.mark.parametrize("group", LOADED)
def test_a_member_that_leaves_has_left_and_one_that_is_killed_has_timed_out(played: Played, group: str) -> None:
    assert ["member-left", "member-timed-out"] == played.truths[group] == played.causes[group]


@pytest.mark.parametrize("group", IDLE)
def test_a_member_without_commits_is_not_called_what_it_is_not(played: Played, group: str) -> None:
    truths, causes = played.truths[group], played.causes[group]

    assert ["member-left", "member-timed-out"] == truths
    assert [cause in (truth, "member-gone") for truth, cause in zip(truths, causes, strict=True)] == [True, True]
