"""Every transition of a cell, replayed with simulated members."""

from collections import Counter

import pytest

from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import SINGLE_OWNER
from streams_assignor.spark_sim.packed.bfs import bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.paths import as_scenario
from tests.spark_sim.packed.cells import cell
from tests.spark_sim.search.covering_schedules import covering_schedules

CELLS = {
    "probing": cell("2.4.1", "3.9.2", members=2),
    "failing": cell("2.1.1", "2.0.1", members=2),
    "two bounces": cell("1.1.1", "2.4.1", "1.1", members=2, faults=(0, 0), wait_for_quiescence=True),
    "faults": cell("0.10.0.1", "0.10.1.1", members=2, faults=(0, 1)),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_model_has_the_transitions_of_the_bulk_search(name):
    graph = bfs(Encoding(CELLS[name]))

    for at in range(1, graph.state_count + 1):
        edges = range(graph.edge_offsets[at], graph.edge_offsets[at + 1])
        found = Counter((graph.targets[edge], graph.labels[edge]) for edge in edges)
        expected = Counter((graph.target_of(each), each.label) for each in graph.model.transitions(graph.state(at)))
        assert found == expected


@pytest.mark.parametrize("name", CELLS)
def test_the_schedules_cover_every_transition_and_simulated_members_replay_them(name):
    graph = bfs(Encoding(CELLS[name]))
    runs = list(covering_schedules(graph))
    everything = {
        at: {each.action: graph.target_of(each) for each in graph.model.transitions(graph.state(at))}
        for at in range(1, graph.state_count + 1)
    }
    left = {(at, move) for at, moves in everything.items() for move in moves}
    for run in runs:
        at = run.initial_state
        for move in run.actions:
            left.discard((at, move))
            at = everything[at][move]

    assert not left
    assert len(runs) < graph.transition_count / 2
    for run in runs:
        if all(not move.elects or nameable(graph, move) for move in run.actions):
            scenario = as_scenario(graph, run.initial_state, run.actions)
            broken = {each.property for each in Simulation(scenario).run().violations} - {SINGLE_OWNER}
            assert bool(run.violation) == bool(broken), scenario


def nameable(graph, move):
    """Whether a scenario can name the elected id: a member's name means the oldest of its ids."""
    part = graph.encoding.process_states.values[move.elects[1]]
    return part.orphaned_ids[0].leads if part.orphaned_ids else part.leads
