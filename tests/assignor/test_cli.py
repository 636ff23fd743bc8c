"""The commands that need no cluster: output, exit status, one clear line for each mistake."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignor.cli import COMMANDS, cli

ROWS = [json.loads(line) for line in (Path(__file__).parent.parent / "vectors/codec.jsonl").open()]
FUTURE = {"kind": "subscription", "hex": "0000000900000009"}


def run(*arguments, stdin=""):
    return CliRunner().invoke(cli, arguments, input=stdin)


def lines(objects):
    return "".join(json.dumps(each) + "\n" for each in objects)


def results(result):
    return [json.loads(line) for line in result.output.splitlines()]


def test_help_lists_every_command():
    result = run("--help")

    assert 0 == result.exit_code
    assert all(name in result.output for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name):
    result = run(name, "--help")

    assert 0 == result.exit_code
    assert "Example" in result.output


def test_an_unknown_command_is_a_usage_error():
    assert 2 == run("sweeep").exit_code


def test_decode_and_encode_are_inverse_on_the_rows_of_the_jars():
    rows = [row for row in ROWS if "fields" in row and row["version"] <= 3]
    decoded = results(run("userdata", "decode", "--jsonl", stdin=lines(rows)))
    encoded = results(
        run(
            "userdata",
            "encode",
            "--jsonl",
            stdin=lines(row | {"fields": d["fields"]} for row, d in zip(rows, decoded, strict=True)),
        )
    )

    assert [{"version": row["version"], "fields": row["fields"]} for row in rows] == decoded
    assert [{"hex": row["hex"]} for row in rows] == encoded


def test_decode_takes_bare_hex_with_a_kind():
    result = run("userdata", "decode", "--kind", "assignment", stdin="0000 0001 00000000 00000000\n\n")

    assert [{"version": 1, "fields": {"version": 1, "activeTasks": [], "standbyTasks": []}}] == results(result)


def test_a_version_from_the_future_is_said_to_be_one():
    assert [{"version": 9, "latestSupportedVersion": 9, "future": True}] == results(
        run("userdata", "decode", stdin=lines([FUTURE]))
    )


def test_the_supported_version_can_be_chosen():
    blob = "00000004" * 2 + "00" * 28

    assert "future" in run("userdata", "decode", "--kind", "subscription", stdin=blob).output
    assert "fields" in run("userdata", "decode", "--kind", "subscription", "--supported", "4", stdin=blob).output


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ({"kind": "subscription", "hex": "00000001"}, {"error": "Truncated", "offset": 4, "field": "process_id"}),
        ({"kind": "assignment", "hex": "00000004"}, {"error": "FutureVersion", "offset": 0}),
        ({"kind": "assignment", "hex": "xyz"}, {"error": "BadLine"}),
        ({"kind": "assignment"}, {"error": "BadLine"}),
        ({"kind": "nonsense", "hex": ""}, {"error": "BadLine"}),
        ([], {"error": "BadLine"}),
    ],
)
def test_a_refused_line_is_an_error_in_its_place(line, error):
    first, second = results(run("userdata", "decode", "--jsonl", stdin=lines([line, FUTURE])))

    assert error.items() <= first.items()
    assert first["message"]
    assert second["future"]


def test_a_refused_line_fails_the_command_unless_it_is_read_by_a_program():
    assert 1 == run("userdata", "decode", "--kind", "assignment", stdin="00").exit_code
    assert 0 == run("userdata", "decode", "--kind", "assignment", "--jsonl", stdin="00").exit_code


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '{"kind": "assignment"}', '{"kind": "x", "fields": {}}', '{"kind": "assignment", "fields": {}}'],
)
def test_encode_refuses_what_is_no_record(line):
    (result,) = results(run("userdata", "encode", "--jsonl", stdin=line))

    assert result["error"] in {"BadLine", "EncodeError"}


def test_explain_shows_offset_bytes_field_and_value():
    result = run("userdata", "explain", "--kind", "assignment", "0000000100000001000000000000000300000000")
    rows = [re.split(r"\s{2,}", line.strip()) for line in result.output.splitlines()]

    assert 0 == result.exit_code
    assert ["8", "00 00 00 00 00 00 00 03", "activeTasks[0]", "0_3"] in rows


def test_explain_shows_what_is_wrong_and_where():
    result = run("userdata", "explain", "--kind", "assignment", "00000001000000ff")

    assert 1 == result.exit_code
    assert "activeTasks at offset 4: 255 items of 8 bytes or more, but 0 bytes are left" in result.output


def test_explain_does_not_let_a_blob_play_with_the_terminal():
    hostile = "\x1b[2J\x07"
    blob = "00000002" + "00" * 24 + f"{len(hostile):08x}" + hostile.encode().hex()

    assert "\x1b" not in run("userdata", "explain", "--kind", "subscription", blob).output


def test_explain_needs_to_know_the_kind():
    result = run("userdata", "explain", "00")

    assert 2 == result.exit_code
    assert "expected kind subscription or assignment" in result.output


def test_plan_prints_the_steps_in_order():
    output = run("plan", "1.1", "2.0").output

    assert output.index("1. bounce every member to 2.0.1 with upgrade.from") < output.index("2. remove upgrade.from")


def test_plan_knows_the_way_with_everything_stopped():
    assert "(--offline)" in run("plan", "1.1", "2.0").output
    assert "1. stop every member of 1.1.1" in run("plan", "1.1", "2.0", "--offline").output


def test_plan_as_json_names_the_plan_and_the_config():
    plan = json.loads(run("plan", "0.10.0", "2.0", "--json").output)

    assert ("two_bounces", "0.10.0", 2) == (plan["plan"], plan["upgrade_from"], len(plan["steps"]))


@pytest.mark.parametrize("arguments", [("plan", "1.1", "9.9"), ("plan", "2.0", "2.0.1"), ("plan", "1.1")])
def test_a_mistake_in_plan_is_one_clear_line(arguments):
    result = run(*arguments)

    assert 2 == result.exit_code
    assert "Error: " in result.output


@pytest.mark.parametrize(
    ("arguments", "status"), [(["plan", "1.1", "2.0"], 0), (["plan", "1.1", "x"], 2), (["--version"], 0), ([], 2)]
)
def test_the_console_script_ends_with_the_status(arguments, status):
    code = "import sys; from assignor.cli import main; sys.argv[1:] = sys.argv[1:]; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    assert status == done.returncode
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_traceback():
    rows = lines([FUTURE] * 50_000)
    script = f"{sys.executable} -c 'from assignor.cli import main; main()' userdata decode --jsonl | head -1"
    done = subprocess.run(["sh", "-c", script], input=rows, capture_output=True, text=True, check=False)

    assert "" == done.stderr
