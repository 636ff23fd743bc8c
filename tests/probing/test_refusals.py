"""A member or a leader refuses with the exception that Kafka throws there, and a message with the versions."""

import pytest

from streams_assignor.probing import (
    CURRENT,
    KIP_268,
    Action,
    AssignmentContent,
    AssignorError,
    LocalProtocolError,
    MemberVersion,
    MemberVersions,
    Precondition,
    ReceivedVersions,
    RemoteProtocolError,
    decide,
)
from streams_assignor.probing._state_diagram import mermaid
from streams_assignor.probing.leader import VersionAnswer, VersionDecision, assignment_error
from streams_assignor.probing.rules import BY_NAME, G1, KAFKA_2_0, KAFKA_8649

MIXED = {"old": MemberVersions(3, 3), "new": MemberVersions(4, 4)}


@pytest.mark.parametrize("pinned", [0, 3, 5, 12])
def test_upgrade_from_pins_versions_1_and_2_only(pinned):
    with pytest.raises(LocalProtocolError, match=f"cannot be pinned to version {pinned}") as caught:
        MemberVersion.initial(CURRENT.member, 11, pinned)

    assert "IllegalArgumentException" == caught.value.java_exception


def test_a_pinned_member_supports_more_than_it_sends():
    member = MemberVersion.initial(CURRENT.member, 11, 2)

    assert (11, 2) == (member.supported_version, member.used_version)


def test_a_version_that_is_not_supported_cannot_be_sent():
    """KAFKA-8649: such a member follows a leader that supports more than it does."""
    member, _ = MemberVersion.initial(KAFKA_2_0.member, 3).on_assignment(ReceivedVersions(3, 4))
    with pytest.raises(LocalProtocolError, match="version must be between 1 and 3; was: 4") as caught:
        member.version_to_send()

    assert "IllegalArgumentException" == caught.value.java_exception


@pytest.mark.parametrize(
    ("rules", "event", "expected"),
    [
        (KAFKA_2_0, ReceivedVersions(5, 5), "IllegalStateException"),
        (KAFKA_8649, ReceivedVersions(5, 5), "TaskAssignmentException"),
        (KAFKA_8649, ReceivedVersions(4, 5), "TaskAssignmentException"),
    ],
)
def test_an_assignment_that_breaks_the_rules_is_refused_with_its_versions(rules, event, expected):
    with pytest.raises(RemoteProtocolError) as caught:
        MemberVersion.initial(rules.member, 4).on_assignment(event)

    assert expected == caught.value.java_exception
    versions = f"got version {event.version} (supported {event.supported_version})"
    assert caught.value.args[0].startswith(f"sent version 4 (latest 4), {versions}: ")


def test_an_assignment_that_supports_less_than_it_uses_is_refused():
    message = "got an assignment of version 4 that claims to support only 3"
    with pytest.raises(RemoteProtocolError, match=message) as caught:
        MemberVersion.initial(CURRENT.member, 4).on_assignment(ReceivedVersions(4, 3))

    assert "TaskAssignmentException" == caught.value.java_exception


def test_a_code_that_kafka_does_not_have_is_named_by_its_number():
    with pytest.raises(RemoteProtocolError) as caught:
        MemberVersion.initial(CURRENT.member, 11).on_assignment(ReceivedVersions(11, 11, error_code=99))

    assert "the leader sent error code 99" == caught.value.args[0]


def test_a_leader_before_kip_268_cannot_decode_a_future_version():
    with pytest.raises(RemoteProtocolError, match="unable to decode subscription data: version=4") as caught:
        decide(G1.leader, 3, MIXED)

    assert "TaskAssignmentException" == caught.value.java_exception


def test_a_decision_names_the_members_from_the_future():
    assert frozenset({"new"}) == decide(KIP_268.leader, 3, MIXED).future_members
    failed = decide(
        CURRENT.leader, 11, {"a": MemberVersions(11, 11), "b": MemberVersions(12, 12)}, {Precondition.TOPICS}
    )
    assert frozenset({"b"}) == failed.future_members


@pytest.mark.parametrize("rules", BY_NAME.values(), ids=lambda rules: rules.name)
def test_without_a_future_member_the_content_is_regular(rules):
    answers = decide(rules.leader, 4, MIXED).answers

    assert {"REGULAR"} == {answer.content.name for answer in answers.values()}


def test_the_default_of_an_answer_is_regular():
    answer = VersionAnswer(3, 3)
    decision = VersionDecision({"a": answer})

    assert (AssignmentContent.REGULAR, 0) == (answer.content, answer.error_code)
    assert (frozenset(), False, False) == (decision.future_members, decision.completes_upgrade, decision.probing)
    assert -1 == MemberVersions(2).supported_version


def test_an_upgrade_is_complete_if_no_lower_version_is_in_use():
    latest = MemberVersions(11, 11)

    assert not decide(CURRENT.leader, 11, {"a": latest, "b": latest}).completes_upgrade
    assert decide(CURRENT.leader, 11, {"a": latest, "b": MemberVersions(10, 11)}).completes_upgrade


def test_a_leader_that_could_not_assign_answers_with_its_own_version_and_the_code():
    answers = assignment_error(CURRENT.leader, 11, ["a"]).answers

    assert (11, 11, AssignorError.ASSIGNMENT_ERROR) == (
        answers["a"].version,
        answers["a"].supported_version,
        answers["a"].error_code,
    )


@pytest.mark.parametrize("rules", BY_NAME.values(), ids=lambda rules: rules.name)
def test_a_diagram_separates_actions_by_commas_and_words_by_blanks(rules):
    lines = mermaid(rules).splitlines()[3:]
    words = {action: action.name.lower().replace("_", " ") for action in Action}

    assert [line.partition(" / ")[2].split(", ") for line in lines] == [
        [words[action] for action in actions] for _, actions in rules.member.transitions.values()
    ]
