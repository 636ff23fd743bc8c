"""Processes that a test starts end with the test."""

import os
import subprocess
import sys

from tests.integration.brokers import UNTIL_END_OF_INPUT

# A handler that prints fails if the signal comes while the other line is being printed.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"no\\n"))
os.write(1, b"up\\n")
while True:
    time.sleep(1)
"""


def test_a_process_that_does_not_end_by_sigterm_is_killed_after_the_end_of_input():
    """A JVM of a system test once waited for brokers that its killed driver had taken with it."""
    command = [*UNTIL_END_OF_INPUT, sys.executable, "-c", STUBBORN]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"GRACE_SECONDS": "2"}
    ) as process:
        assert process.stdout.readline() == b"up\n"
        output, _ = process.communicate(timeout=30)

    assert (output, process.returncode) == (b"no\n", 128 + 9)


def test_a_process_ends_with_its_own_status():
    command = [*UNTIL_END_OF_INPUT, "sh", "-c", "exit 3"]

    assert 3 == subprocess.run(command, stdin=subprocess.DEVNULL, timeout=30).returncode
