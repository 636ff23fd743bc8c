"""The page asks Python: the answers are those of the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli import in_browser
from streams_assignor.cli.in_browser import answer
from streams_assignor.cli.main import cli
from streams_assignor.groups.history import _compression
from tests.assignor.groups.history.histories import alone, generation
from tests.assignor.groups.history.segments import GZIP, LZ4, batch

AUDIT = Path(__file__).parents[2] / "spark_sim" / "audit"


def asked(call, *arguments, folder="."):
    return json.loads(answer(json.dumps({"call": call, "arguments": arguments}), str(folder)))


@pytest.mark.parametrize(
    "arguments",
    [("release", "2.8"), ("release", "9.9"), ("userdata", "explain", "00"), ("no-such-command",), ("plan",)],
)
def test_a_command_prints_what_it_prints_elsewhere(arguments):
    found, expected = asked("run", arguments), CliRunner().invoke(cli, arguments)

    assert (expected.exit_code, expected.stdout) == (found["status"], found["stdout"])
    assert bool(expected.stderr) == bool(found["stderr"])


def test_an_error_is_the_sentence_of_the_command_line():
    found = asked("plan", ["2.8", "nonsense"])

    assert (2, "") == (found["status"], found["stdout"])
    assert found["stderr"].startswith("Error: unknown release 'nonsense'")
    assert "runbook" not in found


def test_a_plan_has_its_json_and_its_runbook(tmp_path):
    (tmp_path / "a.properties").write_text("processing.guarantee=exactly_once\n")
    found = asked("plan", ["--config", "./a.properties", "--", "2.8", "4.3"], folder=tmp_path)

    assert 1 == found["status"]
    assert "unsafe" == json.loads(found["stdout"])["verdict"]
    assert "a.properties" == json.loads(found["stdout"])["configuration"]["file"]
    assert found["runbook"].startswith("# Upgrade from 2.8.2 to 4.3.1\n\n2.8.2 to 4.3.1: unsafe: ")


def test_a_plan_needs_no_library_that_the_page_lacks():
    """An import of rich at the top of a module of the plan was seen only by the nightly run."""
    code = "import sys; sys.modules['rich'] = None; from streams_assignor.cli.in_browser import plan; "
    code += "sys.exit(plan(['2.8', '4.3'])['status'])"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


def test_a_call_leaves_arguments_folder_and_streams_as_they_were(tmp_path):
    before = sys.argv, sys.stdout, sys.stderr, Path.cwd()
    asked("run", ["plan", "2.8"], folder=tmp_path)

    assert before == (sys.argv, sys.stdout, sys.stderr, Path.cwd())


def test_a_replay_has_the_drawing_of_the_report():
    found = asked("replay", "A@2.0 B@2.0 | bounce A>2.3 B>2.3")
    trace = json.loads(found["stdout"])

    assert ["A", "B"] == found["view"]["lanes"]
    assert [step["step"] for step in trace["steps"]] == [step["step"] for step in found["view"]["steps"]]
    titles = [row["title"] for step in found["view"]["steps"] for row in step["rows"]]
    assert f"generation {trace['generations']}" == titles[-1]


def test_a_scenario_that_begins_with_a_dash_is_no_option():
    assert asked("replay", "--help")["stdout"] == ""


def test_a_row_of_the_matrix_has_the_verdicts_of_plan():
    names = asked("releases")
    row = asked("matrix_row", "2.8.2", ["2.8.2", "4.3.1", "0.11.0.0"])

    assert ("0.10.0.0", "2.8.2") == (names[0], "2.8.2" if "2.8.2" in names else "")
    assert row[0] is None
    assert [("safe-if", "two_bounces"), ("safe", "offline")] == [(each["verdict"], each["plan"]) for each in row[1:]]


def test_an_audit_has_the_groups_of_audit_json(tmp_path):
    pytest.importorskip("pyarrow")
    source = AUDIT / "segments"
    found = json.loads(asked("audit", folder=source)["stdout"])
    CliRunner().invoke(cli, ["audit", "--processes", "1", "--segments", str(source), "--out", str(tmp_path / "out")])
    expected = json.loads((tmp_path / "out" / "audit.json").read_text())

    assert expected["groups"] == found["groups"]
    same = ("schema", "version", "complete", "checksums", "from_time", "until_time", "records", "problems", "rows")
    assert [expected[name] for name in same] == [found[name] for name in same]


def test_the_folders_above_the_partitions_may_be_dropped_too(tmp_path):
    place = tmp_path / "backup" / "broker-1" / "__consumer_offsets-7"
    place.mkdir(parents=True)
    (place / f"{0:020}.log").write_bytes(batch([generation(1, alone(), group="g")], codec=GZIP))
    seen = []
    found = json.loads(
        json.loads(answer('{"call": "audit"}', str(tmp_path), lambda *each: seen.append(each)))["stdout"]
    )

    assert ["g"] == [each["group"] for each in found["groups"]]
    assert seen[-1][0] == seen[-1][1] > 0


def test_a_dump_is_one_file(tmp_path):
    pair = generation(1, alone(), group="g")
    line = {"partition": 0, "offset": 1, "timestamp": 5, "key": pair.key.hex(), "value": pair.value.hex()}
    (tmp_path / "dump.json").write_text(json.dumps(line))

    assert ["g"] == [each["group"] for each in json.loads(asked("audit", folder=tmp_path)["stdout"])["groups"]]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("0.log", "expected __consumer_offsets-N folders with .log files, found none in ."),
        ("dump.json", "expected records at dump.json, got none"),
    ],
)
def test_a_source_without_records_is_one_line(tmp_path, name, error):
    (tmp_path / name).touch()
    found = asked("audit", folder=tmp_path)

    assert {"status": 2, "stdout": "", "stderr": f"Error: {error}\n"} == found


def test_what_python_cannot_decompress_is_named(tmp_path, monkeypatch):
    def fails(*_):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setitem(_compression._CODECS, LZ4, ("lz4", fails))
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    (place / f"{0:020}.log").write_bytes(batch([generation(1, alone(), group="g")], codec=LZ4))

    assert "that need pyarrow: streams-assignor audit reads them" in asked("audit", folder=tmp_path)["stderr"]


def test_the_last_rebalances_are_kept(tmp_path, monkeypatch):
    from streams_assignor.spark_sim.audit import in_memory

    monkeypatch.setattr(in_memory, "MOST_REBALANCES", 2)
    monkeypatch.setattr(in_memory, "MOST_ROWS", 2)
    monkeypatch.setattr(in_memory, "MOST_GROUPS", 2)
    place = tmp_path / "__consumer_offsets-0"
    place.mkdir()
    pairs = [generation(number, alone(), group=group) for group in "abc" for number in (1, 2, 3)]
    (place / f"{0:020}.log").write_bytes(batch(pairs))
    found = json.loads(asked("audit", folder=tmp_path)["stdout"])

    assert (["a", "b"], 1) == ([each["group"] for each in found["groups"]], found["further_groups"])
    assert {"a": [2, 3]} == {name: [row["generation"] for row in rows] for name, rows in found["rebalances"].items()}
    assert 6 == found["further_rebalances"]


def test_a_plan_without_a_group_imports_nothing_about_groups():
    code = (
        "import sys; from streams_assignor.cli.in_browser import plan; plan(['2.8', '4.3'])\n"
        "print([name for name in sys.modules if name.startswith(('streams_assignor.groups', 'spark_sim'))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(in_browser.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)

    assert "[]" == done.stdout.strip(), done.stderr


def test_the_pages_import_neither_rich_nor_pyarrow():
    code = (
        "import sys; from streams_assignor.cli.in_browser import plan, replay, run, audit\n"
        "plan(['2.8', '4.3']); replay('A@2.0 | bounce A>2.3'); run(['userdata', 'explain', '00'])\n"
        f"audit({str(AUDIT / 'segments')!r})\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'rich', 'pyarrow', 'kafka'}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(in_browser.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)

    assert "" == done.stdout.strip(), done.stderr
