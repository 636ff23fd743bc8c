"""The requests of the page of ``streams-assignor web`` to Python, in a browser or not: each answer is plain values.

A command runs as the console script would run it, so output, errors and exit status are its own.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

from streams_assignor.cli.lazy_group import run_script
from streams_assignor.cli.main import cli

_FOLDERS: Final = "__consumer_offsets-"


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Run a command line and return what it prints, and its exit status.

    >>> run(["release", "7.0-typo"])["status"]
    2
    """
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    status: Any = 0
    sys.argv = ["streams-assignor", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run_script(cli)
    except SystemExit as ended:
        status = ended.code
    finally:
        sys.argv = before
    return {"status": status, "stdout": out.getvalue(), "stderr": err.getvalue()}


def plan(arguments: Sequence[str]) -> dict[str, Any]:
    """Run ``plan`` with JSON as its output; ``runbook`` is the same plan as ``-o markdown`` prints it."""
    result = run(["plan", "--json", *arguments])
    if result["stdout"]:
        from streams_assignor.cli.plan.markdown import runbook

        result["runbook"] = runbook(json.loads(result["stdout"]))
    return result


def replay(scenario: str) -> dict[str, Any]:
    """Run ``replay`` with JSON as its output; ``view`` is the drawing of its trace that all pages have."""
    result = run(["replay", "--json", "--", scenario])
    if result["stdout"]:
        from streams_assignor.spark_sim.sweep.report.trace_view import trace_view

        result["view"] = trace_view(json.loads(result["stdout"])["steps"])
    return result


def releases() -> list[str]:
    """Return the names of the published releases, the oldest first."""
    from streams_assignor.upgrade.releases import RELEASES

    return [name for name, release in RELEASES.items() if release.is_released]


def matrix_row(origin: str, targets: Sequence[str]) -> list[dict[str, Any] | None]:
    """Return headline, verdict and plan of the upgrades from a release to others; None for itself."""
    from streams_assignor.cli.plan.text import group_headline
    from streams_assignor.upgrade.patch_levels import advise_between, is_same_release
    from streams_assignor.upgrade.releases import resolve_release

    start = resolve_release(origin, None)
    row: list[dict[str, Any] | None] = []
    for name in targets:
        end = resolve_release(name, None)
        if is_same_release(start, end):
            row.append(None)
            continue
        advice = advise_between(start, end)
        plain = {"if_met": None, **advice.as_json()}
        kept = {name: plain[name] for name in ("verdict", "plan", "if_met")}
        row.append(kept | {"headline": group_headline(advice), "steps": len(plain["steps"])})
    return row


def audit(folder: str, on_progress: Callable[[int, int], None] = lambda _done, _all: None) -> dict[str, Any]:
    """Audit what was dropped into a folder: ``__consumer_offsets-N`` folders, or one file with a dump."""
    from streams_assignor.spark_sim.audit.in_memory import audit_in_memory
    from streams_assignor.spark_sim.audit.sources import SourceError, dump_source, segments_source

    entries = sorted(Path(folder).iterdir())
    try:
        is_dump = len(entries) == 1 and entries[0].is_file() and entries[0].suffix != ".log"
        source = dump_source(entries[0]) if is_dump else segments_source(_above_partitions(Path(folder)))
        return {"status": 0, "stdout": json.dumps(audit_in_memory(source, on_progress)), "stderr": ""}
    except ModuleNotFoundError as error:  # PyArrow decompresses what Python does not
        needs = f"expected batches without compression or with gzip, got some that need {error.name}"
        return _failed(f"{needs}: streams-assignor audit reads them")
    except SourceError as error:
        return _failed(str(error))


def _failed(message: str) -> dict[str, Any]:
    return {"status": 2, "stdout": "", "stderr": f"Error: {message}\n"}


def _above_partitions(folder: Path) -> Path:
    """Return the folder that has the partitions: who drops a copy drops the folders above it, too."""
    waiting = [folder]
    for current in waiting:
        folders = [entry for entry in sorted(current.iterdir()) if entry.is_dir()]
        if any(entry.name.startswith(_FOLDERS) for entry in folders):
            return current
        waiting += folders
    return folder


def answer(request: str, folder: str, on_progress: Callable[[int, int], None] = lambda _done, _all: None) -> str:
    """Answer a request of the page, as JSON; its files are in ``folder``, in which commands run."""
    asked = json.loads(request)
    before = Path.cwd()
    os.chdir(folder)
    try:
        call = asked["call"]
        if call == "audit":
            return json.dumps(audit(".", on_progress))
        return json.dumps(_CALLS[call](*asked["arguments"]))
    finally:
        os.chdir(before)


_CALLS: Final[dict[str, Callable[..., Any]]] = {
    "matrix_row": matrix_row,
    "plan": plan,
    "releases": releases,
    "replay": replay,
    "run": run,
}
