"""How many processes run the tests, which tests share one, and which start first."""

from collections.abc import Generator
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

ON_SPARK = "::TestOnSpark::"
"""In the ids of tests that share a Spark session, and so a process: to start Spark costs ten seconds."""
_LONGEST = frozenset(
    Path(__file__).parent / "assignor" / "clients" / name / "test_partition_assignor.py"
    for name in ("kafka_python", "aiokafka")
)
"""Files that wait for the clock of a mock cluster, one to two minutes."""


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Twice as many as there are processors: half of the tests wait, for mock clusters, brokers and sessions to expire.

    Three on two processors kept one and a half of them busy (2026-11-24). Tests of named files run in this process:
    three would import all libraries three times.
    """
    processors = yield
    return 0 if all(Path(argument.split("::")[0]).is_file() for argument in config.args) else 2 * processors


class _Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return ON_SPARK if ON_SPARK in nodeid else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """All tests of a file share a process, and so a broker; those of classes `TestOnSpark` share one as well."""
    return _Scheduling(config, log)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort the tests by what takes longest, which at the end would leave the other processes with nothing to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (ON_SPARK not in item.nodeid, item.path not in slow, item.path not in _LONGEST))
