"""Conditions of hazards: three values, and each kind of evidence."""

from itertools import product

import pytest
from attrs import evolve

from streams_assignor.upgrade.hazards import (
    HAZARDS,
    Answer,
    Application,
    ApplicationTopology,
    CodeFacts,
    CodeSettings,
    Concern,
    GroupFacts,
    Lacking,
    Setting,
    SettingFacts,
)
from streams_assignor.upgrade.hazards.conditions import (
    EVERYWHERE,
    MAIN_CONSUMER,
    Always,
    Ask,
    Brokers,
    Condition,
    HasLibrary,
    Lacks,
    RunsOnJavaBefore,
    Sets,
    Uses,
)
from streams_assignor.upgrade.hazards.usual_conditions import (
    FOREIGN_KEY_JOINS,
    GLOBAL_TABLES,
    ON_DISK,
    OUTER_JOINS,
    PATTERN_SOURCES,
    REPARTITION_TOPICS,
    REPARTITIONED_TABLES,
    SASL,
    SEVERAL_INPUTS,
    SEVERAL_THREADS,
    STANDBYS,
    STATIC_AFTERWARDS,
    STATIC_MEMBERS,
    STORES,
    STREAM_JOINS,
    SUPPRESS,
    TABLES,
    number_setting,
)
from streams_assignor.upgrade.topology_description import parse_topology_description
from tests.each import for_each

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN
NOBODY = Application()


class Known(Condition):
    """A condition whose answer is given."""

    def __init__(self, answer, name="it"):
        self.answer, self.name = answer, name

    def look(self, _application):
        unknown = self.answer is UNKNOWN
        return Concern(self.answer, *((), (self.name,)) if unknown else ((self.name,),))


def settings(**values):
    """Return an application whose classes, which are read, set nothing."""
    lines = enumerate(values.items(), start=1)
    found = {key.replace("_", "."): Setting(value, f"app.properties line {line}") for line, (key, value) in lines}
    return evolve(code(), settings=SettingFacts("app.properties", found))


def code(**facts):
    known = {
        "has_libraries": True,
        "has_own_classes": True,
        "makes_streams": True,
        "builds_topology": True,
        "settings": CodeSettings(),
    }
    return Application(code=CodeFacts("app.jar", **known | facts))


def topology(text):
    return Application(topology=ApplicationTopology("topology.txt", parse_topology_description(text)))


def group(**facts):
    return Application(group=GroupFacts("orders", **facts))


def answer(condition, application):
    return condition.concern(application).answer


def test_a_key_that_the_file_sets_is_not_called_unset_because_of_its_other_names():
    found = Sets("a", ("1",), EVERYWHERE).concern(settings(a="2"))

    assert (NO, ("app.properties line 1 does not set a to 1",)) == (found.answer, found.evidence)


# -- three values


@pytest.mark.parametrize(("a", "b"), list(product(Answer, Answer)))
def test_all_of_some_parts_is_the_least_of_them(a, b):
    order = (NO, UNKNOWN, YES)

    assert min(a, b, key=order.index) is answer(Known(a) & Known(b), NOBODY)
    assert max(a, b, key=order.index) is answer(Known(a) | Known(b), NOBODY)


@pytest.mark.parametrize(("a", "opposite"), [(YES, NO), (NO, YES), (UNKNOWN, UNKNOWN)])
def test_the_opposite_of_what_is_unknown_is_unknown(a, opposite):
    found = (~Known(a)).concern(NOBODY)

    assert opposite is found.answer
    assert ("it",) == (found.evidence or found.decided_by)


@pytest.mark.parametrize(("a", "b"), list(product(Answer, Answer)))
def test_the_second_part_is_asked_if_the_first_cannot_tell(a, b):
    """And contradicts a "no" of the first."""
    expected = UNKNOWN if (a, b) == (NO, YES) else b if a is UNKNOWN else a

    assert expected is answer(Known(a).or_else(Known(b)), NOBODY)


