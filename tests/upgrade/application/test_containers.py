"""Tars, images of containers, zips and folders with jars; what hides in an archive; whose classes they are."""

import gzip
import io
import json
import tarfile
from contextlib import suppress
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code_report import judge_code
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import HAZARDS, Answer, Application, judge_condition
from streams_assignor.upgrade.hazards.conditions import Uses
from streams_assignor.upgrade.input_values import InvalidInput
from streams_assignor.upgrade.releases import RELEASES
from tests.matrix import with_matrix
from tests.upgrade.application.class_bytes import ClassBytes

KAFKA = "org/apache/kafka/streams/KafkaStreams"


def using(name):
    return ClassBytes(name).makes(KAFKA).bytes()


def zipped(files, compression=ZIP_DEFLATED):
    content = io.BytesIO()
    with ZipFile(content, "w", compression) as jar:
        for name, each in files.items():
            jar.writestr(name, each)
    return content.getvalue()


def tarred(files, form=tarfile.PAX_FORMAT):
    """A tar; a value is the content, or a pair: the type of the member, and the path that a link leads to."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=form) as tar:
        for name, each in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(each, bytes):
                member.size = len(each)
                tar.addfile(member, io.BytesIO(each))
            else:
                member.type, member.linkname = each
                tar.addfile(member)
    return content.getvalue()


def docker(*layers, command=()):
    files = {f"{number}/layer.tar": each for number, each in enumerate(layers)}
    described = [{"Config": "config.json", "Layers": list(files)}]
    config = {"config": {"Entrypoint": list(command)}}
    return {**files, "config.json": json.dumps(config).encode(), "manifest.json": json.dumps(described).encode()}


def layout(*layers, further=()):
    def blob(name, value):
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        files[f"blobs/sha256/{name}"] = content
        return {"digest": f"sha256:{name}"}

    files = {"oci-layout": b"{}"}
    image = {"config": blob("c", {}), "layers": [blob(f"l{number}", each) for number, each in enumerate(layers)]}
    nested = {"manifests": [blob("m", image), *further]}
    files["index.json"] = json.dumps({"manifests": [blob("i", nested)]}).encode()
    return files


APP = zipped({"com/example/Orders.class": using("com/example/Orders")})
LIBRARY = zipped({"META-INF/MANIFEST.MF": "Bundle-SymbolicName: spring\n", "org/s/S.class": using("org/s/S")})
DISTRIBUTION = {"app-1.0/bin/app": b"", "app-1.0/lib/app-1.0.jar": APP, "app-1.0/lib/spring-2.jar": LIBRARY}
OWN = {"com/example/Orders": "your class", "org/s/S": "library spring 2"}


@pytest.fixture
def read(tmp_path):
    def classes(content, name="app-1.0.tar", own=()):
        if isinstance(content, dict):
            for below, each in content.items():
                path = tmp_path / name / below
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(each)
        else:
            (tmp_path / name).write_bytes(content)
        with Archives([tmp_path / name], own=own) as found:
            unread.extend(found.unread)
            return {each.file.name: str(each.library) for each in found.classes}

    unread = classes.unread = []
    return classes


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("made", [lambda tar: tar, gzip.compress])
def test_a_tar_is_read_as_the_folder_that_it_has(read, form, made):
    assert OWN == read(made(tarred(DISTRIBUTION, form)))
    assert OWN == read(zipped(DISTRIBUTION), "app-1.0.zip")
    assert OWN == read({name.partition("/")[2]: each for name, each in DISTRIBUTION.items()}, "app-1.0")
    assert [] == read.unread


def long_name(name):
    return {f"{'deep/' * 60}{name}": APP}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_of_a_tar_are_read(read, form):
    assert {"com/example/Orders"} == {*read(tarred(long_name("app.jar"), form))}


@pytest.mark.parametrize(
    "layers",
    [
        [tarred({"app/app.jar": APP})],
        [gzip.compress(tarred({"app/app.jar": APP}))],
        [tarred({"app/old.jar": LIBRARY}), tarred({"app/.wh.old.jar": b"", "app/app.jar": APP})],
        [tarred({"app/lib/old.jar": LIBRARY}), tarred({"app/.wh.lib": b"", "app/app.jar": APP})],
        [tarred({"app/old.jar": LIBRARY}), tarred({"app/.wh..wh..opq": b"", "app/app.jar": APP})],
        [tarred({"app/old.jar": LIBRARY}), tarred({".wh..wh..opq": b"", "app/app.jar": APP})],
        [tarred({"app/app.jar": LIBRARY}), tarred({"app/app.jar": APP})],
        [tarred({"app/x/old.jar": LIBRARY}), tarred({"app/x": b"", "app/app.jar": APP})],
        [tarred({"x.jar": LIBRARY}), tarred({"x.jar/app.jar": APP})],
        [tarred({"a.jar": APP}), tarred({"b": (tarfile.DIRTYPE, ""), "b/c": (tarfile.LNKTYPE, "b/none")})],
        [tarred({"a": APP, "a.jar": (tarfile.LNKTYPE, "a")})],
    ],
)
@pytest.mark.parametrize("image", [docker, layout])
def test_of_an_image_the_files_are_read_that_a_container_sees(read, image, layers):
    files = image(*layers)
    assert {"com/example/Orders"} == {*read(tarred(files), "image.tar")}
    assert {"com/example/Orders"} == {*read(files, "image")}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (layout(further=[{"digest": "sha256:gone"}]), "with all its parts, got one without blobs/sha256/gone"),
        (layout(b"\x28\xb5\x2f\xfd", further=[]), "got blobs/sha256/l0 in the form zstd"),
        (docker((tarfile.SYMTYPE, "x")), "got 0/layer.tar, which cannot be read"),
        ({"manifest.json": (tarfile.SYMTYPE, "x")}, "expected JSON of at most"),
        (docker(b"no tar"), "layer 0/layer.tar, which is damaged or ends at 0"),
        ({**docker(), "a": b"", "manifest.json": b'[{}, {"Layers": []}, {"Layers": ["a"]}]'}, "without None"),
        ({"manifest.json": b'[{"Layers": [[]], "Config": "c"}]', "c": b"{}"}, r"without \[\]"),
        (
            {"manifest.json": b'[{"Layers": [], "Config": "c"}, {"Layers": ["c"], "Config": "c"}]', "c": b"{"},
            "expected one image of one platform, got .* with 2",
        ),
    ],
)
def test_an_image_that_cannot_be_read_completely_is_refused(read, files, problem):
    with pytest.raises(InvalidInput, match=problem):
        read(tarred(files))


def test_what_is_no_image_of_a_layout_is_left_out(read):
    attested = {"digest": "sha256:x", "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    assert {"com/example/Orders"} == {*read(tarred(layout(tarred({"a.jar": APP}), further=[attested])))}
    page = {"manifest.json": b'{"name": "a page"}', "oci-layout": b"", "a.jar": APP}
    assert {"com/example/Orders"} == {*read(page, "page")}


def test_an_index_that_names_itself_is_refused(read):
    files = {"oci-layout": b"", "index.json": b'{"manifests": [{"digest": "sha256:i"}]}'}
    with pytest.raises(InvalidInput, match="at most 100 images"):
        read(tarred({**files, "blobs/sha256/i": files["index.json"]}))


def moved(content, entry):
    """The zip with another place of an entry in its list."""
    content, at = bytearray(content), -1
    for _ in range(entry + 1):
        at = content.index(b"PK\x01\x02", at + 1)
    content[at + 42 : at + 46] = (33 * (1 - entry)).to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (tarred(DISTRIBUTION) + b"x", "one tar, got .* with bytes behind its end"),
        (tarred(DISTRIBUTION) + tarred(DISTRIBUTION), "with bytes behind its end"),
        (tarred(DISTRIBUTION)[:1024], "with a file of"),
        (tarred({"a": b""})[:512], "which is damaged or ends at 512"),
        (tarred({"a": b"x"})[:1024] + b"x" * 512, "damaged or ends at 1,024"),
        (tarred({"a" * (1 << 17): b""}), "a name of 131,"),
        (gzip.compress(tarred({"a": b""}), mtime=0)[:-4], "a file of gzip, got .*, which is damaged"),
        (APP + APP, "bytes before its first entry that are no program"),
        (APP + b"\n", "bytes behind it"),
        (b"junk" + APP, "4 bytes before its first entry that are no program"),
        (zipped({"a": b""})[:33] + bytes(6) + zipped({"a": b""})[33:], "bytes before its first entry"),
        (moved(zipped({"a": b"", "b": b""}), 1), "other bytes at 33"),
        (moved(zipped({"a": b"", "b": b""}), 0), "33 bytes before its first entry"),
        (b"BZh91AY", "in the form bzip2: unpack it"),
        (b"\xfd7zXZ\x00", "in the form xz"),
        (b"7z\xbc\xaf\x27\x1c", "in the form 7z"),
        (b"text", "expected a jar, a class file or a folder, got"),
        (b"", "expected a jar, a class file or a folder, got"),
        (tarred({"a.jar": APP}).rstrip(b"\0") + bytes(100), "one tar|damaged or ends"),
    ],
)
def test_what_does_not_account_for_the_whole_file_is_refused(read, content, problem):
    with pytest.raises(InvalidInput, match=problem):
        read(content)


@pytest.mark.parametrize(
    "program", [b"#!/bin/sh\nexec java -jar $0\n", b"MZ\x90\x00", b"\x7fELF\x02", b"@echo off\r\n"]
)
def test_a_jar_behind_a_program_is_read(read, program):
    assert {"com/example/Orders"} == {*read(program + APP, "app.jar")}


def size_of(tar, digits):
    """The tar with another size of its first file, and the checksum of that."""
    header = bytearray(tar[:512])
    header[124:136] = digits
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + tar[512:]


@pytest.mark.parametrize(
    "digits",
    [b"\xff" * 12, b"77777777777\0", b"\x80" + b"\xff" * 11, b"no number!!\0", b"\x80" + bytes(9) + b"\x7f\xff"],
)
def test_a_size_beyond_the_tar_is_refused(read, digits):
    with pytest.raises(InvalidInput, match="with a file of"):
        read(size_of(tarred({"a.jar": APP}), digits))


@pytest.mark.parametrize("records", [b"20 size=99999999999\n", b"9 size=-1\n", b"99 path=x\n", b"x", b"1 a=b\n2 c=d"])
def test_hostile_fields_of_a_tar_are_refused_or_ignored(read, records):
    head = tarfile.TarInfo("pax")
    head.type, head.size = b"x", len(records)
    content = head.tobuf() + records.ljust(512, b"\0") + tarred({"a.jar": APP})
    with suppress(InvalidInput):
        assert {"com/example/Orders"} >= {*read(content)}


@pytest.mark.parametrize("name", ["", "/", "."])
def test_an_entry_without_a_name_is_none_that_is_read(read, name):
    """A mutated archive ended with a traceback."""
    jar = zipped({"a/A.class": using("a/A"), "xx": b"text"})
    jar = jar.replace(b"xx", name.encode().ljust(2, b"\0"))

    assert {"a/A"} == {*read(jar, "app.jar")}


def test_of_files_with_one_name_the_last_one_counts(read):
    """As tar extracts, and as Java looks up."""
    assert {"com/example/Orders"} == {*read(tarred({"./a.jar": LIBRARY, "a.jar": APP}))}
    double = io.BytesIO()
    with ZipFile(double, "w") as jar:
        jar.writestr("A.class", using("First"))
        with pytest.warns(UserWarning, match="Duplicate name"):
            jar.writestr("A.class", using("Last"))
    assert {"Last"} == {*read(double.getvalue(), "a.jar")}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_links_are_what_they_lead_to_or_are_named(read, tmp_path, form):
    def symbolic(path):
        return tarfile.SYMTYPE, path

    files = {
        "deep.jar": symbolic(f"{'x/' * 60}app-1.0.jar"),
        "lib/app-1.0.jar": APP,
        "hard.jar": (tarfile.LNKTYPE, "lib/app-1.0.jar"),
        "soft.jar": symbolic("lib/app-1.0.jar"),
        "../../outside.jar": symbolic("/etc/outside-1.jar"),
        "A.class": symbolic("B.class"),
        "pipe.jar": (tarfile.FIFOTYPE, ""),
    }
    assert {"com/example/Orders"} == {*read(tarred(files, form))}
    assert ["A.class", "outside.jar", "pipe.jar"] == sorted(each.rpartition("/")[2] for each in read.unread)
    read.unread.clear()
    folder = tmp_path / "folder"
    (tmp_path / "elsewhere").mkdir()
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/a.jar").write_bytes(APP)
    (folder / "broken.jar").symlink_to("none.jar")
    (folder / "soft.jar").symlink_to("lib/a.jar")
    (folder / "inside").symlink_to("lib")
    (folder / "outside").symlink_to("../elsewhere")
    assert {"com/example/Orders"} == {*read({}, "folder")}
    assert ["folder/broken.jar", "folder/outside/"] == sorted(each.removeprefix(f"{tmp_path}/") for each in read.unread)


def test_parts_that_are_not_read_are_named(read):
    files = {
        "lib/a.7z": b"",
        "lib/b.jar": b"text",
        "lib/c.jar": zipped({"C.class": using("C")}, ZIP_LZMA),
        "lib/d.jar": zipped({"META-INF/MANIFEST.MF": b"x"}, ZIP_LZMA),
        "lib/e.tar.gz": gzip.compress(b"text"),
    }
    assert {} == read(zipped(files), "app.zip")
    assert ["C.class", "META-INF/MANIFEST.MF", "a.7z", "b.jar", "e.tar.gz"] == sorted(
        each if each.startswith("META") else each.rpartition("/")[2] for each in read.unread
    )


def test_what_expands_beyond_a_limit_is_refused(read, monkeypatch):
    monkeypatch.setattr("streams_assignor.upgrade.application.archive.MAX_TOTAL_BYTES", 1 << 20)
    with pytest.raises(InvalidInput, match="to expand to at most 1,048,576 bytes"):
        read(gzip.compress(bytes(1 << 21)))
    monkeypatch.setattr("streams_assignor.upgrade.application.archive.MAX_JAR_BYTES", 10)
    with pytest.raises(InvalidInput, match=r"expected at most 10 bytes, got a\.jar"):
        read(zipped({"a.jar": APP}), "a.zip")
    nested = APP
    for _ in range(5):
        nested = tarred({"a.tar": nested, "a.jar": APP})
    with pytest.raises(InvalidInput, match="at most 3 levels"):
        read(nested)


def pom(group, artifact):
    return {f"META-INF/maven/{group}/{artifact}/pom.properties": f"groupId={group}\nartifactId={artifact}\nversion=1"}


def manifest(text):
    return {"META-INF/MANIFEST.MF": f"{text}\n"}


CORE_CLASS = using("com/example/core/Core")
CORE = {"com/example/core/Core.class": CORE_CLASS}
MAIN = {"com/example/Main.class": ClassBytes("com/example/Main").bytes()}
DESCRIBED = manifest("Implementation-Title: x")


@pytest.mark.parametrize(
    "files",
    [
        {"bin/run": b'exec java -cp "$CP" com.example.Main "$@"', "lib/m.jar": zipped({**MAIN, **CORE})},
        {"bin/run": b"app_mainclass=(com.example.Main)\n", "lib/m.jar": zipped({**MAIN, **DESCRIBED, **CORE})},
        {"run.sh": b"java -Dx=y -jar /opt/core.jar", "lib/core.jar": zipped(CORE)},
        {"classes/com/example/Main.class": MAIN["com/example/Main.class"], "lib/core.jar": zipped(CORE)},
        {"app/main.jar": zipped(MAIN), "lib/core.jar": zipped(CORE)},
        {"lib/app-2.0.jar": zipped(CORE)},
        {
            "app/main.jar": zipped({**MAIN, **pom("com.acme", "main")}),
            "lib/core.jar": zipped({**CORE, **pom("com.acme", "core")}),
        },
        {"orders.war": zipped({"WEB-INF/classes/com/example/core/Core.class": CORE_CLASS})},
        {"orders.ear": zipped({"orders.jar": zipped({**CORE, **DESCRIBED})})},
        {"orders.ear": zipped({"o.war": zipped({"WEB-INF/classes/com/example/core/Core.class": CORE_CLASS})})},
        {
            "boot.jar": zipped(
                {
                    **manifest("Start-Class: com.example.Main"),
                    "org/boot/Launcher.class": ClassBytes("org/boot/Launcher").bytes(),
                    "BOOT-INF/classes/com/example/Main.class": MAIN["com/example/Main.class"],
                    "BOOT-INF/lib/core.jar": zipped(CORE),
                }
            )
        },
    ],
)
def test_the_jars_of_an_application_are_told_by_what_is_beside_them(read, files):
    library = {"lib/spring-2.jar": LIBRARY, "lib/b.jar": zipped({**DESCRIBED, "org/boot/B.class": using("org/boot/B")})}
    found = read({**files, **library}, "app")

    assert "your class" == found["com/example/core/Core"]
    assert ["library spring 2", "library b.jar"] == [found["org/s/S"], found["org/boot/B"]]
    assert found == {**found, **read(tarred({**files, **library}), "app.tar")}


def test_an_image_says_which_jar_it_starts(read):
    layers = [tarred({"opt/core.jar": zipped({**CORE, **DESCRIBED}), "opt/s-1.jar": LIBRARY})]
    found = read(tarred(docker(*layers, command=["java", "-jar", "/opt/core.jar"])), "image.tar")
    assert {"com/example/core/Core": "your class", "org/s/S": "library s 1"} == found


def test_packages_of_a_merged_jar_or_of_many_publishers_say_nothing(read):
    merged = {f"p{number}/q/A.class": using(f"p{number}/q/A") for number in range(5)}
    shared = {"org/apache/orders/Main.class": using("org/apache/orders/Main")}
    library = {"lib/l-1.jar": zipped({**DESCRIBED, "p1/q/B.class": using("p1/q/B")})}
    library["lib/n-1.jar"] = zipped({**DESCRIBED, "org/apache/avro/N.class": using("org/apache/avro/N")})
    found = read({"app/merged.jar": zipped(merged), "app/x.jar": zipped(shared), **library}, "x")

    assert ["library l 1", "library n 1"] == [found["p1/q/B"], found["org/apache/avro/N"]]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("org.s", {"com/example/Orders": "library app 1.0", "org/s/S": "your class"}),
        ("spring*", {"com/example/Orders": "library app 1.0", "org/s/S": "your class"}),
        ("*.Orders", OWN),
        ("app-1.0.jar", OWN),
    ],
)
def test_the_user_can_say_what_is_the_applications_own(read, own, expected):
    assert expected == read(tarred(DISTRIBUTION), own=[own])


def test_a_merged_jar_has_the_version_of_scalas_library(tmp_path):
    (tmp_path / "a.jar").write_bytes(zipped({"library.properties": "version.number=2.12.20\n", "A.class": using("A")}))
    with Archives([tmp_path / "a.jar"]) as found:
        assert {("a.jar", ""), ("scala-library", "2.12.20")} == {(each.name, each.version) for each in found.libraries}


def test_a_pattern_that_fits_nothing_is_refused(read):
    with pytest.raises(
        InvalidInput, match="--own: expected the name of a jar, a package or a class in the files, got x"
    ):
        read(tarred(DISTRIBUTION), own=["com.example.*", "x"])


def facts(path, own=()):
    return judge_code([path], RELEASES["2.8.2"], RELEASES["4.3.1"], own).facts


def test_libraries_alone_say_nothing_about_the_application(tmp_path):
    for name, jar in {"spring-2.jar": LIBRARY, "app.jar": APP}.items():
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).write_bytes(jar)

    report = judge_code([tmp_path / "lib"], RELEASES["2.8.2"], RELEASES["4.3.1"])
    assert not report.facts.has_own_classes
    assert "your own classes: nothing says which are yours (--own)" in report.not_seen
    assert facts(tmp_path / "lib", ["app.jar"]).has_own_classes


def test_files_of_settings_beside_own_classes_are_named(tmp_path):
    """Spring Boot reads those in its jar if nothing else sets a key; with another file the plan denied them."""
    names = ("application.properties", "config/application-prod.yml", "META-INF/microprofile-config.properties")
    app = {f"BOOT-INF/classes/{name}": b"a=b" for name in names}
    app |= {"BOOT-INF/classes/com/example/Orders.class": using("com/example/Orders"), "BOOT-INF/classes/a.yml": b""}
    library = zipped({"META-INF/MANIFEST.MF": "Bundle-SymbolicName: b\n", "b/B.class": using("b/B"), names[0]: b""})
    (tmp_path / "app.jar").write_bytes(zipped({**app, "BOOT-INF/lib/b.jar": library}))

    found = facts(tmp_path / "app.jar")
    assert [f"{tmp_path}/app.jar!/BOOT-INF/classes/{name}" for name in names] == [*found.setting_files]


@pytest.mark.parametrize("kind", ["Bundle-SymbolicName", "Automatic-Module-Name"])
def test_a_module_that_you_name_is_a_library_unless_it_starts_a_class_or_you_say_else(tmp_path, kind):
    for name, manifest in (("app", "A: b"), ("b", f"{kind}: org.b"), ("c", f"{kind}: org.c\nMain-Class: org.c.C")):
        classes = {"META-INF/MANIFEST.MF": f"{manifest}\n", "C.class": using(f"org/{name}/C")}
        (tmp_path / f"{name}.jar").write_bytes(zipped(classes))
    paths = [tmp_path / f"{name}.jar" for name in ("app", "b", "c")]

    def own_names(*own):
        with Archives(paths, own=own) as found:
            return [each.file.name for each in found.classes if each.library.is_own]

    assert ["org/app/C", "org/c/C"] == own_names()
    assert ["org/b/C"] == own_names("b.jar")
    with Archives(paths) as found:
        assert {"org/app/C", "org/b/C", "org/c/C"} == {*found.own_contents()}, "what it sets is still looked for"


def test_a_library_that_makes_a_kafka_streams_of_its_own_is_named(tmp_path):
    for name in ("app-1", "spring-2", "spring-kafka-3"):
        maker = ClassBytes(f"com/{name}/A").calls(KAFKA, "<init>").bytes()
        manifest = {} if name == "app-1" else {"META-INF/MANIFEST.MF": f"Bundle-SymbolicName: {name[:-2]}\n"}
        (tmp_path / f"{name}.jar").write_bytes(zipped({**manifest, "A.class": maker}))
    found = facts(tmp_path, ["app-1.jar"])

    assert (True, ("spring",)) == (found.makes_streams, found.streams_of_libraries)


def test_a_jar_of_which_nothing_says_whose_it_is_may_be_the_applications(tmp_path):
    json_class = "org/apache/kafka/connect/json/JsonConverter"
    user = ClassBytes("com/example/Orders").makes(json_class).bytes()
    (tmp_path / "a.jar").write_bytes(zipped({"com/example/Orders.class": user}))
    (tmp_path / "b.jar").write_bytes(
        zipped({**DESCRIBED, "org/b/B.class": user.replace(b"com/example", b"org/bbbbbbb")})
    )
    found = facts(tmp_path)

    assert {"borrowed-library"} == {name for name, uses in found.by_libraries.items() if "Orders" in "".join(uses)}
    assert "class com.example.Orders refers to connect-json" in found.by_libraries["borrowed-library"][0]
    concern = judge_condition(Uses("borrowed-library", "a library", own_only=True), [Application(code=found)])
    assert Answer.UNKNOWN is concern.answer
    assert "whether it is yours (--own): class com.example.Orders" in concern.decided_by[0]


@pytest.mark.parametrize("files", [{}, {"Orders.java": b"class Orders {}"}, {"empty.jar": zipped({"a/": b""})}])
def test_files_without_classes_are_refused(tmp_path, files):
    for name, each in files.items():
        (tmp_path / name).write_bytes(each)
    with pytest.raises(UpgradeError, match="expected class files of an application"):
        facts(tmp_path)


WEB = {"WEB-INF/classes/com/example/Orders.class": using("com/example/Orders"), "WEB-INF/lib/spring-2.jar": LIBRARY}
FOLDER = {"com/example/Orders.class": using("com/example/Orders"), "com/example/Main.class": using("com/example/Main")}
PACKED = {
    "folder": (FOLDER, dict),
    "jar": (FOLDER, zipped),
    "zip": (DISTRIBUTION, zipped),
    "tar": (DISTRIBUTION, tarred),
    "tar.gz": (DISTRIBUTION, lambda files: gzip.compress(tarred(files), mtime=0)),
    "ear": ({"orders.war": zipped(WEB)}, zipped),
    "war": (WEB, zipped),
    "boot": ({f"BOOT-INF{name[7:]}": each for name, each in WEB.items()}, zipped),
    "docker": ({"app/app.jar": APP, "app/lib/spring-2.jar": LIBRARY}, lambda files: docker(tarred(files))),
    "oci": ({"app/app.jar": APP, "app/lib/spring-2.jar": LIBRARY}, lambda files: layout(tarred(files))),
}
REPLACED = {
    "left out": lambda _: None,
    "empty": lambda _: b"",
    "cut": lambda each: each[: len(each) // 2],
    "damaged": lambda each: each[:-9] + bytes(9),
    "foreign": lambda _: b"FROM scratch\n",
    "another jar": lambda _: LIBRARY,
}
CONDITIONS = [row.when for row in HAZARDS]


@pytest.mark.unmeasured
@pytest.mark.parametrize("how", REPLACED)
@pytest.mark.parametrize("form", with_matrix(PACKED, ("jar", "docker"), "a further container"))
def test_a_part_of_a_container_that_is_replaced_never_makes_a_no(tmp_path, form, how):
    """For every hazard: what was unknown, or concerned the application, stays so, or the container is refused."""
    files, pack = PACKED[form]

    def answers(name, files):
        path = tmp_path / f"{name}.{form}"
        content = pack({below: each for below, each in files.items() if each is not None})
        for below, each in (content if isinstance(content, dict) else {"": content}).items():
            (path / below).parent.mkdir(parents=True, exist_ok=True)
            (path / below).write_bytes(each)
        application = Application(code=facts(path))
        return [condition.concern(application).answer for condition in CONDITIONS]

    before = answers("whole", files)
    for number, (part, each) in enumerate(files.items()):
        with suppress(UpgradeError):
            after = answers(number, {**files, part: REPLACED[how](each)})
            assert [] == [
                row.name
                for row, old, new in zip(HAZARDS, before, after, strict=True)
                if new is Answer.NO and old is not Answer.NO
            ], part
