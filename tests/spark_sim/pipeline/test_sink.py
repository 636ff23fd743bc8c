"""The folder of a sweep: whole or absent, ours or left alone, gone on with or refused."""

import json

import pytest
from attrs import evolve

from spark_sim.packed import FaultBudget
from spark_sim.pipeline.equivalence import merge_results
from spark_sim.pipeline.sink import open_sink, write_atomically
from spark_sim.pipeline.suites import ResultFolderError, upgrade_suite
from spark_sim.pipeline.work_units import Partition, PartitionResult, SweepConfig
from spark_sim.search.cell_result import UpgradeResult
from upgrade import Plan, Upgrade, release_named

UPGRADES = tuple(Upgrade(release_named("1.1"), release_named("2.0"), plan) for plan in (Plan.ONE_BOUNCE, Plan.OFFLINE))
EXTENT = SweepConfig(members=1)
SWEEP = upgrade_suite("two", UPGRADES, EXTENT)
WORK = [Partition(f"{place}-{job.key}", (job,)) for place, job in enumerate(EXTENT.units(UPGRADES))]


def result_of(work, **counts):
    (job,) = work.units
    return PartitionResult(work.key, (UpgradeResult(job.cell, **{"runs": 3, **counts}),), f"digest of {work.key}")


def store(results, *which):
    for work in which:
        file = results.staging / f"{work.key}.jsonl"
        file.write_text(f"rows of {work.key}")
        results.commit([(result_of(work), file)])


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_finished_sweep_leaves_rows_manifest_and_matrix_and_nothing_else(tmp_path):
    with open_sink(tmp_path / "new", SWEEP, WORK, "jsonl") as results:
        store(results, *WORK)
        results.write_final()
    rows = [f"runs/{work.key}.jsonl" for work in WORK]

    assert sorted(["guide.json", "manifest.json", "matrix.json", *rows]) == files(tmp_path / "new")
    assert ["one_bounce", "offline"] == [
        each["plan"] for each in json.loads((tmp_path / "new/matrix.json").read_text())
    ]


