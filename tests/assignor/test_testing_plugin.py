"""The pytest plug-in, each time in a process of its own, as in the project of a user."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/testing.md"

MISTAKES = """
import pytest

@pytest.mark.mock_cluster(topic={"orders": 3})
def test_a_wrong_argument(mock_cluster): ...

@pytest.mark.mock_cluster(brokers=0)
def test_no_broker(mock_cluster): ...

@pytest.mark.mock_cluster(topics=["orders"])
def test_no_counts(mock_cluster): ...

@pytest.mark.mock_cluster(topics={"orders": "3"})
def test_no_number(mock_cluster): ...
"""
WITHOUT_LIBRARY = """
import sys

sys.modules["confluent_kafka"] = None

def test_it(mock_cluster): ...
"""
UNUSED = """
import sys

def test_it():
    ours = {name for name in sys.modules if name.partition(".")[0] == "streams_assignor"}
    assert {"streams_assignor", "streams_assignor.testing_plugin"} == ours
    assert not {"attr", "click", "confluent_kafka", "kafka", "pyspark", "rich"} & {*sys.modules}
"""


def programs() -> list[str]:
    return re.findall(r"^```python\n(.+?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def run(folder: Path, program: str) -> str:
    """Run a test file as a user does; return what pytest prints."""
    (folder / "test_it.py").write_text(program)
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_the_tests_of_its_page_pass(tmp_path: Path) -> None:
    tests = [each for each in programs() if "mock_cluster" in each]
    output = run(tmp_path, "\n".join(tests))

    assert len(tests) == 2
    assert re.search(r"^2 passed", output, re.MULTILINE), output


@pytest.mark.spark
def test_the_test_of_a_spark_job_on_its_page_passes() -> None:
    from streams_assignor.spark_sim.sweep.spark.session import spark_session

    (program,) = (each for each in programs() if "spark" in each)
    known: dict[str, Any] = {}
    exec(program, known)
    with spark_session("local[1]", print, {}) as spark:
        known["test_it_adds_up_the_orders_of_each_customer"](spark)


def test_a_mistake_is_a_sentence_of_the_test_that_made_it(tmp_path: Path) -> None:
    output = run(tmp_path, MISTAKES)

    for expected in (
        "mock_cluster: MockCluster.__init__() got an unexpected keyword argument 'topic'",
        "mock_cluster: a cluster has at least one broker, not 0",
        "mock_cluster: expected topics as names with partition counts, {'orders': 3}, got ['orders']",
        "mock_cluster: topic 'orders' has at least one partition, not '3'",
    ):
        assert f"\n{expected}\n" in output
    assert "4 errors" in output
    assert "Traceback" not in output
    assert "Error\n" not in output


@pytest.mark.slow
def test_a_missing_library_is_a_sentence_with_its_command(tmp_path: Path) -> None:
    output = run(tmp_path, WITHOUT_LIBRARY)

    assert (
        "mock_cluster: the embedded cluster is part of confluent-kafka: pip install 'streams-assignor[confluent]'"
        in (output)
    )


@pytest.mark.slow
def test_it_loads_nothing_but_itself_until_it_is_used(tmp_path: Path) -> None:
    output = run(tmp_path, UNUSED)

    assert "1 passed" in output, output
