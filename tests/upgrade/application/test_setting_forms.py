"""Where settings are besides plain files: forms, manifests, variables, options, several files; and what stays open."""

import json
from base64 import b64encode

import pytest

from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.evidence import setting_facts
from streams_assignor.upgrade.application.setting_files import FOLDER, combined_settings, parse_settings
from streams_assignor.upgrade.application.setting_forms import form_of
from streams_assignor.upgrade.application.settings import Effect, judge_settings
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import Answer, Application, CodeFacts, CodeSettings
from streams_assignor.upgrade.hazards.conditions import Sets
from streams_assignor.upgrade.releases import RELEASES

KEY, OLD = "processing.guarantee", "exactly_once"
SPRING = f"spring.kafka.streams.properties.{KEY}"
VARIABLE = "SPRING_KAFKA_STREAMS_PROPERTIES_PROCESSING_GUARANTEE"
READ = CodeFacts(
    "app.jar",
    has_libraries=True,
    has_own_classes=True,
    makes_streams=True,
    builds_topology=True,
    settings=CodeSettings(),
)
PLAIN = f"a=b\n{KEY}={OLD}"
CONFIG_MAP = f"""\
kind: ConfigMap
data:
  application.yml: |
    spring:
      kafka.streams.properties:
        {KEY}: {OLD}
"""
DEPLOYMENT = """\
kind: Deployment
spec:
  containers:
  - args: ["--server.port=80", "--{key}={value}"]
    env:
    - {{name: {name}, value: {text}}}
"""


def base_64(text):
    return b64encode(text.encode()).decode()


def concern(files, code=READ, *, of_folder=False):
    facts = setting_facts("the file", combined_settings(files, of_folder=of_folder))
    return [Sets(KEY, (OLD,)).concern(Application(settings=found, code=code)) for found in facts]


