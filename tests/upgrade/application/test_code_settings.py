"""Settings that classes make: of Java, Kotlin and Scala as their compilers write them, from ``in_code``."""

from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from upgrade.application.class_file import read_header
from upgrade.application.code_settings import settings_in_code
from upgrade.hazards import UNKNOWN_VALUE

FOLDER = Path(__file__).parent / "in_code"
EXACTLY_ONCE = ("exactly_once",)
JAVA = ("java8", "java17")
SCALA = ("scala2.12", "scala2.13", "scala3")
SHARED = {
    **{key: {"Styles", "Keys"} for key in JAVA},
    "kotlin": {"StylesKt"},
    **{key: {"Common"} for key in SCALA},
    "Dsl": {"Settings"},
    "Classes": {"Config"},
    "CaseClass": {"Config"},
    "Traits": {"Settings"},
}
"""The classes that others use: of a file, and of a style."""
COMMON = {"application.id", "bootstrap.servers"}


@cache
def classes(jar):
    with ZipFile(FOLDER / f"{jar}.jar") as file:
        contents = [file.read(name) for name in file.namelist()]
    return {read_header(content).name: content for content in contents}


def found(jar, name):
    """Read one style, with the classes that it uses."""
    wanted = {name, *SHARED[jar], *SHARED.get(name, ())}
    return settings_in_code(
        {each: content for each, content in classes(jar).items() if each.split("/")[1].split("$")[0] in wanted}
    )


def values(code):
    return {
        key: tuple(setting.value for setting in settings) for key, settings in code.values.items() if key not in COMMON
    }


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


@pytest.mark.parametrize(
    ("jar", "name", "place"),
    [
        ("java8", "Constants", "your class styles.Constants, main (Styles.java line 42)"),
        ("java17", "Lambdas", "your class styles.Lambdas, main (Styles.java line 175)"),
        ("java17", "Helper", "your class styles.Helper, main (Styles.java line 124)"),
        ("java8", "MapOf", "your class styles.MapOf, static initializer (Styles.java line 87)"),
        ("kotlin", "Applied", "your class styles.Applied, settings (Styles.kt line 17)"),
        ("kotlin", "Dsl", "your class styles.Dsl, main (Styles.kt line 72)"),
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
            "your class styles.Environment, main (Styles.java line 202) takes settings from "
            "java.lang.String#toLowerCase",
        ),
        (
            "Parameter",
            "your class styles.Parameter, streams (Styles.java line 242) takes settings from a parameter of "
            "styles.Parameter, streams",
        ),
    ],
)
def test_settings_from_elsewhere_leave_every_key_open(name, why):
    assert (why,) == found("java17", name).not_followed


@pytest.mark.parametrize(("name", "file", "line"), [("Loaded", "streams.properties", 220), ("Argument", "", 235)])
def test_a_file_that_is_loaded_has_its_name_if_a_constant_is_one(name, file, line):
    code = found("java17", name)

    (loaded,) = code.loads
    assert (file, True) == (loaded.name, f"line {line}" in loaded.where)
    assert () == code.not_followed


def test_a_setting_that_other_clients_have_may_be_for_them():
    code = found("java17", "Whether")

    assert {"acks": (UNKNOWN_VALUE,), "retries": ("3",)} == values(code)
    assert not any(setting.reaches_kafka for key in ("acks", "retries") for setting in code.values[key])


def test_what_scala_3_keeps_in_a_lazy_value_is_not_followed():
    code = found("scala3", "Traits")

    assert {"processing.guarantee": EXACTLY_ONCE} == values(code)
    assert code.not_followed
