"""``plan --config``: the settings of an application beside both releases."""

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.application_settings import ConfigurationResult, read_settings
from streams_assignor.cli.plan.command import plan
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.settings import judge_settings
from streams_assignor.upgrade.releases import RELEASES
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


def test_settings_that_start_prove_nothing_about_code(run):
    result = run("3.9", "4.3", text="application.id=a\n")

    assert 3 == result.exit_code
    assert result.output.startswith("3.9.2 to 4.3.1: not proven: safe for the metadata, one rolling bounce")


@pytest.mark.parametrize(("text", "is_asked"), [("", True), ("broker.id=1\n", True), ("application.id=a\n", False)])
def test_a_file_without_any_key_of_kafka_may_be_the_wrong_one(run, text, is_asked):
    assert is_asked is ("sets no key of Kafka Streams or its clients" in run("3.9", "4.3", text=text).output)


@pytest.mark.unmeasured
def test_the_same_as_json_and_as_a_runbook(run):
    found = json.loads(run("2.8", "4.3", "--json").output)
    markdown = run("2.8", "4.3", "-o", "markdown").output

    assert "unsafe" == found["verdict"]
    assert (False, 0) == (found["configuration"]["framework"], found["configuration"]["left_out"])
    assert {"key", "config", "status", "text", "line", "file", "conditions"} == set(
        found["configuration"]["settings"][0]
    )
    assert "refused" == found["configuration"]["settings"][0]["status"]
    assert found["notes"][0].startswith("members of 4.3.1 do not start")
    assert "\nSettings to change:\n" in markdown
    assert "- [ ] refused: line 2: processing.guarantee: Invalid value" in markdown
    assert "Settle before the first step:\n\n- [ ] members of 4.3.1 do not start with the configuration" in markdown
    assert "- [ ] default changed: ssl.protocol (consumer, producer, admin): not set; " in markdown
    assert "fine" not in markdown.partition("Settings to change:")[2].partition("**1.**")[0]


@pytest.mark.parametrize(
    ("setting", "left_out"),
    [
        ("", 2),
        ("security.protocol=PLAINTEXT", 2),
        ("security.protocol=SSL", 0),
        ("producer.security.protocol=sasl_ssl", 0),
        ("security.protocol=${PROTOCOL}", 0),
        ("security.protocol={{ .Values.protocol }}", 0),
    ],
)
def test_a_terminal_gets_no_default_that_needs_another_security_protocol(tmp_path, setting, left_out):
    path = tmp_path / "streams.properties"
    path.write_text(f"application.id=a\n{setting}\n")
    ends = configuration_of(RELEASES["3.9.2"]), configuration_of(RELEASES["4.3.1"])
    settings = read_settings(path)
    found = ConfigurationResult(str(path), settings, judge_settings(settings, *ends, code_of(RELEASES["4.3.1"])))
    head, *lines = found.lines(DisplayOptions(columns=200))
    secured = [line for line in found.lines(DisplayOptions()) if ": ssl." in line or ": sasl." in line]

    (unset,) = [line for line in lines if line.endswith(" (-v: from what to what)")]
    assert f" {unset.count(',') + 1} default changed" in head
    assert 2 == len(secured)
    assert 2 - left_out == sum(f" {key}" in unset for key in ("ssl.enabled.protocols", "ssl.protocol"))


def test_json_and_spring_boot_are_read(run):
    settings = {"spring": {"kafka": {"streams": {"properties": {"processing.guarantee": "exactly_once"}}}}, "a": 1}
    result = run("2.8", "4.3", text=json.dumps(settings), name="application.json")

    assert "- refused: line 1: processing.guarantee: " in result.output
    assert "- further keys of the file that are not read: 1" in result.output


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


@pytest.mark.unmeasured
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
    with ZipFile(library, "w") as written:
        written.writestr("x/X.class", ClassBytes("x/X").bytes())
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
    assert lines[-3].startswith(
        "for your application: --config FILE, --app PATH, --topology FILE and --group NAME say which "
    )


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


