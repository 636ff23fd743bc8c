"""A group seen from outside: what its bytes say of members, tasks, releases, the upgrade, and what is wrong."""

import json
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import carried_levels
from assignor.eras import era_of
from assignor.inspect import DEFAULT_LIMIT, Kind, RawGroup, RawMember, changes, inspect, topics_of
from assignor.inspect.copies import Copy
from assignor.inspect.findings import LOOKS
from assignor.inspect.member import Sums
from assignor.inspect.senders import PUBLISHED, Senders, senders
from assignor.inspect.standing import Stage
from subscription_codec import RUNNING, UNKNOWN_SUM, TaskId, encode_subscription
from subscription_codec.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_member_assignment,
    encode_member_subscription,
)
from subscription_codec.records import FutureAssignment, FutureSubscription
from tests.assignor.seen_groups import TOPIC, group, member, of_range

CAPTURES = sorted((Path(__file__).parent.parent / "captures").glob("*.json"))


def seen(*members, **facts):
    return inspect(group(*members, **facts))


def codes(found):
    return [finding.code for finding in found.findings]


# -- releases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "supported", "envelope", "tail", "said"),
    [
        (1, -1, 0, False, "0.10.0.0 to 0.10.0.1, or 2.0.0 to 2.3.1 with upgrade.from"),
        (1, -1, 0, True, "0.10.2.2 or 0.11.0.3 or 1.0.2 or 1.1.1 with upgrade.from"),
        (2, -1, 3, False, "3.4.0 to 3.9.2 or streams-assignor or streams-assignor-3 or simulated-4 with upgrade.from"),
        (3, 3, 0, False, "2.0.0 to 2.0.1"),
        (4, 8, 1, False, "2.6.1 to 2.7.2"),
        (7, 7, 1, False, "2.6.0"),
        (11, 11, 1, False, "3.2.0 to 3.3.2"),
        (11, 11, 3, False, "3.4.0 to 4.3.1 or streams-assignor"),
        (12, 12, 3, False, "no known release"),
    ],
)
def test_it_names_the_releases_that_could_send_something(used, supported, envelope, tail, said):
    assert said == str(senders(used, supported, envelope=envelope, tail=tail))


@given(st.sampled_from(PUBLISHED))
def test_a_release_is_among_those_that_could_send_what_it_sends(release):
    version, envelope = release.latest_version, era_of(release.number).envelope

    assert release in senders(version, version if version >= 3 else -1, envelope=envelope).plain


@given(st.sampled_from(PUBLISHED), st.data())
def test_a_release_on_upgrade_from_is_found_too(release, data):
    values = [
        value for value in release.upgrade_from if release.pinned_version(value) not in {None, release.latest_version}
    ]
    if values:
        used = release.pinned_version(data.draw(st.sampled_from(values)))
        tail = used == 1 and release.number < (2, 0)

        assert release in senders(used, -1, envelope=era_of(release.number).envelope, tail=tail).pinned


def test_nobody_on_upgrade_from_is_not_surely_on_it():
    assert not Senders().surely_pinned


# -- members ---------------------------------------------------------------------------------------------------------


def test_it_shows_what_a_member_sent_and_got():
    levels = carried_levels.write({"group.version": 1})
    found = seen(
        member(
            "a",
            active="0_0 0_1",
            standby="0_2",
            had="0_0",
            sums={"0_2": 40},
            owned="0_0",
            end_point="host:1",
            tags=[("zone", "z")],
            rack="r",
            trailing=levels,
            instance="static-a",
        )
    )

    (told,) = found.as_json()["members"]
    assert {
        "name": "static-a",
        "member_id": "app-a-consumer-61000000-0000-0000-0000-000000000000",
        "client_id": "app-a-consumer",
        "host": "/10.0.0.1",
        "group_instance_id": "static-a",
        "consumer_protocol_version": 3,
        "rebalance_protocol": "cooperative",
        "used_version": 11,
        "supported_version": 11,
        "answered_version": 11,
        "answered_supported_version": 11,
        "releases": "3.4.0 to 4.3.1 or streams-assignor",
        "last_generation": 4,
        "process_id": "61000000-0000-0000-0000-000000000000",
        "end_point": "host:1",
        "tags": {"zone": "z"},
        "rack": "r",
        "topics": ["orders"],
        "owned_partitions": ["orders-0"],
        "partitions": ["orders-0", "orders-1"],
        "active": ["0_0", "0_1"],
        "standby": ["0_2"],
        "warm_up": [],
        "standby_or_warm_up": [],
        "previous_active": [],
        "previous_standby": [],
        "offset_sums": {"0_0": -2, "0_2": 40},
        "sent_error_code": 0,
        "error_code": 0,
        "next_rebalance_ms": None,
        "levels": {"group.version": 1},
        "metadata_bytes": told["metadata_bytes"],
        "problem": None,
    } == told


