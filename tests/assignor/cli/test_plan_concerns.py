"""``plan`` with the files of an application: hazards that concern it, that do not, and of which files cannot tell."""

import json
import re

import pytest
from click.testing import CliRunner

from streams_assignor.cli.plan.command import plan
from streams_assignor.cli.plan.text import group_plan_lines, judged_lines, split_text
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.upgrade.application.facts import CodeFact
from streams_assignor.upgrade.hazards import (
    BORROWED_LIBRARY,
    HAZARDS,
    MISSING_LIBRARY,
    Answer,
    Application,
    CodeFacts,
    CodeSettings,
    Setting,
    SettingFacts,
    judge_hazards,
)
from streams_assignor.upgrade.hazards.conditions import AllOf, AnyOf, FirstKnown, NotThat, Uses
from streams_assignor.upgrade.patch_levels import advise_between
from streams_assignor.upgrade.releases import resolve_release
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

STREAMS = "org/apache/kafka/streams/"
SCREEN = DisplayOptions(columns=80, rows=50)
TOPOLOGY = """
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [orders])
      --> KSTREAM-AGGREGATE-0000000002
    Processor: KSTREAM-AGGREGATE-0000000002 (stores: [counts])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""


@pytest.fixture
def run(tmp_path):
    def called(*arguments, config=None, topology=None, code=None):
        options = []
        for option, name, content in (
            ("--config", "streams.properties", config),
            ("--topology", "topology.txt", topology),
            ("--app", "orders.jar", code),
        ):
            if content is not None:
                path = tmp_path / name
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
                options += [option, str(path)]
        found = CliRunner().invoke(plan, [*arguments, *options], terminal_width=100)
        return found.exit_code, found.output.replace(f"{tmp_path}/", "")

    return called


def application(*classes):
    kafka = {"META-INF/maven/g/a/pom.properties": "groupId=org.apache.kafka\nartifactId=kafka-streams\nversion=2.8.2\n"}
    files = {f"{name}.class": written.bytes() for name, written in classes}
    return jar({**files, "lib/kafka-streams-2.8.2.jar": jar(kafka)})


ORDERS = application(("com/Orders", ClassBytes("com/Orders").calls(STREAMS + "kstream/KTable", "groupBy")))


def test_the_split_names_what_shows_it_and_what_would_decide_it(run):
    status, text = run("3.9", "4.3", config="application.id=a\n", topology=TOPOLOGY)
    lines = text.splitlines()

    assert 3 == status
    assert lines[0].startswith(
        "3.9.2 to 4.3.1: not proven: safe for the metadata, one rolling bounce, no configuration; "
    )
    assert lines[0].endswith(
        "; 1 hazard concerns you, of 32 the files cannot tell (20 can stop members, 2 can lose data)"
    )
    assert any(line.startswith("cannot be told: ") and "--app decides " in line for line in lines)
    assert any(line.startswith("do not concern you: ") and line.endswith("; -v: why") for line in lines)


def test_bugs_that_both_releases_have_are_counted(run):
    _, text = run("4.2.0", "4.2.1", config="processing.guarantee=exactly_once_v2\n", topology=TOPOLOGY)
    _, verbose = run("4.2.0", "4.2.1", "-v", config="processing.guarantee=exactly_once_v2\n", topology=TOPOLOGY)

    assert "known bugs of both releases: 2; -v: which" in text.splitlines()
    assert "known bugs of both releases: 2" in verbose.splitlines()
    assert any(line.startswith("    source: KAFKA-20685; ") for line in verbose.splitlines())


@pytest.mark.unmeasured
@pytest.mark.parametrize("pair", [("4.2.0", "4.2.1"), ("2.6.0", "2.6.2"), ("3.4.0", "3.6.1"), ("2.8.2", "4.3.1")])
def test_every_form_of_a_plan_has_the_same_counts(run, pair):
    config = "processing.guarantee=exactly_once_v2\n"
    _, text = run(*pair, config=config)
    _, markdown = run(*pair, "-o", "markdown", config=config)
    found = json.loads(run(*pair, "--json", config=config)[1])
    yes, unknown, no = (found["concerns"][answer.value] for answer in Answer.in_order())
    of_both = sum(each["in_both"] and each["concerns"] != "no" for each in found["hazards"])
    lines = {
        "Hazards that concern you": (f"hazards that concern you: {yes or 'none'}", yes),
        "Hazards of which the files cannot tell": (f"cannot be told: {unknown}; ", unknown),
        "Hazards that do not concern you": (f"do not concern you: {no}; ", no),
        "Known bugs of both releases": (f"known bugs of both releases: {of_both}; ", of_both),
    }
    sections = dict(section.split("\n", 1) for section in markdown.split("\n## "))

    assert found["headline"] == text.splitlines()[0]
    assert found["verdict"] == "unsafe" or f"of {unknown} the files cannot tell" in found["headline"]
    assert yes + unknown == sum(found["beyond_metadata"].values())
    for title, (line, number) in lines.items():
        assert number == 0 or any(each.startswith(line) for each in text.splitlines())
        assert number == sum(each.startswith("- ") for each in sections.get(title, "").splitlines())


def test_a_bug_of_both_releases_that_loses_data_of_the_application_is_not_only_counted(run):
    """The bug of a report (KAFKA-16017) stood among nine that -v lists."""
    _, text = run("3.4.0", "3.6.1", config="processing.guarantee=exactly_once_v2\n")

    assert "; 1 hazard concerns you (1 can lose data), " in text.splitlines()[0]
    assert any(line.startswith("- loses: exactly_once_v2 or exactly_once_beta, ") for line in text.splitlines())


def test_without_files_the_hazards_are_a_list(run):
    _, text = run("3.9", "4.3")

    assert "hazards beyond the metadata: " in text
    assert "concern you" not in text
    assert {"concerns", "features"}.isdisjoint(json.loads(run("3.9", "4.3", "--json")[1]))
    assert "concerns" not in json.loads(run("3.9", "4.3", "--json")[1])["hazards"][0]


def test_a_hazard_that_stops_members_makes_the_plan_unsafe(run):
    suppress = TOPOLOGY.replace("KSTREAM-AGGREGATE", "KTABLE-SUPPRESS")
    status, text = run("2.3", "2.4", topology=suppress)

    assert 1 == status
    assert "2.3.1 to 2.4.1: unsafe: members of 2.4.1 stop (suppress() with a changelog), see below" in text
    assert "unsafe" == json.loads(run("2.3", "2.4", "--json", topology=suppress)[1])["verdict"]
    assert 0 == run("2.3", "2.4", topology=TOPOLOGY)[0]
    assert 0 == run("2.3", "2.4")[0]


def test_the_answers_are_values_of_each_hazard(run):
    _, text = run("2.8", "4.3", "--json", config="num.stream.threads=2\n", topology=TOPOLOGY, code=ORDERS)
    found = json.loads(text)
    by_name = {each["name"]: each for each in found["hazards"]}

    assert ("yes", ["session.timeout.ms is not set in streams.properties"]) == (
        by_name["session-timeout-45-s"]["concerns"],
        by_name["session-timeout-45-s"]["because"],
    )
    open_row = by_name["exactly-once-removed"]
    assert ("unknown", ["processing.guarantee is not set in streams.properties"]) == (
        open_row["concerns"],
        open_row["because"],
    )
    assert "--group (the release of the brokers)" == by_name["brokers-before-2.1"]["decided_by"][0]
    assert found["concerns"] == {
        answer.value: sum(each["concerns"] == answer.value and not each["in_both"] for each in found["hazards"])
        for answer in Answer
    }
    assert sum(found["beyond_metadata"].values()) == found["concerns"]["yes"] + found["concerns"]["unknown"]
    assert "yes" == found["features"]["second-thread"]["concerns"]


def test_references_decide_the_verdict(run):
    _, text = run("2.8", "3.9", code=ORDERS)
    lines = text.splitlines()

    assert lines[0].startswith("2.8.2 to 3.9.2: not proven: safe for the metadata, two rolling bounces")
    assert "foreign-key joins: no: nothing in orders.jar refers to foreign-key joins" in lines
    assert (
        "repartitioned tables: yes: your class com.Orders refers to org.apache.kafka.streams.kstream.KTable#groupBy()"
        in lines
    )
    one, text = run("2.8", "3.9", code=application(("A", ClassBytes("A"))))
    assert 3 == one
    assert ": one rolling bounce, no configuration" in text.splitlines()[0]


def test_what_a_file_shows_is_left_out_of_without(run):
    status, text = run("2.8", "3.9", "--without", "repartitioned-tables", code=ORDERS)

    assert 2 == status
    assert "leave repartitioned-tables out of --without" in " ".join(text.split())
    status, text = run("2.8", "3.9", "--without", "foreign-key-joins", topology=TOPOLOGY)
    assert 2 == status
    assert "--topology shows whether there are foreign-key-joins" in " ".join(text.split())


def test_a_runbook_has_three_sections(run):
    _, text = run("2.8", "4.3", "-o", "markdown", config="application.id=a\n", topology=TOPOLOGY)

    assert "; 3 hazards concern you, of 53 the files cannot tell (" in text
    assert "## Hazards that concern you\n\n- [ ] " in text
    assert "  - shown by: session.timeout.ms is not set in streams.properties\n" in text
    assert "## Hazards of which the files cannot tell\n\n- [ ] " in text
    assert "  - decided by: --group (the release of the brokers)\n" in text
    assert "## Hazards beyond the metadata" not in text


def test_all_of_it_is_shown_with_v(run):
    _, text = run("2.8", "4.3", "-v", config="application.id=a\n", topology=TOPOLOGY)

    assert "    shown by: session.timeout.ms is not set in streams.properties\n    remedy: set session.timeout" in text
    assert "    decided by: --group (the release of the brokers); " in text
    assert (
        "    decided by: processing.guarantee is not set in streams.properties; your code could set it (--app)\n"
        in text
    )


def test_a_thin_jar_asks_for_the_libraries(run):
    _, text = run("2.7", "2.8", code=jar({"A.class": ClassBytes("A").calls(STREAMS + "KafkaStreams", "start").bytes()}))

    assert "- stops (--app with your libraries): no StreamsUncaughtExceptionHandler of its own: an exception" in text
    assert "--app with your libraries decides " in text


def test_a_library_can_be_named(run):
    status, text = run("2.6", "4.3", "--library", "spring-kafka=2.6.5", topology=TOPOLOGY, config="state.dir=/data\n")
    found = json.loads(run("2.6", "4.3", "--json", "--library", "spring-kafka=2.6.5")[1])
    names = {each["name"]: each["concerns"] for each in found["hazards"]}

    assert 3 == status
    assert "- changes: spring-kafka 2.6.5: its line was built for Kafka 2.6.1" in text
    assert ("unknown", "yes") == (names["wrapper-deletes-stores"], names["spring-kafka-links-older-kafka"])


@pytest.mark.parametrize("text", ["spring-kafka", "=2.6", "spring-kafka=", "spring-kafka=new"])
def test_a_library_without_a_version_is_refused(run, text):
    status, output = run("2.6", "4.3", "--library", text)

    assert 2 == status
    assert "--library: expected NAME=VERSION such as spring-kafka=2.6.5, got " in " ".join(output.split())


def test_a_fat_jar_of_spring_kafka_shows_that_it_deletes_stores(run):
    library = jar({"org/s/S.class": ClassBytes("org/s/S").calls(STREAMS + "KafkaStreams", "cleanUp").bytes()})
    own = ClassBytes("com/Orders").calls(STREAMS + "kstream/KGroupedStream", "count").bytes()
    fat = jar({"BOOT-INF/classes/com/Orders.class": own, "BOOT-INF/lib/spring-kafka-2.6.5.jar": library})
    _, text = run("2.6", "2.8", config="state.dir=/data\n", code=fat)

    assert "- waits: spring-kafka 2.6.5, unless you give it a CleanupConfig: each close (with" in text
    configured = ClassBytes("com/Config").makes("org/springframework/kafka/core/CleanupConfig").bytes()
    fat = jar({
        "BOOT-INF/classes/com/Orders.class": own,
        "BOOT-INF/classes/com/Config.class": configured,
        "BOOT-INF/lib/spring-kafka-2.6.5.jar": library,
    })  # fmt: skip
    _, text = run("2.6", "2.8", config="state.dir=/data\n", code=fat)
    assert "- waits (look): spring-kafka 2.6.5, unless you give it a CleanupConfig: " in text


# -- the terminal


def judged(origin, target, **settings):
    advice = advise_between(resolve_release(origin), resolve_release(target))
    facts = SettingFacts("streams.properties", {key: Setting(value, "line 1") for key, value in settings.items()})
    code = CodeFacts(
        "app.jar",
        has_libraries=True,
        has_own_classes=True,
        makes_streams=True,
        builds_topology=True,
        settings=CodeSettings(),
    )
    return advice, judge_hazards(advice.hazards, [Application(settings=facts, code=code)])


@pytest.mark.parametrize("ends", ["2.8 4.4", "2.3 4.4", "0.10.0 4.4", "3.9 4.4", "4.3 4.4", "4.4 2.3"])
def test_the_split_fits_on_one_screen(ends):
    advice, found = judged(*ends.split())
    lines = SCREEN.show(group_plan_lines(advice, SCREEN, advice.checked, judged=found)).splitlines()

    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("hazards that concern you: ") for line in lines)
    assert any(line.startswith("do not concern you: ") and line.endswith("; -v: why") for line in lines)


def test_what_shows_it_is_wrapped_and_not_cut():
    facts = SettingFacts("a/" * 40 + "streams.properties", {"processing.guarantee": Setting("exactly_once", "x " * 40)})
    advice = advise_between(resolve_release("3.9"), resolve_release("4.3"))
    found = judge_hazards(advice.hazards, [Application(settings=facts)])
    text = SCREEN.show(judged_lines(found, SCREEN))

    assert "processing.guarantee=exactly_once" in text.partition("cannot be told")[0].partition("shown by")[2]


def test_what_concerns_an_application_is_never_left_out_for_want_of_room():
    advice, _ = judged("2.3", "4.4")
    found = judge_hazards(advice.hazards, [Application(settings=SettingFacts("streams.properties", {}))])
    lines = list(judged_lines(found, SCREEN, ["a line"] * 90))
    concerned = sum(each.concern.answer is Answer.YES for each in found)

    assert concerned == lines.index(next(line for line in lines if line.startswith("cannot be told: "))) - 1
    assert any(line.startswith("- and ") for line in lines[-2:])
    undecided = {each.hazard.name for each in found if each.is_undecided}
    assert undecided <= {word.strip(",") for line in lines for word in line.split()}
    *_, last = judged_lines(found, SCREEN, ["a line"] * 90, is_blocked=True)
    assert re.fullmatch(r"cannot be told: \d+ \(stops \d+, loses \d+, waits \d+, changes \d+\): -v", last)


def test_a_plan_that_nothing_concerns_says_so():
    assert "" == split_text([("no", "stops")])
    assert "2 hazards concern you" == split_text([("yes", "waits")] * 2)
    assert ["hazards that concern you: none"] == list(judged_lines((), DisplayOptions()))


# -- the table of code facts


def parts(condition):
    if isinstance(condition, AllOf | AnyOf | FirstKnown):
        for each in condition.parts:
            yield from parts(each)
    elif isinstance(condition, NotThat):
        yield from parts(condition.part)
    else:
        yield condition


def test_each_condition_of_code_is_a_fact_that_code_shows():
    named = {each.fact for row in HAZARDS for each in parts(row.when) if isinstance(each, Uses)}

    assert named <= {fact.value for fact in CodeFact} | {BORROWED_LIBRARY, MISSING_LIBRARY}
