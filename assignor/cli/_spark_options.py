"""The options of commands that run on an engine, and the type of those that do not reach beyond this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

import click

from streams_assignor.cli._exit_status import CommandFailed, WrongUsage
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.redaction import hide_credentials

ENGINE_OPTIONS: Final = frozenset({"master", "remote", "settings", "processes"})
"""The parameters of ``engine_options``."""
_ENGINE: Final = "engine"
STORAGE_FORMAT: Final = click.option(
    "--format",
    "storage_format",
    default="parquet",
    show_default=True,
    metavar="FORMAT",
    help="Of the tables, as Spark's DataFrame writer has it.",
)


def _parse_settings(_context: click.Context, _param: click.Parameter, settings: tuple[str, ...]) -> dict[str, str]:
    pairs = {name: value for name, _, value in (setting.partition("=") for setting in settings)}
    if wrong := [setting for setting in settings if "=" not in setting or not setting.startswith("spark.")]:
        name, _, _ = wrong[0].replace(" ", "=").partition("=")  # without the value, which may be a secret
        raise click.BadParameter(f"expected spark.NAME=VALUE, got {name} in another form")
    return pairs


_OPTIONS: Final[tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...]] = (
    click.option(
        "--master",
        metavar="MASTER",
        help="A Spark master, or `processes` (no Spark).  [default: local[*], or processes for little work]",
    ),
    click.option("--remote", metavar="sc://HOST:PORT", help="A Spark Connect server instead of a master."),
    click.option(
        "--conf",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_parse_settings,
        help="A setting of Spark; repeatable, no secrets.",
    ),
    click.option("--processes", type=click.IntRange(1), help="So many.  [default: one for each core]"),
)


def engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an engine; it is called with ``engine``, which has what was given."""

    @wraps(function)
    def command(
        *arguments: Any,
        master: str | None,
        remote: str | None,
        settings: dict[str, str],
        processes: int | None,
        **others: Any,
    ) -> Any:
        from streams_assignor.spark_sim.sweep.engine_choice import (
            PROCESSES,
            EngineOptions,
            UnknownMaster,
            require_master,
        )

        if master and remote:
            raise WrongUsage("--remote is a Spark Connect server: leave out --master")
        engine = remote or master or (PROCESSES if processes else None)
        if processes and engine != PROCESSES:
            raise WrongUsage(f"--processes belongs to --master {PROCESSES}: leave it out")
        if settings and engine == PROCESSES:
            raise WrongUsage(f"--conf is a setting of Spark, and --master {PROCESSES} has none")
        try:
            if engine:
                require_master(engine)
        except UnknownMaster as error:
            raise WrongUsage(str(error)) from None
        return function(*arguments, **{_ENGINE: EngineOptions(engine, settings, processes)}, **others)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def fresh_option(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that throws away what an earlier command has done."""
    return click.option("--fresh", is_flag=True, help=f"First remove those of an earlier {command}.")


@contextmanager
def resumable(out: str) -> Iterator[None]:
    """Say what is left of a command that ended early, by Ctrl-C or without a worker."""
    from streams_assignor.spark_sim.jobs.engine import EngineError

    try:
        yield
    except EngineError as error:
        raise CommandFailed(f"{error}; {_resume_hint(out)}") from error
    except KeyboardInterrupt:
        click.echo(f"interrupted; {_resume_hint(out)}", err=True)
        raise click.exceptions.Exit(130) from None


def _resume_hint(out: str) -> str:
    """Return what is left; a local folder is removed if nothing is."""
    from streams_assignor.spark_sim.sweep.spark.paths import local_folder

    folder = local_folder(out)
    kept = folder is None or folder.exists()
    return (
        f"what is finished is in {hide_credentials(out)}; the same command resumes there" if kept else "nothing is kept"
    )


def log_to_stderr(line: str) -> None:
    """Print a line of an engine."""
    click.echo(sanitize(hide_credentials(line)), err=True)


class LocalPath(click.Path):
    """A path of this machine: a URI would become a folder with the name of its scheme."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a ``Path``."""
        from streams_assignor.spark_sim.sweep.spark.paths import is_uri

        if is_uri(str(value)):
            self.fail(f"expected a path of this machine, got {value}", param, ctx)
        return super().convert(value, param, ctx)
