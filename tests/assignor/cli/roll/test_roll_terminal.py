"""``roll`` on a real pseudo terminal: its question, its live view, Ctrl-C, and a terminal that is closed."""

import json
import signal
import time

import pytest

from tests.assignor.cli.roll.simulated import SimulatedCluster
from tests.assignor.cli.roll.terminal import SECONDS, Terminal

pytestmark = pytest.mark.slow  # a process each
QUESTION = "decision (continue, stop): "
BEGUN = ["plan", "answer", "step", "intent"]
WAITS = '\'until [ -e {0}/go ]; do touch {0}/begun; sleep 0.05; done; exec "$0" "$@"\''


def until(happened):
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kinds(folder):
    return [json.loads(line)["record"] for line in (folder / "journal").read_text().splitlines()]


@pytest.fixture(name="open_terminal")
def fixture_open_terminal(tmp_path):
    """Run the command; with ``waits``, that of an instance has begun, and goes on when the file ``go`` is there."""

    def start(*arguments, waits=False, **how):
        if not waits:
            return Terminal(tmp_path, "--no-forecast", *arguments, **how)
        command = f"sh -c {WAITS.format(tmp_path)} {SimulatedCluster(tmp_path).template()}"
        terminal = Terminal(tmp_path, "--no-forecast", "--yes", *arguments, command=command, **how)
        until((tmp_path / "begun").exists)
        return terminal

    yield start
    (tmp_path / "go").touch()


@pytest.mark.parametrize(
    ("keys", "status", "said"),
    [
        ("continue\n", 0, "app: finished"),
        ("stop\n", 3, "stopped; the same command continues"),
        ("y\nn\nstop\n", 3, "'n' is not one of 'continue', 'stop'"),
        ("\n\x04", 3, "stopped; the same command continues"),
        ("\x03", 130, "interrupted after step 0; the same command continues"),
    ],
    ids=["continue", "stop", "neither", "end of input", "ctrl-c"],
)
def test_it_asks_before_the_first_step(open_terminal, tmp_path, keys, status, said):
    with open_terminal() as terminal:
        terminal.until(QUESTION)
        terminal.type(keys)

        assert status == terminal.end(), terminal.text
        assert said in terminal.text
        assert "Traceback" not in terminal.text
    assert (status == 0) is (tmp_path / "called").exists()


def test_a_signal_ends_the_question(open_terminal, tmp_path):
    with open_terminal() as terminal:
        terminal.until(QUESTION)

        assert 130 == terminal.end_by(signal.SIGTERM), terminal.text
    assert ["plan"] == kinds(tmp_path)


def test_a_terminal_that_is_closed_ends_the_question(open_terminal, tmp_path):
    with open_terminal() as terminal:
        terminal.until(QUESTION)
        terminal.hang_up()

        assert 130 == terminal.end()
    assert ["plan"] == kinds(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_step_and_says_so_meanwhile(open_terminal, tmp_path, number):
    with open_terminal(waits=True) as terminal:
        if number == signal.SIGINT:
            terminal.type("\x03")
        else:
            terminal.process.send_signal(number)
        terminal.until("interrupted: the current step is finished first")
        assert BEGUN == kinds(tmp_path)
        (tmp_path / "go").touch()

        assert 130 == terminal.end(), terminal.text
        assert "interrupted after step 1; the same command continues" in terminal.text
    assert [*BEGUN, "command", "passed"] == kinds(tmp_path)


def test_a_second_ctrl_c_ends_at_once_and_the_command_goes_on(open_terminal, tmp_path):
    with open_terminal(waits=True) as terminal:
        terminal.type("\x03")
        terminal.until("interrupted: the current step is finished first")
        terminal.type("\x03")

        assert 130 == terminal.end(), terminal.text
        assert "step 1: restart A was under way, and goes on" in terminal.text
        assert "Traceback" not in terminal.text
    assert BEGUN == kinds(tmp_path)
    assert not (tmp_path / "called").exists()
    (tmp_path / "go").touch()
    until((tmp_path / "called").exists)


def test_a_terminal_that_is_closed_lets_the_step_end(open_terminal, tmp_path):
    """It ended at once, as if it had been killed."""
    with open_terminal(waits=True) as terminal:
        terminal.hang_up()
        (tmp_path / "go").touch()

        assert 130 == terminal.end()
    assert [*BEGUN, "command", "passed"] == kinds(tmp_path)
    assert (tmp_path / "report.md").exists()


@pytest.mark.parametrize("columns", [80, 40])
def test_it_shows_what_is_done_to_an_instance_on_terminals_of_any_width(open_terminal, tmp_path, columns):
    with open_terminal(waits=True, columns=columns) as terminal:
        terminal.until(" A   4.3.1   restart A")
        (tmp_path / "go").touch()

        assert 0 == terminal.end(), terminal.text
        assert "app: finished" in terminal.text
