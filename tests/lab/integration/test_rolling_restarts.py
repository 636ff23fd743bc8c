"""``--wait`` after restarts of real members, by the script of docs/how-to/group.md and without it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.integration.applications import Application, settle
from tests.lab.integration.group_log import timed_generations
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.rolling_restarts import RUNS, STATIC_RUN, Pods, Run, back, roll
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

QUICK = Run("3.9.2", 6, signal.SIGKILL, ("pod-1", "pod-2"))


@pytest.mark.parametrize(
    "run",
    [QUICK, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (*RUNS, STATIC_RUN))],
    ids=lambda run: f"{run.release}-{run.session_seconds}-{run.signal.name}{'-static' if run.static else ''}",
)
def test_the_script_of_the_page_never_goes_on_before_the_instance_is_back(
    run: Run, broker: str, tmp_path: Path
) -> None:
    """How late it goes on is a figure of `rolling_restarts.main`; no test waits for the clock."""
    require(run)
    found = roll(broker, run, tmp_path)

    assert [*run.pods] == [each.pod for each in found]
    assert [] == [each for each in found if each.late < 0]


@pytest.mark.parametrize("flags", [(), ("--members", "3"), ("--restarted", "pod-1", "--members", "3")])
def test_a_wait_without_the_state_before_is_not_too_early_either(
    flags: tuple[str, ...], application: Application, broker: str, tmp_path: Path
) -> None:
    """The stopped member is counted at the first look, and the group is stable."""
    require(QUICK)
    with Pods(application, QUICK, tmp_path) as pods:
        settle(*pods.members.values())
        pods.restart("pod-1")
        script = "from streams_assignor.cli.main import main; main()"
        arguments = ["group", application.name, "--bootstrap-servers", broker, "--wait", "stable", *flags]
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments, "--timeout", "3m"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        ended = time.time()
        settle(*pods.members.values())
        ((pod, stopped, _),) = pods.restarts

        if done.returncode:  # without a number of members, a slow command may come after the first rebalance
            assert (1, ()) == (done.returncode, flags)
            assert "it is not known how many there have to be" in done.stderr
        else:
            assert back(timed_generations(broker, application.name), pod, stopped) <= ended


def test_an_instance_that_joins_again_and_again_is_a_problem_while_watching(
    application: Application, broker: str, tmp_path: Path
) -> None:
    """A single look does not show it. The other instances are not meant."""
    require(QUICK)
    with Pods(application, QUICK, tmp_path) as pods:
        settle(*pods.members.values())
        script = "from streams_assignor.cli.main import main; main()"
        arguments = ["group", application.name, "--bootstrap-servers", broker, "--watch"]
        with Subprocess("group", [sys.executable, "-c", script, *arguments]) as command:
            wait_until(lambda: any("Stable with 3 members" in line for line in command.lines), command)
            for _ in range(3):
                pods.restart("pod-2")
                settle(*pods.members.values())
            wait_until(lambda: any("problem: pod-2" in line for line in command.lines), command)
            found = [line.partition("problem: ")[2] for line in command.lines if "again and again" in line]

    assert [
        "pod-2-StreamThread-1 (127.0.0.1) joins again and again, at least 3 times in 10 min: does it fail after its "
        "start?"
    ] == found


def require(run: Run) -> None:
    try:
        counting(run.release)
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {run.release}: {missing}")
