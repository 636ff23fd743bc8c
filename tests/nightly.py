"""Everything that the gate leaves out: ``tox -e nightly``, or parts of it: ``tox -e nightly -- peers chaos``.

The parts are independent: one that fails does not stop the others. What came of each replaces its row in a JSON file.
With ``--out tests/nightly.json`` and then ``python docs/tables.py`` it is the table of the verification page.
Nothing is run a second time. Exit status 1 if a part failed.

The large parts have shards, one for the tests of a folder: ``peers:tests/upgrade/roll``. ``--due MINUTES`` runs shards
that were never run, and then those whose code has most commits since, as long as they fit: any hour spent on it counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from attrs import asdict, field, frozen

ROOT: Final = Path(__file__).parent.parent
Command = tuple[str, ...]
_ALWAYS_LEFT_OUT: Final = "bench or exhaustive or kafka_tests"
_WITHOUT_PEERS: Final = f"not ({_ALWAYS_LEFT_OUT} or broker or java or matrix)"
_PYTEST: Final = (sys.executable, "-m", "pytest", "--durations=20", "--durations-min=10")
_COVERAGE: Final = (sys.executable, "-m", "coverage", "report")
_COVER: Final = ("--cov", "--cov-report=", "--cov-append")
_EACH_TEST_IS: Final = r"^pytestmark = [^\n\[]*(?:\[[^\]]*)?mark\."
_HOURS: Final = 4
"""After which a part is ended and has failed."""


@frozen
class Part:
    """A part of the run: its commands, all of which are run, and what it is for."""

    about: str
    commands: tuple[Command, ...]
    shards_with: str | None = None
    """The pattern of a file that can have tests of it, with its path before its text; None if it has no shards."""
    seconds: int = 300
    """The time that it may take, if it was never run."""


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
        shards_with=rf"\A(?!tests/spark_sim/|.*{_EACH_TEST_IS}(?:broker|exhaustive|java|matrix)\b)",
    ),
    "chance": Part(
        "Hypothesis with a hundred draws, and simulations",
        ((*_PYTEST, "--hypothesis-profile=nightly", "-m", f"chance and {_WITHOUT_PEERS}"),),
        shards_with=r"\Atests/spark_sim/|^(?:from|import) hypothesis|mark\.chance",
    ),
    "peers": Part(
        "Kafka's jars, brokers, Java members, storages of Spark",
        ((*_PYTEST, *_COVER, "-m", f"(broker or java) and not (matrix or {_ALWAYS_LEFT_OUT})"),),
        shards_with=rf"\A(?!.*{_EACH_TEST_IS}(?:exhaustive|matrix)\b).*mark\.(?:broker|java)\b",
    ),
    "matrix": Part(
        "further releases, brokers, readers, stores and seeds",
        ((*_PYTEST, *_COVER, "-m", f"matrix and not ({_ALWAYS_LEFT_OUT})"),),
        shards_with=r"mark\.matrix|with_matrix|fixture_oracle",
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
        "two live groups under load while members, brokers, network and clocks fail, and two that `roll` upgrades",
        (
            (sys.executable, "-m", "tests.lab.chaos", "--faults", "4", "--seed", "1"),
            (sys.executable, "-m", "tests.lab.chaos", "--faults", "4", "--seed", "2", "--worker", "exactly-once"),
            (
                *(sys.executable, "-m", "tests.lab.chaos", "--faults", "8", "--seed", "3", "--worker", "exactly-once"),
                *("--roll", "2.8.2", "--java", "4.3.1", "--java-members", "3"),
            ),
            (
                *(sys.executable, "-m", "tests.lab.chaos", "--faults", "3", "--seed", "2", "--worker", "exactly-once"),
                *("--roll", "4.2.2", "--java", "4.4.0", "--java-members", "3", "--protocol", "streams"),
                *("--broker", "4.4.0", "--kind", "kill", "--kind", "node", "--kind", "coordinator-kill"),
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
        seconds=3_700,
    ),
    "lowest": Part("the command lines and tables with the lowest dependencies", _with_dependencies("lowest-direct")),
    "pyodide": Part(
        "the pure packages on Python 3.14, compiled to WebAssembly, under Node",
        ((sys.executable, "-m", "tests.assignor.web.in_node"),),
    ),
    "newest": Part("the command lines and tables with the newest dependencies", _with_dependencies("highest")),
}


_LIVE: Final = "tests/lab/integration"
"""Each of its files takes minutes, and is a shard of its own."""
BY_HAND: Final = "by hand:"
"""How the name of a row begins that somebody writes, with the file that was run, as a figure is measured by itself."""
OLD: Final = 200
"""Evidence is old after so many commits of what it depends on."""
_BUT_ROWS: Final = ("--", ".", ":!tests/nightly.json")
"""The rows change nothing that they are about."""
_NO_TEST: Final = 5
"""The exit status of pytest if a shard has no test of its part."""
_PACKAGES: Final = {"codec": "subscription_codec", "probing": "probing", "upgrade": "upgrade", "spark_sim": "spark_sim"}
"""The folder of each import package; that of others is ``assignor``."""
_HELPER: Final = re.compile(r"^ *(?:from|import) (tests\.[\w.]+)", re.MULTILINE)
_IMPORT: Final = re.compile(r"^ *(?:from|import) streams_assignor\.(\w+)(?:\.(\w+))?", re.MULTILINE)


@cache
def shards() -> dict[str, list[Path]]:
    """Return the files of tests by their folder, of at most three levels, from the root."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT)
        folder = Path(*place.parent.parts[:3]).as_posix()
        found.setdefault(place.as_posix() if folder == _LIVE else folder, []).append(place)
    return found


