"""Commands without a cluster: output, exit status, one-line errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from streams_assignor.cli.lazy_group import run_script
from streams_assignor.cli.main import COMMANDS, cli
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.upgrade.input_values import MAX_FILE_BYTES

FUTURE = {"kind": "subscription", "hex": "0000000c0000000c"}
SCRIPT = f"{sys.executable} -c 'from streams_assignor.cli.main import main; main()'"


def shell(line, stdin=None, **environment):
    """Run a line with the console script as ``$SCRIPT``; the status is that of a failing part of a pipe."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("$SCRIPT", SCRIPT)],
        input=stdin,
        capture_output=True,
        check=False,
        encoding="latin-1",
        env={**os.environ, **environment},
    )


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
    assert "  Limits: " in result.output


def test_any_error_of_ours_is_one_line_of_wrong_usage():
    """A line of more than 16 MiB ended in a traceback."""
    result = run("assign", stdin="x" * (MAX_FILE_BYTES + 2))

    assert 2 == result.exit_code
    assert result.output.endswith("Error: expected lines of at most 16,777,216 characters, got a longer line 1\n")


def test_help_groups_the_commands_by_purpose():
    output = run("--help").output
    sections = ["Plan an upgrade", "Inspect and decode", "Simulate", "Run real members", "Brokers"]

    assert sorted(output.index(f"{each}:") for each in sections) == [output.index(f"{each}:") for each in sections]
    assert "Commands:" not in output


def test_the_error_for_a_misspelt_command_names_similar_ones():
    result = run("sweeep")

    assert 2 == result.exit_code
    assert "No such command 'sweeep'. Did you mean 'sweep'?" in result.stderr
    assert "Did you mean" not in run("xyzzy").stderr


@pytest.mark.parametrize("words", [(), ("release",), ("userdata", "decode"), ("features", "upgrade"), ("help",)])
def test_help_with_a_command_is_its_help(words):
    assert run(*words, "--help").output == run("help", *words).output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("releas",), "No such command 'releas'. Did you mean 'release' or 'replay'?"),
        (("release", "2.8"), "streams-assignor release has no commands, got '2.8'"),
        (("userdata", "x"), "No such command 'x'"),
    ],
)
def test_help_with_what_is_no_command_is_wrong_usage(words, error):
    result = CliRunner().invoke(cli, ("help", *words), prog_name="streams-assignor")

    assert 2 == result.exit_code
    assert error in result.stderr


def test_the_package_is_the_console_script():
    done = shell(f"{sys.executable} -m streams_assignor release 2.8 --json; {sys.executable} -m streams_assignor xyzzy")

    assert "2.8.2" == json.loads(done.stdout)["release"]
    assert (2, True) == (done.returncode, "No such command 'xyzzy'" in done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("release", "2.8"),
        ("plan", "1.1", "2.0"),
        ("replay", "A@1.1 B@1.1 | bounce A>2.0,upgrade.from=1.1 B>2.0,upgrade.from=1.1 | bounce A>2.0 B>2.0"),
        ("conform", str(Path(__file__).parents[2] / "captures" / "2.0.1-to-2.3.1.json")),
    ],
)
def test_yaml_has_the_content_of_json(arguments):
    """JSON is YAML, so the forms of numbers and texts are those of the YAML of `group`."""
    as_json, as_yaml = run(*arguments, "-o", "json"), run(*arguments, "-o", "yaml")

    assert run(*arguments, "--json").stdout == as_json.stdout
    assert (as_json.exit_code, to_yaml(json.loads(as_json.stdout))) == (
        as_yaml.exit_code,
        as_yaml.stdout.removeprefix("---\n"),
    )


def test_the_short_option_prints_the_version():
    assert run("--version").output == run("-V").output
    assert 0 == run("-V").exit_code


