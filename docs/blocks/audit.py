"""The audit: columns of its tables, and how long a state has to last before it is a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from assignor.audit._findings import LASTING_MS
from blocks.markdown import table
from spark_sim.audit._schema import TABLES
from spark_sim.audit.conformance import CONFORMANCE

_UNITS: Final = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"))


def lasting() -> str:
    """List the states that are findings by the time that they last."""
    durations = sorted(set(LASTING_MS.values()))
    rows = [
        (_duration(each), ", ".join(f"`{code}`" for code, ms in LASTING_MS.items() if ms == each)) for each in durations
    ]
    return table(("lasts", "codes"), rows)


def _duration(ms: int) -> str:
    for size, unit in _UNITS:
        if ms >= size:
            return f"{ms // size} {unit}{'s' if ms > size else ''}"
    return "any time"


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "audit columns": lambda: "\n\n".join(each.markdown() for each in TABLES.values()),
    "audit conformance": CONFORMANCE.markdown,
    "audit states": lasting,
}
