"""The workflows of docs/how-to/java-ci.md, and the script that both call: a plan for each module."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.upgrade.application.class_bytes import ClassBytes

yaml = pytest.importorskip("yaml", reason="extra `yaml`")

FOLDER = Path(__file__).parents[1] / "docs/how-to/java-ci"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
SCRIPT = FOLDER / "plan-modules.sh"
REMOVED = "org/apache/kafka/streams/processor/PartitionGrouper"


def steps(path):
    return yaml.safe_load(path.read_text())["jobs"]["plan"]["steps"]


def test_there_is_a_workflow_for_maven_and_one_for_gradle():
    assert ["gradle.yml", "maven.yml"] == [path.name for path in WORKFLOWS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_both_plan_with_the_same_script(path):
    (script,) = [each["run"] for each in steps(path) if each.get("name") == "Plan"]

    assert f"/docs/how-to/java-ci/{SCRIPT.name} .base . plans" in script
    assert script.rstrip().endswith('exit "$status"')


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_results_are_uploaded_although_the_check_fails(path):
    *_, last = steps(path)

    assert last["uses"].startswith("github/codeql-action/upload-sarif@")
    assert "!cancelled()" in last["if"]
    assert "write" == yaml.safe_load(path.read_text())["permissions"]["security-events"]


@pytest.fixture(name="module")
def fixture_module(tmp_path, monkeypatch):
    """Make a module that has been built, in the base branch and in the pull request."""
    monkeypatch.chdir(tmp_path)

    def make(name, before, after, build="target", classes="classes"):
        for root, versions in ((Path(".base"), before), (Path(), after)):
            libraries = root / name / build / "libraries"
            libraries.mkdir(parents=True)
            for version in versions:
                with ZipFile(libraries / f"kafka-streams-{version}.jar", "w") as jar:
                    jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        folder = Path(".base", name, build, classes, "com/example")
        folder.mkdir(parents=True)
        (folder / "A.class").write_bytes(ClassBytes("com/example/A").makes(REMOVED).bytes())
        Path(name, "src/main/resources").mkdir(parents=True)
        Path(name, "src/main/resources/application.yml").write_text(
            "spring.kafka.streams.properties.processing.guarantee: exactly_once\n"
        )

    return make


def plan_modules(tmp_path, program=f'exec "{sys.executable}" -m streams_assignor "$@"'):
    """Run the script; return its status, what it says, and the SARIF files that it leaves."""
    command = tmp_path / "bin/streams-assignor"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{program}\n")
    command.chmod(0o755)
    root = str(FOLDER.parents[2])
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": root}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)
    done = subprocess.run(["sh", SCRIPT, ".base", ".", "plans"], env=environment, capture_output=True, text=True)
    runs = {path.stem: json.loads(path.read_text())["runs"][0] for path in Path("plans").glob("*.sarif")}
    return done.returncode, done.stderr, runs


@pytest.mark.slow
def test_each_module_that_changes_kafka_has_a_plan_of_its_own(module, tmp_path):
    module("orders", ["2.8.2"], ["4.3.1"])
    module("billing app", ["2.8.2"], ["3.9.2"], build="build", classes="classes/java/main")
    module("scala", ["2.8.2"], ["3.9.1"], classes="scala-2.13/classes")  # of sbt
    module("same", ["4.3.1"], ["4.3.1"])
    module("other", [], [])
    Path(".base/target/libraries").mkdir(parents=True)  # a parent that has its modules' libraries, and no class
    Path(".base/target/libraries/kafka-streams-2.8.2.jar").touch()
    status, _, runs = plan_modules(tmp_path)
    ends = {name: (run["properties"]["from"], run["properties"]["to"]) for name, run in runs.items()}
    uris = {
        result["ruleId"]: result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in runs["orders"]["results"]
    }

    assert 1 == status
    assert {"orders": ("2.8.2", "4.3.1"), "billing app": ("2.8.2", "3.9.2"), "scala": ("2.8.2", "3.9.1")} == ends
    assert "streams-assignor/plan/orders/" == runs["orders"]["automationDetails"]["id"]
    assert "orders/src/main/resources/application.yml" == uris["setting-refused"]
    assert "code-NoClassDefFoundError" in uris
    assert 3 == Path("plans/summary.md").read_text().count("# Upgrade from 2.8.2 to ")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (["2.8.2"], [], "2.8.2 to none"),
        (["2.8.2", "3.9.2"], ["4.3.1"], "2.8.2 3.9.2 to 4.3.1"),
        (["2.8.2"], ["9.9.9"], "no plan from 2.8.2 to 9.9.9"),
        (["2.8.2"], ["null object"], "2.8.2 to none"),
        ([], ["4.3.1"], "expected a module with Kafka Streams in .base, got none"),
    ],
)
def test_what_cannot_be_planned_is_no_success_and_leaves_no_results(module, tmp_path, before, after, message):
    module("orders", before, after)
    status, said, runs = plan_modules(tmp_path)

    assert (2, {}) == (status, runs)
    assert message in said


@pytest.mark.parametrize("status", [0, 1, 3, 137])
def test_a_program_that_ends_without_a_plan_is_no_success_and_leaves_no_results(module, tmp_path, status):
    module("orders", ["2.8.2"], ["4.3.1"])
    found, said, runs = plan_modules(tmp_path, f"exit {status}")

    assert (2, {}) == (found, runs)
    assert "no plan from 2.8.2 to 4.3.1" in said
