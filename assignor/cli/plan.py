"""``streams-assignor plan``: the way from one release to another, of a Streams group or of brokers.

What is asked about a group of a certain size is answered by the simulator, which stands above and goes by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

import click
from click.core import ParameterSource
from rich.console import Console

from assignor.cli.seconds import Seconds
from upgrade import Advice, Plan, UpgradeError, advise, release_named
from upgrade.brokers.advice import BrokerAdvice
from upgrade.brokers.plan import advise_brokers
from upgrade.brokers.versions import Mode, broker_release, version_named
from upgrade.plan import hops_between

SIMULATOR: Final = "spark_sim.asked"
OF_A_GROUP: Final = ("members", "tasks", "standbys", "static", "session_timeout", "explored")


@click.command()
@click.argument("from_release", metavar="FROM")
@click.argument("to_release", metavar="TO")
@click.option("--offline", is_flag=True, help="The way with everything stopped in between, which is always there.")
@click.option(
    "--explored",
    is_flag=True,
    help="Hold the plan against every schedule, and play it in a group of your size (with any of the next five).",
)
@click.option("--members", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Members of your group.")
@click.option("--tasks", type=click.IntRange(1, 10_000), default=6, show_default=True, help="Its tasks.")
@click.option("--standbys", type=click.IntRange(0, 100), default=0, show_default=True, help="num.standby.replicas.")
@click.option("--static", is_flag=True, help="Its members have a group.instance.id.")
@click.option(
    "--session-timeout",
    type=Seconds(0, 86_400, min_open=True),
    default=45,
    show_default=True,
    metavar="SECONDS",
    help="session.timeout.ms, in seconds.",
)
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
    **of_a_group: Any,
) -> None:
    """Print the ordered steps of the safe upgrade FROM one release TO another.

    A release is a number (1.1.1), a line (1.1, its newest release), streams-assignor or simulated-4.

    With --explored, or with anything said about your group, the documented plan is then held against every schedule of
    a group of up to five members, and played in the whole group: how often it rebalances, and how long nobody has a
    task. Exit status 1 if one of these violates a property; there may be a safe way instead, which is named.

    With --brokers it is one of Kafka's, 0.8.2 or later, and the way may lead back too: exit status 1 if there is none.

    \b
    Examples:
      streams-assignor plan 1.1 2.0
      streams-assignor plan 1.1 2.0 --offline
      streams-assignor plan 2.0.1 simulated-4 --json
      streams-assignor plan 2.3 4.3 --members 12 --tasks 48 --standbys 1 --session-timeout 45
      streams-assignor plan --brokers 2.8 4.3
      streams-assignor plan --brokers 3.9 4.3 --kraft
      streams-assignor plan --brokers 4.3 4.2 --level 4.2
    """  # noqa: D301 - click reads the backspace character
    context = click.get_current_context()
    asked = any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in OF_A_GROUP)
    if brokers and asked:
        raise click.UsageError("--explored, --members and what else is about a group do not go with --brokers")
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
    if not as_json:  # at once: a large group is played for minutes
        click.echo(_brokers_text(advice) if isinstance(advice, BrokerAdvice) else _text(advice))
    answer = _answer(from_release, to_release, offline=offline, **of_a_group) if asked else None
    if as_json:
        plain = advice.as_json() | ({"group": answer.as_json()} if answer else {})
        click.echo(json.dumps(plain, indent=2))
    elif answer:
        click.echo("\n" + "\n".join(_answer_lines(answer)))
    if (answer and not answer.safe) or (isinstance(advice, BrokerAdvice) and not advice.possible):
        sys.exit(1)


def _answer(
    origin: str,
    target: str,
    *,
    offline: bool,
    members: int,
    tasks: int,
    standbys: int,
    static: bool,
    session_timeout: float,
    **_flags: bool,
) -> Any:
    """Ask the simulator; a terminal shows that it is at work."""
    simulator: Any = import_module(SIMULATOR)
    hops = hops_between(release_named(origin), release_named(target), offline=offline)
    group = simulator.Group(members, simulator.shape_of(tasks, standbys, static=static), session_timeout)
    with Console(stderr=True).status(
        f"exploring every schedule, then playing the plan with {_counted(members, 'member')} ..."
    ):
        return simulator.answer(hops, group)


def _answer_lines(answer: Any) -> Iterator[str]:
    """Say what was explored and measured."""
    for each in answer.as_json()["explored"]:
        what = f"{each['from_release']} to {each['to_release']}, {each['plan'].replace('_', ' ')}"
        yield f"explored with {_counted(each['members'], 'member')}: {what}: {each['verdict']}"
        if each["verdict"] == "safe":
            yield f"   {each['states']:,} states, every schedule with up to one crash and one late member"
        else:
            yield f"   {each['property']} ({each['message']})"
            if each["example"]:
                yield f'   streams-assignor replay "{each["example"]}"'
            yield f"   instead: {each['instead']}"
    group = answer.as_json()
    yield f"played with {_counted(group['members'], 'member')} and {_counted(group['tasks'], 'task')}:"
    for each in answer.measured:
        yield f"   {each.origin} to {each.target}, {each.how}:{' unsafe' if each.violation else ''}"
        if each.violation:
            yield f"      {each.violation}"
            yield f'      streams-assignor replay "{each.example}"'
            continue
        yield (
            f"      {_counted(each.rebalances, 'rebalance')}, tasks move {_counted(each.moved, 'time')}; "
            f"the longest that one task has no member: {each.longest_s:g} s; "
            f"of all tasks together: {each.task_seconds:g} s"
        )
        share = 100 * each.group_bytes / group["broker_limit_bytes"]
        yield f"      metadata: {each.group_bytes:,} bytes, {share:.2g} % of what a broker takes of a group by default"
    yield from (f"assumed: {text}" for text in group["assumed"])


def _counted(number: int, what: str) -> str:
    """Say how many.

    >>> _counted(1, "member"), _counted(1200, "task")
    ('1 member', '1,200 tasks')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def _for_brokers(origin: str, target: str, mode: str | None, level: str | None) -> BrokerAdvice:
    return advise_brokers(
        broker_release(origin),
        broker_release(target),
        Mode(mode) if mode else None,
        version_named(level) if level else None,
    )


_NUMBERS: Final = ("no", "one", "two", "three", "four")
_TITLES = {
    "one_bounce": "one rolling bounce, no configuration",
    "two_bounces": "two rolling bounces",
    "offline": "offline: stop everything, then start everything",
}


def _text(advice: Advice) -> str:
    title = _TITLES[advice.plan.value]
    if advice.via:
        title = f"{_NUMBERS[len(advice.steps)]} rolling bounces, through {', '.join(advice.via)}"
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
