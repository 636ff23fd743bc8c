"""The symmetry-reduced graph against all states and schedules with named members."""

from functools import cache

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation
from streams_assignor.spark_sim.packed.bfs import PackedGraph, bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.model import PackedState
from streams_assignor.spark_sim.packed.paths import NamedGroup
from streams_assignor.spark_sim.packed.process_state import COMPLETING
from streams_assignor.spark_sim.packed.view import GROUP_FIELDS_MASK, PHASE, OperatorView, PackedGroupView, saturate
from streams_assignor.spark_sim.search.graph import FAILED_STATE, path_to
from streams_assignor.spark_sim.search.model import FAULT_ACTION, GENERATION, OPERATOR_ACTION
from streams_assignor.spark_sim.search.path_counting import PathCounts, count_paths
from tests.spark_sim.packed.cells import cell

DEATH = ((), -1)
CELLS = {
    "one bounce": cell("2.4.1", "3.9.2", members=2),
    "one bounce with faults": cell("2.4.1", "2.5.1", members=2, faults=(0, 1, 1)),
    "failing": cell("2.0.1", "2.1.1", members=2, faults=(0, 1)),
    "three members": cell("1.1.1", "2.0.1"),
    "two bounces, wait for quiescence": cell(
        "1.1.1", "2.0.1", "1.1", members=2, faults=(1, 0), wait_for_quiescence=True
    ),
    "offline": cell("1.1.1", "3.9.2", members=2, faults=(1, 0), offline=True),
    "rolled back": cell("2.0.1", "2.2.2", members=2, deviation=OperatorDeviation.ROLLED_BACK),
    "interrupted": cell("2.0.1", "2.2.2", members=2, deviation=OperatorDeviation.INTERRUPTED),
    "one mistake": cell(
        "1.1.1", "2.0.1", "1.1", members=2, deviation=OperatorDeviation.MISTAKEN, mistaken_upgrade_from="1.0"
    ),
    "two may lead": cell("2.3.1", "2.4.1", members=2, faults=(1, 0)),
}


@cache
def successors(packed, parts, group):
    return list(generated(packed, parts, group))


def generated(packed, parts, group):
    """Yield what every action of every named member leads to."""
    view = packed.summary(parts, group).view
    for member, number in enumerate(parts):
        row = packed.action_row(view, number)
        for move in row.actions:
            after, added, _ = packed.apply(parts, group, member, move)
            yield tuple(after), added
        for move in row.elections:
            after, added, _ = packed.apply(parts, group, member, move)
            for place, each in enumerate(after):
                for _, elected in packed.elections[each]:
                    yield (*after[:place], elected, *after[place + 1 :]), added
        yield from (DEATH for _ in row.failures)
    led = packed.leader_result(parts) if view.group.phase == COMPLETING else None
    if isinstance(led, Violation):
        yield DEATH
    elif led is not None:
        yield tuple(led[part] for part in parts), group + PHASE


@pytest.mark.parametrize("name", CELLS)
def test_states_and_schedules_are_those_with_names(name):
    packed = Encoding(CELLS[name])
    known, waiting = set(), [(tuple(parts), group) for parts, group in packed.initial_states()]
    beginnings = tuple(waiting)

    @cache
    def schedules(state):
        if state == DEATH:
            return 1
        ends = packed.summary(*state).terminal
        return ends + sum(schedules(each) for each in successors(packed, *state))

    while waiting:
        state = waiting.pop()
        if state not in known and state != DEATH:
            known.add(state)
            waiting += successors(packed, *state)
    graph = bfs(packed)

    assert len({(tuple(sorted(parts)), group) for parts, group in known}) == graph.state_count
    assert sum(schedules(state) for state in beginnings) == count_paths(graph).schedules


def graph_of(*edges, ending=(), beginning=1):
    """A graph by hand: edges as (from, to, label)."""
    graph = PackedGraph(model=None)
    graph.initial_states[beginning] = [0]
    graph.process_states += [()] * max(max(edge[:2]) for edge in edges)
    for state in range(1, graph.state_count + 1):
        for source, target, label in edges:
            if source == state:
                graph.targets.append(target)
                graph.labels.append(label)
        graph.edge_offsets.append(len(graph.targets))
    graph.terminal_states += ending
    return graph


def test_schedules_are_counted_with_the_multiplicity_of_each_action():
    graph = graph_of((1, 2, 3), (1, 3, 1), (2, 3, 2), (3, FAILED_STATE, 1), ending=[2])

    assert 3 + 3 * 2 + 1 == count_paths(graph).schedules


def test_rebalances_are_counted_between_operator_actions_and_faults():
    begins, operator = 1 + GENERATION, 1 + OPERATOR_ACTION
    graph = graph_of((1, 2, begins), (2, 3, begins), (3, 4, operator), (4, 5, begins + FAULT_ACTION), ending=[5])

    assert PathCounts(1, depth=4, max_rebalances=2) == count_paths(graph)


def test_a_state_on_a_cycle_is_found():
    graph = graph_of((1, 2, 1), (2, 3, 1), (3, 2, 1), (3, 4, 1), ending=[4])

    assert PathCounts(None, None, None, cycle_state=2) == count_paths(graph)


def test_rebalancing_ends_if_members_do_not_miss_their_responses_for_ever():
    """One whose SyncGroup comes when the next rebalance has begun gets none."""
    asked = cell("2.4.1", "3.9.2", members=2)

    assert count_paths(bfs(Encoding(evolve(asked, may_miss_responses=True)))).cycle_state
    assert count_paths(bfs(Encoding(asked))).schedules


@pytest.mark.parametrize("name", CELLS)
def test_the_path_to_a_state_leads_there(name):
    graph = bfs(Encoding(CELLS[name]))
    for at in range(1, graph.state_count, 1 + graph.state_count // 20):
        beginning, moves = path_to(graph, at)
        group = NamedGroup.at(graph.encoding, graph.initial_states[beginning][0])
        for move in moves:
            list(group.apply(move))

        assert graph.number_of(PackedState(tuple(group.states), group.group_fields)) == at


def test_an_unknown_state_has_no_number():
    graph = bfs(Encoding(CELLS["one bounce"]))

    with pytest.raises(KeyError, match="no state has the processes"):
        graph.number_of(PackedState(graph.process_states[1], GROUP_FIELDS_MASK))
    assert len(graph.numbers_by_key) == len(graph.keys)


@given(st.lists(st.integers(0, 63), min_size=10, max_size=10))
def test_saturate_counts_ids_and_pending_joins_up_to_two_and_all_else_up_to_one(counts):
    tallies = sum(count << 6 * place for place, count in enumerate(counts))
    most = [2, 2] + [1] * 8

    assert list(map(min, most, counts)) == [saturate(tallies) >> 6 * place & 63 for place in range(10)]


@pytest.mark.parametrize("members", [0, 8])
def test_empty_groups_and_groups_of_more_than_seven_are_rejected(members):
    with pytest.raises(ValueError, match="'members' must be"):
        cell("2.0.1", "2.2.2", members=members)


def test_more_faults_than_a_state_has_bits_for_are_rejected():
    with pytest.raises(ValueError, match="'crashes' must be <= 7: 8"):
        FaultBudget(crashes=8)


def test_the_halves_of_a_view_are_never_equal():
    """As named tuples they were equal if their fields were, and the cache returned actions of the other half."""
    numbers = (0, 1, 2, False, False)

    assert PackedGroupView(*numbers) != OperatorView(*numbers, False)
