"""Shows a sweep over upgrades in a terminal: the matrix, or the guide that follows from it if the matrix is large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from streams_assignor.spark_sim.advice.upgrade_guide import Pair
from streams_assignor.spark_sim.model.metrics import MAX_GROUP_METADATA_BYTES
from streams_assignor.spark_sim.model.violations import VERSION_PROBED
from streams_assignor.spark_sim.search.cell_result import (
    ERROR,
    SAFE,
    SAFE_IF,
    UNKNOWN,
    UNSAFE,
    UpgradeResult,
    groups_in_words,
)
from streams_assignor.spark_sim.sweep.operator_deviations import DEVIATION_DESCRIPTIONS
from streams_assignor.spark_sim.sweep.report import judgement
from streams_assignor.spark_sim.sweep.report._guide_tables import group_sizes, guide_summary, matrix_rows
from streams_assignor.spark_sim.sweep.report.console import print_dim
from streams_assignor.spark_sim.sweep.report.judgement import MAX_NAMED, Judgement, abbreviated, replay_line
from streams_assignor.spark_sim.sweep.suites import MATRIX
from streams_assignor.spark_sim.sweep.sweep import Progress
from streams_assignor.upgrade.plans import (
    RECORD_FORMAT_CHANGES,
    Plan,
    Upgrade,
    fails_on_stateless_tasks,
    is_wrongly_probed,
    obstacles,
)
from streams_assignor.upgrade.releases import Release


@frozen
class PlanLabel:
    """The sign of a plan in tables, its name, and what the operator does."""

    sign: str
    name: str
    meaning: str


PLANS: Final = {
    Plan.ONE_BOUNCE: PlanLabel("1", "one bounce", "restart every member once, without any config"),
    Plan.TWO_BOUNCES: PlanLabel(
        "2", "two bounces", "restart every member twice, first with upgrade.from if there is a value for it"
    ),
    Plan.OFFLINE: PlanLabel("o", "offline", "stop all members, then start them all"),
}

MAX_DRAWN_UPGRADES: Final = 1_000
"""With more upgrades there is no matrix while they are swept, because merging their results takes time."""
CORNER: Final = "from \\ to"
CELL_WIDTH: Final = len("(1✓)2✓ o✓")
PENDING: Final = "open"
RUNNING: Final = "running"
SEPARATOR: Final = "between"
MARKS: Final = {
    SAFE: "✓",
    SAFE_IF: "◐",
    UNSAFE: "✗",
    UNKNOWN: "?",
    ERROR: "!",
    RUNNING: "…",
    PENDING: "·",
    SEPARATOR: " · ",
}
ASCII_MARKS: Final = {
    SAFE: "+",
    SAFE_IF: "/",
    UNSAFE: "x",
    UNKNOWN: "?",
    ERROR: "!",
    RUNNING: "~",
    PENDING: ".",
    SEPARATOR: ", ",
}
STYLES: Final = {
    SAFE: "green",
    SAFE_IF: "yellow",
    UNSAFE: "bold red",
    UNKNOWN: "magenta",
    ERROR: "bold magenta",
    RUNNING: "cyan",
    PENDING: "dim",
}


# -- what it comes to ------------------------------------------------------------------------------------------------


def judge(results: Sequence[UpgradeResult]) -> Judgement:
    """Judge a sweep: every documented plan is safe, and runs with version probing contain a probe."""
    return judgement.judge(
        results,
        shows_nothing=lambda result: result.expects_probe and result.runs and not result.probes,
        why=f"{VERSION_PROBED}; no probe was ever seen",
        words=judgement.KAFKAS_GUIDE,
    )


def example_lines(results: Iterable[UpgradeResult], limit: int) -> Iterator[str]:
    """Yield lines about the first unsafe upgrades, each with the command that replays it."""
    return judgement.example_lines(results, limit, _describe, "upgrades", MATRIX)


def _describe(result: UpgradeResult) -> str:
    extent = f"{result.violations:,} of {result.runs:,} runs violate" if result.runs else "a schedule violates"
    return f'{result.title}: {extent} "{result.property}"'


def measure_lines(results: Iterable[UpgradeResult]) -> Iterator[str]:
    """Yield the cost of sampled upgrades, and how many of the possible schedule classes were sampled."""
    for result in results:
        if result.possible_schedule_classes:
            share = 100 * result.group_bytes / MAX_GROUP_METADATA_BYTES
            yield (
                f"{result.title}: {result.runs:,} schedules sampled, "
                f"{len(result.schedule_classes)} of {result.possible_schedule_classes} kinds; "
                f"at most {result.max_rebalances} rebalances after a step, {result.moved_tasks:,} tasks move, "
                f"tasks are unowned for {result.unowned_task_ms / 1000:g} s in all; "
                f"metadata {result.group_bytes:,} bytes ({share:.2g} % of what a broker takes of a group by default), "
                f"{result.member_bytes:,} of a member"
            )


def variant_lines(results: Sequence[UpgradeResult]) -> Iterator[str]:
    """Yield how many safe plans each operator deviation breaks, and how many documented ones among them."""
    for name, words in DEVIATION_DESCRIPTIONS.items():
        asked = [result for result in results if name in result.deviations and result.holds]
        broken = [result for result in asked if not result.deviations[name].holds]
        documented = sum(result.upgrade.is_documented for result in broken)
        if asked:
            counted = f", {documented} of them documented" if documented else ""
            yield f"if {words}: {len(broken)} of {len(asked)} safe plans break{counted}"
        if broken:
            least = min(
                broken,
                key=lambda result: (not result.upgrade.is_documented, len(result.deviations[name].example or "")),
            )
            deviation = least.deviations[name]
            yield f'  for example {least.title}, which violates "{deviation.property}"'
            if deviation.example:
                yield replay_line(deviation.example)


_UNSEEN_BUGS: Final[Mapping[str, Callable[[Release, Release], bool]]] = {
    "leaders of 2.6 to 3.0 fail on stateless tasks that members up to 2.3 report": fails_on_stateless_tasks,
    "leaders up to 2.3.0 that probe assign wrong tasks of several threads or topics (KAFKA-8649)": is_wrongly_probed,
}


def size_lines(results: Sequence[UpgradeResult]) -> Iterator[str]:
    """Yield how many verdicts are about groups of which sizes."""
    for verdict in (SAFE, SAFE_IF, UNSAFE):
        sizes = group_sizes(result for result in results if result.verdict == verdict)
        if words := ", ".join(f"{sizes[size]:,} {groups_in_words(size) or size}" for size in sizes):
            yield f"{verdict}: {words}"


def unseen_lines(results: Iterable[UpgradeResult]) -> Iterator[str]:
    """Yield the pairs with bugs that need records, further topics or threads, or stateless tasks to be seen."""
    pairs = {_pair(result.upgrade): " to ".join(result.upgrade.display_names) for result in results}
    for format_ in RECORD_FORMAT_CHANGES:
        if changing := [title for pair, title in pairs.items() if format_ in obstacles(*pair)]:
            yield f"not seen by a sweep: {format_.value}: {abbreviated(changing)}"
    for text, has_bug in _UNSEEN_BUGS.items():
        if affected := [title for pair, title in pairs.items() if has_bug(*pair)]:
            yield f"not seen by a sweep: {text}: {abbreviated(affected)}"


def note_lines(results: Iterable[UpgradeResult]) -> Iterator[str]:
    """Yield the notes on lines with an asterisk."""
    for line, note in MatrixGrid(results).notes.items():
        yield f"* {line}: {note}"


def cell_state(result: UpgradeResult, unfinished: Iterable[Upgrade] = ()) -> str:
    """Return a key of ``MARKS``: a violation is final, anything else only when all runs are done."""
    if not result.holds or result.upgrade not in unfinished:
        return result.verdict
    return RUNNING if result.runs else PENDING


# -- for the terminal ------------------------------------------------------------------------------------------------


@frozen
class MatrixTable:
    """The matrix, from-lines down and to-lines across, readable without colour; what is too wide stands below."""

    grid: MatrixGrid
    unfinished: Iterable[Upgrade]
    marks: Mapping[str, str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw as many tables as the width asks for."""
        across, corner = self.grid.across, max(map(len, (CORNER, *self.grid.down)))
        fitting = max(1, (options.max_width - corner - 1) // (CELL_WIDTH + 1))
        for first in range(0, len(across), fitting):
            yield self._table_of(across[first : first + fitting])

    def _table_of(self, across: Sequence[str]) -> Table:
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
    results: Sequence[UpgradeResult], unfinished: Iterable[Upgrade] = (), *, ascii_only: bool = False
) -> MatrixTable:
    """Return what draws the matrix."""
    return MatrixTable(MatrixGrid(results), unfinished, ASCII_MARKS if ascii_only else MARKS)


