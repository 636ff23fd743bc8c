"""Settings that classes make: of Java, Kotlin and Scala as their compilers write them, from ``in_code``."""

from functools import cache
from pathlib import Path
from struct import pack
from zipfile import ZipFile

import pytest

from streams_assignor.upgrade.application import own_methods
from streams_assignor.upgrade.application.bytecode import Method
from streams_assignor.upgrade.application.class_file import STATIC, read_header
from streams_assignor.upgrade.application.code_settings import settings_in_code
from streams_assignor.upgrade.application.flow_values import LOST, Const, joined
from streams_assignor.upgrade.application.value_flow import MethodRun, NotFollowed, WorkLimit
from streams_assignor.upgrade.hazards import UNKNOWN_VALUE, CodeSettings
from tests.each import each_measured
from tests.upgrade.application.class_bytes import INVOKESTATIC, ClassBytes

FOLDER = Path(__file__).parent / "in_code"
EXACTLY_ONCE = ("exactly_once",)
JAVA = ("java8", "java17")
SCALA = ("scala2.12", "scala2.13", "scala3")
SHARED = {
    **{key: {"Styles", "Keys"} for key in JAVA},
    "kotlin": {"StylesKt"},
    "frameworks": {"Frameworks"},
    **{key: {"Common"} for key in SCALA},
    "Dsl": {"Settings"},
    "References": {"Own"},
    "hidden": {"Hidden"},
    "evasions": {"Base"},
    "evasions-kotlin": {"Base", "Cfg", "EvasionsKt", "Guarantee", "Key", "Svc"},
    "evasions-scala": {"Base", "Cfg", "Enu", "Tuning"},
    **{key: {"Base"} for key in ("newer-kotlin", "newer-scala")},
    "Classes": {"Config"},
    "CaseClass": {"Config"},
    "Traits": {"Settings"},
}
"""The classes that others use: of a file, and of a style."""


@cache
def classes(jar):
    with ZipFile(FOLDER / f"{jar}.jar") as file:
        contents = [file.read(name) for name in file.namelist() if name.endswith(".class")]
    return {read_header(content).name: content for content in contents}


EVASIONS = [
    (jar, name)
    for jar in ("evasions", "evasions-kotlin", "evasions-scala")
    for name in sorted({name.split("/")[1].split("$")[0] for name in classes(jar)} - SHARED[jar])
]
NEWER = [
    (jar, name)
    for jar in ("newer-kotlin", "newer-scala")
    for name in sorted({name.split("/")[1].split("$")[0] for name in classes(jar)} - {"Base", "indented"})
]
LOADING = ("ByIoresource",)
WITH_BRANCHES = (
    "ByCtorfield",
    "ByCtorref",
    "ByFieldinject",
    "ByJacksonctor",
    "ByRegex",
    "ByServicesettings",
    "BySpringdefaults",
    "ByStringreader",
    "BySupplierown",
)
"""The evasions that take branches which no other test takes."""
COMMON = {"application.id", "bootstrap.servers"}


def found(jar, name):
    """Read one style, with the classes that it uses."""
    wanted = {name, *SHARED[jar], *SHARED.get(name, ())}
    return settings_in_code(
        {each: content for each, content in classes(jar).items() if each.split("/")[1].split("$")[0] in wanted}
    )


def values(code):
    """Return what is put into settings; a text alone, as in the constants of a shared class, is not."""
    put = {key: [each for each in settings if ", " in each.where] for key, settings in code.values.items()}
    return {
        key: tuple(setting.value for setting in settings)
        for key, settings in put.items()
        if settings and key not in COMMON
    }


