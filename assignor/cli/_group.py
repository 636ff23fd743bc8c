"""``streams-assignor group``: one live group or all of a cluster: versions, tasks, upgrade status, findings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import click

from assignor.cli._group_output import OUTPUTS, Output
from assignor.cli._group_wait import Condition, ConditionType, release_note, wait_for
from assignor.cli._group_watch import Look, ProblemClock, error_text, look_until_decided, looks
from assignor.cli.params import BOOTSTRAP_SERVERS, COMMAND_CONFIG, Duration, cluster_settings
from assignor.formats.text import sanitize
from assignor.inspect import LOOKUP_TIMEOUT_SECONDS, ClusterGroups, DescribedGroup, inspect_group
from upgrade.features.client.errors import ClusterError

WATCH_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 600.0


class Lookup(Protocol):
    """Describes the groups of a cluster; ``ClusterError`` if that fails."""

    def group(self, name: str) -> DescribedGroup:
        """Describe one group; ``NoSuchGroup`` if it does not exist."""
        ...

    def groups(self) -> ClusterGroups:
        """Describe all groups, as far as brokers answer."""
        ...


LookupFactory = Callable[[str, Mapping[str, Any], float], Lookup]
"""Takes bootstrap servers, settings of the client library, and the time limit of each call in seconds."""


def _load_kafka_python() -> LookupFactory:
    from assignor.clients.kafka_python.describe_groups import GroupLookup

    return GroupLookup


def _load_confluent() -> LookupFactory:
    from assignor.clients.confluent.describe_groups import GroupLookup

    return GroupLookup


LOOKUP_LOADERS: Final[Mapping[str, Callable[[], LookupFactory]]] = {
    "kafka-python": _load_kafka_python,
    "confluent-kafka": _load_confluent,
}
"""By client library, in order of preference. Each raises ``ImportError`` if its library is not installed."""


def _checked_text(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    """Refuse bytes that are not text: no group has such a name, and confluent-kafka would raise a Python error."""
    for value in values:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"expected text in UTF-8, got {value!r}") from None
    return values


@click.command
@click.argument("words", nargs=-1, metavar="[list | [describe] NAME]", callback=_checked_text)
@click.option("--all", "everything", is_flag=True, help="All groups of the cluster, one row each; the same as list.")
@BOOTSTRAP_SERVERS
@COMMAND_CONFIG
@click.option("-o", "--output", type=click.Choice(list(OUTPUTS)), help="Form of the output.  [default: table]")
@click.option("--json", "as_json", is_flag=True, help="The same as -o json; with --watch one line per refresh.")
@click.option("--check", is_flag=True, help="Exit status 1 if there is a problem (notices do not count).")
@click.option("--watch", is_flag=True, help="Refresh and print changes and problems, until Ctrl-C.")
@click.option(
    "--wait",
    "condition",
    type=ConditionType(),
    metavar="stable|empty|release=RELEASE",
    help="Return when the group is there: status 0, or 124 after --timeout.",
)
@click.option("--interval", type=Duration(0.1, 3600), metavar="DURATION", help="Between looks.  [default: 1s]")
@click.option(
    "--timeout",
    type=Duration(0.1, 7 * 86_400),
    metavar="DURATION",
    help="Time limit of each lookup, 10s by default; with --wait of the wait, 10m by default.",
)
@click.option(
    "--client",
    type=click.Choice(list(LOOKUP_LOADERS)),
    help="Use this client library.  [default: the first that is installed]",
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
    watch: bool,
    condition: Condition | None,
    interval: float | None,
    timeout: float | None,
    client: str | None,
) -> None:
    """Inspect a live group of any language: versions, tasks, upgrade status, and findings.

    Decodes the subscriptions and assignments of a Kafka Streams group; for other groups it shows what is there. The
    first line says how far the group is. The group is only described, so nothing changes.

    A duration is a number of seconds, or 90s, 10m, 1h30m.

    Exit status 0 on success; 1 if a group or a broker cannot be described (the group does not exist, no broker
    answers, not authorized, still loading) or, with --check, if there is a problem; with --wait 124 after the timeout.
    A problem that ends by itself while a group works counts only if it lasts 10 seconds.

    \b
    Examples:
      export KAFKA_BOOTSTRAP_SERVERS=localhost:9092
      streams-assignor group billing
      streams-assignor group billing --watch --interval 5s
      streams-assignor group billing --wait stable --timeout 10m  # each restart
      streams-assignor group billing --wait release=4.3.1         # the last one
      streams-assignor group billing --wait empty && ./deploy     # offline
      streams-assignor group billing --command-config FILE -o yaml
      streams-assignor group list --check                         # monitoring
    """  # noqa: D301 - click reads the backspace character
    name = _group_name(words, everything)
    form = _output_form(output, as_json)
    if condition and (watch or name is None):
        raise click.UsageError("expected --wait with the NAME of one group and without --watch")
    servers, config = cluster_settings(context, bootstrap_servers, command_config)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # errors arrive as exceptions
    seconds = config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS
    if condition:
        limit = timeout or WAIT_SECONDS
        seconds = min(seconds, limit)
    else:
        limit, seconds = 0.0, timeout or seconds
    lookup = _load_lookup([client] if client else list(LOOKUP_LOADERS))(servers, config.settings, seconds)
    look: Callable[[], Look] = partial(_look, lookup, name)
    pause = WATCH_SECONDS if interval is None else interval
    shown = OUTPUTS[form](name is None)
    if watch:
        context.exit(_watch(look, shown, name or "groups", interval=pause, check=check))
    if condition:
        found = wait_for(
            name or "",
            condition,
            look,
            timeout=limit,
            interval=pause,
            report=lambda line: click.echo(line, err=form != "table"),
        )
        _note(release_note(condition, found))
        if not (check and found.groups):  # an empty group may not exist
            if form != "table" and found.groups:
                shown.show(found.groups)
            return
    context.exit(_show(look, shown, interval=pause, check=check))


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


def _load_lookup(clients: Sequence[str]) -> LookupFactory:
    missing = []
    for name in clients:
        try:
            return LOOKUP_LOADERS[name]()
        except ImportError as error:
            missing.append(str(error))
    raise click.ClickException("; or ".join(missing))


def _look(lookup: Lookup, name: str | None) -> Look:
    """Look once at a group, or at all; an error of the cluster is part of the result."""
    try:
        found = ClusterGroups(groups=(lookup.group(name),)) if name else lookup.groups()
    except ClusterError as error:
        return Look(error=error)
    return Look(groups=tuple(map(inspect_group, found.groups)), failures=found.failures)


def _show(look: Callable[[], Look], output: Output, *, interval: float, check: bool) -> int:
    """Show groups once; return the exit status. With ``check``, look until it is clear which problems last."""
    if check:
        found, problems = look_until_decided(look, interval)
    else:
        found, problems = look(), ProblemClock()
    if found.error:
        raise click.ClickException(error_text(found.error))
    output.show(found.groups)
    for failure in found.failures:
        _note(f"{failure}; its groups are not shown")
    return int(bool(problems.lasting) or not found.is_complete)


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
    if text:
        click.echo(f"note: {sanitize(text)}", err=True)
