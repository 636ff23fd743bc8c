"""Inspection of a described group: members, tasks, releases, upgrade status, findings, changes."""

import json
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import LATEST_OFFSET, OFFSET_UNKNOWN, TaskId, encode_subscription
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
)
from streams_assignor.codec.records import FutureAssignment, FutureSubscription
from streams_assignor.groups import (
    DEFAULT_MAX_MESSAGE_BYTES,
    BrokerAssignment,
    DescribedGroup,
    DescribedGroupMember,
    FindingSeverity,
    change_text,
    find_changes,
    finding_text,
    inspect_group,
    topics_of,
    upgrade_text,
)
from streams_assignor.groups.check import check_members
from streams_assignor.groups.checks import CHECKS, FINDINGS
from streams_assignor.groups.decoded import OffsetSumTotals
from streams_assignor.groups.described_group import with_topic_metadata
from streams_assignor.groups.standbys import StandbyKind
from streams_assignor.groups.upgrade_status import Stage
from streams_assignor.upgrade.cluster.features.carried_levels import encode_levels
from streams_assignor.upgrade.release_detection import KAFKA_RELEASES, CandidateReleases, find_candidates
from tests.assignor.groups.described_groups import (
    TOPIC,
    assigned,
    broker_assigned,
    group,
    member,
    of_range,
    streams_group,
)

CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.json"))


def seen(*members, **facts):
    return inspect_group(group(*members, **facts))


def changes(*looks):
    return [change_text(change) for change in find_changes(*looks)]


def codes(found):
    return [finding.code for finding in found.findings]


# -- releases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "supported", "envelope", "tail", "text"),
    [
        (1, -1, 0, False, "0.10.0.0 to 0.10.0.1, or 2.0.0 to 2.3.1 with upgrade.from"),
        (1, -1, 0, True, "0.10.2.2 or 0.11.0.3 or 1.0.2 or 1.1.1 with upgrade.from"),
        (2, -1, 3, False, "3.4.0 to 3.9.2 or streams-assignor with upgrade.from"),
        (3, 3, 0, False, "2.0.0 to 2.0.1"),
        (4, 8, 1, False, "2.6.1 to 2.7.2"),
        (7, 7, 1, False, "2.6.0"),
        (11, 11, 1, False, "3.2.0 to 3.3.2"),
        (11, 11, 3, False, "3.4.0 or newer, or streams-assignor"),
        (12, 12, 3, False, "no known release"),
        (3, 3, 3, False, "streams-assignor-3"),
    ],
)
def test_the_candidate_releases_of_a_subscription(used, supported, envelope, tail, text):
    assert text == str(find_candidates(used, supported, consumer_protocol_version=envelope, has_trailing_bytes=tail))


@given(st.sampled_from(KAFKA_RELEASES))
def test_a_release_is_a_candidate_for_its_own_subscription(release):
    version, envelope = release.supported_version, release.behaviour.consumer_protocol_version

    assert (
        release
        in find_candidates(version, version if version >= 3 else -1, consumer_protocol_version=envelope).unpinned
    )


@given(st.sampled_from(KAFKA_RELEASES), st.data())
def test_a_release_with_upgrade_from_is_a_candidate(release, data):
    values = [
        value
        for value in release.upgrade_from
        if release.pinned_version(value) not in {None, release.supported_version}
    ]
    if values:
        used = release.pinned_version(data.draw(st.sampled_from(values)))
        tail = used == 1 and release.number < (2, 0)

        assert (
            release
            in find_candidates(
                used, -1, consumer_protocol_version=release.behaviour.consumer_protocol_version, has_trailing_bytes=tail
            ).pinned
        )


def test_without_candidates_upgrade_from_is_not_certain():
    assert not CandidateReleases().is_pinned


# -- members ---------------------------------------------------------------------------------------------------------


def test_the_json_of_a_member():
    levels = encode_levels({"group.version": 1})
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

    (found_member,) = found.as_json()["members"]
    assert {
        "name": "static-a",
        "label": "static-a (10.0.0.1)",
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
        "releases": "3.4.0 or newer, or streams-assignor",
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
        **dict.fromkeys(
            (
                "epoch",
                "has_target",
                "topology_epoch",
                "is_classic",
                "topic_regex",
                "target",
                "to_revoke",
                "awaited",
                "end_offset_sums",
            )
        ),
        "metadata_bytes": found_member["metadata_bytes"],
        "problem": None,
    } == found_member


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
def test_the_rebalance_protocol_is_inferred(shape, expected):
    (found,) = seen(member("a", **shape)).members

    assert expected == found.rebalance_protocol


