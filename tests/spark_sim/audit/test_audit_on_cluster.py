"""An audit of a large partition on a cluster of three workers writes the bytes of processes, also if one is lost."""

from threading import Event, Thread

import pytest

from streams_assignor.spark_sim.audit import _work
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.jobs.engine import open_processes
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from tests.lab.bench.bench_engine import write_segments
from tests.spark_sim.sweep.spark_cluster import cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

RECORDS, SEGMENTS, BUCKETS = 24_000, 24, 3


@pytest.fixture(autouse=True)
def cuts(monkeypatch):
    """The partition is large; returned is whether the pieces of each audit were exact."""
    calls, exact = [], _work.is_exact

    def is_exact(summaries):
        calls.append(exact(summaries))
        return calls[-1]

    monkeypatch.setattr(_work, "is_exact", is_exact)
    monkeypatch.setattr(_work, "buckets_of", lambda *_, **__: BUCKETS)
    return calls


def audit(source, out, engine):
    run_audit(segments_source(source), out, AuditFilter(finds_bounces=True), engine=engine)
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def lose_one_in_the_middle(spark, started, is_over, lost):
    """Kill a worker as soon as a stage has some of its tasks finished; say how many were, and of how many."""
    tracker = spark.sparkContext.statusTracker()
    while not lost and not is_over.wait(0.02):
        for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
            if not lost and 2 <= stage.numCompletedTasks < stage.numTasks:
                lost.append((stage.numCompletedTasks, stage.numTasks))
                started.lose(1)


def test_a_cluster_writes_the_bytes_of_processes_and_a_worker_that_is_lost_changes_nothing(tmp_path, cuts):
    """Both in one session, as a cluster takes its time to start."""
    source = write_segments(tmp_path / "in", RECORDS, SEGMENTS)
    with open_processes(2) as engine:
        expected = audit(source, tmp_path / "processes", engine)
    is_over, lost = Event(), list[tuple[int, int]]()
    with (
        cluster(tmp_path / "cluster", workers=3) as started,
        spark_session(started.url, print) as spark,
        on_session(spark) as engine,
    ):
        whole = audit(source, tmp_path / "whole", engine)
        loss = Thread(target=lose_one_in_the_middle, args=(spark, started, is_over, lost))
        loss.start()
        try:
            lossy = audit(source, tmp_path / "lossy", engine)
        finally:
            is_over.set()
            loss.join()

    assert expected == whole
    assert expected == lossy
    assert [True, True, True] == cuts
    assert 0 < lost[0][0] < lost[0][1]
    assert BUCKETS == sum(name.startswith("commits/") for name in expected)
