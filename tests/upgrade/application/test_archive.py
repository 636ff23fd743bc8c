"""Jars, jars inside them, and folders; damaged and hostile ones."""

import random
import tracemalloc
import zipfile
from contextlib import suppress
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from streams_assignor.upgrade.application import _containers, _zip_files, archive
from streams_assignor.upgrade.application.archive import Archives, RelocatedCopy
from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.input_values import InvalidInput
from tests.upgrade.application.class_bytes import ClassBytes

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
        return {each.file.name: str(each.library) for each in found.classes}


def names(found):
    return [each.file.name for each in found.classes]


def damaged(found):
    return [each.rpartition("test_")[2].partition("/")[2] for each in found.damaged]


def test_classes_of_a_jar_are_those_of_the_application(path):
    with Archives([path({"com/example/Orders.class": USER, "com/example/Plain.class": PLAIN, "a.txt": "x"})]) as found:
        assert ["com/example/Orders"] == names(found)
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
        assert ["com/example/Orders"] == names(found)


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
        assert ["com/example/Orders"] == names(found)
        assert {"kafka-clients": {"2.8.1"}, "kafka-streams": {"2.8.2"}} == found.kafka
        assert 1 == found.seen


def test_artifacts_of_kafka_without_a_pom_are_known_by_their_names(path):
    fat = {
        f"lib/{name}-2.8.1.jar": jar({"kafka/A.class": USER}) for name in ("kafka_2.13", "connect-json", "kafka-server")
    }
    with Archives([path(fat)]) as found:
        assert [] == names(found)
        assert {"kafka_2.13": {"2.8.1"}, "connect-json": {"2.8.1"}, "kafka-server": {"2.8.1"}} == found.kafka


def test_classes_of_kafka_in_a_folder_are_left_out(path, tmp_path):
    path(ClassBytes(KAFKA).makes(KAFKA).bytes(), f"classes/{KAFKA}.class")

    assert {} == read(tmp_path)


def using(name, *, java=8):
    return ClassBytes(name, java=java).makes(KAFKA).bytes()


MULTI_RELEASE = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"


def test_of_a_multi_release_jar_the_variants_that_java_takes_are_read(path):
    """Java takes the newest variant up to its own release; a jar without the attribute has none."""
    variants = {f"META-INF/versions/{java}/A.class": using("A", java=java) for java in (9, 11, 21)}
    entries = {"A.class": using("A"), **variants, "META-INF/versions/9/module-info.class": b"\xca\xfe\xba\xbe"}
    with Archives([path({"META-INF/MANIFEST.MF": MULTI_RELEASE, **entries})], java=11) as found:
        assert [11, 21] == [each.file.java for each in found.classes]
        assert [8] == [*found.java.values()]
        assert [] == found.damaged
    with Archives([path(entries)]) as found:
        assert [8] == [each.file.java for each in found.classes]


def test_descriptions_of_modules_and_packages_are_no_classes(path):
    with Archives([path({"module-info.class": PLAIN, "a/package-info.class": PLAIN})]) as found:
        assert 0 == found.seen


def test_a_shaded_jar_has_the_libraries_of_its_poms(path):
    def pom(group, artifact):
        return {
            f"META-INF/maven/{group}/{artifact}/pom.properties": f"groupId={group}\nartifactId={artifact}\nversion=2"
        }

    entries = {
        **pom("com.example", "orders"),
        **pom("org.springframework.kafka", "spring-kafka"),
        **pom("org.apache.kafka", "kafka-clients"),
        "com/example/Orders.class": USER,
        "org/springframework/kafka/S.class": using("org/springframework/kafka/S"),
        "other/O.class": using("other/O"),
        "org/apache/kafka/connect/json/J.class": using("org/apache/kafka/connect/json/J"),
    }
    with Archives([path(entries, "orders-2.jar")]) as found:
        assert {"kafka-clients": {"2"}} == found.kafka
        assert found.sees_libraries
    assert {
        "com/example/Orders": "your class",
        "other/O": "your class",
        "org/springframework/kafka/S": "library spring-kafka 2",
    } == read(path(entries, "orders-2.jar"))


@pytest.mark.parametrize(
    ("folder", "artifact", "classes"),
    [
        ("com/x/shaded/org/apache/kafka/", "kafka-clients", ("common/TopicPartition", "clients/CommonClientConfigs")),
        ("com/x/k/", "kafka-streams", ("streams/StreamsBuilder", "streams/Topology")),
    ],
)
def test_a_copy_of_kafka_under_another_package_is_named_and_not_read(path, folder, artifact, classes):
    copies = {f"{folder}{each}.class": using(folder + each) for each in classes}
    jars = {"BOOT-INF/lib/x-1.jar": jar({**copies, "com/x/X.class": using("com/x/X")})}
    with Archives([path(jars)]) as found:
        assert [RelocatedCopy(folder, artifact, Library("x", "1"), is_read=False)] == found.relocated
        assert ["com/x/X"] == names(found)
    with Archives([path({f"{folder}{classes[0]}.class": PLAIN})]) as found:
        assert [] == found.relocated


