"""The command line: one script, whose sub-commands are loaded by name when they are called.

``--help`` must come at once, so this file imports click and nothing else; the one-line helps stand in the table.
Exit status: 0 done, 1 it did not go well (a property violated, an upgrade unfinished, a line refused), 2 wrong usage,
130 interrupted, 141 the reader of the output has gone.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any, Final, NamedTuple

import click

_LONGEST: Final = 2_000
"""Characters of a message: what a user gave may stand in it, and may have been a file by mistake."""


class _Command(NamedTuple):
    """Where a sub-command lives (it may be in a package above this one, hence a name) and its one-line help."""

    module: str
    help: str


COMMANDS: Final = {
    "assign": _Command("assignor.cli.assign", "What each client of a group gets, by the assignors of any release."),
    "bounce": _Command("assignor.cli.bounce", "A live rolling bounce of real member processes."),
    "conform": _Command("spark_sim.conform.cli", "Captures of real groups, held against our members."),
    "features": _Command("upgrade.features.cli", "Show, raise and lower the feature versions of a cluster."),
    "group": _Command("assignor.cli.group", "A live group: versions, tasks, where its upgrade stands."),
    "member": _Command("assignor.cli.member", "A small real member of a group, printing JSON events."),
    "plan": _Command("assignor.cli.plan", "The steps of a safe upgrade from one release to another."),
    "replay": _Command("spark_sim.cli.replay", "One simulated scenario, explained step by step."),
    "report": _Command("spark_sim.cli.report", "Tables and pictures of a finished sweep."),
    "sweep": _Command("spark_sim.cli.sweep", "Every way an upgrade can go, simulated on Spark."),
    "userdata": _Command("assignor.cli.userdata", "Decode, encode and explain rebalance metadata."),
}


class _LazyGroup(click.Group):
    """A group that imports a command only to run it or to print its own help."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(COMMANDS[name].module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[name].module}:{name} is not a command; this should never happen")
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in sorted(COMMANDS.items())])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click itself would make a failure of a reader (head, less) that has gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _write_no_more()
            return 141


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streams-assignor")
def cli() -> None:
    """The Kafka Streams rebalance protocol in Python, with version probing (KIP-268).

    \b
    Examples:
      streams-assignor sweep --matrix kip-268 --out sweep-results
      streams-assignor plan 1.1 2.0
      streams-assignor replay "A@2.0 B@2.0 C@2.0 | bounce A>simulated-4 B>simulated-4 C>simulated-4"
      streams-assignor bounce
    """  # noqa: D301 - click reads the backspace character


def main() -> None:
    """Run the console script; what a user got wrong is one line on standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal can show every sign
    try:
        status = cli.main(prog_name="streams-assignor", standalone_mode=False)
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        click.echo(legible(said.getvalue()), err=True, nl=False)
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        status = 130
    except OSError as error:  # the disk is full, or the folder may not be written
        _write_no_more()
        click.echo(f"Error: {legible(str(error))}", err=True)
        status = 1
    sys.exit(status if isinstance(status, int) else 0)


def shortened(message: str) -> str:
    """Leave out the middle of a message that would fill the terminal."""
    half = _LONGEST // 2
    return message if len(message) <= _LONGEST else f"{message[:half]} ... {message[-half:]}"


def legible(message: str) -> str:
    r"""Shorten a message, and escape what would play with the terminal.

    >>> print(legible("unknown release \x1b[31m"))
    unknown release \x1b[31m
    """
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in shortened(message))


def _write_no_more() -> None:
    """Let what is still buffered go nowhere: Python would complain once more when it flushes at exit."""
    if sys.stdout:  # there is none if the shell has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