def units() -> dict[str, Part]:
    """Return what can be run by itself, by its name: shards and parts; coverage is that of whole parts before it."""
    of_shards = {
        f"{name}:{shard}": Part(part.about, tuple(_of_files(each, found) for each in part.commands))
        for name, part in PARTS.items()
        if part.shards_with is not None
        for shard, files in shards().items()
        if (found := [file for file in files if may_have_tests(part, file)])
    }
    whole = {name: part for name, part in PARTS.items() if part.shards_with is None and name != "coverage"}
    return {**of_shards, **whole}


def _of_files(command: Command, files: Sequence[Path]) -> Command:
    """Return a part's command for some files.

    Nobody reads the coverage of a shard: its report alone parsed all packages, 16 s of CPU. One file has one worker.
    """
    untraced = (word for word in command if word not in _COVER)
    return (*untraced, *["-n0"] * (len(files) == 1), *map(str, files))


def may_have_tests(part: Part, file: Path) -> bool:
    """Return whether a file can have tests of a part with shards, by its path from the root and its text."""
    return bool(re.search(part.shards_with or "", f"{file}\n{_text(file)}", re.DOTALL | re.MULTILINE))


@cache
def _text(file: Path) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def depends_on(name: str) -> list[str]:
    """Return what makes a unit's result old: its tests, and what they import: modules of tests, folders of packages."""
    shard = name.partition(":")[2]
    return [*_depends_on(shard)] if shard else [*dict.fromkeys([*_PACKAGES.values(), "assignor", "tests"])]


@cache
def _depends_on(shard: str) -> tuple[str, ...]:
    helpers = dict[str, str]()
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / shard).rglob("*.py")] or [_text(Path(shard))]
    for text in texts:  # which grows
        for module in _HELPER.findall(text):
            path = ROOT / f"{module.replace('.', '/')}.py"
            if module not in helpers and path.exists():
                helpers[module] = path.relative_to(ROOT).as_posix()
                texts.append(path.read_text(encoding="utf-8"))
    folders = {
        "/".join(filter(None, (_PACKAGES.get(top, f"assignor/{top}"), sub * (top in _PACKAGES))))
        for text in texts
        for top, sub in _IMPORT.findall(text)
    }
    there = (next(filter(lambda each: (ROOT / each).exists(), (folder, f"{folder}.py")), None) for folder in folders)
    return (shard, *sorted({*helpers.values(), *filter(None, there)}))


