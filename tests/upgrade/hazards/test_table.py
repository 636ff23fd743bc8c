"""The table of hazards: its rows are complete, unambiguous and sourced."""

import re
from itertools import permutations

import pytest
from attrs import evolve

from streams_assignor.upgrade import advise, release_named
from streams_assignor.upgrade.hazards import (
    HAZARDS,
    NOT_RUN,
    STORE_FORMATS,
    Severity,
    entries_between,
    hazards_between,
    order_hazards,
)
from streams_assignor.upgrade.plans import Plan, deals_tasks_without_lags, takes_tasks_from_eager_members
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, OURS, RELEASES
from tests.each import for_each
from tests.lab.integration.test_old_brokers import TESTED_WITH_BROKERS
from tests.lab.integration.test_state_directories import PAIRS
from tests.lab.integration.test_streams_group_loading import TESTED_WITH_COMPACTION
from tests.lab.integration.test_suspended_tasks import DEALS_TASKS, TESTED_WITH_A_GROUP
from tests.upgrade.hazards.test_made_java import TESTED as TESTED_WITH_OBJECTS
from tests.upgrade.hazards.test_settings_java import TESTED

KAFKA = [release for release in RELEASES.values() if release.is_released]
LINES = [release for release in NEWEST_OF_LINE.values() if release.is_released]
each_row = for_each(HAZARDS)


def names(origin, target, plan=Plan.ONE_BOUNCE):
    return [each.name for each in hazards_between(release_named(origin), release_named(target), plan)]


def test_names_are_unique():
    assert len(HAZARDS) == len({row.name for row in HAZARDS})


@each_row
def test_a_row_names_a_source(row):
    assert re.fullmatch(
        r"the jars|(KIP-\d+|KAFKA-\d+|CVE-\d+-\d+|upgrade guide of [\d.]+\d)"
        r"(, (KIP-\d+|KAFKA-\d+|upgrade guide of [\d.]+\d))*",
        row.source,
    )


@each_row
def test_a_row_says_what_to_do_in_one_line(row):
    for text in (row.applies_to, row.symptom, row.remedy):
        assert text == text.strip()
        assert text
        assert "\n" not in text
        assert not text.endswith(".")


@pytest.mark.unmeasured
@each_row
def test_a_row_limits_what_it_concerns(row):
    some = [pair for pair in permutations(LINES, 2) if row.concerns(*pair)]

    assert len(some) < len(LINES) * (len(LINES) - 1)
    assert row.targets.since > LINES[-1].number or any(release in row.targets for release in KAFKA)


@each_row
def test_a_row_that_was_seen_names_releases_that_it_concerns(row):
    if not row.seen:
        assert NOT_RUN == row.evidence
        return
    origin, target = (release_named(name) for name in row.seen)
    assert (origin.name, target.name) == row.seen
    assert row.concerns(origin, target) or (row.mixed_only and row.concerns(target, origin))


def test_every_row_that_was_seen_is_rerun_by_a_test():
    by_jars = {*TESTED, *TESTED_WITH_OBJECTS}
    rerun = {*PAIRS, *by_jars, *TESTED_WITH_BROKERS, *TESTED_WITH_COMPACTION, *TESTED_WITH_A_GROUP, DEALS_TASKS}

    assert {row.name for row in HAZARDS if row.seen} == rerun


@pytest.mark.slow
def test_every_row_is_shown_in_some_plan():
    shown = {hazard.name for pair in permutations(KAFKA, 2) for hazard in hazards_between(*pair, Plan.ONE_BOUNCE)}
    newer = {row.name for row in HAZARDS if row.targets.since > LINES[-1].number}

    assert {row.name for row in HAZARDS} - newer == shown - {"static-members-keep-newer-assignments"}


def test_stores_are_named_in_both_directions():
    for each in STORE_FORMATS:
        old, new = each.seen
        assert f"stores-converted-by-{each.line}" in names(old, new)
        assert f"stores-of-{each.line}-unreadable" in names(new, old)


def test_stores_of_the_same_format_are_no_hazard():
    assert not [name for name in names("3.9", "3.5") if name.startswith("stores-")]
    assert not [name for name in names("3.9.2", "3.9.1") if name.startswith("stores-")]


def test_our_own_members_have_no_stores_of_kafka():
    assert [] == names("simulated-4", "2.0")
    assert [] == names("3.9.2", "simulated-4")


