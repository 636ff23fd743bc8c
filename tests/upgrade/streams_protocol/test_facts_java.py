"""The configurations of streams groups, beside the constants in the jars of brokers of every release that has them."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from streams_assignor.upgrade.group_configurations import GROUP_CONFIGURATIONS, KEEPS_TOPOLOGY
from streams_assignor.upgrade.upgrade_from import line_number
from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm
from tests.lab.releases.facts import keeps_topology
from tests.matrix import with_matrix

PROGRAM = Path(__file__).parents[1] / "java/StreamsGroupConfigs.java"
RELEASES = ("4.1.2", "4.2.0", "4.2.1", "4.2.2", "4.3.1", "4.4.0")
NOT_NUMBERS = {"streams.assignor.name", "streams.assignor.offload.enable", "streams.rack.aware.assignment.tags"}

pytestmark = [pytest.mark.java, pytest.mark.slow]


@cache
def constants(release):
    """By class and value of a name: the field. By class and field: the value."""
    try:
        jars = class_path(f"org.apache.kafka:kafka_2.13:{release}")
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")
    done = subprocess.run([*jvm(jars, "128m", "off"), str(PROGRAM)], capture_output=True, text=True, timeout=240)
    assert 0 == done.returncode, done.stdout + done.stderr
    rows = [line.split(" ", 2) for line in done.stdout.splitlines()]
    return {(kind, field): value for kind, field, value in rows}


def default(release, name):
    """The default of a configuration of brokers."""
    found = constants(release)
    (field,) = (field for (kind, field), value in found.items() if kind == "GroupCoordinatorConfig" and value == name)
    return int(found["GroupCoordinatorConfig", field.replace("_CONFIG", "_DEFAULT")])


@pytest.mark.parametrize("release", with_matrix(RELEASES, ["4.3.1"], "the same constants of another release"))
def test_the_rows_are_those_of_the_jars(release):
    rows = [row for row in GROUP_CONFIGURATIONS if row.since <= line_number(release)]
    names = {value for (kind, field), value in constants(release).items() if field.endswith("_CONFIG")}
    of_groups = {name for name in names if name.startswith("streams.")}

    assert of_groups - NOT_NUMBERS == {row.name for row in rows}
    for row in rows:
        assert row.default == default(release, row.broker_name)
        assert row.minimum_name is None or row.minimum == default(release, row.minimum_name)
        assert row.maximum_name is None or row.maximum == default(release, row.maximum_name)


def test_the_rows_of_kept_topologies_are_those_of_the_classes():
    """A release whose class lacks the text is the first one for which plans of streams groups may say otherwise."""
    try:
        assert KEEPS_TOPOLOGY == {release: keeps_topology(release) for release in KEEPS_TOPOLOGY}
    except Unavailable as missing:
        pytest.skip(f"no coordinator: {missing}")
