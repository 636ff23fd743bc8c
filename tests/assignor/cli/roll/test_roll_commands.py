"""Command templates and what is kept of a command."""

import fcntl
import sys
import tempfile
import time

import pytest

from streams_assignor.cli.roll.commands import KILLED, NOT_FOUND, CommandTemplate, TemplateError, run_command

VALUES = {"group": "app", "instance": "pod-1", "release": "4.3.1", "upgrade_from": "", "round": "1"}


def python(code):
    return CommandTemplate((sys.executable, "-I", "-c", code))


def test_a_placeholder_is_replaced_inside_its_word():
    template = CommandTemplate.parse("ssh {instance} 'run --to={release}' \"{upgrade_from}\" '{\"a\": 1}'")

    assert ["ssh", "pod-1", "run --to=4.3.1", "", '{"a": 1}'] == template.argv(VALUES)


def test_what_a_command_is_told_is_in_its_environment():
    code = "import os; print(*(os.environ['ROLL_' + key] for key in ('GROUP', 'INSTANCE', 'RELEASE', 'ROUND')))"

    assert "app pod-1 4.3.1 1" == run_command(python(code), VALUES, 60).output


NAMES = [
    "-rf",
    ".x",
    "a;b",
    "a;touch ${IFS}x",
    "--delete=all",
    "a b",
    "$(x)",
    "a'b",
    "é",
    "10.0.0.1:80",
    "a/b",
    "a@b",
    "a=b",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("placeholder", ["instance", "release", "upgrade_from", "group"])
def test_a_value_that_is_more_than_a_name_is_refused(name, placeholder):
    template = CommandTemplate.parse(f"x --to={{{placeholder}}}")

    with pytest.raises(TemplateError, match=rf"for \{{{placeholder}\}}.*use the variable ROLL_{placeholder.upper()}"):
        template.check(placeholder, [name])
    with pytest.raises(TemplateError, match=rf"for \{{{placeholder}\}}"):
        run_command(template, {**VALUES, placeholder: name}, 60)


def test_such_a_name_may_be_in_the_environment():
    CommandTemplate.parse("x {release}").check("instance", NAMES)
    CommandTemplate.parse("x {instance}").check("instance", ["pod-1", "10.0.0.1", "a_b"])


@pytest.mark.parametrize(
    "word",
    [
        *("{Instance}", "{INSTANCE}", "{ instance }", "${instance}", "${ instance }", "{{instance}}", "{{ instance }}"),
        *("{instances}", "{instance!r}", "{instance:x}", "{upgrade-from}", "{upgradeFrom}", "{host}", "{host.name}"),
        *("%(instance)s", "%(host)s", "$instance", "$(instance)", "%{instance}", "#{release}", "<instance>", "%group%"),
        *("${upgrade_from}", "${instance:-x}", "a{instance}b{Release}", "--to={Release}", "${RELEASE}"),
    ],
)
def test_a_placeholder_in_another_spelling_is_refused(word):
    with pytest.raises(TemplateError, match=r"unknown placeholder .*: expected \{instance\}, \{release\}"):
        CommandTemplate.parse(f"x '{word}'")


@pytest.mark.parametrize(
    "word",
    [
        *("${HOME}", "${ROLL_INSTANCE}", "$ROLL_RELEASE", "{}", "{0}", "a{3}", '{"a": 1}', "{.metadata.name}", "%s"),
        *(
            "{{.State}}",
            "{{json .}}",
            "me@{instance}",
            "{instance}{release}",
            "a-{instance}.{group}",
            "--group",
            "{1..3}",
        ),
    ],
)
def test_braces_of_other_programs_are_words(word):
    assert CommandTemplate.parse(f"x '{word}'").argv(VALUES)


def test_only_the_end_of_the_output_is_kept():
    done = run_command(python("print('x' * 10_000, 'end')"), VALUES, 60)

    assert (0, 2_000) == (done.status, len(done.output))
    assert done.output.endswith("x end")


HOLDER = "import fcntl, pathlib, sys, time; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); "
HOLDER += "pathlib.Path(sys.argv[2]).touch(); time.sleep(6000)"
STARTER = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


def test_a_command_that_takes_too_long_is_ended_with_what_it_has_started(tmp_path):
    """Its child holds a lock, which is free when the child has ended."""
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


LEAVER = "import pathlib, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]]); held = "
LEAVER += "pathlib.Path(sys.argv[3])\nwhile not held.exists(): time.sleep(0.01)"


def test_a_probe_leaves_nothing_running(tmp_path):
    """Each look had left one process more."""
    lock, is_held = tmp_path / "lock", tmp_path / "held"
    lock.touch()
    template = CommandTemplate((sys.executable, "-c", LEAVER, HOLDER, str(lock), str(is_held)))

    assert 0 == run_command(template, VALUES, 300, leaves_others=False).status
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_a_process_that_is_left_running_does_not_keep_it_waiting():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], "
    code += "stdin=open('/dev/null')); print('started')"

    assert "started" == run_command(python(code), VALUES, 300).output


def test_of_output_without_an_end_only_the_end_is_kept_and_no_disk_is_filled(tmp_path, monkeypatch):
    """It printed 773 MB in ten seconds into a temporary file. Here as much as a file may not have."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    done = run_command(python("import sys; sys.stdout.write(('x' * 999 + chr(10)) * 20_000 + 'the end')"), VALUES, 600)

    assert (0, 2_000) == (done.status, len(done.output))
    assert done.output.endswith("x\nthe end")


LEFT = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
while not (folder / "returned").exists():
    print("y" * 999)
for _ in range(1_000):
    print("z" * 999, flush=True)
(folder / "alive").touch()
"""


def test_what_is_left_running_may_print_without_an_end(tmp_path):
    """It neither keeps roll waiting, nor fails as nobody reads."""
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {LEFT!r}, {str(tmp_path)!r}])"

    assert 0 == run_command(python(code), VALUES, 300).status
    (tmp_path / "returned").touch()
    deadline = time.monotonic() + 300
    while not (tmp_path / "alive").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_that_is_not_there_is_a_status_and_a_reason():
    done = run_command(CommandTemplate(("/no/such/program",)), VALUES, 60)

    assert NOT_FOUND == done.status
    assert "/no/such/program cannot be started" in done.output


def test_a_secret_at_the_beginning_of_what_is_kept_is_hidden():
    """Its name was cut off, and the rest of it was kept."""
    done = run_command(python("print('x ' * 9_000 + 'password=' + 'hunter22' * 200 + ' ' + 'y' * 900)"), VALUES, 60)

    assert "hunter22" not in done.output
    assert done.output.endswith(f"password=[hidden] {'y' * 900}")