def test_names_are_short_or_else_the_member_id():
    same = DescribedGroupMember(member_id="x"), DescribedGroupMember(member_id="x")
    found = seen(member("a"), *same, DescribedGroupMember(member_id="foreign"))

    assert ["61000000", "foreign", "x", "x"] == sorted(each.name for each in found.members)


def test_members_with_similar_ids_have_different_names():
    ids = ["1-61000000-0000-0000-0000-000000000000", "2-61000000-0000-0000-0000-000000000001"]
    found = seen(*(DescribedGroupMember(member_id=each) for each in ids))

    assert ids == [each.name for each in found.members]


def test_offset_sums_are_summarized():
    sums = {TaskId(0, 0): LATEST_OFFSET, TaskId(0, 1): OFFSET_UNKNOWN, TaskId(0, 2): 5, TaskId(0, 3): 0}

    assert OffsetSumTotals(running=1, unknown=1, restored_tasks=2, total=5) == OffsetSumTotals.summarize(sums)


def test_a_future_subscription_shows_its_versions():
    encoded = encode_consumer_subscription(
        ConsumerSubscription((TOPIC,), encode_subscription(FutureSubscription(12, 13)))
    )
    answer = b"\0\0" + b"\0\0\0\0" + b"\0\0\0\x08" + b"\0\0\0\x0c" + b"\0\0\0\x0d"
    (found,) = seen(DescribedGroupMember(member_id="a", subscription=encoded, assignment=answer)).members

    assert (12, 13, None) == (
        found.subscription.used_version,
        found.subscription.supported_version,
        found.subscription.process_id,
    )
    assert (12, 13, ()) == (found.assignment.used_version, found.assignment.supported_version, found.assignment.active)
    assert FutureAssignment(12, 13).version == found.assignment.used_version


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(["stream", "range", ""]))
def test_invalid_bytes_are_a_finding(subscription, assignment, protocol):
    raw = DescribedGroupMember(member_id="a", subscription=subscription, assignment=assignment)
    found = inspect_group(
        DescribedGroup(name="g", state="Stable", protocol_type="consumer", protocol=protocol, members=(raw,))
    )

    (found_member,) = found.as_json()["members"]
    assert (found_member["problem"] is not None) == ("unreadable" in codes(found))
    topics_of(group(raw))


def test_topics_are_those_of_readable_members():
    text = (encode_consumer_subscription(ConsumerSubscription((topic, "both"))) for topic in ("a", "b"))
    members = [DescribedGroupMember(member_id="", subscription=each, assignment=b"") for each in (*text, b"?")]

    assert {"a", "b", "both"} == topics_of(group(*members))


def test_topics_of_a_member_without_metadata_are_those_that_the_broker_assigned():
    assigned = DescribedGroupMember(member_id="", broker_assignment=BrokerAssignment(topics=("a", "b")))

    assert {"a", "b"} == topics_of(group(assigned))


def test_a_group_gets_the_counts_of_the_topics_that_it_subscribes_to_as_far_as_they_are_known():
    encoded = encode_consumer_subscription(ConsumerSubscription(("a", "unknown"), b""))
    described = group(DescribedGroupMember(member_id="", subscription=encoded))

    (found,) = with_topic_metadata([described], {"a": 3, "other": 1}, 4096)

    assert ({"a": 3}, 4096) == (found.partition_counts, found.max_message_bytes)
    assert {"unknown"} == found.unknown_topics
    (missing,) = with_topic_metadata([described], {"a": 3}, None, {"unknown"})
    assert (set(), {"unknown"}) == (missing.unknown_topics, missing.missing_topics)


@pytest.mark.parametrize("end", range(0, 120, 7))
def test_a_truncated_message_is_a_problem_of_its_member(end):
    whole = member("b", active="0_0")
    cut = DescribedGroupMember(member_id="a", subscription=whole.subscription[:end], assignment=whole.assignment[:end])
    found = seen(cut, whole)

    assert {"a"} >= {name for each in found.findings if each.code == "unreadable" for name in each.members}


