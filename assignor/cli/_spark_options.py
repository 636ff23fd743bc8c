"""The options of commands that use Spark, and the type of those that do not reach beyond this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

STORAGE_FORMAT: Final = click.option(
    "--format",
    "storage_format",
    default="parquet",
    show_default=True,
    metavar="FORMAT",
    help="The format of the tables, as Spark's DataFrame writer knows it.",
)
REMOTE: Final = click.option(
    "--remote", metavar="sc://HOST:PORT", help="A Spark Connect server instead of a master; needs no Java here."
)


def _parse_settings(_context: click.Context, _param: click.Parameter, settings: tuple[str, ...]) -> dict[str, str]:
    pairs = {name: value for name, _, value in (setting.partition("=") for setting in settings)}
    if wrong := [setting for setting in settings if "=" not in setting or not setting.startswith("spark.")]:
        name, _, _ = wrong[0].replace(" ", "=").partition("=")  # without the value, which may be a secret
        raise click.BadParameter(f"expected spark.NAME=VALUE, got {name} in another form")
    return pairs


SETTINGS: Final[Callable[[Callable[..., Any]], Callable[..., Any]]] = click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parse_settings,
    help="A setting of Spark, as of spark-submit; repeatable. Keep secrets in spark-defaults.conf or the environment.",
)


class LocalPath(click.Path):
    """A path of this machine: a URI would become a folder with the name of its scheme."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a ``Path``."""
        from spark_sim.sweep.spark.paths import is_uri

        if is_uri(str(value)):
            self.fail(f"expected a path of this machine, got {value}", param, ctx)
        return super().convert(value, param, ctx)
