"""A plan in a terminal: lines that fit, and commands that can be copied."""

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


def output_in_terminal(*arguments, columns, name="plan", **environment):
    here, there = pty.openpty()
    command = [sys.executable, "-m", "streams_assignor.cli.main", name, *arguments]
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb", **environment}
    with subprocess.Popen(command, stdout=there, env=environment) as process:
        os.close(there)
        output = b""
        with suppress(OSError):  # Linux reports the end of a terminal as an error
            while some := os.read(here, 4096):
                output += some
    os.close(here)
    assert 0 == process.returncode
    return output.decode().replace("\r\n", "\n").splitlines()


def test_lines_fit_the_terminal_and_continue_below_their_text():
    lines = output_in_terminal("2.8", "4.3", columns=70)

    assert max(map(len, lines)) <= 70
    step = lines.index('1. bounce every member to 4.3.1 with upgrade.from="2.8", one by one')
    assert lines[step + 1].startswith("   why:        with it foreign-key joins")
    assert lines[step + 1].endswith(" ...")
    assert lines[step + 3].startswith("   way back:   lossy: to 2.8.2 until upgrade.from is removed,")
    assert any(line.startswith("         ") for line in lines[-3:])


def test_wide_terminals_get_lines_of_readable_length():
    assert max(map(len, output_in_terminal("2.8", "4.3", columns=300))) <= 120


def test_a_pipe_gets_one_line_for_each_statement():
    command = [sys.executable, "-m", "streams_assignor.cli.main", "plan", "2.8", "4.3"]
    piped = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert max(map(len, piped.splitlines())) > 120


def test_the_verdict_has_a_colour_and_no_color_takes_it_away():
    plain, coloured = (
        output_in_terminal("2.8", "4.3", columns=100, TERM="xterm", NO_COLOR=no_color) for no_color in ("1", "")
    )

    assert "\x1b[3" not in "".join(plain)
    assert coloured[0].startswith("2.8.2 to 4.3.1: \x1b[1;33msafe-if\x1b[0m: one rolling bounce")
    assert "\x1b" not in "".join(coloured[1:])


def test_only_the_headline_has_a_colour(tmp_path):
    """A plan of brokers has no verdict there, and the first "safe" of the rest was green."""
    settings = tmp_path / "safe.properties"
    settings.write_text("node.id=1\nprocess.roles=broker\ncontroller.listener.names=C\n")
    brokers = ("--brokers", "3.9", "4.3", "--config", str(settings))
    lines = output_in_terminal(*brokers, columns=100, TERM="xterm", NO_COLOR="")

    assert any("safe.properties" in line for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_replay_wraps_at_words_below_the_text_of_its_event():
    """Words and lists of tasks were cut in the middle."""
    scenario = "A@2.0 B@2.0 | bounce A>2.3 B>2.3"
    lines = output_in_terminal(scenario, columns=80, name="replay")

    assert max(map(len, lines)) <= 80
    place = lines.index("      0.0s  gen 1   A   receives version 3 (supported 3): active 0_0,0_2,0_4,")
    assert " " * 24 + "standby -" == lines[place + 1]
