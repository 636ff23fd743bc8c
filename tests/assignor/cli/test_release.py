"""``streams-assignor release``: facts of the tables, by any spelling."""

import json

import pytest
from click.testing import CliRunner

from streams_assignor.cli.main import cli
from streams_assignor.upgrade.releases import NEWEST, RELEASES


def run(*arguments):
    return CliRunner().invoke(cli, ["release", *arguments])


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", RELEASES)
def test_every_release_has_facts(name):
    facts = json.loads(run(name, "--json").output)

    assert (name, RELEASES[name].supported_version) == (facts["release"], facts["metadata_version"])
    assert run(name).output.startswith(name)


def test_a_release_of_confluent_platform_is_named_with_its_release_of_kafka():
    output = run("7.6.1-ccs").output

    assert output.startswith("3.6.0\nnote: Confluent Platform 7.6 contains Kafka 3.6\nnote: 7.6.1-ccs can be any")


def test_the_effects_of_upgrade_from_are_listed_by_value():
    facts = json.loads(run("2.4.1", "--json").output)

    assert ["old_version", "eager"] == facts["upgrade_from"]["1.1"]
    assert ["eager"] == facts["upgrade_from"]["2.3"]


def test_bugs_are_those_that_an_upgrade_from_or_to_the_release_can_show():
    names = {bug["name"] for bug in json.loads(run("2.3.0", "--json").output)["bugs"]}

    assert {"B3", "B12"} <= names
    assert "B8" not in names  # only a mutant has it


def test_a_newer_line_needs_an_assumption():
    newer = f"{NEWEST.line}9"  # 4.49 after 4.4

    assert 2 == run(newer).exit_code
    assert "it is assumed to behave like 4.3.1" in run(newer, "--assume", "4.3").output


def test_an_unknown_release_is_an_error_of_the_user():
    result = run("2.9")

    assert 2 == result.exit_code
    assert "did you mean 2.8?" in result.output