GROUP = "num.standby.replicas=1\nsession.timeout.ms=30000\ngroup.instance.id=${POD}\nnum.stream.threads=2\n"


@pytest.mark.unmeasured
def test_settings_are_the_parameters_of_the_plan(run):
    result = run("4.2", "4.3", "--members", "2", "--tasks", "2", "--json", text=GROUP)
    found = json.loads(result.output)

    assert (True, 1, 30000) == tuple(
        found["configuration"]["parameters"][key] for key in ("static", "standbys", "session_timeout_ms")
    )
    assert any("explored were members without group.instance.id" in each for each in found["group"]["assumed"])
    assert not [each for each in found["notes"] if "counts" in each]


def test_an_option_counts_more_than_the_file_and_both_are_named(run):
    result = run(
        "4.2", "4.3", "--members", "2", "--tasks", "2", "--standbys", "0", "--session-timeout", "45", text=GROUP
    )
    threads = run("2.0", "2.3.1", "--without", "second-thread", text=GROUP)

    assert "note: --standbys counts, and not num.standby.replicas of " in result.output
    assert "note: --session-timeout counts, and not session.timeout.ms of " in result.output
    assert "note: --without second-thread counts, and not " in threads.output


def test_threads_and_static_members_of_the_settings_decide(run):
    found = json.loads(run("2.0", "2.3.1", "--json", text="num.stream.threads=2\n").output)

    assert "yes" == found["features"]["second-thread"]["concerns"]
    assert "static members: " in run("3.9", "2.3", text=GROUP).output.splitlines()[1]


def test_standbys_that_cannot_be_simulated_are_refused(run):
    result = run("4.2", "4.3", "--members", "2", text="num.standby.replicas=1000")

    assert 2 == result.exit_code
    assert "expected at most 100 for --standbys, got 1000: num.standby.replicas of" in result.output
    assert 3 == run("4.2", "4.3", text="num.standby.replicas=1000").exit_code


def test_the_streams_protocol_needs_both_releases(run):
    blocked = run("3.9", "4.3", text="group.protocol=streams\nprocessing.guarantee=exactly_once\n")

    assert 1 == blocked.exit_code
    assert "members of 4.3.1 do not start with the configuration" in blocked.output.splitlines()[0]
    assert "note: group.protocol=streams, which 3.9.2 does not have" in blocked.output
    assert 3 == run("3.9", "4.3", "--offline", text="group.protocol=streams\n").exit_code


def test_a_vendors_name_is_compared_with_apaches_jars(run):
    notes = json.loads(run("2.8", "7.6.1-ccs", "--json", text="").output)["notes"]

    assert "7.6.1-ccs: settings and classes are compared with those of Apache Kafka 3.6.0" in (notes)


def test_a_folder_has_all_files_and_the_later_file_wins(tmp_path):
    (tmp_path / "application.yml").write_text("spring.kafka.client-id: a\n")
    (tmp_path / "application-prod.properties").write_text(
        "spring.kafka.streams.properties.processing.guarantee=exactly_once\n"
    )
    (tmp_path / "README.md").write_text("no settings\n")
    found = CliRunner().invoke(plan, ["2.8", "4.3", "--config", str(tmp_path), "--json"])
    (row,) = (each for each in json.loads(found.stdout)["hazards"] if each["name"] == "exactly-once-removed")

    assert (1, "yes") == (found.exit_code, row["concerns"])
    assert [f"{tmp_path}/application.yml as YAML", f"{tmp_path}/application-prod.properties as properties"] == row[
        "read"
    ]
    (tmp_path / "empty").mkdir()
    empty = CliRunner().invoke(plan, ["2.8", "4.3", "--config", str(tmp_path / "empty")])
    assert (2, True) == (empty.exit_code, "expected files of settings in" in empty.output)


