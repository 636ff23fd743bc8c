"""`streams-assignor audit` beside Kafka's own tools, on the same segments in the same run.

    python -m tests.lab.bench.bench_audit [--scale 1.0] [--no-consumer] [--growth] [--estate] [--deleted] [--folder DIR]

Three segments: a million offset commits of 1,000 groups; 50,000 generations of 5,000 groups of Kafka Streams (ten
members, 40 tasks) whose members bounce one after the other; 10,000 in which every task changes its owner each time.

What is compared: the CPU time of a process, user and system, that is bound to one core, writes to /dev/null (ours:
Parquet tables to a temporary folder), less the CPU time of the same command on a segment of one batch.

- dump: `DumpLogSegments --offsets-decoder` of Kafka 4.3.1.
- consumer: its console consumer with the formatter of offsets or of group metadata, from a broker that has the segment
  as a partition of a topic. The broker's CPU time does not count.
- tables: ours without the report, as a worker does it. `no commits`: without the table of commits.
- audit: the whole command, with the report.

`--growth` measures 10^5 to 10^7 mixed records, `--estate` 10,000 groups and 10 million records on two cores, and
`--deleted` 20,000 and 200,000 groups that are gone, and the peak of memory of each. The numbers are of one machine at
one moment; compare only within one run.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.lab.bench import audit_segments
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

RELEASE = "4.3.1"
_KEPT = {"log.retention.ms": "-1", "log.segment.bytes": "2147483647"}
TOPIC = "copy"
COMMITS, BOUNCES, SHUFFLES = "commits", "bounces", "shuffles"
ESTATE_GROUPS, ESTATE_PARTITIONS = 10_000, 50
_FORMATTERS = {COMMITS: "OffsetsMessageFormatter"}
_TABLES = """
import sys
from pathlib import Path
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter, audit_partition
from streams_assignor.spark_sim.audit.sources import segments_source
for each in segments_source(Path(sys.argv[1])).partitions:
    audit_partition(each, AuditFilter(reads_commits=sys.argv[3] == "yes"), Path(sys.argv[2]))