def test_json_is_plain():
    found = seen(member("a", active="0_0"), member("b", 4, 11, standby="0_7")).as_json()

    assert found == json.loads(json.dumps(found))
    assert {"4": 1, "11": 1} == found["upgrade"]["used"]
    assert "mixed" == found["upgrade"]["stage"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"used": 4, "supported": 4, "envelope": 0}, "eager"),
        ({"used": 2, "envelope": 3}, "eager"),
        ({"used": 5, "supported": 5, "envelope": 1}, "unknown"),
        ({"used": 5, "supported": 5, "envelope": 1, "owned": "0_0"}, "cooperative"),
    ],
)
def test_it_concludes_the_rebalance_protocol(shape, expected):
    (found,) = seen(member("a", **shape)).members

    assert expected == found.rebalance_protocol


def test_names_are_short_and_the_full_id_where_those_would_be_the_same():
    same = RawMember(member_id="x"), RawMember(member_id="x")
    found = seen(member("a"), *same, RawMember(member_id="foreign"))

    assert ["61000000", "foreign", "x", "x"] == sorted(each.name for each in found.members)


def test_two_members_with_ids_that_begin_alike_are_told_apart():
    ids = ["1-61000000-0000-0000-0000-000000000000", "2-61000000-0000-0000-0000-000000000001"]
    found = seen(*(RawMember(member_id=each) for each in ids))

    assert ids == [each.name for each in found.members]


def test_offset_sums_in_short():
    sums = {TaskId(0, 0): RUNNING, TaskId(0, 1): UNKNOWN_SUM, TaskId(0, 2): 5, TaskId(0, 3): 0}

    assert Sums(running=1, unknown=1, restored=2, total=5) == Sums.of(sums)


def test_a_member_from_the_future_shows_its_versions():
    blob = encode_member_subscription(MemberSubscription((TOPIC,), encode_subscription(FutureSubscription(12, 13))))
    answer = b"\0\0" + b"\0\0\0\0" + b"\0\0\0\x08" + b"\0\0\0\x0c" + b"\0\0\0\x0d"
    (found,) = seen(RawMember(member_id="a", subscription=blob, assignment=answer)).members

    assert (12, 13, None) == (found.sent.used, found.sent.supported, found.sent.process_id)
    assert (12, 13, ()) == (found.got.version, found.got.supported, found.got.active)
    assert FutureAssignment(12, 13).version == found.got.version


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(["stream", "range", ""]))
def test_whatever_the_bytes_are_it_only_says_so(subscription, assignment, protocol):
    raw = RawMember(member_id="a", subscription=subscription, assignment=assignment)
    found = inspect(RawGroup(name="g", state="Stable", protocol_type="consumer", protocol=protocol, members=(raw,)))

    (told,) = found.as_json()["members"]
    assert (told["problem"] is not None) == ("unreadable" in codes(found))
    topics_of([raw])


def test_topics_are_those_of_the_members_that_can_be_read():
    said = (encode_member_subscription(MemberSubscription((topic, "both"))) for topic in ("a", "b"))
    members = [RawMember(member_id="", subscription=each, assignment=b"") for each in (*said, b"?")]

    assert {"a", "b", "both"} == topics_of(members)


@pytest.mark.parametrize("end", range(0, 120, 7))
def test_a_cut_message_is_a_problem_of_that_member(end):
    whole = member("b", active="0_0")
    cut = RawMember(member_id="a", subscription=whole.subscription[:end], assignment=whole.assignment[:end])
    found = seen(cut, whole)

    assert {"a"} >= {name for each in found.findings if each.code == "unreadable" for name in each.members}


# -- copies ----------------------------------------------------------------------------------------------------------

LATER = 1_700_000_000_000


def kinds(*members):
    return {str(task): copy for task, copy in seen(*members).copies.items()}


def test_without_a_follow_up_all_copies_are_standbys():
    assert {"0_1": Copy.STANDBY} == kinds(member("a", active="0_0", standby="0_1", sums={"0_1": 1}))


def test_before_version_7_all_copies_are_standbys():
    assert {"0_1": Copy.STANDBY} == kinds(member("a", 6, 6, envelope=1, active="0_0", standby="0_1"))


