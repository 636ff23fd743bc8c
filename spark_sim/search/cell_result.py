"""The result of one cell of a sweep: the verdict, the example that proves it, and how much was explored.

``CellResult`` is what the results of all sweeps have in common. Each field is declared once: with its column in the
tables and its rule for merging. It has the same name in Python, in the tables and in ``matrix.json``.
"""

from __future__ import annotations

import json
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Self

from attrs import evolve, field, fields, frozen

from streams_assignor.spark_sim.jobs.table import (
    NO_COLUMN,
    Column,
    Row,
    column,
    columns_of,
    field_columns,
    row_of,
    values_of,
)
from streams_assignor.spark_sim.search.release_roles import Recast
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named
from streams_assignor.upgrade.verdict import Verdict, topology_conditions

SAFE, SAFE_IF, UNSAFE, UNKNOWN, ERROR = (verdict.value for verdict in Verdict)
HOLDS: Final = frozenset({SAFE, SAFE_IF})
"""The verdicts of cells in which every state was explored and nothing is violated."""
INCOMPLETE: Final = "every schedule was explored"
"""The property of a result with too many states."""
SIMULATION_FAILS: Final = "always: the simulation does not fail"
"""The property of a result whose exploration raised an error."""
CONCRETE_REPLAY_DISAGREES: Final = "always: real members do what packed states do"
DETERMINISTIC: Final = "always: the same scenario gives the same history"
_NOT_OF_THE_UPGRADE: Final[Mapping[str | None, str]] = {
    INCOMPLETE: UNKNOWN,
    SIMULATION_FAILS: ERROR,
    CONCRETE_REPLAY_DISAGREES: ERROR,
    DETERMINISTIC: ERROR,
}
"""Violations that say nothing of the upgrade, and their verdicts."""


def _add_schedules(schedules: int | None, other: int | None) -> int | None:
    """Add two numbers of schedules; None (without end) plus anything is None."""
    return None if schedules is None or other is None else schedules + other


