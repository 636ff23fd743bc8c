"""What runs have left: beside Java, Kafka's own tests, all releases, Kafka's bugs found again, mutants."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import groupby
from typing import Any, Final

from blocks.markdown import DOCS, NOT_THERE, ROOT, table
from streams_assignor.spark_sim.regressions.known_bugs import BUGS, SearchMethod
from streams_assignor.spark_sim.sweep.report import _guide_tables

PARTS_BESIDE_JAVA: Final = ("topologies", "hosts", "upgrades", "eager", "future")


def beside_every_release() -> str:
    """Show what came of the runs beside each release; a run may be there for two brokers."""
    kept = [found for found in _runs() if found["part"] == "every release"]
    brokers = list(dict.fromkeys(found["column"] for found in kept))
    by_release: dict[str, dict[str, Any]] = {}
    for found in kept:
        by_release.setdefault(found["row"], {})[found["column"]] = found
    rows = []
    for release, runs in by_release.items():
        first = next(iter(runs.values()))
        setting = re.search(r"python\S*(upgrade\.from=[0-9.]+)", first["line"])
        ours = (f"`{setting[1]}`" if setting else "", _sent(first, "java"), _sent(first, "python"))
        rows.append((release, *ours, first["generations"], *(_both_roles(runs.get(broker)) for broker in brokers)))
    return table(("Kafka Streams", "ours with", "Java sent", "ours sent", "generations", *brokers), rows)


def _both_roles(found: Mapping[str, Any] | None) -> str:
    """Say who led whenever both were there, and how many tasks Java and ours had."""
    if found is None:
        return NOT_THERE
    if found["outcome"]:
        return f"**fails**: {found['outcome']}"
    steps = zip(found["leaders"], found["owned"], strict=True)
    told = [f"{_side(leader)} {tasks['java']} + {tasks['python']}" for leader, tasks in steps if len(tasks) > 1]
    return "; ".join(told)


def _side(name: str) -> str:
    return "ours" if name.startswith("python") else "Java"


def beside_java(part: str) -> str:
    """Show what came of the other runs of a part."""
    rows = []
    for found in (found for found in _runs() if found["part"] == part):
        names = found["sent"]
        java, ours = (sorted(name for name in names if name.startswith(kind)) for kind in ("java", "python"))
        sent = ("<br>".join(_sent(found, name) for name in group) for group in (java, ours))
        led = map(_side, found["leaders"])
        leaders = ", ".join(f"{name} {len(list(steps))}" for name, steps in groupby(led))
        outcome = f"**fails**: {found['outcome'][:115]}" if found["outcome"] else "all well"
        records = f"{found['records']}, {found['by_python']}"
        rows.append((found["row"], found["column"], *sent, leaders, found["generations"], records, outcome))
    versions = ("Java sent", "ours sent")
    return table(("what", "run", *versions, "steps led", "generations", "records, by ours", "outcome"), rows)


def kafka_unit_tests() -> str:
    """Show how many of Kafka's own tests pass, by release, test class and replaced methods."""
    rows = [
        (
            each["bridge"],
            each["suite"],
            each["release"],
            *(each[name] for name in ("total", "passed", "canary", "calls")),
        )
        for each in _kafka_unit_tests()["rows"]
    ]
    return table(("by Python", "test class", "Kafka", "tests", "passed", "reach Python", "calls"), rows)


def kafka_unit_tests_in_short() -> str:
    """Count the tests of each release and kind."""
    counts: dict[tuple[str, str], list[int]] = {}
    for each in _kafka_unit_tests()["rows"]:
        total = counts.setdefault((each["release"], each["bridge"]), [0, 0, 0])
        for at, name in enumerate(("total", "passed", "canary")):
            total[at] += each[name]
    return table(
        ("Kafka", "by Python", "tests", "passed", "reach Python"), [(*key, *found) for key, found in counts.items()]
    )