@pytest.mark.unmeasured
@pytest.mark.parametrize("jar", JAVA)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "Constants",
            {
                "commit.interval.ms": ("1000",),
                "default.key.serde": ("org.apache.kafka.common.serialization.Serdes$StringSerde",),
                "default.value.serde": ("org.apache.kafka.common.serialization.Serdes$StringSerde",),
                "num.stream.threads": ("2",),
                "processing.guarantee": EXACTLY_ONCE,
                "producer.acks": ("all",),
                "producer.enable.idempotence": ("true",),
                "session.timeout.ms": ("30000",),
            },
        ),
        ("Ternary", {"num.standby.replicas": ("1",), "processing.guarantee": ("at_least_once", "exactly_once")}),
        (
            "Concatenated",
            {
                "main.consumer.session.timeout.ms": ("10000",),
                "num.stream.threads": ("3",),
                "processing.guarantee": EXACTLY_ONCE,
                "producer.linger.ms": ("5",),
            },
        ),
        ("MapOf", {"num.stream.threads": ("4",), "processing.guarantee": EXACTLY_ONCE}),
        ("Helper", {"processing.guarantee": EXACTLY_ONCE}),
        ("Enums", {"processing.guarantee": EXACTLY_ONCE}),
        ("Own", {"processing.guarantee": EXACTLY_ONCE}),
        (
            "Lambdas",
            {"num.stream.threads": ("2",), "processing.guarantee": EXACTLY_ONCE, "retries": (UNKNOWN_VALUE,)},
        ),
        ("Loops", {"num.standby.replicas": (UNKNOWN_VALUE,), "processing.guarantee": (UNKNOWN_VALUE,)}),
        ("UnknownValue", {"processing.guarantee": (UNKNOWN_VALUE,)}),
        ("OtherClient", {}),
        ("Switched", {"processing.guarantee": ("at_least_once", "exactly_once", "exactly_once_beta")}),
    ],
)
def test_settings_of_java_are_followed_to_kafka_streams(jar, name, expected):
    code = found(jar, name)

    assert expected == values(code)
    assert all(setting.reaches_kafka for key in expected for setting in code.values[key])
    assert () == code.not_followed
    assert () == code.loads


@pytest.mark.parametrize(
    ("jar", "name", "expected"),
    [
        (
            "kotlin",
            "Applied",
            {"num.stream.threads": ("2",), "processing.guarantee": EXACTLY_ONCE, "producer.acks": ("all",)},
        ),
        ("kotlin", "Maps", {"num.standby.replicas": ("1",), "processing.guarantee": EXACTLY_ONCE}),
        ("kotlin", "Built", {"processing.guarantee": ("at_least_once", "exactly_once")}),
        ("kotlin", "Classes", {"num.stream.threads": ("0", "3"), "processing.guarantee": EXACTLY_ONCE}),
        ("kotlin", "Dsl", {"processing.guarantee": EXACTLY_ONCE}),
        *((jar, "AsJava", {"processing.guarantee": EXACTLY_ONCE, "producer.acks": ("all",)}) for jar in SCALA),
        *((jar, "Foreach", {"processing.guarantee": EXACTLY_ONCE}) for jar in SCALA),
        *(
            (jar, "CaseClass", {"num.stream.threads": ("2",), "processing.guarantee": EXACTLY_ONCE})
            for jar in SCALA[:2]
        ),
        *((jar, "Traits", {"processing.guarantee": EXACTLY_ONCE}) for jar in SCALA[:2]),
    ],
)
def test_settings_of_kotlin_and_scala_are_followed_to_kafka_streams(jar, name, expected):
    code = found(jar, name)

    assert expected == values(code)
    assert all(setting.reaches_kafka for key in expected for setting in code.values[key])
    assert () == code.not_followed


