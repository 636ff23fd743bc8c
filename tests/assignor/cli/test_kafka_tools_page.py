"""The page for people who come from Kafka's tools: it has all of their options, and none that we do not have."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from streams_assignor.cli.main import cli
from tests.lab.integration.kafka_jars import class_path

PAGE = (Path(__file__).parents[3] / "docs/how-to/from-kafka-tools.md").read_text()
RELEASE = re.search(r"Kafka (\d+\.\d+\.\d+)", PAGE)[1]
TOOLS = {
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-streams-groups.sh": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}


def rows(tool: str) -> list[tuple[str, str]]:
    """The left and the right cells of a tool's table of options."""
    table = PAGE.partition(f"## {tool}")[2].partition("| option |")[2].partition("\n\n")[0]
    return [(left, right) for left, right in re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)]


@pytest.mark.java
@pytest.mark.parametrize("tool", TOOLS)
def test_it_has_every_option_of_the_tool(tool):
    jars = class_path(f"org.apache.kafka:kafka-tools:{RELEASE}")
    done = subprocess.run(["java", "-cp", jars, TOOLS[tool], "--help"], capture_output=True, text=True, check=False)
    options = re.findall(r"^(--[a-z][\w-]*)", done.stdout + done.stderr, re.MULTILINE)

    assert len(options) > 20
    assert sorted(options) == sorted(re.findall(r"`(--[\w-]+)`", " ".join(left for left, _ in rows(tool))))


@pytest.mark.parametrize("tool", TOOLS)
def test_what_it_names_instead_exists(tool):
    context = click.Context(cli)
    ours = {
        name for each in cli.get_command(context, "group").params for name in (*each.opts, *each.secondary_opts)
    } | {"--help", "--version"}
    named = re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", " ".join(right for _, right in rows(tool)))

    assert named
    assert [] == [name for name in named if name not in ours]
