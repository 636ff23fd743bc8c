"""The files in which applications have their settings: forms, lines, documents and profiles."""

import json
import sys

import pytest

from streams_assignor.upgrade.application.setting_files import (
    Settings,
    combined_settings,
    kafka_settings,
    parse_settings,
)
from streams_assignor.upgrade.application.setting_forms import _MAX_VALUES, MAX_YAML_BYTES, Entry
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE

PROPERTIES = """\
# a comment
application.id=billing

num.stream.threads=\\
  4
acks=1
acks=all
"""


def of_framework(*pairs):
    return kafka_settings(Entry(key, value, line) for line, (key, value) in enumerate(pairs, 1))


def test_each_form_has_the_same_settings_with_their_lines():
    plain = parse_settings(PROPERTIES, ".properties").variants[0]
    yaml = parse_settings("application.id: billing\nnum:\n  stream.threads: 4\nacks: all # x\n", ".yaml").variants[0]
    document = '{"application.id":\n "billing", "num": {\n"stream.threads": 4}, "acks": "1",\n"acks": "a\\u006cl"}'
    json_file = parse_settings(document, ".JSON").variants[0]

    expected = {"application.id": "billing", "num.stream.threads": "4", "acks": "all"}
    assert expected == plain.values == yaml.values == json_file.values
    assert {"application.id": 2, "num.stream.threads": 4, "acks": 7} == plain.lines
    assert {"application.id": 1, "num.stream.threads": 3, "acks": 4} == yaml.lines
    assert {"application.id": 1, "num.stream.threads": 3, "acks": 4} == json_file.lines


def test_the_forms_of_spring_boot_and_quarkus_are_read():
    spring = of_framework(
        ("spring.kafka.bootstrap-servers", "a:1"),
        ("spring.kafka.streams.bootstrapServers", "b:1"),
        ("spring.kafka.streams.application_id", "billing"),
        ("spring.kafka.properties.acks", "1"),
        ("spring.kafka.streams.properties.acks", "all"),
        ("spring.kafka.streams.properties[num.stream.threads]", "4"),
        ("spring.kafka.streams.properties.client.id", None),
        ("spring.kafka.streams.propertiesx", "4"),
        ("server.port", "80"),
    )

    assert {
        "bootstrap.servers": "b:1",
        "application.id": "billing",
        "acks": "all",
        "num.stream.threads": "4",
        "client.id": "",
    } == spring.values
    assert 5 == spring.variants[0].lines["acks"]
    assert (True, 2) == (spring.framework, spring.left_out)
    assert {"acks": "all"} == of_framework(("kafka-streams.acks", "all"), ("quarkus.log.level", "X")).values
    assert {"ssl.keystore.type": "PEM", "security.protocol": "SSL"} == of_framework(
        ("spring.kafka.ssl.keyStoreType", "JKS"),
        ("spring.kafka.streams.ssl.key-store-type", "PEM"),
        ("spring.kafka.security.protocol", "SSL"),
    ).values
    assert {"acks": "all"} == of_framework(("acks", "1"), ("acks", "all"), ("client.id", None)).values
    assert {"a": "1"} == Settings.of({"a": "1"}).values


def test_a_plain_file_with_a_key_of_a_framework_is_a_plain_file():
    found = of_framework(("acks", "all"), ("spring.datasource.password", "hunter2"), ("quarkus.log.level", "X"))

    assert (False, 0, "all") == (found.framework, found.left_out, found.values["acks"])


@pytest.mark.parametrize(
    "pairs",
    [
        [(f"key.{number}", "") for number in range(10_001)],
        [(f"%p{number}.kafka-streams.acks", "all") for number in range(50)],
    ],
    ids=["settings", "profiles"],
)
def test_a_file_with_more_than_any_application_has_is_refused(pairs):
    with pytest.raises(UpgradeError, match="expected at most 10,000 settings and 50 profiles and functions, got "):
        of_framework(*pairs)


SPRING = """\
spring:
  kafka:
    streams:
      application-id: billing
      properties:
        num.stream.threads: 1
---
spring.config.activate:
  on-profile: [prod, stage]
  on-cloud-platform: kubernetes
spring.kafka.streams.properties:
  "[num.stream.threads]": 4
  processing.guarantee: exactly_once
---
---
spring.profiles: dev
spring.kafka.streams.properties.num.stream.threads: 2
---
spring.kafka.streams.properties.acks: all
"""


