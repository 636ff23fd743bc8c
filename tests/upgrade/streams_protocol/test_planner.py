"""From the classic to the streams protocol and back: verdicts, steps, commands."""

import pytest
from attrs import evolve

from upgrade.errors import ConfigException, UpgradeError
from upgrade.plans import Plan
from upgrade.releases import release_named
from upgrade.streams_protocol import (
    GROUP_CONFIGURATIONS,
    IGNORED_SETTINGS,
    Facts,
    Protocol,
    Reliance,
    RequirementStatus,
    Target,
    plan_migration,
    reliances_named,
)
from upgrade.topology_description import parse_topology_description
from upgrade.verdict import TopologyFacts, TopologyFeature, Verdict

NEW = release_named("4.3.1")
OLD = release_named("2.8.2")
AT = Target("billing", "localhost:9092")
KNOWN = Facts(absent=frozenset(Reliance), broker=(4, 3, 1), streams_version=1, settings={})
TOPOLOGY = "Sub-topology: 0\n    Source: a (topics: {topics})\n      --> b\n    Processor: b (stores: [{stores}])\n"


def planned(origin=NEW, target=NEW, protocol=Protocol.STREAMS, facts=KNOWN, **how):
    return plan_migration(origin, target, protocol, facts, AT, **how)


def statuses(facts, target=NEW):
    found = planned(target, target, facts=facts)
    return {each.requirement.name: each.status for each in found.judgements}


def with_settings(**settings):
    return planned(facts=Facts(settings={key.replace("_", "."): value for key, value in settings.items()}))


def nodes(topics="[t]", stores=""):
    return parse_topology_description(TOPOLOGY.format(topics=topics, stores=stores))


def test_nothing_known_leaves_every_requirement_open():
    found = planned(facts=Facts())

    assert Verdict.SAFE_IF is found.verdict
    assert {RequirementStatus.OPEN} == {each.status for each in found.judgements}
    assert (
        *("broker-release", "streams-version", "kafka-20254"),
        *("static-members", "pattern-subscriptions", "named-topologies", "warm-ups"),
    ) == found.conditions


def test_everything_known_is_safe():
    found = planned()

    assert (Verdict.SAFE, ()) == (found.verdict, found.conditions)
    assert [
        "stop every member of 4.3.1, and wait until the group is empty",
        "start every member as 4.3.1 with group.protocol=streams",
        "check that the group is a streams group, has its tasks and standby tasks, and that lags fall",
    ] == [step.do for step in found.steps]


@pytest.mark.parametrize(
    ("broker", "release", "bug"),
    [
        ((3, 9, 2), RequirementStatus.BLOCKED, RequirementStatus.MET),
        ((4, 1, 2), RequirementStatus.BLOCKED, RequirementStatus.MET),
        ((4, 2), RequirementStatus.MET, RequirementStatus.OPEN),
        ((4, 2, 0), RequirementStatus.MET, RequirementStatus.BLOCKED),
        ((4, 2, 1), RequirementStatus.MET, RequirementStatus.MET),
        ((4, 3), RequirementStatus.MET, RequirementStatus.MET),
    ],
)
def test_the_release_of_the_brokers_decides(broker, release, bug):
    found = statuses(Facts(broker=broker))

    assert (release, bug) == (found["broker-release"], found["kafka-20254"])


@pytest.mark.parametrize(("level", "status"), [(0, RequirementStatus.BLOCKED), (1, RequirementStatus.MET)])
def test_streams_version_decides(level, status):
    assert status is statuses(Facts(streams_version=level))["streams-version"]


@pytest.mark.parametrize("prefix", ["", "consumer.", "main.consumer."])
def test_static_members_block_whatever_the_prefix(prefix):
    found = planned(facts=Facts(settings={f"{prefix}group.instance.id": "one"}))

    assert (Verdict.UNSAFE, ("static-members",)) == (found.verdict, found.conditions)


def test_static_members_need_clients_and_brokers_of_4_4():
    static = {"group.instance.id": "one"}
    newer = plan_migration(NEW, NEW, Protocol.STREAMS, Facts(settings=static, broker=(4, 4, 0)), AT)

    assert "static-members" in newer.conditions
    assert RequirementStatus.MET is statuses_of_4_4(static, (4, 4, 0))["static-members"]
    assert RequirementStatus.MET is statuses_of_4_4(static, (4, 4))["static-members"]
    assert RequirementStatus.BLOCKED is statuses_of_4_4(static, (4, 3, 1))["static-members"]
    assert RequirementStatus.BLOCKED is statuses_of_4_4(static, None)["static-members"]


def statuses_of_4_4(settings, broker):
    from upgrade.releases import resolve_release

    return statuses(Facts(settings=settings, broker=broker), resolve_release("4.4", assume="4.3").release)


