"""Whether members are back after a restart, and which join again and again; the clock is handed in."""

import pytest
from attrs import evolve

from streams_assignor.groups import (
    CrashLoopDetector,
    DescribedGroupMember,
    ExpectedMembers,
    RestartTracker,
    change_text,
    find_changes,
    finding_text,
    inspect_group,
    matches,
)
from tests.assignor.groups.described_groups import broker_assigned, group, member, streams_group

SESSION = 45.0


def one(name, life=0, **facts):
    """A member, after so many restarts of its process."""
    raw = member(name, **facts)
    return evolve(raw, member_id=raw.member_id.replace("0000-0000", f"0000-{life:04}", 1))


A, B, C = (one(name) for name in "abc")
C2 = one("c", 1)
THREE_MEMBERS = (A, B, C)


def stable(*members, **facts):
    return inspect_group(group(*members, **facts))


def rebalancing(*members):
    return inspect_group(group(*members, state="PreparingRebalance", protocol=""))


def judged(expected, *looks):
    """The last of several looks, one a second; a number is so many seconds without a look."""
    tracker, now, found = RestartTracker(expected), 0.0, None
    for look in looks:
        if isinstance(look, float):
            now += look
            continue
        found = tracker.update(look, now)
        now += 1
    return found


def is_met(expected, *looks):
    found = judged(expected, *looks)
    return not found.missing and not found.refusal


SINCE = ExpectedMembers(before=THREE_MEMBERS, restarted=("app-c",))
THREE = ExpectedMembers(number=3)
NOTHING = ExpectedMembers()


@pytest.mark.parametrize(
    ("expected", "looks", "met"),
    [
        # The coordinator counts the stopped member, for as long as it likes.
        (SINCE, [stable(A, B, C)], False),
        (SINCE, [stable(A, B, C), 1000.0, stable(A, B, C)], False),
        (SINCE, [stable(A, B)], False),
        (SINCE, [stable(A, B, C2)], True),
        (SINCE, [stable(A, C2)], False),
        (SINCE, [rebalancing(A, B, C, C2), stable(A, B, C2)], True),
        (ExpectedMembers(before=THREE_MEMBERS, restarted=("app-b", "app-c")), [stable(A, B, C2)], False),
        # Without saying which one: a new one, and a sign of life of the others.
        (ExpectedMembers(before=THREE_MEMBERS), [stable(A, B, C2)], False),
        (ExpectedMembers(before=THREE_MEMBERS), [stable(A, B, C2), SESSION, stable(A, B, C2)], True),
        (ExpectedMembers(before=THREE_MEMBERS), [stable(A, B, C), SESSION, stable(A, B, C)], False),
        (ExpectedMembers(before=THREE_MEMBERS), [stable(A, B, C), stable(A, B, C2)], True),
        # So many members.
        (THREE, [stable(A, B, C)], False),
        (THREE, [stable(A, B, C), SESSION, stable(A, B, C)], True),
        (THREE, [stable(A, B, C), 5.0, stable(A, B)], False),
        (THREE, [stable(A, B, C), 5.0, stable(A, B), 5.0, stable(A, B, C2)], True),
        (THREE, [stable(A, B, C), rebalancing(A, B, C, C2), stable(A, B, C2)], True),
        (THREE, [stable(A, B, C), rebalancing(A, B, C), stable(A, B, C)], True),
        (ExpectedMembers(number=2), [stable(A, B, C), SESSION, stable(A, B, C)], False),
        # A member may fail after it has joined, while the others do.
        (THREE, [rebalancing(A, B, C), stable(A, B, C)], False),
        (THREE, [rebalancing(A, B, C), stable(A, B, C), SESSION, stable(A, B, C)], True),
        (THREE, [stable(state="Empty", protocol=""), stable(A, B, C)], True),
        (ExpectedMembers(number=3, restarted=("app-c",)), [stable(A, B, C)], False),
        (ExpectedMembers(number=3, restarted=("app-c",)), [stable(A, B), stable(A, B, C2)], True),
        (ExpectedMembers(number=3, restarted=("app-d",)), [stable(A, B, C), SESSION, stable(A, B, C)], False),
        (ExpectedMembers(number=3, session_timeout_seconds=6.0), [stable(A, B, C), 5.0, stable(A, B, C)], True),
        # A coordinator that has restarted counts the sessions from the beginning.
        (THREE, [stable(A, B, C), 40.0, None, stable(A, B, C), 40.0, stable(A, B, C)], False),
        (THREE, [stable(A, B, C), None, stable(A, B, C), SESSION, stable(A, B, C)], True),
        (THREE, [stable(A, B, C, coordinator="a:1"), SESSION, stable(A, B, C, coordinator="b:2")], False),
        (THREE, [stable(A, B, C), SESSION, stable(A, B, C, coordinator_was_away=True)], False),
        (THREE, [stable(A, B, C), stable(A, B, C, coordinator_was_away=True), SESSION, stable(A, B, C)], True),
        (THREE, [None, stable(A, B, C)], False),
        # Nothing is known.
        (NOTHING, [stable(A, B, C), rebalancing(A, B, C, C2), stable(A, B, C2)], True),
        (NOTHING, [stable(A, B, C), SESSION, stable(A, B)], False),
        (NOTHING, [stable(A, B, C), SESSION, stable(A, B, C)], False),
        (NOTHING, [stable(A, B), stable(A, B, C2)], False),
        (NOTHING, [rebalancing(A, B, C, C2), stable(A, B, C2)], False),
    ],
)
def test_members_are_back_when_they_have_joined_and_not_before(expected, looks, met):
    assert met is is_met(expected, *looks)