def test_static_members_come_first_in_a_rolling_downgrade():
    assert "static-members-keep-newer-assignments" == names("2.8", "2.5")[0]
    assert "static-members-keep-newer-assignments" not in names("2.8", "2.5", Plan.OFFLINE)
    assert "static-members-keep-newer-assignments" not in names("4.3", "3.9")


def test_members_of_both_releases_at_once_are_no_hazard_offline():
    assert "suppress-changelog-rolling-to-2.5.1" in names("2.4", "3.9")
    assert "suppress-changelog-rolling-to-2.5.1" not in names("2.4", "3.9", Plan.OFFLINE)


def test_leaks_concern_the_release_that_has_them():
    assert "leak-of-4.1.0" in names("4.0", "4.1.0")
    assert "leak-of-4.1.0" not in names("4.0", "4.1.1")
    assert "leak-of-4.3.0" in names("4.2", "4.3.0")


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("name", "met", "not_met"),
    [
        ("default-serdes-removed", ("2.8", "3.0"), ("3.0", "3.9")),
        ("null-keys-in-joins", ("3.6", "3.7"), ("3.7", "4.4")),
        ("classes-removed-in-3.0", ("2.5", "3.1"), ("3.0", "3.9")),
        ("internal-task-assignor-class", ("3.7", "3.8"), ("3.8", "4.4")),
        ("deprecated-methods-removed-in-4.0", ("3.9", "4.0"), ("4.0", "4.4")),
        ("state-directory-lock", ("2.6.1", "2.6.2"), ("2.6.2", "2.8")),
        ("state-directory-lock", ("2.7.0", "2.7.1"), ("2.7.1", "3.9")),
        ("state-directory-lock", ("2.5", "2.8"), ("2.6.1", "2.7.0")),
        ("application-server-without-host", ("3.9.2", "4.0"), ("3.9.0", "4.0")),
        ("application-server-without-host", ("3.7", "3.8"), ("3.7", "3.9.1")),
        ("idempotent-producers", ("2.8", "3.0.1"), ("2.8", "3.0.0")),
        ("max-poll-interval-5-min", ("2.2", "2.3"), ("0.10.1", "0.10.2.0")),
        ("kafka-16017", ("3.4", "3.6.1"), ("3.4", "3.6.2")),
        ("kafka-17635", ("3.4", "3.7.1"), ("3.4", "3.7.2")),
        ("kafka-12508", ("2.5", "2.7.0"), ("2.5", "2.6.2")),
        ("kafka-15602", ("3.3", "3.5.1"), ("3.3", "3.5.2")),
        ("kafka-12951", ("2.6", "2.8.0"), ("2.6", "2.7.2")),
        ("kafka-20685", ("3.7", "4.2.1"), ("3.7", "4.2.2")),
        ("process-values-rewritten", ("3.2", "3.3"), ("4.0", "4.4")),
        ("topology-without-sources", ("2.4", "2.5.1"), ("2.5.1", "2.6.0")),
        ("kafka-9127", ("2.4", "2.5.0"), ("2.4", "2.5.1")),
        ("kafka-10651", ("2.5", "2.6.0"), ("2.5", "2.6.1")),
        ("kafka-16394", ("3.6", "3.9.0"), ("3.6", "3.9.1")),
        ("kafka-16407", ("3.6", "4.0.0"), ("3.6", "4.0.1")),
        ("kafka-16699", ("3.6", "3.7.2"), ("3.6", "3.8.0")),
        ("kafka-17299", ("2.0", "2.1"), ("2.0", "3.7.2")),
        ("kafka-17299", ("2.0", "3.9.0"), ("2.0", "3.9.1")),
        ("replaced-thread-stays-member", ("4.0", "4.1"), ("3.9", "4.0.2")),
        ("kafka-8602", ("2.0", "2.2.1"), ("2.0", "2.2.2")),
        ("kafka-10515", ("2.5", "2.6.0"), ("2.5", "2.6.1")),
        ("kafka-10689", ("2.5", "2.7.0"), ("2.5", "2.7.1")),
        ("kafka-10758", ("2.5", "2.6.0"), ("2.5", "2.6.1")),
        ("kafka-13249", ("2.6", "2.8.0"), ("2.6", "2.8.1")),
        ("kafka-14388", ("3.2", "3.3.1"), ("3.2", "3.3.2")),
        ("kafka-14862", ("3.0", "3.4.0"), ("3.0", "3.4.1")),
        ("kafka-17489", ("3.7", "3.8.0"), ("3.7", "3.8.1")),
        ("kafka-18326", ("3.8", "3.9.0"), ("3.8", "3.9.1")),
        ("kafka-19208", ("3.6", "4.0.0"), ("3.6", "4.0.1")),
        ("kafka-19960", ("3.7", "4.1.1"), ("3.7", "4.1.2")),
        ("kafka-20046", ("3.9", "4.0.0"), ("3.9", "4.0.2")),
        ("kafka-20046", ("3.9", "4.1.1"), ("3.9", "4.1.2")),
        ("kafka-20398", ("3.9", "4.2.0"), ("3.9", "4.2.1")),
        ("queries-of-3.1", ("3.0", "3.1"), ("3.1", "4.4")),
        ("queries-of-2.6.1", ("2.5", "2.6.1"), ("2.6.1", "2.8")),
        ("closing-leaves-group", ("3.2", "3.3"), ("3.3", "4.4")),
        ("static-members-of-2.3", ("2.2", "2.3"), ("2.3", "4.4")),
        ("brokers-before-2.3", ("2.2", "2.8"), ("2.3", "2.8")),
        ("reporters-without-jmx", ("3.9", "4.0"), ("4.0", "4.4")),
        ("table-changelogs-of-1.0", ("0.11.0", "2.0"), ("1.0", "2.0")),
        ("exactly-once-switched-too-early", ("2.5", "2.8"), ("2.6", "3.9")),
        ("tasks-leave-new-members", ("0.10.0", "3.1"), ("2.3", "3.2.0")),
        ("tasks-leave-new-members", ("2.3", "2.6.0"), ("2.4", "2.8")),
        ("tasks-leave-new-members", ("2.3", "2.8"), ("2.3", "2.5")),
        ("tasks-go-back-too-early", ("2.8", "2.3"), ("3.2.0", "2.3")),
        ("tasks-dealt-without-lags", ("0.10.0", "2.6.0"), ("2.0", "2.6.0")),
        ("tasks-dealt-without-lags", ("1.1", "3.1"), ("1.1", "3.2.0")),
        ("tasks-dealt-without-lags", ("1.1", "2.8"), ("2.8", "1.1")),
    ],
)
def test_an_upgrade_meets_what_its_releases_differ_in(name, met, not_met):
    assert name in names(*met)
    assert name not in names(*not_met)


