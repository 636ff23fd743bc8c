"""`roll` and groups of Java Streams as people run them: exactly-once, standbys, static members, batches, other ways.

Of each run: no record is lost, none is counted twice with exactly-once, no generation and no mixture of releases is
unsafe, and journal and report say what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.integration.clusters import OLDER, Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.peers import Group
from tests.lab.integration.roll_invariants import (
    stored_generations,
    strange_mixtures,
    unsafe_findings,
    unsafe_generations,
)
from tests.lab.integration.rolls import (
    Configuration,
    Load,
    Operator,
    Rolled,
    RollProcess,
    TerminalRoll,
    no_settings,
    records,
)

pytestmark = [
    pytest.mark.broker,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.matrix(reason="a minute or two each, because groups wait for sessions of six seconds"),
]

STANDBYS = {"num.standby.replicas": "1"}
STATIC = {"group.instance.id": "{}"}
WARM_UPS = {**STANDBYS, "acceptable.recovery.lag": "200"}
LATE = 1_000
"""So many records of each key are a store that has to warm up."""


def eos_v2(release: str) -> Mapping[str, str]:
    """Exactly-once with a producer for each thread, by the name that a release has for it."""
    return {"processing.guarantee": "exactly_once_beta" if release.startswith("2.") else "exactly_once_v2"}


def eos_v1(release: str) -> Mapping[str, str]:
    """Exactly-once with a producer for each task, as long as there is such a thing."""
    return eos_v2(release) if release.startswith("4.") else {"processing.guarantee": "exactly_once"}


@pytest.fixture(scope="module", name="brokers")
def fixture_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{OLDER}")
    except Unavailable as missing:
        pytest.skip(f"no broker: {missing}")
    with Cluster(tmp_path_factory.mktemp("broker")) as cluster:
        cluster.start(1, OLDER, settings={"group.initial.rebalance.delay.ms": "0"})
        yield cluster.brokers


Start = Callable[..., Rolled]


@pytest.fixture(name="start")
def fixture_start(brokers: str, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def start(
            shape: str,
            names: str,
            release: str,
            settings_of: Callable[[str], Mapping[str, str]] = no_settings,
            **settings: str,
        ) -> Rolled:
            group = stack.enter_context(Group(brokers, shape, tmp_path))
            operator = stack.enter_context(Operator(group, tmp_path, **settings))
            operator.settings_of = settings_of
            for name in names:
                operator.start(name, release)
            group.settle()
            group.check_that_no_member_rejoins()
            return Rolled(group, operator, tmp_path, release)

        yield start


def config_file(folder: Path, **settings: str) -> tuple[str, str]:
    """The option with a file of settings."""
    path = folder / "streams.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return "--config", str(path)


def check_outcome(rolled: Rolled, process: RollProcess, target: str, *, rounds: int, steps: int) -> None:
    """The command, its journal and its report say that it went as planned."""
    status = process.wait()
    print(*process.lines, sep="\n", flush=True)
    assert 0 == status, process.lines
    found = records(rolled.journal)
    assert [] == [record for record in found if record["record"] == "deviation"]
    assert rounds == sum(record["record"] == "verified" for record in found)
    assert steps == sum(record["record"] == "passed" for record in found)
    assert ("ended", "finished") == (found[-1]["record"], found[-1]["outcome"])
    assert f"to {target}: finished" in rolled.report.read_text()


def check_group(rolled: Rolled, folder: Path, *planned: Configuration, exactly_once: bool = True) -> None:
    """Nothing is lost, nothing was counted twice with exactly-once, and at no time the group was unsafe."""
    group = rolled.group
    group.settle(all_members=False)
    group.eventually(lambda: group.lost_and_duplicated()[0] == 0, lambda: f"lost {group.lost_and_duplicated()}")
    if exactly_once:
        assert (0, 0) == group.lost_and_duplicated()
        assert [] == group.miscounted()
    name = group.topics.application
    assert [] == strange_mixtures(rolled.operator.mixtures, planned)
    assert [] == unsafe_generations(group.brokers, name)
    assert [] == unsafe_findings(group.brokers, name, folder)


def test_five_instances_in_batches_of_two_with_exactly_once(start: Start, tmp_path: Path) -> None:
    rolled = start("repartition", "abcde", "2.8.2", eos_v2)
    with Load(rolled.group):
        process = rolled.roll("4.3.1", "--batch", "2", "--canary", "c")
        check_outcome(rolled, process, "4.3.1", rounds=2, steps=6)
    restarts = [("restart", name, "4.3.1", value) for value in ("2.8", "") for name in "cabde"]
    assert restarts == rolled.operator.calls
    check_group(rolled, tmp_path, ("2.8.2", ""), ("4.3.1", "2.8"), ("4.3.1", ""))


def test_from_2_3_to_4_3_in_steps_with_exactly_once(start: Start, tmp_path: Path) -> None:
    """Four rounds in three rolls, the last of which also changes from a producer a task to one a thread."""
    rolled = start("stateful", "abc", "2.3.1", eos_v1)
    planned = [("2.3.1", ""), ("2.8.2", "2.3"), ("2.8.2", ""), ("3.9.2", ""), ("4.3.1", "")]
    with Load(rolled.group):
        for target, rounds in (("2.8.2", 2), ("3.9.2", 1), ("4.3.1", 1)):
            rolled.journal, rolled.report = tmp_path / f"{target}.jsonl", tmp_path / f"{target}.md"
            process = rolled.roll(target, "--without", "foreign-key-joins,repartitioned-tables,stateless-subtopologies")
            check_outcome(rolled, process, target, rounds=rounds, steps=3 * rounds)
            rolled.origin = target
    check_group(rolled, tmp_path, *planned)


def test_static_members_with_standbys_and_exactly_once(start: Start, tmp_path: Path) -> None:
    rolled = start("persistent", "abc", "2.8.2", eos_v2, **STATIC, **STANDBYS)
    with Load(rolled.group):
        process = rolled.roll("4.3.1", *config_file(tmp_path, **STANDBYS, **eos_v2("4.3.1")))
        check_outcome(rolled, process, "4.3.1", rounds=2, steps=6)
    check_group(rolled, tmp_path, ("2.8.2", ""), ("4.3.1", "2.8"), ("4.3.1", ""))


def test_warm_ups_are_waited_for_by_hand_at_a_terminal(start: Start, tmp_path: Path) -> None:
    rolled = start("stateful", "ab", "3.9.2", **WARM_UPS)
    group, told = rolled.group, rolled.operator.restart_as_told
    name = group.topics.application
    group._send(LATE)
    group.eventually(lambda: group.lost_and_duplicated()[0] == 0, lambda: "nothing is counted")
    warming: list[bool] = []

    def probing() -> list[bool]:
        """Whether a probing rebalance was scheduled, of each generation."""
        stored = stored_generations(group.brokers, name)
        return [any(member.assignment.next_rebalance_ms for member in each.members.values()) for each in stored]

    def restart(*step: str) -> None:
        warming.append(probing()[-1])
        told(*step)

    rolled.operator.restart = restart
    with Load(group):
        given = ("--by-hand", "--state", "ephemeral", *config_file(tmp_path, **WARM_UPS))
        process = rolled.roll("4.3.1", commands=given, process=TerminalRoll)
        process.until("decision")
        process.type("continue")
        process.do_by_hand(rolled.operator)
        check_outcome(rolled, process, "4.3.1", rounds=1, steps=2)
    assert [False, False] == warming
    assert any(probing())
    check_group(rolled, tmp_path, ("3.9.2", ""), ("4.3.1", ""), exactly_once=False)


def test_offline_with_standbys_and_exactly_once(start: Start, tmp_path: Path) -> None:
    rolled = start("stateful", "abc", "2.3.1", eos_v1, **STANDBYS)
    operator = rolled.operator
    given = ("--stop", operator.stop_template, "--start", operator.start_template, "--yes", "--accept-no-way-back")
    with Load(rolled.group):
        process = rolled.roll("4.3.1", "--offline", commands=given)
        check_outcome(rolled, process, "4.3.1", rounds=2, steps=2)
    stops, starts = ([("stop", name) for name in "abc"], [("start", name, "4.3.1", "") for name in "abc"])
    assert [*stops, *starts] == operator.calls
    check_group(rolled, tmp_path, ("2.3.1", ""), ("4.3.1", ""))
