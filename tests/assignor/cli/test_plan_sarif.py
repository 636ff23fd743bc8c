"""``plan -o sarif``: the findings about an application, for a pull request."""

import gzip
import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from jsonschema import Draft4Validator

from assignor.cli.plan.command import plan
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
    assert "with profile prod: Invalid value exactly_once" in results["setting-refused"]["message"]["text"]
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
        if each["ruleId"] == "code-NoClassDefFoundError"
    }

    assert {"classes/com/example/A.class", "libraries/spring-kafka-2.7.14.jar"} == uris


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
