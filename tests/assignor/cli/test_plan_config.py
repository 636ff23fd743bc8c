"""``plan --config``: the settings of an application beside both releases."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from assignor.cli.plan.command import plan
from tests.upgrade.application.class_bytes import ClassBytes

PROPERTIES = """\
application.id=billing
processing.guarantee=exactly_once
ssl.key.password=hunter2
my.key=\\u001b[31m7
"""


@pytest.fixture
def run(tmp_path):
    def called(*arguments, text=PROPERTIES, name="streams.properties"):
        path = tmp_path / name
        path.write_text(text)
        return CliRunner().invoke(plan, [*arguments, "--config", str(path)])

    return called


def test_a_refused_value_makes_the_plan_unsafe(run):
    result = run("2.8", "4.3")
    lines = result.output.splitlines()

    assert 1 == result.exit_code
    assert lines[0].startswith(
        "2.8.2 to 4.3.1: unsafe: members of 4.3.1 do not start with the configuration, see below"
    )
    assert "- refused: line 2: processing.guarantee: Invalid value exactly_once for" in result.output
    assert "- default changed: session.timeout.ms (consumer): not set; the default is 45000 instead of 10000" in lines
    assert "- default changed: ssl.protocol (consumer, producer, admin): not set; " in result.output
    assert "- unknown: line 4: my.key: not a key of Kafka" in result.output
    assert ", your configuration; not checked: your code, " in lines[-1]
    assert "hunter2" not in result.output


def test_settings_that_start_leave_the_verdict(run):
    result = run("3.9", "4.3", text="application.id=a\n")

    assert 0 == result.exit_code
    assert result.output.startswith("3.9.2 to 4.3.1: safe for the metadata: one rolling bounce")


def test_the_same_as_json_and_as_a_runbook(run):
    found = json.loads(run("2.8", "4.3", "--json").output)
    markdown = run("2.8", "4.3", "-o", "markdown").output

    assert "unsafe" == found["verdict"]
    assert (False, 0) == (found["configuration"]["framework"], found["configuration"]["left_out"])
    assert {"key", "config", "status", "text", "line", "conditions"} == set(found["configuration"]["settings"][0])
    assert "refused" == found["configuration"]["settings"][0]["status"]
    assert found["notes"][0].startswith("members of 4.3.1 do not start")
    assert "## Configuration" in markdown
    assert "- [ ] refused: line 2: processing.guarantee: Invalid value" in markdown
    assert "fine" not in markdown.partition("## Configuration")[2].partition("## ")[0]


def test_json_and_spring_boot_are_read(run):
    settings = {"spring": {"kafka": {"streams": {"properties": {"processing.guarantee": "exactly_once"}}}}, "a": 1}
    result = run("2.8", "4.3", text=json.dumps(settings), name="application.json")

    assert "- refused: line 1: processing.guarantee: " in result.output
    assert "- 1 further keys of the file are not of Kafka Streams" in result.output


@pytest.mark.parametrize(
    ("arguments", "text", "name", "message"),
    [
        (("2.8", "4.3"), "- a", "application.yaml", "expected an object of settings, got a list"),
        (("2.8", "4.3"), "a\0b\0", "a.properties", "got NUL bytes: is it UTF-16?"),
        (("2.8", "4.3"), "a: hunter2: b", "a.yml", "expected YAML (mapping values are not allowed here) at line 1"),
        (("2.8", "4.3"), "[", "a.json", "cannot read"),
        (("2.8", "4.3"), "[]", "a.json", "expected an object of settings"),
        (("2.8", "2.8"), "", "a.properties", "--config and --app need two releases, got 2.8.2 twice"),
        (("2.8", "streams-assignor"), "", "a.properties", "expected a release that Kafka has published"),
        (("--brokers", "2.8", "4.3"), "", "a.properties", "--config and --app are for a Streams group"),
    ],
)
def test_what_cannot_be_compared_is_refused(run, arguments, text, name, message):
    result = run(*arguments, text=text, name=name)

    assert 2 == result.exit_code
    assert message in result.output
    assert "hunter2" not in result.output


YAML = """\
spring.kafka.streams:
  application-id: billing
  properties:
    processing.guarantee: at_least_once
    ssl.key.password: hunter2
---
spring.config.activate.on-profile: prod
spring.kafka.streams.properties.processing.guarantee: exactly_once
"""


def test_a_profile_of_spring_boot_is_named(run):
    result = run("2.8", "4.3", text=YAML, name="application.yml")
    found = json.loads(run("2.8", "4.3", "--json", text=YAML, name="application.yml").output)
    markdown = run("2.8", "4.3", "-o", "markdown", text=YAML, name="application.yml").output

    assert 1 == result.exit_code
    assert "- refused: line 8, profile prod: processing.guarantee: Invalid value exactly_once" in result.output
    assert (8, ["profile prod"]) == tuple(found["configuration"]["settings"][0][key] for key in ("line", "conditions"))
    assert "- [ ] refused: line 8, profile prod: processing.guarantee: Invalid" in markdown
    assert "hunter2" not in f"{result.output}{found}{markdown}"


def test_classes_of_the_configuration_are_looked_up_in_the_files_of_app(run, tmp_path):
    text = "default.key.serde=com.example.Keys\ndefault.value.serde=com.example.Values\n"
    library, jar = BytesIO(), tmp_path / "orders.jar"
    ZipFile(library, "w").close()
    with ZipFile(jar, "w") as written:
        written.writestr("com/example/Keys.class", ClassBytes("com/example/Keys").bytes())
        written.writestr("BOOT-INF/lib/x-1.jar", library.getvalue())
    result = run("3.9", "4.3", "--app", str(jar), "--json", text=text)
    found = {
        each["key"]: (each["status"], each["text"]) for each in json.loads(result.output)["configuration"]["settings"]
    }

    assert 1 == result.exit_code
    assert ("fine", "class com.example.Keys is in the files of --app") == found["default.key.serde"]
    assert ("refused", "class com.example.Values is not in the files of --app") == found["default.value.serde"]


def test_without_files_one_line_names_the_option():
    lines = CliRunner().invoke(plan, ["3.9", "4.3"]).output.splitlines()

    assert "for your application" not in CliRunner().invoke(plan, ["2.0.1", "simulated-4"]).output
    assert lines[-3].startswith("for your application: --config FILE, --app PATH and --topology FILE say which ")


def test_topologies_that_differ_come_first(run, tmp_path):
    texts = [
        "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [a])\n      --> none\n",
        "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [b])\n      --> none\n",
    ]
    paths = [tmp_path / str(number) for number in range(2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    result = run("2.8", "4.3", "--topologies", *map(str, paths))

    assert 1 == result.exit_code
    assert "do not roll: the topologies differ" in result.output.splitlines()[0]
