"""A test that is not in the gate says why."""

from types import SimpleNamespace

import pytest

from tests import conftest
from tests.conftest import pytest_collection_modifyitems
from tests.matrix import with_matrix


def item(name: str, *marks: pytest.MarkDecorator) -> SimpleNamespace:
    by_name = {mark.name: mark for mark in marks}
    return SimpleNamespace(
        nodeid=name, obj=None, path=conftest.SIMULATIONS.parent / "test_one.py", get_closest_marker=by_name.get
    )


def test_what_is_not_usual_has_the_marker_and_its_reason():
    usual, pair, name = with_matrix([1, ("a", "b"), "c"], [1], "another one")

    assert 1 == usual
    assert [("a", "b"), ("c",)] == [pair.values, name.values]
    assert {"another one"} == {mark.kwargs["reason"] for each in (pair, name) for mark in each.marks}


@pytest.mark.parametrize("marker", conftest.WITH_REASON)
@pytest.mark.parametrize("reason", [{}, {"reason": ""}])
def test_a_marker_without_a_reason_is_refused(marker, reason):
    with pytest.raises(pytest.UsageError, match=rf"one: expected {marker}\(reason=...\), received "):
        pytest_collection_modifyitems([item("one", getattr(pytest.mark, marker)(**reason))])


def test_the_gate_starts_with_what_waits():
    items = [item("quick"), item("waits", pytest.mark.gate), item("why", pytest.mark.matrix(reason="a further one"))]

    pytest_collection_modifyitems(items)

    assert ["waits", "quick", "why"] == [each.nodeid for each in items]