def _frozen(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _union(values: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, **other}


def _one_or_other(value: Any, other: Any) -> Any:
    return other if value is None else value


ANY_SIZE: Final = "any"
SAMPLED: Final = "sampled"
_UP_TO, _FROM, _ONE_SCHEDULE = "up to ", "from ", "one schedule of "


def up_to(members: int) -> str:
    """Return the size of the groups that a search of all groups of up to so many members says something about."""
    return f"{_UP_TO}{members}"


def from_(members: int) -> str:
    """Return the size of the groups of which the smallest that fails has so many members."""
    return f"{_FROM}{members}"


def one_schedule(members: int) -> str:
    """Return the size of the claim of one run of a group of so many members."""
    return f"{_ONE_SCHEDULE}{members}"


def groups_in_words(group_size: str | None) -> str:
    """Return the groups that a verdict is about, to be written behind it; "" if nothing is known of any size.

    >>> groups_in_words(ANY_SIZE)
    'for groups of any size, with any number of crashes and rebalance timeouts'
    >>> groups_in_words(from_(1)), groups_in_words(one_schedule(5)), groups_in_words(None)
    ('from 1 member on', 'one schedule of 5 members', '')
    """
    if group_size == ANY_SIZE:
        return "for groups of any size, with any number of crashes and rebalance timeouts"
    if group_size is None or group_size == SAMPLED:
        return ""
    members = "member" if group_size.endswith(" 1") else "members"
    return f"{group_size} {members}{' on' if group_size.startswith(_FROM) else ''}"


_MERGE: Final = "merge"
DEVIATION_COLUMNS: Final = frozenset(
    {"verdict", "group_size", "property", "message", "example", "states", "transitions", "schedules", "schedules_log10"}
)
"""The columns of an operator deviation; further fields have their default."""


def merged(rule: Callable[[Any, Any], Any]) -> Mapping[str, Any]:
    """Return the metadata of a field whose two values become one; without it, that of the shorter example counts."""
    return {_MERGE: rule}


added: Final = partial(column, metadata=merged(operator.add))
"""Makes a column whose values are added when results are merged."""
most: Final = partial(column, metadata=merged(max))
"""Makes a column of whose values the greatest counts when results are merged."""
bound: Final = partial(column, default=None, metadata=merged(_one_or_other))
"""Makes a column that is equal in all results of a cell that have it."""


@frozen(kw_only=True)
class CellResult(ABC):
    """The common columns of the cells of every sweep."""

    computed_columns: ClassVar[tuple[Column, ...]] = columns_of(
        ("verdict", "string", "safe, safe-if (under the conditions), unsafe, unknown (too many states) or error"),
        ("conditions", "array<string>", "what the topology must not have for safe-if"),
        ("schedules_log10?", "double", "decimal logarithm of the schedules; null for none and if endless"),
    )
    """Columns that are computed of others: attributes with these names."""

    cell: Any = field(kw_only=False, metadata=NO_COLUMN)
    """The explored subject: an ``Upgrade``, a ``BrokerCellKey`` or a ``RegressionKey``."""
    runs: int = added("bigint", "runs of simulated members, with real bytes", default=0)
    violations: int = added("bigint", "violating runs; of brokers violating states", default=0)
    message: str | None = column("string", "what was observed instead, and at which member", default=None)
    """The finding of the example instead of the property."""
    example: str | None = column(
        "string", "shortest violating scenario, as one line: streams-assignor replay explains it", default=None
    )
    """The first of the shortest ones by text."""
    states: int | None = added(
        "bigint", "explored states, up to symmetry; null if no process starts", default=0, is_nullable=True
    )
    transitions: int = added("bigint", "explored transitions", default=0)
    schedules: int | None = column(
        "string",
        "exact number of schedules, as text because of its many digits; null if endless",
        default=0,
        is_nullable=True,
        write=lambda number: None if number is None else str(number),
        read=lambda text: None if text is None else int(text),
        metadata=merged(_add_schedules),
    )

    @property
    def verdict(self) -> str:
        """``safe`` if nothing that was explored or run violated a property.

        ``unknown`` if there were too many states, ``error`` if the simulation failed.
        """
        if not (self.violations or self.property):
            return SAFE
        return _NOT_OF_THE_UPGRADE.get(self.property, UNSAFE)

    @property
    def holds(self) -> bool:
        """Whether every state was explored and violates nothing; conditions on the topology may remain."""
        return self.verdict in HOLDS

    @property
    def conditions(self) -> tuple[str, ...]:
        """Features that the topology must not have, whatever the exploration finds."""
        return ()

    @property
    def schedules_log10(self) -> float | None:
        """The decimal logarithm of the number of schedules; None for none and for endless ones."""
        return round(math.log10(self.schedules), 3) if self.schedules else None

    @property
    def title(self) -> str:
        """The name of the cell in a sentence."""
        return str(self.cell)

    @property
    def is_documented(self) -> bool:
        """Whether Kafka's documentation promises that the cell is safe."""
        return False

    # A class body finds this name instead of the decorator from here on.
    property: str | None = column("string", "first property that is violated", default=None)
    """The property that the example violates."""

    def merge(self, other: Self) -> Self:
        """Merge two results of the same cell; the order does not matter."""
        candidates = [result for result in (self, other) if result.property is not None]
        best = min(
            candidates,
            key=lambda result: (not result.example, len(str(result.example)), str(result.example)),
            default=self,
        )
        rules = {
            result_field.name: result_field.metadata[_MERGE]
            for result_field in fields(type(self))
            if _MERGE in result_field.metadata
        }
        values = {name: rule(getattr(self, name), getattr(other, name)) for name, rule in rules.items()}
        return evolve(best, cell=self.cell, **values)

    # -- rows --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def cell_row(self) -> Row:
        """Return the cell as columns of the table ``upgrades``."""

    @staticmethod
    @abstractmethod
    def parse_cell(row: Row) -> Any:
        """Return the cell of a row of the table ``upgrades``."""

    @classmethod
    def columns(cls, names: Collection[str] | None = None) -> tuple[Column, ...]:
        """Return the columns of results, or those with these names."""
        columns = (*cls.computed_columns, *field_columns(cls))
        return tuple(column for column in columns if names is None or column.name in names)

    def row(self, names: Collection[str] | None = None) -> Row:
        """Return the value of each of the ``columns``."""
        computed = (column.name for column in self.computed_columns if names is None or column.name in names)
        values = {name: getattr(self, name) for name in computed} | row_of(self, names)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def of_row(cls, cell: Any, row: Row, names: Collection[str] | None = None) -> Self:
        """Return the result of a row, or of those of its columns that have these names.

        Raises:
            KeyError: The row lacks a column.
        """
        return cls(cell, **values_of(cls, row, names))

    def as_record(self) -> dict[str, Any]:
        """Return the result as JSON values: the row of its cell and its own, as ``matrix.json`` has them."""
        return self.cell_row() | {"documented": self.is_documented} | self.row()

    def to_json(self) -> str:
        """Return what ``of_json`` reads."""
        return json.dumps(self.row(), ensure_ascii=False)

    @classmethod
    def of_json(cls, cell: Any, plain: Mapping[str, Any]) -> Self:
        """Return the result of ``to_json``, which is parsed already."""
        return cls.of_row(cell, dict(plain))


_FAULTS: Final = ("crashes", "rebalance_timeouts", "spurious_joins", "wait_for_quiescence")


@frozen(kw_only=True)
class UpgradeResult(CellResult):
    """The result of one upgrade of a Streams group."""

    cell: Upgrade = field(kw_only=False, metadata=NO_COLUMN)
    group_size: str | None = bound(
        "string",
        "groups that the verdict is about: any (proven for all sizes and any number of faults), up to N (members), "
        "from N (members on: the smallest group that fails), or sampled",
    )
    members: int = most("bigint", "bound: members of the group", default=0)
    crashes: int | None = bound("bigint", "bound: most crashes in one schedule")
    rebalance_timeouts: int | None = bound("bigint", "bound: most missed rebalance timeouts in one schedule")
    spurious_joins: int | None = bound("bigint", "bound: most rejoins without a reason in one schedule")
    wait_for_quiescence: bool | None = bound("boolean", "bound: whether the operator waits until the group has settled")
    probes: int = added("bigint", "answers with a lower version (version probing), in all runs", default=0)
    max_rebalances: int = most("bigint", "most rebalances between two steps", default=0)
    moved_tasks: int = most("bigint", "most of all runs: tasks with another owner", default=0)
    unowned_task_ms: int = most("bigint", "most of all runs: simulated time for which tasks have no owner", default=0)
    member_bytes: int = most("bigint", "most of all runs: metadata of one member in one generation", default=0)
    group_bytes: int = most("bigint", "most of all runs: metadata of the group in one generation", default=0)
    schedule_classes: frozenset[str] = column(
        "array<string>",
        "classes of the sampled schedules",
        default=frozenset(),
        write=sorted,
        converter=_frozen,
        metadata=merged(operator.or_),
    )
    possible_schedule_classes: int = most("bigint", "how many classes there are; 0 if nothing was sampled", default=0)
    deviations: Mapping[str, UpgradeResult] = field(factory=dict, hash=False, metadata={**NO_COLUMN, **merged(_union)})
    """Results for operators that do not follow the plan, by name; they do not change the verdict. They have a table of
    their own."""

    @property
    def upgrade(self) -> Upgrade:
        """The upgrade that was explored."""
        return self.cell

    @property
    def verdict(self) -> str:
        """The verdict of the exploration; ``safe-if`` if record formats that it does not see depend on the topology."""
        explored = self.explored_verdict
        return SAFE_IF if explored == SAFE and self.conditions else explored

    @property
    def explored_verdict(self) -> str:
        """The verdict of what was explored: of rebalance metadata and owners, without records."""
        return super().verdict

    @property
    def conditions(self) -> tuple[str, ...]:
        """Features that the topology must not have, whatever the exploration finds."""
        return tuple(feature.condition for feature in topology_conditions(self.cell))

    @property
    def title(self) -> str:
        """The name of the cell in a sentence."""
        origin, target = self.cell.display_names
        return f"{origin} to {target} ({self.cell.plan.value.replace('_', ' ')})"

    @property
    def is_documented(self) -> bool:
        """Whether Kafka's documentation promises that the cell is safe."""
        return self.cell.is_documented

    @property
    def expects_probe(self) -> bool:
        """Whether version probing is part of this upgrade, so that runs without a probe show nothing."""
        origin, first = self.cell.origin, self.cell.rounds[0]
        sent = first.release.pinned_version(first.upgrade_from) or first.release.supported_version
        return self.cell.plan is not Plan.OFFLINE and origin.is_probeable and sent > origin.supported_version

    def merge(self, other: Self) -> Self:
        """Merge two results; groups that a run shows to fail are of no size for which the other has none."""
        merged = super().merge(other)
        claim = merged.group_size or ""
        contradicted = merged.property is not None and (claim == ANY_SIZE or claim.startswith(_UP_TO))
        return evolve(merged, group_size=None) if contradicted else merged

    def for_upgrade(self, upgrade: Upgrade) -> UpgradeResult:
        """Return the result of another upgrade of the same equivalence class. Messages name no releases."""
        return evolve(
            self,
            cell=upgrade,
            example=self.example and Recast(self.cell, upgrade).line(self.example),
            deviations={name: deviation.for_upgrade(upgrade) for name, deviation in self.deviations.items()},
        )

    def cell_row(self) -> Row:
        """Return the upgrade as columns of the table ``upgrades``."""
        upgrade, (origin, target) = self.cell, self.cell.display_names
        return {
            "from": origin,
            "to": target,
            "from_release": upgrade.origin.spelling,
            "to_release": upgrade.target.spelling,
            "plan": upgrade.plan.value,
            "upgrade_from": upgrade.upgrade_from,
        }

    @staticmethod
    def parse_cell(row: Row) -> Upgrade:
        """Return the upgrade of a row of the table ``upgrades``."""
        origin, target = release_named(row["from_release"]), release_named(row["to_release"])
        return Upgrade(origin, target, Plan(row["plan"]), row["upgrade_from"], (row["from"], row["to"]))

    @property
    def faults(self) -> dict[str, Any]:
        """The bounds of the faults in one schedule; empty if it was not explored."""
        return {} if self.crashes is None else {name: getattr(self, name) for name in _FAULTS}

    def as_record(self) -> dict[str, Any]:
        """Return the result as ``matrix.json`` has it: bounds together, and the number of sampled schedule classes."""
        record = super().as_record()
        for name in (*_FAULTS, "schedule_classes"):
            del record[name]
        upgrade = self.cell
        return record | {
            "from_release": upgrade.origin.name,
            "to_release": upgrade.target.name,
            "faults": self.faults,
            "schedule_class_count": len(self.schedule_classes),
            "deviations": {name: deviation.row(DEVIATION_COLUMNS) for name, deviation in self.deviations.items()},
            "note": "; ".join(release.note for release in (upgrade.origin, upgrade.target) if release.note) or None,
        }

    def to_json(self) -> str:
        """Return what ``of_json`` reads."""
        deviations = {name: deviation.row(DEVIATION_COLUMNS) for name, deviation in self.deviations.items()}
        return json.dumps(self.row() | {"deviations": deviations}, ensure_ascii=False)

    @classmethod
    def of_json(cls, cell: Upgrade, plain: Mapping[str, Any]) -> UpgradeResult:
        """Return the result of ``to_json``, which is parsed already."""
        deviations = {name: cls.of_row(cell, row, DEVIATION_COLUMNS) for name, row in plain["deviations"].items()}
        return evolve(cls.of_row(cell, dict(plain)), deviations=deviations)