def answers(*files, code=READ):
    return {found.answer for found in concern(files, code)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.properties", f"{KEY}={OLD}"),
        ("a.toml", f'[processing]\nguarantee = "{OLD}"\nlist = [1, true]'),
        ("a.xml", f'<properties>\n<entry key="{KEY}">{OLD}</entry></properties>'),
        ("a.properties", f'<?xml version="1.0"?><properties><entry key="{KEY}">{OLD}</entry></properties>'),
        ("a.yml", CONFIG_MAP),
        ("a.yml", CONFIG_MAP.replace("application.yml", "application-prod.yml")),
        ("a.yml", f"kind: Secret\nstringData:\n  kafka.properties: |\n    a=b\n    {KEY}={OLD}\n"),
        ("a.yml", DEPLOYMENT.format(key="x", value="y", name=VARIABLE, text=OLD)),
        ("a.yml", DEPLOYMENT.format(key=SPRING, value=OLD, name="A_B", text="c")),
        ("a.yml", DEPLOYMENT.format(key="x", value="y", name="JAVA_TOOL_OPTIONS", text=f"'-Xmx1g -D{SPRING}={OLD}'")),
        (
            "a.yml",
            DEPLOYMENT.format(
                key="x", value="y", name="SPRING_APPLICATION_JSON", text=f"""'{{"{SPRING}": "{OLD}"}}'"""
            ),
        ),
        ("compose.yml", f"services:\n  app:\n    environment:\n    - {VARIABLE}={OLD}\n    - A_B=c\n"),
        ("compose.yml", f"services: {{app: {{environment: {{{VARIABLE}: {OLD}}}}}}}"),
        ("Dockerfile", f"FROM x\nENV A=b \\\n  {VARIABLE}={OLD}\nRUN make"),
        ("Dockerfile", f"ENV {VARIABLE} {OLD}"),
        ("Dockerfile", f'ENTRYPOINT ["java", "-D{SPRING}={OLD}", "-jar"]'),
        ("Dockerfile", f"FROM x\nENV A=b \\\n  # of Kafka\n  {VARIABLE}={OLD}\nRUN make"),
        (
            "Dockerfile",
            f"FROM x AS a\nENV {VARIABLE}={OLD}\nFROM y AS b\nENV {VARIABLE}=x\nFROM --platform=p A as c\nCMD x",
        ),
        ("Dockerfile", f"ARG G={OLD}\nFROM x\nARG H G\nENV {VARIABLE}=$G"),
        ("Dockerfile", f"FROM x AS a\nARG G='{OLD}'\nFROM a\nENV {VARIABLE}=${{G}}"),
        ("Dockerfile", f"FROM x\nENV A_G={OLD}\nENTRYPOINT exec java -Da=b -D{SPRING}=$A_G -jar a.jar"),
        ("app.env", f"{VARIABLE}={OLD}"),
        ("app.env", f"{VARIABLE}='{OLD}'"),
        ("app.env", f"KAFKA_STREAMS_PROCESSING_GUARANTEE={OLD}"),
        ("a.yml", f"kafka.streams.default.{KEY}: {OLD}"),
        ("a.yml", f"kafka.streams.counts.{KEY}: {OLD}"),
        (
            "a.yml",
            "spring.cloud.stream.binders.one.environment.spring.cloud.stream.kafka.streams.binder.configuration."
            f"{KEY}: {OLD}",
        ),
        (
            "a.xml",
            f'<properties><!-- <entry key="{KEY}"/> --><entry key="{KEY}"><![CDATA[{OLD}]]></entry></properties>',
        ),
        ("a.yml", f"kind: Secret\ndata:\n  {VARIABLE}: {base_64(OLD)}\n"),
        ("a.yml", f"kind: Secret\ndata:\n  a.properties: {base_64(PLAIN)}\n"),
        ("compose.yml", f"services: {{a: {{environment: {{{VARIABLE}: {OLD}}}}}, b: {{environment: [{VARIABLE}=x]}}}}"),
        ("a.yml", f"env: [{{name: {VARIABLE}, value: {OLD}}}]\n---\nenv: [{{name: {VARIABLE}, value: x}}]"),
        ("a.yml", f"data:\n  a.properties: |\n    a=b\n    {KEY}={OLD}\n  b.properties: |\n    a=b\n    {KEY}=x\n"),
        ("a.properties", f"{KEY}=${{GUARANTEE:{OLD}}}"),
        ("a.properties", f"{KEY}=${{A:${{B:-{OLD}}}}}"),
        ("a.properties", f"{KEY}=${{app.guarantee:x}}\napp.guarantee={OLD}"),
    ],
)
def test_a_setting_is_read_where_its_text_is(name, text):
    assert Answer.YES in answers((name, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.properties", ""),
        ("a.properties", "a: 1"),
        ("a.yml", "a: 1"),
        ("a.yml", ""),
        ("a.json", "{}"),
        ("a.conf", f'kafka {{ {KEY} = "{OLD}" }}'),
        ("logback.xml", "<configuration/>"),
        ("Dockerfile", "FROM x\nCMD java"),
        ("a.properties", f"{KEY}=${{GUARANTEE:at_least_once}}"),
        ("a.properties", f"{KEY}=at_least_once\nour.{KEY}={OLD}"),
        ("a.properties", f"acks=all\n{KEY}=${{}}"),
        ("a.yml", f"spring.config.import: file:/etc/kafka.yml\n{SPRING}2: x\nspring.kafka.client-id: a"),
        ("a.yml", "spring.kafka.client-id: a\nspring.cloud.config.uri: http://c"),
        ("a.yml", "acks: all\nspec: {envFrom: [{configMapRef: {name: a}}]}"),
        ("a.yml", f"spring.kafka.client-id: a\nspring.kafka.consumer.properties.{KEY}: {OLD}"),
        ("a.properties", "spring.kafka.client-id=a"),
        ("run.sh", f"acks=all\nexec java -D{KEY}={OLD} -jar app.jar"),
        ("run.sh", f"acks=all\nexport APP_PROCESSING_GUARANTEE={OLD}"),
        ("a.properties", "acks=all\ninclude = more.properties"),
        ("run.sh", "acks=all\n. /etc/default/orders"),
        ("a.tf", f'SPRING_KAFKA_CLIENT_ID = "x"\nenvironment = {{ {VARIABLE} = "{OLD}" }}'),
        ("orders.unit", "acks=all\nEnvironmentFile=-/etc/default/orders"),
        ("a.yml", "acks: all\nservices: {a: {extends: {file: base.yml, service: a}}}"),
        ("kustomization.yml", "acks: all\nresources: [../base]"),
        ("kustomization.yml", "acks: all\npatches: [{path: prod.yml}]"),
        ("kustomization.yml", "acks: all\nconfigMapGenerator: [{name: a, files: [kafka.properties=prod.properties]}]"),
        ("a.toml", f'acks = "all"\n[[streams]]\nkey = "{KEY}"\nvalue = "{OLD}"'),
        ("a.toml", f'acks = "all"\n[prod]\n"{KEY}" = "{OLD}"\n[dev]\n"{KEY}" = "x"'),
        ("a.yml", f"acks: all\nstreams: ['a=b', '{KEY}: {OLD}']"),
        ("a.yml", f"acks: all\nstreams: |\n  {KEY}={OLD}\n  a=b"),
        ("a.yml", f"kind: Secret\nacks: all\ndata: {{{VARIABLE}: a}}"),
        ("a.yml", f"kind: Secret\nacks: all\ndata: {{{VARIABLE}: '{{{{ {base_64('at_least_once')} }}}}'}}"),
        ("a.json", f'{{"acks": "all", "streams": ["{KEY}={OLD}"]}}'),
        ("a.xml", f'<beans><entry key="acks">all</entry><prop key="{KEY}">{OLD}</prop></beans>'),
        ("compose.yml", f"services: {{a: {{environment: [SPRING_KAFKA_CLIENT_ID=x, {VARIABLE}]}}}}"),
        ("compose.yml", f"services: {{a: {{environment: {{SPRING_KAFKA_CLIENT_ID: x, {VARIABLE}: }}}}}}"),
        ("Dockerfile", f"FROM x\nENV SPRING_KAFKA_CLIENT_ID=x\nARG G\nENV {VARIABLE}=$G"),
        ("Dockerfile", f"FROM x AS a\nENV {VARIABLE}={OLD}\nFROM y\nENV SPRING_KAFKA_CLIENT_ID=x"),
        ("Dockerfile", f"FROM x AS a\nARG G={OLD}\nFROM y\nENV SPRING_KAFKA_CLIENT_ID=x {VARIABLE}=$G"),
        ("Dockerfile", f"FROM x\nARG {VARIABLE}={OLD}\nENV SPRING_KAFKA_CLIENT_ID=x"),
        ("Dockerfile", f"FROM x AS a\nCMD java -D{SPRING}={OLD}\nFROM a\nCMD java -Dspring.kafka.client-id=x"),
    ],
)
def test_what_is_not_known_of_a_file_leaves_the_key_open(name, text):
    assert {Answer.UNKNOWN} == answers((name, text))