# -- standbys --------------------------------------------------------------------------------------------------------

LATER = 1_700_000_000_000


def kinds(*members):
    return {str(task): copy for task, copy in seen(*members).standby_kinds.items()}


def test_without_a_scheduled_rebalance_all_replicas_are_standbys():
    assert {"0_1": StandbyKind.STANDBY} == kinds(member("a", active="0_0", standby="0_1", sums={"0_1": 1}))


def test_before_version_7_all_replicas_are_standbys():
    assert {"0_1": StandbyKind.STANDBY} == kinds(member("a", 6, 6, envelope=1, active="0_0", standby="0_1"))


def test_if_a_stateful_task_has_no_replica_those_of_others_are_warm_ups():
    a = member("a", active="0_0 0_1", had="0_0 0_1", next_ms=LATER)
    b = member("b", standby="0_1")

    assert {"0_1": StandbyKind.WARM_UP} == kinds(a, b)


def test_a_task_without_state_does_not_count():
    a = member("a", active="0_0 1_0", had="0_0", next_ms=LATER)
    b = member("b", standby="0_0")

    assert {"0_0": StandbyKind.STANDBY} == kinds(a, b)


def test_a_task_with_more_replicas_than_usual_has_an_unknown_warm_up():
    a = member("a", active="0_0 0_1", next_ms=LATER)

    expected = {"0_0": StandbyKind.STANDBY, "0_1": StandbyKind.EITHER}
    assert expected == kinds(a, member("b", standby="0_0 0_1"), member("c", standby="0_1"))


def test_with_client_tags_the_kind_is_unknown():
    a = member("a", active="0_0 0_1", had="0_0", next_ms=LATER, tags=[("zone", "z")])

    assert {"0_1": StandbyKind.EITHER} == kinds(a, member("b", standby="0_1"))


def test_a_scheduled_rebalance_shows_the_process_of_the_leader():
    a, b = member("a", next_ms=LATER), member("b")

    assert str(UUID(bytes=b"a".ljust(16, b"\0"))) == seen(a, b).leading_process
    assert seen(b).leading_process is None
    assert seen(a, member("b", next_ms=LATER)).leading_process is None


# -- the upgrade -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "stage", "text"),
    [
        ([(11, 11), (11, 11)], Stage.DONE, "all on version 11"),
        (
            [(4, 11), (4, 4), (4, 11)],
            Stage.WAITING,
            "all on version 4; waiting for app-b (10.0.0.1, 62000000) (supports 4)",
        ),
        (
            [(4, 4), (4, 4), (4, 11)],
            Stage.WAITING,
            "all on version 4; waiting for app-a (10.0.0.1, 61000000) and app-b (10.0.0.1, 62000000) (support 4)",
        ),
        (
            [(4, 4), (4, 11), (4, 4), (11, 11), (11, 11)],
            Stage.MIXED,
            "mixed: 3 of 5 send 4, 2 of 5 send 11; all support 4; waiting for app-a (10.0.0.1, 61000000) and "
            "app-c (10.0.0.1, 63000000) (support 4)",
        ),
        (
            [(4, 11), (11, 11)],
            Stage.MIXED,
            "mixed: 1 of 2 send 4, 1 of 2 send 11; all support 11",
        ),
        (
            [(4, 11), (4, 11)],
            Stage.LAST_STEP,
            "all send 4 and support 11: the rebalance that raises the version is still to come",
        ),
        (
            [(2, -1), (2, -1)],
            Stage.BEFORE_PROBING,
            "all on version 2: upgrade.from is still set",
        ),
        (
            [(2, -1), (3, 3)],
            Stage.MIXED,
            "mixed: 1 of 2 send 2, 1 of 2 send 3; all support 2; waiting for app-a (10.0.0.1, 61000000) "
            "(version 2: upgrade.from "
            "is still set)",
        ),
    ],
)
def test_the_upgrade_status(versions, stage, text):
    found = seen(*(member("abcde"[number], *pair) for number, pair in enumerate(versions))).upgrade_status

    assert (stage, text) == (found.stage, upgrade_text(found))