def kafka_unit_tests_in_one_sentence() -> str:
    """Say how many of Kafka's own tests of the newest release pass, for the README."""
    rows = _kafka_unit_tests()["rows"]
    newest = max((each["release"] for each in rows), key=lambda release: tuple(map(int, release.split("."))))
    total = {each["suite"]: each["total"] for each in rows if each["release"] == newest}
    failed = {(each["suite"], test) for each in rows if each["release"] == newest for test in each["listed"]}
    number, link = sum(total.values()), "[counts](docs/reference/kafka-unit-tests.md)"
    return (
        f"Kafka's own unit tests of {newest}, unmodified, judge codec, task assignors and leader: "
        f"{number - len(failed)} of {number} pass, and the others are listed with the reason ({link})."
    )


def kafka_unit_test_failures() -> str:
    """List the tests of Kafka that fail, with the reason."""
    reasons: dict[tuple[str, str, str, str], list[str]] = {}
    for each in _kafka_unit_tests()["rows"]:
        for test, reason in each["listed"].items():
            name, _, number = test.partition("[")
            key = (each["suite"], each["release"], name.partition("(")[0], reason)
            reasons.setdefault(key, []).append(number.rstrip("]"))
    rows = [
        (suite, release, f"`{name}`" + (f" {', '.join(numbers)}" if any(numbers) else ""), reason)
        for (suite, release, name, reason), numbers in reasons.items()
    ]
    return table(("test class", "Kafka", "test", "why"), rows)


def kafka_unit_tests_without_leader() -> str:
    """List the methods of StreamsPartitionAssignorTest in which no leader takes part."""
    releases: dict[str, list[str]] = {}
    for each in _kafka_unit_tests()["rows"]:
        if (each["bridge"], each["suite"]) == ("leader", "StreamsPartitionAssignorTest"):
            for name in each["untouched"]:
                releases.setdefault(name, []).append(each["release"])
    return table(("test", "Kafka"), [(f"`{name}`", ", ".join(found)) for name, found in sorted(releases.items())])


def kafka_unit_test_controls() -> str:
    """Show the tests that pass with Kafka's own classes."""
    controls = _kafka_unit_tests()["controls"]
    rows = [
        (
            release,
            sum(each["total"] for each in found["suites"].values()),
            sum(each["passed"] for each in found["suites"].values()),
        )
        for release, found in controls.items()
    ]
    return table(("Kafka", "tests", "passed"), rows)


def _kafka_unit_tests() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((ROOT / "tests/lab/kafka_unit_tests/results.json").read_text(encoding="utf-8"))
    return kept


def takeovers() -> str:
    """Show who took over from killed members, and how much of the changelog they read."""
    facts = ("task", "killed", "by", "reported", "end", "read")
    rows = [
        (found["row"], _side(each["led_by"]), *(each[name] for name in facts))
        for found in _runs()
        for each in found.get("takeovers", ())
    ]
    return table(("run", "led by", "task", "killed", "taken by", "reported", "end", "records read"), rows)


def _runs() -> list[dict[str, Any]]:
    """Return what the runs beside Java have left."""
    return list(json.loads((ROOT / "tests/lab/integration/every_release.json").read_text(encoding="utf-8")).values())


def _sent(found: Mapping[str, Any], name: str) -> str:
    """List the versions that a member sent, one after the other: used/supported as far as it says so."""
    return ", ".join(found["sent"].get(name, []))


def kept_matrix() -> dict[str, Any]:
    """Read what was kept of the sweep over all releases."""
    kept: dict[str, Any] = json.loads((DOCS / "reference" / "upgrade-matrix.json").read_text(encoding="utf-8"))
    return kept


def upgrade_matrix() -> str:
    """Show the simplest safe way from every release to every other."""
    return table(*_guide_tables.matrix_rows(kept_matrix()))


def broken_by_one_bounce() -> str:
    """Show what single bounces without configuration break."""
    rows = [(each["property"], each["pairs"], f"`{each['example']}`") for each in kept_matrix()["broken"]]
    return table(("property", "pairs", "shortest example"), rows)


def differences_from_guides() -> str:
    """Show where the sweep says something else than Kafka's guides, and why."""
    head = ("pairs", "from", "to", "for example", "documented", "derived", "why")
    return table(head, _guide_tables.difference_rows(kept_matrix()))


