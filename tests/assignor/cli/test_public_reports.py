"""Public reports of applications that broke by a raise of Kafka: a plan with their files names the cause."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

KAFKAS = {"kafka-clients", "kafka-streams", "kafka-streams-test-utils", "kafka_2.11", "kafka_2.12", "kafka_2.13"}
KAFKA = "org/apache/kafka/streams/KafkaStreams.class"
REPORTS = tomllib.loads((Path(__file__).parents[2] / "upgrade/public_reports.toml").read_text(encoding="utf-8"))[
    "report"
]


def written(name, calls, interfaces=()):
    found = ClassBytes(name, interfaces=interfaces)
    for call in calls:
        member, descriptor = call.split(" ")
        found = found.calls(*member.split("#"), descriptor)
    return found.bytes()


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "report",
    [pytest.param(each, marks=[pytest.mark.slow] if "alike" in each else ()) for each in REPORTS],
    ids=lambda each: each["source"].rpartition("//")[2],
)
def test_a_plan_names_what_broke_an_application(report, tmp_path):
    options = report.get("options", [])
    if "config" in report:
        file = tmp_path / report.get("file", "app.properties")
        file.write_text(report["config"])
        options = [*options, "--config", str(file)]
    if "calls" in report:
        entries = {"com/Orders.class": written("com/Orders", report["calls"])}
        if "library" in report:
            library = written("l/L", report["library_calls"], report.get("library_implements", ()))
            entries[f"lib/{report['library']}"] = jar({"l/L.class": library})
        for artifact in KAFKAS & set(report):
            of_streams = [report["streams_calls"]] if artifact == "kafka-streams" and "streams_calls" in report else []
            entries[f"lib/{artifact}-{report[artifact]}.jar"] = jar({KAFKA: written(KAFKA[:-6], of_streams)})
        (tmp_path / "app.jar").write_bytes(jar(entries))
        options = [*options, "--app", str(tmp_path / "app.jar")]
    done = CliRunner().invoke(plan, [report["from"], report["to"], "--json", *options])
    printed, found = done.output, json.loads(done.output)

    assert {0: "safe", 1: "unsafe", 3: "unknown"}[done.exit_code] == found.get("verdict", "safe")
    assert (done.exit_code == 0) is report.get("may_pass", False)
    if "named" in report:
        assert report["named"] in printed
    if "hazard" in report:
        answers = {name: each["concerns"] for each in found["hazards"] for name in each["names"]}
        assert report["concerns"] == answers[report["hazard"]]
    if "setting" in report:
        assert (report["setting"], report["status"]) in {
            (each["key"], each["status"]) for each in found["configuration"]["settings"]
        }
    if "missing" in report:
        assert report["missing"] in {each["member"] for each in found["missing"]}
    if "streams_calls" in report:
        assert report["streams_calls"].partition("#")[0].replace("/", ".") in {
            problem["class"] for problem in found["application"]["mixed"]["missing"]
        }
    assert {"hazard", "named", "setting", "missing", "streams_calls"} & set(report)
