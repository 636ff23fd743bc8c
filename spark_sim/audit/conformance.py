"""Compares the rolling bounces that an audit has found with the simulator, each by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from streams_assignor.groups.capture import Capture
from streams_assignor.groups.history.tables import Row, valid_text
from streams_assignor.spark_sim.audit.finished_units import FinishedUnits, make_json
from streams_assignor.spark_sim.conformance.bounces import MOST_JOINS, Bounce
from streams_assignor.spark_sim.jobs.engine import WorkEngine, WorkProgress
from streams_assignor.spark_sim.jobs.table import Table, columns_of

TOO_LARGE: Final = f"it has more than {MOST_JOINS} joins"
CONFORMANCE: Final = Table(
    "conformance",
    "each rolling bounce, compared with the simulator; only with `--conform`.",
    ("group", "first_generation", "from_time"),
    columns_of(
        ("group", "string", "name of the group"),
        ("first_generation", "bigint", "the generation before its first restart; members begin in its state"),
        ("last_generation", "bigint", "its last generation"),
        ("from_time", "bigint", "when its first generation was complete"),
        ("until_time", "bigint", "when its last generation was complete"),
        ("from_releases", "string", "releases that send the versions of its first members"),
        ("to_releases", "string", "releases that send the versions of its last members"),
        ("conforms?", "boolean", "whether the simulator agrees; null if it cannot be said"),
        ("reason", "string", "why it cannot be said; empty if it can"),
        ("subscriptions", "bigint", "compared subscriptions"),
        ("assignments", "bigint", "compared assignments"),
        ("differs_in?", "bigint", "first generation that differs; null if none does"),
        ("member", "string", "the member that it is about; empty for the whole group"),
        ("fact", "string", "what differs"),
        ("expected", "string", "its value in the simulator"),
        ("observed", "string", "its value in the records"),
    ),
)


def compare_bounce(bounce: Bounce) -> Row:
    """Return the row of one bounce."""
    from streams_assignor.spark_sim.conformance.excerpt import (  # most audits do without the simulator
        ExcerptVerdict,
        judge_excerpt,
    )

    capture = bounce.loaded().capture
    verdict = judge_excerpt(capture) if isinstance(capture, Capture) else ExcerptVerdict(None, TOO_LARGE)
    difference = verdict.difference
    return {
        "group": bounce.group,
        "first_generation": bounce.first_generation,
        "last_generation": bounce.last_generation,
        "from_time": bounce.from_time,
        "until_time": bounce.until_time,
        "from_releases": bounce.from_releases,
        "to_releases": bounce.to_releases,
        "conforms": verdict.conforms,
        "reason": verdict.reason,
        "subscriptions": verdict.subscriptions,
        "assignments": verdict.assignments,
        "differs_in": difference.generation if difference else None,
        "member": valid_text(difference.member) if difference else "",
        "fact": difference.what if difference else "",
        "expected": valid_text(difference.ours) if difference else "",
        "observed": valid_text(difference.captured) if difference else "",
    }


def compare_bounces(
    engine: WorkEngine,
    units: FinishedUnits,
    bounces: Mapping[str, Bounce],
    scratch: Path,
    on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
) -> list[Row]:
    """Compare bounces on an engine, each by itself, the largest ones first; return their rows.

    Args:
        engine: Where it runs.
        units: Those that are finished.
        bounces: The bounces by the keys of their units.
        scratch: A folder on the disk of the results, for the time being.
        on_progress: Called several times a second.
    """
    pending = {key: bounce for key, bounce in bounces.items() if key not in units}
    if not engine.shares_files:
        pending = {key: bounce.loaded() for key, bounce in pending.items()}
    units.finish(engine, partial(make_json, compare_bounce), pending, attrgetter("joins"), scratch, on_progress)
    rows = units.results([*bounces])
    return sorted(rows, key=lambda row: (row["group"], row["from_time"], row["first_generation"]))


def conformance_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the part of ``audit.json`` about rolling bounces."""
    differing = [row for row in rows if row["conforms"] is False]
    first = min(differing, key=lambda row: (row["from_time"], row["group"]), default=None)
    comparable = sum(row["conforms"] is not None for row in rows)
    return {
        "bounces": len(rows),
        "comparable": comparable,
        "comparable_share": comparable / len(rows) if rows else None,
        "differ": len(differing),
        "not_comparable": dict(Counter(row["reason"] for row in rows if row["conforms"] is None).most_common()),
        "first_difference": first
        and {name: first[name] for name in ("group", "differs_in", "member", "fact", "expected", "observed")},
    }
