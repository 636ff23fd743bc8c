"""Libraries that wrap Kafka Streams: what they do by themselves, and which Kafka they link."""

import pytest

from streams_assignor.upgrade import release_named
from streams_assignor.upgrade.application.evidence import setting_facts
from streams_assignor.upgrade.application.setting_files import parse_settings
from streams_assignor.upgrade.hazards import (
    CLEAN_UP,
    HAZARDS,
    PASSIVE_LIBRARIES,
    Answer,
    Application,
    judge_hazards,
    wrapper_lines,
)
from tests.upgrade.hazards.test_conditions import code, settings, topology

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN
STORES = topology("""
   Sub-topology: 0
    Source: a (topics: [a])
      --> b
    Processor: b (stores: [s])
      --> none
      <-- a
""").topology
NAME = "wrapper-deletes-stores"


def application(versions, topology=STORES, **facts):
    return Application(
        settings=settings(state_dir="/data").settings, topology=topology, code=code(libraries=versions, **facts).code
    )


def judged(found, *names, target="4.3"):
    rows = [row for row in HAZARDS if row.name in names]
    return {each.hazard.name: each for each in judge_hazards(rows, [found], release_named(target))}


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"spring-kafka": "2.6.13"}, YES),
        ({"spring-kafka": "2.2.0.RELEASE"}, YES),
        ({"spring-kafka": "2.7.1"}, None),
        ({"spring-kafka": "2.6.13", "spring-boot-autoconfigure": "2.4.1"}, YES),
        ({"spring-kafka": "2.7.1", "spring-boot-autoconfigure": "2.4.1"}, YES),
        ({"spring-kafka": "2.6.13", "spring-boot-autoconfigure": "2.5.1"}, None),
        ({"spring-kafka": "2.5.1", "spring-boot-autoconfigure": "2.3.1"}, YES),
        ({"spring-kafka": "9.9.1"}, None),
        ({"spring-kafka": ""}, None),
        ({}, None),
    ],
)
def test_spring_kafka_deleted_local_stores_on_every_close(versions, expected):
    found = judged(application(versions))

    assert expected is (found[NAME].concern.answer if NAME in found else None)


@pytest.mark.parametrize(
    ("boot", "text", "expected"),
    [
        ("2.4.1", "on-shutdown=false", UNKNOWN),  # the environment may say otherwise
        ("2.4.1", "onShutdown=false", UNKNOWN),
        ("2.4.1", "on-shutdown=true", YES),
        ("2.4.1", "on-startup=true", YES),
        ("2.4.1", "on-shutdown=${KEEP}", UNKNOWN),
        ("2.4.1", "none=1", YES),
        ("2.5.1", "on-shutdown=true", YES),
        ("2.5.1", "on-startup=true", YES),
        ("2.5.1", "on-shutdown=false", None),
        ("2.3.1", "on-shutdown=false", YES),  # it has no such key
    ],
)
def test_the_clean_up_keys_of_spring_boot_decide(boot, text, expected):
    """Spring Boot passes them to spring-kafka since 2.4, and its default is to keep the stores since 2.5."""
    written = parse_settings(f"spring.kafka.streams.cleanup.{text}\nspring.kafka.streams.state-dir=/d", ".properties")
    (known,) = setting_facts("application.properties", written)
    libraries = {"spring-kafka": "2.6.13", "spring-boot-autoconfigure": boot}
    found = judged(Application(settings=known, topology=STORES, code=code(libraries=libraries).code))

    assert expected is (found[NAME].concern.answer if NAME in found else None)
    assert {"state.dir"} == written.values.keys()


def test_spring_boot_4_decides_with_a_module_of_its_own():
    written = parse_settings("spring.kafka.streams.cleanup.on-shutdown=true", ".properties")
    (known,) = setting_facts("application.properties", written)
    libraries = {"spring-kafka": "4.0.8", "spring-boot-kafka": "4.0.1", "spring-boot-autoconfigure": "4.0.1"}
    found = judged(Application(settings=known, topology=STORES, code=code(libraries=libraries).code), target="4.4")

    assert YES is found[NAME].concern.answer
    assert YES is found["spring-boot-kafka-links-older-kafka"].concern.answer


def test_a_clean_up_config_of_ones_own_decides():
    own = {CLEAN_UP: ("your class A refers to CleanupConfig",)}
    found = judged(application({"spring-kafka": "2.6.1"}, shown=own))[NAME]

    assert UNKNOWN is found.concern.answer
    assert ("which CleanupConfig you give it",) == found.concern.decided_by


def test_without_stores_nothing_is_deleted():
    plain = topology("Sub-topology: 0\n Source: a (topics: [a])\n  --> none\n").topology

    assert NO is judged(application({"spring-kafka": "2.6.1"}, plain))[NAME].concern.answer


def test_a_wrapper_that_links_an_older_kafka_names_the_line_to_take():
    found = judged(application({"spring-kafka": "2.7.1"}), target="3.9")["spring-kafka-links-older-kafka"]

    assert (YES, ("spring-kafka 2.7.1 is there",)) == (found.concern.answer, found.concern.evidence)
    assert "take spring-kafka 3.3, which is made for Kafka 3.8.1" == found.hazard.remedy, "4.0 is made for Kafka 4.1"
    newer = judged(application({"spring-kafka": "4.0.1"}), target="4.3")["spring-kafka-links-older-kafka"]
    assert newer.hazard.remedy.startswith("test it: no newer line of spring-kafka is known ")
    assert {} == judged(application({"spring-kafka": "4.0.1", "kafka-streams": "4.1.2"}), target="4.1")


