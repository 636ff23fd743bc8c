"""Exploration finds what is known about Kafka's releases: known bugs, and safe upgrades."""

import pytest

from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.violations import (
    COMMON_VERSION_REACHED,
    NO_MEMBER_FAILS,
    READABLE_VERSION,
    SINGLE_OWNER,
)
from streams_assignor.spark_sim.packed import OperatorDeviation, explore
from tests.spark_sim.packed.cells import cell

WRONG_VALUE = (Instance.parse("2.6.3"), Instance.parse("simulated-4,upgrade.from=1.1"))
UNSAFE = {
    "B1 KAFKA-6054": (cell("0.10.0.1", "0.10.1.1"), READABLE_VERSION),
    "B1 unfixed, with the value that it does not know": (cell("0.10.0.1", "1.1.0", "0.10.0"), READABLE_VERSION),
    "B2 without upgrade.from": (cell("1.1.1", "2.0.1"), READABLE_VERSION),
    "B2 with a wrong one": (cell("1.1.1", "3.9.2", "2.0"), READABLE_VERSION),
    "B3 KAFKA-8649": (cell("2.0.1", "2.1.1"), NO_MEMBER_FAILS),
    "B4 KAFKA-8649, the way back": (cell("2.3.0", "2.0.1"), NO_MEMBER_FAILS),
    "B12 eager and cooperative": (cell("2.3.1", "2.4.1", faults=(1, 1), wait_for_quiescence=True), SINGLE_OWNER),
    "B14 3.4 crashes": (cell("3.4.1", "3.5.1", "3.4"), NO_MEMBER_FAILS),
    "B15 KAFKA-16139": (cell("3.5.2", "3.6.1", "3.5"), NO_MEMBER_FAILS),
    "B17 the leader sends error code 3 to all": (
        cell("2.6.3", "simulated-4", members=2, custom_sequences=(WRONG_VALUE, WRONG_VALUE)),
        NO_MEMBER_FAILS,
    ),
    "downgrade below version probing": (cell("2.4.1", "1.1.1"), READABLE_VERSION),
    "one forgets upgrade.from": (cell("1.1.1", "2.4.1", "1.1", deviation=OperatorDeviation.MISTAKEN), READABLE_VERSION),
}
SAFE = {
    "B1 fixed": cell("0.10.0.1", "1.1.1", "0.10.0"),
    "B2 with the right value": cell("1.1.1", "3.9.2", "1.1", wait_for_quiescence=True),
    "B3 fixed": cell("2.0.1", "2.2.2"),
    "B4 fixed": cell("2.3.1", "2.0.1"),
    "B12 two bounces": cell("2.3.1", "2.4.1", "2.3", faults=(1, 1), wait_for_quiescence=True),
    "B14 fixed": cell("3.4.1", "3.5.2", "3.4", members=2),
    "B15 fixed": cell("3.5.2", "3.6.2", "3.5", members=2),
    "probing with faults": cell("2.4.1", "3.9.2", faults=(1, 1), wait_for_quiescence=True),
    "and back": cell("4.3.1", "2.4.1", faults=(1, 1), wait_for_quiescence=True),
    "offline": cell("0.10.0.1", "4.3.1", offline=True, faults=(1, 1)),
    "rolled back": cell("2.4.1", "2.5.1", deviation=OperatorDeviation.ROLLED_BACK, wait_for_quiescence=True),
    "interrupted": cell("2.4.1", "3.9.2", deviation=OperatorDeviation.INTERRUPTED),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_known_bugs_are_found_and_confirmed_by_replay(name):
    asked, expected = UNSAFE[name]
    broken = {each.property: each for each in explore(asked).counterexamples}

    assert expected in broken
    assert all(each.confirmed is not False for each in broken.values())
    if broken[expected].example:
        assert broken[expected].confirmed
    else:
        assert "upgrade.from" in broken[expected].text


@pytest.mark.parametrize("name", SAFE)
def test_safe_upgrades_are_safe_on_every_schedule(name):
    found = explore(SAFE[name])

    assert () == found.counterexamples
    assert found.schedules > 1000


@pytest.mark.parametrize("leader", ["2.0.1", "2.6.3", "2.7.2"])
def test_b17_the_future_beside_what_cannot_be_probed(leader):
    """Up to 2.6 the leader fails; since 2.7 it sends error code 3, in a version that old members cannot read."""
    before, after = Instance.parse(f"{leader},upgrade.from=1.1"), Instance.parse(leader)
    mixed = cell("1.1.1", leader, members=2, custom_sequences=((before, Instance.parse("3.9.2")), (before, after)))

    assert NO_MEMBER_FAILS in {each.property for each in explore(mixed).counterexamples}


@pytest.mark.parametrize("value", ["1.1", "0.10.0"])
def test_a_value_that_is_never_removed_keeps_the_group_where_it_was(value):
    """B13: no member fails, but the highest common version stays the old one."""
    stays = explore(cell("1.1.1", "3.9.2", value, deviation=OperatorDeviation.NEVER_REMOVED, members=2))

    assert {READABLE_VERSION, COMMON_VERSION_REACHED}.isdisjoint(each.property for each in stays.counterexamples)
