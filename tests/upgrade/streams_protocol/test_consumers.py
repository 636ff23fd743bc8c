"""From the classic protocol of plain consumers to KIP-848: what decides whether members change one by one."""

import pytest

from streams_assignor.upgrade.application.live_group import LiveGroup, LiveMember
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE, Application, Setting, SettingFacts
from streams_assignor.upgrade.streams_protocol import Facts, Target
from streams_assignor.upgrade.streams_protocol.consumers import SeenConsumers, plan_consumers
from streams_assignor.upgrade.verdict import Verdict

AT = Target("orders", "h:9")


def given(**values):
    placed = {
        key.replace("_", "."): Setting(value, f"line {line}") for line, (key, value) in enumerate(values.items(), 1)
    }
    return Facts(applications=(Application(settings=SettingFacts("m", placed)),))


def seen(*policies, level=1, metadata=30, **group):
    brokers = {1: FeatureMetadata(Listener.BROKER, 1, {"metadata.version": (7, metadata)}, {"group.version": level})}
    usual = {"name": "orders", "type": "classic", "state": "Stable", "protocol": "roundrobin"}
    usual |= {"protocol_type": "consumer", "members": (LiveMember("a", ()),) * 3}
    policies = dict(enumerate(policies or ["bidirectional"], 1))
    return SeenConsumers(brokers=brokers, group=LiveGroup(**usual | group), policies=policies)


def statuses(plan):
    return {judged.requirement.name: judged.status.value for judged in plan.judgements}


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        ("cooperative-sticky", "librdkafka's cooperative-sticky puts userdata into assignments, KAFKA-18134"),
        ("org.apache.kafka.clients.consumer.CooperativeStickyAssignor", ""),
        ("range,roundrobin", ""),
    ],
)
def test_the_name_of_an_assignor_tells_whether_assignments_have_userdata(strategy, why):
    """Java has the name of a class there, and its assignor has no userdata in assignments."""
    plan = plan_consumers(given(partition_assignment_strategy=strategy), AT)

    assert why == plan.offline
    assert ("no-userdata" in statuses(plan)) == (not why)


@pytest.mark.parametrize(
    ("strategy", "protocol", "has_range"),
    [
        ("range,roundrobin", "", True),
        ("org.apache.kafka.clients.consumer.StickyAssignor", "", False),
        ("range,roundrobin", "roundrobin", False),
        ("", "range", True),
        ("", "", True),
    ],
)
def test_members_that_assign_by_range_keep_it(strategy, protocol, has_range):
    """Uniform is the default of brokers, and it splits partitions of the same number."""
    facts = given(partition_assignment_strategy=strategy) if strategy else Facts()
    plan = plan_consumers(facts, AT, seen(protocol=protocol))

    assert has_range == ("group.remote.assignor=range" in plan.steps[-2].do)
    assert has_range == any("take uniform" in warning for warning in plan.warnings)


def test_an_assignor_of_ones_own_is_named():
    plan = plan_consumers(given(partition_assignment_strategy="com.example.Mine, range"), AT)

    assert [
        "line 1 names the assignor com.example.Mine, which no broker has: members get uniform, unless one like it is "
        "installed on the brokers (group.consumer.assignors)"
    ] == list(plan.warnings)


def test_settings_that_have_to_go_are_named_with_their_places():
    facts = given(session_timeout_ms="10000", partition_assignment_strategy="roundrobin", heartbeat_interval_ms="6000")
    first, second, _ = plan_consumers(facts, AT).steps

    assert "consumer.session.timeout.ms=45000,consumer.heartbeat.interval.ms=6000" in first.commands[0]
    assert second.do.endswith(
        "without partition.assignment.strategy (line 2), session.timeout.ms (line 1), heartbeat.interval.ms (line 3)"
    )


def test_the_live_group_and_its_brokers_decide():
    online = plan_consumers(given().with_brokers((4, 4)), AT, seen())
    sticky = plan_consumers(given(), AT, seen(protocol="cooperative-sticky"))
    rebalancing = plan_consumers(given(), AT, seen(state="PreparingRebalance", protocol=""))

    assert {"client-release"} == {name for name, status in statuses(online).items() if status == "open"}
    assert {"open"} == {statuses(plan)["no-userdata"] for plan in (sticky, rebalancing)}


@pytest.mark.parametrize(
    ("shown", "undecided"),
    [
        (None, {"group-version", "migration-policy", "no-userdata"}),
        (seen(""), {"migration-policy"}),
        (seen("bidirectional", ""), {"migration-policy"}),
        (seen(protocol=""), {"no-userdata"}),
        (seen(protocol="com.example.mine"), {"no-userdata"}),
        (SeenConsumers(brokers={}, group=seen().group, policies={1: "upgrade"}), {"group-version"}),
    ],
)
def test_what_was_not_seen_is_open(shown, undecided):
    """An assignor of one's own was none that ever has userdata, as one look showed none."""
    found = statuses(plan_consumers(given().with_brokers((4, 4)), AT, shown))

    assert undecided | {"client-release"} == {name for name, status in found.items() if status == "open"}


