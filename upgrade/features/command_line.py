"""The manners of Kafka's feature tool on click: its words for wrong usage, and options that stand anywhere on the line.

With it every mistake is exit status 1 and a line on standard error; its parser is argparse4j, so the words are those of
Python's argparse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, TypeVar

import click

from upgrade.errors import ConfigException, UpgradeError
from upgrade.features.rpc import Listener, Refused
from upgrade.values import server_list

F = TypeVar("F", bound=Callable[..., Any])


class Failure(click.ClickException):
    """What the tool says and ends with, status 1; without the frame that click puts around an error."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Write it to standard error."""
        click.echo(self.message, file=file or sys.stderr)


def wrong_usage(message: str) -> Failure:
    """Return what the tool says of a command line that it cannot follow."""
    return Failure(f"Command line error: {message}. Type --help for help.")


@contextmanager
def _in_kafkas_words() -> Iterator[None]:
    try:
        yield
    except click.MissingParameter as error:
        raise wrong_usage(f"argument {error.param.opts[0] if error.param else error.param_hint} is required") from None
    except click.BadOptionUsage as error:
        raise wrong_usage(f"argument {error.option_name}: expected one argument") from None
    except click.UsageError as error:
        raise wrong_usage(error.format_message().removesuffix(".")) from None
    except BrokenPipeError:
        raise  # no mistake: who read the output has gone
    except (UpgradeError, OSError) as error:
        raise Failure(error.java if isinstance(error, Refused) else str(error)) from None


def checked_servers(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no ``HOST:PORT,...``, whatever a client library would make of it; the callback of an option."""
    try:
        return None if value is None else server_list(value)
    except ConfigException as error:
        raise click.BadParameter(str(error), context, parameter) from None


class Command(click.Command):
    """A sub-command, which keeps what it does not know for the tool's words about it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {"ignore_unknown_options": True, "allow_extra_args": True}

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, if everything on the line is known."""
        if ctx.args:
            words = ctx.args[:1] if ctx.args[0].startswith("-") else ctx.args
            raise wrong_usage(f"unrecognized arguments: '{' '.join(words)}'")
        return super().invoke(ctx)


class Tool(click.Group):
    """The tool itself: sub-commands in Kafka's order, errors in its words."""

    command_class = Command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read what stands before the sub-command."""
        with _in_kafkas_words():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Read the rest of the line, and do what it says."""
        with _in_kafkas_words():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command."""
        if args[0] not in self.commands:
            names = ", ".join(f"'{name}'" for name in self.commands)
            raise wrong_usage(f"invalid choice: '{args[0]}' (choose from {names})")
        return super().resolve_command(ctx, args)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """List the sub-commands."""
        return list(self.commands)


BOOTSTRAPS: Final = {"bootstrap_server": Listener.BROKER, "bootstrap_controller": Listener.CONTROLLER}

_SHARED: Final[dict[str, dict[str, Any]]] = {
    "--bootstrap-server": {"metavar": "HOST:PORT,...", "help": "Brokers of the cluster."},
    "--bootstrap-controller": {"metavar": "HOST:PORT,...", "help": "Controllers of the cluster, instead."},
    "--command-config": {"metavar": "FILE", "help": "Kafka's settings for clients, a properties file."},
    "--timeout": {"type": click.IntRange(1, 3600), "metavar": "SECONDS", "help": "Wait at most so long."},
    "--json": {"is_flag": True, "help": "One JSON object instead of lines."},
}


def shared_options(command: F) -> F:
    """Add the options that may stand before the sub-command, as in Kafka's tool, or after it; `given` reads them."""
    for name in reversed(_SHARED):
        command = click.option(name, callback=_remember, expose_value=False, **_SHARED[name])(command)
    return command


def given(name: str) -> Any:
    """Return what a shared option says, or None."""
    return click.get_current_context().meta.get(__name__, {}).get(name)


def given_servers(name: str) -> str | None:
    """Return where the cluster is; what asks no cluster never looks, as in Kafka's tool."""
    found = given(name)
    try:
        return server_list(found) if found else None
    except ConfigException as error:
        raise wrong_usage(f"argument --{name.replace('_', '-')}: {error}") from None


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if not value:
        return
    kept = context.meta.setdefault(__name__, {})
    for other in BOOTSTRAPS.keys() & kept.keys() - {parameter.name}:
        if parameter.name in BOOTSTRAPS:
            raise wrong_usage(f"argument {parameter.opts[0]}: not allowed with argument --{other.replace('_', '-')}")
    kept[parameter.name] = value


def agree(danger: str) -> None:
    """Let a person agree to what may do harm; `Failure` if nobody does, or nobody is there to be asked."""
    if not _at_a_terminal():
        raise Failure(f"{danger}, and there is no terminal to ask at: add --yes to do it, or --dry-run to try.")
    if not click.confirm(f"{danger}. Do it?", err=True):
        raise Failure("Nothing was changed.")


def _at_a_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty())
