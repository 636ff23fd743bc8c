"""Every transition of a cell, made by real members."""

from collections import Counter

import pytest

from spark_sim.explore.cover import onward, suite
from spark_sim.explore.packed import Packed
from spark_sim.explore.paths import told
from spark_sim.explore.search import CODE, search
from spark_sim.properties import OWNED_ONCE
from spark_sim.world import World
from tests.spark_sim.explore.cells import cell

CELLS = {
    "probing": cell("2.4.1", "3.9.2", members=2),
    "deadly": cell("2.1.1", "2.0.1", members=2),
    "two bounces": cell("1.1.1", "2.4.1", "1.1", members=2, faults=(0, 0), patient=True),
    "faults": cell("0.10.0.1", "0.10.1.1", members=2, faults=(0, 1)),
}


@pytest.mark.parametrize("name", CELLS)
def test_one_move_after_another_leads_where_the_search_has_been(name):
    graph = search(Packed(CELLS[name]))

    for at in range(1, graph.states + 1):
        edges = range(graph.first[at], graph.first[at + 1])
        found = Counter((graph.targets[edge], graph.labels[edge] % CODE) for edge in edges)
        assert found == Counter((each.target, each.members) for each in onward(graph, at))


@pytest.mark.parametrize("name", CELLS)
def test_the_suite_covers_every_transition_and_real_members_play_it(name):
    graph = search(Packed(CELLS[name]))
    runs = list(suite(graph))
    everything = {at: {each.move: each.target for each in onward(graph, at)} for at in range(1, graph.states + 1)}
    left = {(at, move) for at, moves in everything.items() for move in moves}
    for run in runs:
        at = run.beginning
        for move in run.moves:
            left.discard((at, move))
            at = everything[at][move]

    assert not left
    assert len(runs) < graph.transitions / 2
    for run in runs:
        if all(not move.elects or nameable(graph, move) for move in run.moves):
            scenario = told(graph, run.beginning, run.moves)
            broken = {each.property for each in World(scenario).run().violations} - {OWNED_ONCE}
            assert bool(run.violation) == bool(broken), scenario


def nameable(graph, move):
    """Whether a scenario elects the same: with a member's name it means the oldest of its ids."""
    part = graph.packed.parts.values[move.elects[1]]
    return part.ghosts[0].leads if part.ghosts else part.leads
