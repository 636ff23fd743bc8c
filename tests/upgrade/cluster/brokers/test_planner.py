"""The advice for brokers, applied to a model cluster and compared with Kafka's own table of levels."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.brokers._known_bugs import broker_bugs
from streams_assignor.upgrade.cluster.brokers._upgrade_notes import UPGRADE_NOTES
from streams_assignor.upgrade.cluster.brokers._zookeeper_migration import MIGRATION
from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import (
    NEWEST_OF_LINE,
    MetadataMode,
    broker_release,
    version_named,
)
from streams_assignor.upgrade.cluster.brokers.steps import DowngradePath, DowngradeVerdict
from streams_assignor.upgrade.cluster.drafts.rolling_cluster import RollingCluster
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.errors import ConfigException, UpgradeError
from streams_assignor.upgrade.releases import RELEASES
from tests.each import for_each

EXPORTED = Path(__file__).parents[3] / "vectors/features"
LINES = [broker_release(line) for line in NEWEST_OF_LINE if version_named("0.8.2") <= version_named(line)]
WITH_ZOOKEEPER = [release for release in LINES if MetadataMode.ZOOKEEPER in release.modes]
IN_KRAFT = [release for release in LINES if MetadataMode.KRAFT in release.modes]


def advice(origin, target, mode=None, level=None, *, level_unchanged=True):
    return advise_brokers(
        broker_release(origin),
        broker_release(target),
        mode and MetadataMode(mode),
        level and version_named(level),
        level_unchanged=level_unchanged,
    )


def settings(found):
    return [dict(step.settings) for step in found.steps]


def below(target, releases):
    return [release for release in releases if release.number < target.number]


# With ZooKeeper


def test_the_release_is_rolled_with_the_protocol_pinned_and_then_the_protocol():
    found = advice("2.0.1", "2.8.2")

    assert [{IBP: "2.0"}, {IBP: "2.8"}] == settings(found)
    assert [DowngradeVerdict.OPEN, DowngradeVerdict.CLOSED] == [step.way_back.verdict for step in found.steps]
    assert (2, MetadataMode.ZOOKEEPER, True) == (found.rolls, found.mode, found.is_possible)


def test_a_new_message_format_waits_for_the_consumers():
    found = advice("0.10.2", "2.0")

    assert [{IBP: "0.10.2", LMF: "0.10.2"}, {IBP: "2.0", LMF: "0.10.2"}, {IBP: "2.0", LMF: "2.0"}] == settings(found)
    assert "0.11.0 or later" in found.steps[2].do
    assert "0.10.0 or later" in advice("0.9.0", "0.10.0").steps[2].do


def test_from_protocol_3_0_on_the_format_comes_with_the_protocol():
    found = advice("0.10.2", "3.5.2", "zookeeper")

    assert [{IBP: "0.10.2", LMF: "0.10.2"}, {IBP: "3.5"}] == settings(found)
    assert "remove log.message.format.version" in found.steps[1].do


def test_up_to_1_0_0_the_format_must_be_set_even_if_it_is_the_same():
    """Upgrade notes of 1.0: "you must set both the message format version and the inter-broker protocol version"."""
    assert [{IBP: "0.11.0", LMF: "0.11.0"}, {IBP: "1.0"}] == settings(advice("0.11.0", "1.0.0"))
    assert [{IBP: "0.11.0"}, {IBP: "1.0"}] == settings(advice("0.11.0", "1.0.1"))


@pytest.mark.parametrize(("origin", "target"), [("2.1.0", "2.1.1"), ("2.1.1", "2.1.0")])
def test_within_a_line_one_roll_is_enough(origin, target):
    found = advice(origin, target)

    assert [({}, DowngradeVerdict.OPEN)] == [(dict(step.settings), step.way_back.verdict) for step in found.steps]


def test_a_cluster_below_its_release_continues_from_its_level():
    assert [{IBP: "2.1"}, {IBP: "2.8"}] == settings(advice("2.4", "2.8", level="2.1"))
    assert [{IBP: "2.8"}] == settings(advice("2.8", "2.8", level="2.1"))
    assert [{IBP: "2.0-IV0"}, {IBP: "2.1"}] == settings(advice("2.0", "2.1", level="2.0-IV0"))


@pytest.mark.unmeasured
@pytest.mark.parametrize("target", WITH_ZOOKEEPER[1:], ids=str)
def test_in_every_step_brokers_start_are_compatible_and_have_the_stated_way_back(target):
    for origin in below(target, WITH_ZOOKEEPER):
        found = advise_brokers(origin, target, MetadataMode.ZOOKEEPER)
        cluster = RollingCluster.of(BrokerConfig.of(origin)).write("A")
        for step in found.steps:
            config = BrokerConfig.of(broker_release(step.release), step.settings)
            for rolled in cluster.roll(config):
                assert () == rolled.incompatible_pairs
                cluster = rolled.write("A").write("C")
            back = cluster.downgrade(origin)
            assert back.is_possible == (step.way_back.verdict is DowngradeVerdict.OPEN)
            assert not (back.is_possible and back.unreadable_entries)

        assert {target.newest} == {broker.config.protocol for broker in cluster.brokers}
        assert {BrokerConfig.of(target).record_format} == {broker.config.record_format for broker in cluster.brokers}


@pytest.mark.parametrize("target", WITH_ZOOKEEPER[2:], ids=str)
def test_without_the_first_setting_brokers_are_incompatible(target):
    for origin in below(target, WITH_ZOOKEEPER):
        first, *_ = RollingCluster.of(BrokerConfig.of(origin)).roll(BrokerConfig.of(target))

        assert (("B", "A"), ("C", "A")) == first.incompatible_pairs


def test_without_the_format_brokers_do_not_start():
    with pytest.raises(ConfigException):
        BrokerConfig.of(broker_release("2.0"), {IBP: "0.10.2"})


def test_before_the_protocol_is_raised_the_release_can_be_rolled_back():
    found = advice("2.8", "2.1", level="2.0")

    assert [{IBP: "2.0"}] == settings(found)
    assert [DowngradeVerdict.OPEN] == [step.way_back.verdict for step in found.steps]


def test_after_the_protocol_is_raised_there_is_no_way_back():
    found = advice("2.8", "2.1")

    assert (False, 0, ()) == (found.is_possible, found.rolls, found.steps)
    assert "the brokers use 2.8-IV1, which 2.1 does not support" in found.warnings[0]


@pytest.mark.parametrize(
    ("origin", "target", "stops"),
    [
        ("2.3", "3.9", True),
        ("0.10.2", "3.6", True),
        ("2.3.1", "3.5", False),
        ("2.4", "3.9", False),
        ("2.3", "4.3", True),
    ],
)
def test_no_zookeeper_serves_brokers_before_2_4_and_from_3_6_on_so_the_plan_stops_in_between(origin, target, stops):
    """KAFKA-17434: "it is not possible to upgrade" from one side to the other."""
    found = advice(origin, target, "zookeeper")
    releases = [step.release for step in found.steps]

    assert stops == ("2.8.2" in releases)
    if stops:
        roll, ensemble, *_ = found.steps
        assert roll.settings[IBP] == version_named(origin).config_value == ensemble.settings[IBP]
        assert (0, "KIP-902, KAFKA-17434") == (ensemble.rolls, ensemble.source)
        assert "bounce every ZooKeeper server to a release from 3.5 on" in ensemble.do


@pytest.mark.unmeasured
@pytest.mark.parametrize("target", WITH_ZOOKEEPER, ids=str)
def test_no_single_roll_crosses_both_releases(target):
    for origin in below(target, WITH_ZOOKEEPER):
        way = [origin.name, *(step.release for step in advise_brokers(origin, target, MetadataMode.ZOOKEEPER).steps)]
        for before, after in pairwise(map(broker_release, way)):
            assert not (before.number < (2, 4) and after.number >= (3, 6))


def test_a_downgrade_over_both_releases_is_no_way():
    found = advice("3.9", "2.3", "zookeeper", "2.3")

    assert not found.is_possible
    assert "no ZooKeeper serves brokers of both 3.9 and 2.3 (KIP-902): first go back to 2.8.2" in found.warnings[0]
    assert advice("3.9", "2.8.2", "zookeeper", "2.3").is_possible
    assert advice("2.8.2", "2.3", "zookeeper", "2.3").is_possible


# Known bad releases


@pytest.mark.parametrize(
    ("origin", "target", "mode", "new", "others"),
    [
        ("3.4", "3.5.1", "kraft", {15353, 15375, 15391, 15771}, {14337}),
        ("3.4", "3.5.2", "kraft", set(), {15353, 15375, 15391, 15771}),
        ("3.6", "3.5.1", "kraft", {15353, 15375, 15391}, {15653}),
        ("3.5.2", "3.6.0", "kraft", {15653}, {15353}),
        ("3.5.2", "3.6.1", "zookeeper", {16692}, {15653}),
        ("3.6.2", "3.7.0", "zookeeper", {16209, 16386}, {16583, 16692}),
        ("3.6.2", "3.7.1", "kraft", {16541, 17190}, {16209, 16386, 16692}),
        ("3.8.1", "3.9.0", "kraft", {18281}, {17584}),
        ("3.9.0", "4.0.0", "kraft", {19163, 19192, 19367, 19444, 19851}, {18281}),
        ("3.9", "4.0.1", "kraft", {19851, 19862, 20115}, {19163, 19192, 19367, 19444, 20845}),
        ("3.9", "4.0.2", "kraft", {20845}, {20115}),
        ("4.1.0", "4.1.1", None, {20845}, {19760}),
        ("4.1", "4.2.0", None, {20254}, {19851}),
        ("4.1", "4.2.1", None, set(), {20254}),
        ("4.3.1", "4.4.0", None, set(), {20726}),
    ],
)
def test_a_roll_to_a_known_bad_release_names_the_bug_and_the_fix(origin, target, mode, new, others):
    notes = advice(origin, target, mode, "3.5" if origin == "3.6" else None).warnings
    found = {int(number) for note in notes for number in re.findall(f"^{target}: .*or later .KAFKA-(.*).$", note)}

    assert (set(), set()) == (new - found, others & found), found


def test_bugs_that_the_brokers_have_already_are_one_note():
    *_, last = advice("4.0.0", "4.0.1", "kraft").warnings

    assert last.startswith("4.0.1 has known bugs of 4.0.0, too: ")
    assert "KAFKA-19522 (until 4.1.0), " in last


@pytest.mark.parametrize(
    ("release", "fix"),
    [("2.8.0", "2.8.1"), ("2.8.1", "2.8.2"), ("3.0.0", "3.0.2"), ("3.1.0", "3.1.1"), ("2.7.2", "2.8.2")],
)
def test_a_fix_is_the_next_release_that_has_it(release, fix):
    bugs = [bug for bug in broker_bugs() if bug.issue == ("KAFKA-12835" if fix == "2.8.1" else "KAFKA-13727")]
    found = broker_release(release)

    assert [fix] == [bug.fix(found) for bug in bugs if bug.affects(found, MetadataMode.ZOOKEEPER)]


@for_each(broker_bugs())
def test_a_bug_has_releases_of_kafka_with_its_fix_in_their_order(bug):
    names = {each.number[:3] for each in RELEASES.values() if each.is_released}

    assert set(bug.fixed) <= names
    assert list(bug.fixed) == sorted(bug.fixed)
    assert bug.since[0] < bug.fixed[0]
    assert list(bug.since) == sorted(bug.since)
    assert len({fix[:2] for fix in bug.fixed}) == len(bug.fixed)
    assert bug.fixed[-1][2] == 0 or bug.fixed[-1][:2] == (2, 8) or (bug.mode, bug.fixed) == ("zookeeper", ((3, 9, 2),))
    assert bug.mode in {"", *(mode.value for mode in MetadataMode)}


# To KRaft


def test_from_zookeeper_the_plan_uses_the_bridge_release_3_9():
    found = advice("2.8", "4.3.1")

    assert ["3.9.2"] * 6 + ["4.3.1"] * 2 == [step.release for step in found.steps]
    assert [{IBP: "2.8"}, {IBP: "3.9"}, {IBP: "3.9"}, {IBP: "3.9", MIGRATION: "true"}] == settings(found)[:4]
    assert [1, 1, 0, 1, 1, 0, 1, 0] == [step.rolls for step in found.steps]
    assert DowngradeVerdict.CLOSED is found.steps[5].way_back.verdict


def test_from_3_9_the_plan_starts_with_the_migration():
    found = advice("3.9.1", "4.0", "zookeeper")

    assert "start a quorum of KRaft controllers of 3.9.1" in found.steps[0].do
    assert 6 == len(found.steps)


def test_from_3_9_with_an_older_protocol_the_protocol_is_raised_first():
    """Operations guide of 3.9: brokers must "have the inter.broker.protocol.version configuration set to 3.9"."""
    found = advice("3.9.1", "4.0", "zookeeper", "3.5")

    assert {IBP: "3.9"} == settings(found)[0]
    assert 7 == len(found.steps)


# In KRaft mode


def test_in_kraft_mode_one_roll_precedes_metadata_version():
    found = advice("3.9.2", "4.3.1", "kraft")

    assert ["bounce every controller and broker to 4.3.1, one by one"] == [
        step.do for step in found.steps if step.rolls
    ]
    assert "kafka-features upgrade --release-version 4.3 (it also sets kraft.version 1, " in found.steps[1].do
    assert {METADATA_VERSION: 30, "streams.version": 1}.items() <= found.steps[1].levels.items()
    assert advice("3.3", "3.9", "kraft").steps[1].do.endswith("kafka-features upgrade --metadata 3.9")


def test_a_patch_release_has_no_level_of_its_own():
    assert 1 == len(advice("4.3.0", "4.3.1").steps)


def test_a_level_can_be_raised_without_a_roll():
    found = advice("4.3.1", "4.3.1", level="4.2")

    assert (0, 1) == (found.rolls, len(found.steps))


def test_kraft_before_3_3_uses_the_bridge_release_3_9_too():
    found = advice("3.0", "4.0", "kraft")

    assert ["3.9.2", "3.9.2", "3.9.2", "4.0", "4.0"] == [step.release for step in found.steps]
    assert "wait until every controller and broker has taken a snapshot" in found.steps[2].do


def test_a_level_below_3_3_iv3_is_raised_before_the_roll_to_4_0():
    found = advice("3.9", "4.3", "kraft", "3.3-IV0")

    assert ["3.9", "3.9", "4.3", "4.3"] == [step.release for step in found.steps]
    assert "nodes of 4.3 support no level below 3.3-IV3" in found.steps[1].why
    assert ["4.3", "4.3"] == [step.release for step in advice("3.9", "4.3", "kraft", "3.3").steps]


@pytest.mark.unmeasured
@pytest.mark.parametrize("table", ["metadata_versions_3.9.2", "metadata_versions_4.3.1"])
def test_the_way_back_matches_kafkas_table(table):
    """``safe_downgrade_targets`` was computed by Kafka's own ``checkIfMetadataChanged``."""
    targets = json.loads((EXPORTED / f"{table}.json").read_text(encoding="utf-8"))["safe_downgrade_targets"]
    of_4 = "4.3.1" in table
    known = [release for release in IN_KRAFT if str(release.newest.level) in targets]
    judged = [release for release in known if (release.number >= (4,)) is of_4]
    for origin, target in ((lower, release) for release in judged for lower in below(release, known)):
        safe = origin.newest.level in targets[str(target.newest.level)]
        kept = origin.number >= (3, 3)  # nothing older is stored, although the table has it
        up, down = (
            advise_brokers(origin, target, MetadataMode.KRAFT),
            advise_brokers(target, origin, MetadataMode.KRAFT),
        )

        back = up.steps[-1].way_back
        assert bool(back.levels) is (safe and kept), (origin, target)
        assert (DowngradeVerdict.SAFE if back.levels.keys() == {METADATA_VERSION} else DowngradeVerdict.LOSSY) is (
            back.verdict
        )
        assert down.is_possible is (safe and kept)


