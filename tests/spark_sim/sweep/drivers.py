"""``streams-assignor sweep`` and ``report`` as processes of their own, so that one can be killed.

As a program it is the command itself, with tasks of one unit, and lines on standard error that say what is committed.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from streams_assignor.cli.main import main
from streams_assignor.spark_sim.sweep import sweep, work_units
from streams_assignor.spark_sim.sweep.spark.session import LIGHT_JVM

ROOT = Path(__file__).parents[3]
SMALL = ("--matrix", "kip-268", "--wait", "--runs", "2", "--no-deviations")
UNITS = 30
KILL_AT = "KILLED_AT_COMMITTED_UNITS"
"""The variable with the number of units with which a driver kills itself."""
EXPORTS = ("matrix.json", "guide.json")


def settings(values):
    """Return the options for settings of Spark."""
    return [part for pair in values.items() for part in ("--conf", "=".join(pair))]


_LIGHT = {
    "spark.driver.extraJavaOptions": LIGHT_JVM,
    "spark.executor.extraJavaOptions": LIGHT_JVM,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
}
LIGHT = settings(_LIGHT | {"spark.ui.enabled": "false"})
"""A site's settings of a small cluster."""


def light_site(folder):
    """Write the same settings as those of a site into a folder; return the variables with which Spark reads them."""
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in _LIGHT.items()))
    return {"SPARK_CONF_DIR": str(folder)}


def start(*arguments, environment=None, **how):
    """Start a command."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | (environment or {})
    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)], env=variables, text=True, **how)


def run(*arguments, environment=None, status=0):
    """Run a command to its end; return what it printed."""
    with start(*arguments, environment=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as command:
        printed = command.communicate()[0]
    assert command.returncode == status, printed[-3000:]
    return printed


def kill_in_the_middle(*arguments, environment=None):
    """Start a sweep, and kill it when units are committed and others are not."""
    with start(*arguments, environment=environment, stderr=subprocess.PIPE) as driver:
        lines = []
        for line in driver.stderr:
            lines.append(line)
            if (found := re.match(r"committed (\d+)", line)) and int(found[1]) > 0:
                driver.kill()
                break
    assert found, "".join(lines)
    assert int(found[1]) < UNITS


def _say_what_is_committed():
    progress_of = sweep.Progress

    def shown(*arguments):
        found = progress_of(*arguments)
        print("committed", found.committed_units, file=sys.stderr, flush=True)
        if found.committed_units >= int(os.environ.get(KILL_AT, UNITS + 1)):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    sweep.Progress = shown


if __name__ == "__main__":
    work_units.COST_OF_A_TASK = 1
    _say_what_is_committed()
    main()
