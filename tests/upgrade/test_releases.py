"""The table of releases, held against what jars, captures and KIP-268 say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import LATEST_SUPPORTED_VERSION
from streams_assignor.probing.rules import BY_NAME
from streams_assignor.upgrade import UnknownRelease, as_release, number_of, release_named
from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.release_names import CONFLUENT_PLATFORM
from streams_assignor.upgrade.releases import NEWEST, NEWEST_OF_LINE, OURS, RELEASES, resolve_release, with_assumption
from streams_assignor.upgrade.upgrade_from import StartupOutcome, UpgradeFromEffect, implies_eager, line_number
from tests.each import for_each
from tests.subscription_codec.test_vectors import LATEST

KAFKA = [release for release in RELEASES.values() if release.is_released]
LINES = list(dict.fromkeys(release.line for release in KAFKA))
each_release = for_each(RELEASES.values())

# As Maven Central lists them: line, number of the newest patch release.
IN_MAVEN = (
    "0.10.0:1 0.10.1:1 0.10.2:2 0.11.0:3 1.0:2 1.1:1 2.0:1 2.1:1 2.2:2 2.3:1 2.4:1 2.5:1 2.6:3 2.7:2 2.8:2 "
    "3.0:2 3.1:2 3.2:3 3.3:2 3.4:1 3.5:2 3.6:2 3.7:2 3.8:1 3.9:2 4.0:2 4.1:2 4.2:2 4.3:1 4.4:0"
)

EAGER, BOTH, COOPERATIVE = ("eager",), ("eager", "cooperative"), ("cooperative",)

# Read in the sources: first release, latest version, rules, protocols, task assignor, newest upgrade.from. A row holds
# until the next one.
READ = [
    ("0.10.0.0", 1, "g0", EAGER, "cost-based", None),
    ("0.10.1.0", 2, "g1", EAGER, "cost-based", None),
    ("0.10.2.2", 2, "g1f", EAGER, "cost-based", "0.10.0"),
    ("0.11.0.0", 2, "g1", EAGER, "sticky", None),
    ("0.11.0.3", 2, "g1f", EAGER, "sticky", "0.10.0"),
    ("1.0.0", 2, "g1", EAGER, "sticky", None),
    ("1.0.2", 2, "g1f", EAGER, "sticky", "0.10.0"),
    ("1.1.0", 2, "g1", EAGER, "sticky", None),
    ("1.1.1", 2, "g1f", EAGER, "sticky", "0.10.0"),
    ("2.0.0", 3, "g2", EAGER, "sticky", "1.1"),
    ("2.1.0", 4, "g2", EAGER, "sticky", "1.1"),
    ("2.2.2", 4, "g3", EAGER, "sticky", "1.1"),
    ("2.3.0", 4, "g2", EAGER, "sticky", "1.1"),
    ("2.3.1", 4, "g3", EAGER, "sticky", "1.1"),
    ("2.4.0", 5, "g4a", BOTH, "sticky", "2.3"),
    ("2.5.0", 6, "g4a", BOTH, "sticky", "2.3"),
    ("2.6.0", 7, "g4b", BOTH, "high-availability", "2.3"),
    ("2.6.1", 8, "g4b", BOTH, "high-availability", "2.3"),
    ("2.7.0", 8, "g4c", BOTH, "high-availability", "2.3"),
    ("2.8.0", 9, "g4c", BOTH, "high-availability", "2.3"),
    ("3.0.0", 10, "g4c", BOTH, "high-availability", "2.3"),
    ("3.2.0", 11, "g4c", BOTH, "high-availability", "2.3"),
    ("3.3.0", 11, "g4c", BOTH, "high-availability", "3.2"),
    ("3.4.0", 11, "g4c", BOTH, "high-availability", "3.3"),
    ("3.5.0", 11, "g4c", BOTH, "high-availability", "3.4"),
    ("3.6.2", 11, "g4c", BOTH, "high-availability", "3.5"),
    ("3.7.0", 11, "g4c", BOTH, "high-availability", "3.6"),
    ("3.8.0", 11, "today", BOTH, "high-availability", "3.7"),
    ("3.9.0", 11, "today", BOTH, "high-availability", "3.8"),
    ("4.0.0", 11, "today", COOPERATIVE, "high-availability", "3.9"),
    ("4.1.0", 11, "today", COOPERATIVE, "high-availability", "4.0"),
    ("4.2.0", 11, "today", COOPERATIVE, "high-availability", "4.1"),
    ("4.3.0", 11, "today", COOPERATIVE, "high-availability", "4.2"),
    ("4.4.0", 11, "today", COOPERATIVE, "high-availability", "4.3"),
]


def test_the_releases_that_were_read_are_those_of_maven():
    lines = [entry.split(":") for entry in IN_MAVEN.split()]
    names = [f"{line}.{patch}" for line, newest in lines for patch in range(int(newest) + 1)]

    assert names == [str(release) for release in KAFKA][: len(names)]


@pytest.mark.parametrize(("name", "taken"), [("0.11", "0.11.0.3"), ("v0.11", "0.11.0.3"), ("0.11.x", "0.11.0.0")])
def test_a_line_before_1_0_may_lack_its_third_number(name, taken):
    assert taken == resolve_release(name).release.name


def test_two_numbers_of_several_lines_are_refused_with_the_lines():
    with pytest.raises(UnknownRelease, match=r"'0.10': expected one of its lines, 0.10.0, 0.10.1, 0.10.2"):
        resolve_release("0.10")


@for_each(KAFKA)
def test_a_release_is_as_its_sources_say(release):
    *_, row = (row for row in READ if line_number(row[0]) <= release.number)
    _, latest, rules, protocols, assignor, newest = row

    assert (latest, rules) == (release.supported_version, release.rule_set)
    assert (protocols, assignor) == (release.rebalance_protocols, release.task_assignor)
    if release.number > line_number(READ[-1][0]) and release.line != READ[-1][0].rpartition(".")[0]:
        newest = LINES[LINES.index(release.line) - 1]  # a line that is newer than what was read
    assert newest == (release.upgrade_from[-1] if release.upgrade_from else None)


@pytest.mark.parametrize(("name", "latest"), LATEST.items())
def test_the_versions_are_those_of_the_jars(name, latest):
    assert latest == RELEASES[name].supported_version


@each_release
def test_every_release_has_rules_and_a_layout_for_its_version(release):
    assert release.rule_set in BY_NAME
    assert 1 <= release.supported_version <= LATEST_SUPPORTED_VERSION


@each_release
def test_values_are_known_sorted_and_older_than_the_release(release):
    values = release.upgrade_from

    assert sorted(values, key=line_number) == list(values)
    assert set(values) <= set(UPGRADE_FROM)
    assert all(line_number(value) < release.number for value in values)


def test_versions_only_grow():
    versions = [release.supported_version for release in KAFKA]

    assert sorted(versions) == versions


def test_kafka_4881_members_stopped_leaving_when_they_are_closed():
    leaving = [str(release) for release in KAFKA if release.leaves_on_close]

    assert ["0.10.0.0", "0.10.0.1", "0.10.1.0", "0.10.1.1", "0.10.2.0", "0.10.2.1"] == leaving


@pytest.mark.parametrize(
    ("name", "value", "fate", "exception"),
    [
        ("1.1.0", "0.10.0", StartupOutcome.IGNORED, ""),
        ("1.1.1", "0.10.1", StartupOutcome.REFUSED, "ConfigException"),
        ("2.3.1", "2.0", StartupOutcome.REFUSED, "ConfigException"),
        ("2.4.0", "2.3", StartupOutcome.STARTS, ""),
        ("3.5.0", "3.4", StartupOutcome.FAILS, "IllegalArgumentException"),
        ("3.5.1", "3.4", StartupOutcome.FAILS, "IllegalArgumentException"),
        ("3.5.1", "3.3", StartupOutcome.STARTS, ""),
        ("3.5.2", "3.4", StartupOutcome.STARTS, ""),
        ("3.6.0", "3.4", StartupOutcome.STARTS, ""),
        ("3.6.1", "3.5", StartupOutcome.REFUSED, "ConfigException"),
        ("3.6.2", "3.5", StartupOutcome.STARTS, ""),
        ("3.9.2", "0.10.0", StartupOutcome.STARTS, ""),
        ("4.0.0", "2.3", StartupOutcome.FAILS, "ConfigException"),
        ("4.1.2", "0.10.0", StartupOutcome.FAILS, "ConfigException"),
        ("4.1.2", "2.4", StartupOutcome.STARTS, ""),
        ("4.2.0", "2.3", StartupOutcome.REFUSED, "ConfigException"),
        ("4.3.1", "4.3", StartupOutcome.REFUSED, "ConfigException"),
        ("4.3.1", None, StartupOutcome.STARTS, ""),
        ("4.4.0", "4.3", StartupOutcome.STARTS, ""),
    ],
)
def test_the_traps_of_upgrade_from(name, value, fate, exception):
    outcome = RELEASES[name].startup_outcome(value)

    assert (fate, exception) == (outcome.outcome, outcome.exception)
    assert bool(exception) == bool(outcome.text)
    assert (fate is StartupOutcome.STARTS) == RELEASES[name].can_start_with(value)


@given(st.sampled_from(KAFKA), st.sampled_from(UPGRADE_FROM))
def test_a_member_without_the_value_offers_the_newest_protocol_and_with_an_old_one_the_eager_one(release, value):
    held_back = release.can_start_with(value) and implies_eager(value)

    assert release.rebalance_protocols[-1] == release.rebalance_protocol()
    assert release.rebalance_protocol(value) == ("eager" if held_back else release.rebalance_protocol())


@given(st.sampled_from(KAFKA), st.sampled_from(UPGRADE_FROM))
def test_a_value_does_something_only_where_a_member_starts_with_it(release, value):
    effects = release.upgrade_from_effects(value)

    assert release.can_start_with(value) or not effects
    assert (UpgradeFromEffect.EAGER in effects) == (release.rebalance_protocol(value) != release.rebalance_protocol())
    assert (UpgradeFromEffect.OLD_VERSION in effects) == (
        release.pinned_version(value) not in {None, release.supported_version}
    )


@pytest.mark.parametrize(
    ("name", "value", "effects"),
    [
        ("0.10.2.2", "0.10.0", {"OLD_VERSION"}),
        ("2.0.1", "1.1", {"OLD_VERSION"}),
        ("2.4.1", "2.3", {"EAGER"}),
        ("3.3.2", "1.1", {"OLD_VERSION", "EAGER", "OLD_FOREIGN_KEY_JOINS"}),
        ("3.3.2", "3.2", {"OLD_FOREIGN_KEY_JOINS"}),
        ("3.4.1", "3.3", {"OLD_FOREIGN_KEY_JOINS"}),
        ("3.5.2", "3.4", {"OLD_REPARTITIONING"}),
        ("3.9.2", "0.10.0", {"OLD_VERSION", "EAGER", "OLD_FOREIGN_KEY_JOINS", "OLD_REPARTITIONING"}),
        ("3.9.2", "3.5", set()),
        ("4.2.1", "4.1", set()),
        ("4.3.1", "2.4", {"OLD_FOREIGN_KEY_JOINS", "OLD_REPARTITIONING", "CHECKPOINT_FILES"}),
        ("4.3.1", "4.2", {"CHECKPOINT_FILES"}),
        ("1.1.0", "0.10.0", set()),
    ],
)
def test_what_a_value_does(name, value, effects):
    assert effects == {effect.name for effect in RELEASES[name].upgrade_from_effects(value)}


def test_our_own_members_take_every_value_of_the_kip():
    assert all(OURS.can_start_with(value) for value in UPGRADE_FROM[:6])
    assert {UpgradeFromEffect.OLD_VERSION} <= set(OURS.upgrade_from_effects("1.1"))


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("0.10.0", "0.10.0.1"),
        ("0.10.1", "0.10.1.1"),
        ("1.1", "1.1.1"),
        ("2.0.0", "2.0.0"),
        ("2.6", "2.6.3"),
        ("3.9", "3.9.2"),
        ("4.3", "4.3.1"),
        ("post-2.0", "simulated-4"),
    ],
)
def test_a_line_stands_for_its_newest_release(name, release):
    assert release == release_named(name).name


@pytest.mark.parametrize("name", ["", "3", "2.9", "x", "cp-9.0", "2.8.1-1"])
def test_an_unknown_release_is_refused_with_the_known_ones(name):
    with pytest.raises(
        UnknownRelease, match=rf"known are 0\.10\.0\.0 to {re.escape(NEWEST.name)}, and streams-assignor"
    ):
        release_named(name)


@pytest.mark.parametrize(
    ("name", "release", "notes"),
    [
        ("v3.9", "3.9.2", []),
        (" 2.0.1 ", "2.0.1", []),
        ("3.9.0-SNAPSHOT", "3.9.0", ["SNAPSHOT of 3.9.0 is treated as the release 3.9.0"]),
        ("4.2.2-rc1", "4.2.2", ["rc1 of 4.2.2 is treated as the release 4.2.2"]),
        ("3.6.0.redhat-00003", "3.6.0", ["Red Hat's build of Kafka 3.6.0, whose own changes are not known"]),
        ("2.2.0-cp2", "2.2.0", ["Confluent's build of Kafka 2.2.0, whose own changes are not known"]),
        ("4.4.9", "4.4.9", ["4.4.9 is not in the table of this version; it is treated like 4.4.0"]),
    ],
)
def test_spellings_of_a_release_are_understood(name, release, notes):
    resolved = resolve_release(name)

    assert (release, notes, False) == (resolved.release.name, list(resolved.notes), resolved.is_open)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("2.0.x", "2.0.0", "2.0.1"),
        ("0.10.1.x", "0.10.1.0", "0.10.1.1"),
        ("5.2.1-ccs", "2.2.0", "2.2.2"),
        ("5.0.0-ce", "2.0.0", "2.0.1"),
        ("7.6.1-1-ccs", "3.6.0", "3.6.2"),
        ("cp-7.6", "3.6.0", "3.6.2"),
        ("cp-8.3.1", "4.3.0", "4.3.1"),
        ("confluentinc/cp-kafka:7.6.1", "3.6.0", "3.6.2"),
        ("3.7.x.kraft", "3.7.0", "3.7.2"),
        ("4.1.x.kraft", "4.1.0", "4.1.2"),
        ("0.10.1.2.6.5.0-292", "0.10.1.0", "0.10.1.1"),
        ("3.9.7", "3.9.0", "3.9.2"),
        ("0.10.2.9", "0.10.2.0", "0.10.2.2"),
    ],
)
def test_an_unknown_patch_level_is_taken_for_the_first_release_of_its_line(name, first, last):
    resolved = resolve_release(name)
    taken = resolved.release.assumed_like or resolved.release.name

    assert (first, release_named(first).behaviour) == (taken, resolved.release.behaviour)
    assert f"{name} can be any release from {first} to {last}; it is taken for {first}" == resolved.notes[-1]
    assert release_named(first).number == resolved.release.known_number == number_of(name)


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("2.8.2.tiered", "2.8.2"),
        ("2.4.1.1", "2.4.1"),
        ("3.1.0.redhat-00004", "3.1.0"),
        ("2.5.0.7.1.7.0-551", "2.5.0"),
        ("2.2.1-cdh6.3.2", "2.2.1"),
        ("0.45.0-kafka-3.9.0", "3.9.0"),
        ("quay.io/strimzi/kafka:0.28.0-kafka-3.1.0", "3.1.0"),
        ("2.6.1.400-eep-921", "2.6.1"),
        ("2.4.0-hw-ei-302002", "2.4.0"),
    ],
)
def test_a_vendors_build_under_the_number_of_kafka_is_that_release(name, release):
    resolved = resolve_release(name)

    assert (release,) == tuple(each.name for each in resolved.candidates)
    assert f"build of Kafka {release}, whose own changes are not known" in resolved.notes[0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cp-9.0", "Confluent Platform 9.0 is not in the table (3.0 to 8.3): write the release of Kafka"),
        ("8.4.0-ccs", "Confluent Platform 8.4 is not in the table"),
        ("2.6.0-acme", "'-acme' is the suffix of no vendor that is known: if this is a build of Kafka 2.6.0, write"),
        ("0.10.0-kafka-2.1.0", "'-kafka-2.1.0' is the suffix of no vendor that is known"),
    ],
)
def test_a_vendors_name_that_is_not_read_is_refused_with_the_reason(name, reason):
    with pytest.raises(UnknownRelease, match=f"unknown release '{name}': {re.escape(reason)}"):
        resolve_release(name, assume="4.3")


def test_an_unknown_patch_release_is_later_than_the_known_ones_of_its_line():
    assert release_named("3.9.2").number < release_named("3.9.7").number < release_named("4.0.0").number
    assert "2.6.1 has the fix" in release_named("2.6.9").note


def test_an_unknown_patch_release_may_be_assumed_to_behave_like_one_of_its_line():
    found = resolve_release("2.2.9", assume="2.2.2")

    assert (release_named("2.2.2").behaviour, "2.2.2") == (found.release.behaviour, found.release.assumed_like)
    assert found.release == release_named(found.release.spelling)
    assert resolve_release("2.2.9", assume="4.3").is_open


AFTER_NEWEST = f"{NEWEST.line.partition('.')[0]}.{int(NEWEST.line.partition('.')[2]) + 1}"


@pytest.mark.parametrize("name", [AFTER_NEWEST, f"{AFTER_NEWEST}.0", "v4.99", f"{AFTER_NEWEST}.0-SNAPSHOT"])
def test_an_unknown_newer_line_is_refused_unless_one_is_assumed(name):
    with pytest.raises(UnknownRelease, match=rf"newer than this version knows \({NEWEST}\); .*--assume {NEWEST.line}"):
        resolve_release(name)

    assumed = resolve_release(name, assume="4.3")

    assert release_named("4.3").behaviour == assumed.release.behaviour
    assert release_named("4.3").number < assumed.release.number
    assert "assumed to behave like 4.3.1" in assumed.notes[-1]
    assert assumed.release == release_named(assumed.release.spelling)


def test_what_a_known_release_behaves_like_is_not_assumed():
    assert "" == resolve_release("4.3", assume="3.9").release.assumed_like
    assert ("4.3", "4.9.0~3.9.2") == (with_assumption("4.3", "3.9"), with_assumption("4.9", "3.9"))
    with pytest.raises(UnknownRelease):
        with_assumption("4.9", None)


@pytest.mark.parametrize("assume", [None, "4.3"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("5.0", "for Confluent Platform write cp-5.0 (Kafka 2.0)"),
        ("7.6.1", "for Confluent Platform write cp-7.6 (Kafka 3.6)"),
        ("8.3.x", "for Confluent Platform write cp-8.3 (Kafka 4.3)"),
        ("8.9", "it is no number of Kafka 4: write the release of Kafka that it contains"),
        ("24.1.2", "it is no number of Kafka 4: write the release of Kafka that it contains"),
    ],
)
def test_a_number_of_confluent_platform_is_not_taken_for_one_of_kafka(name, reason, assume):
    with pytest.raises(UnknownRelease, match=f"{re.escape(reason)}$"):
        resolve_release(name, assume)


def test_every_line_of_confluent_platform_contains_a_known_line_of_kafka():
    assert set(CONFLUENT_PLATFORM.values()) <= NEWEST_OF_LINE.keys()


def test_lines_and_numbers_follow_the_names():
    assert "0.10.2" == release_named("0.10.2.2").line
    assert "simulated-4" == release_named("simulated-4").line
    assert (2, 0, 1) == release_named("2.0.1").number < release_named("simulated-4").number
    assert [(9999, 4), (4, 9, 1)] == [number_of(name) for name in ("simulated-4", "4.9.1")]
    with pytest.raises(UnknownRelease, match="for Confluent Platform"):
        number_of("5.0.1")


def test_a_release_that_never_was_does_not_stand_for_its_line():
    assert "0.10.1.1" == NEWEST_OF_LINE["0.10.1"].name
    assert "never released" in RELEASES["0.10.1.2"].note
    assert not RELEASES["0.10.1.2"].is_released


@pytest.mark.parametrize(
    ("name", "meant"), [("2.3.0-", "; did you mean 2.3.0?"), ("2.33", "; did you mean 2.8?"), ("xyz", "")]
)
def test_a_release_that_is_nearly_one_is_asked_about(name, meant):
    with pytest.raises(UnknownRelease, match=f"and streams-assignor{re.escape(meant)}$"):
        release_named(name)


@pytest.mark.parametrize("form", ["{}.1", "4.{}", "4.3.{}", "v{}.0", "cp-{}.0", "7.{}-ccs", "4.{}-SNAPSHOT"])
def test_a_number_of_thousands_of_digits_is_no_release(form):
    """int() raises an error of its own for it, which ended plan, release, replay, assign and sweep."""
    with pytest.raises(UnknownRelease):
        resolve_release(form.format("1" * 5000), "4.3")


@pytest.mark.parametrize("value", ["0.10.0", "2.3", "3.9", "4.0", "4.2", "4.3"])
def test_our_members_accept_every_value_that_a_member_beside_them_may_have(value):
    """4.0 and later were refused: such a configuration could not be copied from the Java application of a group."""
    assert StartupOutcome.STARTS is OURS.startup_outcome(value).outcome


def test_a_release_may_be_given_by_its_name():
    assert OURS is as_release(OURS)
    assert release_named("kip-268") is as_release("kip-268")


@pytest.mark.parametrize(
    ("given", "problem"),
    [("kip-286", "did you mean kip-268?"), (None, "expected a release or its name, as 'kip-268', got None")],
)
def test_another_value_is_no_release(given, problem):
    with pytest.raises(UnknownRelease) as caught:
        as_release(given)

    assert problem in str(caught.value)
