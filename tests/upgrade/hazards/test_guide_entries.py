"""The list of the guides' entries and of known bugs is complete in itself: each has a row or a reason."""

import pkgutil
import re
from collections import Counter

import pytest

from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.hazards import (
    HAZARDS,
    KNOWN_BUGS,
    WITHOUT_ROW,
    Guide,
    ReleaseRange,
    Rule,
    entries_between,
    guide_entries,
)
from streams_assignor.upgrade.hazards._behaviours import BEHAVIOURS
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES
from streams_assignor.upgrade.upgrade_from import line_number

ENTRIES = guide_entries()
LINES = [line for line, release in NEWEST_OF_LINE.items() if release.is_released]
KNOWN = {row.name for row in HAZARDS} | {rule.label for rule in Rule}
BUGS = pytest.mark.parametrize("bug", KNOWN_BUGS, ids=lambda bug: bug.issue)


def words(entry):
    return f"{entry.guide.value} {entry.release}: {entry.summary}"


def test_an_entry_has_rows_or_a_reason():
    assert [] == [words(each) for each in ENTRIES if bool(each.rows) == bool(each.reason)]


def test_an_entry_names_only_rows_that_exist():
    assert [] == [(words(each), name) for each in ENTRIES for name in each.rows if name not in KNOWN]


def test_an_entry_is_listed_once():
    assert [] == [entry for entry, times in Counter(map(words, ENTRIES)).items() if times > 1]


def test_an_entry_is_one_line_in_own_words():
    for each in ENTRIES:
        for text in (each.summary, each.reason):
            assert text == " ".join(text.split())
            assert not text.endswith(".")
        assert 10 < len(each.summary) < 160


def test_every_line_has_entries_of_the_guide_of_brokers_and_clients():
    assert [] == [line for line in LINES if not any(line == each.release for each in ENTRIES)]


@pytest.mark.parametrize("guide", Guide)
def test_the_entries_of_a_guide_are_in_the_order_of_releases(guide):
    found = [line_number(each.release) for each in ENTRIES if each.guide is guide]

    assert sorted(found) == found


def test_every_hazard_is_named_by_an_entry_or_a_bug():
    named = {name for each in (*ENTRIES, *KNOWN_BUGS) for name in each.rows}
    own = {hazard.name for bug in KNOWN_BUGS for hazard in bug.hazards()}

    assert {row.name for row in HAZARDS} <= named | own | {row.name for row in BEHAVIOURS}


def test_every_rule_is_named_and_is_there():
    assert {rule.label for rule in Rule} <= {name for each in (*ENTRIES, *KNOWN_BUGS) for name in each.rows}
    for rule in Rule:
        assert pkgutil.resolve_name(rule.value)


@pytest.mark.unmeasured
@BUGS
def test_a_bug_has_rows(bug):
    assert bug.applies_to or bug.rows
    assert set(bug.rows) <= KNOWN


@pytest.mark.unmeasured
@BUGS
def test_a_bug_names_releases_that_have_it_and_releases_that_do_not(bug):
    affected = {release.line for release in RELEASES.values() if release in bug.affected}

    assert affected
    assert release_named(LINES[-1]) not in bug.affected
    for fixed in (bug.affected.before, *bug.affected.backports):
        assert release_named(".".join(map(str, fixed))) not in bug.affected


def test_an_issue_is_listed_once_with_rows_or_a_reason():
    issues = [*(bug.issue for bug in KNOWN_BUGS), *(issue for of in WITHOUT_ROW.values() for issue in of)]

    assert [] == [issue for issue in issues if not re.fullmatch(r"KAFKA-\d+", issue)]
    assert [] == [issue for issue, times in Counter(issues).items() if times > 1]


@pytest.mark.parametrize(
    ("ends", "releases"),
    [
        (("4.2", "4.3"), {"4.3"}),
        (("4.3", "4.2"), {"4.3"}),
        (("4.2.0", "4.2.1"), set()),
        (("4.3.1", "simulated-4"), set()),
    ],
)
def test_an_upgrade_passes_the_entries_after_the_older_release_up_to_the_newer_one(ends, releases):
    assert releases == {each.release for each in entries_between(*map(release_named, ends)).entries}


def test_every_known_bug_is_looked_at():
    assert len(KNOWN_BUGS) == entries_between(release_named("4.3.0"), release_named("4.3.1")).known_bugs
    assert 0 == entries_between(release_named("4.3.1"), release_named("simulated-4")).known_bugs


@pytest.mark.parametrize(
    ("release", "after", "before"),
    [
        ("2.6.1", False, True),
        ("2.6.2", True, False),
        ("2.7.0", False, True),
        ("2.7.1", True, False),
        ("2.8.0", True, False),
        ("0.10.2.0", False, True),
    ],
)
def test_a_range_knows_the_lines_to_which_a_change_was_ported(release, after, before):
    ports = ((2, 6, 2), (2, 7, 1))

    assert after == (release_named(release) in ReleaseRange((2, 8), backports=ports))
    assert before == (release_named(release) in ReleaseRange(before=(2, 8), backports=ports))


def test_a_range_names_the_lines_to_which_a_change_was_ported():
    assert "2.8 and later, also 2.6.2 and later of 2.6, 2.7.1 and later of 2.7" == str(
        ReleaseRange((2, 8), backports=((2, 6, 2), (2, 7, 1)))
    )
    assert "before 2.8, not 2.7.1 and later of 2.7" == str(ReleaseRange(before=(2, 8), backports=((2, 7, 1),)))
    assert "before 3.8, also 3.9.1 and later of 3.9" == str(ReleaseRange(before=(3, 8), backports=((3, 9, 1),)))
    assert ["any", "4.1 to before 4.1.1"] == [str(ReleaseRange()), str(ReleaseRange((4, 1), (4, 1, 1)))]


def test_a_range_has_no_releases_of_our_own():
    assert release_named("simulated-4") not in ReleaseRange()


def test_a_bug_names_the_first_releases_with_its_fix():
    (row,) = (hazard for bug in KNOWN_BUGS if bug.issue == "KAFKA-16017" for hazard in bug.hazards())

    assert "take 3.6.2, 3.7 or later" == row.remedy
