"""How far a group is, in one line, and when a wait for it is over."""

import pytest

from streams_assignor.codec import TopicPartition
from streams_assignor.groups import (
    finding_text,
    group_progress,
    indistinguishable_releases,
    inspect_group,
    is_empty,
    is_on_release,
    is_stable,
    progress_text,
    upgrade_from_note,
)
from streams_assignor.groups.member import InspectedMember
from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.release_detection import KAFKA_RELEASES
from tests.assignor.groups.described_groups import TOPIC, assigned, broker_assigned, group, member, of_range

NOW_MS = 1_700_000_000_000


def seen(*members, **facts):
    return inspect_group(group(*members, **facts))


def line(*members, release=None, good_enough=(), **facts):
    wanted = [release_named(name) for name in good_enough]
    found = group_progress(seen(*members, **facts), release and release_named(release), wanted)
    return progress_text(found, NOW_MS)


OLD = [member(name, 9, 9, active=f"0_{number}", envelope=1) for number, name in enumerate("abcde")]
NEW = member("n", 9, 11, active="0_9")


@pytest.mark.parametrize(
    ("members", "facts", "text"),
    [
        ((NEW,), {}, "1 member on 3.4.0 or newer; a rebalance follows immediately; 1 problem"),
        (OLD, {}, "all 5 members on 2.8.0 to 2.8.2; no rebalance is due"),
        (
            (*OLD, NEW),
            {},
            "1 of 6 members on 3.4.0 or newer; waiting for app-a (10.0.0.1, 61000000), app-b (10.0.0.1, "
            "62000000), app-c (10.0.0.1, 63000000) and 2 more; "
            "no rebalance is due",
        ),
        (
            (OLD[0], NEW),
            {"release": "2.8", "good_enough": ("2.8.0", "2.8.1", "2.8.2")},
            "1 of 2 members on 2.8.2; waiting for app-n (10.0.0.1, 6e000000); no rebalance is due",
        ),
        (
            (OLD[0], NEW),
            {"release": "2.8.2", "good_enough": ("2.8.2",)},
            "1 of 2 members may run 2.8.2; waiting for app-n (10.0.0.1, 6e000000); no rebalance is due",
        ),
        # It was "1 member on 3.9.2" of one that sends what 3.4 sends.
        ((NEW,), {"release": "3.9.2"}, "1 member may run 3.9.2; a rebalance follows immediately; 1 problem"),
        (
            (member("a", active="0_0", next_ms=0),),
            {},
            "1 member on 3.4.0 or newer; a rebalance follows immediately",
        ),
        (
            (member("a", active="0_0", next_ms=NOW_MS + 50_000),),
            {},
            "1 member on 3.4.0 or newer; next rebalance in 50 s (probing)",
        ),
        (
            (member("a", active="0_0", next_ms=NOW_MS - 180_000),),
            {},
            "1 member on 3.4.0 or newer; rebalance overdue by 3 min (probing)",
        ),
        (
            (member("a", 2, active="0_0"),),
            {},
            "1 member on 3.4.0 to 3.9.2 with upgrade.from; no rebalance is due",
        ),
        ((), {"state": "Empty", "protocol": ""}, "no members (Empty)"),
        ((), {"error": "not authorized"}, "not described (Stable); 1 problem"),
        ((of_range("a", [0]),), {"protocol": "range"}, "1 member (range)"),
        ((broker_assigned("a"),), {"type": "share", "protocol": ""}, "1 member (share)"),
        (
            (broker_assigned("a"),),
            {"type": "streams", "protocol": "", "state": "NotReady"},
            "NotReady; 1 member (streams); 1 problem",
        ),
    ],
)
def test_one_line_says_how_far_a_group_is(members, facts, text):
    assert text == line(*members, **facts)


def test_a_group_that_revokes_tasks_is_not_stable():
    assert is_stable(seen(member("a", active="0_0")))
    assert not is_stable(seen(member("a", active="0_0", next_ms=0)))
    assert not is_stable(seen(member("a", active="0_0", owned="0_0 0_1")))
    assert not is_stable(seen(NEW)), "the last step of an upgrade"
    assert not is_stable(seen())
    assert is_stable(seen(member("a", active="0_0", next_ms=NOW_MS))), "warm-up tasks may restore state"


