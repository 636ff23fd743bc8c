"""Options and parameter types that several commands share."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from streams_assignor.cli.features.click_support import (
    BOOTSTRAP_SERVERS_VARIABLE,
    OUTPUTS,
    bootstrap_servers_callback,
)
from streams_assignor.formats.block_yaml import to_yaml
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.cluster.client.command_config import COMMAND_CONFIG_VARIABLE, CommandConfig
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.redaction import hide

F = TypeVar("F", bound=Callable[..., Any])

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE: Final = click.Path(dir_okay=False, path_type=Path)
INTERVAL_HELP: Final = "Between looks.  [default: 1s]"

JSONL: Final = click.option(
    "--jsonl", is_flag=True, help="JSON lines even on a terminal; refused lines are rows and the exit status stays 0."
)


BOOTSTRAP_SERVERS: Final = click.option(
    "--bootstrap-servers",
    "--bootstrap-server",
    envvar=BOOTSTRAP_SERVERS_VARIABLE,
    show_envvar=True,
    callback=bootstrap_servers_callback,
    metavar="HOST:PORT,...",
    help="The cluster.",
)
COMMAND_CONFIG: Final = click.option(
    "--command-config",
    envvar=COMMAND_CONFIG_VARIABLE,
    show_envvar=True,
    type=FILE,
    metavar="FILE",
    help="Kafka's client settings: TLS, SASL, servers.",
)
"""With ``BOOTSTRAP_SERVERS``, what ``cluster_settings`` takes."""


class _SafeFormatter(logging.Formatter):
    """Writes a line of a client library without secrets and control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize(hide(super().format(record)))


def _show_client_logs(_context: click.Context, _parameter: click.Parameter, level: int) -> int:
    """Print what client libraries log on standard error: twice, also what is of interest to developers."""
    if level:
        handler = logging.StreamHandler()
        handler.setFormatter(_SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        for name in CLIENT_LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG if level > 1 else logging.INFO)
            logger.propagate = False
    return level


CLIENT_LOGGERS: Final = ("kafka", "streams_assignor.librdkafka")
VERBOSE: Final = click.option(
    "-v",
    "--verbose",
    count=True,
    callback=_show_client_logs,
    expose_value=False,
    help="Logs of the client library; -vv has all.",
)


def silence_client_logs() -> None:
    """Drop the logs of client libraries, whose errors arrive as exceptions, unless ``-v`` shows them."""
    for name in CLIENT_LOGGERS:
        if not (logger := logging.getLogger(name)).handlers:
            logger.setLevel(logging.CRITICAL)


def complete_release(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete a release or a line of releases; the newest come first."""
    from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES

    releases = {**NEWEST_OF_LINE, **{name: release for name, release in RELEASES.items() if release.is_released}}
    names = [name for name, release in sorted(releases.items(), key=lambda pair: pair[1].number, reverse=True)]
    return [name for name in names if name.startswith(incomplete)]


ASSUME: Final = click.option(
    "--assume",
    metavar="RELEASE",
    shell_complete=complete_release,
    help="Treat unknown releases like RELEASE.",
)


def output_options(json_help: str) -> Callable[[F], F]:
    """Return a decorator that adds ``-o`` and ``--json``; the command gets ``output``, which ``document`` takes."""

    def add(command: F) -> F:
        command = click.option("--json", "output", flag_value="json", help=f"The same as -o json: {json_help}")(command)
        form = click.Choice(OUTPUTS)
        return click.option(
            "-o", "--output", type=form, default=OUTPUTS[0], show_default=True, help="Form of the output."
        )(command)

    return add


def document(value: Any, output: str, **json_settings: Any) -> str:
    """Write a value as YAML, or as JSON with the settings of ``json.dumps``; without an end of line."""
    if output == "yaml":
        return to_yaml(value).removesuffix("\n")
    return json.dumps(value, **json_settings)


def print_file(text: str, output: str) -> None:
    """Print the text of a JSON file, as it is or as YAML."""
    click.echo(text if output == "json" else to_yaml(json.loads(text)), nl=False)


_DURATION: Final = re.compile(r"((?P<h>[\d.]+)h)?((?P<m>[\d.]+)m)?((?P<s>[\d.]+)s?)?")
_UNIT_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A duration such as ``90``, ``90s``, ``10m`` or ``1h30m`` in a range; the value is in seconds."""

    name = "duration"

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a duration."""
        match = _DURATION.fullmatch(str(value))
        try:
            parts = {unit: float(number) for unit, number in match.groupdict().items() if number} if match else {}
        except ValueError:
            parts = {}
        if not parts:
            self.fail(f"expected a duration such as 90s, 10m or 1h30m, got {value!r}", param, ctx)
        seconds = sum(_UNIT_SECONDS[unit] * number for unit, number in parts.items())
        if not self._shortest <= seconds <= self._longest:
            self.fail(f"expected {self._shortest:g} to {self._longest:g} seconds, got {value!r}", param, ctx)
        return seconds


class Seconds(click.FloatRange):
    """A number of seconds in a range. click accepts ``nan`` in any range, and a wait of ``nan`` seconds never ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse ``nan``."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"expected a number of seconds, got {value!r}", param, ctx)
        return seconds


def is_given(context: click.Context, name: str) -> bool:
    """Whether an option is on the command line: the environment may name servers for other commands."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def cluster_settings(context: click.Context, servers: str | None, file: Path | None) -> tuple[str, CommandConfig]:
    """Return bootstrap servers and settings; the environment is used if neither option nor file names servers."""
    try:
        config = CommandConfig.read(file) if file else CommandConfig()
    except (UpgradeError, OSError) as error:
        raise click.UsageError(str(error)) from None
    if config.brokers and context.get_parameter_source("bootstrap_servers") is ParameterSource.ENVIRONMENT:
        servers = config.brokers
    servers = servers or config.brokers
    if not servers:
        raise click.UsageError(
            "expected --bootstrap-servers, or bootstrap.servers in the file of --command-config, or "
            "KAFKA_BOOTSTRAP_SERVERS"
        )
    return servers, config
