"""The settings of an application in a release."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.setting_files import Settings, Variant, parse_settings
from streams_assignor.upgrade.application.setting_names import keys_elsewhere
from streams_assignor.upgrade.application.settings import _RENAMED, Effect, KnownClasses, judge_settings
from streams_assignor.upgrade.releases import RELEASES, resolve_release


def judged(settings, origin="2.8", target="4.3", application=None):
    old, new = (resolve_release(name).release for name in (origin, target))
    found = settings if isinstance(settings, Settings) else Settings.of(settings)
    return judge_settings(found, configuration_of(old), configuration_of(new), code_of(new), application)


def finding(key, value, origin="2.8", target="4.3", **further):
    found = [each for each in judged({key: value, **further}, origin, target).findings if each.key == key]
    return found[0].status, found[0].text


@pytest.mark.parametrize(
    ("key", "value", "status", "text"),
    [
        ("application.id", "billing", Effect.FINE, "4.3.1 accepts it"),
        (
            "processing.guarantee",
            "exactly_once",
            Effect.REFUSED,
            "Invalid value exactly_once for configuration processing.guarantee: String must be one of: at_least_once, "
            "exactly_once_v2",
        ),
        ("consumer.max.poll.records", "0", Effect.REFUSED, "Value must be at least 1; 2.8.2 refuses it, too"),
        ("partition.grouper", "x", Effect.REMOVED, "4.3.1 does not have it and ignores it"),
        ("retries", "5", Effect.REMOVED, "ignores it; task.timeout.ms is its successor"),
        ("default.dsl.store", "rocksDB", Effect.DEPRECATED, "dsl.store.suppliers.class is its successor"),
        ("main.consumer.enable.auto.commit", "true", Effect.NO_EFFECT, "Streams sets it itself"),
        ("consumer.partition.assignment.strategy", "x", Effect.NO_EFFECT, "Streams sets it itself"),
        ("num.stream.threads", "${THREADS}", Effect.UNDECIDED, "the value is a placeholder"),
        ("default.key.serde", "com.example.Serde", Effect.UNDECIDED, "a class of the application"),
        (
            "default.key.serde",
            "org.apache.kafka.common.serialization.Serdes$StringSerde",
            Effect.FINE,
            "accepts it",
        ),
        ("application.server", "a:1", Effect.FINE, "accepts it"),
        ("application.server", "a", Effect.REFUSED, "Error parsing host address 'a'. Expected format host:port."),
        ("upgrade.from", "2.8", Effect.FINE, "accepts it"),
        ("upgrade.from", "2.3", Effect.REFUSED, "String must be one of: null, 2.4,"),
        ("num.stream.threads", "{{ threads }}", Effect.UNDECIDED, "the value is a placeholder"),
        ("num.stream.threads", "@threads@", Effect.UNDECIDED, "the value is a placeholder"),
        ("config.providers.file.class", "org.apache.kafka.common.config.provider.FileConfigProvider", Effect.FINE, ""),
        ("config.providers.v.class", "org.apache.kafka.common.config.provider.X", Effect.REFUSED, "has no class"),
        ("config.providers.v.param.x", "org.apache.kafka.common.config.provider.X", Effect.FINE, "config provider"),
        ("internal.task.assignor.class", "${X}", Effect.UNDECIDED, "placeholder"),
        (
            "internal.task.assignor.class",
            "org.apache.kafka.streams.processor.internals.assignment.HighAvailabilityTaskAssignor",
            Effect.FINE,
            "4.3.1 accepts it",
        ),
        (
            "internal.task.assignor.class",
            "org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo$X",
            Effect.REFUSED,
            "4.3.1 has no class org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo$X",
        ),
        ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter, com.example.R", Effect.UNDECIDED, "--app"),
        ("interceptor.classes", "", Effect.FINE, "accepts it"),
        ("default.key.serde", "org.apache.kafka.common.serialization.Serdes.StringSerde", Effect.REFUSED, "no class"),
        ("kafka.streams.num.stream.threads", "4", Effect.UNKNOWN, "but num.stream.threads is one: nothing here tells"),
        (
            "sasl.jaas.config",
            'org.apache.kafka.common.security.oauthbearer.X required password="${P}";',
            Effect.UNDECIDED,
            "the value is a placeholder",
        ),
        ("sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required;", Effect.FINE, "accepts it"),
        ("group.protocol", "streams", Effect.MEANING, "2.8.2 does not have it and ignores it; 4.3.1 obeys it"),
        ("group.protocol", "classic", Effect.FINE, "accepts it"),
        ("consumer.group.protocol", "consumer", Effect.NO_EFFECT, "Streams sets it itself"),
        ("topology.optimization", "all", Effect.FINE, "accepts it"),
        ("topology.optimization", "a,b", Effect.UNDECIDED, "Kafka checks the value with code of its own"),
        ("topic.cleanup.policy", "compact", Effect.UNDECIDED, "a setting of internal topics"),
        ("client.tag.zone", "a", Effect.FINE, "a client tag"),
        ("my.own.key", "7", Effect.UNKNOWN, "not a key of Kafka"),
        ("zookeeper.connect", "a:1", Effect.UNKNOWN, "neither release has it; 0.10.0.0 to "),
        (
            "sasl.login.callback.handler.class",
            "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
            Effect.REFUSED,
            "4.3.1 has no class org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        ),
        (
            "sasl.oauthbearer.token.endpoint.url",
            "https://idp/token",
            Effect.NEEDS,
            "add -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=<sasl.oauthbearer.token.endpoint.url> to the start",
        ),
    ],
)
def test_each_setting_has_a_status_and_a_reason(key, value, status, text):
    found = finding(key, value)

    assert status is found[0]
    assert text in found[1]


def test_a_login_module_that_is_refused_needs_a_system_property():
    module = "com.sun.security.auth.module.JndiLoginModule required user=a;"
    status, text = finding("sasl.jaas.config", module, "3.2", "3.6")

    assert Effect.NEEDS is status
    assert "add -Dorg.apache.kafka.disallowed.login.modules= to the start script: the login module is refused" == text


def test_addresses_of_oauth_need_no_list_before_4_0():
    assert Effect.FINE is finding("sasl.oauthbearer.jwks.endpoint.url", "https://idp", "3.6", "3.9")[0]
    assert "4.0.1 needs it, too" in finding("sasl.oauthbearer.jwks.endpoint.url", "https://idp", "4.0.1", "4.3")[1]


@pytest.mark.parametrize(
    ("key", "value", "known", "libraries", "status", "text"),
    [
        ("default.key.serde", "com.a.S", ["com/a/S"], True, Effect.FINE, "class com.a.S is in the files of --app"),
        (
            "default.key.serde",
            "com.a.S",
            ["com/a/T"],
            True,
            Effect.REFUSED,
            "class com.a.S is not in the files of --app",
        ),
        ("default.key.serde", "com.a.S", [], False, Effect.UNDECIDED, "of --app, which have no libraries"),
        ("interceptor.classes", "a.B,a.C", ["a/B"], True, Effect.REFUSED, "class a.C is not in the files"),
        ("partition.grouper", "a.B", [], True, Effect.REMOVED, "ignores it"),
        ("sasl.jaas.config", "hunter2 required;", [], True, Effect.REFUSED, "class of its value is not in"),
        ("default.dsl.store", "in_memory", [], True, Effect.DEPRECATED, "is its successor"),
        ("config.providers.v.class", "a.B", [], True, Effect.REFUSED, "class a.B is not in the files"),
    ],
)
def test_a_class_is_looked_up_in_the_files_of_the_application(key, value, known, libraries, status, text):
    application = KnownClasses(frozenset(known), has_libraries=libraries)
    (found,) = [each for each in judged({key: value}, application=application).findings if each.key == key]

    assert status is found.status
    assert text in found.text
    assert "hunter2" not in str(found.as_json())


def test_a_finding_has_its_line_and_what_only_a_profile_does_has_the_profile():
    text = (
        "application.id=a\nspring.kafka.streams.properties.processing.guarantee=at_least_once\n#---\n"
        "spring.config.activate.on-profile=prod\nspring.kafka.streams.properties.processing.guarantee=exactly_once\n"
    )
    findings = judged(parse_settings(text, ".properties")).findings
    guarantees = [each for each in findings if each.key == "processing.guarantee"]

    assert [(5, ("profile prod",)), (2, ())] == [(each.line, each.conditions) for each in guarantees]
    assert ["line 5, profile prod", "line 2"] == [each.place for each in guarantees]
    assert 1 == len([each for each in findings if (each.config, each.key) == ("consumer", "session.timeout.ms")])
    assert "" == next(each.place for each in findings if each.status is Effect.DEFAULT)


def test_the_worst_of_several_clients_counts():
    """A key without a prefix is one of each client that has it."""
    assert Effect.FINE is finding("max.poll.records", "7")[0]
    assert Effect.REFUSED is finding("reconnect.backoff.ms", "-1")[0]


def test_streams_ignores_more_with_exactly_once():
    plain = finding("consumer.isolation.level", "read_uncommitted")
    exactly_once = finding(
        "consumer.isolation.level", "read_uncommitted", **{"processing.guarantee": "exactly_once_v2"}
    )

    assert (Effect.FINE, Effect.NO_EFFECT) == (plain[0], exactly_once[0])


@pytest.mark.parametrize(
    "name",
    [
        "kafka.streams.default.session.timeout.ms",
        "billing.session-timeout-ms",
        "sessionTimeoutMs",
        "APP_CONSUMER_SESSION_TIMEOUT_MS",
        "\u00ef\u00bb\u00bfsession.timeout.ms",
    ],
)
def test_a_key_below_a_name_of_the_application_may_be_set(name):
    keys = {each.key for each in judged({name: "10000"}).findings if each.status is Effect.DEFAULT}

    assert "session.timeout.ms" not in keys
    assert {"session.timeout.ms": name} == keys_elsewhere(Variant(values={name: "1"}))
    assert {"session.timeout.ms": name} == keys_elsewhere(
        Variant(values={"consumer.session.timeout.ms": "1"}, unread={name: 1})
    )


@pytest.mark.parametrize(
    "name",
    ["main.consumer.session.timeout.ms", "topic.retries", "client.tag.client.id", f"{'a.' * 200}client.id", "billing"],
)
def test_a_key_that_is_known_or_has_no_key_of_kafka_is_nowhere_else(name):
    assert {} == keys_elsewhere(Variant(values={name: "1"}))


@pytest.mark.parametrize(
    ("key", "value", "release", "expected"),
    [
        ("main.consumer.partition.assignment.strategy", "a.B", "4.3.1", Effect.NO_EFFECT),
        ("partition.assignment.strategy", "a.B", "2.8.2", Effect.NO_EFFECT),
        ("main.consumer.allow.auto.create.topics", "true", "3.9.1", Effect.NO_EFFECT),
        ("main.consumer.allow.auto.create.topics", "true", "2.4.1", Effect.FINE),
        ("restore.consumer.auto.offset.reset", "latest", "3.9.1", Effect.NO_EFFECT),
        ("global.consumer.auto.offset.reset", "latest", "3.9.1", Effect.NO_EFFECT),
        ("consumer.auto.offset.reset", "latest", "3.9.1", Effect.FINE),
        ("consumer.max.poll.records", "7", "3.9.1", Effect.FINE),
        ("bootstrap.resolve.timeout.ms", "7", "4.4.0", Effect.FINE),
        ("producer.linger.ms", "7", "4.4.0", Effect.FINE),
    ],
)
def test_what_streams_passes_beyond_its_defaults_is_set_after_the_application(key, value, release, expected):
    (found,) = (each for each in judged({key: value}, release, release).findings if each.key == key)

    assert expected is found.status


def test_defaults_that_changed_are_named_where_they_are_not_set():
    found = {(each.config, each.key): each.text for each in judged({}).findings if each.status is Effect.DEFAULT}

    assert "not set; the default is 45000 instead of 10000" == found["consumer", "session.timeout.ms"]
    assert (
        "not set; the default is TLSv1.3 instead of one that the machine or its Java decides"
        == found["producer", "ssl.protocol"]
    )
    assert ("producer", "linger.ms") not in found, "Streams sets its own"
    assert ("consumer", "partition.assignment.strategy") not in found
    assert not [
        each
        for each in judged({"main.consumer.session.timeout.ms": "1000"}).findings
        if each.key == "session.timeout.ms"
    ]


def test_a_key_that_only_streams_has_lost_is_still_for_its_clients():
    """Streams passes keys without a prefix to each client that has them."""
    status, text = finding("retries", "0")

    assert Effect.REMOVED is status
    assert (
        "Streams of 4.3.1 does not have it and ignores it; task.timeout.ms is its successor; "
        "without a prefix it is still for producer and admin"
    ) == text
    assert "without a prefix" not in finding("partition.grouper", "a.B")[1]


@pytest.mark.parametrize(
    "settings", [{"processing.guarantee": "exactly_once_beta"}, {"producer.enable.idempotence": "true"}]
)
def test_the_acks_of_an_idempotent_producer_have_not_changed(settings):
    changed = {each.key for each in judged(settings, "2.8", "3.9").findings if each.status is Effect.DEFAULT}

    assert "acks" not in changed
    assert "acks" in {each.key for each in judged({}, "2.8", "3.9").findings if each.status is Effect.DEFAULT}


def test_a_default_is_that_of_a_client_of_streams():
    """Without exactly-once the default of retries changed; with it Streams sets its own."""
    found, exactly_once = (
        {(each.config, each.key) for each in judged(settings, "0.11", "2.8").findings if each.status is Effect.DEFAULT}
        for settings in ({}, {"processing.guarantee": "exactly_once"})
    )

    assert {("producer", "retries")} == found - exactly_once


def test_a_required_key_is_missing_where_it_was_not_required_before():
    old, new = (configuration_of(RELEASES[name]) for name in ("4.3.0", "4.3.1"))
    streams = {**old.configs["streams"]}
    del streams["application.id"]
    report = judge_settings(Settings(), evolve(old, configs={**old.configs, "streams": streams}), new, {})

    assert [("application.id", Effect.REQUIRED)] == [(each.key, each.status) for each in report.stopping]


def test_the_worst_comes_first():
    report = judged({"application.id": "a", "my.key": "b", "processing.guarantee": "exactly_once"}, "4.3.0", "4.3.1")

    assert [Effect.REFUSED, Effect.UNKNOWN, Effect.FINE] == [each.status for each in report.findings]
    assert ["processing.guarantee", "my.key", "application.id"] == [each.key for each in report.findings]
    assert ["processing.guarantee"] == [each.key for each in report.stopping]
    assert {
        "key": "my.key",
        "config": None,
        "status": "unknown",
        "text": report.findings[1].text,
        "line": None,
        "file": None,
        "conditions": [],
    } == report.findings[1].as_json()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sasl.jaas.config", 'org.apache.kafka.common.security.plain.PlainLoginModule required password="hunter2";'),
        ("ssl.key.password", "hunter2"),
        ("consumer.sasl.oauthbearer.token.endpoint.url", "https://u:hunter2@idp"),
        ("num.stream.threads", "https://user:hunter2@host"),
        ("sasl.jaas.config", "hunter2"),
        ("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule$X required password=hunter2;"),
        ("sasl.oauthbearer.jwks.endpoint.url", "https://idp?token=hunter2"),
        ("consumer.ssl.keystore.key", "hunter2"),
        ("my.password", "hunter2"),
        ("hunter2", ""),
        ("password=hunter2;", ""),
    ],
)
def test_what_may_be_a_secret_is_in_no_finding(key, value):
    for each in judged({"application.id": "a", key: value}).findings:
        assert "hunter2" not in str(each.as_json())


def test_a_key_that_looks_like_none_is_named_by_its_place():
    assert "key 2 of the file" in [each.key for each in judged({"application.id": "a", "hunter2": ""}).findings]


@pytest.mark.parametrize("ends", [("2.2", "2.8"), ("2.2", "4.3")])
def test_a_key_that_from_ignores_begins_to_count(ends):
    for key in ("group.instance.id", "consumer.group.instance.id"):
        assert Effect.MEANING is finding(key, "pod-1", *ends)[0]
    assert Effect.FINE is finding("group.instance.id", "pod-1", "2.3", ends[1])[0]
    assert Effect.FINE is finding("upgrade.from", "0.10.0", "0.10.0", "1.1")[0]
    status, text = finding("windowed.inner.class.serde", "a.B", "2.8", "3.0")
    assert (Effect.MEANING, True) == (
        status,
        text.endswith("obeys it; a class of the application: --app PATH looks for it"),
    )


def test_a_prefix_counts_from_the_line_that_reads_it():
    """1.1.1 made its consumers without what begins with main.consumer., and 2.0.1 with it."""
    key = "main.consumer.max.poll.records"
    assert Effect.MEANING is finding(key, "5", "1.1", "2.8")[0]
    assert Effect.FINE is finding("consumer.max.poll.records", "5", "1.1", "2.8")[0]
    assert (Effect.REMOVED, "1.1.1 ignores keys that begin with main.consumer.") == finding(key, "5", "2.8", "1.1")
    assert Effect.UNKNOWN is finding("main.consumer.mine", "5", "2.8", "1.1")[0]


def test_a_default_that_makes_the_same_objects_is_not_listed():
    unchanged = {"metric.reporters", "ssl.cipher.suites", "sasl.oauthbearer.expected.audience"}
    assert unchanged.isdisjoint({each.key for each in judged({}, "3.9", "4.3").findings})


def test_the_message_about_a_long_value_is_short():
    assert len(finding("processing.guarantee", 10_000 * "x")[1]) < 400


def test_each_successor_is_a_key_where_the_old_one_is_gone_or_deprecated():
    for old, new in _RENAMED.items():
        assert any(
            new in streams and (old not in streams or streams[old].deprecated)
            for release in RELEASES.values()
            if release.is_released
            for streams in [configuration_of(release).configs["streams"]]
        ), old


@pytest.mark.parametrize(
    ("key", "value", "further", "words"),
    [
        ("group.instance.id", "pod_1", {}, ""),
        (
            "main.consumer.group.instance.id",
            "pod 1",
            {},
            "Group instance id is invalid: 'pod 1-1' contains one or more",
        ),
        ("consumer.group.remote.assignor", "uniform", {}, "group.remote.assignor cannot be set when group.protocol="),
        ("consumer.group.remote.assignor", "", {}, ""),
        ("producer.max.in.flight.requests.per.connection", "5", {}, ""),
        ("producer.max.in.flight.requests.per.connection", "6", {}, "must be set to at most 5. Current value is 6."),
        ("max.in.flight.requests.per.connection", "6", {"producer.enable.idempotence": "false"}, ""),
        ("rack.aware.assignment.tags", "zone", {"client.tag.zone": "a"}, ""),
        ("rack.aware.assignment.tags", "", {}, ""),
        (
            "rack.aware.assignment.tags",
            "zone,rack",
            {"client.tag.zone": "a"},
            "Invalid value [zone, rack] for configuration rack.aware.assignment.tags: Contains invalid value [rack] ",
        ),
    ],
)
def test_a_value_can_be_refused_because_of_others_or_by_code(key, value, further, words):
    status, text = finding(key, value, **further)

    assert (Effect.REFUSED if words else status) is status
    assert words in text
    assert words or status in {Effect.FINE, Effect.MEANING}


def test_what_only_the_new_release_refuses_is_not_refused_by_the_old_one():
    assert finding("producer.max.in.flight.requests.per.connection", "6")[1].endswith("Current value is 6.")
    assert finding("group.instance.id", "a b", "2.8", "3.2")[1] == (
        "Group instance id \"a b-1\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and "
        "'-'; 2.8.2 refuses it, too"
    )
    assert Effect.FINE is finding("producer.max.in.flight.requests.per.connection", "6", "2.8", "3.9")[0]


@pytest.mark.parametrize(
    ("target", "value", "guarantee", "words"),
    [
        ("1.1", "6", "exactly_once", "Streams sets it itself"),
        ("2.0", "5", "exactly_once", "ClassCastException: Streams expects a number, and a file has texts"),
        ("2.8", "6", "exactly_once", "Can't exceed 5 when exactly-once processing is enabled"),
        ("3.9", "6", "exactly_once_v2", "Can't exceed 5 when exactly-once processing is enabled"),
        ("3.9", "5", "exactly_once_v2", "accepts it"),
        ("3.9", "6", "at_least_once", "accepts it"),
    ],
)
def test_requests_in_flight_are_limited_by_exactly_once_processing(target, value, guarantee, words):
    """The plan said that Streams sets them, beside a row that named them as what stops members."""
    key = "producer.max.in.flight.requests.per.connection"
    text = finding(key, value, "1.0", target, **{"processing.guarantee": guarantee})[1]

    assert words in text


@pytest.mark.parametrize(
    ("value", "effect"),
    [
        ("${GUARANTEE:exactly_once}", Effect.REFUSED),
        ("${GUARANTEE:at_least_once}", Effect.UNDECIDED),
        ("${GUARANTEE}", Effect.UNDECIDED),
    ],
)
def test_the_default_of_a_placeholder_is_a_value_that_runs(value, effect):
    found = {each.key: each for each in judged({"processing.guarantee": value}).findings}["processing.guarantee"]

    assert effect is found.status
    assert (effect is Effect.REFUSED) is found.text.endswith("; this is the default of a placeholder")
