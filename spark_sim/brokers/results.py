"""What came of a sweep over brokers, as rows: one for each pair of releases, dialect, kind of nodes and plan.

A row is plain values (``matrix.json`` has them as they are), so it travels between processes and comes back from disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, fields, frozen

from spark_sim.brokers.plans import PLANS
from spark_sim.brokers.scenario import NAMES
from spark_sim.brokers.search import Explored
from spark_sim.cell_result import SAFE, UNSAFE
from spark_sim.report import Judgement
from spark_sim.results import MANIFEST, MATRIX, OURS, ResultsError, write_whole

_NAMES_OF_KEYS: Final = {"origin": "from", "target": "to", "violated": "property"}


@frozen(kw_only=True)
class Row:
    """One cell; what is counted is explained in ``search.Explored``. ``example`` and ``held_up`` are scenarios."""

    origin: str
    target: str
    dialect: str
    nodes: str
    plan: str
    faults: int
    verdict: str
    documented: bool
    states: int
    transitions: int
    schedules: int
    endings: int
    reached: int
    refused: int
    turned_away: int
    violations: int
    violated: str | None
    message: str | None
    example: str | None
    held_up: str | None

    @classmethod
    def of(cls, found: Explored) -> Row:
        """Write a result down."""
        cell, violation = found.cell, found.violation
        return cls(
            origin=cell.pair.origin.name,
            target=cell.pair.target.name,
            dialect=NAMES[cell.dialect],
            nodes=" ".join(cell.nodes),
            plan=cell.plan.name,
            faults=cell.faults,
            verdict=UNSAFE if violation else SAFE,
            documented=cell.dialect in cell.plan.documented,
            states=found.states,
            transitions=found.transitions,
            schedules=found.schedules,
            endings=found.endings,
            reached=found.reached,
            refused=found.refused,
            turned_away=found.turned_away,
            violations=found.violations,
            violated=violation.property if violation else None,
            message=str(violation) if violation else None,
            example=str(found.example) if found.example else None,
            held_up=str(found.held_up) if found.held_up else None,
        )

    @property
    def shows_nothing(self) -> bool:
        """Whether the operator neither came to an end nor was refused anything: then the cell says nothing."""
        return self.verdict == SAFE and not self.reached and not self.refused

    @property
    def title(self) -> str:
        """Name the cell in a sentence."""
        return f"{self.origin} to {self.target}, {self.dialect}, nodes {self.nodes}: {self.plan}"


def matrix_json(rows: Iterable[Row]) -> str:
    """Write ``matrix.json``: a JSON list, one object a line."""
    plain = ({_NAMES_OF_KEYS.get(key, key): value for key, value in asdict(row).items()} for row in rows)
    return "[\n" + ",\n".join(json.dumps(each) for each in plain) + "\n]\n"


def is_broker_sweep(folder: Path) -> bool:
    """Tell the results of a sweep over brokers from those over Streams groups."""
    try:
        found = json.loads((folder / MATRIX).read_text(encoding="utf-8"))
        return "dialect" in found[0]
    except (OSError, ValueError, LookupError, TypeError):
        return False


def read_rows(folder: Path) -> list[Row]:
    """Read the results of a sweep over brokers; ``ResultsError`` if they are none."""
    try:
        return [_row(each) for each in json.loads((folder / MATRIX).read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{folder / MATRIX} cannot be read: {error!r}") from None


def _row(plain: dict[str, Any]) -> Row:
    return Row(**{each.name: plain[_NAMES_OF_KEYS.get(each.name, each.name)] for each in fields(Row)})


def write_rows(folder: Path, rows: Iterable[Row]) -> None:
    """Write ``matrix.json`` as a whole."""
    write_whole(folder / MATRIX, matrix_json(rows))


def prepare(folder: Path) -> None:
    """Make a folder for the results; ``ResultsError`` if it holds something else."""
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file; --out wants a folder")
    foreign = {path.name for path in folder.iterdir()} - OURS if folder.exists() else set()
    if foreign or (folder / MANIFEST).exists() or ((folder / MATRIX).exists() and not is_broker_sweep(folder)):
        raise ResultsError(f"{folder} holds something else than a sweep over brokers: take another --out")
    folder.mkdir(parents=True, exist_ok=True)


# -- what it comes to ------------------------------------------------------------------------------------------------


def judge(rows: Sequence[Row]) -> Judgement:
    """Judge a sweep: whatever a dialect's documents tell an operator to do is safe, and every cell shows something."""
    broken = [row.title for row in rows if row.documented and row.verdict != SAFE]
    empty = [row.title for row in rows if row.shows_nothing]
    if broken:
        return Judgement(False, f"documented, and yet unsafe: {'; '.join(broken)}")
    if empty:
        return Judgement(False, f"nothing happened, so nothing is shown: {'; '.join(empty)}")
    documented = [row for row in rows if row.documented]
    unsafe = sum(row.verdict != SAFE for row in rows)
    return Judgement(
        True, f"documented plans: all {len(documented)} safe; others: {unsafe} of {len(rows) - len(documented)} unsafe"
    )


def example_lines(rows: Iterable[Row], most: int) -> Iterator[str]:
    """Tell of the first unsafe cells, each with the command that shows what happens; documented ones come first."""
    unsafe = sorted((row for row in rows if row.verdict != SAFE), key=lambda row: not row.documented)
    for row in unsafe[:most]:
        yield f"{row.title} ({PLANS[row.plan].means}): {row.violated}"
        yield f'  streams-assignor replay "{row.example}"'
    if len(unsafe) > most:
        yield f"and {len(unsafe) - most} more unsafe cells, each with an example in {MATRIX}"