def due(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return the units that were never run or whose code has changed since, most urgent first, with their seconds."""
    last = {row["part"]: row for row in rows}
    found = []
    for name, unit in units().items():
        row = last.get(name) or last.get(name.partition(":")[0])
        if changed := age(row, depends_on(name)) if row else sys.maxsize:
            found.append((-changed, name, row["seconds"] if row and row["part"] == name else unit.seconds))
    return [(name, seconds) for _, name, seconds in sorted(found)]


def age(row: Mapping[str, Any], paths: Iterable[str] = ()) -> int:
    """Return how many commits have changed what a row depends on since, or only some paths of it.

    A row of a commit that the history does not have is as old as can be.
    """
    depends = frozenset(paths or row.get("paths") or depends_on(row["part"]))
    commits = _commits_since(row["commit"].partition(",")[0])
    return sys.maxsize if commits is None else sum(not depends.isdisjoint(touched) for touched in commits)


@cache
def _commits_since(commit: str) -> list[set[str]] | None:
    """Return the files of each commit since one, and their folders; None if the history does not have it."""
    if not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return None
    return [_touched().get(each, set()) for each in _git("rev-list", f"{commit}..HEAD").split()]


@cache
def _touched() -> dict[str, set[str]]:
    """Return the files of each commit of the history, and their folders."""
    logged = _git("log", "--format=%x00%H", "--name-only", *_BUT_ROWS).split("\0")[1:]
    return {
        commit: {folder for file in files for folder in accumulate(file.split("/"), "{}/{}".format)}
        for commit, *files in map(str.split, logged)
    }


@frozen
class Result:
    """What came of a part: tests of pytest; commands where a part has no pytest, or where one of the others fails."""

    part: str
    """The name of the unit."""
    commit: str
    date: str
    passed: int
    failed: int
    skipped: Mapping[str, int]
    """How many tests for which reason."""
    seconds: int
    load: float
    """Processes that wanted a processor when it began, the average of a minute."""
    failures: Sequence[str] = field(factory=tuple)
    paths: Sequence[str] = field(factory=tuple)
    """The folders and files that it depends on."""


def run(name: str, environment: Mapping[str, str]) -> Result:
    """Run all commands of a part."""
    load = round(os.getloadavg()[0], 1)
    started, counts, skipped, failures = time.monotonic(), Counter[str](), Counter[str](), list[str]()
    for command in (PARTS.get(name) or units()[name]).commands:
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
        if status == _NO_TEST and ":" in name:
            continue
        if status and not any(outcome == "failed" for outcome, _, _ in found):  # it ended before its tests did
            counts["failed"] += 1
            failures.append(f"status {status}: {_in_words(command)}")
        elif not status and not found:
            counts["passed"] += 1
    return Result(
        part=name,
        commit=_git("rev-parse", "--short", "HEAD")
        + ("" if not _git("status", "--porcelain", *_BUT_ROWS) else ", changed"),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=dict(sorted(skipped.items())),
        seconds=round(time.monotonic() - started),
        load=load,
        failures=tuple(failures),
        paths=tuple(depends_on(name)),
    )


def _in_words(command: Command) -> str:
    """Return a command as it is typed: rows of the file are published, and name no folder of this machine.

    >>> _in_words((sys.executable, "-m", "coverage", "report"))
    'python -m coverage report'
    """
    return " ".join("python" if word == sys.executable else word for word in command)


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
    from tests.peers_required import VARIABLE  # the documentation is built without pytest

    required = {VARIABLE: "1"} if has_java else {}
    return {**os.environ, "COVERAGE_FILE": str(ROOT / ".coverage.nightly"), **required}


def merged(path: Path, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the rows of a file with the results in place of those of the same units, in the order of the parts.

    A whole part takes the place of its shards, and the row of a shard that is there no more is left out. The rows of
    runs by hand stay, behind all others.
    """
    done = {result.part: asdict(result) for result in results}
    rows = {row["part"]: row for row in ledger(path) if row["part"].partition(":")[0] not in done} | done
    names = sorted(dict.fromkeys((*PARTS, *units())), key=lambda name: [*PARTS].index(name.partition(":")[0]))
    return [rows[name] for name in (*names, *(each for each in rows if each.startswith(BY_HAND))) if name in rows]


def ledger(path: Path = ROOT / "tests/nightly.json") -> list[dict[str, Any]]:
    """Return the rows of a file; none if it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _run_due(minutes: float, out: Path) -> Iterator[Result]:
    """Run what is due, as long as it fits into the time."""
    ends = time.monotonic() + 60 * minutes
    for name, seconds in due(ledger(out)):
        if time.monotonic() + seconds <= ends:
            yield run(name, environment())


def main(arguments: Sequence[str] | None = None) -> int:
    about = "\n".join(f"  {name:<13} {part.about}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="tests.nightly",
        description=f"{__doc__}\nParts:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="all parts without it; PART:FOLDER is a shard")
    parser.add_argument("--due", nargs="?", type=float, const=60.0, metavar="MINUTES", help="what is due (60)")
    parser.add_argument("--out", type=Path, default=ROOT / "nightly.json", help="default: %(default)s")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.parts if name not in {*PARTS, *units()}]:
        parser.error(f"expected {', '.join(PARTS)}, received {', '.join(unknown)}")
    if chosen.due and chosen.parts:
        parser.error("expected either parts or --due")
    given = (run(name, environment()) for name in chosen.parts or PARTS)
    results = []
    for result in _run_due(chosen.due, chosen.out) if chosen.due else given:
        results.append(result)
        chosen.out.write_text(json.dumps(merged(chosen.out, results), indent=1) + "\n")
    for result in results:
        skips = sum(result.skipped.values())
        print(f"{result.part}: {result.passed} passed, {result.failed} failed, {skips} skipped in {result.seconds} s")
    return any(result.failed for result in results)


if __name__ == "__main__":
    sys.exit(main())
