"""The settings of brokers in the releases of a plan."""

from streams_assignor.upgrade.application.broker_configuration import LEVEL, broker_keys, broker_settings
from streams_assignor.upgrade.application.setting_files import Settings, Variant
from streams_assignor.upgrade.application.settings import Effect
from streams_assignor.upgrade.broker_settings import SETTING_RULES, judge_broker_settings, level_shown, mode_shown
from streams_assignor.upgrade.cluster.brokers.config import IBP
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release, version_named
from tests.each import for_each

NEWEST = version_named("4.0-IV3")
KRAFT = {"process.roles": "broker", "node.id": "1", "controller.listener.names": "C"}


def judged(values, *releases, mode="kraft", migrates=False, settings=None):
    origin, *others = map(broker_release, releases)
    settings = settings or Settings.of(values)
    report = judge_broker_settings(settings, origin, others, MetadataMode(mode), migrates=migrates)
    return {finding.key: finding for finding in reversed(report.findings)}


@for_each(
    [
        # key, value, releases, status, a part of the text
        (
            "authorizer.class.name",
            "kafka.security.auth.SimpleAclAuthorizer",
            ("2.8", "3.9"),
            "refused",
            "AclAuthorizer",
        ),
        ("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer", ("3.9", "4.0"), "refused", "Standard"),
        ("authorizer.class.name", "com.example.Own", ("3.9", "4.0"), "cannot be told", "made for 4.0"),
        ("metric.reporters", "com.example.Reporter", ("3.9", "4.0"), "meaning changed", "JmxReporter"),
        (
            "metric.reporters",
            "com.example.Reporter,org.apache.kafka.common.metrics.JmxReporter",
            ("3.9", "4.0"),
            "cannot be told",
            "another make",
        ),
        ("metric.reporters", "com.example.Reporter", ("4.0", "4.1"), "cannot be told", "another make"),
        ("zookeeper.metadata.migration.enable", "true", ("3.9", "4.0"), "meaning changed", "finish the migration"),
        ("zookeeper.metadata.migration.enable", "false", ("3.9", "4.0"), "removed", "ignore"),
        ("controller.quorum.voters", "1@a:1", ("3.8", "4.0"), "meaning changed", "kraft.version stays 0"),
        ("controller.quorum.voters", "1@a:1", ("4.0", "4.1"), "meaning changed", "kraft.version stays 0"),
        ("controller.quorum.bootstrap.servers", "a:1", ("3.9", "4.0"), "cannot be told", "a static one needs"),
        ("controller.quorum.voters", "1@a:1", ("3.7", "3.8"), "cannot be told", "code of its own"),
        ("KAFKA_LOG4J_OPTS", "-Dlog4j.configuration=file:a", ("3.9", "4.0"), "meaning changed", "Log4j 2"),
        ("KAFKA_LOG4J_OPTS", "-Dlog4j2.configurationFile=a", ("3.9", "4.0"), "fine", ""),
        ("port", "9093", ("2.8", "3.0"), "removed", "listeners is its successor"),
        ("host.name", "a", ("3.0", "3.1"), "no effect", "3.0 ignores it, too"),
        ("delegation.token.master.key", "k", ("3.9", "4.0"), "removed", "delegation.token.secret.key"),
        ("password.encoder.secret", "s", ("3.9", "4.0"), "removed", "ignore"),
        ("log.segment.bytes", "100000", ("3.9", "4.0"), "refused", "at least 1048576"),
        ("log.segment.bytes", "1", ("3.9", "4.0"), "refused", "3.9 refuses it, too"),
        ("num.partitions", "${PARTITIONS}", ("3.9", "4.0"), "cannot be told", "placeholder"),
        ("ssl.keystore.password", "s3cret", ("3.9", "4.0"), "fine", "accepts"),
        ("compression.gzip.level", "20", ("3.8", "3.9"), "cannot be told", "code of its own"),
        ("super.users", "User:a", ("3.9", "4.0"), "fine", "a plugin"),
        ("my.plugin.key", "1", ("3.9", "4.0"), "unknown", "plugin"),
        ("secret value", "1", ("3.9", "4.0"), "unknown", "plugin"),
        ("sasl.oauthbearer.jwks.endpoint.url", "https://a/b", ("3.9.0", "4.0.0"), "needs a system property", "allowed"),
        ("sasl.oauthbearer.jwks.endpoint.url", "https://a/b", ("4.0.0", "4.1.0"), "fine", "accepts"),
        ("inter.broker.protocol.version", "3.9", ("3.9", "4.0"), "removed", "ignore"),
    ]
)
def test_a_setting_has_what_the_next_release_makes_of_it(case):
    key, value, releases, status, text = case
    found = judged({**KRAFT, key: value}, *releases)
    finding = found.get(key) or found["key 4 of the file"]

    assert (status, text in finding.text) == (finding.status.value, True), finding
    assert value not in finding.text or "secret" not in value


