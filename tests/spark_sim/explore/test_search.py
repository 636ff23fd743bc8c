"""The graph up to the names of the members, against all states and all schedules with names, one by one."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sim.explore import Faults, Variant
from spark_sim.explore.counting import Counted, count
from spark_sim.explore.packed import Packed
from spark_sim.explore.parts import COMPLETING
from spark_sim.explore.paths import Group, way
from spark_sim.explore.search import BY_OPERATOR, END, FAULT, GENERATION, Graph, search
from spark_sim.explore.situation import GROUP, PHASE, GroupView, OperatorView, few
from spark_sim.properties import Violation
from tests.spark_sim.explore.cells import cell

DEATH = ((), -1)
CELLS = {
    "one bounce": cell("2.4.1", "3.9.2", members=2),
    "one bounce with faults": cell("2.4.1", "2.5.1", members=2, faults=(0, 1, 1)),
    "deadly": cell("2.0.1", "2.1.1", members=2, faults=(0, 1)),
    "three members": cell("1.1.1", "2.0.1"),
    "two bounces, patiently": cell("1.1.1", "2.0.1", "1.1", members=2, faults=(1, 0), patient=True),
    "offline": cell("1.1.1", "3.9.2", members=2, faults=(1, 0), offline=True),
    "turned round": cell("2.0.1", "2.2.2", members=2, variant=Variant.ROLLED_BACK),
    "interrupted": cell("2.0.1", "2.2.2", members=2, variant=Variant.INTERRUPTED),
    "one mistake": cell("1.1.1", "2.0.1", "1.1", members=2, variant=Variant.MISTAKEN, mistake="1.0"),
    "two may lead": cell("2.3.1", "2.4.1", members=2, faults=(1, 0)),
}


@cache
def successors(packed, parts, group):
    return list(generated(packed, parts, group))


def generated(packed, parts, group):
    """Yield what every move of every member, by name, leads to."""
    view = packed.situation(parts, group).view
    for member, number in enumerate(parts):
        row = packed.row(view, number)
        for move in row.moves:
            after, added, _ = packed.played(parts, group, member, move)
            yield tuple(after), added
        for move in row.elections:
            after, added, _ = packed.played(parts, group, member, move)
            for place, each in enumerate(after):
                for _, elected in packed.electable(each):
                    yield (*after[:place], elected, *after[place + 1 :]), added
        yield from (DEATH for _ in row.deaths)
    led = packed.led(parts) if view.group.phase == COMPLETING else None
    if isinstance(led, Violation):
        yield DEATH
    elif led is not None:
        yield tuple(led[part] for part in parts), group + PHASE


@pytest.mark.parametrize("name", CELLS)
def test_states_and_schedules_are_those_with_names(name):
    packed = Packed(CELLS[name])
    known, waiting = set(), [(tuple(parts), group) for parts, group in packed.beginnings()]
    beginnings = tuple(waiting)

    @cache
    def schedules(state):
        if state == DEATH:
            return 1
        ends = packed.situation(*state).ends
        return ends + sum(schedules(each) for each in successors(packed, *state))

    while waiting:
        state = waiting.pop()
        if state not in known and state != DEATH:
            known.add(state)
            waiting += successors(packed, *state)
    graph = search(packed)

    assert len({(tuple(sorted(parts)), group) for parts, group in known}) == graph.states
    assert sum(schedules(state) for state in beginnings) == count(graph).schedules


def graph_of(*edges, ending=(), beginning=1):
    """A graph by hand: edges as (from, to, label)."""
    graph = Graph(packed=None)
    graph.beginnings[beginning] = [0]
    graph.parts += [()] * max(max(edge[:2]) for edge in edges)
    for state in range(1, graph.states + 1):
        for source, target, label in edges:
            if source == state:
                graph.targets.append(target)
                graph.labels.append(label)
        graph.first.append(len(graph.targets))
    graph.ending += ending
    return graph


def test_schedules_are_counted_with_all_who_can_make_a_move():
    graph = graph_of((1, 2, 3), (1, 3, 1), (2, 3, 2), (3, END, 1), ending=[2])

    assert 3 + 3 * 2 + 1 == count(graph).schedules


def test_rebalances_are_counted_from_what_the_operator_does_or_what_goes_wrong():
    begins, operator = 1 + GENERATION, 1 + BY_OPERATOR
    graph = graph_of((1, 2, begins), (2, 3, begins), (3, 4, operator), (4, 5, begins + FAULT), ending=[5])

    assert Counted(1, depth=4, max_rebalances=2) == count(graph)


def test_a_circle_is_found_and_not_what_leads_away_from_it():
    graph = graph_of((1, 2, 1), (2, 3, 1), (3, 2, 1), (3, 4, 1), ending=[4])

    assert Counted(None, None, None, circle=2) == count(graph)


def test_who_always_leaves_first_starves_the_others_if_answers_do_not_last():
    """Why they last: Kafka's coordinator answers all who wait for SyncGroup at once."""
    assert count(search(Packed(cell("2.4.1", "2.5.1", members=2, answers_last=False)))).circle
    assert count(search(Packed(cell("2.4.1", "2.5.1", members=2)))).schedules


@pytest.mark.parametrize("name", CELLS)
def test_the_way_to_a_state_leads_there(name):
    graph = search(Packed(CELLS[name]))
    for at in range(1, graph.states, 1 + graph.states // 20):
        beginning, moves = way(graph, at)
        group = Group.at(graph.packed, graph.beginnings[beginning][0])
        for move in moves:
            list(group.make(move))

        assert graph.number_of(group.parts, group.group) == at


def test_a_state_that_there_is_not_has_no_number():
    graph = search(Packed(CELLS["one bounce"]))

    with pytest.raises(KeyError, match="no state has the parts"):
        graph.number_of(graph.parts[1], GROUP)
    assert len(graph.ids) == len(graph.keys)


@given(st.lists(st.integers(0, 63), min_size=10, max_size=10))
def test_few_counts_up_to_two_in_every_tally(counts):
    tallies = sum(count << 6 * place for place, count in enumerate(counts))

    assert [min(2, count) for count in counts] == [few(tallies) >> 6 * place & 63 for place in range(10)]


@pytest.mark.parametrize("members", [0, 8])
def test_groups_of_nobody_or_of_more_than_an_edge_has_bits_for_are_refused(members):
    with pytest.raises(ValueError, match="'members' must be"):
        cell("2.0.1", "2.2.2", members=members)


def test_more_faults_than_a_state_has_bits_for_are_refused():
    with pytest.raises(ValueError, match="'crashes' must be <= 7: 8"):
        Faults(crashes=8)


def test_the_halves_of_a_view_are_never_taken_for_each_other():
    """As named tuples they were equal if their numbers were, and moves of one were remembered for the other."""
    numbers = (0, 1, 2, False, False)

    assert GroupView(*numbers) != OperatorView(*numbers)
