"""Kafka's own tool, without a cluster: recorded command lines, all levels, its side of the guide's differences."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.assignor.cli.features.differences import DIFFERENCES, Difference
from tests.assignor.cli.features.test_command_lines import RECORDED, words_of
from tests.lab.integration.clusters import JavaTools
from tests.lab.integration.feature_calls import CALLS_WITHOUT_CLUSTER
from tests.lab.integration.feature_checks import java_tools, ours

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


def test_every_level_and_release_is_written_as_kafkas_tool_writes_it(tools: JavaTools) -> None:
    differ = [call for call in CALLS_WITHOUT_CLUSTER if tools.features(*call) != ours(*call)]

    assert [] == [" ".join(call) for call in differ]
