"""Error codes: the leaders that send them, the members that get them, and their reactions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.probing import (
    CURRENT,
    Action,
    AssignmentContent,
    AssignorError,
    MemberVersion,
    MemberVersions,
    Precondition,
    ReceivedVersions,
    RemoteProtocolError,
    RuleSet,
    decide,
)
from streams_assignor.probing.rules import BY_NAME, G0, G1, G1F, G4A, G4B, G4C, KAFKA_2_0, KAFKA_8649, KIP_268

GROUP = {"old": MemberVersions(4, 4), "new": MemberVersions(11, 11)}


def named(value):
    """Sets and rule sets make test names that differ from process to process."""
    return (
        value.name if isinstance(value, RuleSet) else "-".join(sorted(value)) if isinstance(value, set) else str(value)
    )


ALL = pytest.mark.parametrize("rules", BY_NAME.values(), ids=named)
found = st.sets(st.sampled_from(Precondition))


def codes(decision):
    return {answer.error_code for answer in decision.answers.values()}


@pytest.mark.parametrize(
    ("rules", "latest", "expected"),
    [
        (G1F, 2, 0),
        (KIP_268, 4, 0),
        (KAFKA_2_0, 3, 0),  # 2.0 leaves out the tasks of a missing topic
        (KAFKA_2_0, 4, 1),
        (KAFKA_8649, 4, 1),
        (G4A, 6, 1),
        (G4B, 8, 1),
        (G4C, 11, 1),
        (CURRENT, 11, 1),
    ],
    ids=named,
)
def test_a_missing_topic_is_answered_with_code_1_since_2_1(rules, latest, expected):
    decision = decide(rules.leader, latest, {"a": MemberVersions(2), "b": MemberVersions(2)}, {Precondition.TOPICS})

    assert {expected} == codes(decision)


@pytest.mark.parametrize(
    ("rules", "latest", "expected"),
    [(KAFKA_8649, 4, 0), (G4B, 8, 0), (G4C, 8, 0), (G4C, 9, 4), (CURRENT, 11, 4)],
    ids=named,
)
def test_a_shutdown_request_is_passed_on_since_2_8(rules, latest, expected):
    assert {expected} == codes(decide(rules.leader, latest, {"a": MemberVersions(4, 4)}, {Precondition.SHUTDOWN}))


@pytest.mark.parametrize(("rules", "expected"), [(G4C, [3, 4, 1]), (CURRENT, [4, 1, 3])], ids=named)
def test_since_3_8_versions_are_checked_last(rules, expected):
    mixed = {"old": MemberVersions(2), "new": MemberVersions(12, 12)}
    fine = {"old": MemberVersions(2), "new": MemberVersions(11, 11)}
    order = [
        codes(decide(rules.leader, 11, mixed, {Precondition.TOPICS, Precondition.SHUTDOWN})),
        codes(decide(rules.leader, 11, fine, {Precondition.TOPICS, Precondition.SHUTDOWN})),
        codes(decide(rules.leader, 11, fine, {Precondition.TOPICS})),
        codes(decide(rules.leader, 11, mixed, {Precondition.TOPICS})),
        codes(decide(rules.leader, 11, mixed)),
    ]
    first = {3: expected.index(3), 4: expected.index(4), 1: expected.index(1)}

    assert [{min({3, 4, 1}, key=first.get)}, {4}, {1}, {min({3, 1}, key=first.get)}, {3}] == order


@pytest.mark.parametrize("rules", [KAFKA_2_0, KAFKA_8649, G4A, G4B], ids=named)
def test_before_2_7_a_leader_fails_on_the_versions_before_it_checks_topics(rules):
    with pytest.raises(RemoteProtocolError, match="above 4 and another one below 3"):
        decide(rules.leader, 4, {"old": MemberVersions(2), "new": MemberVersions(5, 5)}, {Precondition.TOPICS})


@pytest.mark.parametrize("rules", [KAFKA_8649, G4A, G4B, G4C, CURRENT], ids=named)
def test_l1_an_error_is_in_the_leaders_own_latest_version_which_others_may_not_know(rules):
    latest = 11 if rules is not KAFKA_8649 else 4
    answers = decide(
        rules.leader,
        latest,
        {"old": MemberVersions(3, 3), "leader": MemberVersions(latest, latest)},
        {Precondition.TOPICS},
    ).answers

    assert {(latest, latest, AssignmentContent.ERROR)} == {
        (a.version, a.supported_version, a.content) for a in answers.values()
    }


@pytest.mark.parametrize(
    ("rules", "answered"),
    [(KAFKA_2_0, {"old"}), (KAFKA_8649, {"old"}), (G4A, {"old", "new"}), (CURRENT, {"old", "new"})],
    ids=named,
)
def test_l3_future_members_get_no_error_code_up_to_2_3(rules, answered):
    assert (
        answered
        == decide(
            rules.leader, 4, {"old": MemberVersions(4, 4), "new": MemberVersions(11, 11)}, {Precondition.TOPICS}
        ).answers.keys()
    )


@pytest.mark.parametrize(
    ("rules", "latest", "validates"),
    [
        (KAFKA_2_0, 4, False),
        (KAFKA_8649, 4, False),
        (G4A, 5, False),
        (G4A, 6, True),
        (G4B, 7, True),
        (CURRENT, 11, True),
    ],
    ids=named,
)
@pytest.mark.parametrize("invalid", [MemberVersions(3, -1), MemberVersions(4, 3), MemberVersions(12, 11)], ids=named)
def test_since_2_5_a_leader_fails_on_a_supported_version_below_the_used_one(rules, latest, validates, invalid):
    members = {"valid": MemberVersions(3, 3), "old": MemberVersions(3, 3), "invalid": invalid}
    if validates:
        with pytest.raises(
            RemoteProtocolError, match=f"sent version {invalid.used_version} .* only {invalid.supported_version}"
        ) as caught:
            decide(rules.leader, latest, members)
        assert "IllegalArgumentException" == caught.value.java_exception
    else:
        assert members.keys() == decide(rules.leader, latest, members).answers.keys()


@given(st.sampled_from(list(BY_NAME.values())), st.integers(3, 11), found)
def test_an_unchecked_precondition_changes_nothing(rules, latest, wrong):
    members = {"a": MemberVersions(3, 3), "b": MemberVersions(3, 11)}
    ignored = wrong - set(rules.leader.preconditions)

    assert decide(rules.leader, latest, members) == decide(rules.leader, latest, members, ignored)


@given(st.sampled_from(list(BY_NAME.values())), st.integers(4, 11), found)
def test_an_error_gives_all_members_the_same_code(rules, latest, wrong):
    answers = decide(rules.leader, latest, {"a": MemberVersions(3, 3), "b": MemberVersions(4, 4)}, wrong).answers

    assert 1 == len({(answer.error_code, answer.content is AssignmentContent.ERROR) for answer in answers.values()})


# -- reactions of members ---------------------------------------------------------------------------------------------

STOPS, REJOINS, DROPS = (Action.DISCARD, Action.SHUTDOWN), (Action.DISCARD, Action.REJOIN), (Action.DISCARD,)
FIRST_CODES = [STOPS, REJOINS, DROPS, DROPS, DROPS]
TODAYS_CODES = [
    "MissingSourceTopicException",
    DROPS,
    "TaskAssignmentException",
    (Action.DISCARD, Action.SHUTDOWN_APPLICATION),
    "TaskAssignmentException",
]
REACTIONS = {
    "g2": FIRST_CODES,
    "g3": FIRST_CODES,
    "g4a": FIRST_CODES,
    "g4b": [STOPS, DROPS, DROPS, DROPS, DROPS],
    "g4c": TODAYS_CODES,
    "today": TODAYS_CODES,
}


@pytest.mark.parametrize("name", REACTIONS)
@pytest.mark.parametrize("code", [1, 2, 3, 4, 99])
def test_a_member_reacts_to_an_error_code(name, code):
    """It precedes the versions: those of the same answer are the leader's own, and would be illegal."""
    expected = dict(zip([1, 2, 3, 4, 99], REACTIONS[name], strict=True))[code]
    member = MemberVersion.initial(BY_NAME[name].member, 4)
    event = ReceivedVersions(11, 11, error_code=code)
    if isinstance(expected, str):
        with pytest.raises(RemoteProtocolError, match=f"the leader sent error code {code}") as caught:
            member.on_assignment(event)
        assert expected == caught.value.java_exception
        assert code == 99 or AssignorError(code).name in str(caught.value)
    else:
        assert (member, expected) == member.on_assignment(event)


@pytest.mark.parametrize("rules", [G0, G1, G1F, KIP_268], ids=named)
def test_without_error_codes_a_member_only_compares_versions(rules):
    member = MemberVersion.initial(rules.member, 2)

    assert member.on_assignment(ReceivedVersions(2, -1)) == member.on_assignment(ReceivedVersions(2, -1, error_code=1))


@ALL
def test_a_reaction_throws_or_discards(rules):
    for reaction in [*rules.member.error_reactions.values(), *filter(None, [rules.member.default_error_reaction])]:
        assert bool(reaction.throws) != (Action.DISCARD in reaction.actions)