def test_the_changed_levels_are_named():
    assert "4.0-IV1, 4.3-IV0 changed the records" in advice("3.9", "4.3", "kraft").steps[-1].way_back.how
    assert "4.3-IV0 changed the records" in advice("4.3", "4.2").warnings[0]


def test_a_safe_downgrade_starts_with_metadata_version():
    lower, forget, bounce = advice("4.2.1", "4.1.2").steps
    assert "snapshot" in forget.do  # 4.1.1 failed on a higher level in the log of 4.3.1, lowered or not

    assert (0, "4.2.1", 1, "4.1.2") == (lower.rolls, lower.release, bounce.rolls, bounce.release)
    assert lower.do.endswith("kafka-features downgrade --feature metadata.version=27 --feature streams.version=0")
    assert "streams groups (group.protocol=streams) stop working" in lower.why
    assert "kafka-features downgrade --metadata 3.7" in advice("3.8", "3.7", "kraft").steps[0].do
    assert "a cluster with kraft.version 1 cannot go back" in advice("3.9", "3.8", "kraft").steps[0].why


@pytest.mark.parametrize(
    ("origin", "target", "verdict", "lowered"),
    [
        ("4.0", "4.1", DowngradeVerdict.SAFE, {METADATA_VERSION: 25}),
        ("4.1", "4.2", DowngradeVerdict.LOSSY, {METADATA_VERSION: 27, "streams.version": 0}),
        ("4.0", "4.2", DowngradeVerdict.LOSSY, {METADATA_VERSION: 25, "share.version": 0, "streams.version": 0}),
        ("4.3", "4.4", DowngradeVerdict.LOSSY, {}),
    ],
)
def test_the_way_back_lowers_everything_that_the_command_raised_and_the_older_release_lacks(
    origin, target, verdict, lowered
):
    path = advice(origin, target).steps[-1].way_back

    assert (verdict, lowered) == (path.verdict, dict(path.levels))


