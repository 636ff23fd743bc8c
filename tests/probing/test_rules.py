"""The transition tables: complete and closed, and a missing pair changes no state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.probing import (
    CURRENT,
    Action,
    AssignmentContent,
    LocalProtocolError,
    MemberState,
    MemberVersion,
    MemberVersions,
    ReceivedVersions,
    RemoteProtocolError,
    VersionComparison,
    compare_versions,
    decide,
)
from streams_assignor.probing._state_diagram import mermaid
from streams_assignor.probing.rules import (
    BY_NAME,
    G0,
    G1,
    G1F,
    G4A,
    G4B,
    G4C,
    KAFKA_2_0,
    KAFKA_8649,
    KIP_268,
    LeaderRules,
    MemberRules,
    VersionSource,
)

SINCE_2_4 = [G4A, G4B, G4C, CURRENT]

ALL = pytest.mark.parametrize("rules", BY_NAME.values(), ids=str)
versions = st.integers(-1, 12)


def test_the_rule_sets_have_different_names_and_sources():
    assert ["g0", "g1", "g1f", "kip-268", "g2", "g3", "g4a", "g4b", "g4c", "today"] == list(BY_NAME)
    assert len(BY_NAME) == len({rules.source for rules in BY_NAME.values()})


def test_a_rule_set_names_the_releases_that_have_it():
    assert {
        "g0": "0.10.0.0 to 0.10.0.1",
        "g1": "0.10.1.0 to 0.10.2.1, 0.11.0.0 to .2, 1.0.0 to .1, 1.1.0",
        "g1f": "0.10.2.2, 0.11.0.3, 1.0.2, 1.1.1",
        "kip-268": "the text of KIP-268",
        "g2": "2.0.0 to 2.2.1 and 2.3.0",
        "g3": "2.2.2 and 2.3.1",
        "g4a": "2.4 and 2.5",
        "g4b": "2.6",
        "g4c": "2.7 to 3.7",
        "today": "3.8 and later, and members of this product",
    } == {name: rules.source.partition(": ")[0] for name, rules in BY_NAME.items()}


@pytest.mark.parametrize(
    ("half", "rule", "having"),
    [
        ("leader", "decodes_future", "kip-268 g2 g3 g4a g4b g4c today"),
        ("leader", "previous_tasks_per_process", "g2"),
        ("leader", "answers_errors", "g4c today"),
        ("leader", "answers_future_members", "g0 g1 g1f kip-268 g4a g4b g4c today"),
        ("member", "schedules_follow_up", "g4b g4c today"),
    ],
)
def test_a_rule_is_true_for_these_rule_sets(half, rule, having):
    assert {name: name in having.split() for name in BY_NAME} == {
        name: getattr(getattr(rules, half), rule) for name, rules in BY_NAME.items()
    }


@pytest.mark.parametrize(("half", "first"), [(LeaderRules, VersionSource.LOWEST_USED), (MemberRules, {})])
def test_rules_have_too_many_fields_to_be_given_without_their_names(half, first):
    with pytest.raises(TypeError, match="positional"):
        half(first)


@ALL
def test_every_reaction_accepts_or_discards_the_assignment(rules):
    for _, actions in rules.member.transitions.values():
        assert 1 == len({Action.ACCEPT, Action.DISCARD} & set(actions))


@ALL
def test_a_changed_version_leads_to_its_state(rules):
    for (before, word), (after, _) in rules.member.transitions.items():
        expected = {
            VersionComparison.OLD: before,
            VersionComparison.SAME: before,
            VersionComparison.ABOVE: before,
            VersionComparison.LOWER: MemberState.DOWNGRADED,
            VersionComparison.BEHIND: before,
            VersionComparison.HIGHER: MemberState.DOWNGRADED,
            VersionComparison.HIGHEST: MemberState.LATEST,
            VersionComparison.BEYOND: MemberState.LATEST if rules is KIP_268 else MemberState.OVERSHOT,
        }
        assert expected[word] is after


@pytest.mark.parametrize(
    ("rules", "rows"), [(G0, 3), (G1F, 3), (KIP_268, 13), (KAFKA_2_0, 13), (KAFKA_8649, 11), (CURRENT, 11)]
)
def test_the_tables_have_this_number_of_rows(rules, rows):
    assert rows == len(rules.member.transitions)


@ALL
def test_the_diagram_has_an_arrow_for_each_row_and_each_start(rules):
    assert len(rules.member.transitions) + 2 == mermaid(rules).count("-->")


@given(
    st.sampled_from(list(BY_NAME.values())), st.integers(1, 11), st.lists(st.tuples(versions, versions, st.booleans()))
)
def test_a_member_never_sends_a_version_it_does_not_have(rules, latest, answers):
    """For any answers: an illegal one changes nothing, and the rule set without a check cannot send afterwards."""
    member = MemberVersion.initial(rules.member, latest)
    for answer in answers:
        try:
            after, _ = member.on_assignment(ReceivedVersions(*answer))
        except RemoteProtocolError:
            continue
        member = after
        try:
            assert 1 <= member.version_to_send() <= latest
        except LocalProtocolError:
            assert rules is KAFKA_2_0
            assert member.used_version > latest
            return
    assert (member.state is MemberState.LATEST) == (member.used_version == latest)


@given(
    st.integers(1, 11),
    st.dictionaries(st.text(max_size=2), st.tuples(st.integers(1, 12), st.integers(0, 3)), min_size=1),
)
def test_today_a_leader_answers_versions_that_all_members_can_read(latest, members):
    versions = {name: MemberVersions(used, used + more if used >= 3 else -1) for name, (used, more) in members.items()}
    try:
        decision = decide(CURRENT.leader, latest, versions)
    except RemoteProtocolError:
        assert latest < 4
        return

    for name, answer in decision.answers.items():
        if answer.content is not AssignmentContent.ERROR:
            assert answer.version <= min(latest, versions[name].used_version)
            assert answer.version < 3 or answer.version <= answer.supported_version <= min(
                latest, versions[name].supported_version
            )
    assert versions.keys() == decision.answers.keys()


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_the_members_decides_nothing(names):
    versions = {"a": MemberVersions(3, 3), "b": MemberVersions(4, 4), "c": MemberVersions(3, 4)}

    for rules in (KIP_268, KAFKA_2_0, KAFKA_8649, *SINCE_2_4):
        assert decide(rules.leader, 3, versions) == decide(rules.leader, 3, {name: versions[name] for name in names})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (ReceivedVersions(2, -1), VersionComparison.OLD),
        (ReceivedVersions(3, 3), VersionComparison.LOWER),
        (ReceivedVersions(3, 4), VersionComparison.BEHIND),
        (ReceivedVersions(3, 5), VersionComparison.HIGHER),
        (ReceivedVersions(3, 6), VersionComparison.HIGHEST),
        (ReceivedVersions(3, 7), VersionComparison.BEYOND),
        (ReceivedVersions(4, 4), VersionComparison.SAME),
        (ReceivedVersions(4, 5), VersionComparison.HIGHER),
        (ReceivedVersions(4, 6), VersionComparison.HIGHEST),
        (ReceivedVersions(4, 7), VersionComparison.BEYOND),
        (ReceivedVersions(5, 5), VersionComparison.ABOVE),
    ],
)
def test_an_assignment_is_compared_with_the_used_and_the_supported_version(event, expected):
    assert expected is compare_versions(4, 6, event)


@pytest.mark.parametrize("rules", [G0, G1, G1F], ids=str)
def test_before_2_0_a_leader_fails_on_an_unknown_version(rules):
    with pytest.raises(RemoteProtocolError, match="unable to decode subscription data: version=3"):
        decide(rules.leader, 2, {"old": MemberVersions(2), "new": MemberVersions(3, 3)})


def test_kafka_6054_the_unfixed_releases_answer_version_1_with_version_2():
    assert [2, 1] == [decide(rules.leader, 2, {"old": MemberVersions(1)}).answers["old"].version for rules in (G1, G1F)]


@pytest.mark.parametrize("rules", [KAFKA_2_0, KAFKA_8649, G4A, G4B], ids=str)
def test_a_future_member_beside_one_that_cannot_probe_makes_the_leader_fail(rules):
    with pytest.raises(RemoteProtocolError) as caught:
        decide(rules.leader, 3, {"old": MemberVersions(2), "new": MemberVersions(4, 4)})

    assert "IllegalStateException" == caught.value.java_exception


@pytest.mark.parametrize("rules", [G4C, CURRENT], ids=str)
def test_since_2_7_a_future_member_beside_one_that_cannot_probe_gives_error_3_to_all(rules):
    answers = decide(rules.leader, 4, {"old": MemberVersions(2), "new": MemberVersions(5, 5)}).answers

    assert {(4, 4, AssignmentContent.ERROR, 3)} == {
        (a.version, a.supported_version, a.content, a.error_code) for a in answers.values()
    }


def test_the_leader_fails_on_an_error_that_version_3_cannot_carry():
    with pytest.raises(RemoteProtocolError):
        decide(CURRENT.leader, 3, {"old": MemberVersions(2), "new": MemberVersions(5, 5)})


def test_kafka_8649_a_member_of_2_0_uses_an_unsupported_version_and_fails():
    member, actions = MemberVersion.initial(KAFKA_2_0.member, 3).on_assignment(ReceivedVersions(3, 4))

    assert (Action.ACCEPT,) == actions
    with pytest.raises(LocalProtocolError, match="version must be between 1 and 3; was: 4"):
        member.version_to_send()


@pytest.mark.parametrize("rules", [KAFKA_8649, *SINCE_2_4], ids=str)
def test_a_supported_version_above_ours_is_refused_and_changes_nothing(rules):
    member = MemberVersion.initial(rules.member, 3)

    with pytest.raises(RemoteProtocolError, match="above our latest") as caught:
        member.on_assignment(ReceivedVersions(3, 4))

    assert "TaskAssignmentException" in str(caught.value)
    assert MemberVersion.initial(rules.member, 3) == member


def test_a_contradictory_assignment_is_a_remote_protocol_error():
    with pytest.raises(RemoteProtocolError, match="claims to support only 2"):
        compare_versions(3, 11, ReceivedVersions(3, 2))


@pytest.mark.parametrize(
    ("rules", "kafka"), [(KAFKA_2_0, "IllegalStateException"), (KAFKA_8649, "TaskAssignmentException")], ids=str
)
def test_an_assignment_above_the_used_version_is_a_remote_protocol_error(rules, kafka):
    member = MemberVersion.initial(rules.member, 4).on_assignment(ReceivedVersions(3, 3))[0]

    with pytest.raises(RemoteProtocolError, match="above the one that we sent") as caught:
        member.on_assignment(ReceivedVersions(4, 4))
    assert kafka == caught.value.java_exception


def test_before_2_0_a_member_accepts_any_version_it_can_read():
    pinned = MemberVersion.initial(G1F.member, 2, pinned_version=1)

    assert (pinned, (Action.ACCEPT,)) == pinned.on_assignment(ReceivedVersions(2, -1))


def test_a_member_with_the_rules_of_the_kip_upgrades_as_far_as_possible():
    """A leader with a higher supported version once made it fail, although the KIP has "if possible"."""
    latest = MemberVersion.initial(KIP_268.member, 4)
    lowered, _ = latest.on_assignment(ReceivedVersions(3, 3))

    assert (latest, (Action.ACCEPT,)) == latest.on_assignment(ReceivedVersions(4, 5))
    assert (latest, (Action.ACCEPT,)) == lowered.on_assignment(ReceivedVersions(3, 5))


@pytest.mark.parametrize("pinned", [0, 4, 5, -1])
def test_a_member_cannot_be_pinned_to_a_version_that_can_be_probed_or_does_not_exist(pinned):
    with pytest.raises(LocalProtocolError):
        MemberVersion.initial(CURRENT.member, 11, pinned)


def test_a_member_pinned_to_its_latest_version_is_not_pinned():
    assert MemberState.LATEST is MemberVersion.initial(G1F.member, 2, pinned_version=2).state
