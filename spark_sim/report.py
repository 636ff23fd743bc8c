"""Shows a sweep in a terminal: what it comes to, and the matrix, or the guide that follows from it if it is large.

All of it comes from ``matrix.json``, so a report needs no Spark; ``page`` draws the same for a browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from spark_sim.cell_result import SAFE, UNSAFE, CellResult, Varied
from spark_sim.guide import Pair
from spark_sim.guide_page import matrix_rows
from spark_sim.properties import PROBED
from spark_sim.results import MANIFEST, MATRIX, ResultsError
from spark_sim.variants import WORDS
from spark_sim.watched import MOST_BYTES_OF_A_GROUP
from upgrade.matrix import FORMATS, Plan, Upgrade, obstacles
from upgrade.releases import Release, release_named


@frozen
class PlanWords:
    """How a plan is called: one sign for tables, a name, and what is done."""

    sign: str
    name: str
    meaning: str


PLANS: Final = {
    Plan.ONE_BOUNCE: PlanWords("1", "one bounce", "restart every member once, without any config"),
    Plan.TWO_BOUNCES: PlanWords(
        "2", "two bounces", "restart every member twice, first with upgrade.from if there is a value for it"
    ),
    Plan.OFFLINE: PlanWords("o", "offline", "stop all members, then start them all"),
}

MOST_NAMED: Final = 12
"""So many upgrades are named in a line, and so many lines of releases stand beside each other in a matrix."""
CORNER: Final = "from \\ to"
CELL_WIDTH: Final = len("(1✓)2✓ o✓")
NUMBERS: Final = (
    *("states", "transitions", "schedules", "members"),
    *("moved", "unowned_task_ms", "member_bytes", "group_bytes", "kinds_possible"),
)
"""Numbers of ``matrix.json`` that older sweeps do not have."""
OPEN: Final = "open"
RUNNING: Final = "running"
BETWEEN: Final = "between"
MARKS: Final = {SAFE: "✓", UNSAFE: "✗", RUNNING: "…", OPEN: "·", BETWEEN: " · "}
ASCII_MARKS: Final = {SAFE: "+", UNSAFE: "x", RUNNING: "~", OPEN: ".", BETWEEN: ", "}
STYLES: Final = {SAFE: "green", UNSAFE: "bold red", RUNNING: "yellow", OPEN: "dim"}


def read_matrix(folder: Path) -> list[CellResult]:
    """Read the results of a finished sweep; ``ResultsError`` if there are none."""
    try:
        return [_from_json(each) for each in json.loads((folder / MATRIX).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        begun = (folder / MANIFEST).exists()
        why = "this sweep is not finished; its command again goes on with it" if begun else "no sweep was run there"
        raise ResultsError(f"{folder} has no {MATRIX}: {why}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{folder / MATRIX} cannot be read: {error}") from None


def _from_json(plain: dict[str, Any]) -> CellResult:
    origin, target = release_named(plain["from_release"]), release_named(plain["to_release"])
    return CellResult(
        Upgrade(origin, target, Plan(plain["plan"]), plain["upgrade_from"], (plain["from"], plain["to"])),
        runs=plain["runs"],
        violations=plain["violations"],
        max_rebalances=plain["max_rebalances"],
        probes=plain["probes"],
        example=plain["example"],
        violated=plain["property"],
        message=plain["message"],
        **{key: plain.get(key, 0) for key in NUMBERS},
        faults=plain.get("faults") or {},
        variants={name: _varied(each) for name, each in plain.get("variants", {}).items()},
        kinds=frozenset(f"kind {number}" for number in range(plain.get("kinds", 0))),
    )


def _varied(plain: dict[str, Any]) -> Varied:
    kept = {key: value for key, value in plain.items() if key not in {"verdict", "property"}}
    return Varied(violated=plain["property"], **kept)


# -- what it comes to ------------------------------------------------------------------------------------------------


@frozen
class Judgement:
    """Whether a sweep shows what Kafka's documentation promises, and one line that says so or why not."""

    good: bool
    text: str


def judge(results: Sequence[CellResult]) -> Judgement:
    """Judge a sweep: every documented plan is safe, and where probing belongs to the upgrade it really happened."""
    broken = [_title(result) for result in results if result.upgrade.documented and result.verdict != SAFE]
    unproven = [_title(result) for result in results if result.should_probe and result.runs and not result.probes]
    unsafe = sum(result.verdict != SAFE for result in results)
    documented = sum(result.upgrade.documented for result in results)
    if broken:
        return Judgement(False, f"documented, and yet unsafe: {_few(broken)}")
    if unproven:
        return Judgement(False, f"{PROBED}; no probe was ever seen, so nothing is shown: {_few(unproven)}")
    promised = f"all {documented} safe" if documented else "none was asked for"
    return Judgement(True, f"documented plans: {promised}; others: {unsafe} of {len(results) - documented} unsafe")