def test_members_of_ours_leave_tasks_where_they_are():
    assert not takes_tasks_from_eager_members(release_named("2.3.1"), OURS)


def test_tasks_leave_new_members_where_the_rule_of_plans_says_so():
    pairs = [pair for pair in permutations(KAFKA, 2) if takes_tasks_from_eager_members(*pair)]
    rows = [row for row in HAZARDS if row.name in TESTED_WITH_A_GROUP]

    assert 2 * 25 * 16 == len(pairs)
    assert pairs == [pair for pair in permutations(KAFKA, 2) if any(row.concerns(*pair) for row in rows)]


def test_tasks_are_dealt_without_lags_where_the_rule_of_plans_says_so():
    row = next(row for row in HAZARDS if row.name == DEALS_TASKS)

    assert [pair for pair in permutations(KAFKA, 2) if deals_tasks_without_lags(*pair)] == [
        pair for pair in permutations(KAFKA, 2) if row.concerns(*pair)
    ]


@pytest.mark.parametrize(
    ("origin", "target", "name"),
    [
        ("2.3", "2.8", "tasks-leave-new-members"),
        ("1.1", "3.1", "tasks-leave-new-members"),
        ("2.8", "2.3", "tasks-go-back-too-early"),
        ("2.8", "1.1", None),  # offline
        ("2.3", "3.9", None),
        ("2.3", "2.5", None),
        ("2.3", "4.3", None),  # through a bridge release
        ("2.4", "2.8", None),
    ],
)
def test_a_plan_names_that_tasks_leave_new_members_only_between_its_bounces(origin, target, name):
    found = {each for hazard in advise(release_named(origin), release_named(target)).hazards for each in hazard.names}

    assert found & TESTED_WITH_A_GROUP == ({name} if name else set())


def test_a_bug_of_both_releases_is_named_only_if_upgrades_meet_it():
    assert "kafka-20685" in names("3.9.1", "3.9.2")
    assert "kafka-19012" not in names("3.9.0", "3.9.1")
    assert "kafka-19012" in names("3.9.2", "3.9.1")


