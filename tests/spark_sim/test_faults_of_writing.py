"""Every system call with which a command changes its results fails, or is the last one before a kill.

strace injects the fault into the main thread of the command: an error of the disk, no space left, or SIGKILL. Then a
reader sees the results of before, the new ones, or after a kill none; the same command makes them new.
"""

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from attrs import frozen
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.spark_sim.audit.job import RESULTS
from streams_assignor.spark_sim.sweep.suites import ResultFolderError, read_sweep
from streams_assignor.spark_sim.sweep.tables.schema import TABLES

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(7200)]

SEGMENTS = Path(__file__).parent / "audit" / "segments"
SWEEP = ("--from", "1.1", "--to", "2.0", "--plan", "offline", "--members", "1", "--runs", "1", "--master", "processes")
CHANGES = "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,write,pwrite64,ftruncate"
WRITES = {"write", "pwrite64", "fsync", "mkdir", "mkdirat"}
"""Calls that a full disk refuses."""
MOST_WRITES = 40


@frozen
class Case:
    """A command with results of before; ``names`` are its results, the main one last."""

    command: tuple[str, ...]
    names: tuple[str, ...]
    before: tuple[str, ...]
    """The command that makes results of before."""


CASES = {
    "audit": Case(
        ("audit", "--segments", str(SEGMENTS), "--processes", "1", "--out"),
        RESULTS.names,
        ("audit", "--segments", str(SEGMENTS), "--processes", "1", "--conform", "--no-commits", "--out"),
    ),
    "sweep": Case(
        ("sweep", *SWEEP, "--out"), (*TABLES, "guide.json", "report.html", "matrix.json"), ("sweep", *SWEEP, "--out")
    ),
    "report": Case(("report",), (*TABLES, "guide.json", "report.html", "matrix.json"), ("sweep", *SWEEP, "--out")),
}


def make(command, out):
    result = CliRunner().invoke(cli, [*command, str(out)])
    assert result.exit_code in {0, 1}, result.output


def state(case, out, whole):
    """Return which results a reader sees that requires the main file: those of ``before`` or ``after``, or none."""
    if not (out / case.names[-1]).exists():
        return "none"
    shown = content(out, case.names)
    return next((name for name, expected in whole.items() if shown == expected), f"a mixture: {sorted(shown)}")


def reading(out):
    """Return what a reader says of the tables of a sweep."""
    try:
        read_sweep(out)
    except ResultFolderError as error:
        return "not finished" if "is not finished" in str(error) else str(error)
    return "finished"


def content(out, names):
    """Return the bytes of the results; unit names of drafts change nothing."""
    return {
        str(each.relative_to(out)): each.read_bytes()
        for name in names
        for each in sorted([out / name, *(out / name).rglob("*")])
        if each.is_file()
    }


def traced(command, out, *options):
    """Run a command under strace in a child of this process, which has all modules; return its status and its calls.

    The status is negative if a signal ended it, and 70 if there was an exception.
    """
    log = out.parent / "strace.log"
    waiting, begin = os.pipe()
    if not (child := os.fork()):
        os.close(begin)
        os.read(waiting, 1)
        result = CliRunner().invoke(cli, [*command, str(out)])
        os._exit(result.exit_code if isinstance(result.exception, SystemExit | None) else 70)
    os.close(waiting)
    how = ["strace", "-y", "-s", "4096", "-o", str(log), "-p", str(child), "-e", f"trace={CHANGES}", *options]
    with subprocess.Popen(how, stderr=subprocess.PIPE, text=True) as strace:
        assert "attached" in strace.stderr.readline()
        os.write(begin, b"x")
        os.close(begin)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, log.read_text(errors="replace").splitlines()


def places(lines, out):
    """Return call and number of each call that changes something in the folder."""
    counts = Counter()
    for line in lines:
        if call := re.match(r"(\w+)\(", line):
            counts[call[1]] += 1
            if str(out) in line:
                yield call[1], counts[call[1]]


def sample(found):
    """Return all calls but those that write, which are hundreds: of them the first, the last and some between."""
    writes = [each for each in found if "write" in each[0]]
    kept = {*writes[:: max(1, len(writes) // MOST_WRITES)], *writes[-1:]}
    return [each for each in found if each in kept or each not in writes]


@pytest.mark.parametrize("fault", ["EIO", "ENOSPC", "SIGKILL"])
@pytest.mark.parametrize("name", CASES)
def test_a_fault_at_any_call_leaves_the_results_of_before_or_the_new_ones(tmp_path, name, fault):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    case, out, saved = CASES[name], tmp_path / "out", tmp_path / "saved"
    make(case.before, saved)
    if name != "audit":  # the same sweep gives the same bytes: those of before have a mark
        for each in ("report.html", *(("guide.json", "matrix.json") if name == "sweep" else ())):
            (saved / each).write_text((saved / each).read_text() + "\n")
    shutil.copytree(saved, out)
    whole = {"before": content(out, case.names)}
    status, lines = traced(case.command, out)
    assert status == 0
    whole["after"] = content(out, case.names)
    assert whole["before"] != whole["after"]
    found = sample([each for each in places(lines, out) if fault != "ENOSPC" or each[0] in WRITES])
    injected = "signal=SIGKILL" if fault == "SIGKILL" else f"error={fault}"
    seen = Counter()
    for call, number in found:
        shutil.rmtree(out)
        shutil.copytree(saved, out)
        status, _ = traced(case.command, out, "-e", f"inject={call}:{injected}:when={number}")
        at, now = (call, number, status), state(case, out, whole)
        seen[now] += 1
        if fault == "SIGKILL":
            assert status == -signal.SIGKILL, at
            assert now in {"before", "after", "none"}, at
        else:
            assert now == ("after" if status == 0 else "before"), at
            assert status in {0, 1, 2}, at
        assert name == "audit" or reading(out) in {"finished", "not finished"}, at
        make(case.command, out)
        assert state(case, out, whole) == "after", at
        assert not [each.name for each in out.iterdir() if each.name.startswith(".")], at
    print(f"{name}: {fault} at each of {len(found)} calls ({dict(Counter(call for call, _ in found))}): {dict(seen)}")
