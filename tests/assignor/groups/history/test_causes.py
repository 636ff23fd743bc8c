"""Each cause has a situation in which it is found, and the confidence that the records allow."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from streams_assignor.groups.history._causes import CAUSES
from tests.assignor.groups.described_groups import of_range
from tests.assignor.groups.history.epochs import ALONE, streams_epoch, topology
from tests.assignor.groups.history.histories import (
    ALL,
    MINUTE,
    NOW,
    Played,
    alone,
    commit,
    deleted,
    generation,
    member,
    pair,
)
from tests.assignor.groups.history.segments import record


def last_cause(*records, code, confidence, **settings):
    """Check the cause of the last generation and return its detail."""
    played = Played(*records, **settings)

    assert (played.last["cause"], played.last["confidence"]) == (code, confidence)
    assert code in CAUSES or code == "unknown"
    return played.last["detail"]


def test_the_first_generation_starts_a_group():
    assert "joined: " in last_cause(generation(1, alone()), code="group-started", confidence="certain")


def test_the_start_of_a_group_is_unknown_if_its_first_record_is_a_later_generation():
    last_cause(generation(7, alone()), code="group-started", confidence="unknown")


def test_a_group_without_members_has_started_too():
    last_cause(generation(0), code="group-started", confidence="certain")


def test_a_group_that_was_empty_starts_again():
    records = generation(1, alone()), generation(2, at=1000), generation(3, alone(), at=9000)

    assert "the group was empty" in last_cause(*records, code="group-started", confidence="certain")


def test_an_empty_generation_says_that_all_left():
    last_cause(generation(1, *pair()), generation(2, at=9000), code="all-members-left", confidence="certain")


def test_a_group_that_stays_empty_has_no_members_that_left():
    last_cause(generation(1), generation(2, at=9), code="all-members-left", confidence="certain")


def test_a_group_is_converted_when_a_consumer_of_the_new_protocol_joins():
    key = {"groupId": "app", "memberId": "m"}
    facts = {"clientId": "c", "clientHost": "h", "subscribedTopicNames": ["orders"], "rebalanceTimeoutMs": 1}
    nothing = {"instanceId": None, "rackId": None, "subscribedTopicRegex": None, "serverAssignor": None}
    records = (
        generation(4, alone()),
        deleted(),
        record(5, key, facts | nothing),
        record(3, {"groupId": "app"}, {"epoch": 4}),
    )

    assert last_cause(*records, code="group-converted", confidence="certain") == "classic to consumer"


def test_the_members_that_stay_rebalance_after_their_group_was_converted():
    key = {"groupId": "app", "memberId": "m"}
    facts = {"clientId": "c", "clientHost": "h", "subscribedTopicNames": ["orders"], "rebalanceTimeoutMs": 1}
    nothing = {"instanceId": None, "rackId": None, "subscribedTopicRegex": None, "serverAssignor": None}
    converted = record(5, key, facts | nothing), record(3, {"groupId": "app"}, {"epoch": 4})
    first, _ = pair()

    detail = last_cause(
        *converted, generation(4, first), generation(5, first, at=9), code="group-converted", confidence="likely"
    )
    assert detail == "the first rebalance as a classic group"
    last_cause(
        *converted, generation(4, first), generation(5, *pair(), at=9), code="member-joined", confidence="certain"
    )


def test_a_static_member_that_restarts_keeps_its_instance_id():
    old, new = member("A", active=ALL, instance="pod-0"), member("A2", active=ALL, instance="pod-0")

    last_cause(generation(1, old), generation(2, new, at=9000), code="static-member-restarted", confidence="certain")


def test_a_new_member_id_with_the_client_id_and_host_of_one_that_is_gone_is_a_restart():
    old = member("A", active=ALL)
    new = evolve(member("B", active="0_0"), client_id=old.client_id)
    detail = last_cause(
        generation(1, old),
        generation(2, new, member("C", active="0_1"), at=9000),
        code="member-restarted",
        confidence="likely",
    )

    assert "; joined: 43000000" in detail


def test_a_member_that_restarts_alone_has_no_one_else_to_name():
    old = member("A", active=ALL)
    new = evolve(member("B", active=ALL), client_id=old.client_id)
    detail = last_cause(generation(1, old), generation(2, new, at=9), code="member-restarted", confidence="likely")

    assert detail == "restarted: 42000000"


def test_a_new_member_joined():
    last_cause(generation(1, alone()), generation(2, *pair(), at=9), code="member-joined", confidence="certain")


def test_a_new_member_joined_while_another_one_is_gone():
    first, second = pair()
    other = member("C", active="0_1", host="/10.0.0.9")
    detail = last_cause(
        generation(1, first, second), generation(2, first, other, at=9), code="member-joined", confidence="likely"
    )

    assert detail == "joined: 43000000; gone: 42000000"


def test_a_member_that_committed_within_its_session_timeout_left():
    first, _ = pair()
    last_cause(
        generation(1, *pair()),
        commit(1, at=15_000),
        generation(2, first, at=20_000),
        code="member-left",
        confidence="certain",
    )


def test_a_member_that_was_silent_for_its_session_timeout_timed_out():
    first, _ = pair()
    last_cause(
        generation(1, *pair()),
        commit(1, at=5000),
        generation(2, first, at=20_000),
        code="member-timed-out",
        confidence="likely",
    )


def test_a_member_whose_last_commit_was_later_than_its_last_heartbeat_timed_out():
    """Its session of ten seconds began before that commit; with the new protocol the cause was a member that left."""
    first, _ = pair()
    records = generation(1, *pair()), commit(0, at=19_000), commit(1, at=12_000)

    last_cause(*records, generation(2, first, at=20_000), code="member-timed-out", confidence="likely")


def test_a_member_that_was_silent_for_a_poll_interval_below_its_session_timeout_timed_out():
    """Its client leaves the group when the poll interval ends; the cause was a member that left, certainly."""
    first, _ = pair()
    records = generation(1, *pair(), poll=3000), commit(0, at=14_000), commit(1, at=10_000)

    last_cause(*records, generation(2, first, at=15_000), code="member-timed-out", confidence="likely")


def test_a_stream_thread_without_commits_timed_out_because_it_does_not_leave():
    first, _ = pair()
    last_cause(generation(1, *pair()), generation(2, first, at=20_000), code="member-timed-out", confidence="likely")


def test_commits_without_a_time_say_nothing_about_leaving():
    first, _ = pair()
    records = generation(1, *pair()), commit(1, at=-NOW - 1), generation(2, first, at=20_000)

    last_cause(*records, code="member-timed-out", confidence="likely")


def test_a_plain_consumer_without_commits_left_or_timed_out():
    first, second = of_range("A", (0,)), of_range("B", (1,))
    records = (
        generation(1, first, second, protocol="range"),
        generation(2, first, at=20_000, protocol="range"),
    )

    last_cause(*records, code="member-gone", confidence="likely")


@pytest.mark.parametrize(("of_the_other", "code"), [(5000, "member-gone"), (15_000, "member-timed-out")])
def test_silence_of_a_plain_consumer_is_evidence_only_if_others_commit(of_the_other, code):
    """Without records no member commits, and a consumer that leaves has been as silent as one that times out."""
    first, second = of_range("A", (0,)), of_range("B", (1,))
    records = (
        generation(1, first, second, protocol="range"),
        *(commit(1, at=5000), commit(0, at=of_the_other)),
        generation(2, first, at=20_000, protocol="range"),
    )

    last_cause(*records, code=code, confidence="likely")


def test_a_static_consumer_that_is_gone_timed_out():
    first, second = of_range("A", (0,)), evolve(of_range("B", (1,)), group_instance_id="pod-1")
    records = (
        generation(1, first, second, protocol="range"),
        generation(2, first, at=20_000, protocol="range"),
    )

    last_cause(*records, code="member-timed-out", confidence="likely")


def test_a_changed_used_version_is_version_probing():
    before, after = alone(used=8, supported=11), alone(used=11)

    last_cause(generation(1, before), generation(2, after, at=9), code="version-probing", confidence="certain")


def test_a_lower_answer_is_version_probing():
    before = alone(used=11, answered=8)

    last_cause(generation(1, before), generation(2, before, at=9), code="version-probing", confidence="certain")


def test_an_error_code_makes_members_rejoin():
    before = alone(error=2)

    assert "error code 2" in last_cause(
        generation(1, before), generation(2, alone(), at=9), code="error-code", confidence="likely"
    )


def test_an_error_code_of_members_that_are_gone_is_in_the_detail():
    """Kafka Streams ends after most error codes, and then the cause is what the coordinator saw."""
    first, second = pair(error=1)

    assert "; error code 1 in the last assignment of members that are gone" in last_cause(
        generation(1, first, second), generation(2, first, at=9), code="member-timed-out", confidence="likely"
    )


def test_members_that_revoke_rejoin_at_once():
    before = member("A", active="0_0", owned=ALL), member("B")
    after = pair()

    last_cause(generation(1, *before), generation(2, *after, at=9), code="follow-up", confidence="certain")


@pytest.mark.parametrize(("late", "confidence"), [(1000, "certain"), (2 * MINUTE, "likely")])
def test_a_scheduled_rebalance_is_a_probing_rebalance(late, confidence):
    before = alone(next_ms=NOW + 10 * MINUTE)
    after = generation(2, alone(), at=10 * MINUTE + late)

    last_cause(generation(1, before), after, code="probing-rebalance", confidence=confidence)


def test_a_rebalance_before_the_scheduled_one_has_another_cause():
    before = alone(next_ms=NOW + 10 * MINUTE)

    last_cause(generation(1, before), generation(2, alone(), at=MINUTE), code="leader-rejoined", confidence="likely")


def test_another_subscription_is_a_cause():
    before, after = of_range("A", (0,)), of_range("A", (0,), topic="payments")
    records = generation(1, before, protocol="range"), generation(2, after, at=9, protocol="range")

    last_cause(*records, code="subscription-changed", confidence="certain")


def test_more_partitions_than_before_were_added():
    before, after = alone(), member("A", active="0_0 0_1 0_2", owned=ALL)

    assert "1 more" in last_cause(
        generation(1, before), generation(2, after, at=9), code="partitions-added", confidence="likely"
    )


def last_cause_of_epochs(*second, code, confidence):
    return last_cause(topology(), *ALONE, *second, code=code, confidence=confidence)


def test_another_topology_is_a_cause():
    new = topology(epoch=1, at=9), streams_epoch(2, 9)

    assert "topology epoch 0 to 1" == last_cause_of_epochs(*new, code="topology-changed", confidence="certain")


def test_other_settings_of_the_group_are_a_cause():
    records = streams_epoch(2, 9, settings={"num.standby.replicas": "0"}), streams_epoch(3, 10, settings={"zone": "a"})
    text = "settings of the group: num.standby.replicas 0 to -, zone - to a"

    assert text == last_cause_of_epochs(*records, code="settings-changed", confidence="certain")


def test_settings_that_a_broker_does_not_write_are_no_cause():
    last_cause_of_epochs(streams_epoch(2, 9, settings={"zone": "a"}), code="unknown", confidence="unknown")


@pytest.mark.parametrize(("now", "confidence"), [(6, "certain"), (0, "likely")])
def test_other_topics_of_the_cluster_are_a_cause(now, confidence):
    last_cause_of_epochs(streams_epoch(2, 9, metadataHash=now), code="topics-changed", confidence=confidence)


def test_other_partitions_than_before_were_not_added():
    before, after = member("A", active=ALL), member("A", active="0_0 0_2")

    last_cause(generation(1, before), generation(2, after, at=9), code="leader-rejoined", confidence="likely")


def test_a_member_with_another_rack_sent_other_metadata():
    before, after = alone(rack="a"), alone(rack="b")

    last_cause(generation(1, before), generation(2, after, at=9), code="metadata-changed", confidence="likely")


def test_a_leader_that_joins_again_with_the_same_metadata_starts_a_rebalance():
    detail = last_cause(
        generation(1, *pair()), generation(2, *pair(), at=9), code="leader-rejoined", confidence="likely"
    )

    assert detail.startswith("41000000 joined again")


@pytest.mark.parametrize("leader", [None, "absent"])
def test_unknown_is_an_answer(leader):
    records = generation(1, *pair(), leader=leader), generation(2, *pair(), at=9, leader=leader)

    last_cause(*records, code="unknown", confidence="unknown")


def test_another_leader_with_the_same_members_is_unknown():
    first, second = pair()

    last_cause(generation(1, first, second), generation(2, second, first), code="unknown", confidence="unknown")


def test_ten_names_are_shown():
    many = [member(f"member-{number}") for number in range(12)]

    assert last_cause(generation(1, *many), code="group-started", confidence="certain").endswith(" and 2 more")


def test_every_cause_is_shown_above():
    shown = set(re.findall('code="([a-z-]+)"', Path(__file__).read_text(encoding="utf-8")))

    assert shown - {"unknown"} == set(CAUSES)