@pytest.mark.parametrize(("typed", "completed"), [("pl", {"plan"}), ("re", {"release", "replay", "report"})])
def test_the_shell_completes_commands(typed, completed):
    complete = ShellComplete(cli, {}, "streams-assignor", "_STREAMS_ASSIGNOR_COMPLETE")

    assert completed == {each.value for each in complete.get_completions([], typed)}


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("release", "4.3"), "4.3"),
        (("plan", "2.8", "3.9"), "3.9"),
        (("sweep", "--from", "2.8."), "2.8.2"),
        (("member", "--release", "2.8."), "2.8.2"),
        (("group", "app", "--assume", "3.9."), "3.9.2"),
        (("group", "wait", "app", "st"), "stable"),
        (("group", "app", "--wait", "release=3.9."), "release=3.9.2"),
        (("group", "app", "-o", "open"), "openmetrics"),
    ],
)
def test_the_shell_completes_values(words, first):
    *typed, incomplete = words
    complete = ShellComplete(cli, {}, "streams-assignor", "_STREAMS_ASSIGNOR_COMPLETE")

    assert first == complete.get_completions(typed, incomplete)[0].value


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("xyzzy", "No such command 'xyzzy'."),
        ("plan 1.1", "expected FROM and TO, or TO with --group and without --to-protocol, got 1.1"),
        ("group app --timeout x --bootstrap-servers a:1", "Invalid value for '--timeout': expected a duration"),
        ("group --bootstrap-servers a:1", "expected either the NAME of a group or --all"),
        ("sweep --out x", "say what to sweep: --matrix kip-268, or --from RELEASE --to RELEASE"),
    ],
)
def test_every_usage_error_of_the_script_is_one_line(words, error):
    """Some were four lines with the usage, and others one."""
    done = shell(f"$SCRIPT {words}")

    assert (2, "") == (done.returncode, done.stdout)
    *progress, last = done.stderr.splitlines()  # a slow machine says for how long it lists the upgrades
    assert last.startswith(f"Error: {error}")
    assert all(line.endswith(" s)") for line in progress)


def test_the_script_itself_completes():
    """It ended with a traceback: click writes completions as bytes."""
    asked = {"COMP_WORDS": "streams-assignor release 4.3", "COMP_CWORD": "2"}
    done = shell("$SCRIPT", _STREAMS_ASSIGNOR_COMPLETE="bash_complete", **asked)

    assert ("plain,4.3\nplain,4.3.1\nplain,4.3.0\n", "", 0) == (done.stdout, done.stderr, done.returncode)


def test_plan_prints_the_steps_in_order():
    output = run("plan", "1.1", "2.0").output

    assert output.index("1. bounce every member to 2.0.1 with upgrade.from") < output.index("2. remove upgrade.from")


def test_plan_offers_an_offline_upgrade():
    assert "(--offline)" in run("plan", "1.1", "2.0").output
    assert "1. stop every member of 1.1.1" in run("plan", "1.1", "2.0", "--offline").output


def test_plan_as_json_names_the_plan_and_the_config():
    plan = json.loads(run("plan", "0.10.0", "2.0", "--json").output)

    assert ("two_bounces", "0.10.0", 2) == (plan["plan"], plan["upgrade_from"], len(plan["steps"]))


@pytest.mark.parametrize(
    "arguments", [("plan", "1.1", "9.9"), ("plan", "2.0", "2.1", "--without", "joins"), ("plan", "1.1")]
)
def test_a_usage_error_of_plan_is_one_line(arguments):
    result = run(*arguments)

    assert 2 == result.exit_code
    assert "Error: " in result.output


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("plan 1.1 2.0 --session-timeout", "a number of seconds"),
        ("group app --bootstrap-servers a:1 --timeout", "a duration such as 90s, 10m or 1h30m"),
    ],
)
def test_seconds_must_be_a_number(command, expected):
    # click accepts nan in any range: group would wait forever, and plan would measure nan seconds.
    result = run(*command.split(), "nan")

    assert 2 == result.exit_code
    assert f"expected {expected}, got 'nan'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status"), [(["plan", "1.1", "2.0"], 0), (["plan", "1.1", "x"], 2), (["--version"], 0), ([], 2)]
)
def test_the_console_script_ends_with_the_status(arguments, status):
    code = "import sys; from streams_assignor.cli.main import main; sys.argv[1:] = sys.argv[1:]; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    assert status == done.returncode
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_exits_with_status_141_without_a_traceback():
    # click sees the broken pipe first and would exit with 1, the status of a rejected line.
    done = shell("$SCRIPT userdata decode --jsonl | head -1", stdin=(json.dumps(FUTURE) + "\n") * 50_000)

    assert (141, "") == (done.returncode, done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("command", ["plan 1.1 2.0", "userdata decode tests/captures/2.0.1-to-2.3.1.json"])
def test_a_full_disk_is_a_one_line_error_that_does_not_name_the_input(command):
    # It must not be a traceback, or "Could not open file" with the name of the capture.
    done = shell(f"$SCRIPT {command} > /dev/full")

    assert (1, "Error: [Errno 28] No space left on device\n") == (done.returncode, done.stderr)


def test_a_closed_output_and_input_are_no_error():
    assert (0, "") == ((done := shell("$SCRIPT plan 1.1 2.0 >&-")).returncode, done.stderr)
    assert (0, "") == ((done := shell("$SCRIPT userdata decode <&-")).returncode, done.stderr)


def test_an_error_of_the_system_without_an_output_is_one_line(monkeypatch, capsys):
    @click.command()
    def fails():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "argv", ["streams-assignor"])
    monkeypatch.setattr(sys, "stdout", None)  # the shell closed it
    with pytest.raises(SystemExit) as ended:
        run_script(fails)

    assert 1 == ended.value.code
    assert "Error: [Errno 28] No space left on device\n" == capsys.readouterr().err