def test_below_version_3_the_reason_is_ambiguous():
    found = seen(member("a", 2, envelope=0), member("b", 1, envelope=3)).upgrade_status

    assert upgrade_text(found).endswith(
        "waiting for app-b (10.0.0.1, 62000000) (version 1: a release before 2.0, or upgrade.from is still set)"
    )


def test_unreadable_members_are_counted():
    assert Stage.UNKNOWN is seen(DescribedGroupMember(member_id="a")).upgrade_status.stage
    assert "all on version 11; 1 cannot be read" == upgrade_text(
        seen(member("a"), DescribedGroupMember(member_id="b")).upgrade_status
    )


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_real_bounces_end_with_one_version_and_without_problems(path):
    looks = []
    for each in json.loads(path.read_text())["generations"]:
        members = (
            DescribedGroupMember(
                member_id=one["member_id"],
                client_id=one["client_id"],
                host="/127.0.0.1",
                subscription=bytes.fromhex(one["subscription"]),
                assignment=bytes.fromhex(one["assignment"]),
            )
            for one in each["members"]
        )
        looks.append(inspect_group(group(*members, partition_counts={"data": 6})))

    assert looks[-1].upgrade_status.stage in {Stage.DONE, Stage.BEFORE_PROBING}
    assert () == looks[-1].problems
    assert not any("unreadable" in codes(look) for look in looks)
    assert any(find_changes(*pair) for pair in pairwise(looks))


# -- findings --------------------------------------------------------------------------------------------------------

FINE = (member("a", active="0_0"), member("b", active="0_1"))


def test_a_healthy_group_has_no_findings():
    assert () == seen(*FINE, partition_counts={TOPIC: 2}).findings


