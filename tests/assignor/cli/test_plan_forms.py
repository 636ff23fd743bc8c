"""Text, JSON, Markdown and SARIF of ``plan``: every form names what the others name, with the same exit status."""

import json
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_code_settings import FOLDER

OLD = "spring.kafka.streams.properties.processing.guarantee"
EMBEDDED = f"""\
kind: ConfigMap
data:
  application.yml: |
    {OLD}: exactly_once
"""
REMOVED = ClassBytes("com/example/A").makes("org/apache/kafka/streams/processor/PartitionGrouper").bytes()
INPUTS = {
    "plain settings": {"a.properties": b"processing.guarantee=exactly_once\n"},
    "settings of a profile": {"application-prod.properties": f"{OLD}=exactly_once\n".encode()},
    "an embedded document": {"configmap.yaml": EMBEDDED.encode()},
    "a default": {"b.properties": b"processing.guarantee=${X:exactly_once}\n"},
    "settings elsewhere": {"import.yml": b"spring.config.import: configserver:http://host\n"},
    "settings in code": {"styles": None},
    "a class that is gone": {"A.class": REMOVED},
    "both": {"A.class": REMOVED, "a.properties": b"processing.guarantee=exactly_once\n"},
}
"""The names of files with what they have; ``styles`` are classes that set ``exactly_once``."""
REPORTED = {"refused", "required", "needs a system property", "removed", "no effect", "deprecated"}


@pytest.fixture(name="plan_in")
def fixture_plan_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def called(files, form):
        arguments = ["2.8", "4.3"]
        for name, content in files.items():
            if content is None:
                with ZipFile(FOLDER / "java17.jar") as jar:
                    jar.extractall(tmp_path, [f"styles/{each}.class" for each in ("Constants", "Styles")])
            else:
                (tmp_path / name).write_bytes(content)
            arguments += ["--config" if "." in name and not name.endswith(".class") else "--app", name]
        return CliRunner().invoke(plan, [*arguments, *form])

    return called


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", INPUTS)
def test_every_form_says_the_same(plan_in, name):
    forms = {form: plan_in(INPUTS[name], ["-v", "-o", form]) for form in ("json", "markdown", "sarif")}
    forms["text"] = plan_in(INPUTS[name], ["-v"])
    found, results = json.loads(forms["json"].output), json.loads(forms["sarif"].output)["runs"][0]["results"]
    concerning = [hazard for hazard in found["hazards"] if hazard["concerns"] == "yes"]
    settings = [each for each in found.get("configuration", {}).get("settings", ()) if each["status"] in REPORTED]

    assert 1 == len({done.exit_code for done in forms.values()})
    assert {f"hazard-{hazard['name']}" for hazard in concerning} == {
        each["ruleId"] for each in results if each["ruleId"].startswith("hazard-")
    }
    words = [hazard["applies_to"] for hazard in concerning]
    words += [f"{each['error']}: {each['text']}: {each['reason']}" for each in found.get("missing", ())]
    words += found.get("application", {}).get("refused_by_compilers", ())
    words += ["inkage only: the compiler may refuse more"] if "application" in found else []
    for word in words + [each["text"] for each in settings]:
        assert word in forms["text"].output
        assert word in forms["markdown"].output
    for word in words[len(concerning) :] + [each["text"] for each in settings]:
        assert any(word in each["message"]["text"] for each in results)


def test_the_table_has_every_kind_of_answer(plan_in):
    found = {name: json.loads(plan_in(files, ["-o", "json"]).output) for name, files in INPUTS.items()}
    guarantee = {
        name: [each["concerns"] for each in plain["hazards"] if each["name"] == "exactly-once-removed"]
        for name, plain in found.items()
    }

    assert {"settings elsewhere": ["unknown"], "a class that is gone": ["unknown"]} == {
        name: answers for name, answers in guarantee.items() if answers != ["yes"]
    }