OPTIONS = ("-Dspring.kafka.bootstrap-servers=a:1,b:2", f"--{SPRING}=$A_G")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", f"CMD {json.dumps(['java', *OPTIONS, '-jar', 'a.jar'])}"),
        ("Dockerfile", f"CMD java {' '.join(OPTIONS)} -jar a.jar"),
        ("a.yml", f"spec: {{containers: [{{args: {json.dumps([*OPTIONS, 'a'])}}}]}}"),
        ("a.yml", f"command: java {' '.join(OPTIONS)}"),
        ("a.toml", f"args = {json.dumps(OPTIONS)}"),
        ("a.env", f"JAVA_OPTS={' '.join(OPTIONS)}"),
    ],
)
def test_an_option_has_its_commas_and_the_variables_of_the_shell(name, text):
    values = parse_settings(text, name).values

    assert {"bootstrap.servers": "a:1,b:2", KEY: "${A_G}"} == {key: values[key] for key in ("bootstrap.servers", KEY)}


def test_a_no_needs_the_file_and_the_classes():
    (proven,) = concern([("a.properties", "acks=all")])

    assert (Answer.NO, (f"{KEY} is not set in the file",), ()) == (
        proven.answer,
        proven.evidence,
        proven.contradicted_by,
    )
    classes = "app.jar as class files, without settings that libraries make"
    assert ("the file as properties", classes) == proven.read
    (open_one,) = concern([("a.properties", "acks=all")], code=None)
    assert (Answer.UNKNOWN, ("your code could set it (--app)",)) == (open_one.answer, open_one.decided_by)


def test_a_framework_needs_all_profiles_the_environment_and_the_command_line():
    manifest = DEPLOYMENT.format(key="x", value="y", name=VARIABLE, text="at_least_once")
    files = [("application.yml", "spring.kafka.client-id: a"), ("deployment.yml", manifest)]

    assert {Answer.NO} == {found.answer for found in concern(files, of_folder=True)}
    (open_one,) = concern(files)
    assert ("another profile or file could set it (--config with their folder)",) == open_one.decided_by
    (further,) = concern(files[:1], of_folder=True)
    assert ("the environment or the command line could set it (--config with the manifest)",) == further.decided_by


def test_files_are_combined_as_a_framework_combines_them():
    base, prod = (
        ("application.properties", "spring.kafka.client-id=a"),
        ("application-prod.properties", f"{SPRING}={OLD}"),
    )

    for pair in ([base, prod], [prod, base]):
        first, second = combined_settings(pair).variants
        assert ((), ("profile prod",)) == (first.conditions, second.conditions)
        assert (None, OLD) == (first.values.get(KEY), second.values[KEY])
        assert Answer.YES in answers(*pair)
    later = combined_settings([("a.properties", "acks=1\nretries=2"), ("b.properties", "acks=all")])
    assert ({"acks": "all", "retries": "2"}, {"acks": "b.properties", "retries": "a.properties"}) == (
        later.values,
        later.variants[0].files,
    )
    variable = ("app.env", f"{VARIABLE}=at_least_once")
    assert "at_least_once" == combined_settings([variable, ("a.yml", f"{SPRING}: {OLD}")]).values[KEY]
    with pytest.raises(UpgradeError, match=r"^b\.json: expected JSON"):
        combined_settings([("a.properties", ""), ("b.json", "{")])


