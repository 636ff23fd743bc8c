"""The tables themselves: complete, closed, and what falls outside of them leaves everything as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing import (
    TODAY,
    Action,
    AssignmentReceived,
    Content,
    Heard,
    LocalProtocolError,
    MemberState,
    MemberVersion,
    RemoteProtocolError,
    Verdict,
    decide,
    verdict,
)
from probing.diagram import mermaid
from probing.rules import BY_NAME, G0, G1, G1F, G4A, G4B, G4C, KAFKA_2_0, KAFKA_8649, KIP_268

SINCE_2_4 = [G4A, G4B, G4C, TODAY]

ALL = pytest.mark.parametrize("rules", BY_NAME.values(), ids=str)
versions = st.integers(-1, 12)


def test_the_rule_sets_have_different_names_and_sources():
    assert ["g0", "g1", "g1f", "kip-268", "g2", "g3", "g4a", "g4b", "g4c", "today"] == list(BY_NAME)
    assert len(BY_NAME) == len({rules.source for rules in BY_NAME.values()})


@ALL
def test_every_reaction_takes_or_drops_the_assignment(rules):
    for _, actions in rules.member.transitions.values():
        assert 1 == len({Action.TAKE, Action.DROP} & set(actions))


@ALL
def test_a_changed_version_leads_to_its_state(rules):
    for (before, word), (after, _) in rules.member.transitions.items():
        expected = {
            Verdict.OLD: before,
            Verdict.SAME: before,
            Verdict.ABOVE: before,
            Verdict.LOWER: MemberState.LOWERED,
            Verdict.BEHIND: before,
            Verdict.HIGHER: MemberState.LOWERED,
            Verdict.HIGHEST: MemberState.LATEST,
            Verdict.BEYOND: MemberState.LATEST if rules is KIP_268 else MemberState.OVERSHOT,
        }
        assert expected[word] is after


@pytest.mark.parametrize(
    ("rules", "rows"), [(G0, 3), (G1F, 3), (KIP_268, 13), (KAFKA_2_0, 13), (KAFKA_8649, 11), (TODAY, 11)]
)
def test_the_tables_have_these_many_rows(rules, rows):
    assert rows == len(rules.member.transitions)


@ALL
def test_the_diagram_has_an_arrow_for_each_row_and_each_start(rules):
    assert len(rules.member.transitions) + 2 == mermaid(rules).count("-->")


@given(
    st.sampled_from(list(BY_NAME.values())), st.integers(1, 11), st.lists(st.tuples(versions, versions, st.booleans()))
)
def test_a_member_never_sends_a_version_it_does_not_have(rules, latest, answers):
    """...whatever it is answered: an illegal answer changes nothing, and the one rule set that trusts cannot send."""
    member = MemberVersion.started(rules.member, latest)
    for answer in answers:
        try:
            after, _ = member.receive(AssignmentReceived(*answer))
        except RemoteProtocolError:
            continue
        member = after
        try:
            assert 1 <= member.version_to_send() <= latest
        except LocalProtocolError:
            assert rules is KAFKA_2_0
            assert member.used > latest
            return
    assert (member.state is MemberState.LATEST) == (member.used == latest)


@given(
    st.integers(1, 11),
    st.dictionaries(st.text(max_size=2), st.tuples(st.integers(1, 12), st.integers(0, 3)), min_size=1),
)
def test_today_a_leader_answers_everyone_what_everyone_can_read(latest, members):
    heard = {name: Heard(used, used + more if used >= 3 else -1) for name, (used, more) in members.items()}
    try:
        decision = decide(TODAY.leader, latest, heard)
    except RemoteProtocolError:
        assert latest < 4
        return

    for name, answer in decision.answers.items():
        if answer.content is not Content.ERROR:
            assert answer.version <= min(latest, heard[name].used)
            assert answer.version < 3 or answer.version <= answer.supported <= min(latest, heard[name].supported)
    assert heard.keys() == decision.answers.keys()


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_the_members_decides_nothing(names):
    heard = {"a": Heard(3, 3), "b": Heard(4, 4), "c": Heard(3, 4)}

    for rules in (KIP_268, KAFKA_2_0, KAFKA_8649, *SINCE_2_4):
        assert decide(rules.leader, 3, heard) == decide(rules.leader, 3, {name: heard[name] for name in names})


@pytest.mark.parametrize("rules", [G0, G1, G1F], ids=str)
def test_before_2_0_a_leader_dies_of_a_version_it_does_not_know(rules):
    with pytest.raises(RemoteProtocolError, match="unable to decode subscription data: version=3"):
        decide(rules.leader, 2, {"old": Heard(2), "new": Heard(3, 3)})


def test_kafka_6054_the_unfixed_releases_answer_version_1_with_version_2():
    assert [2, 1] == [decide(rules.leader, 2, {"old": Heard(1)}).answers["old"].version for rules in (G1, G1F)]


@pytest.mark.parametrize("rules", [KIP_268, KAFKA_2_0, KAFKA_8649, G4A, G4B], ids=str)
def test_a_member_from_the_future_beside_one_that_cannot_probe_kills_the_leader(rules):
    with pytest.raises(RemoteProtocolError) as caught:
        decide(rules.leader, 3, {"old": Heard(2), "new": Heard(4, 4)})

    assert "IllegalStateException" == caught.value.kafka


@pytest.mark.parametrize("rules", [G4C, TODAY], ids=str)
def test_since_2_7_a_member_from_the_future_beside_one_that_cannot_probe_gives_error_3_to_all(rules):
    answers = decide(rules.leader, 4, {"old": Heard(2), "new": Heard(5, 5)}).answers

    assert {(4, 4, Content.ERROR, 3)} == {(a.version, a.supported, a.content, a.error_code) for a in answers.values()}


def test_an_error_that_version_3_cannot_carry_kills_the_leader():
    with pytest.raises(RemoteProtocolError):
        decide(TODAY.leader, 3, {"old": Heard(2), "new": Heard(5, 5)})


def test_kafka_8649_a_member_of_2_0_believes_a_supported_version_it_does_not_have_and_dies():
    member, actions = MemberVersion.started(KAFKA_2_0.member, 3).receive(AssignmentReceived(3, 4))

    assert (Action.TAKE,) == actions
    with pytest.raises(LocalProtocolError, match="version must be between 1 and 3; was: 4"):
        member.version_to_send()


@pytest.mark.parametrize("rules", [KAFKA_8649, *SINCE_2_4], ids=str)
def test_a_supported_version_above_ours_is_refused_and_changes_nothing(rules):
    member = MemberVersion.started(rules.member, 3)

    with pytest.raises(RemoteProtocolError, match="above our latest") as caught:
        member.receive(AssignmentReceived(3, 4))

    assert "TaskAssignmentException" in str(caught.value)
    assert MemberVersion.started(rules.member, 3) == member


def test_an_assignment_that_contradicts_itself_is_the_other_sides_fault():
    with pytest.raises(RemoteProtocolError, match="claims to support only 2"):
        verdict(3, 11, AssignmentReceived(3, 2))


@pytest.mark.parametrize(
    ("rules", "kafka"), [(KAFKA_2_0, "IllegalStateException"), (KAFKA_8649, "TaskAssignmentException")], ids=str
)
def test_an_answer_above_the_version_that_was_sent_is_the_other_sides_fault(rules, kafka):
    member = MemberVersion.started(rules.member, 4).receive(AssignmentReceived(3, 3))[0]

    with pytest.raises(RemoteProtocolError, match="above the one that we sent") as caught:
        member.receive(AssignmentReceived(4, 4))
    assert kafka == caught.value.kafka


def test_before_2_0_a_member_takes_any_version_it_can_read():
    pinned = MemberVersion.started(G1F.member, 2, pinned=1)

    assert (pinned, (Action.TAKE,)) == pinned.receive(AssignmentReceived(2, -1))


def test_a_member_of_the_kips_own_rules_goes_up_as_far_as_it_can():
    """It once died of a leader that supports more than itself, although the KIP says "if possible"."""
    latest = MemberVersion.started(KIP_268.member, 4)
    lowered, _ = latest.receive(AssignmentReceived(3, 3))

    assert (latest, (Action.TAKE,)) == latest.receive(AssignmentReceived(4, 5))
    assert (latest, (Action.TAKE,)) == lowered.receive(AssignmentReceived(3, 5))


@pytest.mark.parametrize("pinned", [0, 4, 5, -1])
def test_a_member_cannot_be_pinned_to_a_version_that_can_be_probed_or_does_not_exist(pinned):
    with pytest.raises(LocalProtocolError):
        MemberVersion.started(TODAY.member, 11, pinned)


def test_a_member_pinned_to_its_latest_version_is_not_pinned():
    assert MemberState.LATEST is MemberVersion.started(G1F.member, 2, pinned=2).state
