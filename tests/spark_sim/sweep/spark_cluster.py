"""A Spark standalone cluster on this machine: a master and workers, each a process of its own, as on other machines."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from streams_assignor.spark_sim.sweep.spark.java import find_java
from streams_assignor.spark_sim.sweep.spark.session import LOOPBACK

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
FREE_PORTS = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SECONDS_TO_START = 300
"""A JVM starts in seconds, but not on a machine where twenty do."""


class Cluster:
    """Where it is, and its workers; a worker's process leads a group of its own, with all that it starts."""

    def __init__(self, url, workers):
        self.url, self.workers = url, workers

    def lose(self, which):
        """Kill a worker with its executor and its Python processes, as if its machine were gone."""
        _end(self.workers[which])


@contextmanager
def cluster(folder, workers=2):
    """Start a master and workers of one core each; end them with everything they started."""
    with ExitStack() as stack:
        log = _started(stack, folder, "master", MASTER, *FREE_PORTS)[1]
        url = _output(log, r"Starting Spark master at (spark://\S+)")
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"))
        started = [_started(stack, folder, f"worker-{n}", WORKER, *FREE_PORTS, *size, url) for n in range(workers)]
        for _, log in started:
            _output(log, "Successfully registered with master")
        yield Cluster(url, [process for process, _ in started])


@contextmanager
def connect_server(folder):
    """Start a Spark Connect server on two cores of this machine; yield its address."""
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    options = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    with ExitStack() as stack:
        submit = ("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", *options)
        main = (*submit, "--class", CONNECT_SERVER, "spark-internal")
        server, log = _started(stack, folder, "connect", *main, memory="1g", PYSPARK_PYTHON=sys.executable)
        yield f"sc://{LOOPBACK}:" + _output(log, r"Spark Connect server started at: \S*:(\d+)", server)


def _spark_class():
    """Return the script that comes with PySpark, which not every environment has that collects these tests."""
    return Path(find_spec("pyspark").origin).parent / "bin" / "spark-class"


def _started(stack, folder, name, main, *arguments, memory="256m", **variables):
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    # Nothing of the project: not its folder, no PYTHONPATH. What workers need of it, a sweep has to bring.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    ours = {"JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": memory}
    options = {"SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [_spark_class(), main, *arguments],
            cwd=folder,
            env=kept | ours | options | variables,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    stack.callback(_end, process)
    return process, log


def _end(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _output(log, pattern, process=None):
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and (process is None or process.poll() is None):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[found.re.groups]
        time.sleep(0.1)
    raise TimeoutError(f"no {pattern!r} in {log}:\n{log.read_text(errors='replace')[-2000:]}")
