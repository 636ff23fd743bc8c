"""A partition that is read in pieces has the rows and the summary of one that is read as a whole."""

import json
import pickle
import sys
from random import Random

import pyarrow.parquet as pq
import pytest

from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.groups.history.tables import AUDIT_TABLES
from streams_assignor.spark_sim.audit import _work, cut_partition
from streams_assignor.spark_sim.audit.cut_partition import ReadPiece, _bucket
from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from streams_assignor.spark_sim.jobs.engine import IN_THIS_PROCESS, open_processes
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from tests.assignor.groups.history.histories import HOUR, NOW, alone, commit, deleted, generation, member
from tests.assignor.groups.history.segments import GZIP, Pair, batch
from tests.assignor.groups.history.test_history import hostile

BUCKETS = 3
EVERYTHING = AuditFilter()


@pytest.fixture
def cut(monkeypatch):
    """Each partition is large; the number of buckets is returned for each that was read in pieces, exact or not."""
    calls = []
    exact = cut_partition.is_exact

    def is_exact(summaries):
        calls.append(exact(summaries))
        return calls[-1]

    monkeypatch.setattr(_work, "is_exact", is_exact)
    monkeypatch.setattr(_work, "buckets_of", lambda _seconds, _all, pieces: BUCKETS if pieces > 1 else 1)
    return calls


def write_segments(folder, number, *segments):
    """Write segments with these pairs, one batch each."""
    where = folder / f"__consumer_offsets-{number}"
    where.mkdir(parents=True)
    base = 0
    for pairs, how in segments:
        (where / f"{base:020}.log").write_bytes(batch(pairs, base, **how))
        base += len(pairs)
    return folder


def results(source, out, engine=IN_THIS_PROCESS, kept=EVERYTHING):
    """The summary, and the rows of each table in an order of their own."""
    run_audit(segments_source(source), out, kept, engine=engine)
    rows = {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in AUDIT_TABLES}
    return (out / "audit.json").read_bytes(), rows


