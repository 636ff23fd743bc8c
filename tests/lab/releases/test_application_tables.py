"""The stored tables of ``upgrade.application`` beside the jars, and Kafka's own answers about values."""

import json
import os
from zipfile import ZipFile

import pytest

from streams_assignor.upgrade.application.broker_configuration import BROKER
from streams_assignor.upgrade.application.class_file import PRIVATE, PUBLIC, ClassFile, ClassMember
from streams_assignor.upgrade.application.code import CLASS_FLAGS, JAVA, MEMBER_FLAGS, code_of
from streams_assignor.upgrade.application.configuration import CONFIGS, configuration_of
from streams_assignor.upgrade.application.dependencies import Dependency, dependencies_of, java_level, library_jar
from streams_assignor.upgrade.application.environment import environment_of
from streams_assignor.upgrade.application.rocksdb import ROCKSDB, ROCKSDB_ARTIFACT, rocksdb_code, rocksdb_version
from streams_assignor.upgrade.application.scala import SCALA_ARTIFACT
from streams_assignor.upgrade.application.stored import BROKERS, expand, stored_configuration, stored_json, values_at
from streams_assignor.upgrade.application.values import is_judged, refusal, refusal_beside
from streams_assignor.upgrade.releases import RELEASES
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.releases.application_tables import (
    NEWEST_OF_LINES,
    PUBLISHED,
    ask_configurations,
    code_rows,
    code_text,
    configuration_text,
    derive_broker_configurations,
    derive_code,
    derive_configurations,
    fetch_jars,
    java_jars,
    scala_jars,
    with_throwing,
)
from tests.lab.releases.artifacts import KAFKA, Artifact, copy_artifacts
from tests.lab.releases.dependency_tables import derive_artifacts, derive_libraries
from tests.lab.releases.environment_tables import derive_environment