def test_without_a_roll_the_way_back_lowers_every_feature_to_what_it_was():
    path = advice("4.2", "4.2", level="4.1").steps[-1].way_back

    assert {METADATA_VERSION: 27, "share.version": 0, "streams.version": 0} == dict(path.levels)
    assert "bounce" not in path.how


def test_a_level_that_was_never_raised_need_not_be_lowered():
    found = advice("4.3", "3.9", "kraft", "3.9")

    assert ["bounce every controller and broker to 3.9, one by one"] == [step.do for step in found.steps]


@pytest.mark.parametrize(
    ("origin", "target", "mode", "level", "first"),
    [
        ("4.2.1", "4.1.2", "kraft", "4.1-IV1", "lower what is finalized of streams.version to 0"),
        ("4.1.1", "4.0.0", "kraft", "4.0", "wait until every controller and broker has taken a snapshot"),
        ("3.9", "4.3", "kraft", "3.9", "wait until every controller and broker has taken a snapshot"),
        ("2.8", "2.1", "zookeeper", "2.0", "make sure that inter.broker.protocol.version never was above 2.1"),
        ("4.2", "4.3", "kraft", "4.0", "bounce"),
        ("4.3.1", "4.3.0", "kraft", "4.2", "bounce"),
    ],
)
def test_the_present_level_is_no_proof_of_what_the_log_has(origin, target, mode, level, first):
    steps = advice(origin, target, mode, level, level_unchanged=False).steps

    assert steps[0].do.startswith(first)
    first_roll = next(place for place, step in enumerate(steps) if step.rolls)
    assert advice(origin, target, mode, level).steps == steps[first_roll:]