@pytest.mark.parametrize(
    ("code", "kind", "raw", "text"),
    [
        (
            "not-classic",
            FindingSeverity.NOTICE,
            group(type="share", protocol="", max_message_bytes=None),
            "KIP-932, a share",
        ),
        (
            "not-classic",
            FindingSeverity.NOTICE,
            group(type="what", protocol=""),
            "of type what (members send no metadata",
        ),
        (
            "not-streams",
            FindingSeverity.NOTICE,
            group(of_range("a", [0]), protocol="range"),
            "the assignor is range, not stream",
        ),
        ("not-streams", FindingSeverity.NOTICE, group(protocol_type="sr", protocol="v0"), "the protocol type is sr"),
        (
            "not-streams",
            FindingSeverity.NOTICE,
            group(protocol_type="connect", protocol="sessioned"),
            "workers of Kafka Connect",
        ),
        (
            "no-online-conversion",
            FindingSeverity.NOTICE,
            group(of_range("a", [0], user_data=b"\0"), protocol="cooperative-sticky"),
            "userdata into the assignment of consumer-a (10.0.0.1): the group cannot be converted online",
        ),
        (
            "no-online-conversion",
            FindingSeverity.NOTICE,
            group(of_range("a", [0], user_data=b"\0"), of_range("b", [1], user_data=b"\0"), protocol="x"),
            "into the assignments of consumer-a",
        ),
        (
            "unsettled",
            FindingSeverity.NOTICE,
            group(state="PreparingRebalance", protocol=""),
            "rebalancing (PreparingRebalance)",
        ),
        ("unsettled", FindingSeverity.NOTICE, group(state="Empty", protocol=""), "no members"),
        ("unsettled", FindingSeverity.NOTICE, group(state="Dead", protocol=""), "group is dead"),
        (
            "unreadable",
            FindingSeverity.PROBLEM,
            group(*FINE, DescribedGroupMember(member_id="x", subscription=b"\0\1")),
            "x cannot be read: subscription: topics at offset 2",
        ),
        (
            "unreadable",
            FindingSeverity.PROBLEM,
            group(
                *FINE,
                DescribedGroupMember(member_id="x", subscription=encode_consumer_subscription(ConsumerSubscription())),
            ),
            "x cannot be read: userdata of the subscription: ",
        ),
        (
            "unreadable",
            FindingSeverity.PROBLEM,
            group(
                *FINE, DescribedGroupMember(member_id="x", assignment=encode_consumer_assignment(ConsumerAssignment()))
            ),
            "x cannot be read: userdata of the assignment: ",
        ),
        (
            "cannot-read",
            FindingSeverity.PROBLEM,
            group(member("a", 3, 3, answered=4)),
            "app-a (10.0.0.1, 61000000) received version 4 and supports 3: it cannot read its assignment",
        ),
        (
            "cannot-probe",
            FindingSeverity.PROBLEM,
            group(member("a", 2, envelope=0), member("b")),
            "app-a (10.0.0.1, 61000000) seems to be of a release before 2.0, which cannot probe versions "
            "(KIP-268): if such "
            "a member leads, it fails on version 11, which app-b (10.0.0.1, 62000000) sends",
        ),
        (
            "may-not-probe",
            FindingSeverity.NOTICE,
            group(member("a", 2, envelope=0), member("b", 3, 3, envelope=0), member("c", 3, 3, envelope=0)),
            "may be of a release before 2.0 (with upgrade.from set there is no problem)",
        ),
        (
            "upgrade-from",
            FindingSeverity.NOTICE,
            group(member("a", 2), member("b", 2, envelope=0)),
            "keep it until all other members are upgraded",
        ),
        ("upgrade-from", FindingSeverity.NOTICE, group(member("a", 2), member("b", 2)), "no member needs it any more"),
        (
            "maybe-upgrade-from",
            FindingSeverity.NOTICE,
            group(member("a", 2, envelope=0)),
            "app-a (10.0.0.1, 61000000) sends version 2: 0.10.1.0 to 1.1.1, or 2.0.0 to 2.3.1 with upgrade.from",
        ),
        ("could-speak-more", FindingSeverity.PROBLEM, group(member("a", 4, 11)), "still to come; if this lasts"),
        (
            "mixed-protocols",
            FindingSeverity.PROBLEM,
            group(member("a", 4, 4, envelope=0), member("b", 4, 11, owned="0_0", active="0_0")),
            "app-a (10.0.0.1, 61000000) is eager and app-b (10.0.0.1, 62000000) cooperative",
        ),
        (
            "same-process",
            FindingSeverity.PROBLEM,
            group(*(member(each, process=UUID(int=1), host=f"/{each}") for each in "ab")),
            "is on 2 hosts (/a and /b): was a state directory copied?",
        ),
        (
            "error-code",
            FindingSeverity.PROBLEM,
            group(member("a", error=1)),
            "received an error: a source topic is missing",
        ),
        (
            "error-code",
            FindingSeverity.PROBLEM,
            group(member("a", sent_error=4)),
            "sent an error: an application requested",
        ),
        ("error-code", FindingSeverity.PROBLEM, group(member("a", error=9)), "received an error: unknown code 9"),
        (
            "no-assignment",
            FindingSeverity.PROBLEM,
            group(*FINE, DescribedGroupMember(member_id="x", subscription=FINE[0].subscription)),
            "the leader assigned nothing to x",
        ),
        (
            "without-owner",
            FindingSeverity.PROBLEM,
            group(*FINE, partition_counts={TOPIC: 4}),
            "partitions orders-2 and orders-3 are not assigned to any member",
        ),
        (
            "without-owner",
            FindingSeverity.PROBLEM,
            group(member("a", standby="0_7")),
            "task 0_7 is not active on any member",
        ),
        (
            "moving",
            FindingSeverity.NOTICE,
            group(member("a", standby="0_7", next_ms=0)),
            "yet: a rebalance follows immediately",
        ),
        (
            "large",
            FindingSeverity.NOTICE,
            group(*FINE, max_message_bytes=1_200),
            "of what the broker can store of a group; above the limit no rebalance completes",
        ),
        ("too-large", FindingSeverity.PROBLEM, group(*FINE, max_message_bytes=600), "bytes, 1"),
    ],
)
def test_a_check_finds(code, kind, raw, text):
    (found, *_) = [finding for finding in inspect_group(raw).findings if finding.code == code]

    assert kind is found.severity
    assert text in finding_text(found)


def test_a_task_with_two_owners_is_a_problem_and_so_is_its_partition():
    found = seen(member("a", active="0_0"), member("b", active="0_0"))

    assert ["owned-twice", "owned-twice"] == codes(found)
    assert [("61000000", "62000000")] * 2 == [finding.members for finding in found.findings]
    assert "task 0_0 is active twice, on app-a (10.0.0.1, 61000000) and app-b (10.0.0.1, 62000000)" == finding_text(
        found.findings[0]
    )


