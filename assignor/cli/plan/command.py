"""``streams-assignor plan``: the steps from one release to another, for a Streams group or for brokers.

Only the options about a group's size load the simulator.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve

from streams_assignor.cli.params import ASSUME, FILE, Seconds, cluster_settings, complete_release, document, is_given
from streams_assignor.cli.plan._group_options import GROUP_OPTIONS, GroupOptions, options_given
from streams_assignor.cli.plan._hazards import (
    compare_topology_files,
    library_option,
    named_libraries,
    read_topology,
    topologies_option,
)
from streams_assignor.cli.plan._same_release import StaysOn
from streams_assignor.cli.plan._sarif import sarif
from streams_assignor.cli.plan.application import GroupPlan, group_plan
from streams_assignor.cli.plan.application_settings import read_settings, source_of
from streams_assignor.cli.plan.brokers import BrokerPlan, plan_brokers
from streams_assignor.cli.plan.consumer_protocol import ConsumerPlan, plan_consumer_group
from streams_assignor.cli.plan.markdown import runbook
from streams_assignor.cli.plan.streams_protocol import (
    ProtocolOptions,
    ProtocolPlan,
    plan_protocol,
    protocol_options,
    told_value,
)
from streams_assignor.cli.plan.text import CANNOT_BE_TOLD, print_plan
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade import Release, UpgradeError
from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.application_plan import PlannedApplication, plan_for
from streams_assignor.upgrade.patch_levels import is_same_release
from streams_assignor.upgrade.releases import ResolvedRelease, resolve_release
from streams_assignor.upgrade.streams_protocol import Reliance, reliances_named
from streams_assignor.upgrade.streams_protocol.consumers import CONSUMER_PROTOCOL
from streams_assignor.upgrade.verdict import TopologyFeature, Verdict, features_named

if TYPE_CHECKING:
    from streams_assignor.upgrade.application.code_report import CodeReport

_SOURCE_ROOTS: Final = "streams-assignor.source-roots"
_PATH: Final = click.Path(exists=True, path_type=Path)
_STATUSES: Final = {Verdict.UNSAFE: 1, Verdict.ERROR: 1, Verdict.UNKNOWN: CANNOT_BE_TOLD}
Plan = GroupPlan | ProtocolPlan | ConsumerPlan | BrokerPlan | StaysOn
"""One document of a plan, of which every form is made: text of its objects, each other one of its plain values."""


@click.command(cls=StrictCommand)
@click.argument("releases", metavar="[FROM] TO", nargs=-1, shell_complete=complete_release)
@click.option("--app", "code", type=_PATH, multiple=True, metavar="PATH", help="Its jar, tar, image, class or folder.")
@click.option("--topology", type=FILE, multiple=True, metavar="FILE", help="The text of Topology#describe().")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "short", "json", "yaml", "markdown", "html", "sarif"]),
    default="text",
    show_default=True,
    help="A runbook is markdown, a page html.",
)
@protocol_options
@topologies_option
@click.option(
    "--without",
    metavar="FEATURES",
    help=f"What it does not have: {', '.join(feature.value for feature in TopologyFeature)}.",
)
@click.option("--offline", is_flag=True, help="Stop all members, then start them.")
@click.option("--from-app", type=_PATH, multiple=True, metavar="OLD", help="The build that runs now, for FROM.")
@click.option("--to-app", type=_PATH, multiple=True, metavar="NEW", help="The next build, for TO and --app.")
@click.option("--own", multiple=True, metavar="PATTERN", help="Jars, packages and classes that are its own.")
@library_option
@click.option(
    "--source-root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    expose_value=False,
    callback=lambda context, _, value: context.meta.__setitem__(_SOURCE_ROOTS, value),
    help="With -o sarif: your sources.",
)
@click.option("--explored", is_flag=True, help="Check every schedule, in such a group:")
@click.option("--members", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Its members.")
@click.option("--tasks", type=click.IntRange(1, 10_000), default=6, show_default=True, help="Its tasks.")
@click.option("--standbys", type=click.IntRange(0, 100), default=0, show_default=True, help="num.standby.replicas.")
@click.option("--static", is_flag=True, help="Its members have a group.instance.id.")
@click.option(
    "--state",
    type=click.Choice(["persistent", "ephemeral"]),
    default="persistent",
    show_default=True,
    help="Whether a process finds its stores again.",
)
@click.option(
    "--session-timeout",
    type=Seconds(0, 86_400, min_open=True),
    default=45,
    show_default=True,
    metavar="SECONDS",
    help="session.timeout.ms.",
)
@click.option("--brokers", is_flag=True, help="Plan for brokers instead of a Streams group.")
@click.option("--zookeeper", is_flag=True, help="They run with ZooKeeper; +--kraft: migrate.")
@click.option("--kraft", is_flag=True, help="They run in KRaft mode.")
@click.option("--level", metavar="VERSION", help="Their protocol or metadata version.  [default: FROM's newest]")
@click.option("--level-unchanged", is_flag=True, help="It never was another, or snapshots have it.")
@ASSUME
@click.option("--json", "output", flag_value="json", help="The same as -o json.")
@click.option("--short", "output", flag_value="short", help="-o short: the first line and the steps.")
@click.option("-v", "--verbose", is_flag=True, help="Show all: remedies, sources, ways back.")
def plan(
    releases: Sequence[str],
    offline: bool,
    brokers: bool,
    zookeeper: bool,
    kraft: bool,
    level: str | None,
    level_unchanged: bool,
    without: str | None,
    topology: tuple[Path, ...],
    code: tuple[Path, ...],
    from_app: tuple[Path, ...],
    to_app: tuple[Path, ...],
    own: tuple[str, ...],
    assume: str | None,
    topologies: tuple[Path, Path] | None,
    libraries: tuple[str, ...],
    output: str,
    verbose: bool,
    **further: Any,
) -> None:
    """Print the ordered steps of the safe upgrade FROM one release TO another.

    A release is a number (1.1.1), a line (1.1, its newest release), a vendor's name (cp-7.6), streams-assignor or
    simulated-4. The first line has the verdict about the metadata of the group, and the number of hazards beyond it.
    --config, --app, --topology and --group say which hazards concern the application, and answer "safe-if".

    Exit status 1 if the plan is unsafe, something stops members for certain, or there is no plan; 3 if --config or
    --app is given and the plan is not proven: members may stop or lose data.

    \b
    Examples:
      streams-assignor plan 1.1 2.0
      streams-assignor plan 2.8 4.3 --config streams.properties --app orders.jar
      streams-assignor plan 2.8 4.3 -o markdown > runbook.md
      streams-assignor plan --from-app orders-1.0.jar --to-app orders-2.0.jar --config streams.properties
      streams-assignor plan 4.3 --group billing --bootstrap-servers localhost:9092
      streams-assignor plan 2.3 4.3 --members 12 --tasks 48 --standbys 1 --session-timeout 45
      streams-assignor plan 4.2 4.3 --to-protocol streams --config streams.properties --broker-release 4.3
      streams-assignor plan --to-protocol consumer --group kc --config consumer.properties
      streams-assignor plan --brokers 3.9 4.3 --config server.properties
    """  # noqa: D301 - click reads the backspace character
    of_a_group = {name: further.pop(name) for name in GROUP_OPTIONS}
    protocol = ProtocolOptions(**further)
    context = click.get_current_context()
    about_group = bool(options_given(context))
    if brokers and about_group:
        raise click.UsageError("--brokers excludes --explored, --members and the other options about a group")
    if brokers and offline:
        raise click.UsageError("--offline is for a Streams group; brokers are restarted one by one")
    if brokers and topologies:
        raise click.UsageError("--topologies is for a Streams group; brokers have none")
    if output == "sarif" and (brokers or protocol.to_protocol == CONSUMER_PROTOCOL):
        raise click.UsageError("-o sarif is for a Streams group, without --brokers")
    if not brokers and (zookeeper or kraft or level or level_unchanged):
        raise click.UsageError("--zookeeper, --kraft, --level and --level-unchanged need --brokers")
    if brokers and (without or topology or code or libraries):
        raise click.UsageError("--without, --topology, --library and --app are for a Streams group")
    if output != "sarif" and context.meta[_SOURCE_ROOTS]:
        raise click.UsageError("--source-root needs -o sarif")
    if bool(from_app) != bool(to_app) or (from_app and (releases or code or brokers)):
        raise click.UsageError("--from-app and --to-app go together, without FROM, TO, --app and --brokers")
    if own and not (code or to_app):
        raise click.UsageError("--own needs --app")
    shown = partial(_print_plan, output=output, verbose=verbose)
    protocol.check()
    if brokers and (protocol.group_name or is_given(context, "bootstrap_servers")):
        raise click.UsageError("--group and --bootstrap-servers are for a Streams group; --brokers looks at no cluster")
    if protocol.to_protocol and (brokers or about_group):
        raise click.UsageError("--to-protocol excludes --brokers and options about a group's size")
    try:
        if from_app:
            from streams_assignor.upgrade.application.code_report import (
                release_of_files,  # a plan without code is made sooner
            )

            code, releases = to_app, [release_of_files(from_app, own), release_of_files(to_app, own)]
        if protocol.to_protocol == CONSUMER_PROTOCOL:
            application = PlannedApplication(
                settings=read_settings(*protocol.settings_files) if protocol.settings_files else None,
                settings_source=source_of(protocol.settings_files),
            )
            consumer_plan = plan_consumer_group(context, protocol, application, offline=offline)
            shown(consumer_plan)
            return
        may_be_found = bool(protocol.group_name) and not protocol.to_protocol
        from_release, to_release = _ends(releases, may_be_found=may_be_found)
        if brokers:
            cluster = plan_brokers(
                (from_release, to_release),
                protocol.settings_files,
                assume=assume,
                zookeeper=zookeeper,
                kraft=kraft,
                level=level,
                level_unchanged=level_unchanged,
            )
            shown(cluster)
        else:
            target = resolve_release(to_release, assume)
            origin = resolve_release(from_release, assume) if from_release else None
            settings = read_settings(*protocol.settings_files) if protocol.settings_files else None
            reliances, features = _absent(without, protocol)
            application = PlannedApplication(
                settings=settings,
                settings_source=source_of(protocol.settings_files),
                topology=read_topology(topology),
                group=None if protocol.to_protocol else _live_group(protocol, settings, assume),
                libraries=named_libraries(libraries),
                absent=features,
                change=compare_topology_files(*topologies) if topologies else None,
            )
            if protocol.to_protocol and origin:
                if code:
                    application = evolve(application, code=_judge_code(code, origin.release, target.release, own))
                protocol_plan = plan_protocol(origin, target, protocol, application, absent=reliances, offline=offline)
                shown(protocol_plan)
                return
            ends = origin or _origin(application.group, target), target
            if is_same_release(*ends):
                if code or (settings and not topologies):
                    raise UpgradeError(f"--config and --app need two releases, got {target.release} twice")
                shown(StaysOn(*ends, application, offline))
                return
            options = GroupOptions.of(context, of_a_group, application)
            if code:
                report = _judge_code(code, ends[0].release, target.release, own)
                if (told := report.origin(ends[0])).release is not ends[0].release:
                    report = _judge_code(code, told.release, target.release, own)
                ends = told, target
                application = evolve(application, code=report)
            planned = plan_for(application, *ends, offline=offline)
            if planned.advice.is_of_streams_group and options_given(context):
                raise UpgradeError(
                    "a group of this size is simulated with the classic protocol, and this is a streams group"
                )
            shown(group_plan(planned, options, offline=offline))
    except UpgradeError as error:
        raise click.UsageError(str(error)) from error


def _judge_code(code: Sequence[Path], origin: Release, target: Release, own: Sequence[str]) -> CodeReport:
    from streams_assignor.upgrade.application.code_report import judge_code  # a plan without code is made sooner

    return judge_code(code, origin, target, own)


def _absent(without: str | None, options: ProtocolOptions) -> tuple[frozenset[Reliance], frozenset[TopologyFeature]]:
    """Return what ``--without`` names: of the streams protocol if the plan is about it, and of rolling upgrades."""
    if without is None:
        return frozenset(), frozenset()
    return reliances_named(without) if options.to_protocol else (frozenset(), features_named(without))


def _ends(releases: Sequence[str], *, may_be_found: bool) -> tuple[str, str]:
    """Return FROM and TO; FROM is empty if it is that of the group."""
    match (*releases,):
        case (origin, target):
            return origin, target
        case (target,) if may_be_found:
            return "", target
    got = ", ".join(releases) or "none"
    raise click.UsageError(f"expected FROM and TO, or TO with --group and without --to-protocol, got {got}")


def _origin(live: LiveGroup | None, target: ResolvedRelease) -> ResolvedRelease:
    """Return the release that the live group runs; ``ClickException`` if it cannot be told."""
    assert live  # the command has no FROM only with --group
    try:
        return live.origin(target)
    except UpgradeError as error:
        raise click.ClickException(sanitize(str(error))) from None


def _live_group(options: ProtocolOptions, settings: Settings | None, assume: str | None) -> LiveGroup | None:
    """Look at the group that is named, at the servers of the options or else of its settings."""
    if options.group_name is None:
        return None
    servers = options.bootstrap_servers or (told_value(settings.values, "bootstrap.servers") if settings else None)
    context = click.get_current_context()
    servers, config = cluster_settings(context, servers, options.command_config)
    assumed = resolve_release(assume).release if assume else None
    from streams_assignor.cli.plan.live_group import read_group  # a plan without a group is made sooner

    return read_group(options.group_name, servers, config, assumed)


def _print_plan(planned: Plan, *, output: str, verbose: bool) -> None:
    """Print a plan, and end with its exit status."""
    if output == "text":
        view = DisplayOptions.of_output(verbose=verbose)
        print_plan(planned.lines(view), planned.told, view)
    else:
        click.echo(_rendered(planned.as_json(), output))
    if status := _STATUSES.get(planned.told):
        sys.exit(status)


def _rendered(plain: Mapping[str, Any], output: str) -> str:
    if output == "html":
        from streams_assignor.cli.plan.markdown import plan_page  # the other forms are printed sooner

        return plan_page(plain)
    if output == "short":
        steps = (f"{number}. {step['do']}" for number, step in enumerate(plain["steps"], 1))
        lines = filter(None, (plain["headline"], *steps, plain.get("alternative")))
        return DisplayOptions.of_output(verbose=False).show(map(sanitize, lines))
    if output == "sarif":
        return sarif(plain, click.get_current_context().meta[_SOURCE_ROOTS])
    return runbook(plain) if output == "markdown" else document(plain, output, indent=2)
