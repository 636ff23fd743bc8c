"""``streams-assignor plan``: the way from one release to another, of a Streams group or of brokers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import click

from upgrade import Advice, Plan, UpgradeError, advise, release_named
from upgrade.brokers.advice import BrokerAdvice
from upgrade.brokers.plan import advise_brokers
from upgrade.brokers.versions import Mode, broker_release, version_named


@click.command()
@click.argument("from_release", metavar="FROM")
@click.argument("to_release", metavar="TO")
@click.option("--offline", is_flag=True, help="The way with everything stopped in between, which is always there.")
@click.option("--brokers", is_flag=True, help="The way of the brokers of a cluster instead of a Streams group.")
@click.option("--zookeeper", "mode", flag_value=Mode.ZOOKEEPER.value, help="They run with ZooKeeper now.")
@click.option("--kraft", "mode", flag_value=Mode.KRAFT.value, help="They run in KRaft mode now.")
@click.option(
    "--level",
    metavar="VERSION",
    help="Their inter.broker.protocol.version or metadata.version now (2.8, 3.7-IV4); FROM's newest if not given.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def plan(
    from_release: str,
    to_release: str,
    offline: bool,
    brokers: bool,
    mode: str | None,
    level: str | None,
    as_json: bool,
) -> None:
    """Print the ordered steps of the safe upgrade FROM one release TO another.

    A release is a number (1.1.1), a line (1.1, its newest release), streams-assignor or simulated-4.
    With --brokers it is one of Kafka's, 0.8.2 or later, and the way may lead back too: exit status 1 if there is none.

    \b
    Examples:
      streams-assignor plan 1.1 2.0
      streams-assignor plan 1.1 2.0 --offline
      streams-assignor plan 2.0.1 simulated-4 --json
      streams-assignor plan --brokers 2.8 4.3
      streams-assignor plan --brokers 3.9 4.3 --kraft
      streams-assignor plan --brokers 4.3 4.2 --level 4.2
    """  # noqa: D301 - click reads the backspace character
    if brokers and offline:
        raise click.UsageError("--offline is for a Streams group; brokers are bounced one by one")
    if not brokers and (mode or level):
        raise click.UsageError("--zookeeper, --kraft and --level go with --brokers")
    try:
        advice = (
            _for_brokers(from_release, to_release, mode, level)
            if brokers
            else advise(release_named(from_release), release_named(to_release), offline=offline)
        )
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        click.echo(json.dumps(advice.as_json(), indent=2))
    else:
        click.echo(_brokers_text(advice) if isinstance(advice, BrokerAdvice) else _text(advice))
    if isinstance(advice, BrokerAdvice) and not advice.possible:
        sys.exit(1)


def _for_brokers(origin: str, target: str, mode: str | None, level: str | None) -> BrokerAdvice:
    return advise_brokers(
        broker_release(origin),
        broker_release(target),
        Mode(mode) if mode else None,
        version_named(level) if level else None,
    )


_TITLES = {
    "one_bounce": "one rolling bounce, no configuration",
    "two_bounces": "two rolling bounces",
    "offline": "offline: stop everything, then start everything",
}


def _text(advice: Advice) -> str:
    title = _TITLES[advice.plan.value]
    if advice.via:
        title = f"{len(advice.steps)} rolling bounces, through {', '.join(advice.via)}"
    lines = [f"{advice.origin} to {advice.target}: {title}", ""]
    for number, step in enumerate(advice.steps, 1):
        lines += [f"{number}. {step.do}", f"   why:        {step.why}", f"   if skipped: {step.if_skipped}", ""]
    if advice.plan is not Plan.OFFLINE:
        lines += ["or, if the group may stop: stop everything, then start everything (--offline)", ""]
    return _with_notes(lines, advice.warnings)


_MODES = {Mode.ZOOKEEPER: "with ZooKeeper", Mode.KRAFT: "in KRaft mode"}


def _brokers_text(advice: BrokerAdvice) -> str:
    rolls = f"{advice.rolls} {'roll' if advice.rolls == 1 else 'rolls'}" if advice.possible else "no way"
    lines = [f"brokers {_MODES[advice.mode]}, {advice.origin} to {advice.target}: {rolls}", ""]
    for number, step in enumerate(advice.steps, 1):
        lines += [
            f"{number}. {step.do}",
            f"   why:        {step.why}",
            f"   if skipped: {step.if_skipped}",
            f"   way back:   {step.way_back.verdict.value}: {step.way_back.how}",
            f"   source:     {step.source}",
            "",
        ]
    return _with_notes(lines, advice.warnings)


def _with_notes(lines: Iterable[str], notes: Iterable[str]) -> str:
    return "\n".join([*lines, *(f"note: {note}" for note in notes)]).rstrip()
