"""What came of each part of the nightly run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from blocks.markdown import ROOT, table


def _together(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of whole parts, and one for all shards of a part that have run since."""
    for part, group in groupby(rows, key=lambda row: row["part"].partition(":")[0]):
        same = list(group)
        yield from (row for row in same if row["part"] == part)
        if shards := [row for row in same if row["part"] != part]:
            oldest = min(shards, key=lambda row: row["date"])
            skipped = sum((Counter(row["skipped"]) for row in shards), Counter[str]())
            numbers = {key: sum(row[key] for row in shards) for key in ("passed", "failed", "seconds")}
            failures = [failure for row in shards for failure in row["failures"]]
            name = f"{part}, {len(shards)} shards"
            yield {**oldest, **numbers, "part": name, "skipped": skipped, "failures": failures}


def parts() -> str:
    """List the parts, with their counts."""
    rows = _together(json.loads((ROOT / "tests/nightly.json").read_text(encoding="utf-8")))
    return table(
        (
            "part",
            "commit",
            "date",
            "passed",
            "failed",
            "skipped",
            "minutes",
            "what failed, and why something was skipped",
        ),
        [
            (
                *(f"`{row['part']}`", row["commit"], row["date"], row["passed"], row["failed"]),
                *(sum(row["skipped"].values()), f"{row['seconds'] / 60:.1f}"),
                "; ".join([*row["failures"], *(f"{count}: {reason}" for reason, count in row["skipped"].items())]),
            )
            for row in rows
        ],
    )


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"nightly run": parts}
