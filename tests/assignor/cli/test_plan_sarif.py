"""``plan -o sarif``: the findings about an application, for a pull request."""

import gzip
import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from jsonschema import Draft4Validator

from streams_assignor.cli.plan.command import plan
from tests.upgrade.application.class_bytes import ClassBytes

SCHEMA = Path(__file__).parent / "sarif-2.1.0-rtm.5.json.gz"
"""Microsoft's, of the package @microsoft/jest-sarif 1.0.0-beta.0 under the MIT licence."""
YAML = """\
spring.kafka.streams:
  application-id: billing
  properties:
    retries: 5
    ssl.key.password: hunter2
    my.own: 1
---
spring.config.activate.on-profile: prod
spring.kafka.streams.properties.processing.guarantee: exactly_once
"""
REMOVED = "org/apache/kafka/streams/processor/PartitionGrouper"


@pytest.fixture(name="run")
def fixture_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "application.yml").write_text(YAML)
    (tmp_path / "A.class").write_bytes(ClassBytes("com/example/A").makes(REMOVED).bytes())

    def called(*arguments, status=None):
        done = CliRunner().invoke(plan, [*arguments, "-o", "sarif"])
        assert status is None or status == done.exit_code, done.output
        found = json.loads(done.output)
        Draft4Validator(json.loads(gzip.decompress(SCHEMA.read_bytes()))).validate(found)
        return found["runs"][0]

    return called