def test_the_binder_sets_default_serdes():
    found = judged(application({"spring-cloud-stream-binder-kafka-streams": "3.1.2"}), "default-serdes-removed")

    assert NO is found["default-serdes-removed"].concern.answer
    assert "spring-cloud-stream-binder-kafka-streams 3.1.2 sets default.key.serde" in (
        found["default-serdes-removed"].concern.evidence
    )


@pytest.mark.parametrize(("version", "expected"), [("3.0.1", NO), ("2.1.1", YES)])
def test_the_binder_sets_a_replication_factor_since_3_0(version, expected):
    found = judged(
        application({"spring-cloud-stream-binder-kafka-streams": version}),
        "replication-factor-of-brokers",
        target="3.0",
    )

    assert expected is found["replication-factor-of-brokers"].concern.answer


@pytest.mark.parametrize(
    ("version", "shown", "expected"),
    [
        ("2.2.1", {}, YES),
        ("2.3.1", {}, NO),
        ("2.3.1", {"build-without-properties": ("your class A calls it",)}, YES),
        ("2.2.1", {"build-with-properties": ("your class A calls it",)}, NO),
    ],
)
def test_spring_kafka_builds_the_topology_unless_the_application_does(version, shown, expected):
    optimized = settings(topology_optimization="all").settings
    found = Application(settings=optimized, code=code(libraries={"spring-kafka": version}, shown=shown).code)

    assert expected is judged(found, "optimization-needs-build")["optimization-needs-build"].concern.answer


def test_a_wrapper_can_be_named_without_its_file():
    found = judged(Application(libraries={"spring-kafka": "2.6.5"}, topology=STORES))

    assert UNKNOWN is found[NAME].concern.answer
    assert YES is found["spring-kafka-links-older-kafka"].concern.answer


@pytest.mark.parametrize(
    ("version", "target", "expected"), [("4.1.0", "3.7", YES), ("4.1.1", "3.7", NO), ("4.1.0", "3.6", None)]
)
def test_the_binder_drops_what_consumed_returns(version, target, expected):
    """Seen in its class files: 4.1.0 pops what Consumed returns, 4.1.1 stores it."""
    known = [application({"spring-cloud-stream-binder-kafka-streams": version})]
    found = {each.hazard.name: each.concern.answer for each in judge_hazards((), known, release_named(target))}

    assert expected is found.get("binder-drops-consumed")


def test_without_a_target_only_the_given_hazards_are_judged():
    assert () == judge_hazards((), [application({"spring-kafka": "2.6.1"})])


def test_the_rows_are_in_order_and_of_libraries_that_say_nothing_by_their_references():
    lines = list(wrapper_lines())

    assert sorted(lines, key=lambda each: (lines.index(each), each)) == lines
    assert {library for library, _ in lines} <= PASSIVE_LIBRARIES
    for (library, line), row in wrapper_lines().items():
        assert (library, line) == (row.library, row.line)
        assert row.release.startswith(f"{line}.")


@pytest.mark.parametrize("version", ["9.9.1", "2.0.5.RELEASE", ""])
def test_a_line_of_a_wrapper_that_was_not_read_is_a_question(version):
    found = judged(application({"spring-kafka": version}))["spring-kafka-line-not-read"]

    assert (UNKNOWN, f"spring-kafka {version}".rstrip()) == (found.concern.answer, found.hazard.applies_to)
    assert found.hazard.remedy.endswith(
        "known are the lines 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 3.0, 3.1, 3.2, 3.3, 4.0"
    )


def test_a_library_that_wraps_nothing_needs_no_line():
    assert {} == judged(application({"jackson-core": "99.1", "kafka-streams": "4.3.1"}))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Application(topology=STORES), "artifacts of Kafka that a framework or a serde keeps"),
        (
            application({"kafka-streams": "3.9.2"}),
            "artifacts of Kafka that a framework or a serde keeps",
        ),
        (application({"kafka-streams": "4.3.1"}), None),
        (
            application({"kafka-streams": "4.3.1"}, mixed="kafka-clients 4.2.0"),
            "kafka-clients 4.2.0",
        ),
        (application({"kafka-streams": "4.2.0"}, mixed="kafka-clients 4.3.1"), "kafka-clients 4.3.1"),
    ],
)
def test_artifacts_of_several_releases_are_a_question_that_the_new_build_answers(found, expected):
    """A broker's artifact stayed at 2.7.0 beside 2.8.0, and the exit status was 0."""
    row = judged(found).get("mixed-artifacts")

    assert expected == (row and row.hazard.applies_to.removesuffix(" beside Kafka Streams"))
    assert row is None or (UNKNOWN, expected.startswith("kafka-")) == (
        row.concern.answer,
        row.is_undecided,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (application({"kafka-streams": "4.3.1"}), set()),
        (application({"kafka-streams": "4.3.1"}, agents=("agent otel 1 is there",)), {"agents-beside"}),
        (application({"kafka-streams": "4.3.1", "brave-kafka": "1"}), {"agents-beside"}),
        (application({"kafka-streams": "4.3.1", "kafka-streams-avro-serde": "8.0.0"}), {"serdes-beside"}),
        (application({"kafka-streams": "4.3.1", "spring-kafka-test": "4.0.1"}), {"test-brokers-beside"}),
        (application({"kafka-streams": "4.3.1"}, shown={"kafka-tests": ("a test of yours",)}), {"test-brokers-beside"}),
        (application({"kafka-streams": "4.3.1", "micronaut-kafka-streams": "1"}), {"frameworks-beside"}),
    ],
)
def test_what_is_beside_kafka_is_named_if_the_files_show_it(found, expected):
    assert expected == set(judged(found))
