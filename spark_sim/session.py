"""Starts Spark, with settings for what a sweep is: few tasks of a second or more of plain Python, small rows out.

Each setting has its measured reason; none changes a result.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from spark_sim.java import JavaRuntime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK: Final = "127.0.0.1"
SHIPPED: Final = ("subscription_codec", "probing", "upgrade", "assignor", "spark_sim", "attr", "attrs")
"""What a worker on another machine needs beside Python and PySpark: our five packages and the one they stand on."""

LIGHT_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETTINGS: Final = {
    "spark.app.name": "streams-assignor sweep",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The JVM only moves rows: no compiler threads and no parallel collector that would compete with the Python workers.
    "spark.driver.extraJavaOptions": LIGHT_JVM,
    "spark.executor.extraJavaOptions": LIGHT_JVM,
    # A fresh worker for every task would multiply the time.
    "spark.python.worker.reuse": "true",
    # 5 ms a task instead of 24 ms over TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # A task's file comes to its place when the task ends, and not when its wave does.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
}
AT_HOME: Final = {
    # Without these the driver looks up its own host name, which fails on a machine without network.
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
}


class SparkNotStarted(Exception):
    """There is no Spark session to be had; the message ends with what Spark itself said."""


def is_local(master: str) -> bool:
    """Say whether driver and workers are on this machine and see the same files.

    >>> is_local("local[2]"), is_local("spark://example:7077")
    (True, False)
    """
    return master.split("[")[0] in {"local", "local-cluster"}


def is_here(master: str) -> bool:
    """Say whether all of it is on this machine, also if it is a cluster of its own.

    >>> is_here("local[2]"), is_here("spark://127.0.0.1:7077"), is_here("spark://example:7077")
    (True, True, False)
    """
    return is_local(master) or urlsplit(master).hostname in {LOOPBACK, "localhost", "::1"}


def describe(java: JavaRuntime, master: str) -> str:
    """Say in one line what runs the sweep."""
    import pyspark

    return f"Spark {pyspark.__version__} on {master}, {java}"


@contextmanager
def spark_session(master: str, java: JavaRuntime) -> Iterator[SparkSession]:
    """Open a session on any Spark master, and close it; a session that is open already is used as it is.

    What the JVM and the workers print goes to a file and not to the terminal; ``SparkNotStarted`` quotes its end.
    """
    from pyspark.sql import SparkSession

    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    with tempfile.TemporaryDirectory(prefix="streams-assignor-spark-", ignore_cleanup_errors=True) as folder:
        with _environment(_variables(master, java)):
            session, stack = _start(master, Path(folder))
        with stack:
            if not is_local(master):
                session.sparkContext.addPyFile(str(_packed(Path(folder))))
            yield session


def _start(master: str, folder: Path) -> tuple[SparkSession, ExitStack]:
    """Start the JVM by hand, as only this way its output can be redirected; also return what stops it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll([("spark.master", master), *_settings(master, folder).items()])
    log = folder / "spark.log"
    _let_py4j_be_silent()
    with ExitStack() as stack:
        try:
            with log.open("wb") as stream, _interrupted_later():
                launch: Any = launch_gateway  # PySpark has no types here
                gateway = launch(conf, {"stdout": stream, "stderr": stream})
                stack.callback(_end, gateway)
            with _own_interrupt():
                context = SparkContext(gateway=gateway, conf=conf)
            stack.callback(context.stop)
            session = SparkSession(context)  # fails if no master answered: then Spark has stopped its context by itself
        except (PySparkException, Py4JError) as error:
            raise SparkNotStarted(f"Spark did not start on {master}: {_last_words(log) or error}") from error
        return session, stack.pop_all()


def _end(gateway: Any) -> None:
    from pyspark import SparkContext

    gateway.shutdown()
    gateway.proc.stdin.close()  # what the JVM waits for
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None  # or PySpark would talk to the JVM that is gone


def _let_py4j_be_silent() -> None:
    """Keep the tracebacks off the terminal that Py4J logs at Ctrl-C, some of them in the name of the root logger."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module not in {"java_gateway", "clientserver"}


def _settings(master: str, folder: Path) -> dict[str, str]:
    settings = dict(SETTINGS)
    if is_here(master):
        settings |= AT_HOME | {"spark.local.dir": str(folder)}
    if is_local(master):
        # Where these packages are, whether installed or a checkout: the workers do not see the driver's sys.path.
        settings["spark.executorEnv.PYTHONPATH"] = str(Path(__file__).parent.parent)
    return settings


def _variables(master: str, java: JavaRuntime) -> dict[str, str]:
    variables = {"JAVA_HOME": str(java.home)}
    if is_here(master):
        variables |= {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable), "SPARK_LOCAL_IP": LOOPBACK}
    return variables


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for a while: PySpark takes some of its settings only from there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep this process's answer to Ctrl-C: PySpark sets its own, and leaves it when the session is long closed."""
    mine = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)


def _packed(folder: Path) -> Path:
    """Put ``SHIPPED`` into one zip file."""
    archive = folder / "streams-assignor.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in SHIPPED:
            found = find_spec(package)
            if found is not None and found.origin is not None:
                root = Path(found.origin).parent
                for source in sorted(root.rglob("*.py")):
                    packed.write(source, source.relative_to(root.parent))
    return archive


def _last_words(log: Path) -> str:
    """Return the last line of a log that tells of an error, and not where in the code that was."""
    lines = map(str.strip, log.read_text(encoding="utf-8", errors="replace").splitlines())
    telling = [line for line in lines if re.search(r"Exception|Error|error:", line) and not line.startswith("at ")]
    return telling[-1] if telling else ""


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait: a JVM that is left alone while it starts never ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            raise KeyboardInterrupt
