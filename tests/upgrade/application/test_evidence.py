"""The files of an application as facts: settings with places, what code shows, and which release lacks something."""

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.code_evidence import code_facts
from streams_assignor.upgrade.application.evidence import described_topology, setting_facts
from streams_assignor.upgrade.application.linkage import check_references
from streams_assignor.upgrade.application.setting_files import Settings, parse_settings
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import BORROWED_LIBRARY, HAZARDS, MISSING_LIBRARY, Answer, Application, Lacking
from streams_assignor.upgrade.hazards.conditions import Sets, Uses
from streams_assignor.upgrade.releases import release_named
from tests.upgrade.application.class_bytes import ClassBytes
from tests.upgrade.application.test_archive import jar

STREAMS = "org/apache/kafka/streams/"
KTABLE = STREAMS + "kstream/KTable"
GROUPER = STREAMS + "processor/PartitionGrouper"
SETTER = STREAMS + "state/RocksDBConfigSetter"
TABLE_CONFIG = "org/rocksdb/BlockBasedTableConfig"
JSON_SERIALIZER = "org/apache/kafka/connect/json/JsonSerializer"
PARTITIONER = "processor/StreamPartitioner"
SUPPLIER = STREAMS + "processor/ProcessorSupplier"
TOPOLOGY = {"com/Topologies.class": ClassBytes("com/Topologies").makes(STREAMS + "Topology").bytes()}


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
        ("orders:\n  streams:\n    default:\n      processing.guarantee: exactly_once", 4),
        ("spring.kafka.client-id: a\nbilling:\n  processing-guarantee: exactly_once", 3),
    ],
)
def test_a_hazard_of_a_key_below_a_name_of_the_application_cannot_be_told(text, line):
    (found,) = setting_facts("a.yml", parse_settings(text, ".yml"))
    concern = Sets("processing.guarantee", ("exactly_once",)).concern(Application(settings=found))

    assert Answer.UNKNOWN is concern.answer
    expected = f"whether a.yml line {line}, which names processing.guarantee, is for Kafka Streams"
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


def test_a_method_that_an_interface_has_got_is_one_that_a_class_does_not_implement(tmp_path):
    """Who called KafkaStreams(TopologyBuilder, ...) was told of stream partitioners of his own."""
    builder, partitioner = (f"org/apache/kafka/streams/{name}" for name in ("kstream/KStreamBuilder", PARTITIONER))
    class_file = ClassBytes("com/Orders", interfaces=[partitioner]).makes(builder).bytes()

    found = facts(tmp_path, {"com/Orders.class": class_file}, "1.1", "2.0")
    assert {"there is no such class": False, "the class does not implement it": True} == {
        each.text.rpartition(": ")[2]: each.is_unimplemented for each in found.lacking
    }


@pytest.mark.parametrize(("origin", "target"), [("2.8", "3.9"), ("3.0", "2.8")])
def test_what_is_still_there_is_not_gone(tmp_path, origin, target):
    entries = {"com/Orders.class": ClassBytes("com/Orders").makes(SUPPLIER).bytes()}

    assert () == facts(tmp_path, entries, origin, target).lacking


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (f"{STREAMS}Topology", Answer.NO),
        (f"{STREAMS}StreamsBuilder", Answer.NO),
        (f"{STREAMS}scala/StreamsBuilder", Answer.NO),
        (f"{STREAMS}scala/kstream/KStream", Answer.NO),
        (KTABLE, Answer.NO),  # a function of Spring Cloud Stream has no builder
        (f"{STREAMS}kstream/KStreamBuilder", Answer.NO),
        (f"{STREAMS}processor/TopologyBuilder", Answer.NO),
        (f"{STREAMS}KafkaStreams", Answer.UNKNOWN),  # of a topology that it is given
        ("com/acme/Orders", Answer.UNKNOWN),
    ],
)
def test_classes_that_build_no_topology_deny_nothing_about_its_code(tmp_path, owner, expected):
    """The module that builds it is not among the files: a test harness, or a module of records."""
    library = jar({"l/L.class": ClassBytes("l/L").bytes()})
    built = ClassBytes("com/A").makes(owner).bytes()
    found = facts(tmp_path, {"com/A.class": built, "lib/l-1.jar": library})
    concern = Uses("suppress", "KTable#suppress").concern(Application(code=found))

    assert expected is concern.answer
    assert (expected is Answer.UNKNOWN) is any("build the topology" in each for each in concern.decided_by)


def test_the_java_of_the_newest_class_counts(tmp_path):
    assert 0 == facts(tmp_path, {"a.txt": b""}).java
    assert facts(tmp_path, {"A.class": ClassBytes("A").makes(KTABLE).bytes()}).java > 0


def answer(name, found):
    (row,) = (each for each in HAZARDS if each.name == name)
    return row.when.concern(Application(code=found)).answer


