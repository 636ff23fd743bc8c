"""Copies of Kafka under other packages: whose they are, which release, and what is read as Kafka."""

import re

import pytest

from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.code import code_of, release_of_classes
from streams_assignor.upgrade.application.code_report import judge_code
from streams_assignor.upgrade.releases import RELEASES
from tests.upgrade.application.class_bytes import INVOKESTATIC, ClassBytes
from tests.upgrade.application.test_containers import zipped

KAFKA = "org/apache/kafka/"
PLAIN = ClassBytes("X").bytes()
_LEFT_OUT = re.compile(r"internals|admin|requests|message|security|\$")
"""What would only take time."""
BRANCH = ("branch", "([L{}streams/kstream/Predicate;)[L{}streams/kstream/KStream;")


def kafka(folder, packages=("streams/", "common/", "clients/"), release="2.8.2", original=KAFKA):
    """The classes of a release in another folder, as far as they are in some packages; the others stay."""
    return {
        f"{folder}{name.removeprefix(original)}.class"
        if name.startswith(tuple(KAFKA + each for each in packages))
        else f"{name}.class": PLAIN
        for name, found in code_of(RELEASES[release]).items()
        if found.artifact != "java" and not _LEFT_OUT.search(name)
    }


def orders(streams, common=""):
    """An application: it calls ``branch``, which 4.x lacks, and ``Consumed#with``, which has a serde of ``common``."""
    name, descriptor = BRANCH
    written = ClassBytes("com/example/Orders").calls(
        f"{streams}streams/kstream/KStream", name, descriptor.format(streams, streams), 0xB9, 11
    )
    serde = f"L{common or streams}common/serialization/Serde;"
    consumed = f"{streams}streams/kstream/Consumed"
    return {
        "com/example/Orders.class": written.calls(
            consumed, "with", f"({serde}{serde})L{consumed};", INVOKESTATIC
        ).bytes()
    }


@pytest.fixture
def judged(tmp_path):
    def report(files):
        (tmp_path / "orders-1.0.jar").write_bytes(zipped(files))
        return judge_code([tmp_path / "orders-1.0.jar"], RELEASES["2.8.2"], RELEASES["4.3.1"])

    return report


def missing(report):
    return {each.text for each in report.linkage.new_problems}


LOST = {"org.apache.kafka.streams.kstream.KStream#branch(Predicate[])"}


@pytest.mark.parametrize("folder", ["acme/shaded/kafka/", "acme/", "shadow/org/apache/kafka/", "k/"])
def test_a_copy_in_the_jar_of_the_application_is_its_kafka(judged, folder):
    report = judged({**orders(folder), **kafka(folder)})

    assert LOST == missing(report)
    assert [True] == [each.is_read for each in report.relocated]
    assert {"kafka-streams": ("2.8.0 to 2.8.2",)} == dict(report.kafka)
    assert [{"com.example.Orders"}] == [
        {each["class"].replace("/", ".") for each in problem["referred_by"]} for problem in report.as_json()["missing"]
    ]


def test_the_release_of_a_copy_is_that_of_its_resource(judged):
    resource = {"kafka/kafka-streams-version.properties": b"version=2.8.1\n"}

    assert ("2.8.1",) == judged({**orders("a/b/"), **kafka("a/b/"), **resource}).kafka["kafka-streams"]


@pytest.mark.parametrize(
    ("packages", "streams", "common"),
    [
        (("common/",), KAFKA, "acme/common/kafka/"),
        (("streams/",), "acme/streams/kafka/", KAFKA),
        (("common/serialization/",), KAFKA, "x/"),
    ],
)
def test_a_copy_of_some_packages_raises_no_false_alarm(judged, packages, streams, common):
    report = judged({**orders(streams, common), **kafka(common if streams == KAFKA else streams, packages)})

    assert LOST == missing(report)


