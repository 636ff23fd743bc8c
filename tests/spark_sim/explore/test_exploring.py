"""What comes out of a cell."""

import pickle

import pytest

from spark_sim.explore import Variant, explore
from spark_sim.explore.course import Cell
from spark_sim.explore.packed import Packed
from spark_sim.explore.tables import Tables
from spark_sim.properties import NOBODY_DIES, OWNED_ONCE, READABLE, Violation
from spark_sim.scenario import Scenario
from spark_sim.world import World
from tests.spark_sim.explore.cells import cell


def test_cells_and_results_travel_between_processes():
    asked = cell("2.0.1", "2.1.1", members=2)
    found = explore(pickle.loads(pickle.dumps(asked)))

    assert explore(asked) == found == pickle.loads(pickle.dumps(found))
    assert asked == found.cell


def test_the_counter_example_is_a_shortest_one_that_a_person_can_replay():
    (broken,) = explore(cell("1.1.1", "2.0.1", members=2)).broken

    assert READABLE == broken.property
    assert (
        "A@1.1.1 B@1.1.1 | hold | stop A | start A>2.0.1 | join A | join B | elect B | expire A | lead B"
        == broken.example
    )
    assert [READABLE] == [each.property for each in World(Scenario.parse(broken.example)).run().violations]


def test_a_way_that_the_simulated_world_cannot_go_is_not_the_example():
    """Answers last: two leave because of one generation. The world lets the first one's leaving take the other's."""
    (broken,) = explore(cell("2.1.1", "2.0.1")).broken

    assert NOBODY_DIES == broken.property
    assert broken.confirmed


def test_two_owners_are_only_suspected_without_real_members():
    asked = cell("2.3.1", "2.4.1", faults=(1, 1), patient=True)
    unconfirmed = explore(asked, confirm=False)

    assert unconfirmed.suspects
    assert unconfirmed.safe
    assert [OWNED_ONCE] == [each.property for each in explore(asked).broken]


def test_who_does_not_start_is_told_with_kafkas_words():
    (broken,) = explore(cell("3.4.1", "3.5.1", "3.4")).broken

    assert "Unknown configuration value for parameter 'upgrade.from': 3.4" == broken.text


def test_a_patient_operator_has_fewer_ways():
    hasty, patient = explore(cell("2.4.1", "3.9.2")), explore(cell("2.4.1", "3.9.2", patient=True))

    assert patient.states < hasty.states
    assert patient.schedules < hasty.schedules
    assert patient.max_rebalances <= hasty.max_rebalances


def test_variants_change_what_members_are_started_as():
    upgrade = cell("1.1.1", "2.4.1", "1.1").upgrade
    texts = {variant: [*map(str, Cell(upgrade, variant=variant).courses[0])] for variant in Variant}
    whole = ["1.1.1", "2.4.1,upgrade.from=1.1", "2.4.1"]

    assert whole[:2] == texts[Variant.NEVER_REMOVED]
    assert ["1.1.1", "2.4.1", "2.4.1"] == texts[Variant.MISTAKEN]
    assert [whole] * 3 == [texts[each] for each in (Variant.FOLLOWED, Variant.INTERRUPTED, Variant.ROLLED_BACK)]


def test_tables_ask_the_real_objects():
    tables = Tables(cell("2.0.1", "2.1.1").instances)
    old, new = tables.started(0), tables.started(1)
    heard = [tables.subscription(version) for version in (old, new)]
    answers = tables.answers(1, frozenset(heard))
    said = tables.said.values[answers[heard[0], False]]
    after = tables.reaction(old, answers[heard[0], False])

    assert (3, 4) == (tables.used(old), tables.used(new))
    assert (3, 4) == (said.version, said.supported)
    assert 4 == tables.used(after.version)
    assert isinstance(tables.subscription(after.version), Violation)  # KAFKA-8649


@pytest.mark.parametrize("members", [1, 2, 5])
def test_states_are_integers_that_tell_multisets_of_parts(members):
    packed = Packed(cell("2.4.1", "3.9.2", members=members))
    parts, group = packed.beginnings()[0]

    assert packed.key(parts, group) == packed.key(parts[::-1], group)
    assert packed.key(parts, group) != packed.key([packed.calm[part] for part in parts], group)


def test_a_cell_that_is_too_large_is_not_called_safe():
    found = explore(cell("2.4.1", "3.9.2", members=2), most=50)

    assert not found.complete
    assert not found.safe
    assert (None, ()) == (found.schedules, found.broken)
