"""How far a group is, in one line, and when a wait for it is over."""

import pytest

from assignor.inspect import (
    finding_text,
    group_progress,
    inspect_group,
    is_empty,
    is_on_release,
    is_stable,
    lines_with_same_metadata,
    progress_text,
)
from subscription_codec import TopicPartition
from tests.assignor.inspect.described_groups import TOPIC, assigned, broker_assigned, group, member, of_range
from upgrade import release_named
from upgrade.releases import NEWEST

NOW_MS = 1_700_000_000_000


def seen(*members, **facts):
    return inspect_group(group(*members, **facts))


def line(*members, release=None, **facts):
    found = group_progress(seen(*members, **facts), release and release_named(release))
    return progress_text(found, NOW_MS)


OLD = [member(name, 9, 9, active=f"0_{number}", envelope=1) for number, name in enumerate("abcde")]
NEW = member("n", 9, 11, active="0_9")


@pytest.mark.parametrize(
    ("members", "facts", "text"),
    [
        ((NEW,), {}, f"1 member on 3.4.0 to {NEWEST}; a rebalance follows immediately; 1 problem"),
        (OLD, {}, "all 5 members on 2.8.0 to 2.8.2; no rebalance is due"),
        (
            (*OLD, NEW),
            {},
            f"1 of 6 members on 3.4.0 to {NEWEST}; waiting for 61000000, 62000000, 63000000 and 2 more; "
            "no rebalance is due",
        ),
        (
            (OLD[0], NEW),
            {"release": "2.8"},
            "1 of 2 members on 2.8.2; waiting for 6e000000; no rebalance is due",
        ),
        (
            (member("a", active="0_0", next_ms=0),),
            {},
            f"1 member on 3.4.0 to {NEWEST}; a rebalance follows immediately",
        ),
        (
            (member("a", active="0_0", next_ms=NOW_MS + 50_000),),
            {},
            f"1 member on 3.4.0 to {NEWEST}; next rebalance in 50 s (probing)",
        ),
        (
            (member("a", active="0_0", next_ms=NOW_MS - 180_000),),
            {},
            f"1 member on 3.4.0 to {NEWEST}; rebalance overdue by 3 min (probing)",
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


def test_releases_with_the_same_metadata_are_named():
    assert ("3.5", "3.6") == lines_with_same_metadata(seen(NEW), release_named("3.4.1"))[:2]
    assert () == lines_with_same_metadata(seen(OLD[0]), release_named("2.8.2"))


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