def test_each_profile_of_a_file_has_its_settings():
    base, prod, dev = parse_settings(SPRING, ".yml").variants

    assert {"application.id": "billing", "num.stream.threads": "1", "acks": "all"} == base.values
    assert ("profile prod,stage", "platform kubernetes") == prod.conditions
    assert {**base.values, "num.stream.threads": "4", "processing.guarantee": "exactly_once"} == prod.values
    assert (12, 4) == (prod.lines["num.stream.threads"], prod.lines["application.id"])
    assert (("profile dev",), "2") == (dev.conditions, dev.values["num.stream.threads"])


def test_documents_of_properties_profiles_of_quarkus_and_functions_are_conditions():
    text = (
        "spring.kafka.streams.properties.acks=1\n#---\nspring.config.activate.on-profile=prod\n"
        "spring.kafka.streams.properties.acks=all\n"
    )
    base, prod = parse_settings(text, ".properties").variants
    quarkus = of_framework(("kafka-streams.acks", "1"), ("%{prod,stage}.kafka-streams.acks", "all"))
    binder = "spring.cloud.stream.kafka.streams.binder"
    functions = of_framework(
        (f"{binder}.configuration.acks", "1"),
        (f"{binder}.functions.enrich.configuration.acks", "all"),
        (f"{binder}.functions.enrich.application-id", "enrich"),
    )

    assert ("1", "all", ("profile prod",)) == (base.values["acks"], prod.values["acks"], prod.conditions)
    assert ({"acks": "1"}, {"acks": "all"}) == tuple(each.values for each in quarkus.variants)
    assert ("profile prod,stage",) == quarkus.variants[1].conditions
    assert {"acks": "all", "application.id": "enrich"} == functions.variants[1].values
    assert (("function enrich",), 0) == (functions.variants[1].conditions, functions.left_out)


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("yes", "true"),
        ("'yes'", "yes"),
        ("off", "false"),
        ("0x1F", "31"),
        ("-0b11", "-3"),
        ("010", "8"),
        ("08", "08"),
        ("!!int 09", "09"),
        ("1_000.5", "1_000.5"),
        ("2020-01-01", "2020-01-01"),
        ("!vault x", "${}"),
        ("! x", "x"),
        ("[a, b]", "a,b"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        (f"{5_000 * '1'}", 5_000 * "1"),
    ],
)
def test_a_value_of_yaml_is_the_text_that_java_gets(yaml, value):
    assert {"a": value} == parse_settings(f"a: {yaml}", ".yaml").values


def test_aliases_and_merged_objects_of_yaml_are_read():
    text = "x: &x\n  acks: 1\n  client.id: a\ny: &y {b: 2}\ndefaults:\n  <<: [*x, *y]\n  acks: all\none:\n  <<: *x\n"

    found = parse_settings(text, ".yaml").variants[0]
    assert {"defaults.acks": "all", "defaults.client.id": "a", "defaults.b": "2", "one.acks": "1"}.items() <= (
        found.values.items()
    )
    assert (7, 3) == (found.lines["defaults.acks"], found.lines["defaults.client.id"])
    assert {} == parse_settings("a:\n", ".yaml").values == parse_settings("", ".yaml").values


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(10 * [f'*{before}'])}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        ("[]", ".json", "expected an object of settings, got a list"),
        ("3", ".json", "expected an object of settings, got a value"),
        ('{"a": hunter2}', ".json", r"expected JSON \(Expecting value\) at line 1 column 7$"),
        ('{"a": NaN}', ".json", "got NaN, which is no number"),
        ("[" * 100_000, ".json", "nested too deeply"),
        (60 * '{"a":' + "1" + 60 * "}", ".json", "expected at most 50 levels of settings"),
        ("- a", ".yaml", "expected an object of settings, got a list"),
        ("hunter2", ".yaml", "expected an object of settings, got a value"),
        ("a: b: hunter2", ".yaml", r"expected YAML \(mapping values are not allowed here\) at line 1 column 5$"),
        ("a: *hunter2", ".yaml", r"expected YAML \(found undefined alias\) at line 1 column 4$"),
        ("a: \x01", ".yaml", "characters that it does not allow"),
        ("[" * 1_000, ".yaml", "nested too deeply"),
        ("a: &a {b: *a}", ".yaml", "nested too deeply"),
        ("? [a]\n: b", ".yaml", "expected a name in line 1 of YAML"),
        ("<<: 3", ".yaml", "expected an object to merge in line 1 of YAML"),
        (BOMB, ".yaml", f"expected at most {_MAX_VALUES:,} values in YAML"),
        (" " * (MAX_YAML_BYTES + 1), ".yaml", "expected at most 1,048,576 characters of YAML"),
    ],
)
def test_what_is_no_file_of_settings_is_refused_without_its_values(text, suffix, message):
    with pytest.raises(UpgradeError, match=message) as error:
        parse_settings(text, suffix)
    assert "hunter2" not in str(error.value)


