"""Jars, jars inside them, and folders; damaged and hostile ones."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tests.upgrade.application.class_bytes import ClassBytes
from upgrade.application import archive
from upgrade.application.archive import Archives, Library
from upgrade.input_values import InvalidInput

KAFKA = "org/apache/kafka/streams/KafkaStreams"
USER = ClassBytes("com/example/Orders").makes(KAFKA).bytes()
PLAIN = ClassBytes("com/example/Plain").bytes()
POM = "META-INF/maven/g/a/pom.properties"


def jar(entries):
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as found:
        for name, each in entries.items():
            found.writestr(name, each)
    return content.getvalue()


@pytest.fixture
def path(tmp_path):
    def written(entries, name="orders-1.0.jar"):
        found = tmp_path / name
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_bytes(entries if isinstance(entries, bytes) else jar(entries))
        return found

    return written


def read(*paths):
    with Archives(paths) as found:
        return {name: str(each.library) for name, each in found.classes.items()}


def test_classes_of_a_jar_are_those_of_the_application(path):
    with Archives([path({"com/example/Orders.class": USER, "com/example/Plain.class": PLAIN, "a.txt": "x"})]) as found:
        assert ["com/example/Orders"] == [*found.classes]
        assert 2 == found.seen
        assert {"com/example/Orders", "com/example/Plain"} == found.names
        assert "com/example/Orders" == found.find("com/example/Orders").name
        assert "com/example/Plain" == found.find("com/example/Plain").name
        assert found.find("com/example/Unseen") is None
        assert {Library("orders", "1.0", is_own=True)} == found.libraries


def test_jars_inside_a_jar_are_libraries(path):
    spring = jar({"org/s/S.class": ClassBytes("org/s/S").makes(KAFKA).bytes()})
    fat = {
        "BOOT-INF/classes/com/example/Orders.class": USER,
        "BOOT-INF/lib/spring-kafka-2.7.14.jar": spring,
        "BOOT-INF/lib/x/": b"",
    }

    assert {"com/example/Orders": "your class", "org/s/S": "library spring-kafka 2.7.14"} == read(path(fat))


def test_a_library_has_the_name_of_its_pom(path):
    library = jar({POM: "groupId=g\nartifactId=a\nversion=3\n", "A.class": ClassBytes("A").makes(KAFKA).bytes()})
    plain = jar({"B.class": ClassBytes("B").makes(KAFKA).bytes()})

    assert {"A": "library a 3", "B": "library plain.jar"} == read(
        path({"lib/x-1.jar": library, "lib/plain.jar": plain})
    )


def test_a_folder_has_classes_and_libraries(path, tmp_path):
    path(USER, "classes/com/example/Orders.class")
    path({"A.class": ClassBytes("A").makes(KAFKA).bytes()}, "lib/a-1.jar")
    path({"B.class": ClassBytes("B").makes(KAFKA).bytes()}, "app/b-1.jar")
    path(b"text", "notes.txt")

    assert {"com/example/Orders": "your class", "A": "library a 1", "B": "your class"} == read(tmp_path)


def test_a_class_file_is_read(path):
    with Archives([path(USER, "Orders.class")]) as found:
        assert ["com/example/Orders"] == [*found.classes]


def test_a_class_of_a_folder_is_found_again(path, tmp_path):
    path(PLAIN, "classes/Plain.class")
    with Archives([tmp_path]) as found:
        assert "com/example/Plain" == found.find("com/example/Plain").name


def test_kafkas_own_classes_are_left_out_and_its_versions_are_named(path):
    clients = jar({POM: "groupId=org.apache.kafka\nartifactId=kafka-clients\nversion=2.8.1\n", "x.class": USER})
    shaded = {
        "lib/kafka-clients-2.8.1.jar": clients,
        f"{KAFKA}.class": ClassBytes(KAFKA).makes(KAFKA).bytes(),
        "org/apache/kafka/shaded/A.class": USER,
        "kafka/kafka-streams-version.properties": "commitId=1\nversion=2.8.2\n",
        "com/example/Orders.class": USER,
    }
    with Archives([path(shaded)]) as found:
        assert ["com/example/Orders"] == [*found.classes]
        assert {"kafka-clients": {"2.8.1"}, "kafka-streams": {"2.8.2"}} == found.kafka
        assert 1 == found.seen


def test_artifacts_of_kafka_without_a_pom_are_known_by_their_names(path):
    fat = {
        f"lib/{name}-2.8.1.jar": jar({"kafka/A.class": USER}) for name in ("kafka_2.13", "connect-json", "kafka-server")
    }
    with Archives([path(fat)]) as found:
        assert {} == found.classes
        assert {"kafka_2.13": {"2.8.1"}, "connect-json": {"2.8.1"}, "kafka-server": {"2.8.1"}} == found.kafka


def test_classes_of_kafka_in_a_folder_are_left_out(path, tmp_path):
    path(ClassBytes(KAFKA).makes(KAFKA).bytes(), f"classes/{KAFKA}.class")

    assert {} == read(tmp_path)


def test_damaged_entries_are_named(path):
    entries = {"A.class": b"org/apache/kafka/", "lib/b-1.jar": b"no jar", "module-info.class": b"\xca\xfe\xba\xbe"}
    with Archives([path(entries), path(b"no class", "C.class")]) as found:
        assert "A.class" == found.damaged[0]
        assert found.damaged[1].endswith("orders-1.0.jar!/lib/b-1.jar")
        assert found.damaged[2].endswith("C.class")
        assert found.find("module-info") is None
        assert {} == found.classes


def test_content_that_does_not_fit_its_checksum_is_damaged(path):
    content = bytearray(jar({"A.class": USER}))
    content[60] ^= 0xFF
    with Archives([path(bytes(content))]) as found:
        assert ["A.class"] == found.damaged


def test_what_is_no_archive_is_refused(path):
    with pytest.raises(InvalidInput, match="expected a jar, a class file or a folder"):
        read(path(b"text", "a.jar"))
    with pytest.raises(FileNotFoundError):
        read(path({}).with_name("none.jar"))


def test_archives_have_limits(path, monkeypatch):
    nested = jar({"A.class": PLAIN})
    for depth in range(4):
        nested = jar({f"{depth}.jar": nested})
    with pytest.raises(InvalidInput, match="expected at most 3 levels of jars inside jars"):
        read(path(nested))
    with monkeypatch.context() as smaller:
        smaller.setattr(archive, "MAX_ENTRIES", 1)
        with pytest.raises(InvalidInput, match="expected at most 1 entries"):
            read(path({"a": b"", "b": b""}))
    with monkeypatch.context() as smaller:
        smaller.setattr(archive, "MAX_TOTAL_BYTES", 100)
        with pytest.raises(InvalidInput, match="expand to at most 100 bytes"):
            read(path({"A.class": bytes(101)}))
    with monkeypatch.context() as smaller:
        smaller.setattr(archive, "MAX_DIRECTORY_BYTES", 60)
        assert {} == read(path({"a": b""}))
        for entries in ({"a": b"", "b": b""}, {"a.jar": jar({"a": b"", "b": b""})}):
            with pytest.raises(InvalidInput, match="expected a list of entries of at most 60 bytes"):
                read(path(entries))
    with pytest.raises(InvalidInput, match=r"expected at most 16,777,216 bytes, got A\.class with 16,777,217"):
        read(path({"A.class": bytes((1 << 24) + 1)}))


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """It is not left out: the verdict would be about a part of the application."""

    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(folder)))

    monkeypatch.setattr(archive.os, "walk", walk)
    with pytest.raises(PermissionError), Archives([tmp_path]):
        pass