def test_a_plan_names_the_hazards_of_every_hop_once():
    found = [name for hazard in advise(release_named("2.3"), release_named("4.3")).hazards for name in hazard.names]

    assert len(found) == len(set(found))
    assert {"session-timeout-45-s", "exactly-once-removed", "stores-converted-by-4.3"} <= set(found)


def test_a_plan_says_which_guides_were_read_and_how_many_entries_they_have():
    origin, target = release_named("4.1"), release_named("4.3")
    advice = advise(origin, target)
    passed = entries_between(origin, target)
    entries = "1 entry" if len(passed.entries) == 1 else f"{len(passed.entries)} entries"

    assert (
        f"Kafka's upgrade guides of Streams and of clients and brokers after 4.1.2 up to 4.3.1 ({entries}), "
        f"{passed.known_bugs} known bugs"
    ) == advice.checked.checked[-1]
    assert {
        "after": "4.1.2",
        "up_to": "4.3.1",
        "entries": len(passed.entries),
        "partly_read": [],
        "known_bugs": passed.known_bugs,
    } == advice.as_json()["guides"]
    assert "whether the topology stays the same" in advice.checked.not_checked
    assert "whether the topology stays the same" not in advice.checked.with_topologies().not_checked
    assert advice.as_json()["checked"] == list(advice.checked.checked)


def test_a_plan_does_not_claim_a_guide_that_was_not_read_to_its_end():
    guides = advise(release_named("4.3"), release_named("4.4")).guides

    assert "entries, of that of clients and brokers of 4.4 only the beginning), " in str(guides)
    assert ["clients and brokers of 4.4"] == guides.as_json()["partly_read"]


def test_the_way_back_has_the_same_guides_and_our_own_members_have_none():
    back = advise(release_named("4.3"), release_named("4.1")).guides

    assert advise(release_named("4.1"), release_named("4.3")).guides == back
    ours = advise(release_named("2.0"), release_named("simulated-4"))
    assert (None, "record formats", None) == (ours.guides, ours.checked.checked[-1], ours.as_json()["guides"])
    assert "(no entries), " in str(advise(release_named("3.9.1"), release_named("3.9.2")).guides)


def test_rows_that_repeat_are_one_row_with_all_sources():
    advice = advise(release_named("2.8"), release_named("4.4"))
    (row,) = [each for each in advice.hazards if each.name.startswith("stores-converted")]

    assert ("stores-converted-by-3.0", "stores-converted-by-4.0", "stores-converted-by-4.3") == row.names
    assert (
        "KAFKA-8897",
        "upgrade guide of 3.0",
        "upgrade guide of 4.0",
        "KIP-1035",
        "upgrade guide of 4.3",
    ) == row.sources
    assert "seen with 2.8.2 and 3.0.2, 3.9.2 and 4.0.2, 4.2.1 and 4.3.1" == row.evidence
    assert row.words.endswith(
        "its files (4.0); offsets are in a column family of their own, whatever upgrade.from is (4.3)"
    )
    plain = row.as_json()
    assert (list(row.names), row.words, ", ".join(row.sources)) == (
        plain["names"],
        plain["symptom"],
        plain["source"],
    )
    assert "before 3.0; before 4.0; before 4.3" == plain["from"]


@pytest.mark.parametrize(("origin", "target"), [("2.8", "4.4"), ("2.3", "4.4"), ("0.10.0", "4.4"), ("4.4", "2.3")])
def test_no_plan_has_a_row_twice_and_the_worst_come_first(origin, target):
    found = advise(release_named(origin), release_named(target)).hazards
    worst_first = list(Severity)

    assert len(found) == len(
        {(each.about, each.severity, each.applies_to, each.symptom, each.remedy) for each in found}
    )
    assert sorted(found, key=lambda each: worst_first.index(each.severity)) == list(found)
    assert order_hazards(found) == found


def test_what_was_seen_is_not_mixed_with_what_was_read():
    first, second = (each for each in HAZARDS if each.name in {"stores-converted-by-3.0", "stores-converted-by-4.0"})

    assert 2 == len(order_hazards([first, evolve(second, seen=())]))
    assert 1 == len(order_hazards([first, second, first]))


def test_a_hazard_in_plain_text_has_its_remedy_and_its_source():
    row = order_hazards(HAZARDS)[0]

    assert [f"- {row.brief}", f"    {row.remedy_line}"] == [*row.lines()][:2]
    assert row.as_json()["source"] == ", ".join(row.sources)