def test_a_number_of_members_that_is_not_known_is_a_refusal_and_no_guess():
    assert "" == judged(NOTHING, stable(A, B, C)).refusal, "they may have failed, and one may join"
    assert "" == judged(NOTHING, stable(A, B, C), SESSION, stable(A, B)).refusal, "one has left: it may come back"
    assert judged(NOTHING, stable(A, B), stable(A, B, C)).refusal
    assert judged(NOTHING, stable(A, B), SESSION, stable(A, B)).refusal.startswith("it has 2 members, and it is not ")


def test_a_session_timeout_is_assumed_only_if_it_decides():
    assert "above 45 s" in judged(THREE, stable(A, B, C), SESSION, stable(A, B, C)).assumed
    assert "" == judged(THREE, stable(A, B, C), SESSION, stable(A, B, C2)).assumed
    given = ExpectedMembers(number=3, session_timeout_seconds=6.0)
    assert "" == judged(given, stable(A, B, C), SESSION, stable(A, B, C)).assumed


@pytest.mark.parametrize("text", ["", "1" * 5000, "-6000", "6 s"])
def test_a_session_timeout_that_is_no_number_is_not_known(text):
    found = inspect_group(streams_group(broker_assigned("a"), configs={"streams.session.timeout.ms": text}))

    assert "45 s" in judged(ExpectedMembers(number=1), found, 50.0, found).assumed


def test_the_session_timeout_of_a_group_whose_broker_assigns_is_known():
    found = inspect_group(streams_group(broker_assigned("a"), configs={"streams.session.timeout.ms": "6000"}))

    assert is_met(ExpectedMembers(number=1), found, 5.0, found)
    assert not is_met(ExpectedMembers(number=1), found, 3.0, found)
    assert "" == judged(ExpectedMembers(number=1), found, 5.0, found).assumed


def static(name, life=0):
    return evolve(one(name, life, instance=f"pod-{name}-1"), client_id=f"app-{name}-StreamThread-1-consumer")


def test_a_static_member_shows_no_sign_of_life_in_a_rebalance():
    """The coordinator keeps it. It comes back without a rebalance, with another member id."""
    before = stable(static("a"), static("b"))
    two = ExpectedMembers(number=2)

    assert not is_met(two, before, rebalancing(), before)
    assert not is_met(two, before, stable(static("a"), static("b", 1)))
    assert is_met(two, before, stable(static("a", 1), static("b", 1)))
    # One that has failed in the first second is counted for a session after the rebalance for c.
    joined = stable(static("a"), static("b"), C)
    assert not is_met(THREE, before, 40.0, joined, 10.0, joined)
    assert not is_met(two, before, 40.0, rebalancing(), before, 10.0, before)
    assert is_met(THREE, before, 40.0, joined, SESSION, joined)
    since = ExpectedMembers(before=(static("a"), static("b")), restarted=("pod-b",))
    assert not is_met(since, before)
    assert is_met(since, stable(static("a"), static("b", 1)))


def test_all_threads_of_an_instance_have_to_be_back():
    threads = [evolve(one(name), client_id=f"pod-1-StreamThread-{number}-consumer") for number, name in enumerate("ab")]
    back = [evolve(each, member_id=one(name, 1).member_id) for each, name in zip(threads, "ab", strict=True)]
    expected = ExpectedMembers(before=(*threads, C), restarted=("pod-1",))

    assert not is_met(expected, stable(back[0], one("d"), C)), "as many members, and not all of them"
    assert is_met(expected, stable(*back, C))