def test_each_finding_has_a_rule_a_level_and_a_place(run):
    found = run("2.8", "4.3", "--config", "src/application.yml", "--app", "A.class", status=1)
    results = {each["ruleId"]: each for each in reversed(found["results"])}
    places = {name: each["locations"][0]["physicalLocation"] for name, each in results.items()}

    assert "error" == results["setting-refused"]["level"]
    assert "(profile prod): Invalid value exactly_once" in results["setting-refused"]["message"]["text"]
    assert {"artifactLocation": {"uri": "src/application.yml"}, "region": {"startLine": 9}} == places["setting-refused"]
    assert ("warning", 4) == (
        results["setting-removed"]["level"],
        places["setting-removed"]["region"]["startLine"],
    )
    assert ("note", 1) == (
        results["setting-default-changed"]["level"],
        places["setting-default-changed"]["region"]["startLine"],
    )
    missing = results["code-NoClassDefFoundError"]
    assert "A.class" == missing["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert [{"fullyQualifiedName": "com.example.A", "kind": "type"}] == missing["locations"][0]["logicalLocations"]
    assert 9 == places["hazard-exactly-once-removed"]["region"]["startLine"]
    assert "plan-blocked" in results
    assert {"from": "2.8.2", "to": "4.3.1", "verdict": "unsafe"} == found["properties"]
    assert {"setting-unknown", "setting-fine", "setting-cannot-be-told"}.isdisjoint(results)
    assert "hunter2" not in json.dumps(found)


def test_a_class_of_a_folder_is_named_by_its_file_and_a_library_by_its_jar(run, tmp_path):
    (tmp_path / "classes/com/example").mkdir(parents=True)
    (tmp_path / "classes/com/example/A.class").write_bytes((tmp_path / "A.class").read_bytes())
    (tmp_path / "libraries").mkdir()
    with ZipFile(tmp_path / "libraries/spring-kafka-2.7.14.jar", "w") as jar:
        jar.writestr("org/s/S.class", ClassBytes("org/s/S").makes(REMOVED).bytes())
    found = run("2.8", "4.3", "--app", "classes", "--app", "libraries")
    uris = {
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in found["results"]
        if each["ruleId"] in {"code-NoClassDefFoundError", "library-to-raise"}
    }

    assert {"classes/com/example/A.class", "libraries/spring-kafka-2.7.14.jar"} == uris


def test_a_library_is_one_finding_with_the_version_to_raise_it_to(run, tmp_path):
    (tmp_path / "lib").mkdir()
    with ZipFile(tmp_path / "lib/spring-kafka-2.7.14.jar", "w") as jar:
        for name in ("org/s/S", "org/s/T"):
            jar.writestr(f"{name}.class", ClassBytes(name).makes(REMOVED).bytes())
    found = run("2.8", "4.3", "--app", "A.class", "--app", "lib")
    (library,) = [each for each in found["results"] if each["ruleId"] == "library-to-raise"]
    text = library["message"]["text"]

    assert "spring-kafka 2.7.14: 1 reference that the new release lacks" in text
    assert "raise library spring-kafka 2.7.14 to 4.0.8 or newer, which is made for Kafka 4.1.2" in text
    assert found["tool"]["driver"]["informationUri"].startswith("https://")


IN_CODE = Path(__file__).parents[2] / "upgrade/application/in_code"


def test_a_finding_about_an_own_class_stands_at_the_line_of_its_source(run, tmp_path):
    sources = tmp_path / "app/src/main/kotlin/orders"
    sources.mkdir(parents=True)
    (sources / "Lines.kt").write_text((IN_CODE / "Lines.kt").read_text())
    (tmp_path / "Lines.kt").write_text("of another package\n")
    jar = str(IN_CODE / "lines.jar")
    found = run("2.8", "4.3", "--app", jar, "--source-root", ".")
    (through,) = [each for each in found["results"] if "KStream#through(String)" in each["message"]["text"]]
    place = through["locations"][0]["physicalLocation"]

    assert "app/src/main/kotlin/orders/Lines.kt" == place["artifactLocation"]["uri"]
    assert ".through(" in (sources / "Lines.kt").read_text().splitlines()[place["region"]["startLine"] - 1]
    assert "; use to(topic) and StreamsBuilder#stream(topic), or repartition(); " in through["message"]["text"]
    (elsewhere,) = [
        each
        for each in run("2.8", "4.3", "--app", jar)["results"]
        if "KStream#through(String)" in each["message"]["text"]
    ]
    assert elsewhere["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("lines.jar")
    assert through["partialFingerprints"] == elsewhere["partialFingerprints"]


def test_sources_are_for_this_form():
    done = CliRunner().invoke(plan, ["2.8", "4.3", "--source-root", "."])

    assert (2, True) == (done.exit_code, "--source-root needs -o sarif" in done.output)


def test_what_is_not_proven_is_counted_alike_in_every_form(run):
    arguments = ("3.9.0", "3.9.2", "--config", "src/application.yml", "--app", "A.class")
    found, plain = run(*arguments, status=3), json.loads(CliRunner().invoke(plan, [*arguments, "--json"]).output)
    (warning,) = (each for each in found["results"] if each["ruleId"] == "plan-not-proven")
    number = f"{len(plain['undecided'])} hazard"

    assert ("unknown", "unknown") == (plain["verdict"], found["properties"]["verdict"])
    assert ": not proven: " in plain["headline"]
    assert warning["message"]["text"].startswith(f"not proven: {number}")
    assert any(note.startswith(f"exit status 3: the files do not rule out {number}") for note in plain["notes"])


def test_rules_and_fingerprints_are_the_same_in_each_run(run, tmp_path):
    before = run("2.8", "4.3", "--config", "src/application.yml", "--app", "A.class")
    (tmp_path / "src" / "application.yml").write_text("# moved\n" + YAML)
    after = run("2.8", "4.3", "--config", "src/application.yml", "--app", "A.class")
    prints = [[each["partialFingerprints"] for each in run["results"]] for run in (before, after)]

    assert prints[0] == prints[1]
    assert before["results"] != after["results"]
    assert before["tool"]["driver"]["rules"] == after["tool"]["driver"]["rules"]
    for each in after["results"]:
        assert each["ruleId"] == after["tool"]["driver"]["rules"][each["ruleIndex"]]["id"]


def test_a_file_elsewhere_has_a_uri(run, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    absolute = str(tmp_path / "src" / "application.yml")
    inside = run("2.8", "4.3", "--config", absolute)
    monkeypatch.chdir(tmp_path / "other")
    outside = run("2.8", "4.3", "--config", absolute)
    uris = [
        each["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in (inside, outside)
    ]

    assert ["src/application.yml", (tmp_path / "src" / "application.yml").as_uri()] == uris


def test_without_files_there_is_nothing_to_annotate(run):
    assert [] == run("2.8", "4.3", status=0)["results"]
    assert [] == run("2.8.2", "2.8.2", status=0)["results"]


def test_other_plans_have_no_such_form():
    done = CliRunner().invoke(plan, ["--brokers", "2.8", "4.3", "-o", "sarif"])

    assert (2, True) == (done.exit_code, "-o sarif is for a Streams group, without --brokers" in done.output)
