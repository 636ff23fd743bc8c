"""``streams-assignor plan``: the way from one release to another, in words or as JSON."""

from __future__ import annotations

import json

import click

from upgrade import Advice, Plan, UpgradeError, advise, release_named


@click.command()
@click.argument("from_release", metavar="FROM")
@click.argument("to_release", metavar="TO")
@click.option("--offline", is_flag=True, help="The way with everything stopped in between, which is always there.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def plan(from_release: str, to_release: str, offline: bool, as_json: bool) -> None:
    """Print the ordered steps of the safe upgrade FROM one release TO another.

    A release is a number (1.1.1), a line (1.1, its newest release), streams-assignor or simulated-4.

    \b
    Examples:
      streams-assignor plan 1.1 2.0
      streams-assignor plan 1.1 2.0 --offline
      streams-assignor plan 2.0.1 simulated-4 --json
    """  # noqa: D301 - click reads the backspace character
    try:
        advice = advise(release_named(from_release), release_named(to_release), offline=offline)
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error
    click.echo(json.dumps(advice.as_json(), indent=2) if as_json else _text(advice))


_TITLES = {
    "one_bounce": "one rolling bounce, no configuration",
    "two_bounces": "two rolling bounces",
    "offline": "offline: stop everything, then start everything",
}


def _text(advice: Advice) -> str:
    lines = [f"{advice.origin} to {advice.target}: {_TITLES[advice.plan.value]}", ""]
    for number, step in enumerate(advice.steps, 1):
        lines += [f"{number}. {step.do}", f"   why:        {step.why}", f"   if skipped: {step.if_skipped}", ""]
    if advice.plan is not Plan.OFFLINE:
        lines += ["or, if the group may stop: stop everything, then start everything (--offline)", ""]
    return "\n".join([*lines, *(f"note: {warning}" for warning in advice.warnings)]).rstrip()