def test_if_some_task_with_state_has_no_copy_the_copies_of_others_are_warm_ups():
    a = member("a", active="0_0 0_1", had="0_0 0_1", next_ms=LATER)
    b = member("b", standby="0_1")

    assert {"0_1": Copy.WARM_UP} == kinds(a, b)


def test_a_task_without_state_does_not_count():
    a = member("a", active="0_0 1_0", had="0_0", next_ms=LATER)
    b = member("b", standby="0_0")

    assert {"0_0": Copy.STANDBY} == kinds(a, b)


def test_of_more_copies_than_usual_nobody_can_say_which_is_the_warm_up():
    a = member("a", active="0_0 0_1", next_ms=LATER)

    expected = {"0_0": Copy.STANDBY, "0_1": Copy.EITHER}
    assert expected == kinds(a, member("b", standby="0_0 0_1"), member("c", standby="0_1"))


def test_with_tags_nobody_can_say():
    a = member("a", active="0_0 0_1", had="0_0", next_ms=LATER, tags=[("zone", "z")])

    assert {"0_1": Copy.EITHER} == kinds(a, member("b", standby="0_1"))


def test_a_follow_up_at_a_time_gives_the_process_of_the_leader_away():
    a, b = member("a", next_ms=LATER), member("b")

    assert str(UUID(bytes=b"a".ljust(16, b"\0"))) == seen(a, b).leading_process
    assert seen(b).leading_process is None
    assert seen(a, member("b", next_ms=LATER)).leading_process is None


# -- the upgrade -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "stage", "said"),
    [
        ([(11, 11), (11, 11)], Stage.DONE, "all on version 11"),
        ([(4, 11), (4, 4), (4, 11)], Stage.WAITING, "all on version 4; waiting for 62000000 (supports 4)"),
        ([(4, 4), (4, 4), (4, 11)], Stage.WAITING, "all on version 4; waiting for 61000000 and 62000000 (support 4)"),
        (
            [(4, 4), (4, 11), (4, 4), (11, 11), (11, 11)],
            Stage.MIXED,
            "mixed: 3 of 5 send 4, 2 of 5 send 11; the group can speak 4; "
            "waiting for 61000000 and 63000000 (support 4)",
        ),
        (
            [(4, 11), (11, 11)],
            Stage.MIXED,
            "mixed: 1 of 2 send 4, 1 of 2 send 11; the group can speak 11",
        ),
        (
            [(4, 11), (4, 11)],
            Stage.LAST_STEP,
            "all send 4 and all know 11: the rebalance that raises the version is still to come",
        ),
        (
            [(2, -1), (2, -1)],
            Stage.BEFORE_PROBING,
            "all on version 2: upgrade.from is still set",
        ),
        (
            [(2, -1), (3, 3)],
            Stage.MIXED,
            "mixed: 1 of 2 send 2, 1 of 2 send 3; the group can speak 2; waiting for 61000000 (version 2: upgrade.from "
            "is still set)",
        ),
    ],
)
def test_it_says_where_the_upgrade_stands(versions, stage, said):
    found = seen(*(member("abcde"[number], *pair) for number, pair in enumerate(versions))).standing

    assert (stage, said) == (found.stage, found.text)


def test_below_version_3_nobody_can_say_whether_it_is_the_release():
    found = seen(member("a", 2, envelope=0), member("b", 1, envelope=3)).standing

    assert found.text.endswith("waiting for 62000000 (version 1: a release before 2.0, or upgrade.from is still set)")


def test_without_bytes_nothing_is_known_and_what_cannot_be_read_is_counted():
    assert Stage.UNKNOWN is seen(RawMember(member_id="a")).standing.stage
    assert "all on version 11; 1 cannot be read" == seen(member("a"), RawMember(member_id="b")).standing.text


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_real_bounces_end_with_one_version_and_without_problems(path):
    looks = []
    for each in json.loads(path.read_text())["generations"]:
        members = (
            RawMember(
                member_id=one["member_id"],
                client_id=one["client_id"],
                host="/127.0.0.1",
                subscription=bytes.fromhex(one["subscription"]),
                assignment=bytes.fromhex(one["assignment"]),
            )
            for one in each["members"]
        )
        looks.append(inspect(group(*members, partitions={"data": 6})))

    assert looks[-1].standing.stage in {Stage.DONE, Stage.BEFORE_PROBING}
    assert () == looks[-1].problems
    assert not any("unreadable" in codes(look) for look in looks)
    assert any(changes(*pair) for pair in pairwise(looks))


# -- findings --------------------------------------------------------------------------------------------------------

