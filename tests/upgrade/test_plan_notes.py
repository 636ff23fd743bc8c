"""What a plan says beside its steps."""

import pytest

from upgrade import Plan, advise, release_named
from upgrade.releases import RELEASES


def advice(origin, target, *, offline=False):
    return advise(release_named(origin), release_named(target), offline=offline)


def said(origin, target, word, *, offline=False):
    """Return the notes that have a word in them."""
    return [text for text in advice(origin, target, offline=offline).warnings if word in text]


# -- what cannot be rolled -------------------------------------------------------------------------------------------


def test_an_unfixed_release_cannot_be_rolled_to():
    found = advice("0.10.0.1", "1.1.0")

    assert (Plan.OFFLINE, None) == (found.plan, found.upgrade_from)
    assert found.warnings[-1] == (
        '1.1.0 does not know upgrade.from="0.10.0" (KAFKA-6054), so it cannot be rolled; 1.1.1 does'
    )


def test_no_release_of_0_10_1_knows_it():
    assert advice("0.10.0.1", "0.10.1.1").warnings[-1].endswith("cannot be rolled; 0.10.2.2 does")


def test_offline_into_4_still_names_the_bridge():
    found = advice("2.3", "4.3", offline=True)

    assert ("3.9.2 is a bridge: through it the group can be rolled",) == found.warnings


def test_kip_904_the_trap_of_3_5_0_and_3_5_1():
    found = advice("3.4", "3.5.1")

    assert (Plan.OFFLINE, None) == (found.plan, found.upgrade_from)
    assert (
        '3.5.1 does not start with upgrade.from="3.4" (IllegalArgumentException), so it cannot be rolled; 3.5.2 does'
    ) in found.warnings
    assert "3.4" == advice("3.4", "3.5.2").upgrade_from
    assert "3.3" == advice("3.3", "3.5.1").upgrade_from


def test_the_trap_of_3_5_0_is_there_on_the_way_back_and_3_5_2_leads_out():
    (text,) = said("3.5.0", "3.4", "3.5.2")

    assert text.endswith("so it cannot be rolled; 3.5.2 does, so bounce to it first")


def test_nobody_is_told_of_a_release_that_starts_where_no_way_back_rolls():
    assert not said("4.0", "1.1", "cannot be rolled")


# -- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "target", "what"),
    [
        ("2.8", "3.9", "two bounces are for foreign-key joins and tables that are repartitioned;"),
        ("3.2", "3.4", "two bounces are for foreign-key joins;"),
        ("3.4", "3.9", "two bounces are for tables that are repartitioned;"),
        ("3.4", "3.5.1", "stopping is for tables that are repartitioned;"),
    ],
)
def test_formats_alone_are_said_to_be_about_some_topologies_only(origin, target, what):
    (text,) = said(origin, target, "needs one bounce")

    assert text.startswith(what)
    assert f"needs one bounce to {release_named(target)}, without" in text


def test_a_topology_without_these_formats_still_has_what_else_is_in_the_way():
    assert not said("2.3", "3.9", "needs one bounce")
    assert not said("2.8", "3.9", "needs one bounce", offline=True)


@pytest.mark.parametrize(("origin", "offline"), [("3.5.1", False), ("3.9", True)])
def test_going_back_offline_does_not_help_with_records_that_are_left(origin, offline):
    """Of 3.9, which could be rolled back, nothing was said when it was asked for offline."""
    assert said(origin, "3.4", "process them all first", offline=offline)
    assert not said("3.9", "3.4", "process them all first")


def test_members_of_3_3_fail_on_old_foreign_key_joins():
    (text,) = said("3.2", "3.3", "KAFKA-14646")

    assert text.endswith("records of 3.2.3 even so; take 3.4.0 or later")
    assert said("3.2", "3.3", "left in its topics; take 3.4.0", offline=True)


@pytest.mark.parametrize(
    ("origin", "target", "way"),
    [
        ("3.3", "3.9", '3.9.2 writes with upgrade.from="3.3"; take upgrade.from="3.4"'),
        ("3.3", "3.5.1", '3.5.1 writes with upgrade.from="3.3"; take upgrade.from="3.4" and 3.5.2 or later'),
        ("3.9", "3.3", '3.9.2 writes with upgrade.from="3.3"; take upgrade.from="3.4"'),
        ("3.3", "3.2", '3.3.2 writes with upgrade.from="3.2"; bounce to 3.4 first'),
    ],
)
def test_they_also_fail_on_what_others_write_when_they_are_held_back_to_3_3(origin, target, way):
    """``SubscriptionWrapperSerde`` from 3.4 on counts 3.3 among those that write version 0, which 3.3 refuses."""
    (text,) = said(origin, target, "KAFKA-14646")

    assert text.endswith(way)
    assert not said(origin, target, "KAFKA-14646", offline=True)


