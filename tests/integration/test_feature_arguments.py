"""Kafka's own tool, without a cluster: the recorded command lines, and its side of the differences in the guide."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.clusters import JavaTools
from tests.integration.feature_checks import java_tools
from tests.upgrade.features.cli.differences import DIFFERENCES, Difference
from tests.upgrade.features.cli.test_command_lines import RECORDED, words_of

pytestmark = pytest.mark.java


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    yield from java_tools()


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: shlex.join(row["arguments"]))
def test_kafkas_tool_writes_what_is_recorded(tools: JavaTools, row: dict[str, Any]) -> None:
    assert (row["status"], row["out"], row["err"]) == tools.features(*row["arguments"])


@pytest.mark.parametrize("each", DIFFERENCES, ids=lambda each: each.arguments)
def test_kafkas_side_of_a_difference(tools: JavaTools, each: Difference, tmp_path: Path) -> None:
    found = tools.features(*words_of(each.arguments, tmp_path))

    assert each.kafkas.status == found.status
    for expected, written in ((each.kafkas.out, found.out), (each.kafkas.err, found.err)):
        assert written.startswith(expected)
        assert bool(expected) == bool(written)