def test_a_topology_shows_patterns_and_stores():
    assert RequirementStatus.BLOCKED is statuses(Facts(nodes=nodes("orders-.*")))["pattern-subscriptions"]
    stateful = statuses(Facts(nodes=nodes(stores="store")))
    assert (RequirementStatus.MET, RequirementStatus.OPEN) == (stateful["pattern-subscriptions"], stateful["warm-ups"])
    assert RequirementStatus.MET is statuses(Facts(nodes=nodes()))["warm-ups"]


def test_the_printed_line_has_the_values_of_the_members():
    found = with_settings(num_standby_replicas="1", session_timeout_ms="50000")

    assert (
        "kafka-configs --bootstrap-server localhost:9092 --alter --entity-type groups --entity-name billing "
        "--add-config streams.num.standby.replicas=1,streams.session.timeout.ms=50000"
    ) in found.steps[0].commands
    assert "no standby tasks" in found.steps[0].if_skipped


@pytest.mark.parametrize(
    ("given", "applied", "limit"),
    [
        ("10000", 45_000, "group.streams.min.session.timeout.ms"),
        ("45000", 45_000, None),
        ("60000", 60_000, None),
        ("90000", 60_000, "group.streams.max.session.timeout.ms"),
    ],
)
def test_a_value_that_brokers_refuse_becomes_the_nearest_one(given, applied, limit):
    found = with_settings(session_timeout_ms=given)

    assert [(applied, limit)] == [(each.applied, each.limit) for each in found.settings]
    assert (limit is not None) == any(f"session.timeout.ms={given} is outside" in note for note in found.warnings)
    assert {"setting": "session.timeout.ms", "value": int(given), "applied": applied, "limited_by": limit}.items() <= (
        found.as_json()["settings"][0].items()
    )


def test_unknown_settings_stay_placeholders():
    found = planned(facts=Facts())

    assert "streams.num.standby.replicas=<num.standby.replicas>" in found.steps[0].commands[0]
    assert any("--config" in note for note in found.warnings)
    assert {None} == {each.limit for each in found.settings}


@pytest.mark.parametrize("value", ["", "-1", "one", "1" * 5_000, "٣"])
def test_a_setting_that_is_no_number_is_refused(value):
    with pytest.raises(ConfigException, match=r"Invalid value .* for configuration num\.standby\.replicas"):
        with_settings(num_standby_replicas=value)


def test_settings_without_a_counterpart_are_named():
    ignored = {"max.warmup.replicas": "3", "rack.aware.assignment.tags": "zone", "state.dir": "/tmp"}
    found = planned(facts=Facts(settings=ignored))
    newer = planned(facts=Facts(settings=ignored, broker=(4, 4, 0)))

    assert ["max.warmup.replicas", "rack.aware.assignment.tags"] == [
        note.partition(" has no effect")[0] for note in found.warnings if "has no effect" in note
    ]
    assert not any("max.warmup.replicas has" in note for note in newer.warnings)
    assert "streams.num.warmup.replicas=3" in newer.steps[0].commands[0]


@pytest.mark.parametrize(
    "name",
    [
        *("main.consumer.max.warmup.replicas", "consumer.rack.aware.assignment.strategy", "consumer.upgrade.from"),
        *("client.tag.zone", "consumer.client.tag.zone"),
    ],
)
def test_a_setting_without_a_counterpart_is_named_as_it_is_given(name):
    assert any(note.startswith(f"{name} has no effect") for note in planned(facts=Facts(settings={name: "1"})).warnings)


def test_a_setting_with_a_prefix_that_is_replaced_is_not_called_ineffective():
    found = planned(facts=Facts(settings={"consumer.session.timeout.ms": "45000"}))

    assert not any("has no effect" in note for note in found.warnings)
    assert "streams.session.timeout.ms=45000" in found.steps[0].commands[0]


def test_no_setting_is_both_ignored_and_replaced_by_brokers_of_4_2():
    replaced = {row.replaces for row in GROUP_CONFIGURATIONS if row.replaces and row.since <= (4, 2)}

    assert not any(row.concerns(name) for row in IGNORED_SETTINGS for name in replaced)


def test_an_older_release_is_upgraded_first():
    facts = TopologyFacts(absent=frozenset({TopologyFeature.FOREIGN_KEY_JOINS}))
    found = planned(OLD, NEW)
    known = planned(OLD, NEW, topology=facts)

    assert "bounce every member to 4.3.1" in found.steps[0].do
    assert "stop every member of 4.3.1" in found.steps[2].do
    assert ("2.8", "two_bounces") == (found.as_json()["upgrade_from"], found.as_json()["first"])
    assert (Verdict.SAFE_IF, ("no foreign-key-joins", "no repartitioned-tables")) == (found.verdict, found.conditions)
    assert ("no repartitioned-tables",) == known.conditions
    assert any("2.8.2 has no streams protocol" in note for note in found.warnings)
    assert not any(each.name == "streams-groups-of-4.2.0" for each in found.hazards)


