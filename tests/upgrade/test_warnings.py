"""Warnings of a plan, by code; the wording of a few."""

import pytest

from streams_assignor.upgrade import Plan, advise, release_named
from streams_assignor.upgrade._messages import MessageCode, MessageList, PlanMessage
from streams_assignor.upgrade.releases import RELEASES

FOR_RECORDS = ("TWO_BOUNCES_FOR_RECORDS", "STOPPING_FOR_RECORDS")


def advice(origin, target, *, offline=False):
    return advise(release_named(origin), release_named(target), offline=offline)


def warnings(origin, target, prefix, *, offline=False):
    """Return the texts of the warnings with a code that begins with `prefix`."""
    found = advice(origin, target, offline=offline).warnings
    return [str(warning) for warning in found if warning.code.name.startswith(prefix)]


def texts(origin, target, *, offline=False):
    return [str(warning) for warning in advice(origin, target, offline=offline).warnings]


@pytest.mark.unmeasured
@pytest.mark.parametrize("code", MessageCode, ids=lambda code: code.name)
def test_every_template_renders_with_its_parameters(code):
    part = MessageList((PlanMessage(MessageCode.FOREIGN_KEY_JOINS), PlanMessage(MessageCode.REPARTITIONED_TABLES)))
    releases = dict.fromkeys(["origin", "target", "behind", "ahead", "newer", "fixed", "bridge"], RELEASES["2.1.1"])
    releases["release"] = RELEASES["2.6.0"]
    lists = dict.fromkeys(["effects", "formats"], part)
    texts = {
        "value": "1.1",
        "option": "a=b",
        "exception": "E",
        "remedy": "",
        "changes": "a=b",
        "rows": "r",
        "symptoms": "it stops",
    }
    text = str(PlanMessage.of(code, {**releases, **lists, **texts}))

    assert text
    assert "{" not in text
    assert "None" not in text


def test_equal_messages_are_listed_once():
    twice = MessageList.of([MessageCode.NEW_RECORDS, MessageCode.NEW_RECORDS], {})

    assert "now every member reads the new records" == str(twice)


def test_messages_of_a_list_are_separated_in_text_as_in_json():
    both = MessageList((PlanMessage(MessageCode.NEW_RECORDS), PlanMessage(MessageCode.RECORDS_STAY)))

    assert "now every member reads the new records; the records stay as they were" == str(both) == f"{both}"
    assert "now every member reads the new records and the records stay as they were" == f"{both: and }"


# -- what cannot be rolled -------------------------------------------------------------------------------------------


def test_a_release_with_kafka_6054_cannot_be_rolled_to():
    found = advice("0.10.0.1", "1.1.0")

    assert (Plan.OFFLINE, None) == (found.plan, found.upgrade_from)
    assert str(found.warnings[-1]) == (
        '1.1.0 does not know upgrade.from="0.10.0" (KAFKA-6054), so it cannot be rolled; 1.1.1 does'
    )


def test_no_release_of_0_10_1_has_the_fix():
    assert texts("0.10.0.1", "0.10.1.1")[-1].endswith("cannot be rolled; 0.10.2.2 does")


def test_offline_into_4_still_names_the_bridge_release():
    assert ["3.9.2 is a bridge release: through it the group can be rolled"] == texts("2.3", "4.3", offline=True)


def test_kip_904_3_5_0_and_3_5_1_fail_at_startup_with_3_4():
    found = advice("3.4", "3.5.1")

    assert (Plan.OFFLINE, None) == (found.plan, found.upgrade_from)
    assert (
        '3.5.1 does not start with upgrade.from="3.4" (IllegalArgumentException), so it cannot be rolled; 3.5.2 does'
    ) in texts("3.4", "3.5.1")
    assert "3.4" == advice("3.4", "3.5.2").upgrade_from
    assert "3.3" == advice("3.3", "3.5.1").upgrade_from


def test_a_downgrade_from_3_5_0_goes_through_3_5_2():
    (text,) = warnings("3.5.0", "3.4", "VALUE_")

    assert text.endswith("so it cannot be rolled; 3.5.2 does, so bounce to it first")


def test_no_remedy_is_named_where_no_rolling_downgrade_exists():
    assert not warnings("4.0", "1.1", "VALUE_")


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
def test_record_formats_alone_matter_to_some_topologies_only(origin, target, what):
    (text,) = warnings(origin, target, FOR_RECORDS)

    assert text.startswith(what)
    assert f"needs one bounce to {release_named(target)}, without" in text


def test_no_such_warning_if_there_are_other_obstacles():
    assert not warnings("2.3", "3.9", FOR_RECORDS)
    assert not warnings("2.8", "3.9", FOR_RECORDS, offline=True)


@pytest.mark.parametrize(("origin", "offline"), [("3.5.1", False), ("3.9", True)])
def test_an_offline_downgrade_leaves_records_that_cannot_be_read(origin, offline):
    """Offline is asked for, although 3.9 could be rolled back."""
    assert warnings(origin, "3.4", "RECORDS_LEFT", offline=offline)
    assert not warnings("3.9", "3.4", "RECORDS_LEFT")


