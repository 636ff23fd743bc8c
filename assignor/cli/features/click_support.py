"""The command line of Kafka's feature tool, on click: its error texts, and options before or after the sub-command.

Every error is exit status 1 and a line on standard error. Kafka's parser is argparse4j, so its texts are those of
Python's argparse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final, TypeVar

import click

from streams_assignor.upgrade.cluster.client.command_config import COMMAND_CONFIG_VARIABLE
from streams_assignor.upgrade.cluster.client.errors import ApiError
from streams_assignor.upgrade.cluster.features.rpc import Listener
from streams_assignor.upgrade.config_types import parse_bootstrap_servers
from streams_assignor.upgrade.errors import ConfigException, UpgradeError
from streams_assignor.upgrade.extras import MissingExtraError

BOOTSTRAP_SERVERS_VARIABLE: Final = "KAFKA_BOOTSTRAP_SERVERS"
"""The variable of the environment with the value of ``--bootstrap-servers``."""

OUTPUTS: Final = ("text", "json", "yaml")
"""The values of ``-o``."""

F = TypeVar("F", bound=Callable[..., Any])


class CommandFailure(click.ClickException):
    """An error of the tool, exit status 1; without the usage text that click adds."""

    newline = True

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the message to standard error."""
        click.echo(self.message, file=file or sys.stderr, nl=self.newline)


class UsageFailure(CommandFailure):
    """An invalid command line; like Kafka's tool, without a newline at the end."""

    newline = False


def usage_error(message: str) -> UsageFailure:
    """Return the error for an invalid command line."""
    return UsageFailure(f"Command line error: {message}. Type --help for help.")


@contextmanager
def _java_error_messages() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        raise usage_error(error.format_message().removesuffix(".")) from None
    except BrokenPipeError:
        raise  # not an error: the reader of the output has closed it
    except (MissingExtraError, UpgradeError, OSError) as error:
        raise CommandFailure(error.java_text if isinstance(error, ApiError) else str(error)) from None


def bootstrap_servers_callback(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse anything but ``HOST:PORT,...``; the callback of an option."""
    try:
        return None if value is None else parse_bootstrap_servers(value)
    except ConfigException as error:
        raise click.BadParameter(str(error), context, parameter) from None


class FeatureCommandGroup(click.Group):
    """The tool: sub-commands in the order of Kafka's tool, errors with its texts."""

    def __init__(self, *args: Any, expand: Callable[[click.Group, Sequence[str]], list[str]], **kwargs: Any) -> None:
        super().__init__(*args, context_settings={"help_option_names": ["-h", "--help"]}, **kwargs)
        self._expand = expand

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Expand the command line and parse the options before the sub-command."""
        with _java_error_messages():
            words = args if extra.get("resilient_parsing") else self._expand(self, args)
            return super().make_context(info_name, words, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the rest of the command line and run it."""
        with _java_error_messages():
            return super().invoke(ctx)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """List the sub-commands."""
        return list(self.commands)


BOOTSTRAP_LISTENERS: Final = {"bootstrap_server": Listener.BROKER, "bootstrap_controller": Listener.CONTROLLER}


def _help(text: str, variable: str) -> str:
    return f"{text}  [env var: {variable}]"


_SHARED: Final[dict[str, dict[str, Any]]] = {
    "--bootstrap-server": {
        "metavar": "HOST:PORT,...",
        "help": _help("Brokers of the cluster.", BOOTSTRAP_SERVERS_VARIABLE),
    },
    "--bootstrap-controller": {"metavar": "HOST:PORT,...", "help": "Controllers of the cluster, instead."},
    "--command-config": {
        "metavar": "FILE",
        "help": _help("Kafka's settings for clients, a properties file.", COMMAND_CONFIG_VARIABLE),
    },
    "--timeout": {"type": click.IntRange(1, 3600), "metavar": "SECONDS", "help": "Wait at most so long."},
    "-o --output": {"type": click.Choice(OUTPUTS), "help": "Form of the output; lines by default."},
    "--json": {"is_flag": True, "help": "The same as -o json: one JSON object instead of lines."},
}


def shared_options(command: F) -> F:
    """Add the options that may be before or after the sub-command; ``shared_option`` reads them."""
    for name in reversed(_SHARED):
        command = click.option(*name.split(), callback=_store_shared_option, expose_value=False, **_SHARED[name])(
            command
        )
    return command


def shared_option(name: str) -> Any:
    """Return the value of a shared option; None if it is not given."""
    return click.get_current_context().meta.get(__name__, {}).get(name)


def output_form() -> str:
    """Return the form of the output: one of ``OUTPUTS``; ``-o`` counts if ``--json`` is given as well."""
    return shared_option("output") or ("json" if shared_option("json") else OUTPUTS[0])


def shared_bootstrap_servers(name: str) -> str | None:
    """Return the bootstrap servers of an option; None if it is not given."""
    text = shared_option(name)
    try:
        return None if text is None else parse_bootstrap_servers(text)
    except ConfigException as error:
        raise usage_error(f"argument --{name.replace('_', '-')}: {error}") from None


def bootstrap_servers_variable() -> str | None:
    """Return the bootstrap servers of the environment, which count if neither options nor their file has some."""
    text = os.environ.get(BOOTSTRAP_SERVERS_VARIABLE)
    try:
        return parse_bootstrap_servers(text) if text else None
    except ConfigException as error:
        raise usage_error(f"{BOOTSTRAP_SERVERS_VARIABLE}: {error}") from None


def _store_shared_option(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and value is not False:
        context.meta.setdefault(__name__, {})[parameter.name] = value


def say_step(text: str) -> None:
    """Say what the command is doing, for a caller that shows it; empty while it waits for its user."""
    if (step := click.get_current_context().meta.get("streams-assignor.step")) is not None:
        step(text)


def confirm_unsafe(warning: str) -> None:
    """Ask for confirmation on the terminal; ``CommandFailure`` if it is denied, or if there is no terminal."""
    if not _is_interactive():
        raise CommandFailure(f"{warning}, and there is no terminal to ask at: add --yes to do it, or --dry-run to try.")
    say_step("")
    if not click.confirm(f"{warning}. Do it?", err=True):
        raise CommandFailure("Nothing was changed.")


def _is_interactive() -> bool:
    return bool(sys.stdin and sys.stdin.isatty())