def test_what_decides_alone_is_the_only_evidence():
    assert ("a",) == (Known(NO, "a") & Known(NO, "b")).concern(NOBODY).evidence
    assert ("b",) == (Known(NO, "a") | Known(YES, "b")).concern(NOBODY).evidence
    assert ("a", "b") == (Known(YES, "a") & Known(YES, "b")).concern(NOBODY).evidence


def test_what_is_unknown_names_all_that_would_decide_it_once():
    found = (Known(UNKNOWN, "a") & Known(YES, "b") & (Known(UNKNOWN, "c") | Known(UNKNOWN, "a"))).concern(NOBODY)

    assert ("a", "c") == found.decided_by
    assert () == found.evidence
    assert {
        "concerns": "unknown",
        "because": [],
        "decided_by": ["a", "c"],
        "read": [],
        "contradicted_by": [],
    } == found.as_json()
    assert ("a", "c") == Known(UNKNOWN, "a").or_else(Known(UNKNOWN, "c")).concern(NOBODY).decided_by


def test_some_conditions_need_no_file():
    assert Concern(YES, ("every member",)) == Always("every member").concern(NOBODY)
    assert Concern(UNKNOWN, decided_by=("whether it rains",)) == Ask("whether it rains").concern(NOBODY)
    with pytest.raises(NotImplementedError):
        Condition().concern(NOBODY)


# -- settings


@pytest.mark.parametrize(
    ("condition", "value", "found"),
    [
        (Sets("a"), "1", (YES, "app.properties line 1 sets a")),
        (Sets("a"), "${A}", (YES, "app.properties line 1 sets a")),
        (Sets("a", ("1", "2")), "2 ", (YES, "app.properties line 1: a=2")),
        (Sets("a", ("1", "2")), "3", (NO, "app.properties line 1 does not set a to 1 or 2")),
        (Sets("a", ("1",)), "${A}", (UNKNOWN, "what value a has: app.properties line 1 has a placeholder")),
        (Sets("a", fits=str.isupper, what="in capitals"), "X", (YES, "app.properties line 1 sets a in capitals")),
        (
            Sets("a", fits=str.isupper, what="in capitals"),
            "x",
            (NO, "app.properties line 1 does not set a in capitals"),
        ),
        (Sets("b"), "1", (NO, "b is not set in app.properties")),
        (number_setting("a", (5).__lt__, "above 5"), "6", (YES, "app.properties line 1 sets a above 5")),
        (number_setting("a", (5).__lt__, "above 5"), "many", (NO, "app.properties line 1 does not set a above 5")),
    ],
)
def test_a_setting_is_shown_by_its_line(condition, value, found):
    concern = condition.concern(settings(a=value))

    assert found == (concern.answer, *concern.evidence, *concern.decided_by)


def test_a_value_that_is_not_listed_is_never_shown():
    concern = Sets("a", fits=lambda value: "Jndi" in value, what="with Jndi").concern(
        settings(a="Jndi password=secret")
    )

    assert "secret" not in str(concern)


def test_a_key_of_a_client_has_several_names():
    own = settings(main_consumer_a="1")

    assert YES is answer(Sets("a", prefixes=MAIN_CONSUMER), own)
    assert NO is answer(Sets("a", ("2",), MAIN_CONSUMER), settings(main_consumer_a="1", a="2"))
    assert YES is answer(Sets("a", ("2",), EVERYWHERE), settings(main_consumer_a="1", a="2"))
    assert NO is answer(Sets("a"), own)


def test_without_a_file_a_setting_is_unknown_unless_a_wrapper_sets_it():
    wrapped = Application(wrapped={"a": Setting("1", "spring-kafka 2.6.5")})

    assert ("--config (a)",) == Sets("a").concern(NOBODY).decided_by
    assert "spring-kafka 2.6.5 sets a" == Sets("a").concern(wrapped).evidence[0]