@pytest.mark.parametrize(
    "rejoining",
    [
        member("a", 11, 11, answered=4),
        member("a", 4, 11, answered_supported=11),
        member("a", owned="0_0"),
    ],
)
def test_a_task_without_owner_is_moving_if_a_member_is_about_to_rejoin(rejoining):
    assert "moving" in codes(seen(rejoining, partition_counts={TOPIC: 1}))


@pytest.mark.parametrize(
    ("end_point", "hosts", "missing"),
    [
        ("http://h:1", [("h", 1)], False),
        ("[::1]:1", [("other", 2), ("::1", 1)], False),
        ("http://h:1", [("http://h", 1)], True),
        ("h:1", [("other", 1)], True),
        ("h:1", [], False),
        ("", [("h", 1)], False),
        ("  ", [("h", 1)], False),
        ("no port", [("h", 1)], False),
    ],
)
def test_a_member_whose_end_point_the_leader_has_not_found_never_settles(end_point, hosts, missing):
    found = seen(member("a", active="0_0", end_point=end_point, hosts=hosts))

    assert (["end-point-missing"] if missing else []) == codes(found)
    assert missing == found.members[0].is_about_to_rejoin
    texts = [finding_text(each) for each in found.findings]
    assert all(f"application.server {end_point!r}, and the leader has found {hosts[0][0]}:1" in each for each in texts)


@pytest.mark.parametrize(("version", "codes_found"), [(4, []), (6, []), (7, ["end-point-missing"])])
def test_members_before_2_6_do_not_look_for_their_end_point(version, codes_found):
    assert codes_found == codes(seen(member("a", version, version, active="0_0", end_point="h:1", hosts=[("g", 1)])))


def test_a_member_with_partitions_of_topics_that_it_does_not_subscribe_to_is_a_problem():
    found = seen(member("a", active="0_0", topics=("clicks", "views")), member("b", active="0_1"))

    assert ["not-subscribed"] == codes(found)
    assert ("61000000",) == found.findings[0].members
    assert "app-a (10.0.0.1, 61000000) has partitions of orders and does not subscribe to it" in finding_text(
        found.findings[0]
    )


def test_members_that_rejoin_at_once_are_noticed_with_the_reason():
    found = seen(member("a", active="0_0", next_ms=0), member("b", owned="0_1"), member("c", 4, 11, answered=3))
    notices = [finding_text(each) for each in found.findings if each.code == "rejoins"]

    assert [
        "app-a (10.0.0.1, 61000000) rejoins at once: the leader asks it to, because it waits for a task of another "
        "member; if this lasts, the group does not settle",
        "app-b (10.0.0.1, 62000000) rejoins at once: it has to revoke partitions; if this lasts, the group does not "
        "settle",
        "app-c (10.0.0.1, 63000000) rejoins at once: it changes its version; if this lasts, the group does not settle",
    ] == notices


def test_problems_come_first():
    found = seen(member("a", 2, envelope=0, active="0_0"), member("b", active="0_0"))
    kinds_of = [finding.severity for finding in found.findings]

    assert [FindingSeverity.PROBLEM] * len(found.problems) == [finding.severity for finding in found.problems]
    assert kinds_of == sorted(kinds_of, key=lambda kind: kind is not FindingSeverity.PROBLEM)
    assert {FindingSeverity.PROBLEM, FindingSeverity.NOTICE} == set(kinds_of)
    assert set(codes(found)) <= set(CHECKS)


@pytest.mark.parametrize(
    ("described", "problems"),
    [
        (group(member("a", active="0_0"), unknown_topics=frozenset({"b", "a"})), ["DESCRIBE on the topics): a and b"]),
        (streams_group(broker_assigned("a", assigned("0_0 0_1 1_0 1_1")), configs=None), ["DESCRIBE_CONFIGS on it)"]),
        (streams_group(configs=None, state="Empty"), []),
    ],
)
def test_what_the_user_may_not_see_is_not_taken_for_well(described, problems):
    """The checks that need it were skipped without a word, and the status was 0."""
    found = [finding_text(each) for each in inspect_group(described).problems]

    assert len(problems) == len(found)
    assert all(text.endswith(end) and "cannot be told" in text for text, end in zip(found, problems, strict=True))


