"""Our members beside real Kafka Streams of every release: a chosen few always, all of them with ``-m exhaustive``."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.integration.every_release import RUNS, Run, broker_of, play, results
from tests.integration.kafka_jars import Unavailable

CHOSEN = {
    "every-release/0.10.0.1/broker-3.9.2",
    "every-release/1.1.1/broker-3.9.2",
    "every-release/2.3.1/broker-3.9.2",
    "every-release/2.6.3/broker-3.9.2",
    "every-release/4.3.1/broker-4.3.1",
    "topologies/3.9.2/repartition",
    "future/ours-beside-3.9.2-with-12/both-ways",
    "future/all-go-from-11-to-12/one-bounce",
}

each_run = pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, id=name, marks=[] if name in CHOSEN else [pytest.mark.exhaustive])
        for name, run in RUNS.items()
    ],
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
def test_a_story_ends_well_and_is_as_the_table_has_it(run: Run, brokers: Brokers, tmp_path: Path) -> None:
    try:
        found = play(run, brokers(run.broker), tmp_path)
    except Unavailable as missing:
        pytest.skip(f"not all of it is here: {missing}")

    assert bool(run.dies) == bool(found.outcome), found.outcome
    assert run.dies in found.outcome
    assert 0 == found.lost
    if kept := results().get(run.name):
        assert _versions(kept["sent"]) == _versions(found.sent)


def test_the_table_shows_the_stories_as_they_are_played() -> None:
    """What is kept of another story says nothing about this one."""
    kept = {name: found["line"] for name, found in results().items()}

    assert kept.items() <= {name: run.line for name, run in RUNS.items()}.items()
    assert kept.keys() >= CHOSEN


def _versions(sent: dict[str, list[str]]) -> dict[str, set[str]]:
    """Which versions each member sent: how often it went up and down is up to chance."""
    return {name: set(versions) for name, versions in sent.items()}
