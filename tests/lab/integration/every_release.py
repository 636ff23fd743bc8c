"""Our members beside real Kafka Streams of every release: each line of the table is a scenario that was played.

``python -m tests.lab.integration.every_release --write`` plays them all (an hour) and keeps what came of each in
``every_release.json``, from which docs/tables.py makes the tables; names or parts of names play only those.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from streams_assignor.upgrade import OURS, release_named
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.group_scenarios import ScenarioResult, play_scenario
from tests.lab.integration.kafka_jars import class_path
from tests.lab.integration.peers import RECORDS
from tests.lab.integration.topologies import RACKS, STANDBYS

RESULTS = Path(__file__).with_name("every_release.json")
RELEASES = (
    *("0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1"),
    *("2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1"),
    *("3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
)
"""The newest of each line, of which all jars are published."""
LATEST = RELEASES[-1]
ALL_SHAPES = ("2.0.1", "2.3.1", "2.8.2", "3.9.2", "4.3.1", LATEST)
BROKERS = {
    OLDER: RELEASES,
    NEWEST: RELEASES[RELEASES.index("0.11.0.3") :],  # 4.x no longer knows what older ones say
    LATEST: ("2.8.2", "3.9.2", "4.3.1", LATEST),
}
IN_RACKS = f"{OLDER}-in-racks"
"""A broker of a node in each of two racks."""
_PYTHON, _V3, _NEXT = f"python@{OURS}", "python@streams-assignor-3", "python@streams-assignor-12"
_NOTHING = ""
_MIXED_UP = "NullPointerException"
"""Leaders of 2.0.0 to 2.2.1 and 2.3.0 that probe mix up tasks of two subtopologies (KAFKA-8649 repaired it)."""
_TOPOLOGIES = "topologies"
_UPGRADES = "upgrades"
_EAGER = "upgrade.from=2.3"
_STANDING = ("num.standby.replicas=1", "rack.aware.assignment.tags=kind", f"acceptable.recovery.lag={3 * RECORDS}")
"""As much as there is when the last of four members joins: it has caught up, a member without state later has not."""


@frozen
class ReleaseScenario:
    """A scenario, and its place in the tables: `part`, then a row and a column."""

    part: str
    row: str
    column: str
    line: str
    shape: str = "stateful"
    broker: str = OLDER
    expected_failure: str = ""
    """What Kafka fails on, by a bug of its own."""

    @property
    def name(self) -> str:
        """Unique among all runs."""
        return "/".join((self.part, self.row, self.column)).replace(",", "").replace(" ", "-")

    def came_out(self, outcome: str) -> bool:
        """Whether an outcome is the expected one: no failure, or that of Kafka."""
        return self.expected_failure in outcome if self.expected_failure else not outcome


def upgrade_from(release: str) -> str:
    """What a member of ours needs beside a release: before 2.4 all are eager, and before 2.0 no member is probed."""
    line = release_named(release).line
    return _NOTHING if release_named(release).number >= (2, 4) else f"upgrade.from={line}"


def _with(word: str, *settings: str) -> str:
    return ",".join((word, *filter(None, settings)))


def _both(release: str, *settings: str) -> tuple[str, str]:
    """A Java and a Python member with hosts and the same settings."""
    hosts = release_named(release).number >= (0, 10, 1)
    java, python = ("application.server=java:1", "application.server=python:1") if hosts else (_NOTHING, _NOTHING)
    return (
        _with(f"java@{release}", *settings, java),
        _with(_PYTHON, *settings, python, upgrade_from(release)),
    )


def _both_ways(java: str, python: str) -> str:
    """Ours leads two members of Java, leaves them alone, comes back and is led by them, and is left alone."""
    return f"{python} {_with(java, 'num.stream.threads=2')} -python {python} -java -python"


def _pairs() -> Iterator[ReleaseScenario]:
    for broker, releases in BROKERS.items():
        for release in releases:
            line = _both_ways(*_both(release, "num.standby.replicas=1"))
            yield ReleaseScenario("every release", release, f"broker {broker}", line, broker=broker)


def _shapes() -> Iterator[ReleaseScenario]:
    for release, shape in product(ALL_SHAPES, ("stateless", "repartition")):
        fails = _MIXED_UP if (release, shape) == ("2.0.1", "repartition") else ""
        yield ReleaseScenario(_TOPOLOGIES, release, shape, _both_ways(*_both(release)), shape, expected_failure=fails)
    java = "java@2.0.1,num.stream.threads=2"
    for row, line, fails in (
        ("2.0.1, Java 2.3.1 instead of ours", f"{java} java-2@2.3.1", _MIXED_UP),
        ("2.0.1, ours with version 3", f"{java} {_V3} -java -python", ""),
    ):
        yield ReleaseScenario(_TOPOLOGIES, row, "repartition", line, "repartition", expected_failure=fails)


def _with_standbys() -> Iterator[ReleaseScenario]:
    """All know where standbys are; and of four members, with standbys on the other side, one is killed."""
    for release in ("3.0.2", "3.9.2", "4.3.1", LATEST):
        line = _both_ways(*_both(release, "num.standby.replicas=1"))
        yield ReleaseScenario(_TOPOLOGIES, release, "standbys", line, STANDBYS)
    for release, broker in (("3.9.2", OLDER), ("4.3.1", NEWEST)):
        java, python = (
            [_with(f"{side}-{number}@{kind}", *_STANDING, f"client.tag.kind={side}") for number in (1, 2)]
            for side, kind in (("java", release), ("python", OURS))
        )
        for (who, killed), (leads, sides) in product(
            (("Java", "!java-2"), ("ours", "!python-2")),
            (("Java", (java, python)), ("ours", (python, java))),
        ):
            line = " ".join((*chain(*zip(*sides, strict=True)), killed))
            yield ReleaseScenario(
                _TOPOLOGIES, f"{release}, {who} killed", f"standbys, {leads} leads", line, STANDBYS, broker
            )


def _in_racks() -> Iterator[ReleaseScenario]:
    """Members and partitions have racks: the leader assigns tasks to members in their racks (KIP-925)."""
    for shape in ("stateless", "stateful", "repartition"):
        java, python = (
            _with(member, f"client.rack={rack}", "rack.aware.assignment.strategy=min_traffic")
            for member, rack in zip(("java@3.9.2", _PYTHON), RACKS, strict=True)
        )
        line = f"{python} {java} -python {python} -java -python"
        yield ReleaseScenario(_TOPOLOGIES, "3.9.2, in racks", shape, line, shape, IN_RACKS)


def _bounces(*steps: str) -> str:
    """Two Java members go through these steps, one after the other."""
    return " ".join(f"java-{number}@{step}" for step in steps for number in (1, 2))


def _upgrades() -> Iterator[ReleaseScenario]:
    """Java is bounced around a Python member that stays, and is bounced in the end if the new release needs less."""
    ends = "-java-1 -java-2 -python"
    for origin, target in (("0.10.0.1", "1.1.1"), ("1.1.1", "2.0.1"), ("2.3.1", "3.9.2")):
        staying, after = _with(_PYTHON, upgrade_from(origin)), _with(_PYTHON, upgrade_from(target))
        bounces = _bounces(_with(target, upgrade_from(origin)), target)
        yield ReleaseScenario(
            _UPGRADES, f"{origin} to {target}", "two bounces", f"{_bounces(origin)} {staying} {bounces} {after} {ends}"
        )
    for origin, target, broker in (
        ("2.0.1", "2.3.1", OLDER),
        ("2.4.1", "2.8.2", OLDER),
        ("3.9.2", "4.3.1", NEWEST),
        ("4.3.1", LATEST, LATEST),
        ("4.3.1", "2.4.1", OLDER),
    ):
        line = f"{_bounces(origin)} {_with(_PYTHON, upgrade_from(origin))} {_bounces(target)} {ends}"
        yield ReleaseScenario(_UPGRADES, f"{origin} to {target}", "one bounce", line, broker=broker)
    line = f"java@2.4.1,{_EAGER} {_V3} {_with(_PYTHON, _EAGER)} {_PYTHON} java@2.4.1 -java -python"
    yield ReleaseScenario(_UPGRADES, "ours from 3 to 11, beside 2.4.1", "two bounces", line)


def _hosts() -> Iterator[ReleaseScenario]:
    """Hosts behind a scheme and in brackets: both sides find the same host, so that nobody rejoins for it."""
    for release, broker in (("2.8.2", OLDER), ("3.9.2", OLDER), ("4.3.1", NEWEST), (LATEST, LATEST)):
        for form, (java, python) in {
            "behind a scheme": ("PLAINTEXT://java:1", "http://python:1"),
            "in brackets": ("[java]:1", "http://[python]:1"),
            "one IPv6 address": ("[::1]:1", "http://[::1]:2"),
        }.items():
            members = (f"java@{release},application.server={java}", f"{_PYTHON},application.server={python}")
            yield ReleaseScenario("hosts", release, form, _both_ways(*members), broker=broker)


def _others() -> Iterator[ReleaseScenario]:
    """Eager members beside cooperative ones, and members from the future on either side."""
    yield ReleaseScenario("eager", "ours with version 3, beside 4.3.1", "both ways", _both_ways("java@4.3.1", _V3))
    for release in ("2.4.1", "3.9.2"):
        line = _both_ways(f"java@{release},{_EAGER}", _V3)
        yield ReleaseScenario("eager", f"ours with version 3, beside {release} with {_EAGER}", "both ways", line)
    line = _both_ways(f"java@3.9.2,{_EAGER}", _PYTHON)
    yield ReleaseScenario("eager", f"ours, beside 3.9.2 with {_EAGER}", "both ways", line)
    for release in ("3.9.2", "4.3.1"):
        line = _both_ways(f"java@{release}", _with(_PYTHON, _EAGER))
        yield ReleaseScenario("eager", f"ours with {_EAGER}, beside {release}", "both ways", line)
    yield ReleaseScenario(
        "future", "simulated-4 beside 2.0.1", "both ways", _both_ways("java@2.0.1", "python@simulated-4")
    )
    for release in ("2.4.1", "2.8.2", "4.3.1"):
        yield ReleaseScenario(
            "future", f"ours with 12 beside {release}", "both ways", _both_ways(f"java@{release}", _NEXT)
        )
    for release in ("3.9.2", "4.3.1"):
        yield ReleaseScenario(
            "future", f"ours beside {release} with 12", "both ways", _both_ways(f"java@{release}+1", _PYTHON)
        )
    line = f"java@3.9.2 {_PYTHON} java@3.9.2+1 {_NEXT} -java -python"
    yield ReleaseScenario("future", "all go from 11 to 12", "one bounce", line)


RUNS = {
    run.name: run
    for runs in (_pairs(), _shapes(), _with_standbys(), _in_racks(), _hosts(), _upgrades(), _others())
    for run in runs
}


def play_run(run: ReleaseScenario, brokers: str, folder: Path) -> ScenarioResult:
    return play_scenario(run.line, brokers, run.broker, run.shape, folder)


def broker_of(name: str, folder: Path, stack: ExitStack) -> str:
    """A broker of this release, or `IN_RACKS`, until the stack ends; `Unavailable` if there is no way to have one."""
    release, _, in_racks = name.partition("-")
    class_path(f"org.apache.kafka:kafka_2.13:{release}")
    cluster = stack.enter_context(Cluster(folder / name))
    for node, rack in enumerate([{"broker.rack": rack} for rack in RACKS] if in_racks else [{}], 1):
        cluster.start(node, release, settings={"group.initial.rebalance.delay.ms": "0", **rack})
    return cluster.brokers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[2])
    parser.add_argument("parts", nargs="*", default=[""], help="parts of names; all runs without")
    parser.add_argument("--write", action="store_true", help="keep what comes of it")
    parser.add_argument("--missing", action="store_true", help="only those of which nothing, or a failure, is kept")
    parser.add_argument("--list", action="store_true", help="only name the runs")
    options = parser.parse_args()
    kept = results() if options.missing else {}
    named = dict.fromkeys(run for part in options.parts for run in RUNS.values() if part in run.name)
    chosen = [run for run in named if run.name not in kept or not run.came_out(kept[run.name]["outcome"])]
    if options.list:
        print(*(f"{run.name}: {run.line}" for run in chosen), sep="\n")
        return
    for broker in dict.fromkeys(run.broker for run in RUNS.values()):
        if runs := [run for run in chosen if run.broker == broker]:
            _play_all(broker, runs, options.write)


def _play_all(broker: str, runs: list[ReleaseScenario], write: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch, ExitStack() as stack:
        brokers = broker_of(broker, Path(scratch), stack)
        for run in runs:
            found = play_run(run, brokers, Path(scratch))
            print(
                f"{found.outcome or 'ok'} ({found.seconds} s, lost {found.lost}, twice {found.twice}): {run.name}",
                flush=True,
            )
            if write:
                store_result(run, found)


def results() -> dict[str, dict[str, Any]]:
    """What is kept of earlier plays, by the names of the runs."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def store_result(run: ReleaseScenario, found: ScenarioResult) -> None:
    """Keep what came of a run, in the order of the runs."""
    every = results() | {run.name: {"part": run.part, "row": run.row, "column": run.column, **asdict(found)}}
    ordered = {name: every[name] for name in RUNS if name in every}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main()
