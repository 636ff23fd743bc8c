"""Some of Kafka's system tests beside a member of ours; the others: ``python -m tests.lab.kafka_system_tests``."""

import pytest

from tests.lab.integration.clusters import NEWEST
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.kafka_system_tests.cases import CASES
from tests.lab.kafka_system_tests.measure import PYTHON, Result, run


def _run(name: str) -> Result:
    try:
        return run(CASES[name], PYTHON)
    except Unavailable as missing:
        pytest.skip(f"no test classes of Kafka: {missing}")


@pytest.mark.java
@pytest.mark.matrix(
    reason="real groups are probed in test_real_broker.py; this one waits for the lines of Kafka's own test"
)
def test_version_probing_as_kafka_tests_it():
    result = _run(f"test_version_probing_upgrade, {NEWEST}, ours 2")

    assert ("", 34) == (result.outcome, result.awaited)
    assert result.led < result.generations


@pytest.mark.java
@pytest.mark.matrix(reason="the slowest of the tests with standby tasks; only this one has all restarts of Kafka's own")
def test_standby_tasks_as_kafka_tests_them():
    result = _run(f"test_standby_tasks_rebalance, {NEWEST}")

    assert "" == result.outcome
    assert result.led
