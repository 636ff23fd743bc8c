"""The settings that classes make, beside Kafka Streams itself: each style of ``in_code`` is compiled and started."""

import subprocess
from zipfile import ZipFile

import pytest

from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm
from tests.upgrade.application.test_code_settings import FOLDER, found, values

pytestmark = [pytest.mark.java, pytest.mark.slow]

STYLES = ("Constants", "Ternary", "Concatenated", "Helper", "Enums", "Own", "Lambdas", "Switched", "Loops")
"""Those that 2.8.2 starts: the others stop for reasons of their own (a producer without serializers, a null)."""
DRIVER = """\
package styles;
public class Driver {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            String seen = "made";
            try {
                var main = Class.forName("styles." + name).getDeclaredMethod("main", String[].class);
                main.setAccessible(true);
                main.invoke(null, (Object) new String[0]);
            } catch (java.lang.reflect.InvocationTargetException error) {
                seen = error.getCause().getClass().getSimpleName();
            }
            System.out.println(name + " " + seen);
        }
    }
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("styles")
    try:
        java()
        jars = {release: class_path(f"org.apache.kafka:kafka-streams:{release}") for release in ("2.8.2", "4.3.1")}
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    (folder / "Driver.java").write_text(DRIVER)
    compile_java([FOLDER / "Styles.java", folder / "Driver.java"], str(folder / "classes"), jars["2.8.2"])
    return folder / "classes", jars


def test_the_classes_are_those_of_the_source(compiled):
    with ZipFile(FOLDER / "java17.jar") as file:
        names = {name.removeprefix("./") for name in file.namelist()}

    assert names | {"styles/Driver.class"} == {
        str(path.relative_to(compiled[0])) for path in compiled[0].rglob("*.class")
    }


def test_what_is_read_is_what_kafka_streams_refuses(compiled):
    """4.3.1 knows neither ``exactly_once`` nor ``exactly_once_beta``; 2.8.2 takes both."""
    classes, jars = compiled
    for release, expected in (
        ("2.8.2", dict.fromkeys(STYLES, "made")),
        (
            "4.3.1",
            {
                name: "ConfigException"
                if "exactly_once" in values(found("java17", name)).get("processing.guarantee", ())
                else "made"
                for name in STYLES
            },
        ),
    ):
        command = [*jvm(f"{classes}:{jars[release]}", "512m", "off"), "styles.Driver", *STYLES]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        seen = dict(line.split(" ") for line in done.stdout.splitlines() if line.startswith(STYLES))
        assert expected == seen, done.stderr[-2000:]
