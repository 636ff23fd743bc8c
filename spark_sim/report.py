"""Shows a sweep: the matrix as a table for the terminal, and one page of HTML that needs no network.

All of it comes from ``matrix.json``, so a report needs no Spark; the examples are run again and told step by step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen
from rich.table import Table
from rich.text import Text

from spark_sim.properties import PROBED
from spark_sim.results import MANIFEST, MATRIX, ResultsError, write_whole
from spark_sim.runs import SAFE, UNSAFE, CellResult
from spark_sim.scenario import Scenario
from spark_sim.schedules import schedules
from spark_sim.story import Story, generations, tell
from upgrade.matrix import Plan, Upgrade
from upgrade.releases import release_named


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

OPEN: Final = "open"
RUNNING: Final = "running"
MARKS: Final = {SAFE: "✓", UNSAFE: "✗", RUNNING: "…", OPEN: "·"}
ASCII_MARKS: Final = {SAFE: "+", UNSAFE: "x", RUNNING: "~", OPEN: "."}
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
    )


# -- what it comes to ------------------------------------------------------------------------------------------------


@frozen
class Judgement:
    """Whether a sweep shows what Kafka's documentation promises, and one line that says so or why not."""

    good: bool
    text: str


def judge(results: Sequence[CellResult]) -> Judgement:
    """Judge a sweep: every documented plan is safe, and where probing belongs to the upgrade it really happened."""
    broken = [_title(result) for result in results if result.upgrade.documented and result.verdict != SAFE]
    unproven = [_title(result) for result in results if result.should_probe and not result.probes]
    unsafe = sum(result.verdict != SAFE for result in results)
    documented = sum(result.upgrade.documented for result in results)
    if broken:
        return Judgement(False, f"documented, and yet unsafe: {', '.join(broken)}")
    if unproven:
        return Judgement(False, f"{PROBED}; no probe was ever seen, so nothing is shown: {', '.join(unproven)}")
    promised = f"all {documented} safe" if documented else "none was asked for"
    return Judgement(True, f"documented plans: {promised}; others: {unsafe} of {len(results) - documented} unsafe")


def example_lines(results: Iterable[CellResult], most: int) -> Iterator[str]:
    """Tell of the first unsafe upgrades, each with the command that shows what happens; documented ones come first."""
    unsafe = sorted((r for r in results if r.verdict != SAFE), key=lambda r: not r.upgrade.documented)
    for result in unsafe[:most]:
        yield f"{_title(result)}: {result.violations:,} of {result.runs:,} runs unsafe, {result.violated}"
        yield f'  streams-assignor replay "{result.example}"'
    if len(unsafe) > most:
        yield f"and {len(unsafe) - most} more unsafe upgrades, each with an example in {MATRIX}"


def notes(results: Iterable[CellResult]) -> Iterator[str]:
    """Tell what is special about a line that bears a star."""
    for line, note in _Grid(results).notes.items():
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


def matrix_table(
    results: Sequence[CellResult], unfinished: Iterable[Upgrade] = (), *, ascii_only: bool = False
) -> Table:
    """Draw the matrix, from-lines down and to-lines across; readable in 100 columns, and without colour."""
    grid = _Grid(results)
    marks = ASCII_MARKS if ascii_only else MARKS
    table = Table(box=None, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column("from \\ to", style="bold", no_wrap=True)
    for line in grid.across:
        table.add_column(line + "*" * (line in grid.notes), justify="center", min_width=9, overflow="fold")
    for line in grid.down:
        table.add_row(line, *(_signs(grid.cell(line, other), unfinished, marks) for other in grid.across))
    return table


def _signs(cell: Sequence[CellResult], unfinished: Iterable[Upgrade], marks: dict[str, str]) -> Text:
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
    plans = " · ".join(f"{words.sign} {words.name}" for words in PLANS.values())
    return Text(f"{plans} · ( ) documented plan · {marks[SAFE]} safe · {marks[UNSAFE]} unsafe", "dim")


class _Grid:
    """The cells of a matrix by line; ``notes`` tells what is special about a line."""

    def __init__(self, results: Iterable[CellResult]) -> None:
        self._cells: dict[tuple[str, str], list[CellResult]] = {}
        numbers = {}
        for result in results:
            plain = result.as_json()
            self._cells.setdefault((plain["from"], plain["to"]), []).append(result)
            for line, release in ((plain["from"], result.upgrade.origin), (plain["to"], result.upgrade.target)):
                numbers[line] = release.number
        self.down = sorted({line for line, _ in self._cells}, key=numbers.__getitem__)
        self.across = sorted({line for _, line in self._cells}, key=numbers.__getitem__)
        targets = {line: cell[0].upgrade.target for (_, line), cell in self._cells.items()}
        self.notes = {line: target.note for line, target in targets.items() if target.note}

    def items(self) -> Iterable[tuple[tuple[str, str], list[CellResult]]]:
        return self._cells.items()

    def cell(self, origin: str, target: str) -> list[CellResult]:
        return self._cells.get((origin, target), [])


# -- for the browser -------------------------------------------------------------------------------------------------


def write_html(results: Sequence[CellResult], file: Path) -> None:
    """Write the page."""
    write_whole(file, html(results))


def html(results: Sequence[CellResult]) -> str:
    """Return one page with everything in it: heat map, and for each cell its plans with an example told in full."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("spark_sim"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    grid = _Grid(results)
    cells = {f"{origin}-to-{target}": [_drill(result) for result in cell] for (origin, target), cell in grid.items()}
    return environment.get_template("report.html.j2").render(
        grid=grid,
        judgement=judge(results),
        runs=sum(result.runs for result in results),
        results=results,
        plans=PLANS,
        cells=cells,
        filters=[
            ("all", "All plans"),
            *((plan.value, words.name) for plan, words in PLANS.items()),
            ("documented", "documented"),
        ],
    )


def _drill(result: CellResult) -> dict[str, Any]:
    """Return what the page shows of one plan: the object of ``matrix.json``, and an example told in full."""
    scenario = Scenario.parse(result.example) if result.example else next(schedules(result.upgrade, "ABC"))
    story = tell(scenario)
    return result.as_json() | {
        "name": PLANS[result.upgrade.plan].name,
        "meaning": PLANS[result.upgrade.plan].meaning,
        "scenario": str(scenario),
        "story": _chapters(story),
    }


def _chapters(story: Story) -> list[dict[str, Any]]:
    return [
        {"step": c.step, "meaning": c.meaning, "generations": [asdict(each) for each in generations(c.events)]}
        for c in story.chapters
    ]
