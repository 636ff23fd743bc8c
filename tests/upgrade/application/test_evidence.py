"""The files of an application as facts: settings with places, what code shows, and which release lacks something."""

import pytest

from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar
from upgrade.application.archive import Archives
from upgrade.application.code import code_of
from upgrade.application.evidence import code_facts, described_topology, setting_facts
from upgrade.application.linkage import check_references
from upgrade.application.setting_files import Settings, parse_settings
from upgrade.errors import UpgradeError
from upgrade.hazards import Answer, Application, Lacking
from upgrade.hazards._conditions import Sets
from upgrade.releases import release_named

STREAMS = "org/apache/kafka/streams/"
KTABLE = STREAMS + "kstream/KTable"
GROUPER = STREAMS + "processor/PartitionGrouper"
SUPPLIER = STREAMS + "processor/ProcessorSupplier"


def facts(tmp_path, entries, origin="2.8", target="4.3"):
    path = tmp_path / "orders.jar"
    path.write_bytes(jar(entries))
    ends = release_named(origin), release_named(target)
    with Archives([path]) as archives:
        report = check_references(archives.classes, *map(code_of, ends), archives.find)
        return code_facts("orders.jar", archives, report, *ends)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kafka:\n  streams:\n    default:\n      processing.guarantee: exactly_once", 4),
        ("spring.kafka.client-id: a\nbilling:\n  processing-guarantee: exactly_once", 3),
    ],
)
def test_a_hazard_of_a_key_below_a_name_of_the_application_cannot_be_told(text, line):
    (found,) = setting_facts("a.yml", parse_settings(text, ".yml"))
    concern = Sets("processing.guarantee", ("exactly_once",)).concern(Application(settings=found))

    assert Answer.UNKNOWN is concern.answer
    expected = f"whether a.yml line {line}, which has processing.guarantee in its name, is for Kafka Streams"
    assert (expected,) == concern.decided_by


def test_what_own_classes_and_libraries_use_is_kept_apart(tmp_path):
    written = ClassBytes("com/Orders").calls(KTABLE, "suppress").bytes()
    library = jar({"l/L.class": ClassBytes("l/L").calls(KTABLE, "groupBy").bytes()})
    found = facts(tmp_path, {"com/Orders.class": written, "lib/tracing-1.2.jar": library})

    assert ("your class com.Orders refers to org.apache.kafka.streams.kstream.KTable#suppress()",) == found.shown[
        "suppress"
    ]
    assert () == found.by_libraries["suppress"]
    assert () == found.shown["repartitioned-tables"]
    assert found.by_libraries["repartitioned-tables"][0].startswith("library tracing 1.2 l.L refers to ")
    assert {"tracing": "1.2"} == found.libraries
    assert found.has_libraries


def test_a_wrapper_shows_nothing_of_itself(tmp_path):
    """spring-kafka calls whatever the application asks it to call."""
    library = jar({"l/L.class": ClassBytes("l/L").calls(KTABLE, "groupBy").bytes()})
    found = facts(tmp_path, {"lib/spring-kafka-2.7.1.jar": library})

    assert () == found.by_libraries["repartitioned-tables"]


def test_what_is_gone_has_the_first_release_that_lacks_it(tmp_path):
    both = ClassBytes("com/Orders").makes(GROUPER).makes(SUPPLIER).bytes()
    found = facts(tmp_path, {"com/Orders.class": both, "com/Bill.class": ClassBytes("com/Bill").makes(GROUPER).bytes()})

    assert not found.has_libraries
    assert (
        Lacking(
            "your class com.Bill and 1 more: org.apache.kafka.streams.processor.PartitionGrouper: "
            "there is no such class",
            (3, 0, 0),
        ),
        Lacking(
            "your class com.Orders: org.apache.kafka.streams.processor.ProcessorSupplier: there is no such class",
            (4, 0, 0),
        ),
    ) == found.lacking


@pytest.mark.parametrize(("origin", "target"), [("2.8", "3.9"), ("3.0", "2.8")])
def test_what_is_still_there_is_not_gone(tmp_path, origin, target):
    entries = {"com/Orders.class": ClassBytes("com/Orders").makes(SUPPLIER).bytes()}

    assert () == facts(tmp_path, entries, origin, target).lacking


def test_the_java_of_the_newest_class_counts(tmp_path):
    assert 0 == facts(tmp_path, {"a.txt": b""}).java
    assert facts(tmp_path, {"A.class": ClassBytes("A").makes(KTABLE).bytes()}).java > 0


def test_a_topology_that_is_none_is_refused():
    with pytest.raises(UpgradeError, match=r"t\.txt: expected the text of Topology#describe"):
        described_topology("t.txt", "")


def test_a_setting_has_its_line_and_the_profile_that_has_it():
    settings = parse_settings("acks=all\n#---\nspring.config.activate.on-profile=prod\nretries=1\n", ".properties")
    always, in_production = setting_facts("app.properties", settings)

    assert {"acks": "app.properties line 1"} == {key: each.where for key, each in always.values.items()}
    assert "app.properties line 4 (profile prod)" == in_production.values["retries"].where
    assert "app.properties" == setting_facts("app.properties", Settings.of({"acks": "all"}))[0].values["acks"].where
