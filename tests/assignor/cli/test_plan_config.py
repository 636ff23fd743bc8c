"""``plan --config``: the settings of an application beside both releases."""

import json

import pytest
from click.testing import CliRunner

from assignor.cli.plan.command import plan

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
    assert "- refused: processing.guarantee: Invalid value exactly_once for" in result.output
    assert "- default changed: session.timeout.ms (consumer): not set; the default is 45000 instead of 10000" in lines
    assert "- default changed: ssl.protocol (consumer, producer, admin): not set; " in result.output
    assert "- unknown: my.key: not a key of Kafka" in result.output
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
    assert {"key", "config", "status", "text"} == set(found["configuration"]["settings"][0])
    assert "refused" == found["configuration"]["settings"][0]["status"]
    assert found["notes"][0].startswith("members of 4.3.1 do not start")
    assert "## Configuration" in markdown
    assert "- [ ] refused: processing.guarantee: Invalid value" in markdown
    assert "fine" not in markdown.partition("## Configuration")[2].partition("## ")[0]


def test_json_and_spring_boot_are_read(run):
    settings = {"spring": {"kafka": {"streams": {"properties": {"processing.guarantee": "exactly_once"}}}}, "a": 1}
    result = run("2.8", "4.3", text=json.dumps(settings), name="application.json")

    assert "- refused: processing.guarantee: " in result.output
    assert "- 1 further keys of the file are not of Kafka Streams" in result.output


@pytest.mark.parametrize(
    ("arguments", "text", "name", "message"),
    [
        (("2.8", "4.3"), "a: b", "application.yaml", "YAML is not read"),
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
