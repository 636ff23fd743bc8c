"""The libraries that a release needs, beside those of an application."""

import pytest

from streams_assignor.upgrade.application.dependencies import Dependency, needed_by
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.needs import PACKAGES, NeedStatus, check_needs, left_out
from streams_assignor.upgrade.releases import RELEASES

KAFKA = Dependency("org.apache.kafka", "kafka-clients", "4.4.0", "compile")
LZ4 = Dependency("at.yawk.lz4", "lz4-java", "1.10.1", "runtime")
OLD_LZ4 = Dependency("org.lz4", "lz4-java", "1.8.0", "runtime")
ZSTD = Dependency("com.github.luben", "zstd-jni", "1.5.6-10", "runtime")


def needs(*libraries, old=(), new=(LZ4, KAFKA), has_new_kafka=False):
    return check_needs(libraries, old, new, has_new_kafka=has_new_kafka)


def test_a_library_that_is_there_is_fine():
    assert () == needs(Library("lz4-java", "1.10.1", group="at.yawk.lz4"), Library("lz4-java", "1.10.2"))


def test_a_library_of_the_old_release_is_replaced_with_kafka():
    assert () == needs(Library("lz4-java", "1.8.0", group="at.yawk.lz4"), old=[OLD_LZ4])


def test_another_version_than_that_of_the_old_release_is_pinned():
    (found,) = needs(Library("zstd-jni", "1.4.9-1", group="com.github.luben"), new=[ZSTD])

    assert NeedStatus.OLDER is found.status
    assert (
        "the files have com.github.luben:zstd-jni 1.4.9-1, com.github.luben:zstd-jni 1.5.6-10 is needed" == found.text
    )


def test_in_files_with_the_new_release_every_older_library_counts():
    library = Library("lz4-java", "1.8.0")
    (found,) = needs(library, old=[OLD_LZ4], has_new_kafka=True)

    assert (NeedStatus.OLDER, library) == (found.status, found.found)


def test_a_library_is_missing_only_where_the_new_release_is_there():
    assert () == needs()
    (found,) = needs(has_new_kafka=True)

    assert "at.yawk.lz4:lz4-java 1.10.1 is not in the files" == found.text
    assert {"library": LZ4.as_json(), "status": "missing", "found": None} == found.as_json()


def test_a_library_under_other_coordinates_is_there_twice():
    """kafka-clients 4.2 takes lz4-java from another group: Maven sees two libraries with the same classes."""
    (found,) = needs(Library("lz4-java", "1.8.0", group="org.lz4"), old=[OLD_LZ4])

    assert NeedStatus.TWICE is found.status
    assert found.text.endswith(" 1.10.1 is needed: exclude the first, or both are on the class path")
    assert {"group": "org.lz4", "name": "lz4-java", "version": "1.8.0"} == found.as_json()["found"]


@pytest.mark.parametrize("other", [Library("lz4-java", "1.8.0"), Library("lz4", "1.3.0", group="net.jpountz.lz4")])
def test_two_makes_of_a_library_are_on_one_class_path(other):
    """The jar of org.lz4 names no group, and that of 1.3.0 has another artifact: the classes are the same."""
    new = Library("lz4-java", "1.10.1", group="at.yawk.lz4")

    assert [(NeedStatus.TWICE, other)] == [(need.status, need.found) for need in needs(new, other, has_new_kafka=True)]
    assert [] == [*needs(Library("lz4", "1.3.0"), old=[Dependency("net.jpountz.lz4", "lz4", "1.3.0", "compile")])]


def test_two_makes_that_are_both_too_old_are_two():
    old, older = Library("lz4-java", "1.10.0", group="at.yawk.lz4"), Library("lz4-java", "1.8.0")
    found = needs(old, older, has_new_kafka=True)

    assert [(NeedStatus.OLDER, old), (NeedStatus.TWICE, older)] == [(need.status, need.found) for need in found]


def test_the_classes_of_each_library_that_a_release_leaves_out_are_known():
    releases = [each for each in RELEASES.values() if each.is_released]
    brought = [{each.artifact for each in needed_by(release)} for release in releases]
    gone = {name for place, old in enumerate(brought) for new in brought[place:] for name in old - new}

    assert gone <= PACKAGES.keys()


def test_a_library_under_other_coordinates_is_not_left_out():
    (json,) = (each for each in needed_by(RELEASES["2.8.2"]) if each.artifact == "connect-json")

    assert [("connect-json", ("org/apache/kafka/connect/json/",))] == [*left_out([OLD_LZ4, json, ZSTD], [LZ4, ZSTD])]
