"""``streams-assignor group``: one live group or all of a cluster: versions, tasks, upgrade status, findings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from streams_assignor.cli.group._look import Looks, progress_report
from streams_assignor.cli.group._options import WORDS, InspectionOptions
from streams_assignor.cli.group._output import OUTPUTS, Output
from streams_assignor.cli.group._wait import StateFile, WaitCondition, wait_for
from streams_assignor.cli.group.watch import CONFIRM_SECONDS, Look, ProblemClock, error_text, look_until_decided, looks
from streams_assignor.cli.group.what_if import read_config, session_timeout_of, show_forecast
from streams_assignor.cli.params import (
    ASSUME,
    BOOTSTRAP_SERVERS,
    COMMAND_CONFIG,
    FILE,
    VERBOSE,
    Duration,
    cluster_settings,
    complete_release,
    silence_client_logs,
)
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.formats.text import format_seconds, printable, sanitize
from streams_assignor.groups import LOOKUP_TIMEOUT_SECONDS, ExpectedMembers
from streams_assignor.groups.offsets import UnreadRecordsDetector
from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.releases import ResolvedRelease

if TYPE_CHECKING:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
    from streams_assignor.spark_sim.forecast import Operation
    from streams_assignor.upgrade.cluster.client.command_config import CommandConfig

WATCH_SECONDS: Final = 1.0
LOOPBACK: Final = "127.0.0.1"
_LAST_PORT: Final = 65_535
_COMPLETION_SECONDS: Final = 2.0
WAIT_SECONDS: Final = 600.0


def _checked_text(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    """Refuse bytes that are not text: no group has such a name."""
    for value in values:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"expected text in UTF-8, got {value!r}") from None
    return values


def _hint(_context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Name the word that replaces an option: it is there for one release more."""
    word = parameter.opts[0].removeprefix("--")
    if value and sys.stderr.isatty():
        _note(f"--{word} is now group {word} {WORDS[word]}")
    return value