@pytest.mark.parametrize(("origin", "target"), [("3.2", "3.4"), ("3.3", "3.4"), ("2.3", "3.3"), ("2.8", "3.9")])
def test_nothing_is_said_of_3_3_where_it_reads_no_old_joins(origin, target):
    assert not said(origin, target, "KAFKA-14646")


# -- bugs ------------------------------------------------------------------------------------------------------------


def test_kafka_8649_is_warned_of():
    assert "bounce the leader last" in advice("2.0", "2.1.1").warnings[0]


@pytest.mark.parametrize(
    ("origin", "target", "end"),
    [
        ("2.0", "2.3", "nobody is probed"),
        ("2.1", "3.9", "nobody is probed, and 2.2.2, one bounce away, has the fix"),
        ("2.3.0", "4.3", "nobody is probed, and 2.3.1, one bounce away, has the fix"),
    ],
)
def test_leaders_that_probe_wrongly_are_warned_of(origin, target, end):
    """Neither exploration nor what is played by default shows it: they have one thread and one topic."""
    (text,) = said(origin, target, "probes")

    assert text.startswith(f"with KAFKA-8649: while {release_named(origin)} leads")
    assert text.endswith(f'with upgrade.from="1.1" in a first bounce {end}')


@pytest.mark.parametrize(
    ("origin", "target", "offline"),
    [
        ("2.0", "2.3", True),
        ("2.1", "2.2", False),
        ("2.3.1", "3.9", False),
        ("2.3", "2.0", False),
        ("1.1", "2.0", False),
    ],
)
def test_who_does_not_probe_or_does_it_well_is_not(origin, target, offline):
    assert not said(origin, target, "probes", offline=offline)


@pytest.mark.parametrize(
    ("origin", "target"), [("2.3", "2.8"), ("0.10.2.2", "2.6.0"), ("2.2.2", "3.0"), ("3.0", "2.3")]
)
def test_leaders_that_die_of_tasks_without_state_are_warned_of(origin, target):
    (text,) = said(origin, target, "without state")

    assert text.endswith("if there are tasks with state as well; take 3.1.0 or later")


@pytest.mark.parametrize(
    ("origin", "target", "offline"),
    [("2.3", "3.1", False), ("2.3", "2.5", False), ("2.5", "2.8", False), ("2.3", "2.8", True)],
)
def test_who_does_not_ask_for_their_lag_or_is_not_told_of_them_does_not_die(origin, target, offline):
    assert not said(origin, target, "without state", offline=offline)


@pytest.mark.parametrize(("origin", "target"), [("2.5", "3.9"), ("2.4", "2.6"), ("3.9", "2.5")])
def test_threads_that_are_given_anything_but_what_they_run_are_warned_of(origin, target):
    (text,) = said(origin, target, "threads")

    assert text.endswith("is left: do not pause between the bounces")


@pytest.mark.parametrize(("origin", "target"), [("2.6", "3.9"), ("2.4", "2.5"), ("2.5", "simulated-4")])
def test_threads_of_others_are_not(origin, target):
    assert not said(origin, target, "threads")


def test_kafka_10455_is_warned_of():
    assert "2.6.1 has the fix" in advice("2.5", "2.6.0").warnings[0]
    assert not said("2.5", "2.6", "KAFKA-10455")


def test_kafka_9335_is_warned_of():
    assert said("2.3", "2.4.0", "KAFKA-9335")
    assert not said("2.3", "2.4", "KAFKA-9335")


# -- state -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "target", "why"),
    [("2.3.1", "2.0", "KIP-258"), ("3.0", "2.8", "with 3.0"), ("4.0", "3.9", "with 4.0")],
)
def test_stores_that_cannot_be_opened_are_warned_of(origin, target, why):
    (text,) = said(origin, target, "stores")

    assert f"{why}): start each member with an empty state directory" in text


def test_other_stores_may_be_read():
    (text,) = said("3.9", "3.5", "state")

    assert "may not be able to read" in text


def test_stores_of_the_same_line_are_no_matter():
    """Who goes back to 3.9.1 was told to delete the state of all members."""
    assert not advice("3.9.2", "3.9.1").warnings


def test_going_back_over_4_3_names_the_checkpoint_files():
    assert 'with upgrade.from="4.2" set for a while before' in advice("4.3", "4.2").warnings[-1]


def test_checkpoint_files_are_no_matter_where_the_stores_cannot_be_opened():
    assert not said("4.3", "3.9", "checkpoint")


def test_nothing_is_said_of_stores_that_members_of_ours_do_not_have():
    assert not said("simulated-4", "2.0", "state")
    assert not any("RocksDB" in text for text in advise(RELEASES["3.9.2"], RELEASES["simulated-4"]).warnings)
