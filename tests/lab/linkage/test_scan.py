"""What is recorded of published artifacts, and that the comparison notices a mistake."""

import json

import pytest
from attrs import evolve

from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.linkage import scan as scanning
from tests.lab.linkage.__main__ import RESULTS
from tests.lab.linkage.scan import ARTIFACTS, TARGETS, scan

TRACING = "io.zipkin.brave:brave-instrumentation-kafka-clients:5.12.7"
THROWING = "io.opentracing.contrib:opentracing-kafka-streams:0.1.15"
"""Its ``KafkaClientSupplier`` has no ``getAdmin``, whose default only throws: it links, and then ends."""


def recorded():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_each_artifact_is_recorded_on_each_release_and_none_differs():
    found = recorded()

    assert {(artifact, target) for artifact in ARTIFACTS for target in TARGETS} == {
        (each["artifact"], each["target"]) for each in found
    }
    assert [] == [each for each in found if each["differences"]]


def scanned(artifact=TRACING, target="4.4.0"):
    try:
        return next(scan([artifact], target))
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(("artifact", "target"), [(TRACING, "4.4.0"), (THROWING, "3.9.2")])
def test_a_scan_is_the_recorded_one(artifact, target):
    assert scanned(artifact, target) in recorded()


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(("artifact", "target"), [(TRACING, "4.4.0"), (THROWING, "3.9.2")])
def test_a_problem_that_is_not_reported_is_a_difference(monkeypatch, artifact, target):
    def forgetful(*arguments):
        report = scanning_check(*arguments)
        return evolve(report, problems=report.problems[1:])

    scanning_check = scanning.check_references
    monkeypatch.setattr(scanning, "check_references", forgetful)

    differences = scanned(artifact, target)["differences"]
    assert any(each.split(": ", 1)[1].startswith("not reported") for each in differences)
    assert (artifact == THROWING) == any("not reported: constructor: !Unsupported" in each for each in differences)


@pytest.mark.java
@pytest.mark.slow
def test_a_problem_that_is_none_is_a_difference(monkeypatch):
    def wary(*arguments):
        report = scanning_check(*arguments)
        added = evolve(report.problems[0], member="poll", error="NoSuchMethodError")
        return evolve(report, problems=(*report.problems, evolve(added, referred_by=report.problems[0].referred_by)))

    scanning_check = scanning.check_references
    monkeypatch.setattr(scanning, "check_references", wary)

    assert any("reported, and Java has it" in each for each in scanned()["differences"])
