"""Our members beside real Kafka Streams of every release.

Some are in the part `peers`, more in `matrix`, all with ``-m exhaustive``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.lab.integration.every_release import LATEST, RUNS, ReleaseScenario, broker_of, play_run, results
from tests.lab.integration.failovers import Failover
from tests.lab.integration.group_scenarios import ScenarioStep
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.peers import is_python_member

USUAL = {
    "every-release/0.10.0.1/broker-3.9.2",
    "every-release/4.3.1/broker-4.3.1",
    "topologies/3.9.2-ours-killed/standbys-Java-leads",
    "future/ours-beside-3.9.2-with-12/both-ways",
}
CHOSEN = USUAL | {
    "every-release/1.1.1/broker-3.9.2",
    "every-release/2.3.1/broker-3.9.2",
    "every-release/2.6.3/broker-3.9.2",
    "topologies/3.9.2/repartition",
    "topologies/3.9.2-Java-killed/standbys-ours-leads",
    "topologies/3.9.2-in-racks/stateful",
    "hosts/3.9.2/behind-a-scheme",
    f"hosts/{LATEST}/one-IPv6-address",
    "future/all-go-from-11-to-12/one-bounce",
}


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    if name in USUAL:
        return []
    matrix = pytest.mark.matrix(reason="a further release, topology or order of the same run")
    return [matrix] if name in CHOSEN else [pytest.mark.exhaustive]


each_run = pytest.mark.parametrize(
    "run", [pytest.param(run, id=name, marks=marks_of(name)) for name, run in RUNS.items()]
)
Brokers = Callable[[str], str]


@pytest.fixture(name="brokers", scope="module")
def fixture_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Starts a broker of a given release, or gives the one that runs."""
    with ExitStack() as stack:
        yield cache(lambda release: broker_of(release, tmp_path_factory.mktemp("brokers"), stack))


@pytest.mark.broker
@pytest.mark.java
@pytest.mark.slow
@each_run
def test_a_run_succeeds_and_matches_its_stored_result(run: ReleaseScenario, brokers: Brokers, tmp_path: Path) -> None:
    try:
        found = play_run(run, brokers(run.broker), tmp_path)
    except Unavailable as missing:
        pytest.skip(f"not all of it is here: {missing}")

    assert run.came_out(found.outcome), found.outcome
    assert 0 == found.lost
    if kept := results().get(run.name):
        assert _versions(kept["sent"]) == _versions(found.sent)


def test_stored_results_are_of_the_current_runs() -> None:
    """The stored result of another scenario does not count for this one."""
    kept = {name: found["line"] for name, found in results().items()}

    assert kept.items() <= {name: run.line for name, run in RUNS.items()}.items()
    assert kept.keys() >= CHOSEN


def test_stored_results_are_the_expected_ones() -> None:
    assert [] == [name for name, found in results().items() if not RUNS[name].came_out(found["outcome"])]


def test_every_run_with_the_latest_release_is_stored() -> None:
    assert [] == [name for name, run in RUNS.items() if f"@{LATEST}" in run.line and name not in results()]


def test_standbys_take_over_and_restore_less_than_all_under_any_leader() -> None:
    kept = [Failover(**each) for found in results().values() for each in found.get("takeovers", ())]
    others = [each for each in kept if is_python_member(each.by) != is_python_member(each.killed)]

    assert {(True, True), (True, False), (False, True), (False, False)} == {
        (is_python_member(each.led_by), is_python_member(each.by)) for each in others
    }
    assert [] == [each for each in others if each.reported != each.end or not 0 <= each.read < each.end]


def test_a_step_starts_stops_or_kills() -> None:
    words = [ScenarioStep.parse(word) for word in ("java@2.4.1,client.rack=a", "-java", "!java")]

    assert ["java@2.4.1", "-java", "!java"] == [str(word) for word in words]
    assert [False, False, True] == [word.kills for word in words]
    for neither in ("java", "-java@2.4.1", "!java@2.4.1"):
        with pytest.raises(AssertionError, match="expected NAME@RELEASE, -NAME or !NAME"):
            ScenarioStep.parse(neither)


def _versions(sent: dict[str, list[str]]) -> dict[str, set[str]]:
    """Which versions each member sent: how often it went up and down is up to chance."""
    return {name: set(versions) for name, versions in sent.items()}