@pytest.mark.parametrize(
    ("members", "expected", "texts"),
    [("ab", 2, []), ("ab", 3, ["2 members instead of at least 3"]), ("", 1, ["0 members instead of at least 1"])],
)
def test_too_few_members_are_a_problem(members, expected, texts):
    described = group(*(member(name, active="0_0") for name in members))

    assert texts == [finding_text(each) for each in check_members(described, expected)]
    assert [] == [*check_members(group(error="hidden"), expected)]


def test_check_and_text_have_the_name_of_the_code():
    one_text = {"too-large": "large"}

    assert [*CHECKS] == [check.__name__.replace("_", "-") for check in CHECKS.values()]
    assert [one_text.get(code, code) for code in FINDINGS] == [
        kind.text.__name__.replace("_", "-") for kind in FINDINGS.values()
    ]


def test_of_plain_consumers_it_shows_partitions():
    found = seen(of_range("a", [0, 1]), of_range("b", [1]), protocol="range", partition_counts={TOPIC: 3})

    assert ["owned-twice", "without-owner", "not-streams"] == codes(found)
    assert ["orders-0", "orders-1"] == found.as_json()["members"][0]["partitions"]
    assert found.as_json()["members"][0]["releases"] is None


def test_members_of_a_group_of_another_protocol_type_are_not_decoded():
    assert () == inspect_group(group(DescribedGroupMember(member_id="a"), protocol_type="sr", protocol="v0")).members


def test_the_record_size_grows_by_the_size_of_a_member():
    one, two = seen(member("a")), seen(member("a"), member("b"))

    assert two.metadata_bytes - one.metadata_bytes >= two.as_json()["members"][1]["metadata_bytes"]
    assert DEFAULT_MAX_MESSAGE_BYTES == seen(member("a"), max_message_bytes=None).max_message_bytes
    assert not seen(member("a"), max_message_bytes=None).as_json()["metadata_limit_known"]


@pytest.mark.parametrize(
    ("members", "facts"),
    [
        ((), {"state": "Empty"}),
        ((member("a"),), {"state": "PreparingRebalance"}),
        ((broker_assigned("a"),), {"type": "consumer"}),
        ((broker_assigned("a"),), {"type": "streams"}),
    ],
)
def test_no_limit_is_claimed_of_a_group_without_a_record_of_all_metadata(members, facts):
    found = seen(*members, **facts).as_json()

    assert [None, None, False] == [found[f"metadata_{each}"] for each in ("bytes", "limit", "limit_known")]


# -- changes ---------------------------------------------------------------------------------------------------------


def test_the_first_look_is_one_change():
    assert ["Stable with 2 members"] == changes(None, seen(*FINE))
    assert ["Stable with 1 member"] == changes(None, seen(FINE[0]))


def test_changes_between_two_looks():
    before = seen(member("a", 4, 4, active="0_0"), member("b", 4, 11, active="0_1"))
    after = seen(member("b", 11, 11, answered=4, active="0_1 0_0"), member("c", 4, 11))

    assert [
        "joined: app-c (10.0.0.1, 63000000)",
        "left: app-a (10.0.0.1, 61000000)",
        "app-b (10.0.0.1, 62000000): version 4 → 11, answered 4",
        "mixed: 1 of 2 send 4, 1 of 2 send 11; all support 11",
        "task 0_0: app-a (10.0.0.1, 61000000) → app-b (10.0.0.1, 62000000)",
    ] == changes(before, after)
    assert [] == changes(after, after)


def test_changes_across_a_rebalance():
    before = seen(member("a", active="0_0"), member("b", active="0_1"))
    between = seen(
        *(DescribedGroupMember(member_id=each.member_id) for each in FINE), state="PreparingRebalance", protocol=""
    )
    after = seen(member("a"), member("b", active="0_1 0_2"))

    assert ["Stable → PreparingRebalance"] == changes(before, between)
    assert [] == changes(between, between, before), "what the broker hides is no change"
    assert [
        "PreparingRebalance → Stable",
        "task 0_0: app-a (10.0.0.1, 61000000) → no member",
        "task 0_2: no member → app-b (10.0.0.1, 62000000)",
    ] == changes(between, after, before)
