"""Python workers with a limit of memory: a unit that needs more ends the sweep with one line."""

import pytest

from streams_assignor.spark_sim.jobs.engine import EngineError
from streams_assignor.spark_sim.sweep.spark import executor
from streams_assignor.spark_sim.sweep.spark.session import spark_session
from streams_assignor.spark_sim.sweep.suites import broker_suite
from streams_assignor.spark_sim.sweep.sweep import run_sweep

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LIMIT, NEEDED = "2g", 3 << 30


@pytest.fixture(scope="module", autouse=True)
def spark():
    with spark_session("local[2]", print, {"spark.executor.pyspark.memory": LIMIT}) as session:
        yield session


def test_a_unit_that_needs_more_memory_than_a_worker_has_ends_the_sweep_with_one_line(tmp_path, monkeypatch):
    suite = broker_suite([("4.1", "4.2")], nodes=1, faults=0)

    def chunks_of_a_hungry_unit(task):
        from streams_assignor.spark_sim.sweep import worker  # of the worker's process

        worker._explore = lambda _unit: bytearray(NEEDED)
        return list(worker.row_chunks(task))

    with monkeypatch.context() as patch:
        patch.setattr(executor, "row_chunks", chunks_of_a_hungry_unit)
        with pytest.raises(
            EngineError, match=r"^a worker failed: MemoryError: the unit \S+ needs more memory"
        ) as raised:
            run_sweep(suite, tmp_path / "out", master="local[2]")

    assert 1 == len(str(raised.value).splitlines())
    assert not (tmp_path / "out" / "upgrades").exists()