def test_keys_that_a_file_does_not_set_are_one_text():
    found = (Sets("a") | Known(NO, "it") | Sets("b") | Sets("c")).concern(settings())

    assert ("a or b or c is not set in app.properties", "it") == found.evidence


def test_a_file_wins_over_a_wrapper():
    given = Application(settings=settings(a="2").settings, wrapped={"a": Setting("1", "spring-kafka 2.6.5")})

    assert "app.properties line 1: a=2" == Sets("a", ("1", "2")).concern(given).evidence[0]


# -- code


def test_the_own_class_that_uses_something_is_shown():
    found = Uses("suppress", "KTable#suppress").concern(
        code(shown={"suppress": ("your class A refers to KTable#suppress",)})
    )

    assert Concern(YES, ("your class A refers to KTable#suppress",)) == found


def test_what_only_a_library_uses_does_not_show_that_the_application_asks_for_it():
    found = Uses("suppress", "KTable#suppress").concern(
        code(by_libraries={"suppress": ("library l 1 L refers to it",)})
    )

    assert Concern(UNKNOWN, decided_by=("whether you use what library l 1 L refers to it",)) == found


def test_what_nothing_refers_to_is_not_used_if_the_libraries_were_seen():
    condition = Uses("suppress", "KTable#suppress")

    proven = Concern(NO, ("nothing in app.jar refers to KTable#suppress",), read=("app.jar as class files",))
    assert proven == condition.concern(code())
    assert "--app with your libraries" in condition.concern(code(has_libraries=False)).decided_by[0]
    assert ("--app (KTable#suppress)",) == condition.concern(NOBODY).decided_by


def test_what_is_gone_concerns_the_row_of_the_release_that_removed_it():
    removed_in_3 = Lacks((3, 0), (3, 1))
    gone = (Lacking("A refers to PartitionGrouper", (3, 0)),)

    assert Concern(YES, ("A refers to PartitionGrouper",)) == removed_in_3.concern(code(lacking=gone))
    assert ("A refers to PartitionGrouper; and 1 more",) == removed_in_3.concern(code(lacking=gone * 2)).evidence
    assert NO is answer(Lacks((4, 0), (5, 0)), code(lacking=gone))
    own = Lacks((3, 0), (3, 1), unimplemented=True)
    added = (Lacking("A does not implement B#c", (3, 0), is_unimplemented=True),)
    assert (NO, YES) == (answer(own, code(lacking=gone)), answer(own, code(lacking=gone + added)))
    assert UNKNOWN is answer(removed_in_3, code(has_libraries=False))
    assert UNKNOWN is answer(removed_in_3, NOBODY)
    assert YES is answer(removed_in_3, code(lacking=gone, has_libraries=False))


@pytest.mark.parametrize(("java", "expected"), [(17, NO), (11, NO), (8, UNKNOWN), (0, UNKNOWN)])
def test_classes_of_a_newer_java_rule_out_an_older_one(java, expected):
    assert expected is answer(RunsOnJavaBefore(11), code(java=java))
    assert UNKNOWN is answer(RunsOnJavaBefore(11), NOBODY)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"libraries": {"scala-library": "2.11.12"}}, YES),
        ({"libraries": {"scala-library": "2.13.1"}}, NO),
        ({"libraries": {"scala-library": "2.10"}}, NO),
        ({"libraries": {"scala-library": ""}}, UNKNOWN),
        ({}, NO),
        ({"has_libraries": False}, UNKNOWN),
    ],
)
def test_a_library_is_known_by_its_version(facts, expected):
    assert expected is answer(HasLibrary(("scala-library",), (2, 11), (2, 12)), code(**facts))
    assert UNKNOWN is answer(HasLibrary(("scala-library",)), NOBODY)


def test_a_library_of_any_version_is_there():
    assert YES is answer(HasLibrary(("a", "b"), (1,)), code(libraries={"b": "1.2"}))


