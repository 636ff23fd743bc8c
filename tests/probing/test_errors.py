"""Error codes: which leader answers with one, who gets it, and what a member makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing import (
    TODAY,
    Action,
    AssignmentReceived,
    AssignorError,
    Check,
    Content,
    Heard,
    MemberVersion,
    RemoteProtocolError,
    RuleSet,
    decide,
)
from probing.rules import BY_NAME, G0, G1, G1F, G4A, G4B, G4C, KAFKA_2_0, KAFKA_8649, KIP_268

GROUP = {"old": Heard(4, 4), "new": Heard(11, 11)}


def named(value):
    """Sets and rule sets make test names that differ from process to process."""
    return (
        value.name if isinstance(value, RuleSet) else "-".join(sorted(value)) if isinstance(value, set) else str(value)
    )


ALL = pytest.mark.parametrize("rules", BY_NAME.values(), ids=named)
found = st.sets(st.sampled_from(Check))


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
        (TODAY, 11, 1),
    ],
    ids=named,
)
def test_a_missing_topic_is_answered_with_code_1_since_2_1(rules, latest, expected):
    decision = decide(rules.leader, latest, {"a": Heard(2), "b": Heard(2)}, {Check.TOPICS})

    assert {expected} == codes(decision)


@pytest.mark.parametrize(
    ("rules", "latest", "expected"),
    [(KAFKA_8649, 4, 0), (G4B, 8, 0), (G4C, 8, 0), (G4C, 9, 4), (TODAY, 11, 4)],
    ids=named,
)
def test_the_wish_to_end_is_passed_on_since_2_8(rules, latest, expected):
    assert {expected} == codes(decide(rules.leader, latest, {"a": Heard(4, 4)}, {Check.SHUTDOWN}))


@pytest.mark.parametrize(("rules", "expected"), [(G4C, [3, 4, 1]), (TODAY, [4, 1, 3])], ids=named)
def test_since_3_8_versions_are_looked_at_last(rules, expected):
    mixed = {"old": Heard(2), "new": Heard(12, 12)}
    fine = {"old": Heard(2), "new": Heard(11, 11)}
    order = [
        codes(decide(rules.leader, 11, mixed, {Check.TOPICS, Check.SHUTDOWN})),
        codes(decide(rules.leader, 11, fine, {Check.TOPICS, Check.SHUTDOWN})),
        codes(decide(rules.leader, 11, fine, {Check.TOPICS})),
        codes(decide(rules.leader, 11, mixed, {Check.TOPICS})),
        codes(decide(rules.leader, 11, mixed)),
    ]
    first = {3: expected.index(3), 4: expected.index(4), 1: expected.index(1)}

    assert [{min({3, 4, 1}, key=first.get)}, {4}, {1}, {min({3, 1}, key=first.get)}, {3}] == order


@pytest.mark.parametrize("rules", [KAFKA_2_0, KAFKA_8649, G4A, G4B], ids=named)
def test_before_2_7_a_leader_dies_of_the_versions_before_it_looks_at_topics(rules):
    with pytest.raises(RemoteProtocolError, match="above 4 and another one below 3"):
        decide(rules.leader, 4, {"old": Heard(2), "new": Heard(5, 5)}, {Check.TOPICS})


@pytest.mark.parametrize("rules", [KAFKA_8649, G4A, G4B, G4C, TODAY], ids=named)
def test_l1_an_error_is_in_the_leaders_own_latest_version_which_others_may_not_know(rules):
    latest = 11 if rules is not KAFKA_8649 else 4
    answers = decide(
        rules.leader, latest, {"old": Heard(3, 3), "leader": Heard(latest, latest)}, {Check.TOPICS}
    ).answers

    assert {(latest, latest, Content.ERROR)} == {(a.version, a.supported, a.content) for a in answers.values()}


@pytest.mark.parametrize(
    ("rules", "told"),
    [(KAFKA_2_0, {"old"}), (KAFKA_8649, {"old"}), (G4A, {"old", "new"}), (TODAY, {"old", "new"})],
    ids=named,
)
def test_l3_members_from_the_future_are_not_told_up_to_2_3(rules, told):
    assert told == decide(rules.leader, 4, {"old": Heard(4, 4), "new": Heard(11, 11)}, {Check.TOPICS}).answers.keys()


@pytest.mark.parametrize(
    ("rules", "latest", "validates"),
    [(KAFKA_2_0, 4, False), (KAFKA_8649, 4, False), (G4A, 5, False), (G4A, 6, True), (G4B, 7, True), (TODAY, 11, True)],
    ids=named,
)
@pytest.mark.parametrize("liar", [Heard(3, -1), Heard(4, 3), Heard(12, 11)], ids=named)
def test_since_2_5_a_leader_dies_of_a_supported_version_below_the_used_one(rules, latest, validates, liar):
    heard = {"honest": Heard(3, 3), "old": Heard(3, 3), "liar": liar}
    if validates:
        with pytest.raises(RemoteProtocolError, match=f"sent version {liar.used} .* only {liar.supported}") as caught:
            decide(rules.leader, latest, heard)
        assert "IllegalArgumentException" == caught.value.kafka
    else:
        assert heard.keys() == decide(rules.leader, latest, heard).answers.keys()


@given(st.sampled_from(list(BY_NAME.values())), st.integers(3, 11), found)
def test_what_a_leader_does_not_look_for_changes_nothing(rules, latest, wrong):
    heard = {"a": Heard(3, 3), "b": Heard(3, 11)}
    ignored = wrong - set(rules.leader.checks)

    assert decide(rules.leader, latest, heard) == decide(rules.leader, latest, heard, ignored)


@given(st.sampled_from(list(BY_NAME.values())), st.integers(4, 11), found)
def test_an_error_answers_everybody_with_one_code_or_nobody(rules, latest, wrong):
    answers = decide(rules.leader, latest, {"a": Heard(3, 3), "b": Heard(4, 4)}, wrong).answers

    assert 1 == len({(answer.error_code, answer.content is Content.ERROR) for answer in answers.values()})


# -- what members make of it ------------------------------------------------------------------------------------------

STOPS, REJOINS, DROPS = (Action.DROP, Action.STOP), (Action.DROP, Action.REJOIN), (Action.DROP,)
FIRST_CODES = [STOPS, REJOINS, DROPS, DROPS, DROPS]
TODAYS_CODES = [
    "MissingSourceTopicException",
    DROPS,
    "TaskAssignmentException",
    (Action.DROP, Action.STOP_APPLICATION),
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
def test_what_a_member_does_about_an_error_code(name, code):
    """It comes before the versions: those beside it are the leader's own, and would be illegal."""
    expected = dict(zip([1, 2, 3, 4, 99], REACTIONS[name], strict=True))[code]
    member = MemberVersion.started(BY_NAME[name].member, 4)
    event = AssignmentReceived(11, 11, error_code=code)
    if isinstance(expected, str):
        with pytest.raises(RemoteProtocolError, match=f"the leader sent error code {code}") as caught:
            member.receive(event)
        assert expected == caught.value.kafka
        assert code == 99 or AssignorError(code).name in str(caught.value)
    else:
        assert (member, expected) == member.receive(event)


@pytest.mark.parametrize("rules", [G0, G1, G1F, KIP_268], ids=named)
def test_who_knows_no_error_codes_looks_at_the_versions_only(rules):
    member = MemberVersion.started(rules.member, 2)

    assert member.receive(AssignmentReceived(2, -1)) == member.receive(AssignmentReceived(2, -1, error_code=1))


@ALL
def test_a_reaction_throws_or_drops(rules):
    for reaction in [*rules.member.errors.values(), *filter(None, [rules.member.other_error])]:
        assert bool(reaction.throws) != (Action.DROP in reaction.actions)