FINE = (member("a", active="0_0"), member("b", active="0_1"))


def test_a_group_in_which_all_is_well_has_no_findings():
    assert () == seen(*FINE, partitions={TOPIC: 2}).findings


@pytest.mark.parametrize(
    ("code", "kind", "raw", "said"),
    [
        ("not-classic", Kind.NOTICE, group(type="consumer", protocol="", limit=None), "KIP-848: the broker assigns"),
        ("not-classic", Kind.NOTICE, group(type="streams", protocol=""), "KIP-1071: the broker assigns tasks"),
        ("not-classic", Kind.NOTICE, group(type="what", protocol=""), "of type what (members send no metadata"),
        ("not-streams", Kind.NOTICE, group(of_range("a", [0]), protocol="range"), "the assignor is range, not stream"),
        ("not-streams", Kind.NOTICE, group(protocol_type="connect", protocol="v1"), "the protocol type is connect"),
        ("unsettled", Kind.NOTICE, group(state="PreparingRebalance", protocol=""), "rebalancing (PreparingRebalance)"),
        ("unsettled", Kind.NOTICE, group(state="Empty", protocol=""), "nobody is in it"),
        ("unsettled", Kind.NOTICE, group(state="Dead", protocol=""), "it is dead"),
        (
            "unreadable",
            Kind.PROBLEM,
            group(*FINE, RawMember(member_id="x", subscription=b"\0\1")),
            "x cannot be read: subscription: topics at offset 2",
        ),
        (
            "unreadable",
            Kind.PROBLEM,
            group(*FINE, RawMember(member_id="x", subscription=encode_member_subscription(MemberSubscription()))),
            "x cannot be read: userdata of the subscription: ",
        ),
        (
            "unreadable",
            Kind.PROBLEM,
            group(*FINE, RawMember(member_id="x", assignment=encode_member_assignment(MemberAssignment()))),
            "x cannot be read: userdata of the assignment: ",
        ),
        (
            "cannot-read",
            Kind.PROBLEM,
            group(member("a", 3, 3, answered=4)),
            "61000000 was answered version 4 and supports 3: it cannot read that",
        ),
        (
            "cannot-probe",
            Kind.PROBLEM,
            group(member("a", 2, envelope=0), member("b")),
            "61000000 seems to be of a release before 2.0, which cannot probe versions (KIP-268): whoever of such "
            "leads dies of version 11, which 62000000 sends",
        ),
        (
            "may-not-probe",
            Kind.NOTICE,
            group(member("a", 2, envelope=0), member("b", 3, 3, envelope=0), member("c", 3, 3, envelope=0)),
            "may be of a release before 2.0 (or have upgrade.from set: then all is well)",
        ),
        (
            "upgrade-from",
            Kind.NOTICE,
            group(member("a", 2), member("b", 2, envelope=0)),
            "which is right until all others are upgraded too",
        ),
        ("upgrade-from", Kind.NOTICE, group(member("a", 2), member("b", 2)), "and nobody needs that any more"),
        (
            "maybe-upgrade-from",
            Kind.NOTICE,
            group(member("a", 2, envelope=0)),
            "61000000 sends version 2: 0.10.1.0 to 1.1.1, or 2.0.0 to 2.3.1 with upgrade.from",
        ),
        ("could-speak-more", Kind.PROBLEM, group(member("a", 4, 11)), "still to come; if it stays so"),
        (
            "mixed-protocols",
            Kind.PROBLEM,
            group(member("a", 4, 4, envelope=0), member("b", 4, 11, owned="0_0", active="0_0")),
            "61000000 is eager and 62000000 cooperative",
        ),
        (
            "same-process",
            Kind.PROBLEM,
            group(*(member(each, process=UUID(int=1), host=f"/{each}") for each in "ab")),
            "is on 2 hosts (/a and /b): a state directory was copied?",
        ),
        ("error-code", Kind.PROBLEM, group(member("a", error=1)), "was answered an error: a source topic is missing"),
        ("error-code", Kind.PROBLEM, group(member("a", sent_error=4)), "sent an error: somebody asked all to shut"),
        ("error-code", Kind.PROBLEM, group(member("a", error=9)), "was answered an error: 9, which nobody knows"),
        (
            "no-assignment",
            Kind.PROBLEM,
            group(*FINE, RawMember(member_id="x", subscription=FINE[0].subscription)),
            "the leader left out x",
        ),
        (
            "owned-by-nobody",
            Kind.PROBLEM,
            group(*FINE, partitions={TOPIC: 4}),
            "partitions orders-2 and orders-3 are assigned to nobody",
        ),
        ("owned-by-nobody", Kind.PROBLEM, group(member("a", standby="0_7")), "task 0_7 is active nowhere"),
        ("moving", Kind.NOTICE, group(member("a", standby="0_7", next_ms=0)), "as yet: being moved"),
        (
            "large",
            Kind.NOTICE,
            group(*FINE, limit=1_200),
            "of what the broker can store of a group; beyond that no rebalance ends",
        ),
        ("too-large", Kind.PROBLEM, group(*FINE, limit=600), "bytes, 1"),
    ],
)
def test_it_finds(code, kind, raw, said):
    (found, *_) = [finding for finding in inspect(raw).findings if finding.code == code]

    assert kind is found.kind
    assert said in found.text