def setter(*, closes=True, calls=("setBlockSize", f"(J)L{TABLE_CONFIG};")):
    written = ClassBytes("com/Setter", interfaces=[SETTER]).calls(TABLE_CONFIG, *calls)
    methods = "setConfig (Ljava/lang/String;Lorg/rocksdb/Options;Ljava/util/Map;)V"
    written.method(*methods.split(), code=b"\xb1")
    return written.method("close", "(Ljava/lang/String;Lorg/rocksdb/Options;)V", b"\xb1") if closes else written


SHARDS = "setBlockCacheCompressedNumShardBits", f"(I)L{TABLE_CONFIG};"


@pytest.mark.parametrize(
    ("written", "of_3_0", "of_4_0"),
    [
        (setter(), Answer.NO, Answer.NO),
        (setter(closes=False), Answer.YES, Answer.NO),
        (setter(calls=SHARDS), Answer.NO, Answer.YES),
        (setter(calls=("setUseOsBuffer", "()V")), Answer.NO, Answer.NO),  # no release has it
        (ClassBytes("com/Setter").makes("org/rocksdb/DirectComparator"), Answer.YES, Answer.NO),
        (ClassBytes("com/Setter").makes("org/rocksdb/AccessHint"), Answer.NO, Answer.YES),
    ],
)
def test_a_setter_is_concerned_if_it_is_linked_with_what_rocksdb_lacks(tmp_path, written, of_3_0, of_4_0):
    library = jar({"l/L.class": ClassBytes("l/L").bytes()})
    rocksdb = jar({f"{TABLE_CONFIG}.class": ClassBytes(TABLE_CONFIG).calls("org/rocksdb/AccessHint", "a").bytes()})
    entries = {"com/Setter.class": written.bytes(), "lib/a-1.jar": library, "lib/rocksdbjni-5.18.4.jar": rocksdb}
    found = facts(tmp_path, entries | TOPOLOGY)

    assert [of_3_0, of_4_0] == [answer(f"rocksdb-config-setter-of-{line}", found) for line in ("3.0", "4.0")]


def test_what_rocksdb_lacks_has_the_release_whose_rocksdb_lacks_it(tmp_path):
    found = facts(tmp_path, {"com/Setter.class": setter(calls=SHARDS).bytes()})

    text = "your class com.Setter: org.rocksdb.BlockBasedTableConfig#setBlockCacheCompressedNumShardBits(int)"
    assert (Lacking(f"{text}: RocksDB 9.7.3 does not have it", (4, 0, 0)),) == found.rocksdb


def test_a_library_that_kafka_streams_leaves_out_concerns_who_uses_it(tmp_path):
    """KAFKA-5146: kafka-streams of 3.0 does not bring connect-json."""
    used = TOPOLOGY | {"com/A.class": ClassBytes("com/A").makes(JSON_SERIALIZER).bytes()}
    old, new = (
        {f"lib/kafka-streams-{name}.jar": jar({STREAMS + "KafkaStreams.class": b""})} for name in ("2.8.2", "4.3.1")
    )
    json = {"lib/connect-json-4.3.1.jar": jar({f"{JSON_SERIALIZER}.class": b""})}
    cases = {
        Answer.NO: [{"com/A.class": ClassBytes("com/A").makes(KTABLE).bytes()}, used | new | json],
        Answer.UNKNOWN: [used, used | old, used | old | json],
        Answer.YES: [used | new],
    }

    for expected, files in cases.items():
        assert [expected] * len(files) == [
            answer("dependencies-of-3.0", facts(tmp_path, each, "2.8.2", "4.3.1")) for each in files
        ]
    (text,) = facts(tmp_path, used | new, "2.8.2", "4.3.1").shown[MISSING_LIBRARY]
    assert "your class com.A refers to connect-json, which Kafka Streams 4.3.1 does not bring" == text
    assert BORROWED_LIBRARY not in facts(tmp_path, used | new, "2.8.2", "4.3.1").shown


def test_zookeeper_comes_with_the_broker_at_run_time_only(tmp_path):
    """Since 3.0, and the code of tests did not compile."""
    used = TOPOLOGY | {"com/A.class": ClassBytes("com/A").makes("org/apache/zookeeper/server/ZooKeeperServer").bytes()}
    new = {"lib/kafka-streams-3.4.0.jar": jar({STREAMS + "KafkaStreams.class": b""})}

    for origin, expected in (("2.8.2", Answer.YES), ("3.0.2", Answer.NO)):
        assert expected == answer("dependencies-of-3.0", facts(tmp_path, used | new, origin, "3.4.0"))


def test_a_topology_that_is_none_is_refused():
    with pytest.raises(UpgradeError, match=r"t\.txt: expected the text of Topology#describe"):
        described_topology("t.txt", "")


def test_a_setting_has_its_line_and_the_profile_that_has_it():
    settings = parse_settings("acks=all\n#---\nspring.config.activate.on-profile=prod\nretries=1\n", ".properties")
    always, in_production = setting_facts("app.properties", settings)

    assert {"acks": "app.properties line 1"} == {key: each.where for key, each in always.values.items()}
    assert "app.properties line 4 (profile prod)" == in_production.values["retries"].where
    assert "app.properties" == setting_facts("app.properties", Settings.of({"acks": "all"}))[0].values["acks"].where