@for_each(
    [
        ({}, ("3.9", "4.0"), "process.roles", "required"),
        ({"zookeeper.connect": "z"}, ("3.9", "4.0"), "node.id", "required"),
        ({"broker.id": "1"}, ("3.9", "4.0"), "node.id", None),
        (KRAFT, ("3.9", "4.0"), "process.roles", "fine"),
        (KRAFT, ("3.9", "4.0"), "num.recovery.threads.per.data.dir", "default changed"),
        (
            {**KRAFT, "num.recovery.threads.per.data.dir": "1"},
            ("3.9", "4.0"),
            "num.recovery.threads.per.data.dir",
            "fine",
        ),
        (KRAFT, ("2.4", "2.5"), "zookeeper.session.timeout.ms", None),
    ]
)
def test_a_key_that_is_not_set_has_another_default_or_none(case):
    values, releases, key, status = case
    finding = judged(values, *releases).get(key)

    assert status == (finding and finding.status.value)


def test_the_voters_beside_their_servers_decide():
    found = judged(
        {**KRAFT, "controller.quorum.bootstrap.servers": "a:1", "controller.quorum.voters": "1@a:1"}, "3.9", "4.0"
    )

    assert "a static one" not in found["controller.quorum.bootstrap.servers"].text
    assert "these static voters" in found["controller.quorum.voters"].text


def test_with_zookeeper_its_defaults_count():
    found = judged({"zookeeper.connect": "z"}, "2.4", "2.5", mode="zookeeper")

    assert "18000 instead of 6000" in found["zookeeper.session.timeout.ms"].text


def test_what_a_migration_replaces_stops_nothing():
    values = {"zookeeper.connect": "z", "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
    found = judged(values, "2.8", "3.9.2", "4.0", mode="zookeeper", migrates=True)

    assert "process.roles" not in found
    assert Effect.REMOVED is found["authorizer.class.name"].status


def test_a_release_on_the_way_refuses_too():
    found = judged(
        {**KRAFT, "sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;"}, "3.3", "3.4"
    )
    jaas = found["sasl.jaas.config"]
    both = judged({**KRAFT, "inter.broker.protocol.version": "2.8"}, "3.6", "3.9.2", "4.0")

    assert Effect.NEEDS is jaas.status
    assert "A non-KRaft version 2.8" in both["inter.broker.protocol.version"].text


@for_each(
    [
        ({"log.message.format.version": "2.8"}, "3.9", "no effect", "3.9 ignores it"),
        ({"inter.broker.protocol.version": "0.10.0"}, "2.8", "refused", "can only be used when"),
        ({"inter.broker.protocol.version": "${V}"}, "3.9", "cannot be told", "placeholder"),
    ]
)
def test_protocol_and_message_format_are_checked_as_a_broker_does(case):
    values, target, status, text = case
    origin = broker_release("2.7")
    report = judge_broker_settings(
        Settings.of(values), origin, [broker_release(target)], MetadataMode.ZOOKEEPER, migrates=False
    )

    assert (status, text) in [(each.status.value, text) for each in report.findings if text in each.text]


def test_an_operator_may_set_what_is_required():
    text = "kind: Kafka\nspec:\n  kafka:\n    config:\n      num.partitions: 3\n"
    found = judged({}, "3.9", "4.0", settings=broker_settings([("kafka.yaml", text)]))

    assert Effect.UNDECIDED is found["process.roles"].status


def test_nodes_that_differ_are_judged_apart():
    files = [("a.properties", "num.partitions=1\nlog.segment.bytes=1"), ("b.properties", "num.partitions=2")]
    found = judged({}, "3.9", "4.0", settings=broker_settings(files))

    assert ("in a.properties",) == found["log.segment.bytes"].conditions


@for_each(
    [
        ({"process.roles": "broker"}, "kraft", None),
        ({"process.roles": "broker", "metadata.version": "4.0-IV3"}, "kraft", "4.0-IV3"),
        ({"zookeeper.connect": "z", "inter.broker.protocol.version": "2.8"}, "zookeeper", "2.8-IV1"),
        ({"inter.broker.protocol.version": "x"}, None, None),
    ]
)
def test_files_show_the_mode_and_the_level(case):
    values, mode, level = case
    settings = Settings.of(values)
    shown = mode_shown(settings)
    found, _ = level_shown(settings, shown or MetadataMode.ZOOKEEPER, NEWEST)

    assert (mode, level) == (shown and shown.value, found and found.name)


@for_each(
    [
        (MetadataMode.ZOOKEEPER, IBP, ["${IBP}"], IBP),
        (MetadataMode.ZOOKEEPER, IBP, ["2.8", "2.7"], IBP),
        (MetadataMode.ZOOKEEPER, IBP, ["2.8", ""], IBP),
        (MetadataMode.ZOOKEEPER, IBP, [""], ""),
        (MetadataMode.KRAFT, LEVEL, ["{{ level }}"], LEVEL),
        (MetadataMode.KRAFT, LEVEL, ["4.0-IV3", ""], ""),
        (MetadataMode.KRAFT, LEVEL, ["4.1"], LEVEL),
    ]
)
def test_a_level_that_files_set_and_do_not_tell_is_named(case):
    """It was taken for the newest of the release."""
    mode, key, values, untold = case
    variants = tuple(Variant((f"in {number}",), {key: value}) for number, value in enumerate(values))
    found, named = level_shown(Settings(variants), mode, NEWEST)

    assert untold == named
    assert (found is not None) == ("4.0-IV3" in values)


def test_each_rule_is_about_a_key_that_brokers_have_had():
    for rule in SETTING_RULES:
        assert rule.key.isupper() or rule.key in broker_keys((3, 9))
