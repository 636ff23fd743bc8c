"""The workflows of docs/how-to/java-ci.md: their plan is a command line of today, and both ask for the same."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from assignor.cli.plan.command import plan

yaml = pytest.importorskip("yaml", reason="extra `yaml`")

FOLDER = Path(__file__).parents[1] / "docs/how-to/java-ci"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))


def steps(path):
    return yaml.safe_load(path.read_text())["jobs"]["plan"]["steps"]


def command_line(path):
    (script,) = [each["run"] for each in steps(path) if each.get("name") == "Plan"]
    (line,) = re.findall(r"streams-assignor (plan .+)", script)
    return shlex.split(line.replace("$FROM", "2.8").replace("$TO", "4.3").replace('"$1"', "sarif"))


def test_there_is_a_workflow_for_maven_and_one_for_gradle():
    assert ["gradle.yml", "maven.yml"] == [path.name for path in WORKFLOWS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_plan_of_a_workflow_is_a_command_line(path, tmp_path, monkeypatch):
    _, *arguments = command_line(path)
    monkeypatch.chdir(tmp_path)
    for option, value in pairwise(arguments):
        if option == "--app":
            Path(value).mkdir(parents=True)
        if option == "--config":
            Path(value).parent.mkdir(parents=True)
            Path(value).touch()
    context = plan.make_context("plan", list(arguments))

    assert ("2.8", "4.3") == tuple(context.params["releases"])
    assert ("sarif", 2) == (context.params["output"], len(context.params["code"]))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_results_are_uploaded_although_the_check_fails(path):
    *_, last = steps(path)

    assert last["uses"].startswith("github/codeql-action/upload-sarif@")
    assert "!cancelled()" in last["if"]
    assert "write" == yaml.safe_load(path.read_text())["permissions"]["security-events"]