class _Address(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A port, or a host and a port; the host is loopback unless it is given."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read an address."""
        host, _, port = str(value).rpartition(":")
        if not (port.isascii() and port.isdecimal() and int(port) <= _LAST_PORT):
            self.fail(f"expected [HOST:]PORT with a port of 0 to {_LAST_PORT}, got {value!r}", param, ctx)
        return host.strip("[]") or LOOPBACK, int(port)


def _complete_condition(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    name, equals, release = incomplete.partition("=")
    if equals:
        return [f"{name}={release_name}" for release_name in complete_release(context, parameter, release)]
    return [condition for condition in ("stable", "empty", "release=") if condition.startswith(incomplete)]


def _complete_words(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of groups, if the cluster is known and answers soon."""
    params = context.params
    given = tuple(params.get("words") or ())
    if len(given) == 2 and given[0] == "wait":
        return _complete_condition(context, parameter, incomplete)
    words = [] if given else ["list", *WORDS]
    names: Sequence[str] = ()
    with suppress(click.ClickException, ClusterError, MissingExtraError):  # a shell shows no error
        from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

        servers, config = cluster_settings(context, params.get("bootstrap_servers"), params.get("command_config"))
        silence_client_logs()
        lookup = GroupLookup(servers, config.settings, _COMPLETION_SECONDS)
        names = [name for name in lookup.names() if name == printable(name)]
    return [word for word in (*words, *names) if word.startswith(incomplete)]


@click.command(cls=StrictCommand)
@click.argument(
    "words",
    nargs=-1,
    metavar="[list | [describe] NAME | watch [NAME] | wait NAME CONDITION | what-if NAME STEP]",
    callback=_checked_text,
    shell_complete=_complete_words,
)
@click.option("--check", is_flag=True, help="Exit status 1 if there is a problem.")
@click.option("--watch", is_flag=True, hidden=True, callback=_hint)
@click.option("--wait", "wanted", hidden=True, callback=_hint, shell_complete=_complete_condition)
@click.option("--what-if", "operation", hidden=True, callback=_hint)
@click.option("--serve", "address", type=_Address(), metavar="[HOST:]PORT", help="Of list: serve metrics, on loopback.")
@click.option("--to", "target", metavar="RELEASE", shell_complete=complete_release, help="Of list: plans, worst first.")
@click.option("--contexts", type=FILE, metavar="FILE", help="Of --to: clusters in TOML, one table each.")
@click.option("-o", "--output", type=click.Choice([*OUTPUTS, "html"]), help="Form; html with --to.  [default: table]")
@click.option("--json", "as_json", is_flag=True, help="The same as -o json; lines with watch.")
@click.option("--all", "everything", is_flag=True, help="All groups, one row each; the same as list.")
@BOOTSTRAP_SERVERS
@COMMAND_CONFIG
@VERBOSE
@click.option("--lag/--no-lag", "reads_lag", default=None, help="Offsets.  [default: not with watch, wait]")
@click.option("--expect-members", type=click.IntRange(1), metavar="NUMBER", help="With --check: fewer are a problem.")
@click.option("--max-lag", type=click.IntRange(0), metavar="RECORDS", help="With --check: more is a problem.")
@click.option("--members", type=click.IntRange(1), metavar="NUMBER", help="Of wait: so many.")
@click.option("--since", type=StateFile(), metavar="FILE", help="Of wait: -o json before a restart.")
@click.option("--restarted", multiple=True, metavar="WHICH", help="Of wait: it is back, by host or id.")
@click.option(
    "--session-timeout",
    type=Duration(1, 86_400),
    metavar="DURATION",
    help="session.timeout.ms.  [default: 45s; in forecasts that of --config, else of the release]",
)
@click.option("--config", "settings_file", type=FILE, metavar="FILE", help="Of what-if: the members' settings.")
@click.option("--state", type=click.Choice(["persistent", "ephemeral"]), help="Of what-if.  [default: persistent]")
@ASSUME
@click.option(
    "--interval", type=Duration(0.1, 3600), metavar="DURATION", help="Between looks.  [default: 1s; --serve 30s]"
)
@click.option(
    "--timeout",
    type=Duration(0.1, 7 * 86_400),
    metavar="DURATION",
    help="Of a lookup (10s), or of wait (10m).",
)
@click.pass_context
def group(context: click.Context, /, bootstrap_servers: str | None, command_config: Path | None, **given: Any) -> None:
    """Inspect a live group of any language: versions, tasks, upgrade status, and findings.

    The first line says how far the group is. The group is only described, so nothing changes. watch prints changes
    and problems until Ctrl-C, wait returns when the group is stable, empty or release=RELEASE, and what-if forecasts a
    STEP: restart, stop or upgrade of WHICH, or add. WHICH is an instance: its host, client.id or group.instance.id
    without thread, several with commas, or all.

    Exit status 0 on success; 1 if a group or a broker cannot be described or, with --check, if there is a problem (one
    that may end by itself after 10 seconds). wait ends with 124 after the timeout, 3 if metadata does not show the
    release, and 1 if it cannot be met, or it is not known how many members there have to be.

    \b
    Examples:
      export KAFKA_BOOTSTRAP_SERVERS=localhost:9092
      streams-assignor group billing
      streams-assignor group list --check                         # monitoring
      streams-assignor group list -o openmetrics > groups.prom
      streams-assignor group list --serve 9464                    # for Prometheus
      streams-assignor group list --to 4.3                        # what blocks which group
      streams-assignor group billing -o json > before.json        # then restart pod-1
      streams-assignor group wait billing stable --since before.json --restarted pod-1
      streams-assignor group wait billing release=2.8 --members 12 --timeout 10m
      streams-assignor group wait billing empty && ./deploy       # offline
      streams-assignor group what-if billing "restart pod-3"      # rebalances, moved tasks
      streams-assignor group what-if billing "upgrade all 4.3"    # the cheapest order
    """  # noqa: D301 - click reads the backspace character
    options = InspectionOptions.parse(**given)
    expected = options.expected_members()
    if options.target:
        clusters = _clusters(context, bootstrap_servers, command_config, options.contexts)
        context.exit(_show_fleet(clusters, options, options.target))
    servers, config = cluster_settings(context, bootstrap_servers, command_config)
    silence_client_logs()
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    limit = (options.timeout or WAIT_SECONDS) if options.condition else 0.0
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

    lookup = GroupLookup(servers, config.settings, min(seconds, limit) if limit else options.timeout or seconds)
    if options.operation:
        _forecast(lookup, options, options.operation)
        return
    looks = _looks(lookup, options)
    if options.address:
        step("")
        from streams_assignor.cli.group._serve import SERVE_SECONDS, serve

        serve(looks.look, options.address, options.interval or SERVE_SECONDS)
        return
    pause = WATCH_SECONDS if options.interval is None else options.interval
    shown = OUTPUTS[options.form](options.name is None)
    if options.watch:
        step("")
        context.exit(_watch(looks.look, shown, options.name or "groups", interval=pause, check=options.check))
    if options.condition:
        step("")
        status = _wait(looks.look, shown, options, options.condition, expected, limit, pause)
        if status is not None:
            context.exit(status)
    context.exit(_show(looks.look, shown, interval=pause, check=options.check))


def _looks(lookup: GroupLookup, options: InspectionOptions) -> Looks:
    """Return the looks that the options ask for."""
    repeats = options.watch or options.condition
    with_lag = options.max_lag is not None or not repeats if options.reads_lag is None else options.reads_lag
    lasts = options.check or options.watch or options.address
    return Looks(
        lookup,
        options.name,
        options.assumed,
        reads_lag=with_lag,
        max_lag=options.max_lag,
        unread=UnreadRecordsDetector() if lasts else None,
        expect_members=options.expect_members or 0,
        report=progress_report(watch=options.watch or bool(options.address)),
    )


def _wait(
    look: Callable[[], Look],
    output: Output,
    options: InspectionOptions,
    condition: WaitCondition,
    expected: ExpectedMembers,
    limit: float,
    pause: float,
) -> int | None:
    """Wait, and show the group unless the table does; return the exit status, None if problems decide it."""
    is_table = options.form == "table"
    result = wait_for(
        options.name or "",
        condition,
        expected,
        look,
        timeout=limit,
        interval=pause,
        report=lambda line: click.echo(line, err=not is_table),
    )
    for text in result.notes:
        _note(text)
    groups = result.look.groups  # none if a group that has to be empty does not exist
    if options.check and groups and not result.status:
        return None
    if not is_table and groups:
        output.show(groups)
    return result.status


def _forecast(lookup: GroupLookup, options: InspectionOptions, operation: Operation) -> None:
    """Look at a group once and print what a step does to it."""
    config = read_config(options.settings_file)
    session_s = session_timeout_of(options.session_timeout, options.settings_file)
    current = Looks(lookup, options.name, options.assumed).look()
    if current.error:
        raise click.ClickException(error_text(current.error))
    group = current.groups[0]
    show_forecast(
        group,
        lookup.changelog_sizes(group.described.name, step),
        operation,
        config,
        options.form,
        ephemeral=options.state == "ephemeral",
        session_timeout_s=session_s,
    )


def _clusters(
    context: click.Context, servers: str | None, command_config: Path | None, contexts: Path | None
) -> Mapping[str, tuple[str, CommandConfig]]:
    """Return the clusters of ``--contexts``, or else the one of the other options."""
    if contexts is None:
        servers, config = cluster_settings(context, servers, command_config)
        return {servers: (servers, config)}
    one = map(context.get_parameter_source, ("bootstrap_servers", "command_config"))
    if ParameterSource.COMMANDLINE in one:
        raise click.UsageError("expected either --contexts or --bootstrap-servers and --command-config")
    from streams_assignor.cli.group._fleet import read_contexts

    try:
        return {name: (config.brokers or "", config) for name, config in read_contexts(contexts).items()}
    except (UpgradeError, OSError) as error:
        raise click.UsageError(str(error)) from None


def _show_fleet(
    clusters: Mapping[str, tuple[str, CommandConfig]], options: InspectionOptions, target: ResolvedRelease
) -> int:
    """Look once at each cluster and print its Streams groups beside a release; return the exit status."""
    from streams_assignor.cli.group._fleet import cluster_of, show_fleet  # a look without plans is made sooner
    from streams_assignor.cli.plan.live_group import read_brokers
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

    silence_client_logs()
    seen = []
    for name, (servers, config) in clusters.items():
        step(f"{name}: looking at groups and brokers")
        seconds = options.timeout or config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
        lookup = GroupLookup(servers, config.settings, seconds)
        current = _looks(lookup, options).look()
        brokers, why = read_brokers(servers, config, seconds)
        seen.append(cluster_of(name, current, brokers, why, target, options.assumed))
    step("writing what was found")
    show_fleet(seen, target.release.name, options.form)
    return int(any(cluster.failures for cluster in seen))


def _show(look: Callable[[], Look], output: Output, *, interval: float, check: bool) -> int:
    """Show groups once; return the exit status. With ``check``, look until it is clear which problems last."""
    step("looking at the cluster")
    if check:
        current, problems = look_until_decided(look, interval)
    else:
        current, problems = look(), ProblemClock()
    if current.error:
        raise click.ClickException(error_text(current.error))
    step("writing what was found")
    output.show(current.groups)
    for failure in current.failures:
        _note(f"{failure}; its groups are not shown")
    if check:
        for name in current.hidden:
            _note(
                f"{name} has rebalanced for {format_seconds(CONFIRM_SECONDS)}: whether it has a problem cannot be told"
            )
    hidden = check and not problems.lasting and bool(current.hidden)
    return int(bool(problems.lasting) or not current.is_complete or hidden)


def _watch(look: Callable[[], Look], output: Output, title: str, *, interval: float, check: bool) -> int:
    """Look repeatedly until Ctrl-C, also while no broker answers; return the exit status, as of the last look."""
    last, problems = Look(error=ClusterError("no look yet")), ProblemClock()

    def recorded() -> Look:
        nonlocal last
        last = look()
        return last

    with suppress(KeyboardInterrupt):  # the regular end
        output.watch(looks(recorded, interval), problems, f"{title}: no answer yet")
    return int(check and (bool(problems.lasting) or not last.is_complete))


def _note(text: str) -> None:
    click.echo(f"note: {sanitize(text)}", err=True)
