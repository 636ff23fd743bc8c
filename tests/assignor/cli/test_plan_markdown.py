"""``plan -o markdown``: the runbook says what the other forms say."""

import json

import pytest
from click.testing import CliRunner

from assignor.cli.main import cli


def run(*arguments):
    return CliRunner().invoke(cli, ["plan", *arguments]).output


@pytest.mark.parametrize("arguments", [("2.8", "4.3"), ("2.3", "4.3"), ("--brokers", "3.9", "4.3", "--kraft")])
def test_every_step_is_a_box_with_its_way_back(arguments):
    steps = json.loads(run(*arguments, "--json"))["steps"]
    lines = run(*arguments, "-o", "markdown").splitlines()

    for number, step in enumerate(steps, 1):
        assert f"- [ ] **{number}.** {step['do']}" in lines
        assert f"  - way back: {step['way_back']['verdict']}: {step['way_back']['how']}" in lines


def test_the_verdict_names_its_conditions_and_what_is_enough_if_they_are_met():
    lines = run("2.8", "3.9", "-o", "markdown").splitlines()

    assert lines[2].startswith("Verdict: **safe-if**, one bounce if no foreign-key-joins and no repartitioned-tables; ")
    assert " things of your application and brokers decide the rest (" in lines[2]


def test_hazards_and_what_was_not_checked_are_boxes():
    text = run("2.8", "4.3", "-o", "markdown")

    assert "- [ ] processing.guarantee=exactly_once or exactly_once_beta: members do not start" in text
    assert "## Not checked\n\n- [ ] " in text


def test_a_release_needs_no_steps_to_itself():
    assert "- already there" in run("3.9", "3.9", "-o", "markdown")
