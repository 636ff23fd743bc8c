"""The compiled search and count against the plain ones: the same graph and numbers, one by one."""

import pytest

from spark_sim.explore import Variant, counting, engines, explore
from spark_sim.explore.engines import COST_WORTH_COMPILING, PLAIN, worth
from spark_sim.explore.packed import Packed
from spark_sim.explore.paths import way
from spark_sim.explore.search import search
from spark_sim.explore.situation import GROUP
from tests.spark_sim.explore.cells import cell

fast = pytest.importorskip("spark_sim.explore.fast", reason="needs numba (extra fast)", exc_type=ImportError)
fast_counting = pytest.importorskip("spark_sim.explore.fast_counting", exc_type=ImportError)
COMPILED = engines.compiled()
pytestmark = pytest.mark.slow
CELLS = {
    "deadly": cell("2.0.1", "2.1.1", faults=(1, 0)),
    "all faults": cell("2.4.1", "2.5.1", members=2, faults=(1, 1, 1)),
    "two bounces, patiently": cell("1.1.1", "2.0.1", "1.1", faults=(1, 1), patient=True),
    "offline": cell("1.1.1", "3.9.2", members=2, faults=(1, 0), offline=True),
    "turned round": cell("2.0.1", "2.2.2", members=2, variant=Variant.ROLLED_BACK),
    "interrupted": cell("2.0.1", "2.2.2", members=2, variant=Variant.INTERRUPTED),
    "one mistake": cell("1.1.1", "2.0.1", "1.1", variant=Variant.MISTAKEN, mistake="1.0"),
    "second owners": cell("2.3.1", "2.4.1", members=2, faults=(1, 0)),
    "answers are lost": cell("2.4.1", "2.5.1", members=2, answers_last=False),
    "five members": cell("2.4.1", "2.5.1", members=5, patient=True),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_graph_is_the_same(name):
    plain, compiled = search(Packed(CELLS[name])), fast.search(Packed(CELLS[name]))

    assert (plain.targets, plain.labels, plain.first) == ([*compiled.targets], compiled.labels, compiled.first)
    assert (plain.beginnings, plain.ending, plain.known) == (compiled.beginnings, compiled.ending, compiled.known)
    assert (plain.broken, plain.suspects) == (compiled.broken, compiled.suspects)
    for one, other in ((plain.parts, compiled.parts), (plain.keys, compiled.keys)):
        assert list(one) == list(other)
    assert compiled.number_of(compiled.parts[-1], compiled.group(-1)) == compiled.states


@pytest.mark.parametrize("name", CELLS)
def test_the_count_is_the_same(name):
    graph = search(Packed(CELLS[name]))

    assert counting.count(graph) == fast_counting.count(graph)


def test_numbers_that_are_too_short_grow(monkeypatch):
    monkeypatch.setattr(fast_counting, "_FIRST_LIMBS", 1)
    graph = search(Packed(CELLS["five members"]))
    counted = counting.count(graph)

    assert counted.schedules.bit_length() > 2 * 59
    assert counted == fast_counting.count(graph)


@pytest.mark.parametrize("cost", [0, COST_WORTH_COMPILING + 1], ids=["small", "large"])
def test_large_cells_are_compiled_if_numba_is_there(monkeypatch, cost):
    monkeypatch.setattr(engines, "compiled", lambda: COMPILED)

    assert (COMPILED if cost else PLAIN) == worth(cost)
    monkeypatch.setattr(engines, "compiled", lambda: None)
    assert PLAIN == worth(cost)


def test_room_that_is_too_small_grows(monkeypatch):
    monkeypatch.setattr(fast, "_BEGIN", 1 << 12)
    plain, compiled = (explore(CELLS["deadly"], engine=each, confirm=False) for each in (PLAIN, COMPILED))

    assert plain == compiled


def test_more_parts_than_fit_are_explored_plainly(monkeypatch):
    monkeypatch.setattr(fast.kernel, "MOST_PARTS", 50)
    plain, other = search(Packed(CELLS["deadly"])), fast.search(Packed(CELLS["deadly"]))

    assert len(plain.packed.weights) > 50
    assert (plain.parts, plain.targets, plain.labels) == (other.parts, other.targets, other.labels)


def test_the_way_to_a_state_is_the_same():
    plain, compiled = search(Packed(CELLS["deadly"])), fast.search(Packed(CELLS["deadly"]))

    for at in (1, plain.states // 2, plain.states):
        assert way(plain, at) == way(compiled, at)
    with pytest.raises(KeyError, match="no state has the parts"):
        compiled.number_of(compiled.parts[1], GROUP)


def test_an_end_by_number_is_the_same():
    plain, compiled = (explore(CELLS["deadly"], engine=each, confirm=False, most=500) for each in (PLAIN, COMPILED))

    assert plain == compiled
    assert not compiled.complete


def test_seven_members_are_explored_plainly():
    """They were refused, although a cell may have seven."""
    seven = cell("2.4.1", "2.5.1", members=7, patient=True)
    plain, other = search(Packed(seven), most=500), fast.search(Packed(seven), most=500)

    assert plain.states > 500
    assert (plain.parts, plain.targets, plain.labels) == (other.parts, other.targets, other.labels)
