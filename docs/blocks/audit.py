"""The audit: columns of its tables, how often its causes are right, how long a state lasts before it is a finding."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from blocks.markdown import NOT_THERE, ROOT, table
from streams_assignor.groups.history._causes import CAUSES
from streams_assignor.groups.history._findings import LASTING_MS
from streams_assignor.spark_sim.audit.captures import TABLES as CAPTURES
from streams_assignor.spark_sim.audit.conformance import CONFORMANCE
from streams_assignor.spark_sim.audit.finished_units import UNITS
from streams_assignor.spark_sim.audit.schema import TABLES

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


def accuracy() -> str:
    """Show right, wrong and unknown causes, as ``tests.lab.integration.rebalance_causes`` stored them."""
    brokers = json.loads((ROOT / "tests/lab/integration/rebalance_causes.json").read_text(encoding="utf-8"))
    rows = []
    for cause in CAUSES:
        found = [broker.get(cause, {}) for broker in brokers.values()]
        if any(found):
            rows.append((f"`{cause}`", *map(_verdicts, found)))
    sums = [sum((Counter(of) for of in broker.values()), Counter[str]()) for broker in brokers.values()]
    rows.append(("all", *map(_verdicts, sums)))
    rows.append(
        ("right, where not unknown", *(f"{each['right'] / (each['right'] + each['wrong']):.1%}" for each in sums))
    )
    rows.append(
        (
            "unknown",
            *(f"{each['unknown'] / (each['right'] + each['wrong'] + each['unknown']):.1%}" for each in sums),
        )
    )
    return table(("cause, by the logs", *(f"broker {name}: right, wrong, unknown" for name in brokers)), rows)


def _verdicts(found: Mapping[str, int]) -> str:
    return ", ".join(str(found.get(each, 0)) for each in ("right", "wrong", "unknown")) if found else NOT_THERE


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "audit accuracy": accuracy,
    "audit columns": lambda: "\n\n".join(each.markdown() for each in (*TABLES.values(), UNITS)),
    "audit conformance": CONFORMANCE.markdown,
    "conform columns": lambda: "\n\n".join(each.markdown() for each in CAPTURES.values()),
    "audit states": lasting,
}