def test_a_uri_is_no_folder_of_results():
    result = run("sweep", "--matrix", "kip-268", "--master", "processes", "--out", "s3://bucket/results")

    assert 2 == result.exit_code
    assert "--master processes writes Parquet into a folder of this machine, got s3://bucket/results" in result.stderr


def test_without_a_client_library_bounce_names_what_to_install():
    code = "import sys; sys.modules['confluent_kafka'] = None; from streams_assignor.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "bounce"], capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert done.stderr == "Error: confluent-kafka is not installed: pip install 'streams-assignor[confluent]'\n"


def test_user_input_in_an_error_is_escaped_and_shortened():
    # Control characters must not reach the terminal, nor a whole file that is given as a release.
    played = shell("$SCRIPT group $'\\e[31m' --bootstrap-servers a:1 --timeout $'\\e[31m'").stderr
    filled = shell(f"$SCRIPT plan {100_000 * 'x'} 2.0").stderr

    assert all(each.isprintable() for each in played.splitlines())
    assert "\\x1b[31m" in played
    assert len(filled) < 3000
    assert "known are 0.10.0.0 to" in filled


def test_a_rejected_line_is_shortened_in_its_error():
    line = json.dumps({"kind": "assignment", "fields": {"version": 11, 100_000 * "x": 1}})

    assert len(run("userdata", "encode", stdin=line).stdout) < 3000


def test_a_character_that_the_terminal_lacks_is_escaped():
    # A topic in a message may contain any character, and the terminal may have an old encoding.
    done = shell(
        "$SCRIPT userdata explain --kind member-subscription 0000000000010003e28093ffffffff", PYTHONIOENCODING="latin-1"
    )

    assert 0 == done.returncode
    assert "topics[0]     \\u2013" in done.stdout


def test_a_string_of_json_stays_one_where_the_terminal_lacks_its_characters():
    """It was ``\\xe9``."""
    line = json.dumps({"kind": "subscription", "hex": "\xe9\U0001f600"})
    of = {
        name: shell("$SCRIPT userdata decode --jsonl", stdin=line, PYTHONIOENCODING=name) for name in ("ascii", "utf-8")
    }

    shown = {name: json.loads(done.stdout.encode("latin-1")) for name, done in of.items()}
    assert shown["ascii"] == shown["utf-8"]
    assert "\xe9" in str(shown)


@pytest.mark.parametrize(
    "servers", ["b", ":1", "b:", "b:x", "b:0", "b:65536", "b:99999999999", "http://b:1", "a:1 b:2", "::1:1", ",", " "]
)
@pytest.mark.parametrize("command", ["group app", "member --group g --topic t", "bounce"])
def test_invalid_bootstrap_servers_are_a_usage_error(command, servers):
    # librdkafka would retry such addresses until the timeout, and kafka-python would raise a Python error.
    result = run(*command.split(), "--bootstrap-servers", servers)

    assert 2 == result.exit_code
    assert "expected HOST:PORT,..., got " in result.stderr
