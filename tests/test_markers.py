"""A test that is not in the gate says why."""

from types import SimpleNamespace

import pytest

from tests import conftest
from tests.conftest import pytest_collection_modifyitems
from tests.matrix import with_matrix

TESTS = conftest.SIMULATIONS.parent


def item(name: str, *marks: pytest.MarkDecorator, path: str = "test_one.py") -> SimpleNamespace:
    by_name = {mark.name: mark for mark in marks}

    def add_marker(marker: str | pytest.MarkDecorator) -> None:
        added = getattr(pytest.mark, marker) if isinstance(marker, str) else marker
        by_name[added.name] = added

    return SimpleNamespace(
        nodeid=name, obj=None, path=TESTS / path, get_closest_marker=by_name.get, add_marker=add_marker
    )


def collected(*items: SimpleNamespace, profile: str = "quick") -> list[SimpleNamespace]:
    in_order = list(items)
    pytest_collection_modifyitems(SimpleNamespace(getoption=lambda _: profile), in_order)
    return in_order


def test_what_is_not_usual_has_the_marker_and_its_reason():
    usual, pair, name = with_matrix([1, ("a", "b"), "c"], [1], "another one")

    assert 1 == usual
    assert [("a", "b"), ("c",)] == [pair.values, name.values]
    assert {"another one"} == {mark.kwargs["reason"] for each in (pair, name) for mark in each.marks}


@pytest.mark.parametrize("marker", conftest.WITH_REASON)
@pytest.mark.parametrize("reason", [{}, {"reason": ""}])
def test_a_marker_without_a_reason_is_refused(marker, reason):
    with pytest.raises(pytest.UsageError, match=rf"one: expected {marker}\(reason=...\), received "):
        collected(item("one", getattr(pytest.mark, marker)(**reason)))


def test_the_gate_starts_with_what_waits():
    items = collected(
        item("quick"), item("waits", pytest.mark.gate), item("why", pytest.mark.matrix(reason="a further one"))
    )

    assert ["waits", "quick", "why"] == [each.nodeid for each in items]


@pytest.mark.parametrize(("profile", "traced"), [("gate", ["example"]), ("nightly", ["page", "example"])])
def test_what_is_not_traced_comes_last_and_in_groups_of_its_own(profile, traced):
    """Chance never counts; whole commands, pages and documents count in the nightly run."""
    items = collected(
        item("by chance", path="spark_sim/test_one.py"),
        item("page", pytest.mark.gate, path="test_docs.py"),
        item("example"),
        profile=profile,
    )

    assert traced == [each.nodeid for each in items if not each.get_closest_marker("no_cover")]
    assert traced == [each.nodeid for each in items][: len(traced)]
    groups = [each.get_closest_marker("xdist_group").args[0] for each in items]
    assert ["traced"] * len(traced) == [name.split()[0] for name in groups if name.startswith("traced")]