@pytest.mark.unmeasured
@pytest.mark.parametrize(("jar", "name"), NEWER)
def test_settings_are_followed_as_kotlin_2_and_scala_3_compile_them(jar, name):
    expected = UNKNOWN_VALUE if name == "Options" else "exactly_once"  # what Option#foreach passes is not followed

    assert expected in values(found(jar, name))["processing.guarantee"]


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("jar", "name", "place"),
    [
        ("java8", "Constants", "your class styles.Constants, main (Styles.java line 45)"),
        ("java17", "Lambdas", "your class styles.Lambdas, main (Styles.java line 178)"),
        ("java17", "Helper", "your class styles.Helper, main (Styles.java line 127)"),
        ("java8", "MapOf", "your class styles.MapOf, static initializer (Styles.java line 90)"),
        ("kotlin", "Applied", "your class styles.Applied, settings (Styles.kt line 19)"),
        ("kotlin", "Dsl", "your class styles.Dsl, main (Styles.kt line 73)"),
        ("newer-kotlin", "Lazily", "your class newer.Lazily, props (Newer.kt line 21)"),
        ("newer-kotlin", "Sam", "your class newer.Sam, tune (Newer.kt line 12)"),
        ("newer-scala", "Lazily", "your class newer.Lazily, map (Newer.scala line 17)"),
        ("newer-scala", "Mutable", "your class newer.Mutable, main (Newer.scala line 58)"),
        ("scala2.13", "Foreach", "your class styles.Foreach, main (Styles.scala line 27)"),
        ("scala2.12", "AsJava", "your class styles.AsJava, constructor (Styles.scala line 15)"),
    ],
)
def test_the_place_of_a_setting_has_the_names_of_the_source(jar, name, place):
    assert place in [setting.where for setting in found(jar, name).values["processing.guarantee"]]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "Environment",
            "your class styles.Environment, main (Styles.java line 205) takes settings from java.lang.String#replace",
        ),
        (
            "Parameter",
            "your class styles.Parameter, streams (Styles.java line 245) takes settings from a parameter of "
            "styles.Parameter, streams",
        ),
    ],
)
def test_settings_from_elsewhere_leave_every_key_open(name, why):
    assert (why,) == found("java17", name).not_followed


@pytest.mark.parametrize(("name", "file", "line"), [("Loaded", "streams.properties", 223), ("Argument", "", 238)])
def test_a_file_that_is_loaded_has_its_name_if_a_constant_is_one(name, file, line):
    code = found("java17", name)

    (loaded,) = code.loads
    assert (file, True) == (loaded.name, f"line {line}" in loaded.where)
    assert () == code.not_followed


def test_a_setting_that_other_clients_have_may_be_for_them():
    code = found("java17", "Whether")

    assert {"acks": (UNKNOWN_VALUE,), "retries": ("3",)} == values(code)
    assert not any(setting.reaches_kafka for key in ("acks", "retries") for setting in code.values[key])


def test_values_reach_settings_by_fields_functions_and_parameters():
    code = found("java17", "More")

    assert {
        "client.id": (UNKNOWN_VALUE,),
        "client.tag.zone": ("a",),
        "consumer.fetch.min.bytes": ("1",),
        "consumer.max.poll.records": (UNKNOWN_VALUE,),
        "enable.metrics.push": ("true",),
        "max.warmup.replicas": ("1",),
        "num.standby.replicas": (UNKNOWN_VALUE,),
        "num.stream.threads": ("2",),
        "processing.guarantee": EXACTLY_ONCE,
        "producer.acks": ("all",),
        "producer.linger.ms": ("5",),
        "state.dir": (UNKNOWN_VALUE,),
    } == values(code)
    assert ("your class styles.More, of (Styles.java line 335) makes settings in a way that is not followed",) == (
        code.not_followed
    )


def test_references_to_methods_and_constructors_are_followed_if_they_are_own():
    code = found("java17", "References")

    assert ("2",) == values(code)["num.stream.threads"]
    assert {"exactly_once", UNKNOWN_VALUE} == {*values(code)["processing.guarantee"]}
    assert code.not_followed  # what System#lineSeparator returns


def test_a_setting_that_some_runs_do_not_make_is_conditional():
    code = found("java17", "Ternary")

    assert [True] == [setting.is_conditional for setting in code.values["num.standby.replicas"]]
    assert [False, False] == [setting.is_conditional for setting in code.values["processing.guarantee"]]


@pytest.mark.parametrize(
    ("name", "expected", "why"),
    [
        ("Bean", {"num.stream.threads": (UNKNOWN_VALUE,), "processing.guarantee": EXACTLY_ONCE}, ()),
        ("Boot", {"num.standby.replicas": ("1",), "processing.guarantee": ("exactly_once_beta",)}, ()),
        (
            "Injected",
            {},
            (
                "your class styles.Injected, configuration (Frameworks.java line 56) takes settings from "
                "a parameter of styles.Injected, setSettings",
            ),
        ),
        (
            "Merged",
            {},
            (
                "your class styles.Merged, streams (Frameworks.java line 64) passes settings to "
                "org.springframework.util.CollectionUtils#mergePropertiesIntoMap",
            ),
        ),
    ],
)
def test_settings_of_frameworks(name, expected, why):
    code = found("frameworks", name)

    assert (expected, why) == (values(code), code.not_followed)


