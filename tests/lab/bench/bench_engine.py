"""An audit of one partition that has all records: in one process, in two, on Spark, and on a cluster of two workers.

    python -m tests.lab.bench.bench_engine [--records 1000000] [--segments 8] [--folder DIR]

The records are offset commits and generations of 1,000 groups (`audit_segments.mixed`), in segments of equal size. The
cluster is a standalone one, whose master and two workers of one core each are processes of this machine; then one of
the workers is killed in the middle. Each run has to write the same bytes. Seconds are of the wall and of the CPU of all
processes that the command starts; those of a cluster are not its children, so there is only the wall. The numbers are
of one machine at one moment; compare only within one run.
"""

import argparse
import hashlib
import resource
import tempfile
import time
from pathlib import Path
from threading import Thread

from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES, EngineOptions, open_engine
from tests.lab.bench import audit_segments
from tests.spark_sim.sweep.spark_cluster import cluster

GROUPS = 1_000


def write_segments(folder: Path, records: int, count: int) -> Path:
    """Write segments of one partition."""
    batches = audit_segments.mixed(GROUPS)
    where = folder / "__consumer_offsets-0"
    where.mkdir(parents=True)
    offset = 0
    for number in range(count):
        end = records * (number + 1) // count
        with (where / f"{offset:020}.log").open("wb") as file:
            while offset < end:
                moment, pairs = next(batches)
                file.write(audit_segments.encode_batch(offset, moment, pairs))
                offset += len(pairs)
    return folder


def cpu() -> float:
    """Return the CPU time of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def digest(out: Path) -> str:
    """Return the digest of all results."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()[:12]


def measure(name: str, source: Path, out: Path, options: EngineOptions, *, shows_cpu: bool = True) -> None:
    begun, used = time.monotonic(), cpu()
    with open_engine(options, lambda _line: None, "bench") as engine:
        ready = time.monotonic()
        audit = run_audit(segments_source(source), out, AuditFilter(), engine=engine)
    seconds, computed = time.monotonic() - begun, time.monotonic() - ready
    used = cpu() - used
    counts = audit.records["OffsetCommit"] + audit.records["GroupMetadata"]
    shown = f"{used:7.1f} s of CPU" if shows_cpu else " " * 16
    times = f"{seconds:7.1f} s {computed:7.1f} s without the start {shown}"
    print(f"{name:34} {counts:>11,} records {times} {digest(out)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where the segments are written; the default is temporary")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engine-", dir=given.folder) as name:
        folder = Path(name)
        source = write_segments(folder / "in", given.records, given.segments)
        size = sum(path.stat().st_size for path in source.rglob("*.log"))
        print(f"{size / 1e6:,.0f} MB in {given.segments} segments of one partition", flush=True)
        for count in (1, 2):
            measure(f"{count} process(es)", source, folder / f"p{count}", EngineOptions(PROCESSES, processes=count))
        for cores in (1, 2):
            measure(f"Spark local[{cores}]", source, folder / f"s{cores}", EngineOptions(f"local[{cores}]"))
        with cluster(folder / "cluster") as started:
            options = EngineOptions(started.url)
            measure("a cluster of two workers", source, folder / "c", options, shows_cpu=False)
            loss = Thread(target=lambda: (wait_for_executor(folder / "cluster"), started.lose(1)))
            loss.start()
            measure("the same, one worker killed", source, folder / "k", options, shows_cpu=False)
            loss.join()


def wait_for_executor(folder: Path) -> None:
    """Wait until the second application has executors, and some of its tasks have run."""
    while len([*folder.glob("work/app-*")]) < 2:
        time.sleep(0.1)
    time.sleep(5)


if __name__ == "__main__":
    main()
