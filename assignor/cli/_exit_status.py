"""How a command ends: what can go wrong as one line, and the exit status that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.extras import MissingExtraError


class WrongUsage(click.ClickException):
    """One line, and the exit status of wrong usage."""

    exit_code = 2


class CommandFailed(click.ClickException):
    """One line, and the exit status of something that did not work."""

    exit_code = 1


def exit_unless(good: bool) -> None:
    """End with status 1 if something is not as it should be."""
    if not good:
        raise click.exceptions.Exit(1)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what can go wrong outside the runs into one line and an exit status."""
    from streams_assignor.spark_sim.audit.sources import SourceError
    from streams_assignor.spark_sim.audit.storage import StorageError
    from streams_assignor.spark_sim.jobs.engine import EngineError
    from streams_assignor.spark_sim.sweep.spark.java import SparkNotStarted
    from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError

    try:
        yield
    except (ResultFolderError, SourceError, StorageError, UpgradeError) as error:
        raise WrongUsage(str(error)) from error
    except EngineError as error:
        raise CommandFailed(str(error)) from error
    except SparkNotStarted as error:
        raise CommandFailed(f"{error} (or do without Spark: --master processes)") from error
    except MissingExtraError as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(str(error)) from error