@pytest.mark.parametrize(
    ("ends", "target_of_migration"),
    [
        (("3.6", "3.9"), "3.9"),
        (("3.9", "3.9"), "3.9"),
        (("2.7", "3.9.1"), "3.9.1"),
        (("3.6", "4.3"), "3.9.2"),
    ],
)
def test_zookeeper_now_and_kraft_afterwards_is_a_migration(ends, target_of_migration):
    """Both flags were refused, and the migration at 3.9 had no plan."""
    origin, target = map(broker_release, ends)
    found = advise_brokers(origin, target, MetadataMode.ZOOKEEPER, to_kraft=True)
    migration = [step for step in found.steps if MIGRATION in step.do]

    assert {broker_release(target_of_migration).name} == {step.release for step in migration}
    assert "a finished migration cannot be reverted" in migration[-1].way_back.how
    assert found.steps[-1] is migration[-1] or target.number >= (4, 0)


@pytest.mark.parametrize("ends", [("3.6", "3.8"), ("3.9", "3.6")])
def test_a_migration_elsewhere_is_refused_with_the_command(ends):
    with pytest.raises(UpgradeError, match=f"plan --brokers {ends[0]} 3.9.2 --zookeeper --kraft"):
        advise_brokers(*map(broker_release, ends), MetadataMode.ZOOKEEPER, to_kraft=True)


