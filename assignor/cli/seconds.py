"""Seconds on the command line: a number in a range, where click takes ``nan`` for one in any."""

from __future__ import annotations

import math
from typing import Any

import click


class Seconds(click.FloatRange):
    """A number in a range; whoever waited for ``nan`` seconds would wait for ever."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse what is in no range."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"expected a number of seconds, got {value!r}", param, ctx)
        return found
