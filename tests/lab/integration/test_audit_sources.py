"""``streams-assignor audit`` from live brokers, and what it preserves: the same tables as from their segments."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from attrs import frozen
from click.testing import CliRunner, Result
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor import spark_sim
from streams_assignor.cli.main import cli
from streams_assignor.groups.history.tables import AUDIT_TABLES
from streams_assignor.spark_sim.audit._spark_source import RecordsReader, source_of
from streams_assignor.spark_sim.audit.records import partition_records, read_records
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from tests.lab.chaos.wall_clock import NoClocks, wall_clock
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.secure_cluster import PASSWORD, SecureCluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until
from tests.matrix import with_matrix
from tests.spark_sim.sweep.spark_cluster import cluster

pytestmark = [pytest.mark.broker, pytest.mark.slow]
PARTITIONS = 3


@frozen
class Observed:
    """A broker with a history."""

    brokers: str
    data: Path


def audit(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, ["audit", *map(str, arguments)], env=env)


@pytest.fixture(
    name="observed", scope="module", params=with_matrix([NEWEST, OLDER], [NEWEST], "the same of an older broker")
)
def fixture_observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observed")
    with ExitStack() as stack:
        try:
            kafka = stack.enter_context(Cluster(folder, metadata="3.9-IV0" if request.param == OLDER else "4.0-IV3"))
            kafka.start(1, request.param, settings={"offsets.topic.num.partitions": str(PARTITIONS)})
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")
        for name in ("plain", "more", "transactional"):
            work(kafka.brokers, name)
        yield Observed(kafka.brokers, folder / "1" / "data")


def work(brokers: str, name: str, records: int = 20) -> None:
    """A group with one member after the other, commits, and for one group commits of transactions; then it is empty."""
    group, topic = f"{name}-{uuid4().hex[:6]}", f"{name}-{uuid4().hex[:6]}"
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(topic, 2)])[topic].result(TIMEOUT_SECONDS)
    producer = Producer({"bootstrap.servers": brokers})
    for number in range(records):
        producer.produce(topic, b"x", partition=number % 2)
    producer.flush(TIMEOUT_SECONDS)
    for _ in range(2):
        settings: dict[str, Any] = {
            "bootstrap.servers": brokers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        with closing(Consumer(settings)) as consumer:
            consumer.subscribe([topic])
            found, deadline = 0, time.monotonic() + TIMEOUT_SECONDS
            while found < records // 2 and time.monotonic() < deadline:
                message = consumer.poll(1)
                if message and not message.error():
                    found += 1
                    if name != "transactional":
                        consumer.commit(message, asynchronous=False)
            if name == "transactional":
                commit_in_transactions(brokers, consumer, topic)

    def is_empty() -> bool:
        """Whether the coordinator has written the last generation."""
        state = admin.describe_consumer_groups([group])[group].result(TIMEOUT_SECONDS).state
        return bool(state == ConsumerGroupState.EMPTY)

    wait_until(is_empty)


def commit_in_transactions(brokers: str, consumer: Consumer, topic: str) -> None:
    """One transaction that is committed, and one that is not."""
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": f"of-{topic}"})
    producer.init_transactions()
    for offset, is_good in ((3, True), (7, False), (8, True)):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata())
        producer.commit_transaction() if is_good else producer.abort_transaction()
    # Its marker is later. Segments count the commit then, brokers at its record: no rebalance may be in between.
    assert 8 == consumer.committed([TopicPartition(topic, 0)], TIMEOUT_SECONDS)[0].offset


def tables(out: Path) -> dict[str, list[str]]:
    return {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in AUDIT_TABLES}


@pytest.mark.parametrize("processes", [1, 2])
def test_live_brokers_have_the_tables_of_their_segments(observed: Observed, tmp_path: Path, processes: int) -> None:
    copied = audit("--segments", observed.data, "--out", tmp_path / "copied", "--json", "--processes", processes)
    live = audit(
        *("--bootstrap-servers", observed.brokers, "--out", tmp_path / "live", "--json", "--processes", processes)
    )

    assert copied.exit_code == live.exit_code == 0, live.output
    assert tables(tmp_path / "copied") == tables(tmp_path / "live")
    counts = [json.loads(each.stdout)["records"] for each in (copied, live)]
    assert counts[0]["GroupMetadata"] == counts[1]["GroupMetadata"] > 0
    assert counts[1]["records"] + counts[1]["offsets without a record"] == sum(ends(observed.brokers))
    assert len(json.loads(live.stdout)["groups"]) == 3


def test_spark_reads_brokers_in_ranges_of_offsets(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams_assignor.spark_sim.audit._spark_source.OFFSETS_PER_TASK", 10)
    options = {"bootstrap.servers": observed.brokers}
    ranges = RecordsReader(options).partitions()
    found = [row for each in ranges for row in partition_records(each.value)]

    assert len(ranges) > PARTITIONS
    assert found == list(read_records(source_of(options)))


@pytest.mark.spark
def test_a_stream_with_a_limit_has_each_record_once_over_a_restart(observed: Observed, tmp_path: Path) -> None:
    """No batch has more offsets than ``maxOffsetsPerTrigger``, while clients write and after a restart."""
    most = 15
    options = {"bootstrap.servers": observed.brokers}
    rows, checkpoint = str(tmp_path / "rows"), tmp_path / "checkpoint"
    with spark_session("local[2]", print) as spark:
        spark_sim.register(spark)
        stream = spark.readStream.format("consumer_offsets").options(**options, maxOffsetsPerTrigger=str(most)).load()
        sink = stream.writeStream.format("parquet").option("path", rows).option("checkpointLocation", str(checkpoint))
        first = sink.start()
        wait_until(lambda: (first.lastProgress or {"batchId": 0})["batchId"] > 1)
        work(observed.brokers, "while-it-runs")
        first.stop()
        stopped = len(list(checkpoint.glob("offsets/[0-9]*")))
        work(observed.brokers, "while-it-is-stopped")
        second = sink.trigger(availableNow=True).start()
        assert second.awaitTermination(TIMEOUT_SECONDS)
        found = [row.asDict() for row in spark.read.parquet(rows).collect()]

    number_of_batches = len(list(checkpoint.glob("offsets/[0-9]*")))
    batches = [(checkpoint / "offsets" / str(at)).read_text().splitlines()[-1] for at in range(number_of_batches)]
    behind = [sum(json.loads(offsets).values()) for offsets in batches]
    expected = list(read_records(source_of(options)))
    place = itemgetter("partition", "offset")
    assert 2 <= stopped < number_of_batches
    assert max(end - begin for begin, end in pairwise(behind)) == most
    assert behind[0] <= most
    assert sorted(found, key=place) == sorted(expected, key=place)


def ends(brokers: str) -> list[int]:
    with closing(Consumer({"bootstrap.servers": brokers, "group.id": "unused"})) as consumer:
        return [
            consumer.get_watermark_offsets(TopicPartition("__consumer_offsets", number), TIMEOUT_SECONDS)[1]
            for number in range(PARTITIONS)
        ]


def test_an_open_transaction_hides_what_is_behind_it(observed: Observed, tmp_path: Path) -> None:
    """The audit ends at the last stable offset, as every read_committed consumer; it does not wait for the end."""
    group = f"open-{uuid4().hex[:6]}"
    producer = Producer({"bootstrap.servers": observed.brokers, "transactional.id": group})
    admin = AdminClient({"bootstrap.servers": observed.brokers})
    admin.create_topics([NewTopic(group, 1)])[group].result(TIMEOUT_SECONDS)
    producer.init_transactions()
    with closing(Consumer({"bootstrap.servers": observed.brokers, "group.id": group})) as consumer:
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(group, 0, 7)], consumer.consumer_group_metadata())
        live = audit("--bootstrap-servers", observed.brokers, "--out", tmp_path / "open", "--json", "--processes", 1)
        producer.commit_transaction()
        # Its marker is later.
        assert 7 == consumer.committed([TopicPartition(group, 0)], TIMEOUT_SECONDS)[0].offset
    after = audit("--bootstrap-servers", observed.brokers, "--out", tmp_path / "after", "--json", "--processes", 1)

    assert live.exit_code == after.exit_code == 0, live.output
    counts = [json.loads(each.stdout)["records"]["OffsetCommit"] for each in (live, after)]
    assert counts[0] < counts[1]


def test_a_broker_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("default.api.timeout.ms=1000\n")
    result = audit("--bootstrap-servers", "127.0.0.1:1", "--command-config", config, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1, result.stderr
    assert "127.0.0.1:1" in result.stderr
    assert "refused" in result.stderr


@pytest.mark.parametrize(
    ("user", "password", "expected"),
    [("bert", PASSWORD, "needs READ and DESCRIBE on the topic __consumer_offsets"), ("anna", "wrong", "uthenticat")],
)
def test_a_user_who_may_not_read_is_one_line(
    secure: SecureCluster, tmp_path: Path, user: str, password: str, expected: str
) -> None:
    work(secure.open, "plain", 2)
    config = tmp_path / "client.properties"
    login = secure.java_login(user, password)
    config.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
    result = audit("--command-config", config, "--out", tmp_path / "out")

    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert expected in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.java
@pytest.mark.spark
def test_files_of_sparks_own_source_are_audited(observed: Observed, tmp_path: Path) -> None:
    """Without this setting it gives no rows of this topic: then there is nothing to audit, which is an error."""
    jars = class_path("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0").split(os.pathsep)
    wanted = [jar for jar in jars if any(name in Path(jar).name for name in ("kafka", "commons-pool2"))]
    with spark_session("local[2]", print, {"spark.driver.extraClassPath": os.pathsep.join(wanted)}) as spark:
        for uses_deprecated in ("false", "true"):
            spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", uses_deprecated)
            reader = spark.read.format("kafka").option("kafka.bootstrap.servers", observed.brokers)
            reader = reader.option("kafka.isolation.level", "read_committed")
            records = reader.option("subscribe", "__consumer_offsets").load()
            named = records.selectExpr("partition", "offset", "unix_millis(timestamp) AS timestamp", "key", "value")
            in_order = named.repartition("partition").sortWithinPartitions("partition", "offset")
            in_order.write.parquet(str(tmp_path / uses_deprecated))
    nothing = audit("--records", tmp_path / "false", "--out", tmp_path / "nothing")
    found = audit("--records", tmp_path / "true", "--out", tmp_path / "found", "--processes", 1)
    live = audit("--bootstrap-servers", observed.brokers, "--out", tmp_path / "live", "--processes", 1)

    assert (nothing.exit_code, found.exit_code, live.exit_code) == (2, 0, 0), nothing.output + found.output
    assert "expected Parquet files with records" in nothing.stderr
    assert tables(tmp_path / "found") == tables(tmp_path / "live")


class Follower:
    """A driver of ``audit --follow`` in a process of its own."""

    def __init__(self, brokers: str, out: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        command = [
            sys.executable,
            "-m",
            "streams_assignor.cli.main",
            "audit",
            "--bootstrap-servers",
            brokers,
            "--follow",
        ]
        self.process = subprocess.Popen(
            [*command, "--out", str(out), "--interval", "0.5s", *options],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )

    def wait_for(self, preserved: int) -> None:
        """Wait for a line such as ``25 offsets preserved, 0 behind`` with at least so many."""
        assert self.process.stderr
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            count, _, rest = line.partition(" offsets preserved, ")
            if rest == "0 behind\n" and int(count) >= preserved:
                return
        raise AssertionError(seen)

    def processes(self) -> dict[int, str]:
        """What runs of it, and of all that it has started: the command lines, by process."""
        found = {}
        for each in Path("/proc").iterdir():
            with suppress(OSError):  # it has ended
                stat, words = (each / "stat").read_text(), (each / "cmdline").read_bytes()
                state, _, _, session = stat.rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid and state != "Z":
                    found[int(each.name)] = words.decode().replace("\0", " ")
        return found

    def end(self, how: signal.Signals) -> str:
        os.killpg(self.process.pid, how) if how == signal.SIGKILL else self.process.send_signal(how)
        return self.process.communicate(timeout=TIMEOUT_SECONDS)[1]


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """The options that say where Spark runs."""
    if request.param == "this-process":
        yield ()
        return
    with cluster(tmp_path, workers=1) as spark:
        yield ("--master", spark.url)


@pytest.mark.parametrize(
    ("observed", "where"),
    with_matrix(
        [(NEWEST, "this-process"), (OLDER, "this-process"), (NEWEST, "cluster")],
        [(NEWEST, "this-process")],
        "the same of an older broker, and on a cluster",
    ),
    indirect=True,
)
def test_a_job_that_is_killed_loses_and_duplicates_no_record(
    observed: Observed, where: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "preserved"
    first = Follower(observed.brokers, out, *where)
    first.wait_for(sum(ends(observed.brokers)))
    work(observed.brokers, "while-it-runs")
    first.end(signal.SIGKILL)
    work(observed.brokers, "while-it-is-dead")
    second = Follower(observed.brokers, out, *where)
    second.wait_for(sum(ends(observed.brokers)))
    work(observed.brokers, "after-it-resumed")
    second.wait_for(sum(ends(observed.brokers)))
    assert "the same command resumes" in second.end(signal.SIGINT)
    assert second.process.returncode == 0

    check_preserved(observed, out, tmp_path)


def check_preserved(observed: Observed, out: Path, tmp_path: Path) -> None:
    """Each record is there, once."""
    preserved = audit("--records", out, "--out", tmp_path / "a", "--json", "--processes", 1)
    live = audit("--bootstrap-servers", observed.brokers, "--out", tmp_path / "b", "--json", "--processes", 1)
    copied = audit("--segments", observed.data, "--out", tmp_path / "c", "--json", "--processes", 1)

    assert preserved.exit_code == live.exit_code == copied.exit_code == 0, preserved.output
    counts = [json.loads(each.stdout)["records"] for each in (preserved, live)]
    assert counts[0]["records"] == counts[1]["records"]
    assert tables(tmp_path / "a") == tables(tmp_path / "b") == tables(tmp_path / "c")


@pytest.mark.parametrize("victim", ["streams_assignor.cli.main", "pyspark.daemon", "streaming_source_runner", "java"])
def test_a_job_of_which_one_process_is_killed_leaves_none_and_the_next_one_goes_on(
    observed: Observed, tmp_path: Path, victim: str
) -> None:
    """Of the driver, the JVM and the Python workers, one kind each; the test before kills all of them together."""
    out = tmp_path / "preserved"
    first = Follower(observed.brokers, out)
    first.wait_for(sum(ends(observed.brokers)))
    killed = [number for number, words in first.processes().items() if victim in words]
    assert killed
    for number in killed:
        os.kill(number, signal.SIGKILL)
    work(observed.brokers, "afterwards")
    printed = first.process.communicate(timeout=TIMEOUT_SECONDS)[1]
    wait_until(lambda: not first.processes())
    assert victim == "streams_assignor.cli.main" or printed.splitlines()[-1].startswith(
        "Error: the job of --follow failed: "
    ), printed
    second = Follower(observed.brokers, out)
    second.wait_for(sum(ends(observed.brokers)))
    second.end(signal.SIGINT)
    wait_until(lambda: not second.processes())

    check_preserved(observed, out, tmp_path)


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_job_goes_on_when_the_clock_is_set(observed: Observed, tmp_path: Path, seconds: int) -> None:
    """Spark waits for a time of day: after an hour back it began no batch for an hour."""
    try:
        clock = wall_clock(tmp_path / "clock")
    except NoClocks as missing:
        pytest.skip(str(missing))
    out = tmp_path / "preserved"
    job = Follower(observed.brokers, out, environment=clock.environment)
    job.wait_for(sum(ends(observed.brokers)))
    clock.jump(seconds)
    for name in ("behind", "again"):
        work(observed.brokers, name)
        job.wait_for(sum(ends(observed.brokers)))
    job.end(signal.SIGINT)
    assert job.process.returncode == 0

    check_preserved(observed, out, tmp_path)