def test_lists_of_objects_have_numbers_and_named_values_their_names():
    """An application.yml has lists of others, and a manifest of Kubernetes has its environment as one."""
    text = """
acks: all
routes:
  - id: a
    filters: [b, c]
  - [d]
env:
  - {name: ACKS, value: '1'}
  - name: PASSWORD
    valueFrom: {secretKeyRef: s}
"""
    found = parse_settings(text, ".yaml").values

    assert {
        "acks": "all",
        "routes[0].id": "a",
        "routes[0].filters": "b,c",
        "routes[1]": "d",
        "env.ACKS": "1",
        "env.PASSWORD": UNKNOWN_VALUE,
    } == found


def test_all_other_keys_of_a_framework_are_kept():
    """A key that is skipped and ends in one of Kafka's may reach Kafka in a way that is not known here."""
    found = of_framework(
        ("spring.kafka.streams.application-id", "billing"),
        ("spring.kafka.consumer.properties.session.timeout.ms", "1"),
        ("spring.cloud.stream.kafka.streams.bindings.in.consumer.configuration.session.timeout.ms", "1"),
        ("billing.kafka.processing-guarantee", "exactly_once"),
    )

    binding = "spring.cloud.stream.kafka.streams.bindings.in.consumer.configuration.session.timeout.ms"
    consumer = "spring.kafka.consumer.properties.session.timeout.ms"
    assert {consumer: 2, binding: 3, "billing.kafka.processing-guarantee": 4} == found.variants[0].unread


def test_without_pyyaml_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(UpgradeError, match=r"^YAML needs PyYAML: pip install 'streams-assignor\[yaml\]'$"):
        parse_settings("a: b", ".yaml")
    with pytest.raises(UpgradeError, match=r"^b\.yaml: YAML needs PyYAML"):
        combined_settings([("a.json", "[]"), ("b.yaml", "a: b")], of_folder=True)
    assert {"a": "b"} == parse_settings(json.dumps({"a": "b"}), ".json").values


def test_quarkus_sets_its_own_names_last():
    """KafkaStreamsProducer of quarkus-kafka-streams 3.33."""
    text = "quarkus.application.name=a\nkafka.bootstrap.servers=h:1\nkafka-streams.security.protocol=PLAINTEXT\n"
    text += "quarkus.kafka-streams.security.protocol=SASL_SSL\nquarkus.kafka-streams.topics=t\n"
    text += "quarkus.kafka-streams.ssl.truststore.type=PKCS12\nquarkus.kafka-streams.ssl.keymanager-algorithm=X\n"
    text += "quarkus.kafka-streams.sasl.login-callback-handler-class=c.D\n"
    found = parse_settings(text, ".properties")

    assert {
        "application.id": "a",
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PKCS12",
        "ssl.keymanager.algorithm": "X",
        "sasl.login.callback.handler.class": "c.D",
    } == found.values
    assert 1 == found.left_out
    plain = "application.id=a\nkafka.bootstrap.servers=h:1\n"
    assert "a" == parse_settings(plain, ".properties").values["application.id"]
    named = parse_settings(f"{text}quarkus.kafka-streams.application-id=b", ".properties")
    assert "b" == named.values["application.id"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "Dockerfile",
            'FROM a\nCMD ["java", "-javaagent:/otel.jar", "-jar", "app.jar"]\n',
            "line 2 has -javaagent:/otel.jar",
        ),
        (
            "d.yml",
            "kind: Deployment\nenv:\n- {name: JAVA_TOOL_OPTIONS, value: -javaagent:/dd.jar=a}\n",
            "has -javaagent:/dd.jar",
        ),
        (
            "d.yml",
            "kind: Deployment\nmetadata:\n  annotations:\n    instrumentation.opentelemetry.io/inject-java: 'true'\n",
            "has instrumentation.opentelemetry.io/inject-java",
        ),
    ],
)
def test_the_agents_of_java_are_known(name, text, expected):
    (found,) = combined_settings([(name, text)]).agents

    assert found[1].endswith(expected)