def test_a_module_of_the_same_application_is_its_own(path):
    module = jar({POM: "groupId=g\nartifactId=orders-core\nversion=1\n", "A.class": using("A")})
    same = jar({"B.class": using("B")})
    entries = {
        "META-INF/maven/g/orders/pom.properties": "groupId=g\nartifactId=orders\nversion=1\n",
        "BOOT-INF/lib/orders-core-1.jar": module,
        "BOOT-INF/lib/orders-1.jar": same,
    }

    assert {"A": "your class", "B": "your class"} == read(path(entries))


def test_quarkus_names_files_by_group_and_artifact(path, tmp_path):
    path({f"{KAFKA}.class": PLAIN}, "quarkus-app/lib/main/org.apache.kafka.kafka-clients-3.4.0.jar")
    path({"com/example/Orders.class": USER}, "quarkus-app/app/orders-1.0.jar")
    with Archives([tmp_path / "quarkus-app"]) as found:
        assert {"kafka-clients": {"3.4.0"}} == found.kafka
        assert [Library("orders", "1.0", is_own=True)] == [each.library for each in found.classes]


def test_an_agent_is_named_as_one_and_its_hidden_classes_are_read(path):
    agent = {
        "META-INF/MANIFEST.MF": "Premain-Class: X\nImplementation-Title: otel\nImplementation-Version: 2.1\n",
        "inst/a/A.classdata": using("a/A"),
    }

    assert {"a/A": "agent otel 2.1"} == read(path(agent, "agent.jar"))


def test_a_web_archive_has_classes_and_libraries(path):
    entries = {"WEB-INF/classes/com/example/Orders.class": USER, "WEB-INF/lib/a-1.jar": jar({"A.class": using("A")})}

    assert {"com/example/Orders": "your class", "A": "library a 1"} == read(path(entries, "orders.war"))


def test_classes_that_reach_kafka_through_another_class_are_read(path):
    """javac names the class of the receiver, so the caller of MyStreams#close() does not name Kafka."""
    entries = {
        "Mine.class": ClassBytes("Mine", KAFKA).bytes(),
        "Sub.class": ClassBytes("Sub", "Mine", [KAFKA]).bytes(),
        "Caller.class": ClassBytes("Caller").calls("Sub", "close").calls("Other", "x").bytes(),
        "Plain.class": ClassBytes("Plain").calls("Other", "close").bytes(),
    }
    with Archives([path(entries)]) as found:
        assert {"Mine", "Sub", "Caller"} == {*names(found)}
        (caller,) = (each for each in found.classes if each.file.name == "Caller")
        assert ["Sub"] == [each.owner for each in caller.file.references]


def test_the_java_of_a_library_is_that_of_its_newest_class(path):
    entries = {"A.class": ClassBytes("A", java=8).bytes(), "B.class": ClassBytes("B", java=17).bytes()}
    with Archives([path({**entries, "lib/c-1.jar": jar({"C.class": ClassBytes("C", java=21).bytes()})})]) as found:
        assert {"orders": 17, "c": 21} == {library.name: java for library, java in found.java.items()}


def test_a_thin_jar_has_no_libraries_but_may_name_them(path):
    manifest = {"META-INF/MANIFEST.MF": "Class-Path: lib/a.jar l\n ib/b.jar\n"}
    with Archives([path({**manifest, "A.class": PLAIN})]) as found:
        assert not found.sees_libraries
        assert {"lib/a.jar", "lib/b.jar"} == found.class_path
    with Archives([path({"lib/x-1.jar": jar(manifest)})]) as found:
        assert set() == found.class_path


def test_the_classes_of_an_artifact_of_kafka_can_be_read(path):
    clients = {
        f"{KAFKA}.class": ClassBytes(KAFKA).makes("org/apache/kafka/common/X").bytes(),
        "org/apache/kafka/shaded/A.class": PLAIN,
        "org/apache/kafka/B.class": b"damaged",
        "org/apache/kafka/c.txt": b"",
    }
    with Archives([path({"lib/kafka-streams-3.0.0.jar": jar(clients)})]) as found:
        (artifact,) = found.artifacts
        assert [KAFKA] == [each.name for each in found.kafka_classes(artifact)]
    with Archives([path({"kafka/kafka-version.properties": "version=3.0.0\n", "A.class": PLAIN})]) as found:
        assert [] == [*found.kafka_classes(found.artifacts[0])]


def test_names_of_entries_are_never_paths(path, tmp_path):
    outside = {
        "../../A.class": using("A"),
        "/etc/B.class": using("B"),
        "lib/../../c-1.jar": jar({"C.class": using("C")}),
    }
    before = sorted(tmp_path.rglob("*"))
    target = path(outside, "inner/orders.jar")

    assert {"A", "B", "C"} == {*read(target)}
    assert sorted({*before, target.parent, target}) == sorted(tmp_path.rglob("*"))


