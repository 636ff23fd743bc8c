"""The needs of the artifacts of releases: the tables beside facts of Kafka's release notes."""

import pytest

from streams_assignor.upgrade.application.code import classes_of_any_release, code_of, is_public
from streams_assignor.upgrade.application.dependencies import (
    Dependency,
    DependencyChange,
    JavaChange,
    artifacts_of,
    compare_dependencies,
    dependencies_of,
    java_level,
    library_jar,
    natives_of,
    needed_by,
)
from streams_assignor.upgrade.application.scala import scala_jar, scala_versions
from streams_assignor.upgrade.application.stored import NoTable
from streams_assignor.upgrade.releases import RELEASES

SCALA = "org/apache/kafka/streams/scala/"


def named(found):
    return {each.name: each.version for each in found}


@pytest.mark.parametrize(
    ("release", "version"),
    [("0.10.0.1", "4.8.0"), ("2.5.1", "5.18.3"), ("3.0.2", "6.19.3"), ("3.1.0", "6.22.1.1"), ("4.3.1", "10.1.3")],
)
def test_the_version_of_a_library_is_that_of_the_release(release, version):
    assert version == named(dependencies_of(RELEASES[release]))["org.rocksdb:rocksdbjni"]


def test_a_library_changes_its_coordinates_in_a_patch_release():
    old, new = (dependencies_of(RELEASES[name], "kafka-clients") for name in ("3.9.1", "3.9.2"))

    assert {"org.lz4:lz4-java": "1.8.0"}.items() <= named(old).items()
    assert {"at.yawk.lz4:lz4-java": "1.10.1"}.items() <= named(new).items()
    assert "org.lz4:lz4-java" not in named(new)


def test_what_kafkas_own_artifacts_need_is_needed():
    found = named(needed_by(RELEASES["2.8.2"]))

    assert {"org.apache.kafka:connect-json": "2.8.2", "com.github.luben:zstd-jni": "1.4.9-1"}.items() <= found.items()
    assert "javax.ws.rs:javax.ws.rs-api" in found


def test_what_the_application_brings_is_not_needed():
    provided = Dependency("com.fasterxml.jackson.core", "jackson-databind", "2.9.6", "provided")

    assert provided in dependencies_of(RELEASES["2.0.0"], "kafka-clients")
    assert provided not in needed_by(RELEASES["2.0.0"], "kafka-clients")
    assert not Dependency("a", "b", "1", "runtime", is_optional=True).is_needed


def test_what_the_tests_of_4_4_need_is_optional():
    optional = {each.artifact for each in dependencies_of(RELEASES["4.4.0"]) if each.is_optional}

    assert {"hamcrest", "junit-jupiter", "mockito-core"} == optional


@pytest.mark.parametrize(
    ("release", "artifact", "java"),
    [
        ("1.1.1", "kafka-streams", 7),
        ("2.0.0", "kafka-clients", 8),
        ("3.9.2", "kafka-streams", 8),
        ("4.0.0", "kafka-clients", 11),
        ("4.4.0", "kafka-streams", 11),
        ("4.0.0", "kafka-streams-scala_2.13", 17),
        ("4.1.2", "kafka-streams-scala_2.13", 11),
    ],
)
def test_the_java_level_is_that_of_the_class_files(release, artifact, java):
    assert java == java_level(RELEASES[release], artifact)


def test_an_artifact_that_a_release_lacks_is_an_error():
    with pytest.raises(NoTable, match=r"expected an artifact of 4\.0\.0 .* got connect-json"):
        java_level(RELEASES["4.0.0"], "connect-json")
    with pytest.raises(NoTable, match=r"got kafka-streams-scala_2\.9"):
        dependencies_of(RELEASES["4.0.0"], "kafka-streams-scala_2.9")


def test_a_library_that_no_release_names_is_not_known():
    assert library_jar(Dependency("org.rocksdb", "rocksdbjni", "1.0", "compile")) is None
    assert library_jar(Dependency("a", "b", "1.0", "compile")) is None