def test_files_that_a_framework_loads_have_names():
    assert ["first.properties", "second.properties"] == [file.name for file in found("frameworks", "Merged").loads]


def test_a_damaged_class_makes_no_settings():
    content = classes("java17")["styles/Constants"]

    short = ClassBytes("a/A").attribute("Some", b"abc").bytes()[:-1]

    code = settings_in_code({"a": b"", "b": content[:-40], "c": content[:10] + b"\xff", "d": short})
    assert CodeSettings(not_followed=tuple(f"your class {name} cannot be read" for name in "abcd")) == code


def test_a_native_method_without_arguments_has_no_receiver():
    """Of RocksDB's classes in a public application: the plan ended with a traceback."""
    native = 0x0100
    above = (
        ClassBytes("a/Base").method("make", "()J", flags=STATIC | native).calls("a/Base", "make", "()J", INVOKESTATIC)
    )
    below = ClassBytes("a/Below", superclass="a/Base").method("make", "()J", b"\x09\xad", STATIC)

    assert CodeSettings() == settings_in_code({"a/Base": above.bytes(), "a/Below": below.bytes()})


@pytest.mark.parametrize("name", ["Helper", "Ternary", "More", "Enums"])
@pytest.mark.parametrize(
    ("limit", "value"),
    each_measured(
        [
            *(("MAX_WORK", work) for work in range(0, 1000, 100)),
            *(("MAX_NAMES", names) for names in range(0, 1000, 100)),
            *(("MAX_DEPTH", depth) for depth in range(4)),
            ("MAX_BYTES", 0),
            ("MAX_LEAVES", 1),
            ("MAX_CALLERS", 0),
        ],
        lambda limit, value: (limit, value) in {("MAX_WORK", 100), ("MAX_NAMES", 0), ("MAX_DEPTH", 0)},
    ),
)
def test_beyond_a_limit_nothing_is_denied(monkeypatch, limit, value, name):
    expected = values(found("java17", name))
    monkeypatch.setattr(own_methods, limit, value)
    code = found("java17", name)

    assert code.not_followed or all(
        {*values(code).get(key, ())} in ({*texts}, {UNKNOWN_VALUE}) for key, texts in expected.items()
    )


def test_beyond_a_limit_settings_that_are_certain_are_kept(monkeypatch):
    whole = found("java17", "Constants")
    monkeypatch.setattr(own_methods, "MAX_NAMES", 1)
    code = found("java17", "Constants")

    assert "your classes need too much work to be followed" in code.not_followed
    assert whole.values.keys() == code.values.keys()
    assert EXACTLY_ONCE == values(code)["processing.guarantee"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Absent", 90),
        ("AllOfThem", 55),
        ("ByKey", 46),
        ("First", 99),
        ("FromFile", 64),
        ("Many", 150),
        ("OfArray", 110),
        ("OfReference", 120),
        ("OfThread", 131),
        ("OldValue", 37),
    ],
)
def test_an_unknown_key_that_reaches_settings_under_another_name_leaves_a_trace(name, line):
    (trace,) = found("hidden", name).not_followed

    assert f"your class styles.{name}, main (Hidden.java line {line}) changes a map that is not followed" == trace


@pytest.mark.parametrize(("jar", "name"), each_measured(EVASIONS, lambda _, name: name in WITH_BRANCHES))
def test_settings_that_are_hard_to_see_are_never_denied(jar, name):
    """The class sets ``processing.guarantee``, or a key that is not known: an injected map, reflection, a lambda ..."""
    code = found(jar, name)
    guarantees = {setting.value for setting in code.values.get("processing.guarantee", ())}

    assert code.not_followed or guarantees - {"at_least_once"} or (code.loads and name in LOADING)


@pytest.mark.parametrize("name", ["Chosen", "Removed"])
def test_settings_that_a_map_gives_back_are_followed(name):
    assert any(trace.endswith("takes settings from the environment") for trace in found("hidden", name).not_followed)


