"""A member of a group as ``roll`` sees it, live or simulated."""

from attrs import evolve

from streams_assignor.groups import inspect_group
from streams_assignor.groups.member_seen import epochs_seen, member_seen, members_seen
from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.roll.group_observation import GroupEpochs
from tests.assignor.groups.described_groups import assigned, broker_assigned, group, member, streams_group


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


def test_members_of_a_streams_group_have_epochs_and_the_releases_that_heartbeats_show():
    described = streams_group(
        broker_assigned("a", assigned("0_0 1_0"), epoch=7),
        broker_assigned("b", assigned("0_1"), target=assigned("0_1 1_1"), epoch=6, topology_epoch=2, instance="pod-b"),
        epoch=8,
        assignment_epoch=7,
        topology_epoch=1,
    )
    a, b = members_seen(inspect_group(described), lambda raw: raw.member_id)

    assert GroupEpochs(group=8, assignment=7, topology=1) == epochs_seen(described)
    assert [(7, 0, False), (6, 2, True)] == [(each.epoch, each.topology_epoch, each.rejoins) for each in (a, b)]
    assert [True, False] == [each.candidates.can_be(RELEASES["4.2.2"]) for each in (a, b)]  # static ones are of 4.4
    assert [False, True] == [each.candidates.can_be(RELEASES[name]) for each, name in ((a, "4.0.2"), (b, "4.4.0"))]
    assert (frozenset({"0_0", "1_0"}), "a") == (a.active, a.instance)


def test_members_of_a_classic_group_have_none():
    described = group(member("a"))

    assert None is epochs_seen(described)
    assert [None] == [each.epoch for each in members_seen(inspect_group(described), lambda _raw: "a")]