@pytest.mark.unmeasured
def test_a_folder_has_what_spring_boot_reads_beside_it_and_the_dockerfile(tmp_path):
    """Spring Boot reads ``./config/`` after ``./``, and then the folders in it."""
    key = "spring.kafka.streams.properties.processing.guarantee"
    asked = []
    for place, name, text in (
        ("", "application.yml", "spring.kafka.client-id: a\n"),
        ("", "Dockerfile", f"ENV {key.upper().replace('.', '_')}=exactly_once\n"),
        ("config", "application.yml", f"{key}: exactly_once\n"),
        ("config/b", "application.properties", f"{key}=at_least_once\n"),
    ):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / name).write_text(text)
        asked.append(hazard_of_folder(tmp_path)["concerns"])
        if name == "Dockerfile":
            (tmp_path / name).unlink()

    assert ["unknown", "yes", "yes", "unknown"] == asked


@pytest.mark.unmeasured
def test_a_folder_in_a_folder_leaves_keys_open_unless_it_is_given(tmp_path):
    """Overlays of manifests, for one, or a folder for each stage."""
    (tmp_path / "streams.properties").write_text("acks=all\n")
    overlay = tmp_path / "overlays" / "prod"
    for name in (".git", "static"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{'data' if name == 'static' else 'x.yml'}.json").write_text("{}")
    (tmp_path / ".git" / "x.yml").write_text("a: b")
    overlay.mkdir(parents=True)
    assert not any("overlays" in text for text in hazard_of_folder(tmp_path)["contradicted_by"])
    (overlay / "patch.yml").write_text("PROCESSING_GUARANTEE: exactly_once\n")

    unread = f"{tmp_path}/overlays has files of settings that were not read (--config)"
    assert unread in hazard_of_folder(tmp_path)["contradicted_by"]
    (tmp_path / "overlays" / "a.properties").write_text("acks=all\n")
    assert unread not in hazard_of_folder(tmp_path, "--config", str(tmp_path / "overlays"))["contradicted_by"]


def hazard_of_folder(folder, *options):
    found = CliRunner().invoke(plan, ["2.8", "4.3", "--config", str(folder), *options, "--json"])
    return next(each for each in json.loads(found.stdout)["hazards"] if each["name"] == "exactly-once-removed")


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("name", "data"), [("orders.json", "[{}]"), ("chart.yml", "{{ .Values }}: ["), ("x.toml", "=")]
)
def test_data_beside_the_settings_of_a_folder_is_named_and_leaves_keys_open(tmp_path, name, data):
    """A public application has the answers of its service beside application.yml."""
    (tmp_path / "application.properties").write_text("application.id=a\nprocessing.guarantee=at_least_once\n")
    (tmp_path / name).write_text(data)
    found = CliRunner().invoke(plan, ["2.8", "4.3", "--config", str(tmp_path), "--json"])
    (row,) = (each for each in json.loads(found.stdout)["hazards"] if each["name"] == "exactly-once-removed")
    alone = CliRunner().invoke(plan, ["2.8", "4.3", "--config", str(tmp_path / name)])

    assert (3, "unknown") == (found.exit_code, row["concerns"])
    assert any(f"{name} was not read: expected " in text for text in row["contradicted_by"])
    assert (2, True) == (alone.exit_code, "expected " in alone.output)


def test_two_topologies_are_one_application(tmp_path):
    """The last one counted alone: one bounce instead of two."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(
        "Sub-topology: 0\n  Source: S (topics: [in])\n    --> K\n"
        "  Sink: K (topic: KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic)\n    <-- S\n"
    )
    two.write_text("Sub-topology: 0\n  Source: S (topics: [in])\n    --> none\n")
    for pair in ((one, two), (two, one)):
        words = [word for path in pair for word in ("--topology", str(path))]
        found = json.loads(CliRunner().invoke(plan, ["2.8", "3.9", *words, "--json"]).stdout)
        assert ("two_bounces", "yes") == (found["plan"], found["features"]["foreign-key-joins"]["concerns"])
