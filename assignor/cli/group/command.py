"""``streams-assignor group``: one live group or all of a cluster: versions, tasks, upgrade status, findings."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import evolve
from click.core import ParameterSource

from streams_assignor.cli.group._lookup import Lookup, load_lookup
from streams_assignor.cli.group._output import OUTPUTS, Output
from streams_assignor.cli.group._wait import (
    EMPTY_CONDITION,
    STABLE_CONDITION,
    RememberedState,
    StateFile,
    WaitCondition,
    expected_members,
    release_condition,
    wait_for,
)
from streams_assignor.cli.group._watch import CONFIRM_SECONDS, Look, ProblemClock, error_text, look_until_decided, looks
from streams_assignor.cli.group._what_if import FORMS as FORECAST_FORMS
from streams_assignor.cli.group._what_if import read_config, read_operation, session_timeout_of, show_forecast
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
from streams_assignor.groups import (
    LOOKUP_TIMEOUT_SECONDS,
    ClusterGroups,
    CrashLoopDetector,
    InspectedGroup,
    InspectedMember,
    NoSuchGroup,
    inspect_group,
)
from streams_assignor.groups.check import check_members
from streams_assignor.groups.offsets import UnreadRecordsDetector, check_lag, offset_request
from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.releases import Release, ResolvedRelease, resolve_release

if TYPE_CHECKING:
    from streams_assignor.spark_sim.forecast import Operation
    from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
    from streams_assignor.upgrade.streams_config import StreamsConfig

WATCH_SECONDS: Final = 1.0
_NEAREST: Final = 3
LOOPBACK: Final = "127.0.0.1"
_LAST_PORT: Final = 65_535
_COMPLETION_SECONDS: Final = 2.0
WAIT_SECONDS: Final = 600.0
_WORDS: Final = {
    "describe": "NAME",
    "watch": "[NAME]",
    "wait": "NAME stable|empty|release=RELEASE",
    "what-if": "NAME STEP",
}
"""The words before the name of a group, and their operands; a group of such a name is ``describe NAME``."""
FLEET_FORMS: Final = ("table", "json", "yaml", "markdown", "html")
"""The forms of ``list --to``."""


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
        _note(f"--{word} is now group {word} {_WORDS[word]}")
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
    words = [] if given else ["list", *_WORDS]
    names: Sequence[str] = ()
    with suppress(click.ClickException, ClusterError, MissingExtraError):  # a shell shows no error
        servers, config = cluster_settings(context, params.get("bootstrap_servers"), params.get("command_config"))
        silence_client_logs()
        lookup = load_lookup()(servers, config.settings, _COMPLETION_SECONDS)
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
def group(
    context: click.Context,
    words: Sequence[str],
    everything: bool,
    bootstrap_servers: str | None,
    command_config: Path | None,
    output: str | None,
    as_json: bool,
    check: bool,
    reads_lag: bool | None,
    expect_members: int | None,
    max_lag: int | None,
    watch: bool,
    wanted: str | None,
    address: tuple[str, int] | None,
    target: str | None,
    contexts: Path | None,
    members: int | None,
    since: RememberedState | None,
    restarted: tuple[str, ...],
    session_timeout: float | None,
    operation: str | None,
    settings_file: Path | None,
    state: str | None,
    assume: str | None,
    interval: float | None,
    timeout: float | None,
) -> None:
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
    name, watch, wanted, operation = _asked(words, everything, watch, wanted, operation)
    form = _output_form(output, as_json)
    assumed = _release(assume, "--assume").release if assume is not None else None
    condition = _condition(wanted, assume) if wanted is not None else None
    if condition and (watch or name is None):
        raise click.UsageError("expected --wait with the NAME of one group and without --watch")
    if max_lag is not None and (reads_lag is False or not (check or watch)):
        raise click.UsageError("expected --max-lag with --check or --watch, and without --no-lag")
    if expect_members is not None and (name is None or not (check or watch)):
        raise click.UsageError("expected --expect-members with the NAME of one group, and with --check or --watch")
    step_asked = read_operation(operation) if operation is not None else None
    if step_asked and (
        watch or condition or check or max_lag is not None or name is None or form not in FORECAST_FORMS
    ):
        raise click.UsageError(
            "expected what-if NAME STEP, without --watch, --wait, --check and --max-lag, and with "
            f"-o {'|'.join(FORECAST_FORMS)}"
        )
    if (settings_file or state) and not step_asked:
        raise click.UsageError("expected --config and --state with what-if")
    for_members = members or since or restarted or (session_timeout and not step_asked)
    if for_members and not (condition and condition.needs_members):
        raise click.UsageError(
            "expected --members, --since, --restarted and --session-timeout with wait NAME stable|release="
        )
    if contexts and not target:
        raise click.UsageError("expected --contexts with --to")
    if target and (name or watch or condition or step_asked or check):
        raise click.UsageError("expected --to with list, and without --check")
    if address and (name or watch or condition or step_asked or check or target or output or as_json):
        raise click.UsageError("expected --serve with list, and without --check, --to and -o")
    if form not in (FLEET_FORMS if target else OUTPUTS):
        raise click.UsageError(f"expected -o {'|'.join(FLEET_FORMS if target else OUTPUTS)}, got {form}")
    expected = expected_members(name or "", members, restarted, since, session_timeout)
    if target:
        clusters = _clusters(context, bootstrap_servers, command_config, contexts)
        resolved = _release(target, "--to", assume)
        context.exit(_show_fleet(clusters, resolved, assumed, timeout, form, reads_lag=reads_lag is not False))
    servers, config = cluster_settings(context, bootstrap_servers, command_config)
    silence_client_logs()
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    if condition:
        limit = timeout or WAIT_SECONDS
        seconds = min(seconds, limit)
    else:
        limit, seconds = 0.0, timeout or seconds
    lookup = load_lookup()(servers, config.settings, seconds)
    if step_asked:
        member_settings, session_s = read_config(settings_file), session_timeout_of(session_timeout, settings_file)
        _forecast(lookup, name, assumed, step_asked, member_settings, form, state == "ephemeral", session_s)
        return
    if reads_lag is None:
        reads_lag = max_lag is not None or not (watch or condition)
    unread = UnreadRecordsDetector() if check or watch or address else None
    report = _report_progress(watch or bool(address))
    add_offsets = partial(_with_offsets, lookup, max_lag, unread, report) if reads_lag else list
    nearest = cache(partial(_nearest, lookup, name))
    look: Callable[[], Look] = partial(
        _look, lookup, name, {}, assumed, nearest, add_offsets, unread, expect_members or 0
    )
    if address:
        step("")
        from streams_assignor.cli.group._serve import SERVE_SECONDS, serve

        serve(look, address, interval or SERVE_SECONDS)
        return
    pause = WATCH_SECONDS if interval is None else interval
    shown = OUTPUTS[form](name is None)
    if watch or condition:
        step("")
    if watch:
        context.exit(_watch(look, shown, name or "groups", interval=pause, check=check))
    if condition:
        result = wait_for(
            name or "",
            condition,
            expected,
            look,
            timeout=limit,
            interval=pause,
            report=lambda line: click.echo(line, err=form != "table"),
        )
        for text in result.notes:
            _note(text)
        groups = result.look.groups  # none if a group that has to be empty does not exist
        if result.status or not (check and groups):
            if form != "table" and groups:
                shown.show(groups)
            context.exit(result.status)
    context.exit(_show(look, shown, interval=pause, check=check))


def _forecast(
    lookup: Lookup,
    name: str | None,
    assumed: Release | None,
    operation: Operation,
    config: StreamsConfig,
    form: str,
    ephemeral: bool,
    session_timeout_s: float | None,
) -> None:
    """Look at a group once and print what a step does to it."""
    nearest = cache(partial(_nearest, lookup, name))
    current = _look(lookup, name, {}, assumed, nearest, list)
    if current.error:
        raise click.ClickException(error_text(current.error))
    group = current.groups[0]
    show_forecast(
        group,
        lookup.changelog_sizes(group.described.name, step),
        operation,
        config,
        form,
        ephemeral=ephemeral,
        session_timeout_s=session_timeout_s,
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
    clusters: Mapping[str, tuple[str, CommandConfig]],
    target: ResolvedRelease,
    assume: Release | None,
    timeout: float | None,
    form: str,
    *,
    reads_lag: bool,
) -> int:
    """Look once at each cluster and print its Streams groups beside a release; return the exit status."""
    from streams_assignor.cli.group._fleet import cluster_of, show_fleet  # a look without plans is made sooner
    from streams_assignor.cli.plan._live_group import read_brokers

    silence_client_logs()
    seen = []
    for name, (servers, config) in clusters.items():
        step(f"{name}: looking at groups and brokers")
        seconds = timeout or config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
        lookup = load_lookup()(servers, config.settings, seconds)
        add_offsets = partial(_with_offsets, lookup, None, None, _report_progress(watch=False)) if reads_lag else list
        current = _look(lookup, None, {}, assume, lambda: "", add_offsets)
        brokers, why = read_brokers(servers, config, seconds)
        seen.append(cluster_of(name, current, brokers, why, target, assume))
    step("writing what was found")
    show_fleet(seen, target.release.name, form)
    return int(any(cluster.failures for cluster in seen))


def _condition(wanted: str, assume: str | None) -> WaitCondition:
    match wanted.partition("="):
        case ("stable", "", ""):
            return STABLE_CONDITION
        case ("empty", "", ""):
            return EMPTY_CONDITION
        case ("release", "=", name) if name:
            return release_condition(_release(name, "wait", assume))
    raise click.BadParameter(f"expected stable, empty or release=RELEASE, got {wanted!r}", param_hint="wait")


def _release(name: str, option: str, assume: str | None = None) -> ResolvedRelease:
    try:
        return resolve_release(name, assume)
    except UpgradeError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _asked(
    words: Sequence[str], everything: bool, watch: bool, wanted: str | None, operation: str | None
) -> tuple[str | None, bool, str | None, str | None]:
    """Return the name of a group (None: all), whether it is watched, and what is waited for, or played."""
    match (*words,):
        case ("watch", *names) if len(names) < 2 and not (everything and names):
            return next(iter(names), None), True, wanted, operation
        case ("wait", name, condition) if wanted is None and not everything:
            return name, watch, condition, operation
        case ("what-if", name, step_asked) if operation is None and not everything:
            return name, watch, wanted, step_asked
        case (("wait" | "what-if") as word, *_):
            raise click.UsageError(f"expected {word} {_WORDS[word]}")
    return _group_name(words, everything), watch, wanted, operation


def _group_name(words: Sequence[str], everything: bool) -> str | None:
    """Return the name of a group; None for all groups."""
    match (*words,):
        case () if everything:
            return None
        case ("list",):
            return None
        case ("describe", name) | (name,) if not everything:
            return name
    raise click.UsageError("expected either the NAME of a group or --all")


def _output_form(output: str | None, as_json: bool) -> str:
    if as_json and output not in (None, "json"):
        raise click.UsageError(f"expected either --json or -o {output}")
    return output or ("json" if as_json else "table")


def _look(
    lookup: Lookup,
    name: str | None,
    detectors: dict[str, CrashLoopDetector],
    assume: Release | None,
    nearest: Callable[[], str],
    add_offsets: Callable[[Sequence[InspectedGroup]], Sequence[InspectedGroup]],
    unread: UnreadRecordsDetector | None = None,
    expect_members: int = 0,
) -> Look:
    """Look once at a group, or at all; an error of the cluster is part of the result."""
    try:
        cluster = ClusterGroups(groups=(lookup.group(name),)) if name else lookup.groups()
    except NoSuchGroup as error:
        return Look(error=NoSuchGroup(f"{error}{nearest()}"))
    except ClusterError as error:
        return Look(error=error)
    now = time.monotonic()
    groups = [
        detectors.setdefault(group.name, CrashLoopDetector()).update(inspect_group(group, assume=assume), now)
        for group in cluster.groups
    ]
    names = {group.name for group in cluster.groups}
    for gone in detectors.keys() - names:
        del detectors[gone]
    if unread:
        unread.forget_others(names)
    with_offsets = [
        evolve(group, findings=(*check_members(group.described, expect_members), *group.findings))
        for group in add_offsets(groups)
    ]
    undecided = unread is not None and unread.is_undecided(time.monotonic(), CONFIRM_SECONDS)
    return Look(groups=tuple(with_offsets), failures=cluster.failures, is_undecided=undecided)


def _with_offsets(
    lookup: Lookup,
    max_lag: int | None,
    unread: UnreadRecordsDetector | None,
    report: Callable[[str], object],
    groups: Sequence[InspectedGroup],
) -> Sequence[InspectedGroup]:
    """Return the groups with their offsets, and with the problems that these show."""
    described = [group for group in groups if not group.described.error or any(map(_has_assignment, group.members))]
    offsets = lookup.offsets([offset_request(group) for group in described], report) if described else {}
    report("")
    with_offsets = [evolve(group, offsets=offsets.get(group.described.name)) for group in groups]
    if unread:
        now = time.monotonic()
        with_offsets = [unread.update(group, now) for group in with_offsets]
    return with_offsets if max_lag is None else [check_lag(group, max_lag) for group in with_offsets]


def _has_assignment(member: InspectedMember) -> bool:
    return bool(member.assignment.partitions or member.assignment.active)


def _report_progress(watch: bool) -> Callable[[str], object]:
    """Return what shows a line at a terminal until the next one; an empty line clears it."""
    if watch or not sys.stderr.isatty():
        return lambda _line: None
    from streams_assignor.formats.console import SafeConsole

    status = SafeConsole(stderr=True).status("")

    def report(line: str) -> None:
        status.update(line)
        status.start() if line else status.stop()

    return report


def _nearest(lookup: Lookup, name: str | None) -> str:
    """Name the groups with the most similar names; empty if there are none."""
    with suppress(ClusterError):
        if similar := get_close_matches(name or "", lookup.names(), n=_NEAREST):
            return f"; did you mean {' or '.join(map(printable, similar))}?"
    return ""


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
