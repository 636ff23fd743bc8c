"""Ctrl-C and SIGTERM in every command that may take long: status 130, one line, no traceback; nothing of it stays."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a process each
ROOT = Path(__file__).parents[3]
RUN = """
import sys
from streams_assignor.formats import progress

progress.FIRST_SECONDS = 0.2
from streams_assignor.cli.main import main

main()
"""
"""The command, which soon says what it is doing."""
SILENT = "SILENT"
GROUP = "A@4.3 " + " ".join(f"A{number}@4.3" for number in range(2, 100))
COMMANDS = {
    "plan": ("plan", "0.10.0", "4.3", "--members", "5"),
    "replay": ("replay", f"{GROUP} partitions=400 | bounce {' '.join(f'A{each}>4.4' for each in range(2, 100))}"),
    "conform": ("conform", "-"),
    "audit-dump": ("audit", "--dump", "/dev/stdin", "--out", "out"),
    "audit-brokers": ("audit", "--bootstrap-servers", SILENT, "--out", "out"),
    "group": ("group", "app", "--bootstrap-servers", SILENT, "--timeout", "600"),
    "group-list": ("group", "list", "--bootstrap-servers", SILENT, "--timeout", "600"),
    "features": ("features", "describe", "--bootstrap-server", SILENT, "--timeout", "600"),
}


@pytest.fixture
def silent_broker():
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def started(arguments, folder, silent_broker):
    """Start a command whose standard input stays open, and wait until it says what it is doing."""
    command = [silent_broker if each == SILENT else each for each in arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", RUN, *command], cwd=folder, env=environment, text=True, **pipes)
    lines = []
    while not lines or " s)" not in lines[-1] or ": at work" in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    return process


@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_a_command_with_one_line(tmp_path, silent_broker, name, number):
    process = started(COMMANDS[name], tmp_path, silent_broker)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert [each for each in err.splitlines() if each and " s)" not in each] == ["interrupted"]
    assert out == ""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ["audit-dump", "plan"])
def test_nothing_of_a_command_stays_after_it_was_killed(tmp_path, silent_broker, name):
    """A child would keep the output open, of which a reader would never see the end."""
    process = started(COMMANDS[name], tmp_path, silent_broker)
    process.kill()
    out, _ = process.communicate(timeout=120)

    assert (process.returncode, out) == (-signal.SIGKILL, "")
