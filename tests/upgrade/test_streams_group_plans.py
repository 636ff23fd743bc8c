"""Plans for streams groups (KIP-1071): nothing of the classic protocol is said of them."""

import itertools
import re

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.live_group import LiveGroup, LiveMember
from streams_assignor.upgrade.application.setting_files import parse_settings
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.hazards import compare_topologies, parse_subtopologies
from streams_assignor.upgrade.releases import RELEASES
from streams_assignor.upgrade.verdict import Verdict

OF_CLASSIC = re.compile(
    r"leader|leads|assignor|prob(e|ing)\b|version probing|upgrade\.from(?!, whatever)|metadata version|any member"
    r"|subscri|JoinGroup|SyncGroup|eager|cooperative|generation",
    re.IGNORECASE,
)
BOTH_PROTOCOLS = re.compile(r"whatever upgrade\.from is")
"""Said of the files of stores, which do not depend on it."""
NAMES = ["4.1.0", "4.2.0", "4.2.2", "4.3.1", "4.4.0"]
TEXT = "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [{}])\n      --> none\n"


def live(kind, *names):
    members = (LiveMember("a", tuple(RELEASES[name] for name in names), " or ".join(names)),)
    return LiveGroup(name="billing", type=kind, state="Stable", members=members)


def settings(text):
    return PlannedApplication(settings=parse_settings(text, ".properties"), settings_source="a.properties")


SHOWN_BY = {
    "settings": lambda _origin: settings("group.protocol=streams"),
    "group": lambda origin: PlannedApplication(group=live("streams", origin)),
}


def texts(plan):
    plain = plan.as_json()
    steps = [step[key] for step in plain["steps"] for key in ("do", "why", "if_skipped")]
    backs = [step["way_back"]["how"] for step in plain["steps"]]
    hazards = [hazard[key] for hazard in plain["hazards"] for key in ("applies_to", "symptom", "remedy")]
    return [*steps, *backs, *hazards, *plain["warnings"], *plain["notes"], *plain["checked"], *plan.reasons]


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("shown_by", SHOWN_BY)
@pytest.mark.parametrize(("origin", "target"), [*itertools.permutations(NAMES, 2)])
def test_no_text_is_about_the_classic_protocol(origin, target, shown_by, offline):
    """Plans said "both use metadata version 11, so any leader reads any member" of a group without a leader."""
    plan = plan_for(SHOWN_BY[shown_by](origin), origin, target, offline=offline)
    said = [BOTH_PROTOCOLS.sub("", text) for text in texts(plan)]

    assert [] == [text for text in said if OF_CLASSIC.search(text)]
    assert "topology-updates" in [judged.hazard.name for judged in plan.judged]


def test_the_words_are_found_in_a_plan_of_a_classic_group():
    plan = plan_for(settings("group.protocol=classic"), "4.2.2", "4.4.0")

    assert any(OF_CLASSIC.search(text) for text in texts(plan))
    assert "topology-updates" not in [judged.hazard.name for judged in plan.judged]


@pytest.mark.parametrize(
    ("kind", "protocol", "is_contradicted"),
    [
        ("classic", "streams", True),
        ("streams", "classic", True),
        ("streams", "streams", False),
        ("classic", "classic", False),
        ("streams", "${X}", False),
    ],
)
def test_the_type_of_a_live_group_counts_as_much_as_the_settings(kind, protocol, is_contradicted):
    known = evolve(settings(f"group.protocol={protocol}"), group=live(kind, "4.2.2"))
    blocked = plan_for(known, "4.2.2", "4.4.0").blocked

    text = f"group billing is a {kind} group, and the settings have group.protocol={protocol}: "
    assert is_contradicted == blocked.startswith(text)


def test_an_empty_group_contradicts_no_settings():
    known = evolve(settings("group.protocol=streams"), group=evolve(live("classic", "4.2.2"), members=()))

    assert "" == plan_for(known, "4.2.2", "4.4.0", offline=True).blocked


def test_a_release_that_changes_the_topology_stops_a_streams_group():
    """A group of the classic protocol only has to be stopped: "stop the group (--offline)" was said of both."""
    plan = plan_for(settings("group.protocol=streams"), "4.3.1", "4.4.0")
    (found,) = (judged.hazard for judged in plan.judged if judged.hazard.name == "shared-store-builders")

    assert "a streams group accepts no other topology" in found.symptom
    assert "brokers up to 4.4.0; later ones: not known" in found.symptom
    assert "plan --to-protocol streams --topologies OLD NEW" in found.remedy


def test_topologies_that_were_compared_are_no_question():
    same = compare_topologies(*(parse_subtopologies(TEXT.format("a"), "a"),) * 2)
    plan = plan_for(evolve(settings("group.protocol=streams"), change=same), "4.3.1", "4.4.0")

    assert "topology-updates" not in [judged.hazard.name for judged in plan.judged]
    assert plan.is_safe


def test_an_upgrade_that_has_begun_asks_for_no_setting():
    group = evolve(
        live("streams", "4.2.2"),
        members=(LiveMember("a", (RELEASES["4.2.2"],), "4.2.2"), LiveMember("b", (RELEASES["4.4.0"],), "4.4.0")),
    )
    notes = plan_for(PlannedApplication(group=group), "4.2.2", "4.4.0").advice.notes

    assert ["group billing is in the middle of an upgrade; no longer on 4.2.2: b"] == [
        note for note in notes if "in the middle" in note
    ]


def test_no_roll_leads_a_streams_group_to_a_release_without_the_protocol():
    """The plan said "safe for the metadata": brokers keep members of the classic protocol out of a streams group."""
    planned = [plan_for(SHOWN_BY[shown_by]("4.2.2"), "4.2.2", "4.0.2") for shown_by in SHOWN_BY]

    assert ["group.protocol=streams, which 4.0.2 does not have"] * 2 == [
        each.blocked.partition(":")[0] for each in planned
    ]


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize(
    "known", [settings("group.protocol=streams"), PlannedApplication(group=live("streams", "4.2.2"))]
)
def test_steps_to_a_release_without_the_protocol_lead_through_an_empty_group(known, offline):
    """They were "bounce every member", below "unsafe"; and a bounce to 4.2.2 was the way back of an offline plan."""
    plan = plan_for(known, "4.2.2", "4.0.2", offline=offline)
    stop, start = plan.advice.steps

    assert offline or "see plan --to-protocol classic" in plan.blocked
    assert ["stop every member of 4.2.2, and wait until the group is empty", "start every member as 4.0.2"] == [
        str(step.do) for step in (stop, start)
    ]
    assert start.way_back.how.startswith("no bounce leads back: stop every member, wait until the group is empty")


def test_a_group_of_another_protocol_than_its_settings_is_not_bounced():
    plan = plan_for(evolve(settings("group.protocol=streams"), group=live("classic", "4.2.2")), "4.2.2", "4.4.0")

    assert "see plan --to-protocol streams" in plan.blocked
    assert str(plan.advice.steps[0].do).startswith("stop every member")


@pytest.mark.parametrize(
    ("group", "offline", "is_proven"),
    [(None, False, False), (None, True, True), (live("classic", "4.2.2"), False, True)],
)
def test_a_protocol_that_is_a_placeholder_is_not_proven(group, offline, is_proven):
    """It was taken for classic, and members of a streams group were bounced to a release without it."""
    plan = plan_for(evolve(settings("group.protocol=${P}"), group=group), "4.2.2", "4.0.2", offline=offline)

    assert is_proven == (not plan.open_protocol)
    assert is_proven or plan.verdict is Verdict.UNKNOWN
