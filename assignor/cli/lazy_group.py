"""A click group that imports a command only when it is called, and the console script around it.

click has no such group. ``--help`` must be fast, so this module imports click and no command; the one-line help of each
command is in a table.
Exit status: 0 success; 1 failure (a property violated, an upgrade unfinished, a line refused); 2 wrong usage;
130 interrupted; 141 the reader of the output closed the pipe.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

import click

from streams_assignor.cli.single_values import CommandGroup
from streams_assignor.formats.progress import STEP, shown_steps, step
from streams_assignor.formats.text import SafeStream, sanitize

COMPLETION_VARIABLE: Final = "_STREAMS_ASSIGNOR_COMPLETE"
"""The variable of the environment by which a shell asks for completions."""


class LazyCommand(NamedTuple):
    """A command that is not imported yet."""

    name: str
    """Module and name, as ``module:name``."""

    help: str
    """One line, for ``streams-assignor --help``."""

    section: str = "Commands"
    """The heading under which ``--help`` lists it."""

    limits: str = ""
    """The limits of the command, and how its work grows."""

    shows_itself: bool = False
    """Whether it shows what it does from its beginning, or waits for others."""


class LazyGroup(CommandGroup):
    """A group that imports a command only to run it or to print its own help."""

    def __init__(self, *, lazy_commands: Mapping[str, LazyCommand], **settings: Any) -> None:
        super().__init__(**settings)
        self._lazy_commands = lazy_commands

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(self._lazy_commands)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        lazy = self._lazy_commands.get(name)
        if lazy is None:
            return _help if name == _help.name else None
        step("" if lazy.shows_itself else f"{name}: at work")
        command: click.Command = resolve_name(lazy.name)
        command.epilog = f"Limits: {lazy.limits}" if lazy.limits else None
        return command

    @property
    def limits(self) -> Mapping[str, str]:
        """The limits that apply to each command."""
        return {name: command.limits for name, command in self._lazy_commands.items()}

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section; sections come in the order of their first commands in the table."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self._lazy_commands.items():
            sections.setdefault(command.section, []).append((name, command.help))
        width = max(map(len, self._lazy_commands))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), help_line) for name, help_line in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one suggests similar names."""
        name = args[0]
        if name.startswith("-") or name in {*self._lazy_commands, _help.name} or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        # click knows of no command that is not imported, and suggests names only since 8.4
        similar = sorted(get_close_matches(name, self._lazy_commands))
        suggestion = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
        raise click.UsageError(f"No such command {name!r}.{suggestion}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what is wrong with its input is wrong usage.

        click itself would report a closed pipe (head, less) as a failure.
        """
        ctx.meta[STEP] = step  # for commands of packages that do not know this one
        try:
            with shown_steps():
                return super().invoke(ctx)
        except BrokenPipeError:
            discard_output()
            return 141
        except Exception as error:
            from streams_assignor.codec import StreamsAssignorError  # only for an error: --help must be fast
            from streams_assignor.upgrade.extras import MissingExtraError

            if isinstance(error, MissingExtraError):
                raise click.ClickException(str(error)) from error
            if isinstance(error, StreamsAssignorError):
                raise click.UsageError(str(error)) from error
            raise


@click.command(name="help")
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def _help(context: click.Context, names: Sequence[str]) -> None:
    """Show the help of a command, as its option --help does."""
    shown = context.find_root()
    for name in names:
        group = shown.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{shown.command_path} has no commands, got {name!r}", context)
        found_name, command, _ = group.resolve_command(shown, [name])
        if command is not None:
            shown = click.Context(command, info_name=found_name, parent=shown)
    click.echo(shown.get_help())


def _as_json(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for characters that a terminal lacks: what JSON has, too, as they may be in a string of it."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def run_script(cli: click.Command) -> None:
    """Run the console script and exit; a usage error is one line on standard error."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("as-json", _as_json)
        sys.stdout.reconfigure(errors="as-json")  # some terminals lack some characters
    if COMPLETION_VARIABLE not in os.environ:  # click writes completions as bytes
        sys.stdout, sys.stderr = (SafeStream(stream) if stream else stream for stream in (sys.stdout, sys.stderr))
    try:
        _require_text(sys.argv[1:])
        status = cli.main(prog_name="streams-assignor", standalone_mode=False)
    except click.ClickException as error:
        click.echo(_for_people(_shown(error)), err=True, nl=False)
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        status = 130
    except OSError as error:  # the disk is full, or the folder is not writable
        discard_output()
        click.echo(f"Error: {_for_people(str(error))}", err=True)
        status = 1
    sys.exit(status if isinstance(status, int) else 0)


def interrupt(*_: object) -> None:
    """Do what Ctrl-C does now: a service manager ends a command with SIGTERM."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell ignores it in what it starts with &
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _open_closed_streams() -> None:
    """Open what the shell has closed (``>&-``), which Python has as None: no other file takes its number, either."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _require_text(arguments: Sequence[str]) -> None:
    """Refuse bytes that are no UTF-8, as in old names of files: no name in Kafka and no path in PyArrow has them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"expected arguments in UTF-8, got {os.fsencode(argument)!r}") from None


def _for_people(message: str) -> str:
    """Return an error message without control characters and credentials."""
    from streams_assignor.upgrade.redaction import hide_credentials  # only for an error: --help must be fast

    return sanitize(hide_credentials(message))


def _shown(error: click.ClickException) -> str:
    """Return what standard error says: wrong usage has one form, whether click or a command has noticed it."""
    if isinstance(error, click.UsageError) and not isinstance(error, click.exceptions.NoArgsIsHelpError):
        return f"Error: {error.format_message()}\n"
    shown = io.StringIO()
    error.show(shown)
    return shown.getvalue()


def discard_output() -> None:
    """Discard buffered output: Python's flush at exit would fail once more."""
    if sys.stdout:  # None if the shell closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