# -- the group and its brokers


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [(((2, 0), (2, 8)), YES), (((2, 4), (2, 8)), NO), (((3, 0), (3, 0)), NO), (((1, 0), (1, 0)), NO)],
)
def test_one_broker_of_these_releases_is_enough(brokers, expected):
    found = Brokers((1, 1), (2, 4)).concern(group(brokers=brokers))

    assert expected is found.answer
    assert found.evidence[0].startswith("the brokers are of ")


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [(((4, 2), (4, 2)), UNKNOWN), (((4, 1), (4, 2)), UNKNOWN), (((4, 2, 1), (4, 2, 1)), NO), (((4, 3), (4, 3)), NO)],
)
def test_a_line_of_brokers_does_not_say_which_patch_release_they_have(brokers, expected):
    assert expected is answer(Brokers((4, 2), (4, 2, 1)), group(brokers=brokers))


def test_brokers_that_nobody_saw_are_unknown():
    for application in (NOBODY, group()):
        assert ("--group (the release of the brokers)",) == Brokers().concern(application).decided_by


def test_a_group_shows_its_static_members_and_standbys():
    assert ("group orders has static members",) == STATIC_MEMBERS.concern(group(has_static_members=True)).evidence
    assert ("group orders has no standbys",) == STANDBYS.concern(group(has_standbys=False)).evidence
    assert UNKNOWN is answer(STANDBYS, group())
    assert YES is answer(STANDBYS, settings(num_standby_replicas="1"))
    assert NO is answer(STANDBYS, settings(num_standby_replicas="0"))


def test_members_that_all_start_again_are_static_if_their_settings_or_the_group_say_so():
    given = settings(group_instance_id="one")

    assert YES is answer(STATIC_AFTERWARDS, evolve(given, group=GroupFacts("orders", has_static_members=False)))
    before = STATIC_MEMBERS.concern(evolve(given, group=GroupFacts("orders", has_static_members=False)))
    contradicted = "group orders has no static members, but app.properties line 1 sets group.instance.id"
    assert (UNKNOWN, (contradicted,)) == (before.answer, before.decided_by)
    assert NO is answer(STATIC_AFTERWARDS, group(has_static_members=False))
    assert UNKNOWN is answer(STATIC_AFTERWARDS, NOBODY)


# -- the topology

COUNT = """
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [orders])
      --> KSTREAM-FILTER-0000000004
    Processor: KSTREAM-FILTER-0000000004 (stores: [])
      --> KSTREAM-SINK-0000000003
      <-- KSTREAM-SOURCE-0000000000
    Sink: KSTREAM-SINK-0000000003 (topic: orders-repartition)
      <-- KSTREAM-FILTER-0000000004

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000005 (topics: [orders-repartition, others])
      --> KSTREAM-AGGREGATE-0000000002
    Processor: KSTREAM-AGGREGATE-0000000002 (stores: [counts])
      --> KTABLE-SUPPRESS-0000000006
      <-- KSTREAM-SOURCE-0000000005
    Processor: KTABLE-SUPPRESS-0000000006 (stores: [KTABLE-SUPPRESS-STATE-STORE-0000000007])
      --> none
      <-- KSTREAM-AGGREGATE-0000000002
"""
GLOBAL = """
  Sub-topology: 0 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000000 (topics: [prices])
      --> KTABLE-SOURCE-0000000001
    Processor: KTABLE-SOURCE-0000000001 (stores: [prices-store])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""
PLAIN = """
   Sub-topology: 0
    Source: source (topics: [a])
      --> sink
    Sink: sink (topic: b)
      <-- source
"""
NAMED = """
   Sub-topology: 0
    Source: in (topics: [a])
      --> mine
    Processor: mine (stores: [mine-store])
      --> none
      <-- in
