"""Rows about stores, changelogs and static members: one release starts on the state of another, on a real broker."""

from contextlib import ExitStack

import pytest

from streams_assignor.upgrade.hazards import HAZARDS, STORE_FORMATS
from tests.lab.integration.clusters import OLDER
from tests.lab.integration.every_release import broker_of
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.state_directories import FRESH, play_pair

pytestmark = [pytest.mark.java, pytest.mark.broker, pytest.mark.slow]

BUFFERED, BUFFERED_ANEW = ["suppressed=1"], ["suppressed=1", FRESH]
NOT_RESTORED = "Restoring apparently invalid changelog record"
STATIC = ["group.instance.id=a", "session.timeout.ms=60000"]
RUNS = ""
PAIRS = {
    **{
        f"stores-of-{each.line}-unreadable": ([], [], each.failure.split('"')[1].partition(". Column")[0])
        for each in STORE_FORMATS
    },
    **{f"stores-converted-by-{each.line}": ([], [], RUNS) for each in STORE_FORMATS},
    "suppress-changelog-of-2.5.1": (BUFFERED, BUFFERED_ANEW, NOT_RESTORED),
    "suppress-changelog-rolling-to-2.5.1": (BUFFERED, BUFFERED_ANEW, NOT_RESTORED),
    "suppress-changelog-of-2.3": (BUFFERED, BUFFERED_ANEW, NOT_RESTORED),
    "suppress-changelog-between-2.3-and-2.4": (BUFFERED, BUFFERED_ANEW, "NullPointerException"),
    "suppress-changelog-of-2.3-misread": (BUFFERED, BUFFERED_ANEW, "BufferUnderflowException"),
}
"""For each row: settings of the first and of the second release, and what the second one says when it fails."""
ALWAYS = ("stores-of-4.3-unreadable", "stores-converted-by-4.3")
OTHERS = {
    "the same format, 3.9 and 3.0": ("3.9.2", "3.0.2", [], [], RUNS),
    "the same format, 4.2 and 4.0": ("4.2.1", "4.0.2", [], [], RUNS),
    "the same format, 2.8 and 2.4": ("2.8.2", "2.4.1", [], [], RUNS),
    "upgrade.from and the stores of 4.3": ("4.3.1", "4.2.1", ["upgrade.from=4.2"], [], "not opened: offsets"),
    "suppress() of 4.3 and 2.6": ("4.3.1", "2.6.3", BUFFERED, BUFFERED_ANEW, RUNS),
    "suppress() of 2.3 and 2.5.1": ("2.3.1", "2.5.1", BUFFERED, BUFFERED_ANEW, RUNS),
    "static-members-keep-newer-assignments": ("2.8.2", "2.5.1", STATIC, STATIC, "Unable to decode assignment data"),
    "static members of a newer release": ("2.5.1", "2.8.2", STATIC, STATIC, RUNS),
}


def cases():
    for row in HAZARDS:
        if row.name in PAIRS:
            marks = [] if row.name in ALWAYS else [pytest.mark.exhaustive]
            yield pytest.param(*row.seen, *PAIRS[row.name], id=row.name, marks=marks)
    for name, case in OTHERS.items():
        yield pytest.param(*case, id=name, marks=[pytest.mark.exhaustive])


@pytest.fixture(name="brokers", scope="module")
def fixture_brokers(tmp_path_factory):
    with ExitStack() as stack:
        try:
            yield broker_of(OLDER, tmp_path_factory.mktemp("broker"), stack)
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")


@pytest.mark.parametrize(("first", "second", "before", "after", "failure"), list(cases()))
def test_a_release_starts_on_the_state_of_another_or_says_why_not(
    first, second, before, after, failure, brokers, tmp_path
):
    try:
        for release in (first, second):
            class_path(f"org.apache.kafka:kafka-streams:{release}")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams: {missing}")

    found = play_pair(",".join([first, *before]), ",".join([second, *after]), brokers, tmp_path)

    assert found.runs == (failure == RUNS), found.log
    assert failure in found.log
