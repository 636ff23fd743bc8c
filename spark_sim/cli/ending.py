"""How a command ends: what can go wrong as one line, and the exit status that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from upgrade.errors import UpgradeError


class Wrong(click.ClickException):
    """One line, and the exit status of wrong usage."""

    exit_code = 2


class Failed(click.ClickException):
    """One line, and the exit status of something that did not work."""

    exit_code = 1


def exit_with(good: bool) -> None:
    """End with status 1 if something is not as it should be."""
    if not good:
        raise click.exceptions.Exit(1)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what can go wrong outside the runs into one line and an exit status."""
    from spark_sim.java import JavaNotFound
    from spark_sim.results import ResultsError
    from spark_sim.session import SparkNotStarted

    try:
        yield
    except (ResultsError, UpgradeError) as error:
        raise Wrong(str(error)) from error
    except (JavaNotFound, SparkNotStarted) as error:
        raise Failed(f"{error} (or do without Spark: --master processes)") from error
    except ModuleNotFoundError as error:
        raise Failed(f"{error.name} is not installed: pip install 'streams-assignor[spark]'") from error
    except OSError as error:
        raise Failed(str(error)) from error
