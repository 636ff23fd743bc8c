"""What all tests share."""

import signal
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.chosen_files import SIMULATIONS, pytest_ignore_collect, require_names
from tests.peers_required import pytest_make_collect_report, pytest_runtest_makereport
from tests.processes import longest_first, pytest_xdist_auto_num_workers, pytest_xdist_make_scheduler

__all__ = [
    "pytest_ignore_collect",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_xdist_auto_num_workers",
    "pytest_xdist_make_scheduler",
]  # hooks: pytest looks for them here

# On a fresh machine the first text that Hypothesis draws builds its tables of Unicode, which takes seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("wander", settings.get_profile("patient"), max_examples=1_500)
# CI draws the usual hundred (`ci`). `pytest` alone is to take three minutes, and draws other ones in each run.
settings.register_profile("quick", settings.get_profile("patient"), max_examples=25)
settings.register_profile("tox", settings.get_profile("quick"), derandomize=True)
settings.load_profile("quick")

# A shell that runs the tests in the background makes them deaf to Ctrl-C, and with them all that they start.
with suppress(ValueError):  # not the main thread
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _left_to_chance(item):
            item.add_marker("chance")
        if (marker := item.get_closest_marker("matrix")) and not marker.kwargs.get("reason"):
            raise pytest.UsageError(f"{item.nodeid}: expected matrix(reason=...), received {marker}")
    require_names(items)
    longest_first(items)


def _left_to_chance(item: pytest.Item) -> bool:
    """Whether other branches are passed in each run, or on the way to something else: they count for nothing."""
    return is_hypothesis_test(getattr(item, "obj", None)) or SIMULATIONS in item.path.parents
