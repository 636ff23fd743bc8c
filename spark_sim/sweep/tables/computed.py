"""Tables that are computed when they are read, without storing anything: what the data source on Spark does.

A request is cut into slices. Each slice yields its rows by itself, with the work units and functions of a sweep. Kinds
that share a unit are in one slice, because each unit is computed once. ``upgrades`` needs no computation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.row_filter import OPTION as PUSH_OPTION
from streams_assignor.spark_sim.jobs.table import Row, Table
from streams_assignor.spark_sim.packed.upgrade_result import MAX_EXPLORED_MEMBERS
from streams_assignor.spark_sim.search.sampling import MAX_MEMBERS
from streams_assignor.spark_sim.sweep.suites import (
    SUITES,
    Suite,
    matrix_suite,
    pair_suite,
    table_rows,
    upgrades_between,
)
from streams_assignor.spark_sim.sweep.tables.schema import RUNS, TABLES, UPGRADES
from streams_assignor.spark_sim.sweep.work_units import WorkUnit, cut_into_tasks, default_config, unit_key
from streams_assignor.spark_sim.sweep.worker import UnitTask, unit_rows
from streams_assignor.upgrade.errors import UpgradeError, quote_input
from streams_assignor.upgrade.input_values import InvalidInput, parse_number
from streams_assignor.upgrade.plans import MATRICES, Plan

OPTIONS: Final = ("matrix", "from", "to", "plan", "upgrade.from", "members", "table", PUSH_OPTION)


class OptionError(StreamsAssignorError, ValueError):
    """An option that the request cannot have; the message is one sentence."""


@frozen
class TableRequest:
    """A table and the sweep that it is of."""

    table: Table
    make_suite: Callable[[], Suite]
    """Takes seconds for a large matrix, so the options are checked and the schema is known without it."""

    @cached_property
    def suite(self) -> Suite:
        """The suite whose table is read."""
        return self.make_suite()

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> TableRequest:
        """Return the request of some options.

        Raises:
            OptionError: An option is unknown, or has no such value, or two of them contradict each other.
        """
        given = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(given.keys() - set(map(str.lower, OPTIONS))):
            raise OptionError(f"expected the options {', '.join(OPTIONS)}, got {unknown[0]}")
        table = _one_of("table", given.get("table", UPGRADES.name), TABLES)
        return cls(TABLES[table], _suite_maker(given))

    def slices(self, is_wanted: Callable[[str], bool] = lambda _kind: True) -> list[TableSlice]:
        """Return what can be computed independently.

        Args:
            is_wanted: Whether a kind is asked for; rows of others may be there, too.
        """
        suite = self.suite
        keyed = {unit_key(unit): unit for unit in suite.units}
        if self.table is UPGRADES:
            return [TableSlice(self.table.name, _plain(suite), tuple(keyed.items()))]
        kinds: dict[str, list[str]] = {}
        for key, kind in table_rows(suite, keyed, None, {}).units:
            if is_wanted(kind):
                kinds.setdefault(key, []).append(kind)
        if self.table is RUNS:
            wanted = {key: unit for key, unit in keyed.items() if key in kinds}
            tasks = cut_into_tasks(wanted.items(), lambda item: item[1].cost)
            empty = evolve(_plain(suite), cells=())
            return [TableSlice(self.table.name, empty, task, kinds=_part(kinds, dict(task))) for task in tasks]
        positions = {cell: position for position, cell in reversed(list(enumerate(suite.cells)))}
        slices = []
        parts = [part for part in _independent(suite, keyed) if any(key in kinds for key, _ in part)]
        for task in cut_into_tasks(parts, lambda part: sum(unit.cost for _, unit in part)):
            units = tuple(item for part in task for item in part)
            part = _plain(suite.with_units(unit for _, unit in units))
            slices.append(TableSlice(self.table.name, part, units, tuple(positions[cell] for cell in part.cells)))
        return slices


@frozen
class TableSlice:
    """Some rows of a table, and the units that they are made of: a value that can be pickled."""

    table: str
    suite: Suite
    units: tuple[tuple[str, WorkUnit], ...]
    positions: tuple[int, ...] = ()
    """The places of the cells in the whole sweep; () if they are the same."""
    kinds: Mapping[str, list[str]] = field(factory=dict)
    """The kinds of each unit."""

    def rows(self) -> Iterator[Row]:
        """Compute the units, and yield the rows."""
        task = UnitTask("", "", self.units)
        if self.table == RUNS.name:
            for unit in unit_rows(task):
                for kind in self.kinds.get(unit["unit_key"], ()):
                    yield from ({"kind_id": kind, **run} for run in unit["runs"])
            return
        units = dict(self.units)
        if self.table == UPGRADES.name:
            yield from table_rows(self.suite, units, None, {}).tables[self.table]
            return
        results, traces = {}, {}
        for unit in unit_rows(task):
            key, type_ = unit["unit_key"], units[unit["unit_key"]].result_type
            results[key] = type_.of_json(units[key].cell, json.loads(unit["result"]))
            traces[key] = unit["trace"]
        for row in table_rows(self.suite, units, results, traces).tables[self.table]:
            yield row | {"position": self.positions[row["position"]]} if "position" in row else row


def _plain(suite: Suite) -> Suite:
    """Return the sweep without what only its driver needs, and what cannot be pickled."""
    return evolve(suite, files={}, units=suite.units[:1])


def _part(kinds: Mapping[str, list[str]], units: Mapping[str, WorkUnit]) -> dict[str, list[str]]:
    return {key: kinds[key] for key in units if key in kinds}


def _independent(suite: Suite, keyed: Mapping[str, WorkUnit]) -> list[list[tuple[str, WorkUnit]]]:
    """Return the units in groups, so that no cell needs units of two groups."""
    group: dict[Hashable, Hashable] = {}

    def first_of(key: Hashable) -> Hashable:
        while group.setdefault(key, key) != key:
            key = group[key]
        return key

    for cell in suite.cells:
        classes = suite.classes_of(cell)
        for class_ in classes:
            group[first_of(class_)] = first_of(classes[0])
    groups: dict[Hashable, list[tuple[str, WorkUnit]]] = {}
    for key, unit in keyed.items():
        groups.setdefault(first_of(unit.class_key), []).append((key, unit))
    return list(groups.values())


# -- options ---------------------------------------------------------------------------------------------------------


def _suite_maker(given: Mapping[str, str]) -> Callable[[], Suite]:
    of_a_pair = [name for name in ("from", "to", "plan", "upgrade.from") if name in given]
    if "matrix" in given and of_a_pair:
        raise OptionError(f"matrix names all upgrades: leave out {', '.join(of_a_pair)}")
    if of_a_pair:
        if lacking := [name for name in ("from", "to") if name not in given]:
            raise OptionError(f"an upgrade has the options from and to: {lacking[0]} is missing")
        plan = given.get("plan")
        if plan is not None:
            _one_of("plan", plan, [known_plan.value for known_plan in Plan])
        try:
            upgrades = upgrades_between(given["from"], given["to"], plan, given.get("upgrade.from"))
        except UpgradeError as error:
            raise OptionError(str(error)) from None
        return partial(pair_suite, upgrades, default_config(members=_members(given)))
    name = _one_of("matrix", given.get("matrix", "kip-268"), SUITES)
    if name in MATRICES:
        return partial(matrix_suite, name, _members(given))
    if "members" in given:
        raise OptionError(f"matrix {name} defines its members: leave out members")
    return SUITES[name]


def _members(given: Mapping[str, str]) -> int:
    text: Any = given.get("members", "3")
    try:
        return parse_number(str(text), 1, MAX_MEMBERS)
    except InvalidInput:
        explored = f"{MAX_EXPLORED_MEMBERS} and fewer are explored, more are sampled"
        raise OptionError(f"expected members from 1 to {MAX_MEMBERS} ({explored}), got {quote_input(text)}") from None


def _one_of(name: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise OptionError(f"expected {name} to be one of {', '.join(allowed)}, got {value!r}")
    return value
