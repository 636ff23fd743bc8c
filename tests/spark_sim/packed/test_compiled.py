"""The compiled search and path counting against the uncompiled ones: equal graphs and counts."""

import pytest

from streams_assignor.spark_sim.packed import OperatorDeviation, explore, explorer
from streams_assignor.spark_sim.packed.bfs import bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.explorer import MIN_COMPILED_COST, PYTHON_ENGINE, choose_engine
from streams_assignor.spark_sim.packed.model import PackedState
from streams_assignor.spark_sim.packed.view import GROUP_FIELDS_MASK
from streams_assignor.spark_sim.search import path_counting
from streams_assignor.spark_sim.search.graph import path_to
from tests.spark_sim.packed.cells import cell

fast = pytest.importorskip(
    "streams_assignor.spark_sim.packed.compiled.bfs", reason="needs numba (extra fast)", exc_type=ImportError
)
fast_counting = pytest.importorskip("streams_assignor.spark_sim.packed.compiled.path_counting", exc_type=ImportError)
COMPILED = explorer.compiled_engine()
pytestmark = pytest.mark.slow
CELLS = {
    "failing": cell("2.0.1", "2.1.1", faults=(1, 0)),
    "all faults": cell("2.4.1", "2.5.1", members=2, faults=(1, 1, 1)),
    "two bounces, wait for quiescence": cell("1.1.1", "2.0.1", "1.1", faults=(1, 1), wait_for_quiescence=True),
    "offline": cell("1.1.1", "3.9.2", members=2, faults=(1, 0), offline=True),
    "rolled back": cell("2.0.1", "2.2.2", members=2, deviation=OperatorDeviation.ROLLED_BACK),
    "interrupted": cell("2.0.1", "2.2.2", members=2, deviation=OperatorDeviation.INTERRUPTED),
    "one mistake": cell("1.1.1", "2.0.1", "1.1", deviation=OperatorDeviation.MISTAKEN, mistaken_upgrade_from="1.0"),
    "second owners": cell("2.3.1", "2.4.1", members=2, faults=(1, 0)),
    "answers are lost": cell("2.4.1", "2.5.1", members=2, sync_responses_survive_rebalance=False),
    "five members": cell("2.4.1", "2.5.1", members=5, wait_for_quiescence=True),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_graph_is_the_same(name):
    plain, compiled = bfs(Encoding(CELLS[name])), fast.bfs(Encoding(CELLS[name]))

    assert (plain.targets, plain.labels, plain.edge_offsets) == (
        [*compiled.targets],
        compiled.labels,
        compiled.edge_offsets,
    )
    assert (plain.initial_states, plain.terminal_states, plain.state_counts) == (
        compiled.initial_states,
        compiled.terminal_states,
        compiled.state_counts,
    )
    assert (plain.violations, plain.second_owner_suspects) == (compiled.violations, compiled.second_owner_suspects)
    for one, other in ((plain.process_states, compiled.process_states), (plain.keys, compiled.keys)):
        assert list(one) == list(other)
    assert compiled.number_of(compiled.state(compiled.state_count)) == compiled.state_count


@pytest.mark.parametrize("name", CELLS)
def test_the_count_is_the_same(name):
    graph = bfs(Encoding(CELLS[name]))

    assert path_counting.count_paths(graph) == fast_counting.count_paths(graph)


def test_rows_of_limbs_grow(monkeypatch):
    monkeypatch.setattr(fast_counting, "_INITIAL_LIMBS", 1)
    graph = bfs(Encoding(CELLS["five members"]))
    counted = path_counting.count_paths(graph)

    assert counted.schedules.bit_length() > 2 * 59
    assert counted == fast_counting.count_paths(graph)


@pytest.mark.parametrize("cost", [0, MIN_COMPILED_COST + 1], ids=["small", "large"])
def test_large_cells_use_the_compiled_engine_if_numba_is_installed(monkeypatch, cost):
    monkeypatch.setattr(explorer, "compiled_engine", lambda: COMPILED)

    assert (COMPILED if cost else PYTHON_ENGINE) == choose_engine(cost)
    monkeypatch.setattr(explorer, "compiled_engine", lambda: None)
    assert PYTHON_ENGINE == choose_engine(cost)


def test_arrays_grow(monkeypatch):
    monkeypatch.setattr(fast, "_INITIAL_CAPACITY", 1 << 12)
    plain, compiled = (explore(CELLS["failing"], engine=each, confirm=False) for each in (PYTHON_ENGINE, COMPILED))

    assert plain == compiled


def test_too_many_process_states_are_searched_uncompiled(monkeypatch):
    monkeypatch.setattr(fast._kernel, "MAX_PROCESS_STATES", 50)
    plain, other = bfs(Encoding(CELLS["failing"])), fast.bfs(Encoding(CELLS["failing"]))

    assert len(plain.encoding.weights) > 50
    assert (plain.process_states, plain.targets, plain.labels) == (other.process_states, other.targets, other.labels)


def test_the_path_to_a_state_is_the_same():
    plain, compiled = bfs(Encoding(CELLS["failing"])), fast.bfs(Encoding(CELLS["failing"]))

    for at in (1, plain.state_count // 2, plain.state_count):
        assert path_to(plain, at) == path_to(compiled, at)
    with pytest.raises(KeyError, match="no state has the processes"):
        compiled.number_of(PackedState(compiled.process_states[1], GROUP_FIELDS_MASK))


def test_a_search_that_is_cut_short_is_the_same():
    plain, compiled = (
        explore(CELLS["failing"], engine=each, confirm=False, max_states=500) for each in (PYTHON_ENGINE, COMPILED)
    )

    assert plain == compiled
    assert not compiled.complete


def test_seven_members_are_searched_uncompiled():
    """They were rejected, although a cell may have seven."""
    seven = cell("2.4.1", "2.5.1", members=7, wait_for_quiescence=True)
    plain, other = bfs(Encoding(seven), max_states=500), fast.bfs(Encoding(seven), max_states=500)

    assert plain.state_count > 500
    assert (plain.process_states, plain.targets, plain.labels) == (other.process_states, other.targets, other.labels)