def test_a_task_that_two_have_is_a_problem_and_so_is_its_partition():
    found = seen(member("a", active="0_0"), member("b", active="0_0"))

    assert ["owned-twice", "owned-twice"] == codes(found)
    assert [("61000000", "62000000")] * 2 == [finding.members for finding in found.findings]
    assert "task 0_0 is active twice, at 61000000 and 62000000" == found.findings[0].text


@pytest.mark.parametrize(
    "coming_back",
    [
        member("a", 11, 11, answered=4),
        member("a", 4, 11, answered_supported=11),
        member("a", owned="0_0"),
    ],
)
def test_what_nobody_has_is_being_moved_if_somebody_is_about_to_rejoin(coming_back):
    assert "moving" in codes(seen(coming_back, partitions={TOPIC: 1}))


def test_problems_come_first():
    found = seen(member("a", 2, envelope=0, active="0_0"), member("b", active="0_0"))
    kinds_of = [finding.kind for finding in found.findings]

    assert [Kind.PROBLEM] * len(found.problems) == [finding.kind for finding in found.problems]
    assert kinds_of == sorted(kinds_of, key=lambda kind: kind is not Kind.PROBLEM)
    assert {Kind.PROBLEM, Kind.NOTICE} == set(kinds_of)
    assert set(codes(found)) <= set(LOOKS)


def test_of_plain_consumers_it_shows_partitions():
    found = seen(of_range("a", [0, 1]), of_range("b", [1]), protocol="range", partitions={TOPIC: 3})

    assert ["owned-twice", "owned-by-nobody", "not-streams"] == codes(found)
    assert ["orders-0", "orders-1"] == found.as_json()["members"][0]["partitions"]
    assert found.as_json()["members"][0]["releases"] is None


def test_a_group_of_something_else_has_members_nobody_reads():
    assert () == inspect(group(RawMember(member_id="a"), protocol_type="connect", protocol="sessioned")).members


def test_the_broker_stores_about_as_much_as_it_says():
    empty, one = seen(), seen(member("a"))

    assert one.metadata_bytes - empty.metadata_bytes >= one.as_json()["members"][0]["metadata_bytes"]
    assert DEFAULT_LIMIT == seen(limit=None).limit
    assert not seen(limit=None).as_json()["metadata_limit_known"]


# -- the story -------------------------------------------------------------------------------------------------------


def test_the_story_begins_with_what_is_there():
    assert ["Stable with 2 members"] == changes(None, seen(*FINE))
    assert ["Stable with 1 member"] == changes(None, seen(FINE[0]))


def test_the_story_tells_what_changes():
    before = seen(member("a", 4, 4, active="0_0"), member("b", 4, 11, active="0_1"))
    after = seen(member("b", 11, 11, answered=4, active="0_1 0_0"), member("c", 4, 11), state="CompletingRebalance")

    assert [
        "Stable → CompletingRebalance",
        "joined: 63000000",
        "left: 61000000",
        "62000000: version 4 → 11, answered 4",
        "mixed: 1 of 2 send 4, 1 of 2 send 11; the group can speak 11",
        "task 0_0: 61000000 → 62000000",
    ] == changes(before, after)
    assert [] == changes(after, after)


def test_the_story_goes_on_behind_a_rebalance():
    before = seen(member("a", active="0_0"), member("b", active="0_1"))
    between = seen(*(RawMember(member_id=each.member_id) for each in FINE), state="PreparingRebalance", protocol="")
    after = seen(member("a"), member("b", active="0_1 0_2"))

    assert ["Stable → PreparingRebalance"] == changes(before, between)
    assert ["PreparingRebalance → Stable", "task 0_0: 61000000 → nobody", "task 0_2: nobody → 62000000"] == changes(
        between, after, before
    )
