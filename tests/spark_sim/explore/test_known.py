"""What is known about Kafka's releases comes out of exploration: history's bugs, and what is safe."""

import pytest

from spark_sim.explore import Variant, explore
from spark_sim.properties import HIGHEST_VERSION, NOBODY_DIES, OWNED_ONCE, READABLE
from spark_sim.scenario import Instance
from tests.spark_sim.explore.cells import cell

UNSAFE = {
    "B1 KAFKA-6054": (cell("0.10.0.1", "0.10.1.1"), READABLE),
    "B1 unfixed, with the value that it does not know": (cell("0.10.0.1", "1.1.0", "0.10.0"), READABLE),
    "B2 without upgrade.from": (cell("1.1.1", "2.0.1"), READABLE),
    "B2 with a wrong one": (cell("1.1.1", "3.9.2", "2.0"), READABLE),
    "B3 KAFKA-8649": (cell("2.0.1", "2.1.1"), NOBODY_DIES),
    "B4 KAFKA-8649, the way back": (cell("2.3.0", "2.0.1"), NOBODY_DIES),
    "B12 eager and cooperative": (cell("2.3.1", "2.4.1", faults=(1, 1), patient=True), OWNED_ONCE),
    "B14 3.4 crashes": (cell("3.4.1", "3.5.1", "3.4"), NOBODY_DIES),
    "B15 KAFKA-16139": (cell("3.5.2", "3.6.1", "3.5"), NOBODY_DIES),
    "back to where nobody probes": (cell("2.4.1", "1.1.1"), READABLE),
    "one forgets upgrade.from": (cell("1.1.1", "2.4.1", "1.1", variant=Variant.MISTAKEN), READABLE),
}
SAFE = {
    "B1 fixed": cell("0.10.0.1", "1.1.1", "0.10.0"),
    "B2 with the right value": cell("1.1.1", "3.9.2", "1.1", patient=True),
    "B3 fixed": cell("2.0.1", "2.2.2"),
    "B4 fixed": cell("2.3.1", "2.0.1"),
    "B12 two bounces": cell("2.3.1", "2.4.1", "2.3", faults=(1, 1), patient=True),
    "B14 fixed": cell("3.4.1", "3.5.2", "3.4", members=2),
    "B15 fixed": cell("3.5.2", "3.6.2", "3.5", members=2),
    "probing with faults": cell("2.4.1", "3.9.2", faults=(1, 1), patient=True),
    "and back": cell("4.3.1", "2.4.1", faults=(1, 1), patient=True),
    "offline": cell("0.10.0.1", "4.3.1", offline=True, faults=(1, 1)),
    "turned round": cell("2.4.1", "2.5.1", variant=Variant.ROLLED_BACK, patient=True),
    "interrupted": cell("2.4.1", "3.9.2", variant=Variant.INTERRUPTED),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_history_is_found_again_and_real_members_do_the_same(name):
    asked, expected = UNSAFE[name]
    broken = {each.property: each for each in explore(asked).broken}

    assert expected in broken
    if broken[expected].example:
        assert broken[expected].confirmed
    else:
        assert "upgrade.from" in broken[expected].text


@pytest.mark.parametrize("name", SAFE)
def test_what_is_safe_is_safe_on_every_way(name):
    found = explore(SAFE[name])

    assert () == found.broken
    assert found.schedules > 1000


@pytest.mark.parametrize("leader", ["2.0.1", "2.6.3", "2.7.2"])
def test_b17_the_future_beside_what_cannot_be_probed(leader):
    """Up to 2.6 the leader dies; since 2.7 all are told error code 3, in a version that old members cannot read."""
    before, after = Instance.parse(f"{leader},upgrade.from=1.1"), Instance.parse(leader)
    mixed = cell("1.1.1", leader, members=2, own=((before, Instance.parse("3.9.2")), (before, after)))

    assert NOBODY_DIES in {each.property for each in explore(mixed).broken}


@pytest.mark.parametrize("value", ["1.1", "0.10.0"])
def test_a_value_that_is_never_removed_keeps_the_group_where_it_was(value):
    """B13: nobody dies, and nobody gets further: the highest version that all can send is then the old one."""
    stays = explore(cell("1.1.1", "3.9.2", value, variant=Variant.NEVER_REMOVED, members=2))

    assert {READABLE, HIGHEST_VERSION}.isdisjoint(each.property for each in stays.broken)
