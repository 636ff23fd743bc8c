"""Runs tests in forks of one process that has imported pytest and nothing of this project.

`python -m tests.lab.mutation.worker` in the copy of the tree that has the mutant. Each line of standard input is a run,
each line of standard output what came of it. A run is limited in time of CPU, not on the clock, which a busy machine
would use up.
"""

import gc
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import _hypothesis_pytestplugin
import attrs
import click
import hypothesis.stateful
import pytest
import pytest_cov.plugin
import pytest_timeout
import rich
import xdist.plugin

_PRELOADED = (_hypothesis_pytestplugin, attrs, click, hypothesis.stateful, pytest_cov, pytest_timeout, rich, xdist)
_ARGUMENTS = (
    *(
        "-n0",
        "--dist=no",  # else pytest-cov takes the run for a distributed one, and notes no test
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        "--no-header",
    ),
    *("-p", "xdist.plugin", "-p", "pytest_timeout", "-p", "pytest_cov", "-p", "_hypothesis_pytestplugin"),
)
NO_END = -1
"""The run used up its time, or Python crashed."""
_SECONDS_MORE, _TIMES_MORE = 20, 10
"""So much longer than before a test may take: a loop without an end is found soon."""
_MEMORY = 6 << 30
"""Bytes of addresses: a loop without an end may not fill the machine."""


class _Selection:
    """Keeps the tests of a run, the fastest first, and notes what became of each."""

    def __init__(self, only: list[str] | None, without: list[str], seconds: dict[str, float]) -> None:
        self._only, self._without, self._seconds = only, set(without), seconds
        self.durations: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        only = {item.nodeid for item in items} if self._only is None else set(self._only)
        items[:] = [item for item in items if item.nodeid in only - self._without]
        items.sort(key=lambda item: self._seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if nodeid in self._seconds:
            used, (_, most) = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)
            then = used.ru_utime + used.ru_stime + _SECONDS_MORE + _TIMES_MORE * self._seconds[nodeid]
            resource.setrlimit(resource.RLIMIT_CPU, (min(int(then), most), most))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def _child(run: dict[str, Any], answer: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (run["cpu"], run["cpu"] + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.dont_write_bytecode = not run.get("write_bytecode", False)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    selection = _Selection(run.get("only"), run.get("without", []), run.get("seconds", {}))
    code = pytest.main([*_ARGUMENTS, *run["arguments"]], plugins=[selection])
    came = {"code": int(code), "failed": selection.failed, "durations": selection.durations}
    os.write(answer, json.dumps(came).encode())
    os._exit(0)


def _run(run: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        try:
            _child(run, writing)
        finally:
            os._exit(70)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if not text and not os.WIFSIGNALED(status):
        raise RuntimeError(f"expected an answer or a signal, received status {status} for {run}")
    came = json.loads(text) if text else {"code": NO_END, "failed": [], "durations": {}}
    return came | {"cpu": usage.ru_utime + usage.ru_stime}


def main() -> None:
    """Answer each line until the input ends."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(Path.cwd()))
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
