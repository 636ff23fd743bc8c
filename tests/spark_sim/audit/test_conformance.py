"""``audit --conform``: the rolling bounces of histories, and their comparison with the simulator."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.groups.capture import Capture
from streams_assignor.spark_sim.audit.conformance import (
    CONFORMANCE,
    TOO_LARGE,
    compare_bounce,
    compare_bounces,
    conformance_summary,
)
from streams_assignor.spark_sim.audit.finished_units import FinishedUnits, InFolder
from streams_assignor.spark_sim.conformance import bounces as bounces_module
from streams_assignor.spark_sim.conformance.bounces import MIXED_PAUSE_MS, PAUSE_MS, Bounce, BounceFinder, RecordFile
from streams_assignor.spark_sim.conformance.excerpt import NOTHING_COMPARED
from streams_assignor.spark_sim.jobs.engine import IN_THIS_PROCESS, open_processes
from streams_assignor.spark_sim.sweep.spark.executor import on_session
from tests.spark_sim.audit.captured_records import CAPTURES, SECOND_MS, capture_of, named, value_of, write_segment

UPGRADE = "2.3.1-to-2.4.1-two-bounces"


def found(capture, *, group="app", pauses=None):
    """The bounces of a history; ``pauses``: further milliseconds before the record at an index."""
    with TemporaryDirectory() as folder:
        finder, time, bounces = BounceFinder(group, RecordFile(Path(folder, "records"))), 0, []
        for at, generation in enumerate(capture.generations):
            time += SECOND_MS + (pauses or {}).get(at, 0)
            bounces.append(finder.on_group_metadata(time, value_of(generation)))
        bounces.append(finder.close())
        finder.file.close()
        return [each.loaded() for each in bounces if each]


def run(*arguments):
    return CliRunner().invoke(cli, ["audit", "--processes", "1", "--conform", *map(str, arguments)])


def swapped(capture, at):
    """The capture with the subscriptions of two members swapped in a generation."""
    generation = capture.generations[at]
    one, other, *more = generation.members
    members = (evolve(one, subscription=other.subscription), evolve(other, subscription=one.subscription), *more)
    records = list(capture.generations)
    records[at] = evolve(generation, members=members)
    return evolve(capture, generations=tuple(records))


# -- finding bounces -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_bounce_of_a_real_group_conforms(path):
    bounces = found(capture_of(path))

    assert bounces
    rows = list(map(compare_bounce, bounces))
    assert [(True, "")] * len(rows) == [(row["conforms"], row["reason"]) for row in rows]
    assert all(row["subscriptions"] and row["assignments"] for row in rows)


def test_a_start_and_a_failure_are_no_bounce():
    capture = named("2.3.1-to-2.4.1-two-bounces")
    start = next(
        at
        for at, each in enumerate(capture.generations)
        if not {m.member_id for m in capture.generations[at].members}
        <= {m.member_id for m in capture.generations[at + 1].members}
    )
    records = capture.generations[: start + 1]
    survivor = evolve(records[-1], number=records[-1].number + 1, members=records[-1].members[:1])

    assert found(evolve(capture, generations=records)) == []
    assert found(evolve(capture, generations=(*records, survivor))) == []


def test_a_bounce_ends_when_its_group_is_empty_or_another(tmp_path):
    capture = named("2.0.1-to-2.3.1")
    for value in (None, {"members": [], "protocol": None}, {"members": [1], "protocol": "range"}):
        finder = BounceFinder("app", RecordFile(tmp_path / "records"))
        for generation in capture.generations:
            assert finder.on_group_metadata(0, value_of(generation)) is None
        ended = finder.on_group_metadata(1, value)
        assert (ended.group, ended.last_generation) == ("app", capture.generations[-1].number)
        assert finder.close() is None


def test_two_bounces_are_two():
    bounces = found(named(UPGRADE))

    assert len(bounces) == 2
    assert bounces[0].last_generation == bounces[1].first_generation


def test_the_releases_are_those_of_the_bytes():
    (bounce,) = found(named("2.0.1-to-2.3.1"))

    assert ("2.0.0 to 2.0.1", "2.1.0 to 2.3.1") == (bounce.from_releases, bounce.to_releases)


def test_a_pause_ends_a_bounce_unless_versions_are_mixed():
    capture = named("2.0.1-to-2.3.1")
    (whole,) = found(capture)
    first = next(at for at, each in enumerate(capture.generations) if len(bounces_module._versions(each)) > 1)

    assert found(capture, pauses={first + 1: PAUSE_MS}) == [evolve(whole, until_time=whole.until_time + PAUSE_MS)]
    assert len(found(capture, pauses={first + 1: MIXED_PAUSE_MS})) == 2
    assert found(capture, pauses={len(capture.generations) - 1: 0}) == [whole]


def test_a_bounce_with_too_many_joins_is_not_compared(monkeypatch):
    monkeypatch.setattr(bounces_module, "MOST_JOINS", 8)
    (bounce,) = found(named("2.0.1-to-2.3.1"))
    row = compare_bounce(bounce)

    assert bounce.capture is None
    assert (row["conforms"], row["reason"]) == (None, TOO_LARGE)


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_table_and_counts(tmp_path):
    segments = write_segment(tmp_path / "in", 0, **{path.stem: capture_of(path) for path in CAPTURES[:3]})
    result = run("--segments", segments, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out/audit.json").read_text())["conformance"]
    rows = pq.read_table(tmp_path / "out/conformance").to_pylist()

    assert result.exit_code == 0, result.output
    assert f"{len(rows)} rolling bounces; {len(rows)} comparable (100%); 0 differ" in result.output
    assert (summary["bounces"], summary["comparable_share"], summary["not_comparable"]) == (len(rows), 1, {})
    assert list(rows[0]) == [column.name for column in CONFORMANCE.columns]


def test_a_changed_history_differs_at_that_generation(tmp_path):
    capture = swapped(named("2.0.1-to-2.3.1"), 6)
    segments = write_segment(tmp_path / "in", 0, app=capture)
    result = run("--segments", segments, "--out", tmp_path / "out")
    (row,) = pq.read_table(tmp_path / "out/conformance").to_pylist()
    summary = json.loads((tmp_path / "out/audit.json").read_text())["conformance"]

    assert (result.exit_code, row["conforms"]) == (1, False)
    assert row["differs_in"] == capture.generations[6].number
    assert f"1 differ, the first in generation {row['differs_in']} of app" in result.output
    assert f"{row['fact']}: expected {row['expected']}, observed {row['observed']}" in result.output
    assert summary["first_difference"]["differs_in"] == row["differs_in"]


def test_a_later_audit_without_conform_removes_the_table(tmp_path):
    segments = write_segment(tmp_path / "in", 0, app=named(UPGRADE))
    for arguments in (["--conform"], []):
        result = CliRunner().invoke(
            cli, ["audit", "--processes", "1", "--segments", str(segments), "--out", str(tmp_path / "out"), *arguments]
        )
        assert result.exit_code == 0, result.output
        assert (tmp_path / "out/conformance").exists() == bool(arguments)
    assert "conformance" not in json.loads((tmp_path / "out/audit.json").read_text())


def test_groups_and_times_select_bounces(tmp_path):
    segments = write_segment(tmp_path / "in", 0, one=named(UPGRADE), other=named(UPGRADE))

    def bounces(*arguments):
        result = run("--segments", segments, "--out", tmp_path / "out", "--json", *arguments)
        return json.loads(result.stdout)["conformance"]["bounces"]

    assert [
        bounces(),
        bounces("--group", "one"),
        bounces("--until", "2001-01-01"),
        bounces("--since", "2101-01-01"),
    ] == [
        4,
        2,
        0,
        0,
    ]


def test_no_bounce_is_no_share(tmp_path):
    segments = write_segment(tmp_path / "in", 0, app=evolve(named(UPGRADE), generations=named(UPGRADE).generations[:2]))
    result = run("--segments", segments, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert "0 rolling bounces; 0 comparable; 0 differ" in result.output


def test_what_cannot_be_compared_has_a_reason():
    unreadable = [
        evolve(each, members=tuple(evolve(member, subscription=b"?") for member in each.members))
        for each in named(UPGRADE).generations
    ]
    bounce = Bounce(
        group="app",
        first_generation=1,
        last_generation=2,
        from_time=0,
        until_time=1,
        from_releases="",
        to_releases="",
        joins=0,
        capture=Capture(generations=tuple(unreadable)),
    )
    row = compare_bounce(bounce)

    assert (row["conforms"], row["reason"], row["differs_in"]) == (None, NOTHING_COMPARED, None)
    assert conformance_summary([row])["not_comparable"] == {NOTHING_COMPARED: 1}


def test_follow_does_not_compare(tmp_path):
    result = run("--follow", "--bootstrap-servers", "localhost:1", "--out", tmp_path)

    assert (result.exit_code, "--conform" in result.output) == (2, True)


def compared(out, engine, bounces):
    out.mkdir()
    units = FinishedUnits(out, InFolder(out))
    return compare_bounces(engine, units, dict(zip(map(str, range(len(bounces))), bounces, strict=True)), out)


# -- workers ---------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    def test_processes_and_spark_find_the_same(self, spark, tmp_path):
        bounces = [bounce for path in CAPTURES[:4] for bounce in found(swapped(capture_of(path), 3), group=path.stem)]
        rows = compared(tmp_path / "here", IN_THIS_PROCESS, bounces)

        assert rows
        with open_processes(2) as processes, on_session(spark) as on_spark:
            assert rows == compared(tmp_path / "processes", processes, bounces)
            assert rows == compared(tmp_path / "spark", on_spark, bounces)
            assert compared(tmp_path / "none", on_spark, []) == []
