"""The results of the parts of the nightly run, and when each test that a page names ran last."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from typing import Any, Final

from blocks.markdown import table
from tests.nightly import BY_HAND, OLD, PARTS, age, ledger, units

_NAMED: Final = re.compile(r"`(?:[^`]*[ \n])?(tests/[\w/]+\.py|tests(?:\.\w+)+|test_\w+\.py)(?=[ \n`])[^`]*`")
"""A file with tests, or a command that runs one or a module."""
_SHARDED: Final = {name for name, part in PARTS.items() if part.shards_with is not None}


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
    rows = _together(row for row in ledger() if not row["part"].startswith(BY_HAND))
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


def dated(page: str) -> str:
    """Return a page with date and commit behind each test and bench that it names, and whether that is old."""
    return _NAMED.sub(lambda found: f"{found[0]} ({last_run(found[1], is_exhaustive='exhaustive' in found[0])})", page)


def last_run(named: str, *, is_exhaustive: bool = False) -> str:
    """Say when a file, by its path or name, or a module last ran: by the oldest row; shards run no exhaustive tests."""
    module = _module(named)
    rows = [row for unit, row in runs().get(module, ()) if not (is_exhaustive and unit.partition(":")[0] in _SHARDED)]
    if not rows:
        return "**no run is recorded**"
    row = max(rows, key=age)
    failed = any(
        test.startswith(f"{module}.") or f".{module}:" in f".{test}" for row in rows for test in row["failures"]
    )
    return f"{row['date']}, {row['commit']}" + ", **old**" * (age(row) > OLD) + ", **a test failed**" * failed


@cache
def runs() -> Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]:
    """Return the units that run each module, by its name with and without its folder, with their newest rows."""
    rows = {row["part"]: row for row in ledger()}
    found = defaultdict[str, list[tuple[str, Mapping[str, Any]]]](list)
    words_of = {name: set(chain(*unit.commands)) for name, unit in units().items()}
    words_of |= {name: {name.removeprefix(BY_HAND)} for name in rows if name.startswith(BY_HAND)}
    for name, words in words_of.items():
        row = rows.get(name) or rows.get(name.partition(":")[0])
        if row and (row["passed"] or row["failed"] or row["skipped"]):
            for module in (_module(word) for word in words if word.startswith("tests")):
                for key in {module, module.rpartition(".")[2]}:
                    found[key].append((name, row))
    return found


def _module(named: str) -> str:
    return named.removesuffix(".py").replace("/", ".").removesuffix(".__main__")


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"nightly run": parts}
