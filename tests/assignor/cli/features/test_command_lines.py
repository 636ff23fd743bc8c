"""Command lines as Kafka's tool reads them; ``tests/lab/integration/test_feature_arguments.py`` asks that tool.

``command_lines.json`` has what it wrote, to the byte. No command line in it reaches a cluster.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from streams_assignor.cli.features.command import features
from tests.assignor.cli.features.differences import DIFFERENCES, GUIDE, NOT_COMPARED
from tests.lab.integration.feature_checks import ours

RECORDED = json.loads(Path(__file__).with_name("command_lines.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: shlex.join(row["arguments"]))
def test_m8_a_command_line_is_read_as_kafkas_tool_reads_it(row):
    assert (row["status"], row["out"], row["err"]) == ours(*row["arguments"])


@pytest.mark.parametrize("each", DIFFERENCES, ids=lambda each: each.arguments)
def test_m8_our_side_of_a_difference(each, tmp_path):
    found = ours(*words_of(each.arguments, tmp_path))

    assert each.ours.status == found.status
    for expected, written in ((each.ours.out, found.out), (each.ours.err, found.err)):
        assert written.startswith(expected)
        assert bool(expected) == bool(written)


def words_of(arguments, folder):
    file = folder / "client.properties"
    file.write_text("default.api.timeout.ms=1000\nrequest.timeout.ms=500\n")
    return [str(file) if word == "FILE" else word for word in shlex.split(arguments)]


def test_the_rows_of_the_guide_are_the_differences():
    table = GUIDE.read_text(encoding="utf-8").partition("## Differences from Kafka's tool")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]

    assert sorted({each.row for each in DIFFERENCES} | NOT_COMPARED.keys()) == sorted(rows)


@pytest.mark.parametrize(
    "arguments", ["--describe", "--upgrade-all", "--downgrade-all", "update --upgrade a:2 --delete d"]
)
def test_t1_t4_the_flags_and_the_mixed_update_of_kip_584_are_not_in_kafka_4(arguments):
    """KIP-778 replaced them: the real tool refuses each of them too."""
    words = shlex.split(arguments)
    (recorded,) = (row for row in RECORDED if row["arguments"] == words)

    assert 1 == recorded["status"]
    assert re.search("invalid choice: 'update'|unrecognized arguments: '--", recorded["err"])


def test_completion_reads_an_unfinished_command_line():
    context = features.make_context("features", ["--boot"], resilient_parsing=True)

    assert context.resilient_parsing