def test_a_group_without_members_is_empty():
    assert is_empty(seen(state="Empty", protocol=""))
    assert is_empty(seen(state="Dead", protocol=""))
    assert not is_empty(seen(NEW))


@pytest.mark.parametrize(("release", "met"), [("4.3.1", True), ("3.9.2", True), ("2.8.2", False)])
def test_a_group_is_on_a_release_that_all_members_may_run(release, met):
    found = seen(member("a", active="0_0"), member("b", active="0_1"))

    assert met is is_on_release(found, release_named(release))


@pytest.mark.parametrize(
    ("one", "wanted", "text"),
    [
        (NEW, ["3.4.1"], "3.4.0 or newer"),
        (NEW, ["4.3.0", "4.3.1"], "3.4.0 or newer"),
        (OLD[0], ["2.8.2"], "2.8.0 to 2.8.2"),
        (OLD[0], ["2.8.0", "2.8.1", "2.8.2"], ""),
        (member("a", 1, 1, active="0_0", envelope=0), ["0.10.0.1"], "0.10.0.0 to 0.10.0.1 or 2.0.0 to 2.3.1"),
    ],
)
def test_releases_with_the_same_metadata_are_named(one, wanted, text):
    assert text == indistinguishable_releases(seen(one), [*map(release_named, wanted)])


def test_metadata_of_the_newest_release_may_be_that_of_a_newer_one():
    assert "or newer" in indistinguishable_releases(seen(NEW), KAFKA_RELEASES)
    assert "" == indistinguishable_releases(seen(), [])


def test_what_was_assumed_of_members_is_not_known():
    newer, known = member("a", 11, 12, active="0_0"), member("b", 9, 9, active="0_1", envelope=1)
    found = inspect_group(group(newer, known), assume=release_named("4.3"))

    assert "a release newer than " in indistinguishable_releases(found, KAFKA_RELEASES)
    assert "2.8.0 to 2.8.2" == str(found.members[1].subscription.candidate_releases)


@pytest.mark.parametrize(
    ("one", "release", "text"),
    [
        (
            NEW,
            "4.3",
            "upgrade.from of 2.4 or later changes no byte of the metadata, so it is not known whether it is set",
        ),
        (OLD[0], "2.8", "upgrade.from of 2.0 or later changes no byte of the metadata"),
        (member("a", 2), "3.9", "upgrade.from is still set for app-a (10.0.0.1, 61000000): a bounce without it has to"),
        (member("a", 2, envelope=0), "1.1", ""),
    ],
)
def test_a_note_names_what_metadata_does_not_show_of_upgrade_from(one, release, text):
    assert upgrade_from_note(seen(one), release_named(release)).startswith(text)


def kip_848(*own, **facts):
    members = [
        broker_assigned(
            f"m{number}", assigned(partitions=[TopicPartition(TOPIC, each) for each in mine]), topics=(TOPIC,)
        )
        for number, mine in enumerate(own)
    ]
    return seen(*members, type="consumer", protocol="uniform", partition_counts={TOPIC: 3}, **facts)


def test_a_member_of_kip_848_may_have_no_partition():
    assert [] == [finding_text(each) for each in kip_848([0, 1, 2], []).problems]


def test_partitions_of_kip_848_without_an_owner_are_a_problem():
    assert ["partition orders-1 is not assigned to any member"] == [
        finding_text(each) for each in kip_848([0], [2]).problems
    ]
    assert () == kip_848([0], [2], state="Reconciling").problems


def test_the_size_of_metadata_is_not_checked_if_the_broker_assigns():
    assert () == kip_848([0, 1, 2], max_message_bytes=10).problems


@pytest.mark.parametrize("release", [None, "2.8"])
def test_members_are_not_compared_with_each_other(monkeypatch, release):
    """A group of 16,000 members of two releases took 25 seconds, of 32,000 a hundred."""
    raw = group(*OLD, NEW, member("p", 1, 1, envelope=0), member("q", 2, 2, envelope=0))
    monkeypatch.setattr(InspectedMember, "__eq__", lambda *_: pytest.fail("two members were compared"))
    found = group_progress(inspect_group(raw), release and release_named(release))

    assert len(found.waiting_for) == (7 if release is None else 3)