def _signs(cell: Sequence[UpgradeResult], unfinished: Iterable[Upgrade], marks: Mapping[str, str]) -> Text:
    """Write ``(1✓)2✓ o✓``: each plan's sign and verdict, that of Kafka's guide in brackets."""
    text, bracket = Text(), " "
    for result in cell:
        at = cell_state(result, unfinished)
        opening = "(" if result.upgrade.is_documented else bracket
        text.append(opening).append(PLANS[result.upgrade.plan].sign + marks[at], STYLES[at])
        bracket = ")" if result.upgrade.is_documented else " "
    return text.append(bracket.strip())


def legend(*, ascii_only: bool = False) -> Text:
    """Explain the signs of ``matrix_table``."""
    marks = ASCII_MARKS if ascii_only else MARKS
    plans = (f"{words.sign} {words.name}" for words in PLANS.values())
    verdicts = (f"{marks[verdict]} {verdict}" for verdict in (SAFE, SAFE_IF, UNSAFE, UNKNOWN, ERROR))
    signs = (*plans, "( ) plan of Kafka's guide", *verdicts)
    return Text(marks[SEPARATOR].join(signs), "dim")


class MatrixGrid:
    """The cells of a matrix by line; ``releases`` represent the lines, ``notes`` explain some of them."""

    def __init__(self, results: Iterable[UpgradeResult]) -> None:
        self._cells: dict[tuple[str, str], list[UpgradeResult]] = {}
        self.releases: tuple[dict[str, Release], dict[str, Release]] = {}, {}
        for result in results:
            names = result.upgrade.display_names
            self._cells.setdefault(names, []).append(result)
            for side, line, release in zip(self.releases, names, _pair(result.upgrade), strict=True):
                side[line] = release
        self.down, self.across = (sorted(side, key=lambda line: side[line].number) for side in self.releases)
        self.notes = {line: release.note for line, release in self.releases[1].items() if release.note}

    @property
    def is_too_large(self) -> bool:
        """Whether it is too large to be drawn with every plan."""
        return max(len(self.down), len(self.across)) > MAX_NAMED

    def items(self) -> Iterable[tuple[tuple[str, str], list[UpgradeResult]]]:
        """Yield the cells by the names of their lines."""
        return self._cells.items()

    def cell(self, origin: str, target: str) -> list[UpgradeResult]:
        """Return the results of a cell; none if it is not part of the sweep."""
        return self._cells.get((origin, target), [])


