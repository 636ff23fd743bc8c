"""``streams-assignor group``: a live group, or all of a cluster, with versions, tasks, upgrade and findings."""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import click

from assignor.cli.seconds import Seconds
from assignor.inspect import Group, RawGroup, changes, inspect
from upgrade import UpgradeError
from upgrade.features.command_config import CommandConfig
from upgrade.features.command_line import checked_servers
from upgrade.features.rpc import ClusterError, Refused

CLIENTS: Final = {
    "kafka-python": "assignor.clients.group_lookup",
    "confluent-kafka": "assignor.clients.group_lookup_confluent",
}
"""Who can ask a cluster, the first choice first."""

EVERY_SECONDS: Final = 1.0
_HINTS: Final = {
    "GROUP_AUTHORIZATION_FAILED": " (to look at a group needs DESCRIBE on it)",
    "CLUSTER_AUTHORIZATION_FAILED": " (to list groups needs DESCRIBE on the cluster)",
}


class Lookup(Protocol):
    """Who gets raw groups from a cluster; ``ClusterError`` if that cannot be."""

    def group(self, name: str) -> RawGroup:
        """Look one up."""
        ...

    def groups(self) -> list[RawGroup]:
        """Look all up."""
        ...


def _text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse bytes that are no text: no group has such a name, and confluent-kafka fails in words of Python."""
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise click.BadParameter(f"expected text in UTF-8, got {value!r}") from None
    return value


@click.command
@click.argument("name", required=False, callback=_text)
@click.option("--all", "everything", is_flag=True, help="All groups of the cluster, a row each.")
@click.option(
    "--bootstrap-servers",
    "--bootstrap-server",
    callback=checked_servers,
    metavar="HOST:PORT,...",
    help="Where the cluster is.",
)
@click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Kafka's settings for clients, a properties file: TLS, SASL, bootstrap.servers.",
)
@click.option("--watch", is_flag=True, help="Look again every second, and tell what changes, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead; with --watch one line for each look.")
@click.option("--check", is_flag=True, help="Exit status 1 if there is a problem (a notice is none).")
@click.option("--timeout", type=Seconds(0.1, 3600), metavar="SECONDS", help="Wait at most so long.  [10]")
@click.option(
    "--client", type=click.Choice(list(CLIENTS)), help="Ask with this library.  [default: the first that is installed]"
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
    """Look into a live group of any language: versions, tasks, where its upgrade stands, and what is wrong.

    Decodes what the members of a Kafka Streams group have sent and received; of other groups it shows what there is.
    Nothing is changed, and nobody notices: the group is only described.

    Exit status 0 if it could look, 1 if not (no such group, nobody answers, not allowed) or, with --check, if there is
    a problem.

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

    def look() -> Sequence[Group]:
        return list(map(inspect, [lookup.group(name)] if name else lookup.groups()))

    show = _Json(everything) if as_json else _Tables(everything)
    seen = _watched(look, show, name) if watch else _once(look, show)
    context.exit(1 if check and any(each.problems for each in seen) else 0)


def _lookup(servers: str | None, file: Path | None, timeout: float | None, client: str | None) -> Lookup:
    try:
        config = CommandConfig.read(file) if file else CommandConfig()
    except (UpgradeError, OSError) as error:
        raise click.UsageError(str(error)) from None
    servers = servers or config.brokers
    if not servers:
        raise click.UsageError("expected --bootstrap-servers, or bootstrap.servers in the file of --command-config")
    module = _module([client] if client else list(CLIENTS))
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what matters arrives as an exception
    made: Lookup = module.GroupLookup(servers, config.settings, timeout or config.seconds or module.SECONDS)
    return made


def _module(clients: Sequence[str]) -> Any:
    missing = []
    for name in clients:
        try:
            return importlib.import_module(CLIENTS[name])
        except ImportError as error:
            missing.append(str(error))
    raise click.ClickException(f"{'; '.join(missing)}; pip install 'streams-assignor[kafka-python]'")


# -- one look, or many ----------------------------------------------------------------------------------------------

_Look = Callable[[], Sequence[Group]]


class _Shows(Protocol):
    """How looks are shown."""

    def once(self, groups: Sequence[Group]) -> None:
        """Show the only look."""
        ...

    def each(self, looks: Iterator[Sequence[Group] | ClusterError], nothing: str) -> None:
        """Show looks as they come, until there are no more or Ctrl-C; ``nothing`` before the first that shows one."""
        ...


