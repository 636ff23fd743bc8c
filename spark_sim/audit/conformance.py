"""Compares the rolling bounces that an audit has found with the simulator: in processes, or as tasks of Spark.

One bounce is compared by itself (``compare_bounce``), so they are distributed over workers, the largest ones first.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assignor.groups.capture import Capture
from assignor.groups.history.tables import Row, valid_text
from spark_sim.conformance.bounces import MOST_JOINS, Bounce
from spark_sim.sweep.tables.parquet import parquet_writer
from spark_sim.table import Table, columns_of
from spark_sim.worker_pool import WorkerPool

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Comparison = Callable[[Sequence[Bounce]], Sequence[Row]]
TOO_LARGE: Final = f"it has more than {MOST_JOINS} joins"
_JOINS: Final = attrgetter("joins")
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
    from spark_sim.conformance.excerpt import ExcerptVerdict, judge_excerpt  # most audits do without the simulator

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


def compare_in_processes(bounces: Sequence[Bounce], processes: int) -> list[Row]:
    """Compare bounces in parallel processes."""
    waiting = sorted(bounces, key=_JOINS, reverse=True)
    if processes == 1 or len(waiting) <= 1:
        return _in_order(map(compare_bounce, waiting))
    with WorkerPool(min(processes, len(waiting))) as pool:
        return _in_order(pool.map(compare_bounce, waiting))


def compare_on_spark(spark: SparkSession, bounces: Sequence[Bounce]) -> list[Row]:
    """Compare bounces as tasks of a Spark session, one task for each."""
    import pyarrow

    if not bounces:
        return []
    waiting = [pickle.dumps(bounce.loaded()) for bounce in sorted(bounces, key=_JOINS, reverse=True)]
    frame = spark.createDataFrame(pyarrow.table({"bounce": waiting})).repartition(len(bounces))
    return _in_order(row.asDict() for row in frame.mapInArrow(_compare_batches, CONFORMANCE.ddl()).collect())


def _compare_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pickled = (bounce for batch in batches for bounce in batch.column("bounce").to_pylist())
    return CONFORMANCE.batches((compare_bounce(pickle.loads(bounce)) for bounce in pickled), 1)


def write_conformance(rows: Sequence[Row], out: Path) -> None:
    """Write the table below ``out``."""
    import pyarrow as pa

    (out / CONFORMANCE.name).mkdir()
    with parquet_writer(out / CONFORMANCE.name / "bounces.parquet", CONFORMANCE) as writer:
        writer.write_table(pa.Table.from_pylist(list(rows), schema=CONFORMANCE.arrow()))


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


def _in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["group"], row["from_time"], row["first_generation"]))
