"""A member of a group as ``roll`` sees it, live or simulated."""

from attrs import evolve

from streams_assignor.groups import inspect_group
from streams_assignor.groups.member_seen import member_seen
from tests.assignor.groups.described_groups import group, member


def seen(described):
    (inspected,) = inspect_group(group(described)).members
    return member_seen(inspected, "pod-1")


def test_what_metadata_and_assignment_show_is_kept():
    found = seen(member("a", active="0_0 0_1", next_ms=0))

    assert ("pod-1", 11, 11, "") == (found.instance, found.used_version, found.supported_version, found.problem)
    assert frozenset({"0_0", "0_1"}) == found.active
    assert found.rejoins
    assert not found.is_static
    assert "4.4.0" in {release.name for release in found.candidates.unpinned}


def test_a_subscription_that_cannot_be_read_is_a_problem_and_shows_no_process():
    whole = member("a")
    found = seen(evolve(whole, subscription=whole.subscription[:-3]))

    assert found.problem
    assert not found.rejoins