def _once(look: _Look, show: _Shows) -> Sequence[Group]:
    try:
        found = look()
    except ClusterError as error:
        raise click.ClickException(words(error)) from None
    show.once(found)
    return found


def _watched(look: _Look, show: _Shows, name: str | None) -> Sequence[Group]:
    """Look again and again; a broker that is away for a while ends nothing. Return the last look."""
    last: list[Sequence[Group]] = [()]

    def looks() -> Iterator[Sequence[Group] | ClusterError]:
        while True:
            started = time.monotonic()
            try:
                last[0] = look()
                yield last[0]
            except ClusterError as error:
                yield error
            time.sleep(max(0.0, EVERY_SECONDS - (time.monotonic() - started)))

    with suppress(KeyboardInterrupt):  # this is how watching ends
        show.each(looks(), f"{name or 'groups'}: nothing seen yet")
    return last[0]


def words(error: ClusterError) -> str:
    """Say in one line what went wrong."""
    if isinstance(error, Refused):
        return f"{error.name}: {error.message}{_HINTS.get(error.name, '')}"
    return str(error)


# -- for programs ----------------------------------------------------------------------------------------------------


class _Json:
    """A group as one object, all groups as a list; when watching, one line for each look with the time in it."""

    def __init__(self, everything: bool) -> None:
        self._everything = everything

    def once(self, groups: Sequence[Group]) -> None:
        click.echo(json.dumps(self._plain(groups), indent=2))

    def each(self, looks: Iterator[Sequence[Group] | ClusterError], _nothing: str) -> None:
        for found in looks:
            plain = (
                {"error": type(found).__name__, "message": words(found)}
                if isinstance(found, ClusterError)
                else self._plain(found)
            )
            line = {"groups": plain} if isinstance(plain, list) else plain
            click.echo(json.dumps({"time": round(time.time(), 3), **line}))
            sys.stdout.flush()

    def _plain(self, groups: Sequence[Group]) -> Any:
        plain = [each.as_json() for each in groups]
        return plain if self._everything else plain[0]


# -- for people ------------------------------------------------------------------------------------------------------


class _Tables:
    """Tables; when watching, they are drawn anew on a terminal, and elsewhere only what changes is told."""

    def __init__(self, everything: bool) -> None:
        from rich.console import Console

        self._everything = everything
        self._console = Console(highlight=False)

    def once(self, groups: Sequence[Group]) -> None:
        self._console.print(self._picture(groups))

    def each(self, looks: Iterator[Sequence[Group] | ClusterError], nothing: str) -> None:
        from assignor.cli import group_view

        story = _Story(self._everything)
        with group_view.drawing(self._console) as draw:
            for found in looks:
                news = story.hear(found)
                picture = self._picture(story.groups) if story.groups else nothing
                draw(picture, news)

    def _picture(self, groups: Sequence[Group]) -> Any:
        from assignor.cli import group_view

        return group_view.overview(groups) if self._everything else group_view.picture(groups[0])


class _Story:
    """What has happened while somebody watched; `several` groups are told apart by their names."""

    def __init__(self, several: bool) -> None:
        self.groups: Sequence[Group] = ()
        self._several = several
        self._shown: dict[str, Group] = {}  # as they were when they last showed bytes
        self._trouble = ""

    def hear(self, found: Sequence[Group] | ClusterError) -> list[str]:
        """Return the news of a look."""
        if isinstance(found, ClusterError):
            before, self._trouble = self._trouble, words(found)
            return [self._trouble] if before != self._trouble else []
        self._trouble = ""
        known = {each.raw.name: each for each in self.groups}
        news = [self._named(each, what) for each in found for what in self._changes(known.get(each.raw.name), each)]
        self._shown |= {each.raw.name: each for each in found if each.raw.protocol}
        self.groups = found
        gone = known.keys() - {each.raw.name for each in found}
        return [*news, *(f"{name}: gone" for name in sorted(gone))]

    def _changes(self, before: Group | None, after: Group) -> list[str]:
        return changes(before, after, self._shown.get(after.raw.name))

    def _named(self, group: Group, what: str) -> str:
        return f"{group.raw.name}: {what}" if self._several else what
