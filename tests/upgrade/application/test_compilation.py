"""Errors that a compiler shows and linkage does not; and the lines of what linkage does."""

import pytest

from streams_assignor.upgrade.application.code_report import judge_code
from streams_assignor.upgrade.application.settings import Effect, values_in_code
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.releases import RELEASES
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar
from tests.upgrade.application.test_code_settings import FOLDER

ENDS = RELEASES["2.8.2"], RELEASES["4.3.1"]
STATE_STORE = "org/apache/kafka/streams/processor/StateStore"
INIT = "(Lorg/apache/kafka/streams/processor/ProcessorContext;Lorg/apache/kafka/streams/processor/StateStore;)V"
OF_STREAMS = "org/apache/kafka/streams/"


@pytest.fixture
def judged(tmp_path):
    def called(*classes):
        path = tmp_path / "orders-1.0.jar"
        path.write_bytes(jar({f"{number}.class": each.bytes() for number, each in enumerate(classes)}))
        return judge_code([path], *ENDS)

    return called


def test_a_method_that_overrides_nothing_any_more_is_refused_with_its_annotation(judged):
    store = ClassBytes("a/Store", interfaces=(STATE_STORE,)).method("init", INIT, b"\xb1").method("own", "()V", b"\xb1")

    assert (
        "@Override in a.Store: org.apache.kafka.streams.processor.StateStore#init(ProcessorContext, StateStore) is "
        "gone, and nothing calls yours any more",
    ) == judged(store).refused_by_compilers


def test_a_library_that_comes_at_run_time_only_has_to_be_named(judged):
    mapper = ClassBytes("a/Json").makes("com/fasterxml/jackson/databind/ObjectMapper")

    assert (
        "a.Json refers to jackson-databind, which Kafka Streams brings at run time only: name it as a dependency of "
        "your own",
    ) == judged(mapper).refused_by_compilers


def test_a_constant_that_a_compiler_has_copied_is_gone():
    report = judge_code([FOLDER / "java17.jar"], *ENDS)

    assert (
        "StreamsConfig.EXACTLY_ONCE is gone, if your class styles.Constants, main (Styles.java line 45) has it for "
        "exactly_once"
    ) in report.refused_by_compilers


@pytest.mark.unmeasured
def test_a_setting_of_the_code_that_the_release_refuses_stops_members():
    report = judge_code([FOLDER / "java17.jar"], *ENDS)
    plan = plan_for(PlannedApplication(code=report), *(each.name for each in ENDS))
    places = {finding.place for finding in plan.settings.findings if finding.status is Effect.REFUSED}

    assert "your class styles.Constants, main (Styles.java line 45)" in places
    assert plan.reasons[0] == "members of 4.3.1 do not start with the configuration, see below"
    assert plan.as_json()["configuration"]["file"] is None
    assert "all" == values_in_code(report.facts.settings)["producer.acks"]


def test_what_is_missing_has_its_line_and_the_names_of_the_source():
    report = judge_code([FOLDER / "lines.jar"], *ENDS)
    places = {
        str(place): problem.member
        for problem in report.linkage.problems
        for referrer in problem.referred_by
        for place in referrer.places
    }

    assert {
        "orders.LinesKt, routed (Lines.kt line 16)": "branch",
        "orders.LinesKt, main (Lines.kt line 24)": "through",
        "orders.LinesKt, main (Lines.kt line 25)": "with",
        "orders.Windows.Companion, minute (Lines.kt line 11)": "of",
        "orders.LinesKt, main (Lines.kt line 27)": "transformValues",
    } == places
    first = next(each for each in report.as_json()["missing"] if each["member"] == "branch")
    assert [{"class": "orders.LinesKt", "method": "routed", "file": "Lines.kt", "line": 16}] == (
        first["referred_by"][0]["places"]
    )
