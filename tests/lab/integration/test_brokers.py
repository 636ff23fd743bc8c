"""Processes that a test starts end with the test."""

import os
import subprocess
import sys

import pytest

from tests.lab.integration.nodes import UNTIL_END_OF_INPUT
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = pytest.mark.broker

PROGRAM = """
import os, signal, time
signal.signal(signal.SIGTERM, {handler})
os.write(1, b"up\\n")
while True:
    time.sleep(1)
"""


def status_after_end_of_input(handler: str, **environment: str) -> int:
    """Let the input of a program end that handles SIGTERM so."""
    command = [*UNTIL_END_OF_INPUT, sys.executable, "-c", PROGRAM.format(handler=handler)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode


def test_a_process_that_does_not_end_by_sigterm_is_killed_after_the_end_of_input():
    """A JVM of a system test once waited for brokers that its killed driver had taken with it."""
    assert 128 + 9 == status_after_end_of_input("signal.SIG_IGN", GRACE_SECONDS="1")


def test_a_process_ends_with_its_own_status():
    assert 3 == status_after_end_of_input("lambda *_: os._exit(3)")