# What cannot be asked


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("3.9", "4.3"), "3.9 runs with ZooKeeper or in KRaft mode, and the way differs: say which"),
        (("4.0", "4.3", "zookeeper"), "4.0 has no ZooKeeper mode: its brokers run in KRaft mode"),
        (("2.8", "4.3", "kraft"), "2.8 has no KRaft mode that can be upgraded: its brokers run with ZooKeeper"),
        (("3.3", "2.8", "kraft"), "2.8 has no KRaft mode to go back to"),
        (("2.8", "2.8"), "2.8 is already 2.8: nothing to do"),
        (("2.8", "3.0", None, "3.0"), "a cluster of 2.8 can be at 0.8.0 to 2.8-IV1, not at 3.0-IV1"),
        (("3.9", "4.0", "kraft", "2.8"), "a cluster of 3.9 can be at 3.0-IV1 to 3.9-IV0, not at 2.8-IV1"),
        (("4.0", "4.3", None, "3.0"), "a cluster of 4.0 can be at 3.3-IV3 to 4.0-IV3, not at 3.0-IV1"),
    ],
    ids=str,
)
def test_an_invalid_request_is_refused_with_its_reason(arguments, error):
    with pytest.raises(UpgradeError, match=f"^{error}$"):
        advice(*arguments)