def test_a_package_that_is_moved_as_a_whole_is_found(judged):
    """Without the last parts of Kafka's name: ``org.apache.kafka.common`` to ``x.y``."""
    moved = {name.replace("org/apache/kafka/common/", "x/y/"): content for name, content in kafka(KAFKA).items()}
    name = "x/y/serialization/Serdes"
    caller = (
        ClassBytes("com/example/A")
        .calls(name, "String", "()Lx/y/serialization/Serde;", INVOKESTATIC)
        .calls(name, "gone")
    )
    report = judged({**moved, "com/example/A.class": caller.bytes()})

    assert ["org.apache.kafka.common.serialization.Serdes#gone()"] == [each.text for each in report.linkage.problems]


def test_a_copy_of_a_library_stays_unless_own_classes_name_it(judged):
    described = {
        "META-INF/MANIFEST.MF": b"Implementation-Title: x\n",
        "kafka/kafka-version.properties": b"version=2.0.0\n",
    }
    library = zipped(
        {**kafka("x/"), **described, "org/l/L.class": ClassBytes("org/l/L").makes("x/streams/gone/G").bytes()}
    )
    own = {"META-INF/MANIFEST.MF": b"Start-Class: com.example.Orders\n"}
    boot = {f"BOOT-INF/classes/{name}": content for name, content in orders(KAFKA).items()}
    stays = judged({**own, **boot, "BOOT-INF/lib/x-1.jar": library})

    assert ([False], LOST, {}) == ([each.is_read for each in stays.relocated], missing(stays), dict(stays.kafka))
    assert "which stays as it is" in str([*_lines(stays)])
    used = {f"BOOT-INF/classes/{name}": content for name, content in orders("x/").items()}
    is_kafka = judged({**own, **used, "BOOT-INF/lib/x-1.jar": library})

    assert ([True], LOST) == ([each.is_read for each in is_kafka.relocated], missing(is_kafka))
    assert "which is read as Kafka" in str([*_lines(is_kafka)])


def _lines(report):
    from streams_assignor.cli.plan.application_code import CodeResult
    from streams_assignor.formats.display import DisplayOptions

    return CodeResult(report).lines(DisplayOptions())


def test_some_classes_with_names_of_kafkas_are_no_copy(tmp_path):
    names = ("streams/Topology", "streams/KeyValue", "common/Node", "common/Cluster")
    (tmp_path / "a.jar").write_bytes(
        zipped({f"com/acme/{name}.class": ClassBytes(f"com/acme/{name}").bytes() for name in names})
    )
    with Archives([tmp_path / "a.jar"]) as found:
        assert ([], 4) == (found.relocated, found.seen)


ADMIN = tuple(name for name in code_of(RELEASES["2.8.2"]) if name.startswith(f"{KAFKA}clients/admin/"))[:15]


@pytest.mark.parametrize("folder", ["com/acme/", "com/acme/org/apache/kafka/"])
@pytest.mark.parametrize("names", [ADMIN, (f"{KAFKA}streams/StreamsBuilder", f"{KAFKA}streams/Topology")])
def test_a_wrapper_with_the_names_of_kafkas_classes_is_no_copy(tmp_path, names, folder):
    """Vert.x has 15 of them, which were not read."""
    moved = {name: ClassBytes(name.replace(KAFKA, folder)) for name in names}
    moved[names[0]].calls(names[-1].replace(KAFKA, folder), "close")

    def read():
        files = {f"{name.replace(KAFKA, folder)}.class": each.bytes() for name, each in moved.items()}
        (tmp_path / "a.jar").write_bytes(zipped(files))
        with Archives([tmp_path / "a.jar"]) as found:
            return len(found.relocated), found.seen

    assert (1, 0) == read()
    moved[names[-1]].calls(names[0], "close")
    assert (0, len(names)) == read()


def test_the_release_of_classes_is_the_one_that_has_them_and_no_others():
    def of_streams(release):
        return [name for name, each in code_of(RELEASES[release]).items() if each.artifact == "kafka-streams"]

    assert "3.9.1 to 3.9.2" == release_of_classes(of_streams("3.9.1"))
    assert "" == release_of_classes([])
