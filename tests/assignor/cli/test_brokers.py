"""A person types commands about brokers, and reads the answers."""

import json
import re

import pytest
from click.testing import CliRunner

from streams_assignor.cli.replay import replay
from streams_assignor.cli.report import report
from streams_assignor.cli.sweep import sweep
from streams_assignor.spark_sim.brokers.scenario import VERBS
from streams_assignor.spark_sim.sweep.suites import broker_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep

SAFE = "1@3.9.2 level 3.9-IV0 | bounce 1>4.3.1 | finalize 4.3-IV0"
UNSAFE = f"{SAFE} | bounce 1>3.9.2"
PAIR = ["--brokers", "--from", "3.9.2", "--to", "4.3.1", "--members", "1", "--faults", "0"]


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], terminal_width=160)


@pytest.mark.parametrize(("scenario", "status"), [(SAFE, 0), (UNSAFE, 1)])
def test_replay_recognizes_a_cluster_and_says_with_its_status_whether_a_property_is_violated(scenario, status):
    as_text, as_json = run(replay, scenario), run(replay, "--json", scenario)

    assert [status, status] == [as_text.exit_code, as_json.exit_code]
    assert ["safe", "unsafe"][status] == json.loads(as_json.output)["verdict"]
    assert f"{['safe', 'unsafe'][status]}: finalized is metadata.version 30" == as_text.output.splitlines()[-1]


def test_replay_explains_step_by_step():
    lines = run(replay, UNSAFE).output.splitlines()

    assert "1@3.9.2 level 3.9-IV0  a cluster that speaks Kafka 4.x" == lines[2]
    assert "bounce 1>4.3.1  stop 1 and start again as 4.3.1" in lines
    assert any("VIOLATION eventually: every node is in the cluster" in line for line in lines)


@pytest.mark.parametrize(
    ("scenario", "named"),
    [("1@3.9 level 3.9 | fly 1", "got 'fly 1'"), ("1@3.9 level 4.0", "1@3.9 does not support 4.0-IV3")],
)
def test_replay_answers_a_malformed_scenario_with_one_line_and_status_2(scenario, named):
    result = run(replay, scenario)

    assert (2, "") == (result.exit_code, result.stdout)
    assert named in result.stderr
    assert 1 == len(result.stderr.splitlines())


def test_the_help_of_replay_names_every_step_of_a_cluster():
    shown = run(replay, "--help").output

    assert [] == [verb for verb in VERBS if not re.search(rf"\b{verb}\b", shown)]


def test_a_sweep_writes_the_verdicts_and_a_report_shows_them_again(tmp_path):
    swept = run(sweep, *PAIR, "--out", tmp_path / "out")
    reported = run(report, tmp_path / "out")

    assert 0 == swept.exit_code, swept.output
    assert "documented plans: all 21 safe; others: 8 of 27 unsafe" in swept.output
    own = re.compile(r"\d+ of \d+ units|.*without Spark|Results in|Page for the browser")  # how far: on a busy machine
    shown = [[line for line in result.output.splitlines() if not own.match(line)] for result in (swept, reported)]
    assert shown[0] == shown[1]
    assert (tmp_path / "out" / "report.html").exists()
    assert 48 == len(json.loads((tmp_path / "out" / "matrix.json").read_text()))


def test_with_json_the_matrix_is_all_of_standard_output_and_the_status_reports_unsafe_plans(tmp_path):
    arguments = [each if each != "3.9.2" else "4.1" for each in PAIR]
    arguments = [each if each != "4.3.1" else "4.2" for each in arguments]
    swept = run(sweep, *arguments, "--out", tmp_path, "--json")

    assert 1 == swept.exit_code
    assert (tmp_path / "matrix.json").read_text() == swept.stdout
    assert "documented, and yet unsafe: 4.1 to 4.2, kafka-4, nodes 1: lower_and_back" in swept.stderr


def test_a_sweep_of_a_release_that_was_assumed_names_the_assumption_in_every_cell(tmp_path):
    arguments = ["--brokers", "--from", "4.2", "--to", "4.9", "--assume", "4.3", "--members", 1, "--faults", 0]
    swept = run(sweep, *arguments, "--out", tmp_path)

    assert "note: 4.9 is assumed to behave like 4.3" in swept.stderr
    assert "documented plans: all " in swept.stdout
    assert {"4.9~4.3"} == {each["to"] for each in json.loads((tmp_path / "matrix.json").read_text())}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--brokers", "--from", "3.9"], "--from RELEASE and --to RELEASE (and --assume), or neither"),
        ([*PAIR, "--matrix", "kip-268"], "--from RELEASE and --to RELEASE (and --assume), or neither"),
        (["--brokers", "--assume", "4.3"], "--from RELEASE and --to RELEASE (and --assume), or neither"),
        (["--brokers", "--from", "4.2", "--to", "4.9"], "unknown release of brokers '4.9'"),
        (["--brokers", "--from", "4.3", "--to", "3.9"], "expected an upgrade"),
        (["--brokers", "--from", "3.9", "--to", "4.3", "--members", "9"], "expected at most 5 nodes"),
        # These were once ignored without a word.
        ([*PAIR, "--seed", "7"], "no other part of a group"),
        (["--from", "1.1", "--to", "2.0", "--faults", "2"], "--faults belongs to --brokers"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(tmp_path, arguments, named):
    result = run(sweep, *arguments, "--out", tmp_path / "out")

    assert (2, "") == (result.exit_code, result.stdout)
    assert named in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").touch()

    assert 2 == run(sweep, *PAIR, "--out", tmp_path).exit_code
    assert [tmp_path / "notes.txt"] == list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_sweep_over_brokers_has_a_page_with_the_trace_of_each_counterexample(tmp_path):
    """There was none."""
    suite = broker_suite([("3.9", "4.3")], nodes=1, faults=0)
    run_sweep(suite, tmp_path)
    result = run(report, tmp_path, "--html", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    cells = [cell for table in data["tables"] for row in table["rows"] for some in row["cells"] for cell in some]

    assert 0 == result.exit_code
    assert "<title>Broker sweep · streams-assignor</title>" in page
    assert len(suite.cells) == len(cells)
    assert all(data["traces"][cell["trace"]]["steps"] for cell in cells if cell["verdict"] == "unsafe")
    assert {"safe", "unsafe"} <= {cell["verdict"] for cell in cells}


def test_a_sweep_over_groups_does_not_overwrite_one_over_brokers(tmp_path):
    """It did: matrix.json was replaced, and until then showed brokers while the rest showed groups."""
    assert 0 == run(sweep, *PAIR, "--out", tmp_path).exit_code
    before = (tmp_path / "matrix.json").read_text()

    refused = run(sweep, "--from", "1.1", "--to", "2.0", "--master", "processes", "--out", tmp_path)

    assert (2, True) == (refused.exit_code, "holds another sweep" in refused.stderr)
    assert before == (tmp_path / "matrix.json").read_text()


def test_a_cluster_without_a_level_is_an_error_that_names_what_it_lacks():
    """Its line was once taken for one of a group, whose steps are others."""
    result = run(replay, "1@3.9.2 2@3.9.2 | finalize 4.0")

    assert (2, True) == (result.exit_code, "expected nodes and a level" in result.stderr)