"""
JOIN = """
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [a])
      --> j-this-windowed
    Source: KSTREAM-SOURCE-0000000001 (topics: [b])
      --> KSTREAM-WINDOWED-0000000003
    Processor: j-this-windowed (stores: [j-outer-this-join-store])
      --> j-outer-this-join
      <-- KSTREAM-SOURCE-0000000000
    Processor: KSTREAM-WINDOWED-0000000003 (stores: [x])
      --> KSTREAM-OUTEROTHER-0000000005
      <-- KSTREAM-SOURCE-0000000001
    Processor: j-outer-this-join (stores: [x])
      --> none
      <-- j-this-windowed
    Processor: KSTREAM-OUTEROTHER-0000000005 (stores: [])
      --> none
      <-- KSTREAM-WINDOWED-0000000003
"""
TABLE = """
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [a])
      --> t-table-source
    Processor: t-table-source (stores: [])
      --> none
      <-- KSTREAM-SOURCE-0000000000
"""
PATTERN = PLAIN.replace("[a]", "a.*")


@pytest.mark.parametrize(
    ("condition", "text", "expected"),
    [
        (STORES, COUNT, (YES, "topology.txt has store counts")),
        (STORES, PLAIN, (NO, "topology.txt has no stores")),
        (STORES, GLOBAL, (NO, "topology.txt has no stores")),
        (REPARTITION_TOPICS, COUNT, (YES, "topology.txt has topic orders-repartition")),
        (REPARTITION_TOPICS, PLAIN, (NO, "topology.txt has no repartition topics")),
        (SEVERAL_INPUTS, COUNT, (YES, "topology.txt has sub-topology 1 with orders-repartition, others")),
        (SEVERAL_INPUTS, PLAIN, (NO, "topology.txt has no sub-topologies with several topics")),
        (SEVERAL_INPUTS, GLOBAL, (NO, "topology.txt has no sub-topologies with several topics")),
        (SEVERAL_INPUTS, PATTERN, (YES, "topology.txt has sub-topology 0 with a.*, more")),
        (PATTERN_SOURCES, PATTERN, (YES, "topology.txt has source source with a pattern of topics")),
        (PATTERN_SOURCES, PLAIN, (NO, "topology.txt has no pattern of source topics")),
        (GLOBAL_TABLES, GLOBAL, (YES, "topology.txt has global store prices-store")),
        (GLOBAL_TABLES, COUNT, (NO, "topology.txt has no global tables")),
        (TABLES, TABLE, (YES, "topology.txt has t-table-source")),
        (TABLES, GLOBAL, (NO, "topology.txt has no tables that are read from topics")),
        (SUPPRESS, COUNT, (YES, "topology.txt has KTABLE-SUPPRESS-0000000006")),
        (SUPPRESS, PLAIN, (NO, "topology.txt has no suppress()")),
        (STREAM_JOINS, JOIN, (YES, "topology.txt has j-this-windowed")),
        (STREAM_JOINS, COUNT, (NO, "topology.txt has no joins of streams")),
        (OUTER_JOINS, JOIN, (YES, "topology.txt has j-outer-this-join")),
        (OUTER_JOINS, COUNT, (NO, "topology.txt has no left or outer joins of streams")),
        (FOREIGN_KEY_JOINS, COUNT, (NO, "topology.txt has no foreign-key joins")),
        (REPARTITIONED_TABLES, COUNT.replace("KSTREAM-FILTER-0000000004", "KTABLE-SELECT-0000000004"),
         (YES, "topology.txt has repartitioned tables: sink KSTREAM-SINK-0000000003")),
    ],
)  # fmt: skip
def test_a_topology_shows_stores_topics_and_joins(condition, text, expected):
    concern = condition.concern(topology(text))

    assert expected == (concern.answer, *concern.evidence)


def test_a_name_of_the_application_can_hide_suppress():
    found = SUPPRESS.concern(topology(NAMED))

    assert UNKNOWN is found.answer
    assert "whether topology.txt has suppress(): names of your own hide it" == found.decided_by[0]
    assert NO is answer(SUPPRESS, Application(code=code().code, topology=topology(NAMED).topology))


def test_stores_may_be_in_memory():
    stores, calls = topology(COUNT).topology, {"in-memory-stores": ("your class A refers to Stores#inMemory",)}
    both = settings(state_dir="/data").settings

    assert YES is answer(ON_DISK, Application(settings=both, code=code().code, topology=stores))
    assert YES is answer(ON_DISK, Application(topology=stores))
    assert UNKNOWN is answer(ON_DISK, Application(settings=both, code=code(shown=calls).code, topology=stores))
    assert NO is answer(ON_DISK, topology(PLAIN))
    in_memory = settings(default_dsl_store="in_memory").settings
    reads = {"topology-config": ("your class A calls StreamsBuilder(TopologyConfig)",)}
    assert UNKNOWN is answer(ON_DISK, Application(settings=in_memory, code=code(shown=reads).code, topology=stores))
    assert YES is answer(ON_DISK, Application(settings=in_memory, code=code().code, topology=stores))


def test_a_topology_without_stores_denies_what_needs_stores():
    """No jar is asked for then, but for code that uses RocksDB by itself, and for stores that nothing uses."""
    denied = {row.name for row in HAZARDS if answer(row.when, topology(PLAIN)) is NO}

    assert {"kafka-7652", "kafka-18326", "kafka-18479", "queries-of-2.6.1"} <= denied
    assert not {"rocksdb-config-setter-of-3.0", "rocksdb-config-setter-of-4.0", "queries-of-3.1"} & denied


def test_code_shows_stores_only_if_they_are_certain():
    assert YES is answer(STORES, code(shown={"aggregations": ("A",), "stores": ("A",)}))
    assert UNKNOWN is answer(STORES, code(shown={"stores": ("A",)}))
    assert NO is answer(STORES, code())


def test_threads_are_set_or_added():
    assert YES is answer(SEVERAL_THREADS, settings(num_stream_threads="4"))
    assert UNKNOWN is answer(SEVERAL_THREADS, Application(settings=settings(num_stream_threads="1").settings))
    assert NO is answer(SEVERAL_THREADS, Application(settings=settings().settings, code=code().code))


def test_sasl_is_a_protocol_of_any_client():
    assert YES is answer(SASL, settings(producer_security_protocol="SASL_SSL"))


# -- the table

EVERYTHING = Application(
    settings=settings().settings,
    code=code(java=21).code,
    topology=topology(PLAIN).topology,
    group=GroupFacts("orders", False, False, ((4, 0), (4, 0))),
)
STATEFUL = Application(topology=topology(COUNT).topology)


@for_each(HAZARDS)
def test_a_row_says_what_decides_it(row):
    """Each of the rows has a condition, or says what the operator has to look at."""
    unknown = row.when.concern(NOBODY)

    assert unknown.answer is not NO
    assert unknown.evidence or unknown.decided_by
    assert "" not in unknown.decided_by


def test_most_rows_are_decided_by_files():
    """Files leave a fifth, which needs a look at brokers, machines or dashboards."""
    undecided = {row.name for row in HAZARDS if answer(row.when, EVERYTHING) is UNKNOWN}

    assert len(undecided) < len(HAZARDS) / 5
    assert {name for name in undecided if name.startswith("metrics-of-")} < undecided


@pytest.mark.parametrize(
    ("name", "application", "expected"),
    [
        ("optimization-needs-build", settings(topology_optimization="none"), NO),
        ("optimization-needs-build", settings(topology_optimization="all"), NO),
        ("optimization-needs-build", Application(
            settings=settings(topology_optimization="all").settings,
            code=code(shown={"build-without-properties": ("A",)}).code), YES),
        ("optimization-needs-build", Application(
            settings=settings(topology_optimization="all").settings,
            code=code(shown={"build-with-properties": ("A",)}).code), NO),
        ("leak-of-4.1.0", code(shown={"range-scans": ("A",)}), YES),
        ("kafka-12190", evolve(settings(state_dir="C:\\kafka"), topology=STATEFUL.topology), YES),
        ("kafka-12190", evolve(settings(state_dir="/data"), topology=STATEFUL.topology), UNKNOWN),
        ("source-topics-missing", Application(group=GroupFacts("g", lacks_topics=True)), YES),
        ("source-topics-missing", Application(group=GroupFacts("g", lacks_topics=False)), NO),
        ("source-topics-missing", NOBODY, UNKNOWN),
        ("agents-of-2.6", Application(settings=SettingFacts("a", {}, agents=("a line 1 has -javaagent:b",))), YES),
        ("agents-of-2.6", code(agents=("agent b 1 is there",)), YES),
        ("agents-of-2.6", Application(libraries={"brave-instrumentation-kafka-streams": "5.13"}), YES),
        ("metrics-of-2.6", Application(libraries={"micrometer-core": "1.6.2"}), YES),
        ("metrics-of-2.6", EVERYTHING, UNKNOWN),
        ("dead-thread-ends-member", code(), YES),
        ("dead-thread-ends-member", code(shown={"new-uncaught-exception-handler": ("A",)}), NO),
        ("dead-thread-ends-member", code(has_libraries=False), UNKNOWN),
        ("application-server-checked", settings(application_server=":80"), YES),
        ("application-server-checked", settings(application_server="localhost"), NO),  # refused before, too
        ("application-server-checked", settings(application_server="localhost:80"), NO),
        ("application-server-without-host", settings(application_server="user@host:80"), YES),
        ("application-server-without-host", settings(application_server="http://host:80"), NO),
        ("bootstrap-servers-with-blanks", settings(bootstrap_servers="a:1 b:2"), YES),
        ("bootstrap-servers-with-blanks", settings(bootstrap_servers="a:1, b:2"), NO),
        (
            "login-module-refused",
            settings(sasl_jaas_config="com.sun...JndiLoginModule required;", security_protocol="SASL_SSL"),
            YES,
        ),
        ("login-module-refused", settings(sasl_jaas_config="com.sun...JndiLoginModule required;"), NO),
        ("login-module-refused", settings(security_protocol="SASL_SSL"), UNKNOWN),
        ("login-module-refused", settings(security_protocol="SSL"), NO),
        ("in-flight-requests-refused", settings(producer_max_in_flight_requests_per_connection="6"), YES),
        ("list-values-checked", settings(bootstrap_servers=""), YES),
        ("list-values-checked", settings(metric_reporters="a,,b"), YES),
        ("list-values-checked", settings(metric_reporters=""), NO),
        ("kafka-15053", settings(security_protocol="ssl"), YES),
        ("kafka-15053", settings(security_protocol="SSL"), NO),
        (
            "small-segments",
            Application(
                settings=settings(topic_segment_bytes="1000").settings,
                group=GroupFacts("g", brokers=((4, 0), (4, 0))),
            ),
            YES,
        ),
        ("streams-members-leave", settings(group_protocol="Streams"), YES),
        ("streams-members-leave", settings(group_protocol="streams", group_instance_id="a"), NO),
        ("tls-1.0", settings(security_protocol="SSL", ssl_enabled_protocols="TLSv1"), NO),
        ("kafka-8204", Application(
            settings=settings(statestore_cache_max_bytes="0").settings, topology=STATEFUL.topology), UNKNOWN),
        ("kafka-8204", evolve(settings(statestore_cache_max_bytes="0"), topology=STATEFUL.topology), NO),
        ("session-timeout-45-s", settings(consumer_session_timeout_ms="1"), NO),
    ],
)  # fmt: skip
def test_files_decide_a_row(name, application, expected):
    (row,) = (each for each in HAZARDS if each.name == name)

    assert expected is answer(row.when, application)


@pytest.mark.parametrize(
    ("key", "value", "row"),
    [("topology_optimization", "all", "table-changelogs-of-2.0")],
)
def test_a_table_that_is_optimized_concerns(key, value, row):
    (found,) = (each for each in HAZARDS if each.name == row)
    application = Application(settings=settings(**{key: value}).settings, topology=topology(TABLE).topology)

    assert YES is answer(found.when, application)