def extent_of_matrix() -> str:
    """Say how much was explored."""
    kept = kept_matrix()
    faults = kept["faults"]
    counts = (
        f"{name.replace('_', ' ')} {faults[name]}" for name in ("crashes", "rebalance_timeouts", "spurious_joins")
    )
    most = ", ".join(counts)
    sizes = ", ".join(f"{size}: {number:,}" for size, number in kept["group_sizes"].items())
    operator = "waits for quiescence" if faults["wait_for_quiescence"] else "does not wait"
    rows = [
        ("releases, pairs", f"{len(kept['releases'])}, {len(kept['releases']) * (len(kept['releases']) - 1):,}"),
        ("upgrades (a pair and a plan)", f"{kept['upgrades']:,}"),
        ("members; most faults in a schedule; operator", f"{kept['members']}; {most}; {operator}"),
        ("groups that the verdicts are about", sizes),
        ("states, transitions, of all upgrades", f"{kept['states']:,}, {kept['transitions']:,}"),
        ("schedules, of all upgrades", kept["schedules"]),
    ]
    return table(("", ""), rows)


def kafka_bugs() -> str:
    """Show where Kafka's bugs were found again, and where not."""
    kept = json.loads((DOCS / "reference" / "kafka-bugs.json").read_text(encoding="utf-8"))
    return table(_BUG_TABLE_HEAD, _bug_rows(kept))


def _bug_rows(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of the table, made of the records of ``history.json``."""
    found: list[tuple[str, ...]] = []
    for bug in BUGS:
        own = [each for each in results if each["bug"] == bug.name]
        there, clean = ([each for each in own if each["affected"] is affected] for affected in (True, False))
        if not (there and clean):
            continue
        affected, fixed = ("<br>".join(map(str, ways)) for ways in (bug.affected, bug.fixed))
        found.append(
            (
                f"{bug.name}: {bug.issue}",
                f"{bug.description}; {bug.violated_property}",
                affected,
                fixed,
                f"{_release_pair(there[0])}: {_search_extent(there[0], bug.method)}",
                f"{_release_pair(clean[0])}: {_search_extent(clean[0], bug.method)}",
                f"`{min((each['example'] for each in there), key=len)}`",
            )
        )
    return found


_BUG_TABLE_HEAD: Final = ("bug", "what breaks", "affected", "clean", "found in", "not found in", "shortest example")


def _release_pair(each: Mapping[str, Any]) -> str:
    return " > ".join(each["instances"])


def _search_extent(each: Mapping[str, Any], by: SearchMethod) -> str:
    if each["schedules"] is None:
        return f"{each['states']:,} states" if each["states"] else "does not start"
    schedules = int(each["schedules"])
    count = f"{schedules:,}" if schedules < 10**6 else f"{Decimal(schedules):.1e}"
    return (
        f"{count} schedules played"
        if by is SearchMethod.COARSE_BFS
        else f"{each['states']:,} states, {count} schedules"
    )


def mutants() -> str:
    """Count the mutants of each package by what became of them, as ``tests.lab.mutation`` stored them."""
    runs = json.loads((ROOT / "tests/lab/mutation/results.json").read_text(encoding="utf-8"))
    kinds = ("killed", "equivalent", "survived")
    rows = [
        (
            *(f"`{package}`", run["of"], len(run["mutants"]), *(run["counts"][each] for each in kinds)),
            *(f"{run['counts']['share']:.1%}", run["seed"], run["date"]),
        )
        for package, run in runs.items()
    ]
    return table(("package", "mutants", "run", *kinds, "killed of those not equivalent", "seed", "date"), rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "beside every release": beside_every_release,
    **{f"beside Java: {part}": partial(beside_java, part) for part in PARTS_BESIDE_JAVA},
    "beside Java: takeovers": takeovers,
    "kafka's own tests": kafka_unit_tests,
    "kafka's own tests in short": kafka_unit_tests_in_short,
    "kafka's own tests in one sentence": kafka_unit_tests_in_one_sentence,
    "kafka's own tests that fail": kafka_unit_test_failures,
    "kafka's own tests without a leader": kafka_unit_tests_without_leader,
    "kafka's own tests with kafka's classes": kafka_unit_test_controls,
    "mutants": mutants,
    "upgrade matrix": upgrade_matrix,
    "what one bounce breaks": broken_by_one_bounce,
    "differences from the guides": differences_from_guides,
    "extent of the matrix": extent_of_matrix,
    "kafka bugs": kafka_bugs,
}