def _few(titles: Sequence[str]) -> str:
    more = len(titles) - MOST_NAMED
    return ", ".join(titles[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def example_lines(results: Iterable[CellResult], most: int) -> Iterator[str]:
    """Tell of the first unsafe upgrades, each with the command that shows what happens; documented ones come first."""
    unsafe = sorted((r for r in results if r.verdict != SAFE), key=lambda r: not r.upgrade.documented)
    for result in unsafe[:most]:
        how = f"{result.violations:,} of {result.runs:,} runs violate" if result.runs else "a schedule violates"
        yield f'{_title(result)}: {how} "{result.violated}"'
        yield f'  streams-assignor replay "{result.example}"'
    if len(unsafe) > most:
        yield f"and {len(unsafe) - most} more unsafe upgrades, each with an example in {MATRIX}"


def measures(results: Iterable[CellResult]) -> Iterator[str]:
    """Tell what upgrades cost groups whose schedules were drawn, and how much of the variety that was."""
    for each in results:
        if each.kinds_possible:
            share = 100 * each.group_bytes / MOST_BYTES_OF_A_GROUP
            yield (
                f"{_title(each)}: {each.runs:,} schedules drawn, {len(each.kinds)} of {each.kinds_possible} kinds; "
                f"at most {each.max_rebalances} rebalances after a step, {each.moved:,} tasks move, nobody has a task "
                f"for {each.unowned_task_ms / 1000:g} s of all tasks together; metadata {each.group_bytes:,} bytes "
                f"({share:.2g} % of what a broker takes of a group by default), {each.member_bytes:,} of a member"
            )


def variant_lines(results: Sequence[CellResult]) -> Iterator[str]:
    """Tell of each way not to follow a plan: how many safe plans it breaks, and how many documented ones among them."""
    for name, words in WORDS.items():
        asked = [each for each in results if name in each.variants and each.verdict == SAFE]
        broken = [each for each in asked if each.variants[name].verdict != SAFE]
        documented = sum(each.upgrade.documented for each in broken)
        if asked:
            counted = f", {documented} of them documented" if documented else ""
            yield f"if {words}: {len(broken)} of {len(asked)} safe plans break{counted}"
        if broken:
            least = min(broken, key=lambda each: (not each.upgrade.documented, len(each.variants[name].example or "")))
            found = least.variants[name]
            yield f'  for example {_title(least)}, which violates "{found.violated}"'
            if found.example:
                yield f'  streams-assignor replay "{found.example}"'


def unseen_lines(results: Iterable[CellResult]) -> Iterator[str]:
    """Tell of which pairs a sweep does not see everything: formats of records that change on the way."""
    pairs = {_pair(each.upgrade): " to ".join(each.upgrade.names) for each in results}
    for format_ in FORMATS:
        if changing := [title for pair, title in pairs.items() if format_ in obstacles(*pair)]:
            yield f"not seen by a sweep: {format_.value}: {_few(changing)}"


def notes(results: Iterable[CellResult]) -> Iterator[str]:
    """Tell what is special about a line that bears a star."""
    for line, note in Grid(results).notes.items():
        yield f"* {line}: {note}"


def _title(result: CellResult) -> str:
    plain = result.as_json()
    return f"{plain['from']} to {plain['to']} ({PLANS[result.upgrade.plan].name})"


def state(result: CellResult, unfinished: Iterable[Upgrade] = ()) -> str:
    """Return a key of ``MARKS``: a violation is final, anything else only when all runs are done."""
    if result.verdict != SAFE or result.upgrade not in unfinished:
        return result.verdict
    return RUNNING if result.runs else OPEN


# -- for the terminal ------------------------------------------------------------------------------------------------


@frozen
class MatrixTable:
    """The matrix, from-lines down and to-lines across, readable without colour; what is too wide stands below."""

    grid: Grid
    unfinished: Iterable[Upgrade]
    marks: Mapping[str, str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as many tables as the width asks for."""
        across, corner = self.grid.across, max(map(len, (CORNER, *self.grid.down)))
        fitting = max(1, (options.max_width - corner - 1) // (CELL_WIDTH + 1))
        for first in range(0, len(across), fitting):
            yield self._part(across[first : first + fitting])

    def _part(self, across: Sequence[str]) -> Table:
        table = Table(box=None, padding=(0, 0, 0, 1), header_style="bold")
        table.add_column(CORNER, style="bold", no_wrap=True)
        for line in across:
            starred = line + "*" * (line in self.grid.notes)
            table.add_column(starred, justify="center", min_width=CELL_WIDTH, overflow="fold")
        for line in self.grid.down:
            row = [self.grid.cell(line, other) for other in across]
            if any(row):
                table.add_row(line, *(_signs(cell, self.unfinished, self.marks) for cell in row))
        return table


def matrix_table(
    results: Sequence[CellResult], unfinished: Iterable[Upgrade] = (), *, ascii_only: bool = False
) -> MatrixTable:
    """Return what draws the matrix."""
    return MatrixTable(Grid(results), unfinished, ASCII_MARKS if ascii_only else MARKS)


def _signs(cell: Sequence[CellResult], unfinished: Iterable[Upgrade], marks: Mapping[str, str]) -> Text:
    """Write ``(1✓)2✓ o✓``: each plan's sign and verdict, the documented one in brackets."""
    text, bracket = Text(), " "
    for result in cell:
        at = state(result, unfinished)
        opening = "(" if result.upgrade.documented else bracket
        text.append(opening).append(PLANS[result.upgrade.plan].sign + marks[at], STYLES[at])
        bracket = ")" if result.upgrade.documented else " "
    return text.append(bracket.strip())


def legend(*, ascii_only: bool = False) -> Text:
    """Explain the signs of ``matrix_table``."""
    marks = ASCII_MARKS if ascii_only else MARKS
    plans = (f"{words.sign} {words.name}" for words in PLANS.values())
    signs = (*plans, "( ) documented plan", f"{marks[SAFE]} safe", f"{marks[UNSAFE]} unsafe")
    return Text(marks[BETWEEN].join(signs), "dim")


class Grid:
    """The cells of a matrix by line; ``releases`` stand for the lines, ``notes`` tell what is special about a line."""

    def __init__(self, results: Iterable[CellResult]) -> None:
        self._cells: dict[tuple[str, str], list[CellResult]] = {}
        self.releases: tuple[dict[str, Release], dict[str, Release]] = {}, {}
        for result in results:
            names = result.upgrade.names
            self._cells.setdefault(names, []).append(result)
            for side, line, release in zip(self.releases, names, _pair(result.upgrade), strict=True):
                side[line] = release
        self.down, self.across = (sorted(side, key=lambda line: side[line].number) for side in self.releases)
        self.notes = {line: release.note for line, release in self.releases[1].items() if release.note}

    @property
    def large(self) -> bool:
        """Whether it is too large to be drawn with every plan."""
        return max(len(self.down), len(self.across)) > MOST_NAMED

    def items(self) -> Iterable[tuple[tuple[str, str], list[CellResult]]]:
        """Yield the cells by the names of their lines."""
        return self._cells.items()

    def cell(self, origin: str, target: str) -> list[CellResult]:
        """Return the results of a cell; none if it is not part of the sweep."""
        return self._cells.get((origin, target), [])


def _pair(upgrade: Upgrade) -> Pair:
    return upgrade.origin, upgrade.target


# -- the guide -------------------------------------------------------------------------------------------------------

SIGN_STYLES: Final = {"1": "green", "2": "yellow", "o": "bold red"}


def guide_table(kept: Mapping[str, Any]) -> Table:
    """Draw the guide (a ``summary``): releases with the same ways share a row and a column."""
    (_, corner, *letters), rows = matrix_rows(kept)
    table = Table(box=None, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column(corner, style="bold", overflow="fold")
    for each in letters:
        table.add_column(each, justify="center")
    for head, names, *signs in rows:
        cells = [Text(sign, SIGN_STYLES.get(sign, "cyan")) for sign in signs]
        table.add_row(f"{head.strip('*')} {names}", *cells)
    return table


def guide_legend(*, ascii_only: bool = False) -> Text:
    """Explain the signs of ``guide_table``."""
    marks = ASCII_MARKS if ascii_only else MARKS
    signs = ("1 one bounce", "2, 3 ... so many, with upgrade.from or bridges", "o offline")
    return Text("simplest safe way: " + marks[BETWEEN].join(signs), "dim")