def test_a_plain_file_and_one_of_a_framework_that_differ_are_judged_one_by_one():
    pair = [("application.yml", f"{SPRING}: {OLD}"), ("streams.properties", f"{KEY}=at_least_once\nacks=all")]

    for files in (pair, pair[::-1]):
        found = {variant.conditions[0]: variant.values[KEY] for variant in combined_settings(files).variants}
        assert {"in application.yml": OLD, "in streams.properties": "at_least_once"} == found
        assert Answer.YES in answers(*files)
    same = [pair[0], ("streams.properties", f"{KEY}={OLD}\nacks=all")]
    assert [()] == [variant.conditions for variant in combined_settings(same).variants]


def test_what_a_file_imports_is_closed_by_that_file():
    text = "spring.config.import: 'optional:file:/etc/orders/kafka.yml'\nspring.kafka.client-id: a"
    reasons = dict(parse_settings(text, "application.yml").elsewhere)

    assert {"": "line 1 imports: spring.config.import"} == reasons
    assert () == combined_settings([("application.yml", text), ("x/kafka.yml", "acks: all")]).elsewhere
    overlay = "acks: all\nresources: [../base]\nconfigMapGenerator: [{name: a, files: [a=b.properties]}]"
    files = [("k/base/a.yml", "acks: all"), ("k/prod/b.properties", "acks=all"), ("k/prod/c.yml", overlay)]
    assert () == combined_settings(files).elsewhere
    off = "spring.cloud.consul.enabled: false\nspring.kafka.client-id: a"
    assert () == parse_settings(off, "a.yml").elsewhere


def test_forms_are_told_by_names():
    assert "YAML" == form_of("C:\\x\\APPLICATION.YML").words
    assert "XML" == form_of("a.properties", " <a/>").words
    for name, text, message in (
        ("a.toml", "a b", "expected TOML"),
        ("a.xml", "<a>\n</b>", r"expected XML \(mismatched tag\) at line 2"),
        ("a.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a/>', "expected XML without entities"),
    ):
        with pytest.raises(UpgradeError, match=message):
            parse_settings(text, name)
    assert FOLDER in combined_settings([("a.properties", "acks=all")], of_folder=True).shows


def test_names_of_toml_have_their_lines():
    text = f"""\
acks = "all" # of producers

[streams."a b"]
properties."{KEY}" = "{OLD}"
[[streams.other]]
more = {{ client.id = "a" }}
"""
    found = parse_settings(text, "a.toml").variants[0]

    assert {"acks": 1, f"streams.a b.properties.{KEY}": 4, "streams.other[0].more.client.id": 6} == found.lines


def test_containers_that_set_a_key_differently_are_conditions_and_nothing_runs_without_them():
    environment = "services.{name}.environment: {{{variable}: {value}}}\n"
    texts = [
        environment.format(name=name, variable=VARIABLE, value=value)
        for name, value in (("a", OLD), ("b", "at_least_once"))
    ]
    first, second = parse_settings("".join(texts), "compose.yml").variants

    assert (("in services.a",), ("in services.b",)) == (first.conditions, second.conditions)
    assert (OLD, "at_least_once") == (first.values[KEY], second.values[KEY])
    files = [("a.env", f"{VARIABLE}={OLD}"), ("compose.yml", texts[1])]
    conditions = [variant.conditions for variant in combined_settings(files).variants]
    assert [("in a.env",), ("in compose.yml services.b",)] == conditions
    assert [()] == [
        variant.conditions for variant in parse_settings(texts[0] + texts[0].replace(".a.", ".b."), "a.yml").variants
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.conf", f"{KEY} = x", "is not read: HOCON"),
        ("a.yml", "a: 1", "sets no key of Kafka Streams or its clients: is it the application's?"),
    ],
)
def test_a_file_without_a_key_of_kafka_does_not_show_that_a_key_is_not_set(name, text, reason):
    settings = parse_settings(text, name)
    ends = [configuration_of(RELEASES[release]) for release in ("2.8.2", "4.3.1")]
    found = judge_settings(settings, *ends, code_of(RELEASES["4.3.1"]))

    assert (("", reason),) == settings.elsewhere
    assert {Effect.UNKNOWN} >= {finding.status for finding in found.findings}
