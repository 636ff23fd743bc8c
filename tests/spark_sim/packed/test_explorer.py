"""The result of exploring a cell."""

import pickle

import pytest

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import (
    NO_MEMBER_FAILS,
    READABLE_VERSION,
    SINGLE_OWNER,
    Violation,
)
from streams_assignor.spark_sim.packed import OperatorDeviation, UpgradeCell, explore
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.tables.protocol_table import ProtocolTable
from tests.spark_sim.packed.cells import cell


def test_cells_and_results_travel_between_processes():
    asked = cell("2.0.1", "2.1.1", members=2)
    found = explore(pickle.loads(pickle.dumps(asked)))

    assert explore(asked) == found == pickle.loads(pickle.dumps(found))
    assert asked == found.cell


def test_the_counterexample_is_a_shortest_scenario():
    (broken,) = explore(cell("1.1.1", "2.0.1", members=2)).counterexamples

    assert READABLE_VERSION == broken.property
    assert (
        "A@1.1.1 B@1.1.1 | hold | stop A | start A>2.0.1 | join A | join B | elect B | expire A | lead B"
        == broken.example
    )
    assert [READABLE_VERSION] == [each.property for each in Simulation(Scenario.parse(broken.example)).run().violations]


def test_a_path_that_cannot_be_replayed_is_not_confirmed():
    """Two members leave after one generation, as responses survive; in the simulation only one does."""
    (broken,) = explore(cell("2.1.1", "2.0.1")).counterexamples

    assert NO_MEMBER_FAILS == broken.property
    assert broken.confirmed


def test_an_election_names_the_member_id_that_it_elects():
    """A process that was restarted twice has three ids in the group; its oldest one was elected in the replay."""
    (broken,) = explore(cell("2.7.0", "2.6.0", "0.10.0", members=2, faults=(1, 1))).counterexamples

    assert broken.confirmed
    assert "| start A>2.6.0 | join A | elect A#2 | expire A | lead A" in broken.example


def test_second_owners_are_only_suspected_without_replay():
    asked = cell("2.3.1", "2.4.1", faults=(1, 1), wait_for_quiescence=True)
    unconfirmed = explore(asked, confirm=False)

    assert unconfirmed.second_owner_suspects
    assert unconfirmed.safe
    assert [SINGLE_OWNER] == [each.property for each in explore(asked).counterexamples]


def test_a_rejected_configuration_has_kafkas_message():
    (broken,) = explore(cell("3.4.1", "3.5.1", "3.4")).counterexamples

    assert "Unknown configuration value for parameter 'upgrade.from': 3.4" == broken.text


def test_waiting_for_quiescence_leaves_fewer_schedules():
    hasty, patient = explore(cell("2.4.1", "3.9.2")), explore(cell("2.4.1", "3.9.2", wait_for_quiescence=True))

    assert patient.states < hasty.states
    assert patient.schedules < hasty.schedules
    assert patient.max_rebalances <= hasty.max_rebalances


def test_deviations_change_the_instance_sequences():
    upgrade = cell("1.1.1", "2.4.1", "1.1").upgrade
    texts = {
        variant: [*map(str, UpgradeCell(upgrade, deviation=variant).instance_sequences[0])]
        for variant in OperatorDeviation
    }
    whole = ["1.1.1", "2.4.1,upgrade.from=1.1", "2.4.1"]

    assert whole[:2] == texts[OperatorDeviation.NEVER_REMOVED]
    assert ["1.1.1", "2.4.1", "2.4.1"] == texts[OperatorDeviation.MISTAKEN]
    assert [whole] * 3 == [
        texts[each] for each in (OperatorDeviation.NONE, OperatorDeviation.INTERRUPTED, OperatorDeviation.ROLLED_BACK)
    ]


def test_the_protocol_table_uses_the_real_assignor():
    tables = ProtocolTable(cell("2.0.1", "2.1.1").instances)
    old, new = tables.initial_version(0), tables.initial_version(1)
    subscriptions = [tables.subscriptions[version] for version in (old, new)]
    answers = tables.answers(1, frozenset(subscriptions))
    answer = tables.answers_sent.values[answers[subscriptions[0], False]]
    after = tables.reactions[old, answers[subscriptions[0], False]]

    assert (3, 4) == (tables.used_version(old), tables.used_version(new))
    assert (3, 4) == (answer.version, answer.supported_version)
    assert 4 == tables.used_version(after.version)
    assert isinstance(tables.subscriptions[after.version], Violation)  # KAFKA-8649


@pytest.mark.parametrize("members", [1, 2, 5])
def test_keys_distinguish_multisets_of_process_states(members):
    packed = Encoding(cell("2.4.1", "3.9.2", members=members))
    parts, group = packed.initial_states()[0]

    assert packed.key(parts, group) == packed.key(parts[::-1], group)
    assert packed.key(parts, group) != packed.key([packed.join_pending_state[part] for part in parts], group)


def test_an_incomplete_exploration_is_not_safe():
    found = explore(cell("2.4.1", "3.9.2", members=2), max_states=50)

    assert not found.complete
    assert not found.safe
    assert (None, ()) == (found.schedules, found.counterexamples)
