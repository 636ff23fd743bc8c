"""``streams-assignor group``: one live group or all of a cluster: versions, tasks, upgrade status, findings."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import click

from assignor.cli.params import Seconds
from assignor.inspect import (
    LOOKUP_TIMEOUT_SECONDS,
    DescribedGroup,
    InspectedGroup,
    change_text,
    find_changes,
    inspect_group,
)
from upgrade import UpgradeError
from upgrade.features.cli.click_support import bootstrap_servers_callback
from upgrade.features.client.command_config import CommandConfig
from upgrade.features.client.errors import ApiError, ClusterError

WATCH_SECONDS: Final = 1.0
_HINTS: Final = {
    "GROUP_AUTHORIZATION_FAILED": " (describing a group needs DESCRIBE on it)",
    "CLUSTER_AUTHORIZATION_FAILED": " (listing groups needs DESCRIBE on the cluster)",
}


class Lookup(Protocol):
    """Describes the groups of a cluster; ``ClusterError`` if that fails."""

    def group(self, name: str) -> DescribedGroup:
        """Describe one group; ``NoSuchGroup`` if it does not exist."""
        ...

    def groups(self) -> list[DescribedGroup]:
        """Describe all groups."""
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


def _checked_text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse bytes that are not text: no group has such a name, and confluent-kafka would raise a Python error."""
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"expected text in UTF-8, got {value!r}") from None
    return value


@click.command
@click.argument("name", required=False, callback=_checked_text)
@click.option("--all", "everything", is_flag=True, help="All groups of the cluster, one row each.")
@click.option(
    "--bootstrap-servers",
    "--bootstrap-server",
    callback=bootstrap_servers_callback,
    metavar="HOST:PORT,...",
    help="The cluster.",
)
@click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A properties file with Kafka's client settings: TLS, SASL, bootstrap.servers.",
)
@click.option("--watch", is_flag=True, help="Refresh every second and print changes, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch one line per refresh.")
@click.option("--check", is_flag=True, help="Exit status 1 if there is a problem (notices do not count).")
@click.option("--timeout", type=Seconds(0.1, 3600), metavar="SECONDS", help="Time limit of each request.  [10]")
@click.option(
    "--client",
    type=click.Choice(list(LOOKUP_LOADERS)),
    help="Use this client library.  [default: the first that is installed]",
)
@click.pass_context
def group(
    context: click.Context,
    name: str | None,
    everything: bool,
    bootstrap_servers: str | None,
    command_config: Path | None,
    watch: bool,
    as_json: bool,
    check: bool,
    timeout: float | None,
    client: str | None,
) -> None:
    """Inspect a live group of any language: versions, tasks, upgrade status, and findings.

    Decodes the subscriptions and assignments of a Kafka Streams group; for other groups it shows what is there. The
    group is only described, so nothing changes.

    Exit status 0 on success; 1 if the group cannot be described (it does not exist, no broker answers, not authorized)
    or, with --check, if there is a problem.

    \b
    Examples:
      streams-assignor group billing --bootstrap-servers localhost:9092
      streams-assignor group billing --bootstrap-servers localhost:9092 --watch
      streams-assignor group billing --command-config client.properties --json --check
      streams-assignor group --all --bootstrap-servers localhost:9092
    """  # noqa: D301 - click reads the backspace character
    if bool(name) == everything:
        raise click.UsageError("expected either the NAME of a group or --all")
    lookup = _lookup(bootstrap_servers, command_config, timeout, client)

    def inspect() -> Sequence[InspectedGroup]:
        return list(map(inspect_group, [lookup.group(name)] if name else lookup.groups()))

    output = _JsonOutput(everything) if as_json else _TableOutput(everything)
    seen = _watch(inspect, output, name) if watch else _show_once(inspect, output)
    context.exit(1 if check and any(each.problems for each in seen) else 0)


def _lookup(servers: str | None, file: Path | None, timeout: float | None, client: str | None) -> Lookup:
    try:
        config = CommandConfig.read(file) if file else CommandConfig()
    except (UpgradeError, OSError) as error:
        raise click.UsageError(str(error)) from None
    servers = servers or config.brokers
    if not servers:
        raise click.UsageError("expected --bootstrap-servers, or bootstrap.servers in the file of --command-config")
    factory = _load_lookup([client] if client else list(LOOKUP_LOADERS))
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # errors arrive as exceptions
    return factory(servers, config.settings, timeout or config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS)


def _load_lookup(clients: Sequence[str]) -> LookupFactory:
    missing = []
    for name in clients:
        try:
            return LOOKUP_LOADERS[name]()
        except ImportError as error:
            missing.append(str(error))
    raise click.ClickException("; or ".join(missing))


# -- once, or repeatedly ---------------------------------------------------------------------------------------------