"""


class Workload(NamedTuple):
    """A segment, and one of the same kind with a single batch."""

    name: str
    records: int
    folder: Path
    start: Path

    @property
    def size(self) -> int:
        return segment(self.folder).stat().st_size


def segment(folder: Path) -> Path:
    (found,) = folder.glob("*/*.log")
    return found


def workloads(folder: Path, scale: float) -> Iterator[Workload]:
    """Write the segments."""
    groups = max(1, int(5_000 * scale))
    made = {
        COMMITS: (int(1_000_000 * scale), lambda: audit_segments.commits(1_000)),
        BOUNCES: (10 * groups, lambda: audit_segments.generations(groups)),
        SHUFFLES: (2 * groups, lambda: audit_segments.generations(groups // 5, audit_segments.SHUFFLE)),
    }
    for name, (records, batches) in made.items():
        audit_segments.write(folder / name, batches(), records)
        audit_segments.write(folder / f"{name}-start", batches(), 1)
        yield Workload(name, records, folder / name, folder / f"{name}-start")


def cpu_seconds(command: list[str], cores: frozenset[int]) -> float:
    """CPU time of a command, with all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    if done.returncode:
        sys.exit(f"{command[:4]}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def net_seconds(command, workload: Workload, *, runs: int = 1) -> float:
    """CPU time of ``command(folder, records)`` on one core, less its start; the least of the runs."""
    core = frozenset({max(os.sched_getaffinity(0))})

    def least(folder: Path, records: int) -> float:
        return min(cpu_seconds(command(folder, records), core) for _ in range(runs))

    return least(workload.folder, workload.records) - least(workload.start, 1)


def big_java(jars: str) -> list[str]:
    """Java as Kafka's scripts start it: both compilers."""
    return [java(), "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", jars]


def dump(jars: str):
    tool = [*big_java(jars), "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--files"]
    return lambda folder, _: [*tool, str(segment(folder))]


def tables(out: Path, *, commits: bool):
    return lambda folder, _: [sys.executable, "-c", _TABLES, str(folder), str(out), "yes" if commits else "no"]


def audit(out: Path, *options: str):
    command = [sys.executable, "-m", "streams_assignor.cli.main", "audit", "--out", str(out), *options, "--segments"]
    return lambda folder, _: [*command, str(folder)]


def consumer(jars: str, workload: Workload, bootstrap: str):
    formatter = _FORMATTERS.get(workload.name, "GroupMetadataMessageFormatter")
    tool = [*big_java(jars), "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap]
    tool += ["--topic", TOPIC, "--from-beginning", "--formatter", f"org.apache.kafka.tools.consumer.{formatter}"]
    return lambda _, records: [*tool, "--max-messages", str(records)]


@contextmanager
def broker_with(workload: Workload, jars: dict[str, str]) -> Iterator[str]:
    """A broker that has the segment as the only partition of a topic."""
    with tempfile.TemporaryDirectory(prefix="audit-broker-", dir=workload.folder.parent) as folder:
        with Cluster(Path(folder)) as cluster:
            cluster.start(1, RELEASE, settings=_KEPT)
            create = ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", cluster.brokers, "--create"]
            create = [*jvm(jars["tools"], "128m", "warn"), *create, "--topic", TOPIC, "--partitions", "1"]
            subprocess.run(create, check=True, capture_output=True, timeout=TIMEOUT_SECONDS)
            cluster.stop(1)
        data = Path(folder, "1", "data")
        for each in (data / f"{TOPIC}-0").glob("0*"):
            each.unlink()
        shutil.copy(segment(workload.folder), data / f"{TOPIC}-0")
        (data / ".kafka_cleanshutdown").unlink(missing_ok=True)  # so that it rebuilds the indexes
        with Cluster(Path(folder)) as cluster:
            cluster.start(1, RELEASE, settings=_KEPT)
            yield cluster.brokers


def compare(workload: Workload, jars: dict[str, str], out: Path, *, with_consumer: bool) -> None:
    """Print one table."""
    megabytes = workload.size / 1e6
    print(f"\n{workload.name}: {workload.records:,} records, {megabytes:.0f} MB", flush=True)
    found: dict[str, float] = {}
    if jars:
        found["dump"] = net_seconds(dump(jars["tools"]), workload)
        if with_consumer:
            with broker_with(workload, jars) as address:
                found["consumer"] = net_seconds(consumer(jars["tools"], workload, address), workload)
    found["tables"] = net_seconds(tables(out, commits=True), workload)
    if workload.name == COMMITS:
        found["tables, no commits"] = net_seconds(tables(out, commits=False), workload, runs=3)
    found["audit"] = net_seconds(audit(out / "audit", "--processes", "1"), workload)
    yardsticks = [name for name in ("dump", "consumer") if name in found]
    print(f"{'':<20}{'CPU s':>8}{'records/s':>12}{'MB/s':>8}", *(f"{f'x {name}':>12}" for name in yardsticks))
    for name, seconds in found.items():
        ratios = (f"{found[each] / seconds:>12.2f}" for each in yardsticks)
        print(f"{name:<20}{seconds:>8.2f}{workload.records / seconds:>12,.0f}{megabytes / seconds:>8.1f}", *ratios)
    sys.stdout.flush()


def timed(folder: Path, out: Path, processes: int) -> tuple[float, float, int]:
    """Seconds, CPU seconds and the peak of memory, in MB, of the largest process, of an audit of a folder."""
    command = audit(out, "--processes", str(processes))(folder, 0)
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command}: {status}")
    # Linux: the peak of the largest of a process and its children that it waited for.
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1000


def growth(folder: Path, out: Path, scale: float) -> None:
    """Print the growth with the records, of 1,000 groups in one partition."""
    print(f"\n{'records':>12}{'seconds':>10}{'CPU s':>8}{'us/record':>11}{'peak MB':>9}")
    for power in (5, 6, 7):
        records = int(10**power * scale)
        made = audit_segments.write(folder / f"growth-{power}", audit_segments.mixed(1_000), records)
        seconds, cpu, peak = timed(made, out / f"growth-{power}", 1)
        print(f"{records:>12,}{seconds:>10.1f}{cpu:>8.1f}{1e6 * cpu / records:>11.1f}{peak:>9}", flush=True)
        shutil.rmtree(made)


def estate(folder: Path, out: Path, scale: float) -> None:
    """Print the time for 10,000 groups and 10 million records, in 50 partitions, on two cores."""
    records = int(10_000_000 * scale)
    batches = audit_segments.mixed(ESTATE_GROUPS)
    made = audit_segments.write(folder / "estate", batches, records, ESTATE_PARTITIONS)
    seconds, cpu, peak = timed(made, out / "estate", 2)
    print(f"\n{ESTATE_GROUPS:,} groups, {records:,} records: {seconds:.0f} s, {cpu:.0f} s of CPU, {peak} MB")


def deleted(folder: Path, out: Path, scale: float) -> None:
    """Print the time and the memory for groups of which nothing is left."""
    for number in (int(20_000 * scale), int(200_000 * scale)):
        made = audit_segments.write(folder / f"gone-{number}", audit_segments.deleted(number), 3 * number, 4)
        seconds, cpu, peak = timed(made, out / f"gone-{number}", 2)
        print(f"\n{number:,} deleted groups: {seconds:.0f} s, {cpu:.0f} s of CPU, {peak} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records")
    parser.add_argument("--no-consumer", action="store_true", help="without the console consumer and its broker")
    parser.add_argument("--growth", action="store_true", help="also the growth")
    parser.add_argument("--estate", action="store_true", help="also the estate")
    parser.add_argument("--deleted", action="store_true", help="also groups that are gone")
    parser.add_argument("--only", choices=(COMMITS, BOUNCES, SHUFFLES, "none"), help="one of the segments")
    parser.add_argument("--folder", type=Path, help="where the segments are written: 2 GB; the default is temporary")
    given = parser.parse_args()
    jars = {}
    try:
        jars = {"tools": class_path(f"org.apache.kafka:kafka-tools:{RELEASE}")}
    except Unavailable as why:
        print(f"without the JVM: {why}")
    with tempfile.TemporaryDirectory(prefix="audit-", dir=given.folder) as folder, tempfile.TemporaryDirectory() as out:
        for workload in workloads(Path(folder), given.scale) if given.only != "none" else ():
            if given.only in (None, workload.name):
                compare(workload, jars, Path(out), with_consumer=not given.no_consumer)
        if given.growth:
            growth(Path(folder), Path(out), given.scale)
        if given.estate:
            estate(Path(folder), Path(out), given.scale)
        if given.deleted:
            deleted(Path(folder), Path(out), given.scale)


if __name__ == "__main__":
    main()
