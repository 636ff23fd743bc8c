"""The whole history at once: every bug looked for in releases that have it and in releases that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from spark_sim.known.bugs import BUGS, By
from spark_sim.known.finding import STEPS, Found, find, searches
from spark_sim.known.what_if import imagined

HISTORY_FILE: Final = "history.json"


def history(*, every: bool = False, steps: int = STEPS, on_found: Callable[[Found], None] | None = None) -> list[Found]:
    """Search for all bugs, in one affected and one fixed pair each or in ``every`` pair; tell of each search."""
    results = []
    with imagined():
        for wanted in searches(every=every):
            results.append(find(wanted, steps=steps))
            if on_found:
                on_found(results[-1])
    return results


def write(results: Iterable[Found], folder: Path) -> Path:
    """Keep what was found as JSON, one object for each search."""
    file = folder / HISTORY_FILE
    file.write_text(json.dumps([each.as_json() for each in results], indent=1) + "\n", encoding="utf-8")
    return file


def rows(kept: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of a table from what ``write`` kept: the bug, where it was and was not found, how to see it."""
    found: list[tuple[str, ...]] = []
    for bug in BUGS:
        own = [each for each in kept if each["bug"] == bug.name]
        there, clean = ([each for each in own if each["affected"] is affected] for affected in (True, False))
        if not (there and clean):
            continue
        affected, fixed = ("<br>".join(map(str, ways)) for ways in (bug.affected, bug.fixed))
        found.append(
            (
                f"{bug.name}: {bug.issue}",
                f"{bug.what}; {bug.shows}",
                affected,
                fixed,
                f"{_pair(there[0])}: {_extent(there[0], bug.by)}",
                f"{_pair(clean[0])}: {_extent(clean[0], bug.by)}",
                f"`{min((each['example'] for each in there), key=len)}`",
            )
        )
    return found


HEAD: Final = ("bug", "what breaks", "affected", "clean", "found in", "not found in", "shortest example")


def _pair(each: Mapping[str, Any]) -> str:
    return " > ".join(each["course"])


def _extent(each: Mapping[str, Any], by: By) -> str:
    if each["schedules"] is None:
        return f"{each['states']:,} states" if each["states"] else "does not start"
    schedules = int(each["schedules"])
    count = f"{schedules:,}" if schedules < 10**6 else f"{Decimal(schedules):.1e}"
    return f"{count} schedules played" if by is By.HUNTING else f"{each['states']:,} states, {count} schedules"