def test_native_code_is_listed_by_platform():
    natives = {name: natives_of(RELEASES[name])["org.rocksdb:rocksdbjni"] for name in ("2.4.1", "2.6.0", "3.2.0")}

    assert "linux-aarch64" not in natives["2.4.1"]
    assert "linux-aarch64" in natives["2.6.0"]
    assert {"linux-x86_64-musl", "macos-aarch64"} & natives["2.6.0"] == set()
    assert {"linux-x86_64-musl", "macos-aarch64", "linux-s390x"} <= natives["3.2.0"]
    assert "org.slf4j:slf4j-api" not in natives_of(RELEASES["3.2.0"])


def test_what_differs_between_releases_is_listed():
    found = compare_dependencies(RELEASES["2.8.2"], RELEASES["4.0.0"])
    plain = found.as_json()

    assert {"added": [], "removed": ["connect-api", "connect-json", "kafka-streams-scala_2.12"]} == plain["artifacts"]
    assert {JavaChange("kafka-streams", 8, 11), JavaChange("org.rocksdb:rocksdbjni", 7, 8)} <= {*found.java}
    json = next(each for each in found.libraries if each.library.endswith("connect-json"))
    assert ("2.8.2", None) == (json.old.version, json.new)
    assert "org.apache.kafka:kafka-clients" not in {each.library for each in found.libraries}
    rocksdb = next(each for each in plain["natives"] if each["library"] == "org.rocksdb:rocksdbjni")
    assert ("macos-aarch64" in rocksdb["added"], rocksdb["removed"]) == (True, [])
    assert {"name": "kafka-clients", "old": 8, "new": 11} in plain["java"]
    zstd = next(each for each in plain["libraries"] if each["library"] == "com.github.luben:zstd-jni")
    assert ("compile", "runtime") == (zstd["old"]["scope"], zstd["new"]["scope"])


def test_kafkas_own_libraries_differ_by_scope_only():
    found = compare_dependencies(RELEASES["2.0.0"], RELEASES["2.0.1"])

    assert () == tuple(each for each in found.libraries if each.library.startswith("org.apache.kafka:"))
    assert ("com.fasterxml.jackson.core:jackson-databind", "2.9.7") in {
        (each.library, each.new.version) for each in found.libraries
    }
    assert isinstance(found.libraries[0], DependencyChange)


def test_each_line_has_its_versions_of_scala():
    assert "kafka-streams-scala_2.13" in artifacts_of(RELEASES["4.4.0"])
    assert ("2.12", "2.13") == scala_versions(RELEASES["2.5.0"])
    with pytest.raises(NoTable, match=r"4\.0\.0 has kafka-streams-scala for \(2\.13\), got 2\.12"):
        scala_jar(RELEASES["4.0.0"], "2.12")
    with pytest.raises(NoTable, match=r"for \(none\)"):
        scala_jar(RELEASES["1.1.1"], "2.12")


def test_the_first_jar_is_taken_for_releases_before_it():
    assert "2.5.0" == scala_jar(RELEASES["2.4.1"], "2.13")


def test_the_classes_for_scala_are_in_the_table():
    serdes = SCALA + "serialization/Serdes$"

    assert serdes not in code_of(RELEASES["4.1.0"])
    assert "kafka-streams-scala" == code_of(RELEASES["4.1.0"], "2.13")[serdes].artifact
    assert {SCALA + "Serdes$", SCALA + "FunctionConversions$"} <= classes_of_any_release()
    assert SCALA + "Serdes$" in code_of(RELEASES["3.9.1"], "2.12")
    assert SCALA + "Serdes$" not in code_of(RELEASES["4.0.0"], "2.13")
    assert is_public(serdes)


def test_the_versions_of_scala_differ_in_signatures_only():
    """A class of 2.11 that is a lambda from 2.12 on has no row that another release needs."""
    old, new = (code_of(RELEASES["3.9.1"], scala) for scala in ("2.12", "2.13"))

    assert old.keys() == new.keys()
    grouped = SCALA + "kstream/KStream"
    names = [{name for name, _ in code[grouped].members} for code in (old, new)]
    assert names[0] == names[1]


def test_the_initializer_of_a_trait_is_a_member():
    found = code_of(RELEASES["4.1.0"], "2.13")[SCALA + "serialization/LowPrioritySerdes"]

    assert any(name == "$init$" for name, _ in found.members)
