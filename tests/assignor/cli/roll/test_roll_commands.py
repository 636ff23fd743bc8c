"""Command templates and what is kept of a command."""

import fcntl
import sys
import time

import pytest

from assignor.cli.roll._commands import KILLED, NOT_FOUND, CommandTemplate, TemplateError, run_command

VALUES = {"group": "app", "instance": "pod-1", "release": "4.3.1", "upgrade_from": "", "round": "1"}


def python(code):
    return CommandTemplate((sys.executable, "-I", "-c", code))


def test_a_placeholder_is_replaced_inside_its_word():
    template = CommandTemplate.parse("ssh {instance} 'run --to={release}' \"{upgrade_from}\" '{\"a\": 1}'")

    assert ["ssh", "a b;c", "run --to=4.3.1", "", '{"a": 1}'] == template.argv({**VALUES, "instance": "a b;c"})


def test_what_a_command_is_told_is_in_its_environment():
    code = "import os; print(*(os.environ['ROLL_' + key] for key in ('GROUP', 'INSTANCE', 'RELEASE', 'ROUND')))"

    assert "app pod-1 4.3.1 1" == run_command(python(code), VALUES, 60).output


@pytest.mark.parametrize("name", ["-rf", "a;b", "a b", "$(x)", "a'b", "", "é"])
def test_a_name_that_is_more_than_a_name_is_refused(name):
    with pytest.raises(TemplateError, match=r"for \{instance\}"):
        CommandTemplate.parse("x {instance}").check([name])


def test_such_a_name_may_be_in_the_environment():
    CommandTemplate.parse("x").check(["a;b"])
    CommandTemplate.parse("x {instance}").check(["pod-1", "10.0.0.1:80", "a/b@c"])


def test_only_the_end_of_the_output_is_kept():
    done = run_command(python("print('x' * 10_000, 'end')"), VALUES, 60)

    assert (0, 2_000) == (done.status, len(done.output))
    assert done.output.endswith("x end")


HOLDER = "import fcntl, pathlib, sys, time; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); "
HOLDER += "pathlib.Path(sys.argv[2]).touch(); time.sleep(6000)"
STARTER = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


def test_a_command_that_takes_too_long_is_ended_with_what_it_has_started(tmp_path):
    """What it has started holds a lock, which is free when that has ended."""
    lock, is_held = tmp_path / "lock", tmp_path / "held"
    lock.touch()

    def wait_until_held(_seconds):
        deadline = time.monotonic() + 300
        time.sleep(0.01)
        while not is_held.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    template = CommandTemplate((sys.executable, "-c", STARTER, HOLDER, str(lock), str(is_held)))
    done = run_command(template, VALUES, 1.0, wait_until_held)

    assert KILLED == done.status
    assert "ended after 1 s" in done.output
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_a_process_that_is_left_running_does_not_keep_it_waiting():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], "
    code += "stdin=open('/dev/null')); print('started')"

    assert "started" == run_command(python(code), VALUES, 300).output


def test_a_program_that_is_not_there_is_a_status_and_a_reason():
    done = run_command(CommandTemplate(("/no/such/program",)), VALUES, 60)

    assert NOT_FOUND == done.status
    assert "/no/such/program cannot be started" in done.output


def test_a_secret_at_the_beginning_of_what_is_kept_is_hidden():
    """Its name was cut off, and the rest of it was kept."""
    done = run_command(python("print('x ' * 9_000 + 'password=' + 'hunter22' * 200 + ' ' + 'y' * 900)"), VALUES, 60)

    assert "hunter22" not in done.output
    assert done.output.endswith(f"password=[hidden] {'y' * 900}")