_Inspect = Callable[[], Sequence[InspectedGroup]]


class _Output(Protocol):
    """A form of output."""

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        """Show groups once."""
        ...

    def watch(self, results: Iterator[Sequence[InspectedGroup] | ClusterError], nothing: str) -> None:
        """Show each result until Ctrl-C; ``nothing`` is shown until there is a first group."""
        ...


def _show_once(inspect: _Inspect, output: _Output) -> Sequence[InspectedGroup]:
    try:
        found = inspect()
    except ClusterError as error:
        raise click.ClickException(error_text(error)) from None
    output.show(found)
    return found


def _watch(inspect: _Inspect, output: _Output, name: str | None) -> Sequence[InspectedGroup]:
    """Inspect repeatedly until Ctrl-C, also while no broker answers. Return the last groups."""
    last: list[Sequence[InspectedGroup]] = [()]

    def results() -> Iterator[Sequence[InspectedGroup] | ClusterError]:
        while True:
            started = time.monotonic()
            try:
                last[0] = inspect()
                yield last[0]
            except ClusterError as error:
                yield error
            time.sleep(max(0.0, WATCH_SECONDS - (time.monotonic() - started)))

    with suppress(KeyboardInterrupt):  # the regular end
        output.watch(results(), f"{name or 'groups'}: no answer yet")
    return last[0]


def error_text(error: ClusterError) -> str:
    """Render an error in one line."""
    if isinstance(error, ApiError):
        return f"{error.name}: {error.message}{_HINTS.get(error.name, '')}"
    return str(error)


# -- for programs ----------------------------------------------------------------------------------------------------


class _JsonOutput:
    """One group as an object, all groups as a list; when watching, one line per refresh with the time."""

    def __init__(self, everything: bool) -> None:
        self._everything = everything

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        click.echo(json.dumps(self._plain(groups), indent=2))

    def watch(self, results: Iterator[Sequence[InspectedGroup] | ClusterError], _nothing: str) -> None:
        for found in results:
            plain = (
                {"error": type(found).__name__, "message": error_text(found)}
                if isinstance(found, ClusterError)
                else self._plain(found)
            )
            line = {"groups": plain} if isinstance(plain, list) else plain
            click.echo(json.dumps({"time": round(time.time(), 3), **line}))
            sys.stdout.flush()

    def _plain(self, groups: Sequence[InspectedGroup]) -> Any:
        plain = [each.as_json() for each in groups]
        return plain if self._everything else plain[0]


# -- for people ------------------------------------------------------------------------------------------------------


class _TableOutput:
    """Tables; when watching, a terminal redraws them, and other output shows only the changes."""

    def __init__(self, everything: bool) -> None:
        from rich.console import Console

        self._everything = everything
        self._console = Console(highlight=False)

    def show(self, groups: Sequence[InspectedGroup]) -> None:
        self._console.print(self._render(groups))

    def watch(self, results: Iterator[Sequence[InspectedGroup] | ClusterError], nothing: str) -> None:
        from assignor.cli import _group_tables

        tracker = _ChangeTracker(self._everything)
        with _group_tables.live_display(self._console) as draw:
            for found in results:
                news = tracker.update(found)
                picture = self._render(tracker.groups) if tracker.groups else nothing
                draw(picture, news)

    def _render(self, groups: Sequence[InspectedGroup]) -> Any:
        from assignor.cli import _group_tables

        return _group_tables.render_overview(groups) if self._everything else _group_tables.render_group(groups[0])


class _ChangeTracker:
    """Turns results into lines of news; with `several` groups each line begins with the name of its group."""

    def __init__(self, several: bool) -> None:
        self.groups: Sequence[InspectedGroup] = ()
        self._several = several
        self._last_decoded: dict[str, InspectedGroup] = {}  # each group at its last refresh with metadata
        self._last_error = ""

    def update(self, found: Sequence[InspectedGroup] | ClusterError) -> list[str]:
        """Return the news of a result."""
        if isinstance(found, ClusterError):
            before, self._last_error = self._last_error, error_text(found)
            return [self._last_error] if before != self._last_error else []
        self._last_error = ""
        known = {each.described.name: each for each in self.groups}
        news = [
            self._named(each, text) for each in found for text in self._changes(known.get(each.described.name), each)
        ]
        self._last_decoded |= {each.described.name: each for each in found if each.described.protocol}
        self.groups = found
        gone = known.keys() - {each.described.name for each in found}
        return [*news, *(f"{name}: gone" for name in sorted(gone))]

    def _changes(self, before: InspectedGroup | None, after: InspectedGroup) -> list[str]:
        found = find_changes(before, after, self._last_decoded.get(after.described.name))
        return list(map(change_text, found))

    def _named(self, group: InspectedGroup, text: str) -> str:
        return f"{group.described.name}: {text}" if self._several else text
