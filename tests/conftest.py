"""What all tests share."""

import signal
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.peer_files import pytest_ignore_collect, require_names
from tests.peers_required import pytest_make_collect_report, pytest_runtest_makereport

__all__ = [
    "pytest_ignore_collect",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
]  # hooks: pytest looks for them here
_SIMULATIONS = Path(__file__).parent / "spark_sim"

# On a fresh machine the first text that Hypothesis draws builds its tables of Unicode, which takes seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("wander", settings.get_profile("patient"), max_examples=1_500)  # its default is 100
settings.load_profile("patient")

# A shell that runs the tests in the background makes them deaf to Ctrl-C, and with them all that they start.
with suppress(ValueError):  # not the main thread
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """One more than there are processors: one test always waits for the clock of a mock cluster.

    Beside real peers twice as many: four on two processors kept one and a half of them busy, as these tests wait for
    sessions to expire and for brokers to start (2026-11-24).
    """
    processors, chosen = (yield), config.option.markexpr
    return 2 * processors if "(java or broker)" in chosen else processors + ("not broker" in chosen)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if _left_to_chance(item):
            item.add_marker("chance")
        if (marker := item.get_closest_marker("matrix")) and not marker.kwargs.get("reason"):
            raise pytest.UsageError(f"{item.nodeid}: expected matrix(reason=...), received {marker}")
    require_names(items)
    if hasattr(config, "workerinput"):  # the longest last would leave the other workers with nothing to do
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


def _left_to_chance(item: pytest.Item) -> bool:
    """Whether other branches are passed in each run, or on the way to something else: they count for nothing."""
    return is_hypothesis_test(getattr(item, "obj", None)) or _SIMULATIONS in item.path.parents
