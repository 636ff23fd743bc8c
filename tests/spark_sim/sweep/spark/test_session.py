"""The names of PySpark that it does not document."""

import ast
import inspect
from pathlib import Path

import pyspark
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.java_gateway import launch_gateway

from streams_assignor import spark_sim
from streams_assignor.spark_sim.jobs.engine import EngineError
from streams_assignor.spark_sim.sweep.spark import session
from streams_assignor.spark_sim.sweep.spark.java import SparkNotStarted
from streams_assignor.spark_sim.sweep.spark.session import PRIVATE_NAMES, lost_jvm_named, require_private_names
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError


def test_this_pyspark_has_each_private_name():
    """If it fails: look for what PySpark has instead, or bound the release in setup.cfg."""
    require_private_names()

    assert "popen_kwargs" in inspect.signature(launch_gateway).parameters
    assert "gateway.proc = proc" in inspect.getsource(launch_gateway)
    assert "self._accumulatorServer = " in inspect.getsource(pyspark.SparkContext)
    assert all(PRIVATE_NAMES.values())


def test_a_pyspark_without_a_private_name_is_named(monkeypatch):
    monkeypatch.delattr("pyspark.java_gateway.launch_gateway")
    monkeypatch.delattr(pyspark.SparkContext, "_jvm")

    with pytest.raises(SparkNotStarted) as refused:
        require_private_names()
    assert str(refused.value) == (
        "expected a PySpark with pyspark.java_gateway.launch_gateway and pyspark.SparkContext._jvm, "
        f"got {pyspark.__version__}, which has no such name: install an earlier one"
    )


def test_a_session_does_not_begin_without_a_private_name(monkeypatch):
    monkeypatch.setitem(session.PRIVATE_NAMES, "pyspark:SparkContext._gone", "for this test")

    with pytest.raises(SparkNotStarted, match=r"SparkContext\._gone"), session.spark_session("local[1]", print):
        pass


@pytest.mark.slow
def test_no_other_private_name_of_pyspark_is_used():
    """Private modules and attributes of what is imported from PySpark; those of objects are in no source."""
    used = set()
    for path in Path(spark_sim.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {
            alias.asname or alias.name: f"{node.module}:{alias.name}"
            for node in imports
            if (node.module or "").startswith("pyspark")
            for alias in node.names
        }
        used |= {name for name in names.values() if name.startswith("pyspark.java_gateway:") or ":_" in name}
        used |= {
            f"{names[node.value.id]}.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
            if node.attr.startswith("_") and not node.attr.startswith("__")
        }

    assert used == set(PRIVATE_NAMES)


@pytest.mark.spark
def test_the_server_of_accumulators_prints_no_traceback(spark, capfd):
    """It lost the JVM at a signal that ended both processes."""
    try:
        raise EOFError
    except EOFError:
        spark.sparkContext._accumulatorServer.handle_error(None, None)

    assert ("", "") == capfd.readouterr()


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ([ConnectionRefusedError(111, "Connection refused")], EngineError),
        ([Py4JNetworkError("Answer from Java side is empty")], EngineError),
        ([ConnectionResetError(), ResultFolderError("Spark cannot use out")], EngineError),
        ([KeyboardInterrupt(), ConnectionRefusedError()], KeyboardInterrupt),
        ([KeyboardInterrupt(), Py4JNetworkError(), ResultFolderError("Spark cannot use out")], KeyboardInterrupt),
        ([KeyboardInterrupt()], KeyboardInterrupt),
        ([ResultFolderError("out holds another sweep")], ResultFolderError),
    ],
    ids=lambda value: "-".join(type(each).__name__ for each in value) if isinstance(value, list) else None,
)
def test_what_follows_the_end_of_the_jvm_is_named_so(raised, expected):
    """It read "cannot write to out: Connection refused"; each error is raised while the one before is handled."""

    def fail(errors):
        *before, last = errors
        try:
            if before:
                fail(before)
        finally:
            raise last

    with pytest.raises(expected), lost_jvm_named():
        fail(raised)
