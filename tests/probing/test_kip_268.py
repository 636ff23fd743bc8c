"""Every sentence of KIP-268's "Detailed upgrade protocol from metadata version X to Y", as a test with its name.

Where the KIP and current Kafka differ, the test has both behaviours. X is 3 and Y is 4 here.
"""

import pytest

from streams_assignor.probing import (
    CURRENT,
    KIP_268,
    Action,
    AssignmentContent,
    MemberState,
    MemberVersion,
    MemberVersions,
    ReceivedVersions,
    decide,
)
from streams_assignor.probing.rules import G4A, G4B, G4C, KAFKA_2_0, KAFKA_8649

PROBING = [KIP_268, KAFKA_2_0, KAFKA_8649, G4A, G4B, G4C, CURRENT]
BOTH = pytest.mark.parametrize("rules", [KIP_268, CURRENT], ids=lambda rules: rules.name)
ALL = pytest.mark.parametrize("rules", PROBING, ids=lambda rules: rules.name)
X, Y = 3, 4


def upgraded(rules, used=Y):
    """A member of the new release, downgraded to ``used`` if that is below its latest version."""
    member = MemberVersion.initial(rules.member, Y)
    return member if used == Y else member.on_assignment(ReceivedVersions(X, X))[0]


@ALL
def test_on_startup_an_instance_optimistically_sends_the_latest_version(rules):
    assert Y == MemberVersion.initial(rules.member, Y).version_to_send()


def test_an_old_leader_answers_a_newer_subscription_with_an_empty_assignment_in_kip_268():
    answer = decide(KIP_268.leader, X, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)}).answers["new"]

    assert AssignmentContent.EMPTY is answer.content


def test_the_empty_assignment_only_encodes_both_versions_used_and_supported_as_the_leaders_in_kip_268():
    answer = decide(KIP_268.leader, X, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)}).answers["new"]

    assert (X, X) == (answer.version, answer.supported_version)


@pytest.mark.parametrize("old", [1, 2])
def test_instead_of_failing_the_leader_answers_a_newer_subscription_beside_a_member_that_cannot_probe(old):
    """The rule set of the text raised IllegalStateException here, as Kafka's leaders of 2.0 to 2.6 do."""
    decision = decide(KIP_268.leader, X, {"old": MemberVersions(old), "new": MemberVersions(Y, Y)})
    member, actions = upgraded(KIP_268).on_assignment(ReceivedVersions(X, X))
    then = decide(KIP_268.leader, X, {"old": MemberVersions(old), "new": MemberVersions(X, Y)}).answers["new"]

    assert (X, X, AssignmentContent.EMPTY) == (
        decision.answers["new"].version,
        decision.answers["new"].supported_version,
        decision.answers["new"].content,
    )
    assert (old, AssignmentContent.REGULAR) == (decision.answers["old"].version, decision.answers["old"].content)
    assert (X, (Action.DISCARD, Action.REJOIN)) == (member.version_to_send(), actions)
    assert (old, AssignmentContent.REGULAR) == (then.version, then.content)
    assert (member, (Action.ACCEPT,)) == member.on_assignment(ReceivedVersions(then.version, -1))


def test_today_a_newer_subscription_gets_a_real_assignment_in_the_common_version():
    answer = decide(CURRENT.leader, X, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)}).answers["new"]

    assert (X, X, AssignmentContent.REGULAR) == (answer.version, answer.supported_version, answer.content)


@BOTH
def test_for_all_other_instances_the_leader_sends_a_regular_assignment_in_version_x(rules):
    answer = decide(rules.leader, X, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)}).answers["old"]

    assert (X, AssignmentContent.REGULAR) == (answer.version, answer.content)


@pytest.mark.parametrize("rules", [KAFKA_2_0, KAFKA_8649], ids=lambda rules: rules.name)
def test_for_all_other_instances_released_leaders_up_to_2_3_repeat_the_previous_tasks(rules):
    answer = decide(rules.leader, X, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)}).answers["old"]

    assert (X, AssignmentContent.PREVIOUS) == (answer.version, answer.content)


@ALL
def test_an_upgraded_follower_that_gets_version_x_supporting_x_downgrades_to_x_in_memory(rules):
    member, _ = upgraded(rules).on_assignment(ReceivedVersions(X, X))

    assert (X, MemberState.DOWNGRADED) == (member.version_to_send(), member.state)


@ALL
def test_a_downgraded_follower_forces_an_immediate_second_rebalance(rules):
    _, actions = upgraded(rules).on_assignment(ReceivedVersions(X, X))

    assert Action.REJOIN in actions


@ALL
def test_a_restart_forgets_the_downgrade_because_it_is_in_memory_only(rules):
    assert Y == MemberVersion.initial(upgraded(rules, used=X).rules, Y).version_to_send()


@ALL
def test_as_long_as_one_old_subscription_is_there_the_leader_before_its_upgrade_answers_x(rules):
    decision = decide(rules.leader, X, {"old": MemberVersions(X, X), "lowered": MemberVersions(X, Y)})

    assert {(X, X)} == {(answer.version, answer.supported_version) for answer in decision.answers.values()}


