"""A test on the embedded cluster that fails because the machine had no time for it is run again.

librdkafka's mock ends a rebalance by the clock, even without some members, and removes members that are silent for two
seconds (``assignor.clients.mock_cluster``). Longer sessions would make every rebalance longer, so what is watched is
whether threads of this process get a processor: if they did, a failure is a failure.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from _pytest.runner import runtestprotocol  # what every plugin that repeats tests calls

ATTEMPTS = 4
LATE_SECONDS = 0.1  # a fraction of what the mock allows; on a machine with nothing else to do it is a tenth of that
_HERE = Path(__file__).parent
_ON_THE_MOCK = {_HERE / "clients", _HERE / "test_bounce.py", _HERE / "test_member_process.py"}


@contextmanager
def lateness() -> Iterator[list[float]]:
    """How many seconds too late a sleeping thread was woken, each time."""
    late, ended = [0.0], Event()

    def watch() -> None:
        while not ended.is_set():
            before = time.monotonic()
            time.sleep(LATE_SECONDS / 10)
            late.append(time.monotonic() - before - LATE_SECONDS / 10)

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield late
    finally:
        ended.set()
        watching.join()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not _ON_THE_MOCK & {item.path, *item.path.parents}:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, ATTEMPTS + 1):
        with lateness() as late:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if attempt == ATTEMPTS or max(late) < LATE_SECONDS or not any(report.failed for report in reports):
            break
        item.warn(pytest.PytestWarning(f"run again, as the machine was {max(late):.1f} s late"))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
