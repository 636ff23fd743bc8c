"""``plan_for``: the plan of ``streams-assignor plan`` in Python, without files."""

import json

import pytest
from attrs import evolve
from click.testing import CliRunner

from streams_assignor import upgrade
from streams_assignor.cli.plan.command import plan
from streams_assignor.upgrade import PlannedApplication, judge_code, parse_settings, plan_for
from streams_assignor.upgrade.application.evidence import described_topology
from streams_assignor.upgrade.application.live_group import LiveGroup, LiveMember
from streams_assignor.upgrade.hazards import compare_topologies, parse_subtopologies
from streams_assignor.upgrade.releases import RELEASES, resolve_release
from streams_assignor.upgrade.verdict import TopologyFeature
from tests.upgrade.application.class_bytes import ClassBytes

TEXT = "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [{}])\n      --> none\n"
REMOVED = "org/apache/kafka/streams/processor/PartitionGrouper"
GROUP = LiveGroup(
    name="billing", type="classic", state="Stable", members=(LiveMember("a", (RELEASES["2.8.2"],), "2.8.2"),)
)


def settings(text):
    return PlannedApplication(settings=parse_settings(text, ".properties"), settings_source="a.properties")


def test_the_command_prints_what_the_function_returns(tmp_path):
    files = {"a.properties": "processing.guarantee=exactly_once\n", "topology.txt": TEXT.format("a")}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    config, topology = (str(tmp_path / name) for name in files)
    known = PlannedApplication(
        settings=parse_settings(files["a.properties"], ".properties"),
        settings_source=config,
        topology=described_topology(topology, files["topology.txt"]),
    )
    printed = CliRunner().invoke(plan, ["2.8", "4.3", "--config", config, "--topology", topology, "--json"])

    assert 1 == printed.exit_code
    found = json.loads(printed.output)
    assert ["headline", "alternative"] == [*found][-2:], "the words of the command line"
    assert {name: found[name] for name in [*found][:-2]} == json.loads(
        json.dumps(plan_for(known, "2.8", "4.3").as_json())
    )


def test_nothing_that_is_known_leaves_the_plan_as_it_is():
    found = plan_for(PlannedApplication(), "3.9", "4.3")

    assert (True, "", None, None) == (found.is_safe, found.blocked, found.judged, found.settings)
    assert "configuration" not in found.as_json()
    assert "live_group" not in found.as_json()


ALIKE = tuple(release for release in RELEASES.values() if release.is_released and (3, 4) <= release.number < (4, 4))
SHOWS_LITTLE = PlannedApplication(group=evolve(GROUP, members=(LiveMember("a", ALIKE, "3.4.0 or newer"),)))


def test_a_release_that_no_broker_shows_is_said_to_decide_the_steps():
    """Since 3.4 members send the same, and record formats have changed since."""
    (note,) = [note for note in plan_for(SHOWS_LITTLE, "4.0", "4.3").advice.notes if "is what you say" in note]

    assert note == (
        "group billing: its members show that they run 3.4.0 or newer; that they run 4.0.2 is what you say. If they do "
        "not, these steps are not enough: from 3.4.0 there are 2, the first: bounce every member to 4.3.1 with "
        'upgrade.from="3.4", one by one'
    )


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("known", "origin", "target", "offline"),
    [
        (SHOWS_LITTLE, "3.4", "4.3", False),  # as many steps
        (evolve(SHOWS_LITTLE, absent=frozenset({TopologyFeature.REPARTITIONED_TABLES})), "4.0", "4.3", False),
        (SHOWS_LITTLE, "4.0", "4.3", True),
        (SHOWS_LITTLE, "2.8", "4.3", False),  # it cannot be
        (PlannedApplication(group=GROUP), "2.8.2", "4.3", False),  # it is shown
        (PlannedApplication(group=evolve(GROUP, members=())), "4.0", "4.3", False),
        (SHOWS_LITTLE, "4.0", "3.4.0", False),
    ],
)
def test_a_release_that_does_not_decide_the_steps_is_not_questioned(known, origin, target, offline):
    notes = plan_for(known, origin, target, offline=offline).advice.notes

    assert not [note for note in notes if "is what you say" in note]


WAY_OF_A_TOPOLOGY = [
    "stop every member of 4.2.2, and wait until the group is empty",
    "start every member as 4.4.0 with group.protocol=classic and the new topology",
    "stop every member again, and wait until the group is empty",
    "start every member as 4.4.0 with group.protocol=streams and the new topology",
]
"""Its steps were "bounce every member to 4.4.0", after which each of them had ended."""


@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("shown_by", ["settings", "group"])
def test_a_streams_group_accepts_no_other_topology_also_when_it_is_stopped(shown_by, offline):
    """The plan said "stop the group, then start it with the new topology", safe; no member of 4.4.0 started."""
    change = compare_topologies(*(parse_subtopologies(TEXT.format(name), name) for name in "ab"))
    streams_group = evolve(GROUP, type="streams", members=())
    known = {
        "settings": evolve(settings("group.protocol=streams"), change=change),
        "group": PlannedApplication(change=change, group=streams_group),
    }[shown_by]
    found = plan_for(known, "4.2.2", "4.4.0", offline=offline)
    topologies = found.as_json()["topologies"]

    assert ("the streams group does not accept the new topology, see below", False) == (found.blocked, found.is_safe)
    assert "start them with group.protocol=classic and the new topology; stop them; wait until" in topologies["way"]
    assert not any("while one of them leads" in line for line in found.application.change.lines())
    assert WAY_OF_A_TOPOLOGY == [str(step.do) for step in found.advice.steps]
    assert plan_for(evolve(known, change=None), "4.2.2", "4.4.0", offline=offline).is_safe
    back = plan_for(known, "4.2.2", "4.0.2", offline=offline)  # without the protocol there is no such way
    assert not any("group.protocol=streams" in str(step.do) for step in back.advice.steps)


