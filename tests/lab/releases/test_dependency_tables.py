"""POMs, class file versions and the headers of native code, from bytes made here."""

import json
import struct
from zipfile import ZipFile

import pytest

from streams_assignor.upgrade.application.dependencies import Dependency
from tests.lab.releases.dependency_tables import (
    ReleaseArtifact,
    dependencies_text,
    java_of,
    natives_in,
    platforms,
    read_pom,
)

POM = '<project xmlns="http://maven.apache.org/POM/4.0.0">{}</project>'
LIBRARY = "<dependency><groupId>g</groupId><artifactId>a</artifactId>{}</dependency>"
LISTED = "<dependencies>{}</dependencies>"


def elf(machine, bits, *, little=True):
    order = "<" if little else ">"
    return b"\x7fELF" + bytes([bits // 32, 1 if little else 2]) + bytes(10) + struct.pack(f"{order}HH", 3, machine)


@pytest.mark.parametrize(
    ("head", "path", "expected"),
    [
        (elf(62, 64), "liblinux64.so", ["linux-x86_64"]),
        (elf(62, 64), "liblinux64-musl.so", ["linux-x86_64-musl"]),
        (elf(21, 64), "linux/ppc64le/a.so", ["linux-ppc64le"]),
        (elf(21, 64, little=False), "linux/ppc64/a.so", ["linux-ppc64"]),
        (elf(40, 32), "Linux/android-arm/a.so", ["android-arm"]),
        (elf(3, 32), "freebsd/i386/a.so", ["freebsd-x86"]),
        (b"MZ".ljust(0x3C, b"\0") + struct.pack("<I4sH", 0x40, b"PE", 0xAA64), "a.dll", ["windows-aarch64"]),
        (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C), "osx.jnilib", ["macos-aarch64"]),
        (
            b"\xca\xfe\xba\xbe" + struct.pack(">I5I5I", 2, 7, 0, 0, 0, 0, 0x01000007, 0, 0, 0, 0),
            "osx.jnilib",
            ["macos-x86", "macos-x86_64"],
        ),
        (b"\x01\xf7", "AIX/ppc64/a.a", ["aix-ppc64"]),
    ],
)  # fmt: skip
def test_the_platform_of_native_code_is_in_its_header(head, path, expected):
    assert expected == list(platforms(head, path))


def test_native_code_of_another_form_is_an_error():
    with pytest.raises(ValueError, match=r"expected native code, got .* in a\.so"):
        list(platforms(b"text", "a.so"))


def test_a_pom_lists_what_is_not_for_tests():
    rows = "".join(
        LIBRARY.format(f"<version>{number}</version>{more}")
        for number, more in enumerate(
            ("", "<scope>test</scope>", "<scope>runtime</scope><optional>true</optional>", "<scope>provided</scope>")
        )
    )
    assert [
        Dependency("g", "a", "0", "compile"),
        Dependency("g", "a", "2", "runtime", is_optional=True),
        Dependency("g", "a", "3", "provided"),
    ] == list(read_pom(POM.format(LISTED.format(rows))))


@pytest.mark.parametrize(
    "content",
    [
        "<parent/>",
        "<properties/>",
        "<dependencyManagement/>",
        LISTED.format(LIBRARY.format("")),
        LISTED.format(LIBRARY.format("<version>${version}</version>")),
    ],
)
def test_a_pom_that_is_not_flat_is_an_error(content):
    with pytest.raises(ValueError, match="expected a flat POM"):
        list(read_pom(POM.format(content)))


def test_the_java_level_is_that_of_the_newest_class_that_every_java_reads(tmp_path):
    path = tmp_path / "a.jar"
    versions = {"A": 52, "B": 51, "META-INF/versions/11/A": 55, "module-info": 53}
    with ZipFile(path, "w") as jar:
        for name, version in versions.items():
            jar.writestr(f"{name}.class", struct.pack(">IHH", 0xCAFEBABE, 0, version))
        jar.writestr("a.so", elf(62, 64))
    with ZipFile(tmp_path / "empty.jar", "w") as jar:
        jar.writestr("README", "")

    assert (8, ["linux-x86_64"]) == (java_of(path), natives_in(path))
    assert (0, []) == (java_of(tmp_path / "empty.jar"), natives_in(tmp_path / "empty.jar"))


def test_rows_are_stored_once_and_kafkas_own_version_is_left_out():
    rows = [
        ReleaseArtifact(
            name, "kafka-streams", 8, (Dependency("org.apache.kafka", "kafka-clients", name, "compile"), library)
        )
        for name, library in (
            ("1.0", Dependency("g", "a", "1", "runtime")),
            ("1.1", Dependency("g", "a", "1", "runtime", is_optional=True)),
        )
    ]
    stored = json.loads(dependencies_text(rows, {}, ["1.0", "1.1"]))

    assert {"kafka-streams": {"0-1": 8}} == stored["java"]
    assert {
        "org.apache.kafka:kafka-clients": {"0-1": ["", "compile"]},
        "g:a": {"0": ["1", "runtime"], "1": ["1", "runtime", 1]},
    } == stored["dependencies"]["kafka-streams"]
