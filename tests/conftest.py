"""The common part of all tests."""

import gc
import os
import re
import signal
from collections.abc import Generator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import TIMEOUT_MAX

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.left_out import pytest_deselected, pytest_terminal_summary, pytest_testnodedown
from tests.peers_required import pytest_make_collect_report, pytest_runtest_makereport

__all__ = [
    "pytest_deselected",
    "pytest_make_collect_report",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]  # hooks: pytest looks for them here

SIMULATIONS = Path(__file__).parent / "spark_sim"
"""All of its tests are `chance`."""
UNMEASURED = tuple(
    Path(__file__).parent / name
    for name in (
        "assignor/cli/roll",
        "assignor/cli/test_assign.py",
        "assignor/cli/test_audit_table.py",
        "assignor/cli/test_brokers.py",
        "assignor/cli/test_cli.py",
        "assignor/cli/test_commands.py",
        "assignor/cli/test_conform.py",
        "assignor/cli/test_in_browser.py",
        "assignor/cli/test_interrupts.py",
        "assignor/cli/test_kafka_tools_page.py",
        "assignor/cli/test_plan_html.py",
        "assignor/cli/test_plan_markdown.py",
        "assignor/cli/test_plan_sarif.py",
        "assignor/cli/test_plan_terminal.py",
        "assignor/cli/test_plan_text.py",
        "assignor/cli/test_public_reports.py",
        "assignor/cli/test_release.py",
        "assignor/cli/test_release_diff.py",
        "assignor/cli/test_roll_cluster.py",
        "assignor/cli/test_roll_live.py",
        "assignor/cli/test_safe_output.py",
        "assignor/cli/test_signals.py",
        "assignor/cli/test_userdata.py",
        "assignor/demo",
        "assignor/task_assignors/test_convergence.py",
        "assignor/web",
        "lab/integration",
        "probing/test_rolling_bounces.py",
        "subscription_codec/test_vectors.py",
        "test_architecture.py",
        "test_docs.py",
        "test_java_ci_page.py",
        "test_peers_required.py",
        "test_swallowed_errors.py",
        "test_vocabulary.py",
        "upgrade/hazards/test_way_back.py",
        "upgrade/test_streams_group_plans.py",
    )
)
"""Files of whole commands, pages, documents and searches: a branch has its example elsewhere, so they run untraced."""
UNMEASURED_WORDS = re.compile(rb"each_measured|hypothesis|mark\.unmeasured|mark\.chance")
"""A file outside of these has one of the words if a test of it is not measured."""
WITH_REASON = ("clock", "matrix")
"""Markers that say why a test is not in the gate."""

# On a fresh machine the first text that Hypothesis draws builds its tables of Unicode, which takes seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("wander", settings.get_profile("patient"), max_examples=1_500)
# The gate draws the same 25 in each run, so that a change is judged by what it changes; the nightly run a hundred.
settings.register_profile("quick", settings.get_profile("patient"), max_examples=25)
settings.register_profile("gate", settings.get_profile("quick"), derandomize=True)
settings.register_profile("nightly", settings.get_profile("patient"))
settings.load_profile("quick")

# Tests start hundreds of processes: the first compiles the packages for all of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that runs the tests in the background makes them deaf to Ctrl-C, and nohup to SIGHUP, and with them all that
# they start: a test that closed a terminal waited for ever.
with suppress(ValueError):  # not the main thread
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_signal: None)


@pytest.fixture(autouse=True, scope="session")
def fixture_no_progress() -> None:
    """On a slow machine a command prints no lines that a test does not expect."""
    from streams_assignor.formats import progress  # not before the coverage of its imports is measured

    progress.FIRST_SECONDS = TIMEOUT_MAX


def pytest_sessionstart() -> None:
    """Trace processes that tests start in the nightly run only: pure packages have their examples without them."""
    if not os.environ.get("COVERAGE_FILE", "").endswith(".nightly"):
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Use one worker more than there are cores where tests wait for processes: two left a tenth of both idle."""
    return (os.cpu_count() or 1) + 1 if config.option.markexpr.startswith("(chance or unmeasured)") else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files without a test of the part that is asked for: two workers would read all of them twice."""
    if collection_path.suffix != ".py" or Path(__file__).parent not in collection_path.parents:
        return None
    expression = config.option.markexpr
    if expression.startswith("not (chance or unmeasured)"):
        return _is_unmeasured(collection_path) or SIMULATIONS in collection_path.parents or None
    return (expression.startswith("(chance or unmeasured)") and not _may_be_unmeasured(collection_path)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _left_to_chance(item):
            item.add_marker("chance")
        if _is_unmeasured(item.path):
            item.add_marker("unmeasured")
        is_measured = not (item.get_closest_marker("chance") or item.get_closest_marker("unmeasured"))
        if not (is_measured or _may_be_unmeasured(item.path)):
            raise pytest.UsageError(f"{item.nodeid}: expected {UNMEASURED_WORDS.pattern} in its file")
        for marker in filter(None, map(item.get_closest_marker, WITH_REASON)):
            if not marker.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid}: expected {marker.name}(reason=...), received {marker}")
    # Tests marked `gate` start brokers, Spark and members, and wait: at the end nothing would run beside them.
    items.sort(key=lambda item: item.get_closest_marker("gate") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without garbage collection: 19,000 tests stay, and a look through them takes a third of the time."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def _is_unmeasured(path: Path) -> bool:
    return any(map(path.is_relative_to, UNMEASURED))


@cache
def _may_be_unmeasured(path: Path) -> bool:
    """Whether a file can have a test that is not measured, as far as its text tells."""
    if _is_unmeasured(path) or SIMULATIONS in path.parents:
        return True
    return bool(UNMEASURED_WORDS.search(path.read_bytes()))


def _left_to_chance(item: pytest.Item) -> bool:
    """Whether other branches are passed in each run, or on the way to something else: they count for nothing."""
    return is_hypothesis_test(getattr(item, "obj", None)) or SIMULATIONS in item.path.parents


def _import_share(config: pytest.Config) -> None:
    """Import a worker's share of the test files before all others: each would rewrite the assertions of all of them."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    folders = [config.rootpath / name for name in config.args]
    paths = [path for folder in folders for path in sorted(folder.rglob("test_*.py"))]
    first = int(worker["workerid"].removeprefix("gw"))
    for path in [path for path in paths if not pytest_ignore_collect(path, config)][first :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # collection says it
            import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))