@pytest.mark.parametrize(
    ("origin", "known", "is_said"),
    [
        ("4.2.2", PlannedApplication(), True),
        ("4.2.2", settings("a=b"), True),
        (
            "4.2.2",
            PlannedApplication(group=evolve(GROUP, members=(LiveMember("a", (RELEASES["4.2.2"],), "4.2.2"),))),
            False,
        ),
        ("3.9.2", PlannedApplication(), False),
    ],
)
def test_a_topology_is_not_said_to_fit_a_group_whose_protocol_nothing_shows(origin, known, is_said):
    """Without --config the plan said "stop the group, then start it with the new topology" of a streams group, too."""
    change = compare_topologies(*(parse_subtopologies(TEXT.format(name), name) for name in "ab"))
    found = plan_for(evolve(known, change=change), origin, "4.4.0", offline=True)
    lines = [*found.application.change.lines()]

    assert "topologies: do not roll: stop the group, then start it with the new topology (--offline)" in lines
    assert is_said == any(line.startswith("topologies: if the members have group.protocol=streams: ") for line in lines)


def test_each_part_can_make_the_plan_unsafe(tmp_path):
    path = tmp_path / "A.class"
    path.write_bytes(ClassBytes("com/example/A").makes(REMOVED).bytes())
    code = judge_code([path], RELEASES["2.8.2"], RELEASES["4.3.1"])
    change = compare_topologies(*(parse_subtopologies(TEXT.format(each), each) for each in "ab"))
    known = evolve(
        settings("processing.guarantee=exactly_once\ngroup.protocol=streams"), code=code, group=GROUP, change=change
    )
    found = plan_for(known, "3.0", "4.3")

    assert [
        "do not roll: the topologies differ, see below",
        "members of 4.3.1 do not start with the configuration, see below",
        "the code refers to what 4.3.1 lacks, see below",
        "3.0 is not the release of a in group billing, see below",
        "group.protocol=streams, which 3.0.2 does not have: members of both protocols cannot be in one group, see plan "
        "--to-protocol streams",
    ] == list(found.reasons[:5])
    assert not found.is_safe
    assert [*found.reasons] == found.as_json()["notes"][: len(found.reasons)]
    assert {"topologies", "configuration", "missing", "live_group"} <= found.as_json().keys()
    assert (
        "members of 4.3.1 do not start with the configuration, see below"
        == plan_for(known, "3.0", "4.3", offline=True).blocked
    )


def test_a_setting_that_is_refused_is_one_reason():
    """Its hazard is another view of the same."""
    found = plan_for(settings("client.dns.lookup=default"), "2.8", "4.3")

    assert ("members of 4.3.1 do not start with the configuration, see below",) == found.reasons
    assert [each.hazard.applies_to for each in found.judged if each.stops_members] == ["client.dns.lookup=default"]


def test_a_placeholder_of_any_kind_decides_nothing():
    found = plan_for(settings("processing.guarantee={{ guarantee }}"), "2.8", "4.3")
    (removed,) = [each.concern for each in found.judged if each.hazard.name == "exactly-once-removed"]

    assert ("unknown", True) == (removed.answer.value, found.is_safe)


def test_what_a_user_says_counts_more_than_threads_and_less_than_a_topology():
    threads = evolve(settings("num.stream.threads=2"), absent=frozenset({TopologyFeature.SECOND_THREAD}))
    topology = PlannedApplication(
        topology=described_topology("t", TEXT.format("a")), absent=frozenset({TopologyFeature.FOREIGN_KEY_JOINS})
    )

    assert any("--without second-thread counts" in note for note in plan_for(threads, "2.0", "2.3.1").advice.notes)
    with pytest.raises(upgrade.UpgradeError, match="--topology shows whether there are foreign-key-joins"):
        plan_for(topology, "2.8", "4.3")


def test_from_may_be_that_of_the_live_group():
    target = resolve_release("4.3")

    assert "2.8.2" == plan_for(PlannedApplication(group=GROUP), GROUP.origin(target), target).advice.origin


def test_what_is_loaded_late_is_public():
    assert {*upgrade._LATE} <= {*upgrade.__all__}
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = upgrade.Nothing


def test_a_setting_that_is_refused_is_no_hazard_of_which_files_cannot_tell():
    key = "producer.max.in.flight.requests.per.connection"
    found = plan_for(settings(f"processing.guarantee=exactly_once_v2\n{key}=10\n"), "3.9", "4.1")

    assert [key] == [each.key for each in found.settings.stopping]
    assert "in-flight-requests-refused" not in {each.hazard.name for each in found.judged}
