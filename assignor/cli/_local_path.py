"""The type of options whose files are on this machine."""

from __future__ import annotations

from typing import Any

import click


class LocalPath(click.Path):
    """A path of this machine: a URI would become a folder with the name of its scheme."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a ``Path``."""
        from spark_sim.sweep.spark.paths import is_uri

        if is_uri(str(value)):
            self.fail(f"expected a path of this machine, got {value}", param, ctx)
        return super().convert(value, param, ctx)