# Form


@pytest.mark.unmeasured
@pytest.mark.parametrize("target", LINES[1:], ids=str)
def test_every_step_has_its_reason_its_way_back_and_its_source(target):
    questions = [(origin, target, mode) for origin in below(target, LINES) for mode in origin.modes]
    for step in (step for question in questions for step in advise_brokers(*question).steps):
        assert all((step.do, step.why, step.if_skipped, step.way_back.how, step.source))


def test_notes_apply_to_upgrades_across_their_release_in_their_mode():
    assert any("3.8.3" in note for note in advice("3.7", "3.8", "zookeeper").warnings)
    assert not any("3.8.3" in note for note in advice("3.7", "3.8", "kraft").warnings)
    for plan in (advice("3.8", "3.9", "kraft"), advice("3.9", "3.8.1", "kraft", "3.8")):
        assert not any("upgrade notes" in note for note in plan.warnings)
    upgrades = (("0.8.2", "4.4"), ("3.3", "3.9", "kraft"), ("4.3", "4.4"))
    said = " ".join(warning for upgrade in upgrades for warning in advice(*upgrade).warnings)
    assert all(f"({note.source})" in said for note in UPGRADE_NOTES)


@pytest.mark.parametrize(
    ("origin", "target", "level", "is_said"),
    [
        ("3.9", "3.3", "3.3", True),
        ("3.9", "3.4", "3.4", False),
        ("3.4", "3.9", None, False),
        ("3.3", "3.6", None, False),
    ],
)
def test_a_fact_about_the_way_back_is_said_in_both_directions(origin, target, level, is_said):
    warnings = advice(origin, target, "kraft", level).warnings

    assert is_said == any("InconsistentBrokerMetadataException" in warning for warning in warnings)


def test_as_json_it_has_plain_values():
    found = json.loads(json.dumps(advice("2.8", "4.3").as_json()))

    assert ("2.8", "4.3", "zookeeper", 5) == tuple(found[key] for key in ("from", "to", "mode", "rolls"))
    assert {"do", "why", "if_skipped", "release", "settings", "levels", "rolls", "way_back", "source"} == set(
        found["steps"][0]
    )
    assert {"verdict": "open", "how": "bounce every broker to 2.8 again", "levels": {}} == found["steps"][0]["way_back"]
    assert isinstance(found["warnings"][0], str)


@pytest.mark.parametrize(
    ("origin", "target", "mode", "sourced"),
    [("4.2", "4.9", None, 0), ("4.9", "4.9.1", None, 0), ("4.9.1", "4.9", None, 0), ("3.9", "4.9", "zookeeper", 4)],
)
def test_a_step_to_a_release_that_was_assumed_has_no_source(origin, target, mode, sourced):
    ends = [broker_release(name, assume="4.3") for name in (origin, target)]
    found = advise_brokers(*ends, mode and MetadataMode(mode))

    assert found.steps
    assert f"{target} is assumed to behave like 4.3" in found.as_json()["assumed"]
    assert sourced == sum("assumed" not in step.source for step in found.steps)


def test_a_way_that_does_not_exist_says_what_was_assumed():
    found = advise_brokers(broker_release("4.9", assume="4.3"), broker_release("4.2"))

    assert not found.is_possible
    assert ("4.9 is assumed to behave like 4.3",) == found.assumed


def test_a_way_back_in_plain_text_begins_with_its_verdict():
    path = DowngradePath(DowngradeVerdict.CLOSED, "no: it is closed")

    assert ("closed: no: it is closed", "closed: no") == (str(path), path.summary)
