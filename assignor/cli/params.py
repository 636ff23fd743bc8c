"""Options and parameter types that several commands share."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import click

JSONL: Final = click.option(
    "--jsonl", is_flag=True, help="JSON lines even on a terminal; refused lines are rows and the exit status stays 0."
)


_DURATION: Final = re.compile(r"((?P<h>[\d.]+)h)?((?P<m>[\d.]+)m)?((?P<s>[\d.]+)s?)?")
_UNIT_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0}


class Duration(click.ParamType[float]):
    """A duration such as ``90``, ``90s``, ``10m`` or ``1h30m`` in a range; the value is in seconds."""

    name = "duration"

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a duration."""
        found = _DURATION.fullmatch(str(value))
        try:
            parts = {unit: float(number) for unit, number in found.groupdict().items() if number} if found else {}
        except ValueError:
            parts = {}
        if not parts:
            self.fail(f"expected a duration such as 90s, 10m or 1h30m, got {value!r}", param, ctx)
        seconds = sum(_UNIT_SECONDS[unit] * number for unit, number in parts.items())
        if not self._shortest <= seconds <= self._longest:
            self.fail(f"expected {self._shortest:g} to {self._longest:g} seconds, got {value!r}", param, ctx)
        return seconds


class Seconds(click.FloatRange):
    """A number of seconds in a range. click accepts ``nan`` in any range, and a wait of ``nan`` seconds never ends."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse ``nan``."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"expected a number of seconds, got {value!r}", param, ctx)
        return found
