"""The compiled search against the plain one: the same graph, number for number."""

import pytest

from spark_sim.explore import Variant, explore
from spark_sim.explore.packed import Packed
from spark_sim.explore.paths import way
from spark_sim.explore.search import search
from spark_sim.explore.situation import GROUP
from tests.spark_sim.explore.cells import cell

fast = pytest.importorskip("spark_sim.explore.fast", reason="needs numba (extra fast)", exc_type=ImportError)
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

    assert (plain.targets, plain.labels, plain.first) == (compiled.targets, compiled.labels, compiled.first)
    assert (plain.beginnings, plain.ending, plain.known) == (compiled.beginnings, compiled.ending, compiled.known)
    assert (plain.broken, plain.suspects) == (compiled.broken, compiled.suspects)
    for one, other in ((plain.parts, compiled.parts), (plain.keys, compiled.keys)):
        assert list(one) == list(other)
    assert compiled.number_of(compiled.parts[-1], compiled.group(-1)) == compiled.states


def test_room_that_is_too_small_grows(monkeypatch):
    monkeypatch.setattr(fast, "_BEGIN", 1 << 12)
    plain, compiled = (explore(CELLS["deadly"], compiled=each, confirm=False) for each in (False, True))

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
    plain, compiled = (explore(CELLS["deadly"], compiled=each, confirm=False, most=500) for each in (False, True))

    assert plain == compiled
    assert not compiled.complete


def test_too_many_members_are_refused():
    with pytest.raises(ValueError, match="at most 6 members, not 7"):
        fast.search(Packed(cell("2.4.1", "2.5.1", members=7)))
