"""The example of the README: its jar and its topology are those of its source."""

import subprocess
from pathlib import Path

import pytest

from streams_assignor.upgrade.application.archive import Archives
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java, jvm

pytestmark = [pytest.mark.java, pytest.mark.slow]

FOLDER = Path(__file__).parents[3] / "docs/tutorials/orders"
DESCRIBE = """\
package com.example;
public class Describe {
    public static void main(String[] arguments) {
        System.out.print(Orders.topology().describe());
        System.out.flush();
    }
}
"""


def references(path):
    with Archives([path]) as archives:
        return {
            each.file.name: set(each.file.references) for each in archives.classes if "Describe" not in each.file.name
        }


def test_its_files_are_those_of_its_source(tmp_path):
    try:
        java()
        jars = class_path("org.apache.kafka:kafka-streams:2.8.2")
    except Unavailable as missing:
        pytest.skip(f"no jars: {missing}")
    (tmp_path / "Describe.java").write_text(DESCRIBE)
    classes = tmp_path / "classes"
    compile_java([FOLDER / "Orders.java", tmp_path / "Describe.java"], str(classes), jars)
    done = subprocess.run(
        [*jvm(f"{classes}:{jars}", "256m", "off"), "com.example.Describe"], capture_output=True, text=True, timeout=300
    )

    assert references(FOLDER / "orders.jar") == references(classes)
    assert (FOLDER / "topology.txt").read_text() == done.stdout
