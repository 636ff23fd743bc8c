"""What a sweep is: its units, its cells, and the files that it ends with. There is one suite for each kind of sweep."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen

from spark_sim.advice.upgrade_guide import derive_guide, entry_json
from spark_sim.pipeline._regression_units import REGRESSION_TABLE, parse_regression_result, regression_units
from spark_sim.pipeline.broker_units import (
    BROKER_MATRIX,
    BrokerUnit,
    all_line_pairs,
    cell_keys,
    parse_broker_result,
)
from spark_sim.pipeline.equivalence import merge_results, upgrade_class
from spark_sim.pipeline.work_units import SweepConfig, WorkUnit
from spark_sim.search.cell_result import CellResult
from spark_sim.search.tables import UPGRADE_MATRIX, json_lines, parse_upgrade_result
from upgrade.plans import Upgrade

MATRIX: Final = "matrix.json"
GUIDE: Final = "guide.json"
HISTORY: Final = "history.json"
MANIFEST: Final = "manifest.json"

UPGRADES: Final = "upgrades"
BROKERS: Final = "brokers"
REGRESSIONS: Final = "regressions"


class ResultFolderError(Exception):
    """A folder that cannot hold, or does not hold, the results of a sweep; the message contains the remedy."""


def _itself(cell: Hashable) -> Hashable:
    return cell


@frozen
class Suite:
    """A sweep: all that decides its results."""

    kind: str
    """``UPGRADES``, ``BROKERS`` or ``REGRESSIONS``."""
    name: str
    units: tuple[WorkUnit, ...]
    cells: tuple[Any, ...]
    """The cells in the order of the results."""
    expand: Callable[[Iterable[Any]], list[Any]]
    """Returns one result for each cell, in their order, made of the results of the units so far."""
    files: Mapping[str, Callable[[Sequence[Any]], str]]
    """The files that the sweep ends with, by name, in the order in which they are written."""
    parameters: Mapping[str, Any] = field(factory=dict)
    """What has to be equal to resume the sweep, beside its name and its units."""
    class_of: Callable[[Any], Hashable] = _itself
    """The equivalence class of a cell."""

    @property
    def main_file(self) -> str:
        """The file that holds the results; it is written last."""
        return [*self.files][-1]

    def unfinished(self, pending: Iterable[WorkUnit]) -> frozenset[Any]:
        """Return the cells whose results may change until the pending units are computed."""
        classes = {self.class_of(unit.cell) for unit in pending}
        return frozenset(cell for cell in self.cells if self.class_of(cell) in classes)


def upgrade_suite(name: str, upgrades: Iterable[Upgrade], config: SweepConfig | None = None) -> Suite:
    """Return the sweep over upgrades of Streams groups."""
    wanted, config = tuple(upgrades), config or SweepConfig()
    return Suite(
        UPGRADES,
        name,
        tuple(config.units(wanted)),
        wanted,
        partial(merge_results, wanted),
        {GUIDE: _guide_json, MATRIX: UPGRADE_MATRIX.json_lines},
        asdict(config),
        upgrade_class,
    )


def _guide_json(results: Sequence[Any]) -> str:
    return json_lines(map(entry_json, derive_guide(results).values()))


def broker_suite(pairs: Iterable[tuple[str, str]] = (), *, nodes: int = 3, faults: int = 1) -> Suite:
    """Return the sweep over upgrades of brokers; without pairs, of every release line to every later one.

    Raises:
        UpgradeError: A pair is no upgrade of brokers that can finalise features.
    """
    keys = tuple(key for pair in pairs or all_line_pairs() for key in cell_keys(*pair, nodes=nodes, faults=faults))
    files = {MATRIX: BROKER_MATRIX.json_lines}
    return Suite(BROKERS, BROKERS, tuple(map(BrokerUnit, keys)), keys, partial(_in_order, keys), files)


def regression_suite(*, every: bool = False, **how_far: int) -> Suite:
    """Return the searches for Kafka's known bugs, in one affected and one fixed pair each, or in ``every`` pair."""
    units = tuple(regression_units(every=every, **how_far))
    keys = tuple(unit.cell for unit in units)
    return Suite(REGRESSIONS, REGRESSIONS, units, keys, partial(_in_order, keys), {HISTORY: _history_json})


def _history_json(results: Sequence[Any]) -> str:
    return json.dumps([REGRESSION_TABLE.record(each) for each in results], indent=1) + "\n"


def _in_order(cells: Sequence[Any], results: Iterable[CellResult]) -> list[CellResult]:
    by_cell = {each.cell: each for each in results}
    return [by_cell[cell] for cell in cells if cell in by_cell]


# -- finished sweeps -------------------------------------------------------------------------------------------------

_READERS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    UPGRADES: (MATRIX, parse_upgrade_result),
    BROKERS: (MATRIX, parse_broker_result),
    REGRESSIONS: (HISTORY, parse_regression_result),
}
"""The file that holds the results of each kind of sweep, and the parser of its records."""


def read_results(folder: Path) -> tuple[str, list[Any]]:
    """Return the kind and the results of a finished sweep.

    Raises:
        ResultFolderError: The folder holds no finished sweep.
    """
    kind = _kind_of(folder)
    name, parse = _READERS[kind]
    try:
        records = json.loads((folder / name).read_text(encoding="utf-8"))
        if not isinstance(records, list):
            raise ValueError(f"expected a list of records, got {type(records).__name__}")
        return kind, [parse(each) for each in records]
    except FileNotFoundError:
        begun = (folder / MANIFEST).exists()
        why = "this sweep is not finished; run its command again to resume" if begun else "no sweep was run there"
        raise ResultFolderError(f"{folder} has no {name}: {why}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultFolderError(f"{folder / name} cannot be read: {error!r}") from None


def _kind_of(folder: Path) -> str:
    """Return the kind of a sweep: from its manifest, or for older sweeps from their files."""
    try:
        return str(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["suite"])
    except (OSError, ValueError, LookupError, TypeError):
        pass
    if (folder / HISTORY).exists():
        return REGRESSIONS
    try:
        return BROKERS if "dialect" in json.loads((folder / MATRIX).read_text(encoding="utf-8"))[0] else UPGRADES
    except (OSError, ValueError, LookupError, TypeError):
        return UPGRADES