@pytest.mark.parametrize("name", ["Helper", "Loops", "MapOf", "OtherClient"])
def test_settings_that_reach_a_copy_of_kafka_streams_are_those_of_kafka_streams(name):
    kafka, copy = "org/apache/kafka/", "acm/shaded/kafka/"
    contents = {
        each: content.replace(kafka.encode(), copy.encode())
        for each, content in classes("java17").items()
        if each.split("/")[1].split("$")[0] in {name, *SHARED["java17"]}
    }

    assert found("java17", name) == settings_in_code(contents, lambda owner: owner.replace(copy, kafka))
    assert found("java17", name) != settings_in_code(contents)


def test_unknown_keys_of_other_maps_leave_no_trace():
    assert () == found("hidden", "Rest").not_followed


def test_a_class_that_is_changed_anywhere_is_read_or_refused():
    content = classes("java17")["styles/Lambdas"]
    for place in range(0, len(content), 11):
        changed = content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :]
        assert settings_in_code({"styles/Lambdas": changed}).loads == ()


def method(code, *, descriptor="()V", handlers=()):
    return Method("a/A", "run", descriptor, 0x8, bytes(code), handlers)


def run(code, **options):
    return MethodRun(method(code, **options), None, lambda _: False, None, WorkLimit(1_000)).run()


@pytest.mark.parametrize(
    "code",
    [
        [0xA8, 0, 3],  # jsr
        [0x57, 0xB1],  # pop of nothing
        [0x03, 0x99, 0, 4, 0x03, 0xB1],  # two heights of the stack in one place
        [0x03, 0xAA, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0],  # a table that is longer than the method
        [0x00] * 9,  # more than there is time for
    ],
)
def test_a_method_that_cannot_be_followed_is_refused(code):
    with pytest.raises(NotFollowed):
        MethodRun(method(code), None, lambda _: False, None, WorkLimit(3)).run()


def test_long_jumps_and_wide_variables_are_followed():
    code = [0x04, 0xC4, 0x36, 1, 0, 0xC8, 0, 0, 0, 5, 0xC4, 0x84, 1, 0, 0, 1, 0xC4, 0x15, 1, 0, 0xAC]
    (returned,) = run(code, descriptor="()I")

    assert LOST == returned.value  # it was counted up
    (returned,) = run([*code[:10], 0xC4, 0x15, 1, 0, 0xAC], descriptor="()I")
    assert frozenset({Const("1")}) == returned.value


def test_a_method_without_its_end_does_nothing():
    assert [] == run([0x00])


def test_many_possible_texts_are_not_told_apart():
    eight = frozenset(Const(str(number)) for number in range(8))

    assert LOST == joined([eight, eight])
    assert eight == joined([eight])


def test_what_scala_3_keeps_in_a_lazy_value_is_not_followed():
    code = found("scala3", "Traits")

    assert {"processing.guarantee": EXACTLY_ONCE} == values(code)
    assert code.not_followed


def test_names_in_a_circle_have_what_all_of_them_have():
    """``x`` is a key or ``y``, and ``y`` is ``x``: each of them is the key."""
    written = ClassBytes("A")
    text, fields = "Ljava/lang/String;", {}
    for name in ("x", "y"):
        fields[name] = pack(">H", written.member("A", name, text, tag=9))
    key = b"\x13" + pack(">H", written.constant(8, pack(">H", written.text("acks"))))
    get, put = b"\xb2", b"\xb3"
    stores = key + put + fields["x"] + get + fields["y"] + put + fields["x"] + get + fields["x"] + put + fields["y"]
    written.method("stores", code=stores, flags=STATIC)
    properties = "java/util/Properties"
    setter = pack(">H", written.member(properties, "setProperty", f"({text}{text})V"))
    new = b"\xbb" + pack(">H", written.type(properties))
    for name in ("x", "y"):
        written.method(f"put_{name}", code=new + get + fields[name] + key + b"\xb6" + setter, flags=STATIC)

    assert 2 == len(settings_in_code({"A": written.bytes()}).values["acks"])
