"""``streams-assignor plan``: the steps from one release to another, for a Streams group or for brokers.

Only the options about a group's size load the simulator.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from rich.console import Console

from assignor.cli.params import Seconds
from assignor.formats.text import count, format_seconds
from spark_sim.cli._plan_hazards import (
    compare_topology_files,
    hazard_lines,
    static_verdict_lines,
    topologies_option,
    way_back_lines,
)
from upgrade import Advice, Plan, Release, UpgradeError, advise
from upgrade.brokers.planner import advise_brokers
from upgrade.brokers.protocol_versions import MetadataMode, broker_release, version_named
from upgrade.brokers.steps import BrokerAdvice
from upgrade.hazards import TopologyChange
from upgrade.planner import documented_hops
from upgrade.releases import ResolvedRelease, resolve_release

if TYPE_CHECKING:
    from spark_sim.advice.impact import Impact, MeasuredHop

GROUP_OPTIONS: Final = ("members", "tasks", "standbys", "static", "session_timeout", "explored")


@click.command()
@click.argument("from_release", metavar="FROM")
@click.argument("to_release", metavar="TO")
@click.option("--offline", is_flag=True, help="The plan that stops all members, then starts them; it always exists.")
@click.option(
    "--explored",
    is_flag=True,
    help="Check the plan against every schedule, and simulate it in a group of your size (implied by the next five).",
)
@click.option("--members", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Members of your group.")
@click.option("--tasks", type=click.IntRange(1, 10_000), default=6, show_default=True, help="Its tasks.")
@click.option("--standbys", type=click.IntRange(0, 100), default=0, show_default=True, help="num.standby.replicas.")
@click.option("--static", is_flag=True, help="Static membership: its members have a group.instance.id.")
@click.option(
    "--session-timeout",
    type=Seconds(0, 86_400, min_open=True),
    default=45,
    show_default=True,
    metavar="SECONDS",
    help="session.timeout.ms, in seconds.",
)
@topologies_option
@click.option("--brokers", is_flag=True, help="Plan for the brokers of a cluster instead of a Streams group.")
@click.option(
    "--zookeeper", "mode", flag_value=MetadataMode.ZOOKEEPER.value, help="The brokers run with ZooKeeper now."
)
@click.option("--kraft", "mode", flag_value=MetadataMode.KRAFT.value, help="The brokers run in KRaft mode now.")
@click.option(
    "--level",
    metavar="VERSION",
    help="Current inter.broker.protocol.version or metadata.version (2.8, 3.7-IV4).  [default: FROM's newest]",
)
@click.option("--assume", metavar="RELEASE", help="Treat a line that is newer than this version like RELEASE.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def plan(
    from_release: str,
    to_release: str,
    offline: bool,
    brokers: bool,
    mode: str | None,
    level: str | None,
    assume: str | None,
    topologies: tuple[Path, Path] | None,
    as_json: bool,
    **of_a_group: Any,
) -> None:
    """Print the ordered steps of the safe upgrade FROM one release TO another.

    A release is a number (1.1.1), a line (1.1, its newest release), streams-assignor or simulated-4.

    With --explored, or any option about your group, the documented plan is checked against every schedule of a group of
    up to five members. It is also simulated in the whole group: how often it rebalances, and how long a task has no
    owner. Exit status 1 if a property is violated; a safe plan is named if there is one.

    With --brokers, a release is one of Kafka's, 0.8.2 or later, and TO may be older than FROM. Exit status 1 if no plan
    exists.

    \b
    Examples:
      streams-assignor plan 1.1 2.0
      streams-assignor plan 1.1 2.0 --offline
      streams-assignor plan 2.0.1 simulated-4 --json
      streams-assignor plan 2.3 4.3 --members 12 --tasks 48 --standbys 1 --session-timeout 45
      streams-assignor plan 3.9 4.3 --topologies old.txt new.txt
      streams-assignor plan --brokers 2.8 4.3
      streams-assignor plan --brokers 3.9 4.3 --kraft
      streams-assignor plan --brokers 4.3 4.2 --level 4.2
    """  # noqa: D301 - click reads the backspace character
    context = click.get_current_context()
    about_group = any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in GROUP_OPTIONS)
    if brokers and about_group:
        raise click.UsageError("--brokers excludes --explored, --members and the other options about a group")
    if brokers and offline:
        raise click.UsageError("--offline is for a Streams group; brokers are restarted one by one")
    if brokers and topologies:
        raise click.UsageError("--topologies is for a Streams group; brokers have none")
    if not brokers and (mode or level):
        raise click.UsageError("--zookeeper, --kraft and --level need --brokers")
    try:
        if brokers:
            _print_broker_plan(_advise_brokers(from_release, to_release, mode, level), as_json=as_json)
        else:
            ends = resolve_release(from_release, assume), resolve_release(to_release, assume)
            change = compare_topology_files(*topologies) if topologies else None
            group = of_a_group | {"offline": offline} if about_group else None
            _print_group_plan(*ends, group, change, offline, as_json)
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error


def _print_broker_plan(advice: BrokerAdvice, *, as_json: bool) -> None:
    click.echo(json.dumps(advice.as_json(), indent=2) if as_json else _brokers_text(advice))
    if not advice.is_possible:
        sys.exit(1)


def _print_group_plan(
    origin: ResolvedRelease,
    target: ResolvedRelease,
    group: Mapping[str, Any] | None,
    change: TopologyChange | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Print the plan, then what a group of this size sees of it; `group` is None if its size is not given."""
    advice = advise(origin.release, target.release, offline=offline)
    checked = advice.checked.with_topologies() if change else advice.checked
    notes = [*origin.notes, *target.notes]
    if not as_json:  # first: the simulation of a large group takes minutes
        if group and group["static"] and not offline:
            click.echo("\n".join([*static_verdict_lines(origin.release, target.release), ""]), nl=False)
        click.echo(_advice_text(advice, notes))
    impact = _estimate_impact(origin.release, target.release, **group) if group else None
    if as_json:
        further: dict[str, Any] = {"notes": notes, **checked.as_json()}
        further |= {"topologies": change.as_json()} if change else {}
        further |= {"group": impact.as_json()} if impact else {}
        click.echo(json.dumps(advice.as_json() | further, indent=2))
    else:
        parts = (change.lines() if change else (), _impact_lines(impact) if impact else (), (str(checked),))
        click.echo("\n" + "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))))
    if impact and not impact.safe:
        sys.exit(1)


def _estimate_impact(
    origin: Release,
    target: Release,
    *,
    offline: bool,
    members: int,
    tasks: int,
    standbys: int,
    static: bool,
    session_timeout: float,
    **_flags: bool,
) -> Impact:
    """Explore and measure the plan in a group of this size; a terminal shows a spinner."""
    from spark_sim.advice import impact

    hops = documented_hops(origin, target, offline=offline)
    group = impact.GroupProfile(members, impact.workload_with(tasks, standbys, static=static), session_timeout)
    with Console(stderr=True).status(
        f"exploring every schedule, then playing the plan with {count(members, 'member')} ..."
    ):
        return impact.estimate_impact(hops, group)


def _impact_lines(impact: Impact) -> Iterator[str]:
    """Write what was explored and measured."""
    group = impact.as_json()
    for each in group["explored"]:
        what = f"{each['from_release']} to {each['to_release']}, {each['plan'].replace('_', ' ')}"
        yield f"explored with {count(each['members'], 'member')}: {what}: {each['verdict']}"
        if each["verdict"] == "safe":
            yield f"   {each['states']:,} states, every schedule with up to one crash and one late member"
        else:
            yield f"   {each['property']} ({each['message']})"
            if each["example"]:
                yield f'   streams-assignor replay "{each["example"]}"'
            yield f"   instead: {each['instead']}"
    yield f"played with {count(group['members'], 'member')} and {count(group['tasks'], 'task')}:"
    for hop in impact.measured_hops:
        yield f"   {hop.origin} to {hop.target}, {hop.how}:{' unsafe' if hop.violation else ''}"
        if hop.violation:
            yield f"      {hop.violation}"
            yield f'      streams-assignor replay "{hop.example}"'
            continue
        yield f"      {count(hop.rebalances, 'rebalance')}, tasks move {count(hop.moved, 'time')}; {_gaps_text(hop)}"
        share = 100 * hop.group_bytes / group["broker_limit_bytes"]
        yield f"      metadata: {hop.group_bytes:,} bytes, {share:.2g} % of what a broker takes of a group by default"
    yield from (f"assumed: {text}" for text in group["assumed"])


def _gaps_text(hop: MeasuredHop) -> str:
    if not hop.gaps:
        return "every task always has an owner"
    each = "of" if hop.gaps * hop.longest_gap_s == hop.gaps_s else "of up to"
    return (
        f"some task has no owner for {format_seconds(hop.gaps_s)} in {count(hop.gaps, 'gap')} "
        f"{each} {format_seconds(hop.longest_gap_s)}, one task for at most {format_seconds(hop.longest_s)}"
    )


def _advise_brokers(origin: str, target: str, mode: str | None, level: str | None) -> BrokerAdvice:
    return advise_brokers(
        broker_release(origin),
        broker_release(target),
        MetadataMode(mode) if mode else None,
        version_named(level) if level else None,
    )


_NUMBERS: Final = ("no", "one", "two", "three", "four")
_TITLES = {
    "one_bounce": "one rolling bounce, no configuration",
    "two_bounces": "two rolling bounces",
    "offline": "offline: stop everything, then start everything",
}


def _advice_text(advice: Advice, notes: Iterable[str]) -> str:
    title = _TITLES[advice.plan.value]
    if advice.via:
        title = f"{_NUMBERS[len(advice.steps)]} rolling bounces, through {', '.join(advice.via)}"
    lines = [f"{advice.origin} to {advice.target}: {title}", ""]
    for number, step in enumerate(advice.steps, 1):
        lines += [f"{number}. {step.do}", f"   why:        {step.why}", f"   if skipped: {step.if_skipped}"]
        lines += [*way_back_lines(step), ""]
    if advice.plan is not Plan.OFFLINE:
        lines += ["or, if the group may stop: stop everything, then start everything (--offline)", ""]
    return "\n".join([_with_warnings(lines, [*notes, *advice.warnings]), *hazard_lines(advice)])


_MODES = {MetadataMode.ZOOKEEPER: "with ZooKeeper", MetadataMode.KRAFT: "in KRaft mode"}


def _brokers_text(advice: BrokerAdvice) -> str:
    rolls = f"{advice.rolls} {'roll' if advice.rolls == 1 else 'rolls'}" if advice.is_possible else "no way"
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
    return _with_warnings(lines, advice.warnings)


def _with_warnings(lines: Iterable[str], notes: Iterable[object]) -> str:
    return "\n".join([*lines, *(f"note: {note}" for note in notes)]).rstrip()
