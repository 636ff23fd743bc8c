"""The table of Kafka's known bugs, made of what the searches found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from spark_sim.regressions.known_bugs import BUGS, SearchMethod


def table_rows(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of the table, made of the records of ``history.json``."""
    found: list[tuple[str, ...]] = []
    for bug in BUGS:
        own = [each for each in results if each["bug"] == bug.name]
        there, clean = ([each for each in own if each["affected"] is affected] for affected in (True, False))
        if not (there and clean):
            continue
        affected, fixed = ("<br>".join(map(str, ways)) for ways in (bug.affected, bug.fixed))
        found.append(
            (
                f"{bug.name}: {bug.issue}",
                f"{bug.description}; {bug.violated_property}",
                affected,
                fixed,
                f"{_pair(there[0])}: {_coverage(there[0], bug.method)}",
                f"{_pair(clean[0])}: {_coverage(clean[0], bug.method)}",
                f"`{min((each['example'] for each in there), key=len)}`",
            )
        )
    return found


TABLE_HEAD: Final = ("bug", "what breaks", "affected", "clean", "found in", "not found in", "shortest example")


def _pair(each: Mapping[str, Any]) -> str:
    return " > ".join(each["course"])


def _coverage(each: Mapping[str, Any], by: SearchMethod) -> str:
    if each["schedules"] is None:
        return f"{each['states']:,} states" if each["states"] else "does not start"
    schedules = int(each["schedules"])
    count = f"{schedules:,}" if schedules < 10**6 else f"{Decimal(schedules):.1e}"
    return (
        f"{count} schedules played"
        if by is SearchMethod.COARSE_BFS
        else f"{each['states']:,} states, {count} schedules"
    )