def test_an_encrypted_entry_is_damaged(path):
    content = bytearray(jar({"A.class": USER}))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + place] |= 1
    with Archives([path(bytes(content))]) as found:
        assert ["orders-1.0.jar!/A.class"] == damaged(found)


@pytest.mark.unmeasured
def test_an_entry_that_expands_to_more_than_it_states_is_not_expanded(path):
    """A bomb states a small size; ZipFile.read expands all of it before it looks."""
    content = bytearray(jar({"A.class": bytes(1 << 27)}))
    for magic, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(magic) + place
        content[at : at + 4] = (100).to_bytes(4, "little")
    bomb = path(bytes(content))
    tracemalloc.start()
    with Archives([bomb]) as found:
        assert ["orders-1.0.jar!/A.class"] == damaged(found)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


def test_a_zip64_jar_is_read(path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    entries = {"A.class": using("A"), "B.class": using("B")}
    content = jar(entries)
    assert b"PK\x06\x06" in content
    monkeypatch.undo()

    assert {"A", "B"} == {*read(path(content))}
    monkeypatch.setattr(_zip_files, "MAX_DIRECTORY_BYTES", 60)
    with pytest.raises(InvalidInput, match="expected a list of entries of at most 60 bytes"):
        read(path(content))


def test_an_end_of_file_that_states_zip64_without_one_is_refused(path):
    content = bytearray(jar({"A.class": USER}))
    content[-10:-6] = b"\xff" * 4
    with pytest.raises(InvalidInput, match="expected a jar"):
        read(path(bytes(content)))


def test_every_place_that_may_be_the_end_of_a_file_has_the_limit(path, monkeypatch):
    content = BytesIO()
    with ZipFile(content, "w") as found:
        found.writestr("A.class", USER)
        found.writestr("B.class", PLAIN)
        found.comment = b"PK\x05\x06" + bytes(18)
    monkeypatch.setattr(_zip_files, "MAX_DIRECTORY_BYTES", 60)
    with pytest.raises(InvalidInput, match="expected a list of entries"):
        read(path(content.getvalue()))


def test_what_classes_name_has_a_limit(path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_NAMES", 3)
    with pytest.raises(InvalidInput, match="expected classes that name at most 3 classes"):
        read(path({"A.class": USER, "B.class": PLAIN}))


def test_a_class_whose_code_is_damaged_is_named(path):
    """Its header can be read."""
    content = ClassBytes("A").makes(KAFKA).method(code=b"\xff").bytes()
    with Archives([path({"A.class": content}), path(content, "B.class")]) as found:
        assert ["orders-1.0.jar!/A.class", "B.class"] == damaged(found)
        assert [] == names(found)


def test_a_damaged_jar_is_read_or_refused(path):
    """Four thousand damaged copies of a library did not end it in any other way (seed 1, 2026-11-26)."""
    draws = random.Random(1)
    inner = jar({"B.class": ClassBytes("B", KAFKA).lambda_of("F", "apply", "()V").bytes()})
    whole = jar({"META-INF/MANIFEST.MF": MULTI_RELEASE, "A.class": USER, "lib/b-1.jar": inner})
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(draws.choice((1, 3, 20))):
            content[draws.randrange(len(content))] = draws.randrange(256)
        with suppress(InvalidInput), Archives([path(bytes(content))]) as found:
            assert found.seen < 3


def test_a_library_is_named_by_its_manifest_if_its_file_has_no_version(path):
    def read_name(manifest):
        library = jar({"META-INF/MANIFEST.MF": manifest, "A.class": using("A")})
        (found,) = read(path({"lib/x.jar": library})).values()
        return found

    assert "library t 1" == read_name("Implementation-Title: t\nImplementation-Version: 1\n")
    assert "library b 2" == read_name("Bundle-SymbolicName: b;singleton:=true\nBundle-Version: 2\n")
    assert "library x.jar" == read_name("Implementation-Title: t\n")


def test_damaged_entries_are_named(path):
    entries = {"A.class": b"org/apache/kafka/", "lib/b-1.jar": b"no jar", "module-info.class": b"\xca\xfe\xba\xbe"}
    with Archives([path(entries), path(b"no class", "C.class")]) as found:
        assert ["orders-1.0.jar!/A.class", "orders-1.0.jar!/lib/b-1.jar", "C.class"] == damaged(found)
        assert found.find("module-info") is None
        assert [] == names(found)


def test_content_that_does_not_fit_its_checksum_is_damaged(path):
    content = bytearray(jar({"A.class": USER}))
    content[60] ^= 0xFF
    with Archives([path(bytes(content))]) as found:
        assert ["orders-1.0.jar!/A.class"] == damaged(found)


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
        smaller.setattr(_zip_files, "MAX_DIRECTORY_BYTES", 60)
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

    monkeypatch.setattr(_containers.os, "walk", walk)
    with pytest.raises(PermissionError), Archives([tmp_path]):
        pass