@pytest.mark.parametrize(
    ("shown", "blocking"),
    [
        (seen(level=0), ("group-version",)),
        (seen(metadata=21), ("broker-release",)),
        (seen(type="share"), ("group-type",)),
    ],
)
def test_what_blocks_is_named(shown, blocking):
    plan = plan_consumers(given(), AT, shown)

    assert Verdict.UNSAFE is plan.verdict
    assert blocking == plan.conditions
    assert plan.headline.endswith(f"; blocked by {blocking[0]}")


def test_a_broker_that_shows_no_release_is_said_to_show_none():
    """It was "features of 3.0", which it does not have."""
    silent = {1: FeatureMetadata(Listener.BROKER, 1, {}, {})}
    plan = plan_consumers(given(), AT, SeenConsumers(brokers=silent, group=seen().group))

    assert "broker 1: no metadata.version, as before 3.3, with ZooKeeper, or of another make" == plan.checks[0].text


@pytest.mark.parametrize(
    ("policies", "way_back"),
    [
        (["upgrade"], ("offline", True, "(group.consumer.migration.policy is upgrade)")),
        (["BIDIRECTIONAL"], ("open", False, "when the last new member has left")),
        (["bidirectional", "upgrade"], ("offline", True, "(group.consumer.migration.policy is upgrade on broker 2)")),
        ([""], ("open", False, ", if group.consumer.migration.policy is bidirectional or downgrade")),
    ],
)
def test_the_policies_of_all_brokers_decide_the_way_back(policies, way_back):
    """Any of them can be the coordinator of the group then."""
    plan = plan_consumers(given(), AT, seen(*policies))
    back = plan.steps[-1].way_back

    assert "" == plan.offline
    assert way_back[:2] == (back.verdict.value, back.how.startswith("stop every member"))
    assert back.how.endswith(way_back[2])


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        (["disabled", "disabled"], "disabled"),
        (["bidirectional", "downgrade", "disabled", "Disabled"], "downgrade on broker 2; disabled on broker 3, 4"),
        (["disabled", ""], "disabled on broker 1"),
    ],
)
def test_brokers_that_forbid_the_change_are_named(policies, why):
    """The policy was that of the broker with the lowest number."""
    plan = plan_consumers(given(), AT, seen(*policies))

    assert f"group.consumer.migration.policy is {why}" == plan.offline
    assert "migration-policy" not in statuses(plan)


def test_brokers_that_do_not_tell_their_policy_are_named():
    plan = plan_consumers(given(), AT, seen("upgrade", "", ""))
    (judged,) = (each for each in plan.judgements if each.requirement.name == "migration-policy")

    assert ("it is upgrade on broker 1",) == judged.concern.evidence
    assert ("broker 2, 3, which did not tell it",) == judged.concern.decided_by


@pytest.mark.parametrize(
    "setting",
    [
        Setting(UNKNOWN_VALUE, "line 1"),
        Setting("range", "line 1", is_default=True),
        Setting("range, ${}", "line 1"),
    ],
)
def test_a_placeholder_is_no_name_of_an_assignor(setting):
    """It was one that no broker has."""
    settings = SettingFacts("m", {"partition.assignment.strategy": setting})
    plan = plan_consumers(Facts(applications=(Application(settings=settings),)), AT)

    assert "and, if members assign by range now, group.remote.assignor=range, without" in plan.steps[-2].do
    assert [
        "line 1 does not tell the value of partition.assignment.strategy: if it is range, give "
        "group.remote.assignor=range, too, and if it is librdkafka's cooperative-sticky, give --offline"
    ] == list(plan.warnings)


def test_assignors_that_differ_between_conditions_are_not_told():
    places = [{"partition.assignment.strategy": Setting(name, name)} for name in ("range", "roundrobin")]
    applications = tuple(Application(settings=SettingFacts("m", values)) for values in places)

    assert "if members assign by range now" in plan_consumers(Facts(applications=applications), AT).steps[-2].do


@pytest.mark.parametrize(
    ("facts", "shown", "verdict"),
    [(Facts(), None, Verdict.SAFE_IF), (given(), None, Verdict.UNKNOWN), (Facts(), seen(), Verdict.UNKNOWN)],
)
def test_what_files_or_a_group_leave_open_is_not_proven(facts, shown, verdict):
    """It was safe under conditions; without them the plan is for any group."""
    plan = plan_consumers(facts, AT, shown)

    assert verdict is plan.verdict
    assert f"protocol: {verdict.words}: online: one rolling bounce" in plan.headline
    assert plan.headline.endswith("client-release" if shown else "no-userdata")


def test_a_group_without_members_needs_no_bounce():
    plan = plan_consumers(given().with_brokers((4, 4)), AT, seen(state="Empty", protocol="", members=()))

    assert ("it has no members", {"client-release"}) == (plan.offline, set(plan.conditions))


def test_the_way_may_be_offline_by_choice():
    plan = plan_consumers(given(), AT, seen(), offline=True)

    assert "offline: stop everything, then start everything (--offline)" in plan.headline
    assert ["stop every member", "start every member"] == [
        " ".join(step.do.split()[:3]).rstrip(",") for step in plan.steps[:2]
    ]
    assert "Stable, members: 3; all of them have to stop" in {check.text for check in plan.checks}