def test_a_sweep_that_was_stopped_goes_on_with_the_blocks_that_are_missing(tmp_path):
    def stop_after_one():
        with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
            store(results, WORK[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_after_one()

    assert not (tmp_path / "matrix.json").exists()
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        assert WORK[1:] == results.pending()
        store(results, *WORK[1:])
        assert [3, 3] == [each.runs for each in results.write_final()]


def test_rows_that_a_worker_wrote_elsewhere_end_a_sweep_with_what_to_do(tmp_path):
    with open_sink(tmp_path, SWEEP, WORK, "parquet") as results:
        nowhere = results.staging / "part-00000.parquet"
        with pytest.raises(ResultFolderError, match="share"):
            results.commit([(result_of(WORK[0]), nowhere)])
        assert {} == results.committed


def test_what_is_stored_twice_is_stored_once(tmp_path):
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        store(results, WORK[0])
        before = (tmp_path / "manifest.json").read_bytes()
        results.commit([(result_of(WORK[0], runs=99), results.staging / "gone")])

        assert before == (tmp_path / "manifest.json").read_bytes()


def test_rows_that_the_manifest_does_not_name_are_removed_when_it_goes_on(tmp_path):
    """A kill between moving a block's rows and naming them in the manifest."""
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        store(results, WORK[0])
    (tmp_path / f"runs/{WORK[1].key}.jsonl").write_text("rows")
    (tmp_path / ".unfinished").mkdir()  # and one before that
    (tmp_path / ".unfinished/half").write_text("ro")

    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        assert ["manifest.json", f"runs/{WORK[0].key}.jsonl"] == files(tmp_path)
        assert WORK[1:] == results.pending()


def test_the_digest_does_not_depend_on_the_order_in_which_blocks_finish(tmp_path):
    digests = []
    for name, order in (("there", WORK), ("back", WORK[::-1])):
        with open_sink(tmp_path / name, SWEEP, WORK, "jsonl") as results:
            store(results, *order)
            digests.append(results.digest())

    assert digests[0] == digests[1]
    with open_sink(tmp_path / "less", SWEEP, WORK, "jsonl") as results:
        store(results, WORK[0])
        assert results.digest() != digests[0]


@pytest.mark.parametrize(
    ("other", "storage", "named"),
    [
        (upgrade_suite("two", UPGRADES, evolve(EXTENT, seed=1)), "jsonl", "seed 0 and not 1"),
        (upgrade_suite("two", UPGRADES, evolve(EXTENT, members=2)), "jsonl", "members 1 and not 2"),
        (upgrade_suite("two", UPGRADES, evolve(EXTENT, faults=FaultBudget(2))), "jsonl", "faults .* and not"),
        (evolve(SWEEP, name="three"), "jsonl", "sweep two and not three"),
        (SWEEP, "parquet", "storage jsonl and not parquet"),
    ],
)
def test_another_sweep_is_refused_and_says_what_differs(tmp_path, other, storage, named):
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        store(results, WORK[0])
    before = files(tmp_path)

    with pytest.raises(ResultFolderError, match=named), open_sink(tmp_path, other, WORK, storage):
        pass
    assert before == files(tmp_path)


def test_other_work_is_refused_though_all_else_is_equal(tmp_path):
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        store(results, WORK[0])

    with pytest.raises(ResultFolderError, match="slices"), open_sink(tmp_path, SWEEP, WORK[:1], "jsonl"):
        pass


def test_fresh_throws_the_earlier_sweep_away(tmp_path):
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        store(results, *WORK)
        results.write_final()

    with open_sink(tmp_path, evolve(SWEEP, name="other"), WORK, "jsonl", fresh=True) as results:
        assert WORK == results.pending()
        assert [] == files(tmp_path)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_folder_with_something_else_is_left_alone_even_if_fresh_is_asked_for(tmp_path, fresh):
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(ResultFolderError, match="thesis"), open_sink(tmp_path, SWEEP, WORK, "jsonl", fresh=fresh):
        pass
    assert ["thesis.tex"] == files(tmp_path)


def test_two_sweeps_cannot_write_to_one_folder_at_the_same_time(tmp_path):
    with (
        open_sink(tmp_path, SWEEP, WORK, "jsonl"),
        pytest.raises(ResultFolderError, match="another sweep is writing"),
        open_sink(tmp_path, SWEEP, WORK, "jsonl"),
    ):
        pass


def test_a_sweep_that_did_not_begin_leaves_no_folder(tmp_path):
    with pytest.raises(KeyboardInterrupt), open_sink(tmp_path / "new", SWEEP, WORK, "jsonl"):
        raise KeyboardInterrupt

    assert [] == list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_or_the_manifest_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ResultFolderError, match="is a file"), open_sink(tmp_path / "file", SWEEP, WORK, "jsonl"):
        pass
    with (
        pytest.raises(ResultFolderError, match="cannot write"),
        open_sink(tmp_path / "file/below", SWEEP, WORK, "jsonl"),
    ):
        pass
    (tmp_path / "file").unlink()
    for manifest in ("{", "{}", "[]", '{"parameters": 1}'):
        (tmp_path / "manifest.json").write_text(manifest)
        with pytest.raises(ResultFolderError, match="not a manifest"), open_sink(tmp_path, SWEEP, WORK, "jsonl"):
            pass


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    (tmp_path / "page").write_text("old")

    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "page", "new \udc80")

    assert [("page", "old")] == [(path.name, path.read_text()) for path in tmp_path.iterdir()]


def test_a_slice_without_rows_is_done_too(tmp_path):
    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        results.commit([(result_of(WORK[0]), None)])

    with open_sink(tmp_path, SWEEP, WORK, "jsonl") as results:
        assert WORK[1:] == results.pending()


def test_upgrades_that_behave_alike_share_a_result_under_their_own_names():
    twin = Upgrade(release_named("0.11.0.3"), release_named("2.0.0"), Plan.ONE_BOUNCE)
    example = "A@1.1.1 B@1.1.1 | bounce A>2.0.1"
    found = UpgradeResult(UPGRADES[0], runs=1, violations=1, example=example, violated="x")

    (theirs, nobodys) = merge_results([twin, UPGRADES[1]], [found])

    assert "A@0.11.0.3 B@0.11.0.3 | bounce A>2.0.0" == theirs.example
    assert 0 == nobodys.runs
