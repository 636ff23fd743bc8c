"""The settings of an application and the plan itself."""

import pytest

from streams_assignor.upgrade.application.parameters import PlanParameters, plan_parameters
from streams_assignor.upgrade.application.setting_files import Settings, kafka_settings
from streams_assignor.upgrade.application.setting_forms import Entry
from streams_assignor.upgrade.releases import release_named


def parameters(**settings):
    return plan_parameters(Settings.of({key.replace("_", "."): value for key, value in settings.items()}))


def notes(needed=None, origin="3.9", target="4.3", **settings):
    return list(parameters(**settings).notes(release_named(origin), release_named(target), needed))


def test_settings_say_how_large_the_group_is():
    found = parameters(
        num_standby_replicas=" 2 ",
        main_consumer_session_timeout_ms="9000",
        session_timeout_ms="1",
        group_instance_id="${POD}",
        upgrade_from="2.8",
        group_protocol="Streams",
        task_assignor_class="com.example.A",
    )

    assert {
        "static": True,
        "standbys": 2,
        "session_timeout_ms": 9000,
        "upgrade_from": "2.8",
        "group_protocol": "streams",
        "task_assignor": "task.assignor.class",
    } == found.as_json()


def test_what_cannot_be_read_or_is_not_set_says_nothing():
    assert PlanParameters() == parameters()
    keys = frozenset({"num.standby.replicas", "group.protocol"})
    assert PlanParameters(placeholders=keys) == parameters(
        num_standby_replicas="${X}", session_timeout_ms="x", upgrade_from="hunter2", group_protocol="${X}"
    )
    assert not parameters(task_assignor_class="org.apache.kafka.streams.X").task_assignor


@pytest.mark.parametrize(
    ("origin", "target", "text"),
    [
        ("4.2", "4.3", ""),
        ("3.9", "4.0", ""),
        ("3.9", "4.3", "group.protocol=streams, which 3.9.2 does not have: members of both protocols cannot be in one"),
        ("4.3", "3.9", "see plan --to-protocol classic"),
    ],
)
def test_both_releases_need_the_protocol_of_the_settings(origin, target, text):
    found = parameters(group_protocol="streams").blocked(release_named(origin), release_named(target))

    assert text in found
    assert bool(text) == bool(found)
    assert "" == PlanParameters().blocked(release_named(origin), release_named(target))


@pytest.mark.parametrize(("target", "is_open"), [("3.9", True), ("4.2", False)])
def test_a_placeholder_leaves_the_protocol_open(target, is_open):
    """It was taken for the classic one."""
    found = parameters(group_protocol="${X}").open_protocol(release_named("4.3"), release_named(target), None)

    assert is_open == found.startswith("group.protocol has a placeholder; if it is streams: group.protocol=streams, wh")
    assert "" == parameters().open_protocol(release_named("4.3"), release_named(target), None)


def test_what_is_set_now_is_named_beside_what_the_plan_needs():
    assert ["upgrade.from has a placeholder"] == [each[:30] for each in notes("2.8", upgrade_from="${X}")]
    assert [] == notes("2.8", upgrade_from="2.8", origin="2.8")
    assert [
        'upgrade.from="2.3" is set, as within another upgrade; with it a member of 2.8.2 offers the eager protocol '
        'only (KIP-429): give it the value "2.8" in step 1'
    ] == notes("2.8", upgrade_from="2.3", origin="2.8")
    assert ['upgrade.from="3.9" is set, as within another upgrade: remove it before step 1'] == notes(
        upgrade_from="3.9"
    )
    assert ["group.protocol=streams: brokers"] == [each[:31] for each in notes(group_protocol="streams", origin="4.2")]
    assert [] == notes(group_protocol="streams", origin="3.9")
    assert [
        "internal.task.assignor.class names a class of the application: what is simulated has Kafka's task assignor"
    ] == (notes(internal_task_assignor_class="a.B"))


def test_a_setting_that_a_profile_changes_is_named():
    settings = kafka_settings(
        [
            Entry("kafka-streams.num.standby.replicas", "1", 1),
            Entry("%prod.kafka-streams.num.standby.replicas", "2", 2),
        ]
    )
    found = plan_parameters(settings)

    assert 1 == found.standbys
    assert ["num.standby.replicas is another one with profile prod; the plan is for the settings without it"] == list(
        found.notes(release_named("3.9"), release_named("4.3"), None)
    )