def content(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def whole(monkeypatch, source, out, **how):
    with monkeypatch.context() as patch:
        patch.setattr(_work, "buckets_of", lambda *_: 1)
        return results(source, out, **how)


def life(group, begin):
    """Two generations with commits, and after them a tombstone of an offset."""
    at = begin * HOUR
    yield generation(1, alone(), at=at, group=group)
    yield from (commit(number, at=at + number, group=group) for number in range(3))
    yield generation(2, alone(), member("B"), at=at + 1_000, group=group)
    yield from (commit(number, at=at + 2_000 + number, group=group) for number in range(3, 6))


@pytest.fixture
def groups(tmp_path):
    """Groups that span segments, one of which is compressed."""
    lives = [list(life(f"group-{number}", number)) for number in range(9)]
    mixed = [pair for pairs in zip(*lives, strict=True) for pair in pairs]
    third = len(mixed) // 3
    write_segments(
        tmp_path / "in", 7, (mixed[:third], {}), (mixed[third : 2 * third], {"codec": GZIP}), (mixed[2 * third :], {})
    )
    return write_segments(tmp_path / "in", 8, (list(life("other", 0)), {}))


def test_groups_that_span_pieces_are_joined(groups, tmp_path, monkeypatch, cut):
    expected = whole(monkeypatch, groups, tmp_path / "whole")

    assert expected == results(groups, tmp_path / "cut")
    assert [True] == cut
    assert 10 == len(json.loads(expected[0])["groups"])
    files = {path.name for path in (tmp_path / "cut" / "generations").iterdir()}
    assert files == {*(f"partition-7-{key:02}.parquet" for key in range(BUCKETS)), "partition-8.parquet"}


@pytest.mark.parametrize("kept", [AuditFilter(reads_commits=False), AuditFilter(groups=("group-1", "group-4"))])
def test_filters_are_the_same(groups, tmp_path, monkeypatch, cut, kept):
    expected = whole(monkeypatch, groups, tmp_path / "whole", kept=kept)

    assert expected == results(groups, tmp_path / "cut", kept=kept)
    assert [True] == cut


def test_without_numpy_pieces_are_the_same(groups, tmp_path, monkeypatch, cut):
    expected = whole(monkeypatch, groups, tmp_path / "whole")
    monkeypatch.setitem(sys.modules, "streams_assignor.spark_sim.audit.sources._scanner", None)

    assert expected == results(groups, tmp_path / "cut")
    assert [True] == cut


def test_commits_stay_columns_between_processes(tmp_path):
    """Each was an object of its own, which took three times as long."""
    commits = [commit(number, group=f"group-{number % 9}") for number in range(90)]
    (source,) = segments_source(write_segments(tmp_path, 0, (commits, {}))).partitions
    items = [
        item
        for content in ReadPiece(EVERYTHING, BUCKETS, (0, 1, 2))(source).values()
        for item in pickle.loads(content)[1]
    ]

    assert BUCKETS == len(items)
    assert all(isinstance(item, RecordColumns) for item in items)


TRANSACTION = {"producer": 7, "attributes": 0x10}
MARKER = {"producer": 7, "attributes": 0x30}
COMMITTED = Pair(b"\0\0\0\1", b"\0\0\0\0\0\0")


def test_a_marker_ends_the_transactions_of_every_bucket_and_counts_once(tmp_path, monkeypatch, cut):
    names = [f"group-{number}" for number in range(6)]
    first = [generation(1, alone(), group=name) for name in names]
    commits = [commit(5, group=name) for name in names]
    source = write_segments(tmp_path / "in", 0, (first, {}), (commits, TRANSACTION), ([COMMITTED], MARKER))
    expected = whole(monkeypatch, source, tmp_path / "whole")

    assert expected == results(source, tmp_path / "cut")
    assert [True] == cut
    assert 1 == json.loads(expected[0])["records"]["commit markers"]
    assert 6 == len(expected[1]["commits"])


def test_a_record_that_is_not_decoded_is_reported_as_ever(tmp_path, monkeypatch, cut):
    """Its place among the problems depends on all groups, so the partition is read as a whole."""
    source = write_segments(tmp_path / "x", 0, ([generation(1, alone())], {}), ([Pair(b"\0\x63", b""), commit(0)], {}))
    expected = whole(monkeypatch, source, tmp_path / "whole")

    assert expected == results(source, tmp_path / "cut")
    assert [False] == cut
    assert [path.name for path in (tmp_path / "cut" / "generations").iterdir()] == ["partition-0.parquet"]


def test_a_copied_segment_is_reported_as_ever(tmp_path, monkeypatch, cut):
    source = write_segments(tmp_path / "in", 0, ([generation(1, alone())] * 3, {}), ([commit(0)], {}))
    where = source / "__consumer_offsets-0"
    (where / f"{9:020}.log").write_bytes(batch([commit(1)], 1))
    expected = whole(monkeypatch, source, tmp_path / "whole")

    assert expected == results(source, tmp_path / "cut")
    assert [False] == cut
    assert 1 == json.loads(expected[0])["records"]["out_of_order"]


@pytest.mark.usefixtures("cut")
def test_a_group_that_comes_back_after_many_went_is_as_ever(tmp_path, monkeypatch):
    """How many others are kept depends on all groups."""
    monkeypatch.setattr("streams_assignor.groups.history.history.MOST_GONE", 4)
    monkeypatch.setattr(cut_partition, "MOST_GONE", 4)
    first = [generation(1, alone(), group="back"), deleted("back")]
    others = [
        pair for number in range(6) for pair in (generation(1, alone(), group=f"g{number}"), deleted(f"g{number}"))
    ]
    again = [generation(3, alone(), at=HOUR, group="back")]
    source = write_segments(tmp_path / "in", 0, (first, {}), (others, {}), (again, {}))
    expected = whole(monkeypatch, source, tmp_path / "whole")

    assert expected == results(source, tmp_path / "cut")


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("seed", range(4))
def test_random_records_are_the_same(tmp_path, monkeypatch, seed):
    random = Random(seed)
    segments = [([Pair(*hostile(random), NOW + 5 * number) for _ in range(60)], {}) for number in range(4)]
    source = write_segments(tmp_path / "in", 3, *segments)
    expected = whole(monkeypatch, source, tmp_path / "whole")

    assert expected == results(source, tmp_path / "cut")


def test_records_of_a_group_are_in_one_bucket_whatever_their_type():
    keys = [generation(1, alone(), group="a").key, commit(0, group="a").key]

    assert 1 == len({_bucket(key, 64) for key in keys})
    assert all(0 <= _bucket(key, 3) < 3 for key in (b"", b"\0", b"\0\2\xff\xff", b"\0\2\0\5a"))


@pytest.mark.slow
def test_processes_write_the_same_bytes(groups, tmp_path, cut):
    results(groups, tmp_path / "here")
    with open_processes(2) as engine:
        results(groups, tmp_path / "there", engine)

    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert [True, True] == cut


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("shares_files", [True, False])
def test_spark_writes_the_same_bytes(spark, groups, tmp_path, monkeypatch, cut, shares_files):
    """Also if its workers do not see the folder of the results."""
    results(groups, tmp_path / "here", kept=AuditFilter(finds_bounces=True))
    with on_session(spark) as engine:
        monkeypatch.setattr(type(engine), "shares_files", shares_files)
        results(groups, tmp_path / "there", engine, AuditFilter(finds_bounces=True))

    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert [True, True] == cut