def _pair(upgrade: Upgrade) -> Pair:
    return upgrade.origin, upgrade.target


def draw_progress(progress: Progress, *, ascii_only: bool) -> RenderableType | None:
    """Draw the matrix of a running sweep; None if it is too large."""
    results = progress.results if len(progress.suite.cells) <= MAX_DRAWN_UPGRADES else []
    if not results or MatrixGrid(results).is_too_large:
        return None
    return Group(matrix_table(results, progress.unfinished, ascii_only=ascii_only), legend(ascii_only=ascii_only))


def print_results(console: Console, results: Sequence[UpgradeResult], max_examples: int) -> None:
    """Print the matrix (or the guide, if the matrix is too large), and lines about it."""
    ascii_only = bool(console.options.ascii_only)
    if MatrixGrid(results).is_too_large:
        console.print(guide_table(guide_summary(results)))
        console.print(guide_legend(ascii_only=ascii_only), soft_wrap=True)
    else:
        console.print(matrix_table(results, ascii_only=ascii_only))
        console.print(legend(ascii_only=ascii_only), soft_wrap=True)
    print_dim(
        console,
        (
            *note_lines(results),
            *size_lines(results),
            *measure_lines(results),
            *example_lines(results, max_examples),
            *variant_lines(results),
            *unseen_lines(results),
        ),
    )


# -- the guide -------------------------------------------------------------------------------------------------------

SIGN_STYLES: Final = {"1": "green", "2": "cyan", "o": "bold red"}
CONDITIONAL: Final = "yellow"
"""The style of the signs of ``safe-if``."""


def guide_table(summary: Mapping[str, Any]) -> Table:
    """Draw the guide (a ``summary``): releases with the same ways share a row and a column."""
    (_, corner, *letters), rows = matrix_rows(summary)
    table = Table(box=None, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column(corner, style="bold", overflow="fold")
    for letter in letters:
        table.add_column(letter, justify="center")
    for head, names, *signs in rows:
        cells = [Text(sign, CONDITIONAL if {"/", "?"} & set(sign) else SIGN_STYLES.get(sign, "cyan")) for sign in signs]
        table.add_row(f"{head.strip('*')} {names}", *cells)
    return table


def guide_legend(*, ascii_only: bool = False) -> Text:
    """Explain the signs of ``guide_table``."""
    marks = ASCII_MARKS if ascii_only else MARKS
    signs = (
        "1 one bounce",
        "2, 3 ... so many, with upgrade.from or bridges",
        "o offline",
        "1/2 safe-if: one without foreign-key joins or repartitioned tables, else two (plan FROM TO names them)",
    )
    return Text("simplest safe way: " + marks[SEPARATOR].join(signs), "dim")
