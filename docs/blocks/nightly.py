"""What came of each part of the nightly run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from blocks.markdown import ROOT, table


def parts() -> str:
    """List the parts, with their counts."""
    rows = json.loads((ROOT / "tests/nightly.json").read_text(encoding="utf-8"))
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
