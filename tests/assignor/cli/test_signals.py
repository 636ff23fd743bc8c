"""SIGTERM is as Ctrl-C."""

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import signal, sys, click
{before}
from streams_assignor.cli.lazy_group import run_script

@click.command()
def waits():
    try:
        print("waits", flush=True)
        signal.pause()
    finally:
        print("cleans up", flush=True)

sys.argv = ["streams-assignor"]
run_script(waits)
"""
IGNORES = "signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of a command that a script starts with &"


@pytest.mark.parametrize(
    ("number", "before"), [(signal.SIGTERM, ""), (signal.SIGINT, ""), (signal.SIGTERM, IGNORES)], ids=str
)
def test_a_command_cleans_up_and_says_that_it_was_interrupted(number: signal.Signals, before: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(before=before)],
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},  # it handles SIGTERM
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout
    assert "waits\n" == running.stdout.readline()
    running.send_signal(number)
    out, errors = running.communicate()

    assert ("cleans up\n", "interrupted\n", 130) == (out, errors.lstrip(), running.returncode)