SOME = ("0.10.0.1", "2.8.2", "4.4.0")
LEFT_OUT = {"group.instance.id": ("", "  "), "rack.aware.assignment.tags": (",",)}
BROKERS_OF = ("3.9.2", "4.3.1", "4.4.0")
AUTHORIZERS = {
    "kafka/security/auth/SimpleAclAuthorizer": ("2.8.2",),
    "kafka/security/authorizer/AclAuthorizer": ("2.8.2", "3.0.2", "3.9.2"),
}
SCALA = "2.13"
WITH_SCALA = ("2.8.2", "4.1.0")
VALUES = (
    *("", "  ", ",", "a,,b", "a,a", "a, b,c,d,e,f", "0", "-1", " 7 ", "+5", "1.5", "1e3", "-0.0", "NaN", "nan", "1f"),
    *("2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "32768", 26 * "9"),
    *("true", "TRUE", "yes", "null", "NULL", "latest", "none", "all", "exactly_once", "READ_COMMITTED", "plaintext"),
    *("SASL_SSL", "classic", "Consumer", "0.10.0", "2.3", "4.0", "1_000", "infinity", "0x10"),
)


@pytest.fixture(scope="module")
def jars():
    try:
        return fetch_jars(SOME)
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")


def test_the_tables_have_the_releases_of_the_table_of_releases():
    assert list(PUBLISHED) == stored_configuration()["releases"]


def test_a_row_is_stored_once_for_all_releases_that_have_it():
    keys = {"streams": {"a": {"default": "1"}}}
    stored = json.loads(configuration_text({"1.0": (keys, {}), "1.1": (keys, {"X": ["a"]})}, ["1.0", "1.1"]))

    assert {"a": {"0-1": {"default": "1"}}} == stored["configs"]["streams"]
    assert {"X": {"1": ["a"]}} == stored["overrides"]


@pytest.mark.java
@pytest.mark.slow
def test_the_configuration_of_brokers_is_that_of_their_jars():
    try:
        found = derive_broker_configurations(BROKERS_OF)
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    stored = stored_json(BROKERS)
    for name, (keys, _) in found.items():
        place = stored["releases"].index(name)
        rows = stored["configs"][BROKER].items()
        assert keys[BROKER] == {key: row for key, ranges in rows for row in values_at(ranges, place)}


@pytest.mark.java
@pytest.mark.slow
def test_brokers_have_the_authorizers_that_the_rules_name():
    try:
        paths = {name: class_path(f"{KAFKA}:kafka_2.13:{name}") for name in ("2.8.2", "3.0.2", "3.9.2", "4.4.0")}
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    for name, path in paths.items():
        jar = next(each for each in path.split(os.pathsep) if f"/kafka_2.13-{name}.jar" in each)
        with ZipFile(jar) as opened:
            entries = set(opened.namelist())
        for entry, releases in AUTHORIZERS.items():
            assert (name in releases) == (f"{entry}.class" in entries)


def test_the_tables_of_brokers_have_the_newest_release_of_each_line():
    assert list(NEWEST_OF_LINES) == stored_json(BROKERS)["releases"]


@pytest.mark.java
@pytest.mark.slow
def test_the_configuration_of_some_releases_is_that_of_their_jars(jars):
    for name, (keys, overrides) in derive_configurations(SOME, jars).items():
        stored = stored_configuration()
        place = stored["releases"].index(name)

        def at(rows, place=place):
            found = {
                key: [each for ranges, each in row.items() if place in expand(ranges)] for key, row in rows.items()
            }
            return {key: values[0] for key, values in found.items() if values}

        assert keys == {config: at(stored["configs"][config]) for config in CONFIGS if at(stored["configs"][config])}
        assert overrides == at(stored["overrides"])


@pytest.mark.java
@pytest.mark.slow
def test_the_classes_of_some_releases_are_those_of_their_jars(jars):
    for name in SOME:
        derived = derive_code(java_jars([name], jars), with_references=True)
        check_classes(code_of(RELEASES[name]), with_throwing(derived))


@pytest.mark.java
def test_the_classes_for_scala_of_some_releases_are_those_of_their_jars(jars):
    try:
        copy_artifacts([Artifact(KAFKA, f"{SCALA_ARTIFACT}_{SCALA}", name) for name in WITH_SCALA], jars)
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    for name in WITH_SCALA:
        known = {key: each for key, each in code_of(RELEASES[name], SCALA).items() if each.artifact == SCALA_ARTIFACT}
        check_classes(known, derive_code(scala_jars([(SCALA, name)], jars)))


@pytest.mark.java
def test_the_classes_of_rocksdb_are_those_of_the_jars_that_releases_bring(jars):
    brought = {rocksdb_version(RELEASES[name]): RELEASES[name] for name in SOME}
    files = [Artifact("org.rocksdb", ROCKSDB_ARTIFACT, each) for each in brought]
    copy_artifacts(files, jars)
    for each in files:
        derived = derive_code([(each.version, each.name, jars / each.file_name)], ROCKSDB)
        check_classes(rocksdb_code(brought[each.version]), derived)


def check_classes(known, derived):
    stored = {each.name: each for each in known.values() if each.artifact != JAVA}
    found = {each.name: (artifact, each) for _, artifact, each in derived}

    assert stored.keys() == found.keys()
    for artifact, each in found.values():
        row = stored[each.name]
        members = {
            (member.name, member.descriptor): member.flags & MEMBER_FLAGS
            for member in each.members
            if not member.flags & PRIVATE or (member.name, member.descriptor) in row.members
        }
        assert (artifact, each.flags & CLASS_FLAGS, members) == (row.artifact, row.flags, row.members)
        assert each.interfaces == row.interfaces


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.usefixtures("jars")
def test_what_some_releases_need_is_what_their_poms_and_jars_say():
    found = derive_artifacts(SOME, {SCALA: WITH_SCALA})

    assert {"kafka-clients", "kafka-streams", "connect-json", "connect-api", f"{SCALA_ARTIFACT}_{SCALA}"} == {
        each.name for each in found
    }
    for each in found:
        release = RELEASES[each.release]
        assert (each.java, {*each.dependencies}) == (
            java_level(release, each.name),
            {*dependencies_of(release, each.name)},
        )
    for name, versions in derive_libraries(found).items():
        for version, facts in versions.items():
            known = library_jar(Dependency(*name.split(":"), version, "runtime"))
            assert (facts["java"], {*facts["natives"]}) == (known.java, known.natives)


@pytest.mark.java
@pytest.mark.slow
def test_what_some_releases_read_of_the_environment_is_in_their_code(jars):
    for name, reads in derive_environment(java_jars(SOME, jars)).items():
        stored = environment_of(RELEASES[name])

        assert {each.name for each in reads} == stored.keys()
        for each in reads:
            known = stored[each.name]
            assert each.is_property == known.is_property
            assert each.reader in known.readers
            assert each.default is None or each.default in known.defaults


@pytest.mark.java
@pytest.mark.slow
def test_values_are_refused_in_the_words_of_the_jars(jars, tmp_path):
    known = {name: configuration_of(RELEASES[name]).configs for name in SOME}
    asked = sorted({(config, key) for configs in known.values() for config, keys in configs.items() for key in keys})
    trials = [(config, key, value) for config, key in asked for value in VALUES]
    path = tmp_path / "trials"
    path.write_text("".join(f'{config}\t{key}\t"{value}"\n' for config, key, value in trials))
    judged = 0
    for name, answer in ask_configurations(SOME, jars, path).items():
        for (config, key, value), words in zip(trials, answer["answers"], strict=True):
            facts = known[name].get(config, {}).get(key)
            if facts is None:
                assert "no such key" == words
            elif is_judged(facts, value) and not is_repeated(facts, value):
                judged += 1
                assert words == refusal(key, facts, value), (name, config, key, value)
    assert judged > 29_000


def is_repeated(facts, value):
    """Whether Kafka drops elements before it comes to the checks of the key."""
    return facts.type == "LIST" and value in {",", "a,a"}


@pytest.mark.java
@pytest.mark.slow
def test_whole_configurations_refuse_what_is_said_here(jars, tmp_path):
    """Streams decides about commits itself; elements that are empty and empty ids are left out."""
    known = {name: configuration_of(RELEASES[name]).configs for name in SOME}
    asked = sorted({(config, key) for configs in known.values() for config, keys in configs.items() for key in keys})
    trials = [(config, key, value) for config, key in asked for value in VALUES if key != "enable.auto.commit"]
    path = tmp_path / "trials"
    path.write_text("".join(f'{config}\t{key}\t"{value}"\n' for config, key, value in trials))
    beside = set()
    for name, answer in ask_configurations(SOME, jars, path, is_built=True).items():
        for (config, key, value), words in zip(trials, answer["answers"], strict=True):
            facts = known[name].get(config, {}).get(key)
            if facts is None or not is_judged(facts, value) or (key in LEFT_OUT and value in LEFT_OUT[key]):
                continue
            refused = refusal(key, facts, value)
            if refused is None and (refused := refusal_beside(key, value, {}, RELEASES[name].number)):
                beside.add(key)
            assert words == refused, (name, config, key, value)
    assert {
        "group.instance.id",
        "group.remote.assignor",
        "max.in.flight.requests.per.connection",
        "rack.aware.assignment.tags",
    } == beside


@pytest.mark.java
def test_the_stored_form_has_each_set_of_releases_once():
    class_file = ClassFile("org/apache/kafka/A", PUBLIC, "java/lang/Object", (), (ClassMember("m", "()V", PUBLIC),), 8)
    try:
        rows = code_rows([("1.0", "kafka-streams", class_file), ("1.1", "kafka-streams", class_file)], ["1.0", "1.1"])
    except Unavailable as missing:
        pytest.skip(f"no JDK: {missing}")
    header, *lines = code_text(rows).split("\n")

    assert ["0-1"] == json.loads(header)
    assert {"#java", "#kafka-streams", "org/apache/kafka/A java/lang/Object  1 0", " m ()V 1 0"} <= {*lines}
