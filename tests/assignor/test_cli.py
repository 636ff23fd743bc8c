"""The commands that need no cluster: output, exit status, one clear line for each mistake."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from assignor.cli import COMMANDS, cli

FUTURE = {"kind": "subscription", "hex": "0000000c0000000c"}


def run(*arguments, stdin=""):
    return CliRunner().invoke(cli, arguments, input=stdin)


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
    rows = (json.dumps(FUTURE) + "\n") * 50_000
    script = f"{sys.executable} -c 'from assignor.cli import main; main()' userdata decode --jsonl | head -1"
    done = subprocess.run(["sh", "-c", script], input=rows, capture_output=True, text=True, check=False)

    assert "" == done.stderr