def test_what_blocks_is_named_without_the_conditions_of_the_upgrade_before():
    found = planned(OLD, NEW, facts=Facts(broker=(3, 9, 2)))

    assert (Verdict.UNSAFE, ("broker-release",)) == (found.verdict, found.conditions)


def test_an_unsafe_upgrade_before_makes_the_whole_plan_unsafe():
    found = planned(OLD, NEW)
    broken = evolve(found.first.guidance, verdict=Verdict.UNSAFE)

    assert Verdict.UNSAFE is evolve(found, first=evolve(found.first, guidance=broken)).verdict


def test_offline_needs_no_upgrade_before():
    found = planned(OLD, NEW, offline=True)

    assert (None, "stop every member of 2.8.2, and wait until the group is empty") == (found.first, found.steps[0].do)
    assert "no group.protocol, which 2.8.2 does not have" in found.steps[0].way_back.how
    assert "cannot open the stores" in found.steps[1].way_back.how


def test_back_to_the_classic_protocol_nothing_blocks():
    found = planned(protocol=Protocol.CLASSIC, facts=Facts(settings={"num.standby.replicas": "1"}))

    assert (Verdict.SAFE, (), ()) == (found.verdict, found.judgements, found.settings)
    assert "start every member as 4.3.1 with group.protocol=classic" == found.steps[1].do
    assert found.steps[-1].commands[0].endswith("--delete-config streams.num.standby.replicas")
    assert () == found.warnings


def test_back_to_an_older_release():
    found = planned(NEW, release_named("3.9"), Protocol.CLASSIC)

    assert "start every member as 3.9.2 with no group.protocol, which 3.9.2 does not have" == found.steps[1].do
    assert "remove the group configurations" not in [step.do for step in found.steps]
    assert any(each.name.startswith("stores-") or "stores" in each.applies_to for each in found.hazards)


@pytest.mark.parametrize(
    ("origin", "target", "protocol", "message"),
    [
        ("4.3.1", "4.1.2", Protocol.STREAMS, "TO of Kafka Streams 4.2 or later .* 4.1.2 has an early access version"),
        ("2.8", "3.9", Protocol.STREAMS, "TO of Kafka Streams 4.2 or later .* got 3.9.2"),
        ("4.0", "4.3", Protocol.CLASSIC, "FROM of Kafka Streams 4.2 or later .* got 4.0.2"),
        ("4.3", "simulated-4", Protocol.STREAMS, "TO of Kafka Streams 4.2 or later .* got simulated-4"),
        ("4.3", "simulated-4", Protocol.CLASSIC, "for releases of Kafka, got 4.3.1 and simulated-4"),
    ],
)
def test_a_release_without_streams_protocol_is_refused(origin, target, protocol, message):
    with pytest.raises(UpgradeError, match=message):
        planned(release_named(origin), release_named(target), protocol)


@pytest.mark.parametrize(("names", "message"), [("regex", "unknown feature 'regex'"), (" , ", "no feature is named")])
def test_unknown_names_are_refused(names, message):
    with pytest.raises(UpgradeError, match=f"{message}.* expected static-members or "):
        reliances_named(names)


def test_commands_quote_what_the_shell_would_split():
    at = Target("my group", "h:1", "my file")
    (line, *_) = plan_migration(NEW, NEW, Protocol.CLASSIC, KNOWN, at).steps[0].commands

    assert "streams-assignor group 'my group' --bootstrap-servers h:1 --command-config 'my file' --wait empty" == line


@pytest.mark.parametrize(("members", "number"), [(3, "3"), (None, "NUMBER")])
def test_a_wait_for_members_names_their_number(members, number):
    """``group --wait stable`` refuses to guess how many there have to be."""
    at = evolve(AT, members=members)
    lines = [line for step in plan_migration(NEW, NEW, Protocol.STREAMS, KNOWN, at).steps for line in step.commands]

    assert [f"--wait stable --members {number}"] == [line[line.index("--wait") :] for line in lines if "stable" in line]


def test_the_json_form_has_every_row():
    found = planned(facts=Facts()).as_json()

    assert ("classic", "streams", Plan.OFFLINE.value) == tuple(
        found[key] for key in ("from_protocol", "to_protocol", "plan")
    )
    assert {"name", "status", "condition", "symptom", "remedy", "source", "evidence"} == found["requirements"][0].keys()
    assert {"read, not run", "seen with 4.2.2 and 4.3.1"} >= {each["evidence"] for each in found["requirements"][3:]}
    assert {True, False} == {each["survives"] for each in found["survives"]}


def test_a_requirement_that_holds_is_one_line():
    met, blocked = (each.lines() for each in planned(facts=Facts(broker=(4, 2, 0))).judgements[::2][:2])

    assert ("- met: every broker is of 4.2 or later",) == met
    assert blocked[0].startswith("- blocked: no broker is of 4.2.0; else ")