def test_members_of_3_3_fail_on_old_foreign_key_joins():
    (text,) = warnings("3.2", "3.3", "KAFKA_14646")

    assert text.endswith("records of 3.2.3 even so; take 3.4.0 or later")
    assert warnings("3.2", "3.3", "KAFKA_14646_RECORDS_LEFT", offline=True)


@pytest.mark.parametrize(
    ("origin", "target", "way"),
    [
        ("3.3", "3.9", '3.9.2 writes with upgrade.from="3.3"; take upgrade.from="3.4"'),
        ("3.3", "3.5.1", '3.5.1 writes with upgrade.from="3.3"; take upgrade.from="3.4" and 3.5.2 or later'),
        ("3.9", "3.3", '3.9.2 writes with upgrade.from="3.3"; take upgrade.from="3.4"'),
        ("3.3", "3.2", '3.3.2 writes with upgrade.from="3.2"; bounce to 3.4 first'),
    ],
)
def test_members_of_3_3_fail_on_what_others_write_with_upgrade_from_3_3(origin, target, way):
    """``SubscriptionWrapperSerde`` from 3.4 on counts 3.3 among those that write version 0, which 3.3 refuses."""
    (text,) = warnings(origin, target, "KAFKA_14646")

    assert text.endswith(way)
    assert not warnings(origin, target, "KAFKA_14646", offline=True)


@pytest.mark.parametrize(("origin", "target"), [("3.2", "3.4"), ("3.3", "3.4"), ("2.3", "3.3"), ("2.8", "3.9")])
def test_no_warning_where_members_of_3_3_read_no_old_joins(origin, target):
    assert not warnings(origin, target, "KAFKA_14646")


# -- bugs ------------------------------------------------------------------------------------------------------------


def test_a_plan_that_avoids_kafka_8649_has_no_warning_of_it():
    """It advised to bounce the leader last beside two bounces in which no leader probes."""
    assert "KAFKA-8649" in str(advice("2.0", "2.1.1").steps[0].why)
    assert not [text for text in texts("2.0", "2.1.1") if "KAFKA-8649" in text]


@pytest.mark.parametrize(("origin", "target"), [("2.0", "2.3.1"), ("2.1", "3.9"), ("3.9", "2.1"), ("2.2.2", "2.0")])
def test_a_plan_names_the_wrong_answers_that_it_avoids(origin, target):
    """A sweep does not find them: its processes have one thread, and its workload one topic."""
    first, *_ = advice(origin, target).steps

    assert 'upgrade.from="1.1"' in str(first.do)
    assert f"a leader of {release_named(min(origin, target))} that probes" in str(first.if_skipped)
    assert "KAFKA-8649" in first.source


@pytest.mark.parametrize(("origin", "target"), [("2.1", "2.2.2"), ("2.3.1", "3.9"), ("1.1", "2.0")])
def test_leaders_that_do_not_probe_or_probe_correctly_are_not_named(origin, target):
    assert not [step for step in advice(origin, target).steps if "that probes" in str(step.if_skipped)]


@pytest.mark.parametrize(
    ("origin", "target"), [("2.3", "2.8"), ("0.10.2.2", "2.6.0"), ("2.2.2", "3.0"), ("3.0", "2.3")]
)
def test_leaders_that_fail_on_stateless_tasks_cause_a_warning(origin, target):
    (text,) = warnings(origin, target, "MISSING_LAG")

    assert text.endswith("if there are stateful tasks as well; take 3.1.0 or later")


@pytest.mark.parametrize(
    ("origin", "target", "offline"),
    [("2.3", "3.1", False), ("2.3", "2.5", False), ("2.5", "2.8", False), ("2.3", "2.8", True)],
)
def test_no_warning_if_the_leader_needs_no_lag_or_the_tasks_are_not_reported(origin, target, offline):
    assert not warnings(origin, target, "MISSING_LAG", offline=offline)


@pytest.mark.parametrize(("origin", "target"), [("2.5", "3.9"), ("2.4", "2.6"), ("3.9", "2.5")])
def test_threads_that_never_get_back_their_tasks_cause_a_warning(origin, target):
    (text,) = warnings(origin, target, "ENDLESS_REBALANCES")

    assert text.endswith("is left: do not pause between the bounces")


@pytest.mark.parametrize(("origin", "target"), [("2.6", "3.9"), ("2.4", "2.5"), ("2.5", "simulated-4")])
def test_threads_of_other_releases_cause_no_warning(origin, target):
    assert not warnings(origin, target, "ENDLESS_REBALANCES")


def test_kafka_10455_causes_a_warning():
    assert "2.6.1 has the fix" in texts("2.5", "2.6.0")[0]
    assert not warnings("2.5", "2.6", "RELEASE_NOTE")


def test_kafka_9335_causes_a_warning():
    assert warnings("2.3", "2.4.0", "KAFKA_9335")
    assert not warnings("2.3", "2.4", "KAFKA_9335")
