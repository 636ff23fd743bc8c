"""From the classic to the streams protocol and back: verdicts, steps, commands."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.application_plan import PlannedApplication
from streams_assignor.upgrade.errors import ConfigException, UpgradeError
from streams_assignor.upgrade.group_configurations import GROUP_CONFIGURATIONS, IGNORED_SETTINGS, REPLACED_SETTINGS
from streams_assignor.upgrade.hazards import (
    Answer,
    Application,
    ApplicationTopology,
    CodeFacts,
    CodeSettings,
    Setting,
    SettingFacts,
)
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import resolve_release
from streams_assignor.upgrade.streams_protocol import (
    Facts,
    Protocol,
    Reliance,
    RequirementStatus,
    Target,
    reliances_named,
)
from streams_assignor.upgrade.streams_protocol.planner import plan_migration
from streams_assignor.upgrade.topology_description import parse_topology_description
from streams_assignor.upgrade.verdict import TopologyFeature, Verdict

NEW = resolve_release("4.3.1")
NEWEST = resolve_release("4.4.0")
OLD = resolve_release("2.8.2")
AT = Target("billing", "localhost:9092")
READ = CodeFacts(
    "app.jar",
    has_libraries=True,
    has_own_classes=True,
    makes_streams=True,
    builds_topology=True,
    settings=CodeSettings(),
)
TOPOLOGY = "Sub-topology: 0\n    Source: a (topics: {topics})\n      --> b\n    Processor: b (stores: [{stores}])\n"


def known(settings=None, nodes=None, code=None, broker=None, variants=(), **more):
    """The facts of an application and its brokers; the lines of the settings are in the order of the keys."""
    given = [None] if settings is None else [settings, *variants]
    applications = tuple(
        Application(
            settings=None if variant is None else SettingFacts("m", placed(variant)),
            topology=None if nodes is None else ApplicationTopology("topology.txt", nodes),
            code=code,
        )
        for variant in given
    )
    facts = Facts(applications=applications, **more)
    return facts if broker is None else facts.with_brokers(broker)


def placed(settings):
    return {
        key: value if isinstance(value, Setting) else Setting(value, f"m line {number}")
        for number, (key, value) in enumerate(settings.items(), 1)
    }


KNOWN = known(absent=frozenset(Reliance), broker=(4, 3, 1), streams_version=1, settings={})


def planned(origin=NEW, target=NEW, protocol=Protocol.STREAMS, facts=KNOWN, **how):
    return plan_migration(origin, target, protocol, facts, AT, **how)


def judgements(facts, target=NEW):
    found = planned(target, target, facts=facts)
    return {judgement.requirement.name: judgement for judgement in found.judgements}


def statuses(facts, target=NEW):
    return {name: judgement.status for name, judgement in judgements(facts, target).items()}


def with_settings(**settings):
    return planned(facts=known({key.replace("_", "."): value for key, value in settings.items()}))


def nodes(topics="[t]", stores=""):
    return parse_topology_description(TOPOLOGY.format(topics=topics, stores=stores))


def test_nothing_known_leaves_every_requirement_open():
    found = planned(facts=Facts())

    assert Verdict.SAFE_IF is found.verdict
    assert {RequirementStatus.OPEN} == {judgement.status for judgement in found.judgements}
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
    found = statuses(known(broker=broker))

    assert (release, bug) == (found["broker-release"], found["kafka-20254"])


@pytest.mark.parametrize(("level", "status"), [(0, RequirementStatus.BLOCKED), (1, RequirementStatus.MET)])
def test_streams_version_decides(level, status):
    assert status is statuses(Facts(streams_version=level))["streams-version"]


@pytest.mark.parametrize("prefix", ["", "consumer.", "main.consumer."])
def test_static_members_block_whatever_the_prefix(prefix):
    found = planned(facts=known({f"{prefix}group.instance.id": "one"}))

    assert (Verdict.UNSAFE, ("static-members",)) == (found.verdict, found.conditions)


@pytest.mark.parametrize(
    ("target", "broker", "status"),
    [
        (NEW, (4, 4, 0), RequirementStatus.BLOCKED),
        (NEWEST, (4, 4, 0), RequirementStatus.MET),
        (NEWEST, (4, 4), RequirementStatus.MET),
        (NEWEST, (4, 3, 1), RequirementStatus.BLOCKED),
        (NEWEST, None, RequirementStatus.OPEN),
    ],
)
def test_static_members_need_clients_and_brokers_of_4_4(target, broker, status):
    static = known({"group.instance.id": "${POD}"}, broker=broker)

    assert status is statuses(static, target)["static-members"]


def test_static_members_of_4_4_depend_on_brokers_that_stay():
    """A broker that goes back to 4.3.1 ends them with INVALID_REQUEST: no file says whether one will."""
    static = known({"group.instance.id": "one"}, broker=(4, 4, 0))
    (asked,) = judgements(static, NEWEST)["broker-downgrade"].concern.decided_by

    assert "whether a broker may go back to a release before 4.4" == asked
    promised = evolve(static, absent=frozenset({Reliance.BROKER_DOWNGRADE}))
    assert RequirementStatus.MET is statuses(promised, NEWEST)["broker-downgrade"]
    assert RequirementStatus.OPEN is statuses(known({}), NEWEST)["broker-downgrade"]  # code could set it
    assert RequirementStatus.MET is statuses(known({}, code=READ), NEWEST)["broker-downgrade"]
    assert "broker-downgrade" not in statuses(static, NEW)


def test_the_settings_count_as_well_as_the_group():
    """Members start again with their settings, and a name that the code gives is in no file."""
    group = evolve(known().group, name="billing", has_static_members=False)
    named = known({"group.instance.id": "one"}).with_group(group)
    unnamed = known({}).with_group(evolve(group, has_static_members=True))

    assert RequirementStatus.BLOCKED is statuses(named)["static-members"]
    assert RequirementStatus.BLOCKED is statuses(unnamed)["static-members"]
    assert RequirementStatus.MET is statuses(known().with_group(group))["static-members"]


def test_a_topology_shows_patterns_and_stores():
    assert RequirementStatus.BLOCKED is statuses(known(nodes=nodes("orders-.*")))["pattern-subscriptions"]
    stateful = statuses(known(nodes=nodes(stores="store")))
    assert (RequirementStatus.MET, RequirementStatus.OPEN) == (stateful["pattern-subscriptions"], stateful["warm-ups"])
    assert RequirementStatus.MET is statuses(known(nodes=nodes()))["warm-ups"]


def test_code_shows_patterns_and_named_topologies():
    uses = {"pattern-sources": ("your class A calls stream(Pattern)",), "named-topologies": ("your class B",)}
    found = judgements(known(code=evolve(READ, shown=uses)))
    without = statuses(known(code=READ))

    assert RequirementStatus.BLOCKED is found["pattern-subscriptions"].status
    assert ("your class B",) == found["named-topologies"].concern.evidence
    assert {RequirementStatus.MET} == {without["pattern-subscriptions"], without["named-topologies"]}


def test_what_shows_or_decides_a_requirement_is_named():
    found = judgements(known({"a": "b", "group.instance.id": "one"}, broker=(4, 2)))
    text = {name: judgement.lines() for name, judgement in found.items()}

    assert "    shown by: m line 2 sets group.instance.id" in text["static-members"]
    assert ("- met: every broker is of 4.2 or later (the brokers are of 4.2)",) == text["broker-release"]
    assert "    decided by: which patch release the brokers have" in text["kafka-20254"]
    assert "    decided by: --broker-release or --group (the release of the brokers)" in (
        judgements(known())["kafka-20254"].lines()
    )


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
    assert (limit is not None) == any(f"session.timeout.ms={given} (m" in note for note in found.warnings)
    assert {"setting": "session.timeout.ms", "value": int(given), "applied": applied, "limited_by": limit}.items() <= (
        found.as_json()["settings"][0].items()
    )


def test_unknown_settings_stay_placeholders():
    found = planned(facts=Facts())

    assert "streams.num.standby.replicas=<num.standby.replicas>" in found.steps[0].commands[0]
    assert any("--config" in note for note in found.warnings)
    assert {None} == {setting.limit for setting in found.settings}


@pytest.mark.parametrize("value", ["${STANDBYS:1}", Setting("1", "m line 1", reaches_kafka=False)])
def test_a_value_that_a_file_does_not_tell_stays_a_placeholder(value):
    found = planned(facts=known({"num.standby.replicas": value}))

    assert "streams.num.standby.replicas=<num.standby.replicas>" in found.steps[0].commands[0]
    assert any("m line 1 does not tell the value of num.standby.replicas" in note for note in found.warnings)


def test_a_setting_that_differs_between_profiles_is_named():
    """A group has one value for all its members; that without a condition counts."""
    other = {"num.standby.replicas": Setting("2", "m line 7 (profile prod)")}
    found = planned(facts=known({"num.standby.replicas": "1"}, variants=[other]))

    assert "streams.num.standby.replicas=1" in found.steps[0].commands[0]
    assert any("num.standby.replicas is another one in m line 7 (profile prod)" in note for note in found.warnings)


@pytest.mark.parametrize("value", ["", "-1", "one", "1" * 5_000, "٣"])
def test_a_setting_that_is_no_number_is_refused(value):
    with pytest.raises(ConfigException, match=r"Invalid value .* for configuration num\.standby\.replicas"):
        with_settings(num_standby_replicas=value)


@pytest.mark.parametrize("target", [NEW, NEWEST])
def test_settings_without_a_counterpart_are_named(target):
    """With 4.4.0 too: it accepts streams.num.warmup.replicas, and its AssignmentRefiner does nothing."""
    ignored = {"max.warmup.replicas": "3", "rack.aware.assignment.tags": "zone", "state.dir": "/tmp"}
    found = planned(target, target, facts=known(ignored, broker=target.release.number))

    assert ["max.warmup.replicas", "rack.aware.assignment.tags"] == [setting.name for setting in found.lost]
    assert ["max.warmup.replicas (m line 1)", "rack.aware.assignment.tags (m line 2)"] == [
        note.partition(" has no effect")[0] for note in found.warnings if "has no effect" in note
    ]
    assert not any("warmup" in command for step in found.steps for command in step.commands)
    assert {"setting": "max.warmup.replicas", "where": "m line 1"}.items() <= found.as_json()["ignored"][0].items()


@pytest.mark.parametrize(
    "name",
    [
        *("main.consumer.max.warmup.replicas", "consumer.rack.aware.assignment.strategy"),
        *("client.tag.zone", "consumer.client.tag.zone", "internal.task.assignor.class"),
    ],
)
def test_a_setting_without_a_counterpart_is_named_as_it_is_given(name):
    notes = planned(facts=known({name: "1"})).warnings

    assert any(note.startswith(f"{name} (m line 1) has no effect") for note in notes)


def test_a_setting_with_a_prefix_that_is_replaced_is_not_called_ineffective():
    found = planned(facts=known({"consumer.session.timeout.ms": "45000"}))

    assert not found.lost
    assert "streams.session.timeout.ms=45000" in found.steps[0].commands[0]


@pytest.mark.parametrize(
    ("value", "effects"),
    [
        ("3.4", "writes updates of tables into repartition topics as up to 3.4 (KIP-904) and writes offsets into"),
        ("4.3", "does nothing else with it"),
    ],
)
def test_upgrade_from_keeps_its_effects_on_formats(value, effects):
    (note,) = (
        note
        for note in planned(NEWEST, NEWEST, facts=known({"upgrade.from": value})).warnings
        if note.startswith("upgrade.from")
    )

    assert note.startswith(f"upgrade.from={value} (m line 1) lowers no metadata")
    assert effects in note


def test_upgrade_from_with_a_value_of_no_release_is_left_to_the_settings():
    assert not any("upgrade.from" in note for note in planned(facts=known({"upgrade.from": "9"})).warnings)


def test_another_default_of_heartbeats_is_named():
    notes = planned(facts=known({})).warnings, planned(facts=known({"heartbeat.interval.ms": "5000"})).warnings

    assert [True, False] == [any("heartbeat.interval.ms is not set" in note for note in each) for each in notes]


def test_no_setting_is_both_ignored_and_replaced():
    assert {row.replaces for row in GROUP_CONFIGURATIONS if row.replaces} == {*REPLACED_SETTINGS}
    assert not any(row.concerns(name) for row in IGNORED_SETTINGS for name in REPLACED_SETTINGS)


def test_the_hazards_are_split_if_something_is_known():
    found = planned(facts=known({}, nodes=nodes(), code=READ, broker=(4, 3)))
    answers = {judged.hazard.name: judged.concern.answer for judged in found.judged}

    assert {
        "dynamic-members-leave": Answer.NO,
        "main-consumer-of-supplier": Answer.NO,
        "standbys-of-4.3": Answer.NO,
        "topology-updates": Answer.UNKNOWN,
    }.items() <= answers.items()
    assert {"yes": 0, "no": 3, "unknown": len(answers) - 3} == found.as_json()["concerns"]
    assert sum(found.beyond_metadata.values()) == len(answers) - 3
    assert planned(facts=Facts()).judged is None
    assert "concerns" not in planned(facts=Facts()).as_json()


def test_a_hazard_of_the_release_knows_the_protocol_of_later():
    """Whether group.protocol=streams is set is no question here, whatever the file says now."""
    own = {"group.protocol": "classic", "application.server": "no-port"}
    found = planned(resolve_release("4.2.2"), NEWEST, facts=known(own))

    assert not any("group.protocol" in text for judged in found.judged for text in judged.concern.decided_by)
    assert "invalid-application-server" not in found.conditions


def test_a_hazard_that_stops_members_for_certain_blocks():
    application = PlannedApplication(settings=Settings.of({"application.server": ":80"}), settings_source="m")
    facts = Facts(applications=application.facts())
    found = planned(resolve_release("4.3.1"), NEWEST, facts=facts, application=application)
    only_hazard = evolve(found, between=None)

    assert (Verdict.UNSAFE, "members of 4.4.0 do not start") == (found.verdict, found.blocked[0][:29])
    assert only_hazard.blocked[0].startswith("members of 4.4.0 stop (")
    assert found.as_json()["configuration"]["file"] == "m"


def test_settings_of_later_do_not_block_the_upgrade_before():
    application = PlannedApplication(settings=Settings.of({"group.protocol": "streams"}))
    facts = Facts(applications=application.facts())

    assert () == planned(OLD, NEW, facts=facts, application=application).blocked


def test_an_older_release_is_upgraded_first():
    application = PlannedApplication(absent=frozenset({TopologyFeature.FOREIGN_KEY_JOINS}))
    found = planned(OLD, NEW)
    without = planned(OLD, NEW, application=application)

    assert "bounce every member to 4.3.1" in found.steps[0].do
    assert "stop every member of 4.3.1" in found.steps[2].do
    assert ("2.8", "two_bounces") == (found.as_json()["upgrade_from"], found.as_json()["first"])
    assert (Verdict.SAFE_IF, ("no foreign-key-joins", "no repartitioned-tables")) == (found.verdict, found.conditions)
    assert ("no repartitioned-tables",) == without.conditions
    assert any("2.8.2 has no streams protocol" in note for note in found.warnings)
    assert not any(hazard.name == "streams-groups-of-4.2.0" for hazard in found.hazards)


def test_what_blocks_is_named_without_the_conditions_of_the_upgrade_before():
    found = planned(OLD, NEW, facts=known(broker=(3, 9, 2)))

    assert (Verdict.UNSAFE, ("broker-release",)) == (found.verdict, found.conditions)


def test_an_unsafe_upgrade_before_makes_the_whole_plan_unsafe():
    found = planned(OLD, NEW)
    guidance = evolve(found.first.guidance, verdict=Verdict.UNSAFE)
    broken = evolve(found.between, advice=evolve(found.first, guidance=guidance))

    assert Verdict.UNSAFE is evolve(found, between=broken).verdict


def test_offline_needs_no_upgrade_before():
    found = planned(OLD, NEW, offline=True)

    assert (None, "stop every member of 2.8.2, and wait until the group is empty") == (found.first, found.steps[0].do)
    assert "no group.protocol, which 2.8.2 does not have" in found.steps[0].way_back.how
    assert "cannot open the stores" in found.steps[1].way_back.how


def test_back_to_the_classic_protocol_nothing_blocks():
    found = planned(protocol=Protocol.CLASSIC, facts=known({"num.standby.replicas": "1"}))

    assert (Verdict.SAFE, (), ()) == (found.verdict, found.judgements, found.settings)
    assert "start every member as 4.3.1 with group.protocol=classic" == found.steps[1].do
    assert found.steps[-1].commands[0].endswith("--delete-config streams.num.standby.replicas")
    assert () == found.warnings


def test_back_to_an_older_release():
    found = planned(NEW, resolve_release("3.9"), Protocol.CLASSIC)

    assert "start every member as 3.9.2 with no group.protocol, which 3.9.2 does not have" == found.steps[1].do
    assert "remove the group configurations" not in [step.do for step in found.steps]
    assert any("stores" in hazard.applies_to for hazard in found.hazards)


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
        planned(resolve_release(origin), resolve_release(target), protocol)


@pytest.mark.parametrize(("names", "message"), [("regex", "unknown feature 'regex'"), (" , ", "no feature is named")])
def test_unknown_names_are_refused(names, message):
    with pytest.raises(UpgradeError, match=f"{message}.* expected static-members or "):
        reliances_named(names)


def test_commands_quote_what_the_shell_would_split():
    at = Target("my group", "h:1", "my file")
    (line, *_) = plan_migration(NEW, NEW, Protocol.CLASSIC, KNOWN, at).steps[0].commands

    assert "streams-assignor group wait 'my group' empty --bootstrap-servers h:1 --command-config 'my file'" == line


@pytest.mark.parametrize(("members", "number"), [(3, "3"), (None, "NUMBER")])
def test_a_wait_for_members_names_their_number(members, number):
    """``group wait NAME stable`` refuses to guess how many there have to be."""
    at = evolve(AT, members=members)
    lines = [line for step in plan_migration(NEW, NEW, Protocol.STREAMS, KNOWN, at).steps for line in step.commands]

    (line,) = (line for line in lines if "stable" in line)
    assert f" stable --members {number} --bootstrap-servers " in line


def test_the_json_form_has_every_row():
    found = planned(facts=Facts()).as_json()

    assert ("classic", "streams", Plan.OFFLINE.value) == tuple(
        found[key] for key in ("from_protocol", "to_protocol", "plan")
    )
    keys = {"name", "status", "condition", "because", "decided_by", "symptom", "remedy", "source", "evidence"}
    assert keys == found["requirements"][0].keys()
    assert {"read, not run", "seen with 4.2.2 and 4.3.1", "seen with 4.2.2, 4.3.1 and 4.4.0"} >= {
        row["evidence"] for row in found["requirements"][3:]
    }
    assert {True, False} == {row["survives"] for row in found["survives"]}


def test_a_requirement_that_holds_is_one_line():
    met, blocked = (row.lines() for row in planned(facts=known(broker=(4, 2, 0))).judgements[::2][:2])

    assert ("- met: every broker is of 4.2 or later (the brokers are of 4.2.0)",) == met
    assert blocked[0].startswith("- blocked: no broker is of 4.2.0; else ")
