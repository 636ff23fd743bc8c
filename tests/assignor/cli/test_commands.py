"""A person types commands, and gets lines, files and the exit status."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.replay import replay
from streams_assignor.cli.report import report
from streams_assignor.cli.sweep import _upgrades, sweep
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.spark_sim.jobs.engine import EngineError
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.sweep.folder import open_folder
from streams_assignor.spark_sim.sweep.suites import FinishedSweep
from streams_assignor.spark_sim.sweep.tables.rows import UPGRADE_SUITE
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.releases import NEWEST

ROOT = Path(__file__).parents[3]
UNSAFE = "A@1.1.1 B@1.1.1 | bounce fast A>2.0.1"
SAFE = "A@2.0.1 B@2.0.1 | bounce A>simulated-4 B>simulated-4"
WASTEFUL = "A@3.5.1 B@3.5.1 C@3.5.1 | stop C | start C"
SMALL = ["--members", "1", "--master", "processes", "--wait", "--runs", "5"]

PAIR = ["--members", "2", "--master", "processes", "--wait", "--runs", "20"]


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], terminal_width=100)


def only_line(text):
    (line,) = text.splitlines()
    return line


@pytest.mark.parametrize("uri", ["s3://bucket/results", "hdfs:/results", "gs+x://a"])
def test_a_uri_is_no_folder_of_processes(uri, tmp_path, monkeypatch):
    """It became a folder named ``s3:`` in the current one."""
    monkeypatch.chdir(tmp_path)
    result = run(sweep, "--from", "1.1", "--to", "2.0", *SMALL, "--out", uri)

    assert 2 == result.exit_code
    assert f"writes Parquet into a folder of this machine, got {uri}" in only_line(result.output)
    assert [] == list(tmp_path.iterdir())


# -- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "status"), [(UNSAFE, 1), (SAFE, 0)])
def test_replay_says_with_its_status_whether_a_property_is_violated(scenario, status):
    as_text, as_json = run(replay, scenario), run(replay, "--json", scenario)

    assert [status, status] == [as_text.exit_code, as_json.exit_code]
    plain = json.loads(as_json.output)
    assert (["safe", "unsafe"][status], "one schedule of 2") == (plain["verdict"], plain["group_size"])
    lines = as_text.output.splitlines()
    assert lines[0].startswith(f"{['safe', 'unsafe'][status]}: one schedule of 2 members, ")
    assert lines[0] == lines[-1]


@pytest.mark.parametrize(
    "scenario",
    [
        "A@3.9 B@3.9 | bounce A>4.9 B>4.9,upgrade.from=3.9",
        "1@4.2 2@4.2 level 4.2 | bounce 1>4.9 2>4.9",
        "A@4.9 B@4.9 group 4.9 tasks=2 | start A | settle",
    ],
)
def test_replay_may_assume_what_a_newer_release_behaves_like(scenario):
    assert 2 == run(replay, "--summary", scenario).exit_code

    done = run(replay, "--summary", "--assume", "4.3", scenario)
    assert (0, "note: 4.9.0 is assumed to behave like 4.3.1\n") == (done.exit_code, done.stderr)


@pytest.mark.parametrize(
    ("scenario", "taken"),
    [
        ("A@3.9 B@3.9 | bounce A>8.2.1-ccs B>8.2.1-ccs,upgrade.from=3.9", "it is taken for 4.2.0"),
        ("1@cp-7.9 2@cp-7.9 level 3.9 | bounce 1>4.1.x.kraft 2>4.1.x.kraft", "it is taken for 4.1.0"),
        ("A@cp-8.2 B@cp-8.2 group cp-8.2 tasks=2 | start A | settle", "it is taken for 4.2.0"),
    ],
)
def test_replay_takes_a_vendors_release_for_the_first_of_its_line_and_says_so(scenario, taken):
    done = run(replay, "--summary", scenario)

    assert 0 == done.exit_code, done.output
    assert taken in done.stderr


def test_replay_refuses_a_number_of_confluent_platform_even_if_it_may_assume():
    done = run(replay, "--summary", "--assume", "4.3", "A@3.9 B@3.9 | bounce A>8.3 B>8.3")

    assert 2 == done.exit_code
    assert "for Confluent Platform write cp-8.3 (Kafka 4.3)" in done.output


def test_replay_explains_step_by_step():
    lines = run(replay, UNSAFE).output.splitlines()

    assert "A@1.1.1 B@1.1.1  start A and B" == lines[2]
    assert "bounce fast A>2.0.1  restart A as 2.0.1 before the group notices that it was gone" in lines
    assert any("FAILS: TaskAssignmentException" in line for line in lines)
    assert any("VIOLATION always: no member receives a version it cannot read" in line for line in lines)


def test_a_summary_is_the_verdict_alone():
    (line,) = run(replay, "--summary", UNSAFE).output.splitlines()

    assert line.startswith("unsafe: ")


def test_replay_shows_remarks_only_if_it_is_verbose():
    assert "REMARK" not in run(replay, WASTEFUL).output
    assert "REMARK" in run(replay, "-v", WASTEFUL).output


@pytest.mark.parametrize(
    ("scenario", "named"),
    [
        ("", "MEMBER"),
        ("A@2.0 bounce A>2.3", "is there a | missing before 'bounce'?"),
        ("A@2.0 | bounce A>2.3 bounce A>2.4", "is there a | missing before 'bounce'?"),
        ("A@9.9", "unknown release '9.9'"),
        ("A@2.0 | fly A", "'fly A'"),
        ("A@2.0 | bounce A", "bounce A>RELEASE"),
        ("A@2.0,upgrade.from=7", "Invalid value 7 for configuration upgrade.from"),
    ],
)
def test_replay_answers_a_malformed_scenario_with_one_line_and_status_2(scenario, named):
    result = run(replay, scenario)

    assert (2, "") == (result.exit_code, result.stdout)
    assert scenario == "" or named in only_line(result.stderr)


# -- sweep -----------------------------------------------------------------------------------------------------------


def test_a_sweep_writes_the_verdicts_the_rows_and_the_page(tmp_path):
    out = tmp_path / "out"
    result = run(sweep, "--from", "2.0", "--to", "simulated-4", *SMALL, "--out", out)
    matrix = json.loads((out / "matrix.json").read_text())

    assert (
        1 == result.exit_code
    )  # with one member there is no other to probe, and a sweep without a probe shows nothing
    assert "no probe was ever seen" in result.output
    assert ["one_bounce", "two_bounces", "offline"] == [cell["plan"] for cell in matrix]
    assert {"guide.json", "matrix.json", "report.html", "units", *TABLES} == {path.name for path in out.iterdir()}


@pytest.mark.slow
def test_an_undocumented_plan_may_be_unsafe_and_its_example_replays(tmp_path):
    chosen = ["--plan", "one_bounce", *PAIR]
    result = run(sweep, "--from", "1.1", "--to", "2.0", *chosen, "--json", "--out", tmp_path)
    (cell,) = json.loads(result.stdout)

    assert (0, "unsafe", 1) == (result.exit_code, cell["verdict"], run(replay, cell["example"]).exit_code)
    assert cell["example"] in run(report, tmp_path).output


@pytest.mark.slow
@pytest.mark.parametrize(("origin", "target"), [("2.0.1", "2.2.1"), ("2.0.x", "post-2.0")])
def test_a_cell_goes_by_the_names_it_was_asked_for(tmp_path, origin, target):
    chosen = ["--plan", "offline", *PAIR, "--json"]
    (cell,) = json.loads(run(sweep, "--from", origin, "--to", target, *chosen, "--out", tmp_path).stdout)

    assert (origin, target) == (cell["from"], cell["to"])


@pytest.mark.slow
def test_a_single_bounce_whose_upgrade_from_is_never_removed_stays_on_the_old_version(tmp_path):
    chosen = ["--plan", "one_bounce", "--upgrade-from", "1.1", *PAIR, "--json"]
    (cell,) = json.loads(run(sweep, "--from", "1.1", "--to", "2.0", *chosen, "--out", tmp_path).stdout)

    assert ("1.1", "safe", False) == (cell["upgrade_from"], cell["verdict"], cell["documented"])


@pytest.mark.slow
def test_a_cell_says_how_much_was_explored_in_whole_numbers(tmp_path):
    chosen = ["--plan", "offline", *PAIR, "--crashes", "2", "--rebalance-timeouts", "0", "--json"]
    (cell,) = json.loads(run(sweep, "--from", "1.1", "--to", "2.0", *chosen, "--out", tmp_path).stdout)

    assert {"crashes": 2, "rebalance_timeouts": 0, "spurious_joins": 0, "wait_for_quiescence": True} == cell["faults"]
    assert (2, 20) == (cell["members"], cell["runs"])
    assert 0 < cell["states"] < cell["transitions"] < int(cell["schedules"])
    assert round(math.log10(int(cell["schedules"])), 3) == cell["schedules_log10"]


@pytest.mark.slow
def test_a_larger_group_is_sampled_and_says_what_it_costs(tmp_path):
    chosen = ["--plan", "one_bounce", "--members", 14, "--tasks", 30, "--standbys", 1, "--sample", 3]
    result = run(sweep, "--from", "3.8", "--to", "3.9", *chosen, "--master", "processes", "--out", tmp_path)
    (cell,) = json.loads((tmp_path / "matrix.json").read_text())

    assert (14, 3, "safe") == (cell["members"], cell["runs"], cell["verdict"])
    assert 0 < cell["schedule_class_count"] <= 3 < cell["possible_schedule_classes"]
    assert cell["member_bytes"] < cell["group_bytes"]
    assert f"{cell['group_bytes']:,} bytes" in result.output
    assert f"{cell['group_bytes']:,} bytes" in run(report, tmp_path).output


@pytest.mark.slow
def test_a_sweep_to_a_release_that_was_assumed_can_be_reported(tmp_path):
    arguments = ["--from", "3.9", "--to", "4.9", "--plan", "one_bounce", *SMALL, "--out", tmp_path]
    assert 2 == run(sweep, *arguments).exit_code

    swept = run(sweep, *arguments, "--assume", "4.3")
    note = f"4.9 is newer than this version knows ({NEWEST}); it is assumed"
    assert (0, True) == (swept.exit_code, note in swept.stderr)
    assert "4.9.0~4.3.1" in run(report, tmp_path).output


def test_a_sweep_takes_a_vendors_release_for_the_first_of_its_line_and_says_so(capsys):
    found = _upgrades("5.0.0-ccs", "5.2.1-ccs", None, None, None)

    assert {("2.0.0", "2.2.0")} == {(each.origin.name, each.target.name) for each in found}
    assert "note: 5.2.1-ccs can be any release from 2.2.0 to 2.2.2; it is taken for 2.2.0\n" in capsys.readouterr().err


@pytest.mark.parametrize("further", [(), ("--brokers",)])
def test_a_sweep_refuses_a_number_of_confluent_platform_even_if_it_may_assume(further, tmp_path):
    done = run(sweep, *further, "--from", "4.3", "--to", "8.3", "--assume", "4.3", "--out", tmp_path)

    assert (2, True) == (done.exit_code, "for Confluent Platform write cp-8.3 (Kafka 4.3)" in done.stderr)


@pytest.mark.slow
def test_the_guide_of_a_sweep_stands_beside_its_matrix(tmp_path):
    chosen = ["--plan", "two_bounces", *PAIR, "--out", tmp_path]
    assert 0 == run(sweep, "--from", "1.1", "--to", "2.0", *chosen).exit_code
    (entry,) = json.loads((tmp_path / "guide.json").read_text())

    assert (2, ["1.1"], [], None) == (entry["bounces"], entry["upgrade_from"], entry["via"], entry["otherwise"])


@pytest.mark.slow
def test_an_operator_deviation_is_a_column_of_the_matrix(tmp_path):
    chosen = ["--plan", "two_bounces", "--deviations", *PAIR, "--out", tmp_path]
    result = run(sweep, "--from", "1.1", "--to", "2.0", *chosen)
    (cell,) = json.loads((tmp_path / "matrix.json").read_text())
    found = {name: each["verdict"] for name, each in cell["deviations"].items()}

    assert {"interrupted": "safe", "rolled_back": "safe", "mistaken": "unsafe", "never_removed": "safe"} == found
    assert ("safe", 0) == (cell["verdict"], result.exit_code)
    assert cell["deviations"]["mistaken"]["example"] in result.output


def test_a_documented_plan_that_is_unsafe_gives_status_1(tmp_path, monkeypatch):
    def broken(wanted, *_arguments, **_keywords):
        found = [UpgradeResult(upgrade, runs=1, violations=1, example=SAFE) for upgrade in wanted.cells]
        return FinishedSweep(UPGRADE_SUITE, found, ())

    monkeypatch.setattr("streams_assignor.spark_sim.sweep.sweep.run_sweep", broken)
    result = run(sweep, "--from", "2.0", "--to", "simulated-4", "--out", tmp_path)

    assert 1 == result.exit_code
    assert "in Kafka's guide, and yet unsafe: 2.0 to simulated-4" in result.output


WRONG = [
    ([], "--matrix kip-268"),
    (["--from", "1.1"], "--to RELEASE"),
    (["--from", "1.1", "--to", "9"], "unknown release '9'"),
    (["--matrix", "kip-268", "--plan", "offline"], "leave out"),
    (
        ["--from", "1.1", "--to", "2.0", "--upgrade-from", "7"],
        "2.0.1 does not start with upgrade.from=7: ConfigException",
    ),
    (
        ["--from", "3.4", "--to", "3.5.1", "--upgrade-from", "3.4"],
        "3.5.1 does not start with upgrade.from=3.4: Illegal",
    ),
    (["--matrix", "streams", "--members", "2"], "--matrix streams defines what to search for: leave out --members"),
    (["--matrix", "history", "--from", "2.1", "--to", "2.2", "--seed", "1"], "leave out --from, --to, --seed"),
    (["--brokers", "--from", "3.9.2", "--to", "4.3.1", "--crashes", "2"], "with --brokers"),
    (["--from", "1.1", "--to", "2.0", "--faults", "2"], "--crashes and --rebalance-timeouts"),
    (["--from", "1.1", "--to", "2.0", "--deviations", "--sample", "3"], "--deviations are explored"),
]


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=[named for _, named in WRONG])
def test_wrong_usage_of_sweep_is_one_line_and_status_2_and_nothing_is_written(tmp_path, arguments, named):
    result = run(sweep, *arguments, "--out", tmp_path / "out")

    assert 2 == result.exit_code
    assert named in only_line(result.stderr)
    assert not (tmp_path / "out").exists()


def test_a_spark_connect_server_that_is_not_there_is_one_line_and_status_1(tmp_path):
    """PySpark repeated its first request for ten minutes, without a word."""
    one = ("--from", "1.1", "--to", "2.0", "--plan", "offline", "--members", "1", "--runs", "1")
    result = run(sweep, *one, "--remote", "sc://127.0.0.1:1", "--out", tmp_path / "out")

    assert 1 == result.exit_code
    assert "no Spark Connect server answers at sc://127.0.0.1:1: " in only_line(result.stderr)


@pytest.mark.slow
def test_a_folder_with_another_sweep_is_refused_unless_fresh_is_asked_for(tmp_path):
    offline = ["--from", "1.1", "--plan", "offline", *SMALL, "--out", tmp_path]
    assert 0 == run(sweep, *offline, "--to", "2.0").exit_code
    refused = run(sweep, *offline, "--to", "simulated-4")

    assert 2 == refused.exit_code
    assert "holds another sweep" in only_line(refused.stderr)
    assert 0 == run(sweep, *offline, "--to", "simulated-4", "--fresh").exit_code


@pytest.mark.slow
def test_upgrade_from_replaces_the_right_value_of_the_first_bounce(tmp_path):
    chosen = ["--plan", "two_bounces", "--upgrade-from", "0.10.0", *SMALL, "--json"]
    result = run(sweep, "--from", "1.1", "--to", "2.0", *chosen, "--out", tmp_path)

    assert ["0.10.0"] == [cell["upgrade_from"] for cell in json.loads(result.stdout)]


@pytest.mark.slow
def test_upgrade_from_belongs_to_the_members_that_run_now_on_the_way_back(tmp_path):
    """It was refused, as 2.3 does not accept it."""
    chosen = ["--plan", "two_bounces", "--upgrade-from", "2.2", *SMALL, "--json"]
    result = run(sweep, "--from", "3.9", "--to", "2.3", *chosen, "--out", tmp_path)

    assert [("2.2", "safe")] == [(cell["upgrade_from"], cell["verdict"]) for cell in json.loads(result.stdout)]


@pytest.mark.slow
def test_sweep_says_what_it_does_not_see(tmp_path):
    lines = run(
        sweep, "--from", "3.4", "--to", "3.5", "--plan", "offline", *SMALL, "--out", tmp_path
    ).stdout.splitlines()

    assert [
        "not seen by a sweep: the older release cannot read updates of tables in repartition topics (KIP-904): "
        "3.4 to 3.5"
    ] == [line for line in lines if line.startswith("not seen")]


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (EngineError("a worker failed: OutOfMemoryError"), "Error; what is finished is in "),
        (MissingExtraError("pyspark is not installed: pip install 'streams-assignor[spark]'"), "pyspark is not"),
        (OSError(28, "No space left on device"), "No space left"),
    ],
)
def test_what_ends_a_sweep_is_one_line_and_status_1(tmp_path, monkeypatch, error, named):
    def fail(*_arguments, **_keywords):
        raise error

    monkeypatch.setattr("streams_assignor.spark_sim.sweep.sweep.run_sweep", fail)
    result = run(sweep, "--matrix", "kip-268", "--out", tmp_path)

    assert 1 == result.exit_code
    assert named in only_line(result.stderr)


def test_a_sweep_of_which_nothing_is_kept_does_not_say_so(tmp_path, monkeypatch):
    def fail(*_arguments, **_keywords):
        raise EngineError("a worker failed: [Errno 28] No space left on device")

    monkeypatch.setattr("streams_assignor.spark_sim.sweep.sweep.run_sweep", fail)
    result = run(sweep, "--matrix", "kip-268", "--out", tmp_path / "out")

    assert only_line(result.stderr).endswith("No space left on device; nothing is kept")


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_half_written_and_says_how_to_go_on(tmp_path):
    # Slices of one job: the first is soon there, and there are hundreds left.
    script = (
        "from streams_assignor.cli.main import main; from streams_assignor.spark_sim.sweep import work_units; "
        "work_units.COST_OF_A_TASK = 1; main()"
    )
    sweep = ["sweep", "--matrix", "kip-268", "--master", "processes", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *sweep],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not committed_batches(tmp_path):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group of processes
    _, errors = process.communicate(timeout=240)

    assert 130 == process.returncode, errors
    assert "the same command resumes there" in only_line(errors)
    assert ["units"] == [path.name for path in tmp_path.iterdir()]
    assert committed_batches(tmp_path)


def committed_batches(folder):
    return list(folder.glob("units/*/part-*.parquet"))


# -- replay as a page ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "status"),
    [
        ("A@1.1 B@1.1 | bounce A>2.0 B>2.0", 1),
        ("1@3.9 level 3.9 | bounce 1>4.3", 0),
        ("A@4.3.1 group 4.3.1 | start A | settle", 0),
    ],
)
def test_replay_writes_the_trace_as_a_page_and_prints_it_as_before(tmp_path, scenario, status):
    page = tmp_path / "trace.html"
    plain, result = run(replay, scenario), run(replay, scenario, "--html", page)
    data = json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])

    assert (status, plain.stdout) == (result.exit_code, result.stdout)
    assert f"Page for the browser: {page}" in result.stderr
    assert json.loads(run(replay, scenario, "--json").stdout) == json.loads(data["stdout"])
    assert [*data["view"]["steps"][-1]][:1] == ["step"]
    assert [scenario.count("|") + 2] == [len(data["view"]["steps"])]


def test_replay_replaces_its_own_pages_only(tmp_path):
    (tmp_path / "thesis.html").write_text("<title>Thesis</title>")
    refused = run(replay, "A@2.0", "--html", tmp_path / "thesis.html")
    missing = run(replay, "A@2.0", "--html", tmp_path / "none" / "x.html")

    assert 2 == refused.exit_code
    assert "expected no file or an earlier page" in only_line(refused.stderr)
    assert "<title>Thesis</title>" == (tmp_path / "thesis.html").read_text()
    assert f"cannot write {tmp_path / 'none' / 'x.html'}: No such file" in only_line(missing.stderr)
    assert [0, 0] == [run(replay, "A@2.0", "--html", tmp_path / "a.html").exit_code for _ in "ab"]


# -- report ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_report_draws_the_matrix_and_writes_the_page_where_it_is_asked_to(tmp_path):
    assert 0 == run(sweep, "--from", "1.1", "--to", "2.0", "--plan", "offline", *SMALL, "--out", tmp_path).exit_code
    (tmp_path / "report.html").unlink()
    result = run(report, tmp_path, "--html", tmp_path / "page.html")

    assert 0 == result.exit_code
    assert "o✓" in result.output
    assert '["1.1","1.1.1"]' in (tmp_path / "page.html").read_text()
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("form", ["json", pytest.param("yaml", marks=pytest.mark.slow)])
def test_report_prints_the_results_of_the_sweep_as_data_and_writes_nothing(tmp_path, form):
    assert 0 == run(sweep, "--from", "1.1", "--to", "2.0", "--plan", "offline", *SMALL, "--out", tmp_path).exit_code
    (tmp_path / "report.html").unlink()
    result = run(report, tmp_path, "-o", form)
    expected = (tmp_path / "matrix.json").read_text()

    assert 0 == result.exit_code
    assert result.stdout == (expected if form == "json" else to_yaml(json.loads(expected)))
    assert result.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_one_line_that_says_where_else(tmp_path):
    """The line named a draft of ours that was not requested."""
    assert 0 == run(sweep, "--from", "1.1", "--to", "2.0", "--plan", "offline", *SMALL, "--out", tmp_path).exit_code
    page = tmp_path / "matrix.json" / "page.html"
    result = run(report, tmp_path, "--html", page)

    assert 1 == result.exit_code
    assert f"Error: cannot write {page}: Not a directory; `report DIR --html FILE` writes it elsewhere" == only_line(
        result.stderr
    )


@pytest.mark.parametrize("option", ["--html", "--exports"])
def test_the_files_of_a_report_are_of_this_machine(tmp_path, monkeypatch, option):
    """A URI became a folder with the name of its scheme."""
    monkeypatch.chdir(tmp_path)
    result = run(report, tmp_path, option, "s3://bucket/page")

    assert 2 == result.exit_code
    assert f"'{option}': expected a path of this machine, got s3://bucket/page" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_report_replaces_only_files_of_its_own_and_waits_for_no_sweep(tmp_path):
    """It replaced any file with the name of a page or an export, also in the middle of a sweep."""
    out, others = tmp_path / "out", tmp_path / "others"
    assert 0 == run(sweep, "--from", "1.1", "--to", "2.0", "--plan", "offline", *SMALL, "--out", out).exit_code
    others.mkdir()
    (others / "matrix.json").write_text("[[1, 0], [0, 1]]")
    (others / "notes.txt").write_text("mine")
    (tmp_path / "thesis.html").write_text("<title>Thesis</title>")
    into_file = run(report, out, "--html", tmp_path / "thesis.html")
    into_folder = run(report, out, "--exports", others)
    with open_folder(out):
        meanwhile = run(report, out)

    assert [2, 2, 2] == [each.exit_code for each in (into_file, into_folder, meanwhile)]
    assert f"expected no file or an earlier page, got {tmp_path / 'thesis.html'}" in only_line(into_file.stderr)
    assert "has other files, or damaged ones (matrix.json)" in only_line(into_folder.stderr)
    assert "another sweep is writing to" in only_line(meanwhile.stderr)
    assert "<title>Thesis</title>" == (tmp_path / "thesis.html").read_text()
    assert {"matrix.json": "[[1, 0], [0, 1]]", "notes.txt": "mine"} == {
        each.name: each.read_text() for each in others.iterdir()
    }
    (others / "matrix.json").unlink()
    assert 0 == run(report, out, "--exports", others).exit_code
    assert {"matrix.json", "guide.json", "report.html", "notes.txt"} == {each.name for each in others.iterdir()}


def test_report_of_a_folder_without_a_sweep_is_one_line_and_status_2(tmp_path):
    result = run(report, tmp_path)

    assert 2 == result.exit_code
    assert "no sweep was run there" in only_line(result.stderr)
