"""Options and parameter types that several commands share."""

from __future__ import annotations

import math
from typing import Any, Final

import click

JSONL: Final = click.option(
    "--jsonl", is_flag=True, help="JSON lines even on a terminal; refused lines are rows and the exit status stays 0."
)


class Seconds(click.FloatRange):
    """A number of seconds in a range. click accepts ``nan`` in any range, and a wait of ``nan`` seconds never ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse ``nan``."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"expected a number of seconds, got {value!r}", param, ctx)
        return found
