"""Starts Spark with settings for a sweep: few tasks, each a second or more of plain Python, and few rows.

Each setting has a measured reason; none changes a result. Sessions of others are used as they are.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from streams_assignor.formats.text import join_names
from streams_assignor.spark_sim.jobs.code_digest import OUR_PACKAGE, code_digest, python_sources
from streams_assignor.spark_sim.jobs.engine import NO_SETTINGS, EngineError, Log, error_line
from streams_assignor.spark_sim.sweep.spark.java import JavaRuntime, SparkNotStarted, find_java
from streams_assignor.spark_sim.sweep.spark.master import wait_for_master

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK: Final = "127.0.0.1"
SHIPPED_PACKAGES: Final = (OUR_PACKAGE, "attr", "attrs")
"""Packages for a worker on another machine beside Python, PySpark and PyArrow: our five packages and attrs."""
REMOTE: Final = "sc://"
"""The scheme of Spark Connect servers."""
_PORT: Final = 15002
"""The port of a Spark Connect server whose address has none."""
_CONNECT_SECONDS: Final = 30
_SPARK_CORE: Final = re.compile(r"spark-core_[\d.]+-(\d.*)\.jar")

PRIVATE_NAMES: Final = {
    "pyspark.java_gateway:launch_gateway": "SparkContext starts the JVM by it, too, but on the output of this process",
    "pyspark:SparkContext._gateway": "PySpark would use the JVM of a session that is closed for the next one",
    "pyspark:SparkContext._jvm": "as above",
}
"""The undocumented names of PySpark, and why they are used; no public name does the same."""

LIGHT_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The JVM only moves rows: no compiler threads and no parallel collector that would compete with the Python workers.
    "spark.driver.extraJavaOptions": LIGHT_JVM,
    "spark.executor.extraJavaOptions": LIGHT_JVM,
    # A fresh worker for every task would multiply the time.
    "spark.python.worker.reuse": "true",
    # The default, 15 s, is too short for a worker that imports this package on a machine with much other work.
    "spark.python.authenticate.socketTimeout": "10m",
    # 5 ms a task instead of 24 ms over TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    # To compile a query of some rows takes longer than to interpret it.
    "spark.sql.codegen.wholeStage": "false",
    # The tables are small: a shuffle to 200 partitions would be 200 tasks.
    "spark.sql.shuffle.partitions": "4",
}
"""The settings of sessions on ``local`` masters; a cluster has the settings of its site."""
LOOPBACK_SETTINGS: Final = {
    # Without these the driver looks up its own host name, which fails on a machine without network.
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
}


def is_local(master: str) -> bool:
    """Return whether driver and workers are processes of this machine.

    >>> is_local("local[2]"), is_local("spark://example:7077")
    (True, False)
    """
    return master.split("[")[0] in {"local", "local-cluster"}


def is_this_machine(master: str) -> bool:
    """Return whether everything runs on this machine, also as a cluster.

    >>> is_this_machine("local[2]"), is_this_machine("spark://127.0.0.1:7077"), is_this_machine("spark://example:7077")
    (True, True, False)
    """
    return is_local(master) or urlsplit(master).hostname in {LOOPBACK, "localhost", "::1"}


def describe(java: JavaRuntime, master: str) -> str:
    """Return a line that names what runs the sweep."""
    import pyspark

    return f"Spark {pyspark.__version__} on {master}, {java}"


@contextmanager
def spark_session(master: str, log: Log, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[SparkSession]:
    """Open a session on any Spark master, and close it; an active session is used as it is, and stays open.

    The JVM and the workers print into a file instead of the terminal.

    Args:
        master: A Spark master, or the ``sc://`` address of a Spark Connect server, which needs no Java here.
        log: Prints what runs the sweep.
        settings: Of the user, for a session that is opened.

    Raises:
        JavaNotFound: There is no Java to start Spark on.
        SparkNotStarted: Ends with the last error of that file.
        EngineError: The JVM that was started here has ended.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    with tempfile.TemporaryDirectory(prefix="streams-assignor-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if running is not None:
            if settings:
                raise SparkNotStarted(f"the active session has its own settings: set {', '.join(settings)} there")
            log(f"Spark {running.version}, the active session")
            ship_packages(running)
            yield running
            return
        if master.startswith(REMOTE):
            with _remote_session(master, settings) as session:
                log(f"Spark {session.version} on {master}")
                ship_packages(session)
                yield session
            return
        require_own_spark_home()
        require_private_names()
        java = find_java()
        log(describe(java, master))
        wait_for_master(master, log)
        with _environment(_variables(master, java)):
            session, stack = _start(master, folder, settings)
        with lost_jvm_named(), stack:
            ship_packages(session)
            yield session


def require_own_spark_home() -> None:
    """Refuse a ``SPARK_HOME`` that is not the Spark of this PySpark: PySpark would start that one.

    Raises:
        SparkNotStarted: It names what is there instead.
    """
    import pyspark

    home = os.environ.get("SPARK_HOME")
    if not home:
        return
    jars = (_SPARK_CORE.fullmatch(path.name) for path in Path(home, "jars").glob("spark-core_*.jar"))
    versions = [jar[1] for jar in jars if jar]
    expected = f"expected SPARK_HOME to be unset, or to be Spark {pyspark.__version__} as this PySpark"
    if not versions and not Path(home, "bin", "spark-submit").exists():
        exists = "has no jars of Spark" if Path(home).is_dir() else "does not exist"
        raise SparkNotStarted(f"{expected}; got {home}, which {exists}")
    if versions and _line(versions[0]) != _line(pyspark.__version__):
        raise SparkNotStarted(f"{expected}; got {home}, which is Spark {versions[0]}")


def _line(version: str) -> list[str]:
    """Return the first two numbers: releases of one line work together."""
    return version.split(".")[:2]


@contextmanager
def _remote_session(address: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _require_listener(address)
    builder: Any = SparkSession.builder
    try:
        session = builder.remote(address).create()
        session.version  # noqa: B018  # asks the server
    except PySparkException as error:
        raise SparkNotStarted(f"no Spark Connect server answers at {address}: {str(error).splitlines()[0]}") from error
    try:
        for name, value in settings.items():
            try:
                session.conf.set(name, value)
            except PySparkException as error:
                why = str(error).splitlines()[0]
                raise SparkNotStarted(f"the server at {address} does not take {name}: {why}") from error
        yield session
    finally:
        session.stop()


def _require_listener(address: str) -> None:
    """Refuse an address where nothing listens: PySpark would repeat its first request for ten minutes."""
    try:
        place = urlsplit(address)
        if not getproxies():
            socket.create_connection((place.hostname or LOOPBACK, place.port or _PORT), _CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise SparkNotStarted(f"no Spark Connect server answers at {address}: {error}") from None


def require_private_names() -> None:
    """Refuse a PySpark that lacks one of ``PRIVATE_NAMES``.

    Raises:
        SparkNotStarted: It names them.
    """
    import pyspark

    missing = [name.replace(":", ".") for name in PRIVATE_NAMES if not _is_there(name)]
    if missing:
        expected = f"expected a PySpark with {join_names(missing)}, got {pyspark.__version__}, which has no such name"
        raise SparkNotStarted(f"{expected}: install an earlier one")


def _is_there(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def _start(master: str, folder: Path, own: Mapping[str, str]) -> tuple[SparkSession, ExitStack]:
    """Start the JVM explicitly, because only then its output can be redirected; also return what stops it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = {"spark.master": master, **_settings(master, folder), **own}
    conf = SparkConf(loadDefaults=False).setAll([*settings.items()])
    log = folder / "spark.log"
    _silence_py4j()
    with ExitStack() as stack:
        try:
            with log.open("wb") as stream, _defer_sigint():
                launch: Any = launch_gateway  # PySpark has no types here
                gateway = launch(conf, {"stdout": stream, "stderr": stream})
                stack.callback(_stop_gateway, gateway)
            with _keep_sigint_handler():
                context = SparkContext(gateway=gateway, conf=conf)
            stack.callback(_stop_context, context, gateway)
            _silence_accumulators(context)
            session = SparkSession(context)  # fails if no master answered: then Spark has stopped its context by itself
        except (PySparkException, Py4JError, OSError) as error:
            raise SparkNotStarted(f"Spark did not start on {master}: {_last_error_line(log) or error}") from error
        return session, stack.pop_all()


def _silence_accumulators(context: Any) -> None:
    """Print no traceback of the server of accumulators: it loses the JVM if a signal ends both processes."""
    if server := getattr(context, "_accumulatorServer", None):
        server.handle_error = lambda *_: None


def _stop_context(context: Any, gateway: Any) -> None:
    with _unless_dead(gateway):
        context.stop()


@contextmanager
def lost_jvm_named() -> Iterator[None]:
    """Say that the JVM has ended, whatever error followed; a signal may have ended it that this process got, too.

    Raises:
        EngineError: It has.
        KeyboardInterrupt: The error comes from the end of an interrupted job.
    """
    try:
        yield
    except Exception as error:
        before = [*_chain(error)]
        if any(isinstance(each, KeyboardInterrupt) for each in before):
            raise KeyboardInterrupt from error
        if any(_is_lost(each) for each in before):
            raise EngineError("the JVM of Spark has ended") from error
        raise


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_lost(error: BaseException) -> bool:
    """Whether it is that of a call into a JVM that does not answer any more."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, ConnectionError | Py4JNetworkError)


@contextmanager
def _unless_dead(gateway: Any) -> Iterator[None]:
    """Ignore errors of calls into a JVM that was killed: why is in the error that is raised already."""
    lost: tuple[type[Exception], ...] = (OSError, *spark_errors())
    try:
        yield
    except lost as error:
        if gateway.proc.poll() is None and not _is_lost(error):
            raise


def _stop_gateway(gateway: Any) -> None:
    from pyspark import SparkContext

    with _unless_dead(gateway):
        gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM exits at the end of its input
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None  # otherwise PySpark would use the JVM that is gone


def _silence_py4j() -> None:
    """Suppress the tracebacks that Py4J logs at Ctrl-C, some of them with the root logger."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_foreign_record)


def _is_foreign_record(record: logging.LogRecord) -> bool:
    return record.module not in {"java_gateway", "clientserver"}


def _settings(master: str, folder: Path) -> dict[str, str]:
    settings = {"spark.app.name": "streams-assignor"}
    if is_this_machine(master):
        settings |= LOOPBACK_SETTINGS | {"spark.local.dir": str(folder)}
    if is_local(master):
        # Where these packages are, whether installed or a checkout: the workers do not see the driver's sys.path.
        settings |= SETTINGS | {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[4])}
    return settings


def _variables(master: str, java: JavaRuntime) -> dict[str, str]:
    variables = {"JAVA_HOME": str(java.home)}
    if is_this_machine(master):
        variables |= {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable), "SPARK_LOCAL_IP": LOOPBACK}
    return variables


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables meanwhile: PySpark reads some settings only from there."""
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


def spark_errors() -> tuple[type[Exception], ...]:
    """Return what PySpark raises, with and without Spark Connect."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


@contextmanager
def interrupt_without_cancelling() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt meanwhile: the handler of PySpark also cancels all jobs of the session."""
    before = signal.getsignal(signal.SIGINT)
    of_pyspark = getattr(before, "__module__", "").startswith("pyspark.")
    if not of_pyspark or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _keep_sigint_handler() -> Iterator[None]:
    """Restore the SIGINT handler: PySpark installs its own one, and never removes it."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


def ship_packages(session: SparkSession) -> None:
    """Send our packages to the workers of a session, unless they are processes of this machine and this driver."""
    if getattr(session, "sparkContext", None) is None or not is_local(session.conf.get("spark.master", "") or ""):
        session.addArtifacts(str(_archive()), pyfile=True)


@cache
def _archive() -> Path:
    """Put ``SHIPPED_PACKAGES`` into one zip file, which executors that start later still ask this process for."""
    folder = Path(tempfile.mkdtemp(prefix="streams-assignor-packages-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / f"streams-assignor-{code_digest()}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in SHIPPED_PACKAGES:
            for name, source in python_sources(package):
                # Without the times of files: a server accepts the same file twice, but no other one of its name.
                packed.writestr(zipfile.ZipInfo(name), source)
    return archive


def _last_error_line(log: Path) -> str:
    return error_line(log.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def _defer_sigint() -> Iterator[None]:
    """Defer SIGINT: a JVM that is abandoned while it starts never exits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            raise KeyboardInterrupt
