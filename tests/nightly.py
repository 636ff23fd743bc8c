"""Everything that the gate leaves out: ``tox -e nightly``, or parts of it: ``tox -e nightly -- peers chaos``.

The parts are independent: one that fails does not stop the others. What came of each replaces its row in a JSON file.
With ``--out tests/nightly.json`` and then ``python docs/tables.py`` it is the table of the verification page.
Nothing is run a second time. Exit status 1 if a part failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from attrs import asdict, field, frozen

from tests.peers_required import VARIABLE

ROOT: Final = Path(__file__).parent.parent
Command = tuple[str, ...]
_ALWAYS_LEFT_OUT: Final = "bench or exhaustive or kafka_tests"
_WITHOUT_PEERS: Final = f"not ({_ALWAYS_LEFT_OUT} or broker or java or matrix)"
_PYTEST: Final = (sys.executable, "-m", "pytest", "--durations=20", "--durations-min=10")
_COVERAGE: Final = (sys.executable, "-m", "coverage", "report")
_COVER: Final = ("--cov", "--cov-report=", "--cov-append")
_HOURS: Final = 4
"""After which a part is ended and has failed."""


@frozen
class Part:
    """A part of the run: its commands, all of which are run, and what it is for."""

    about: str
    commands: tuple[Command, ...]


def _with_dependencies(resolution: str) -> tuple[Command, ...]:
    """Return the commands that run the tests of the command lines and of tables with another choice of dependencies.

    Also the names that PySpark does not document are looked up: a release may have others.
    """
    uv, python = (shutil.which("uv") or "uv",), f".tox/nightly-{resolution}/bin/python"
    return (
        (*uv, "venv", "--quiet", "--clear", "--python", sys.executable, f".tox/nightly-{resolution}"),
        (*uv, "pip", "install", "--quiet", "--python", python, "--resolution", resolution, "-e", ".[all,test]"),
        (
            *(python, *_PYTEST[1:], "tests/assignor/cli", "tests/spark_sim/sweep/spark/test_session.py"),
            "tests/spark_sim/sweep/test_parquet.py",
        ),
    )


PARTS: Final[Mapping[str, Part]] = {
    "examples": Part(
        "the gate's examples, those that are slow, wait for clocks or start Spark",
        ((*_PYTEST, *_COVER, "-m", f"not chance and {_WITHOUT_PEERS}"),),
    ),
    "chance": Part(
        "Hypothesis with a hundred draws, and simulations",
        ((*_PYTEST, "--hypothesis-profile=nightly", "-m", f"chance and {_WITHOUT_PEERS}"),),
    ),
    "peers": Part(
        "Kafka's jars, brokers, Java members, storages of Spark",
        ((*_PYTEST, *_COVER, "-m", f"(broker or java) and not (matrix or {_ALWAYS_LEFT_OUT})"),),
    ),
    "matrix": Part(
        "further releases, brokers, readers, stores and seeds",
        ((*_PYTEST, *_COVER, "-m", f"matrix and not ({_ALWAYS_LEFT_OUT})"),),
    ),
    "containers": Part(
        "brokers in containers, with TLS and SCRAM, and the image of this project; starts an engine if there is none",
        (
            (
                *(sys.executable, "-m", "tests.lab.integration.engine", *_PYTEST, "-n0"),
                *("-m", f"broker and not ({_ALWAYS_LEFT_OUT})", "tests/lab/integration/test_containers.py"),
                *("tests/lab/integration/test_operator_image.py", "tests/lab/integration/test_security.py"),
            ),
        ),
    ),
    "coverage": Part(
        "the branches that examples, peers and matrix covered",
        (
            (*_COVERAGE, "--fail-under=100", "--omit=assignor/clients/*"),
            (*_COVERAGE, "--fail-under=97", "--include=assignor/clients/*"),
        ),
    ),
    "libraries": Part(
        "published libraries on four releases: each reference to Kafka, and a run of the constructors",
        ((sys.executable, "-m", "tests.lab.linkage"),),
    ),
    "kafka-tests": Part(
        "unit tests of Kafka and group tests of kafka-python judge this project",
        ((*_PYTEST, "-n0", "-m", "kafka_tests", "tests/lab/kafka_unit_tests", "tests/lab/client_group_tests"),),
    ),
    "system-tests": Part(
        "Kafka's system tests on 4.3.1 with a member of this project, one of each kind",
        (
            (
                *(sys.executable, "-m", "tests.lab.kafka_system_tests", "--python"),
                *("--only", "test_rolling_upgrade_with_2_bounces, 4.3.1, origin 2.4.1"),
                *("--only", "test_upgrade_downgrade_state_updater, 4.3.1, origin 3.2.3"),
                *("--only", "test_rolling_bounces_will_not_trigger_rebalance_under_static_membership, 4.3.1"),
                *("--only", "test_streams_should_failover_while_brokers_down"),
                *("--only", "test_app_upgrade, 4.3.1, origin 3.9.2"),
            ),
        ),
    ),
    "chaos": Part(
        "two live groups under load while members, brokers, network and clocks fail, and one that `roll` upgrades",
        (
            (sys.executable, "-m", "tests.lab.chaos", "--faults", "4", "--seed", "1"),
            (sys.executable, "-m", "tests.lab.chaos", "--faults", "4", "--seed", "2", "--worker", "exactly-once"),
            (
                *(sys.executable, "-m", "tests.lab.chaos", "--faults", "8", "--seed", "3", "--worker", "exactly-once"),
                *("--roll", "2.8.2", "--java", "4.3.1", "--java-members", "3"),
            ),
        ),
    ),
    "hostile": Part(
        "broken brokers, secrets, hostile names in a browser, killed runs",
        (
            (
                *(*_PYTEST, "-n0", "-m", "exhaustive", "tests/lab/integration/test_broken_brokers.py"),
                *(
                    "tests/lab/integration/test_secrets_of_commands.py",
                    "tests/spark_sim/sweep/report/test_hostile_names.py",
                ),
                "tests/spark_sim/sweep/test_killed_runs.py",
            ),
        ),
    ),
    "damaged": Part(
        "segments: an eighth of the damaged ones of the verification page, and all whose checksums were repaired",
        (
            (sys.executable, "-m", "tests.spark_sim.audit.damaged_segments", "--mutants", "10000"),
            (sys.executable, "-m", "tests.spark_sim.audit.segment_mutants", "--mutants", "100000"),
        ),
    ),
    "fuzz": Part(
        "an hour of mutated class files, archives, settings, topologies and journals: read or refused, in bounded work",
        ((sys.executable, "-m", "tests.lab.fuzz.files", "--seconds", "3600"),),
    ),
    "lowest": Part("the command lines and tables with the lowest dependencies", _with_dependencies("lowest-direct")),
    "pyodide": Part(
        "the pure packages on Python 3.14, compiled to WebAssembly, under Node",
        ((sys.executable, "-m", "tests.assignor.web.in_node"),),
    ),
    "newest": Part("the command lines and tables with the newest dependencies", _with_dependencies("highest")),
}


@frozen
class Result:
    """What came of a part: tests of pytest; commands where a part has no pytest, or where one of the others fails."""

    part: str
    commit: str
    date: str
    passed: int
    failed: int
    skipped: Mapping[str, int]
    """How many tests for which reason."""
    seconds: int
    failures: Sequence[str] = field(factory=tuple)


def run(name: str, environment: Mapping[str, str]) -> Result:
    """Run all commands of a part."""
    started, counts, skipped, failures = time.monotonic(), Counter[str](), Counter[str](), list[str]()
    for command in PARTS[name].commands:
        print(f"nightly {name}: {' '.join(command)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "junit.xml")
            with_report = (*command, f"--junit-xml={report}") if "pytest" in command else command
            status = _status(with_report, environment)
            found = list(_outcomes(report)) if report.exists() else []
        for outcome, test, reason in found:
            counts[outcome] += 1
            skipped.update([reason] if outcome == "skipped" else ())
            failures.extend([test] if outcome == "failed" else ())
        if status and not any(outcome == "failed" for outcome, _, _ in found):  # it ended before its tests did
            counts["failed"] += 1
            failures.append(f"status {status}: {_in_words(command)}")
        elif not status and not _has_pytest(name):
            counts["passed"] += 1
    return Result(
        part=name,
        commit=_git("rev-parse", "--short", "HEAD") + ("" if not _git("status", "--porcelain") else ", changed"),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=dict(sorted(skipped.items())),
        seconds=round(time.monotonic() - started),
        failures=tuple(failures),
    )


def _in_words(command: Command) -> str:
    """Return a command as it is typed: rows of the file are published, and name no folder of this machine.

    >>> _in_words((sys.executable, "-m", "coverage", "report"))
    'python -m coverage report'
    """
    return " ".join("python" if word == sys.executable else word for word in command)


def _has_pytest(name: str) -> bool:
    return any("pytest" in command for command in PARTS[name].commands)


def _status(command: Command, environment: Mapping[str, str]) -> int:
    try:
        return subprocess.run(command, cwd=ROOT, env=environment, timeout=_HOURS * 3600, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"ended after {_HOURS} hours", flush=True)
        return 124


def _outcomes(report: Path) -> Iterator[tuple[str, str, str]]:
    """Yield outcome, test and reason of each test of a JUnit file."""
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            yield "failed", test, ""
        elif (skip := case.find("skipped")) is not None:
            yield "skipped", test, skip.get("message", "")
        else:
            yield "passed", test, ""


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def environment() -> dict[str, str]:
    """Return the variables of the commands: with Java and Maven a peer that is missing is a failure."""
    has_java = bool(shutil.which("java") or os.environ.get("JAVA_HOME")) and bool(shutil.which("mvn"))
    required = {VARIABLE: "1"} if has_java else {}
    return {**os.environ, "COVERAGE_FILE": str(ROOT / ".coverage.nightly"), **required}


def merged(path: Path, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the rows of a file with the results in place of those of the same parts, in the order of the parts."""
    rows = {row["part"]: row for row in (json.loads(path.read_text()) if path.exists() else [])}
    rows |= {result.part: asdict(result) for result in results}
    return [rows[part] for part in PARTS if part in rows]


def main(arguments: Sequence[str] | None = None) -> int:
    about = "\n".join(f"  {name:<13} {part.about}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="tests.nightly",
        description=f"{__doc__}\nParts:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="all parts without it")
    parser.add_argument("--out", type=Path, default=ROOT / "nightly.json", help="default: %(default)s")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.parts if name not in PARTS]:
        parser.error(f"expected {', '.join(PARTS)}, received {', '.join(unknown)}")
    results = []
    for name in chosen.parts or PARTS:
        results.append(run(name, environment()))
        chosen.out.write_text(json.dumps(merged(chosen.out, results), indent=1) + "\n")
    for result in results:
        skips = sum(result.skipped.values())
        print(f"{result.part}: {result.passed} passed, {result.failed} failed, {skips} skipped in {result.seconds} s")
    return any(result.failed for result in results)


if __name__ == "__main__":
    sys.exit(main())