@pytest.mark.parametrize(
    ("which", "client", "instance", "met"),
    [
        ("10.0.0.1", "app-c", None, True),
        ("10.0.0", "app-c", None, False),
        ("", "", None, False),
        ("app-c", "app-c", None, True),
        ("app-c", "app-c-consumer", None, True),
        ("app-c", "app-c-StreamThread-12", None, True),
        ("app-c", "app-c-StreamThread-12-consumer", None, True),
        ("app-c-StreamThread-12-consumer", "app-c-StreamThread-12-consumer", None, True),
        ("app", "app-c", None, False),
        ("app-", "app-c-StreamThread-1-consumer", None, False),
        ("orders", "orders-3", None, False),
        ("pod-0", "pod-0-stranger", None, False),
        ("pod-0", "pod-0-stranger-StreamThread-1-consumer", None, False),
        ("pod-0", "pod-0-StreamThread-1-consumer-x", None, False),
        ("pod-0", "pod-0-StreamThread-x-consumer", None, False),
        ("pod-0", "pod-0-StreamThread-1-restore-consumer", None, False),
        ("pod-c", "app-StreamThread-1-consumer", "pod-c-1", True),
        ("pod-c-1", "app-StreamThread-1-consumer", "pod-c-1", True),
        ("pod-c", "app-StreamThread-2-consumer", "pod-c-1", False),
        ("pod", "app-StreamThread-1-consumer", "pod-c-1", False),
        ("orders", "app", "orders-3", False),
        ("orders-3", "app", "orders-3", True),
    ],
)
def test_a_name_is_the_whole_id_or_followed_by_what_kafka_streams_adds(which, client, instance, met):
    member = DescribedGroupMember(member_id="x", client_id=client, group_instance_id=instance, host="/10.0.0.1")

    assert met is matches(which, member)


# -- names -----------------------------------------------------------------------------------------------------------


def texts(before, after, **facts):
    return [change_text(each) for each in find_changes(before, after, **facts)]


def test_a_restart_is_one_replacement():
    """It was a member that joined, another one that left, and a line for each of its tasks."""
    before, after = stable(one("a", active="0_0"), B), stable(one("a", 1, active="0_0"), B)

    assert ["replaced: app-a (10.0.0.1, 61000000 → 61000000)"] == texts(before, after)


def test_a_process_with_another_process_id_is_replaced_too():
    """Its client id contains the process id, which is new without a state directory."""
    client = "app-{0}-0000-4000-8000-000000000000-StreamThread-1-consumer"
    before, after = (
        stable(evolve(one(name), client_id=client.format(uuid)))
        for name, uuid in (("a", "aaaaaaaa"), ("b", "bbbbbbbb"))
    )

    assert ["replaced: app-bbbbbbbb…-StreamThread-1 (10.0.0.1, 61000000 → 62000000)"] == texts(before, after)


def test_a_member_that_comes_back_later_is_back():
    (departed,) = stable(A).members

    assert ["back: app-a (10.0.0.1, 61000000 → 61000000)"] == texts(
        stable(B), stable(one("a", 1), B), departed=[departed]
    )
    assert ["joined: app-c (10.0.0.1, 63000000)"] == texts(stable(B), stable(B, C), departed=[departed])


# -- crash loops -----------------------------------------------------------------------------------------------------


def loops(*looks, seconds=20.0):
    """The crash loops that the last look has."""
    detector, found = CrashLoopDetector(), None
    for number, look in enumerate(looks):
        found = detector.update(look, number * seconds)
    return [finding_text(each) for each in found.problems if each.code == "crash-loop"]


def lives(*numbers):
    return [stable(A, one("b", number, active="0_1")) for number in numbers]


def test_a_member_that_joins_again_and_again_is_a_problem():
    assert [] == loops(*lives(0, 1, 2))
    assert [
        "app-b (10.0.0.1) joins again and again, at least 3 times in 10 min: does it fail after its start?"
    ] == loops(*lives(0, 1, 2, 3))
    assert [] == loops(*lives(0, 1, 2, 3), seconds=400.0), "a day of restarts is no loop"
    assert [] == loops(*lives(0, 1, 1, 2), seconds=700.0), "what is long ago is forgotten"


def test_a_loop_that_never_lets_the_group_settle_is_a_problem():
    """The coordinator counts each life until its session times out."""
    looks = [stable(A, B), *(rebalancing(A, *(one("b", life) for life in range(n - 2, n + 1))) for n in range(2, 9))]

    assert 1 == len(loops(*looks))


def test_a_group_that_grows_or_is_restarted_once_is_no_loop():
    same_client = [evolve(one("b", life), client_id="rdkafka") for life in range(12)]

    assert [] == loops(stable(A), stable(A, *same_client))
    assert [] == loops(stable(*same_client[:6]), rebalancing(*same_client), stable(*same_client[6:]))
    assert [] == loops(*lives(0, 1, 2, 3), stable(A)), "it is not there any more"