@pytest.mark.parametrize(
    ("rules", "supported"),
    [(KIP_268, Y), (KAFKA_2_0, Y), (KAFKA_8649, X), (CURRENT, X)],
    ids=lambda value: str(value)[:20],
)
def test_as_long_as_one_old_subscription_is_there_the_upgraded_leader_answers_x_too(rules, supported):
    # "the encoded supported version is X before the leader is upgrade and Y after the leader is upgraded": since
    # KAFKA-8649 it is what all members support, because the old member would use Y and fail.
    decision = decide(rules.leader, Y, {"old": MemberVersions(X, X), "new": MemberVersions(Y, Y)})

    assert {(X, supported)} == {(answer.version, answer.supported_version) for answer in decision.answers.values()}
    assert not decision.probing


@ALL
def test_an_upgraded_instance_always_checks_the_supported_version_and_goes_back_up_when_it_can(rules):
    member, _ = upgraded(rules, used=X).on_assignment(ReceivedVersions(X, Y, completes_upgrade=True))

    assert (Y, MemberState.LATEST) == (member.version_to_send(), member.state)


@ALL
def test_when_all_send_y_the_leader_answers_y_and_the_upgrade_is_done(rules):
    decision = decide(rules.leader, Y, {"a": MemberVersions(Y, Y), "b": MemberVersions(Y, Y)})
    member, actions = upgraded(rules).on_assignment(ReceivedVersions(Y, Y))

    assert {(Y, Y)} == {(answer.version, answer.supported_version) for answer in decision.answers.values()}
    assert (Y, (Action.ACCEPT,)) == (member.used_version, actions)


VERSION_CHANGED = {("leader", X), ("leader", Y), ("follower", X), ("follower", Y)}
LAST = {
    # the members that rejoin if the leader was bounced last: the leader (used Y or X), followers that used X or Y
    "kip-268": {("leader", X), ("leader", Y)},
    "g2": {("leader", Y), ("follower", Y)},
    "g3": VERSION_CHANGED,
    "g4a": VERSION_CHANGED,
    "g4b": VERSION_CHANGED,
    "g4c": VERSION_CHANGED,
    "today": VERSION_CHANGED,
}


@ALL
def test_if_the_leader_is_bounced_last_one_more_rebalance_finishes_the_upgrade(rules):
    decision = decide(rules.leader, Y, {"bounced last": MemberVersions(Y, Y), "lowered": MemberVersions(X, Y)})
    last = decision.answers["lowered"]
    assert (X, Y, True) == (last.version, last.supported_version, decision.completes_upgrade)
    rejoining = {
        (role, used)
        for role in ("leader", "follower")
        for used in (X, Y)
        if Action.REJOIN
        in upgraded(rules, used).on_assignment(ReceivedVersions(X, Y, completes_upgrade=role == "leader"))[1]
    }

    assert LAST[rules.name] == rejoining


@ALL
def test_the_leader_does_not_trigger_a_final_rebalance_while_an_old_member_is_left(rules):
    assert not decide(
        rules.leader, Y, {"old": MemberVersions(X, X), "lowered": MemberVersions(X, Y), "new": MemberVersions(Y, Y)}
    ).completes_upgrade


@ALL
def test_if_the_leader_is_not_bounced_last_no_additional_rebalance_is_needed(rules):
    members = {"leader": MemberVersions(Y, Y), "bounced last": MemberVersions(Y, Y)}
    answers = decide(rules.leader, Y, members).answers

    assert not [
        member
        for member, answer in answers.items()
        if Action.REJOIN in upgraded(rules).on_assignment(ReceivedVersions(answer.version, answer.supported_version))[1]
    ]


@ALL
@pytest.mark.parametrize("pinned", [1, 2])
def test_upgrade_from_sends_the_old_encoding_and_gets_a_corresponding_assignment(rules, pinned):
    member = MemberVersion.initial(rules.member, X, pinned)
    answer = decide(rules.leader, X, {"bounced": MemberVersions(pinned), "old": MemberVersions(pinned)}).answers[
        "bounced"
    ]
    after, actions = member.on_assignment(ReceivedVersions(answer.version, -1))

    assert pinned == member.version_to_send() == answer.version
    assert (member, (Action.ACCEPT,)) == (after, actions)


@ALL
@pytest.mark.parametrize("old", [1, 2])
def test_in_the_second_bounce_the_leader_sends_the_old_version_as_long_as_one_old_subscription_is_there(rules, old):
    answer = decide(
        rules.leader, X, {"bounced twice": MemberVersions(X, X), "bounced once": MemberVersions(old)}
    ).answers["bounced twice"]
    member, actions = MemberVersion.initial(rules.member, X).on_assignment(ReceivedVersions(answer.version, -1))

    assert (old, X, (Action.ACCEPT,)) == (answer.version, member.used_version, actions)


@ALL
def test_if_the_leader_receives_only_version_3_it_answers_version_3_and_the_upgrade_is_completed(rules):
    decision = decide(rules.leader, X, {"a": MemberVersions(X, X), "b": MemberVersions(X, X)})

    assert {(X, X)} == {(answer.version, answer.supported_version) for answer in decision.answers.values()}
