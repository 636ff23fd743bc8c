"""The result of one cell of a sweep: the verdict, the example that proves it, and how much was explored.

``CellResult`` is what the results of all sweeps have in common. Results of the same cell are merged field by field;
each field names its rule in ``MERGE_RULES``, so that the order of merging never matters.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from attrs import NOTHING, asdict, evolve, field, fields, filters, frozen

from spark_sim.search.release_roles import Recast
from upgrade.plans import Plan, Upgrade
from upgrade.verdict import Verdict, topology_conditions

SAFE, SAFE_IF, UNSAFE, UNKNOWN, ERROR = (each.value for each in Verdict)
HOLDS: Final = frozenset({SAFE, SAFE_IF})
"""The verdicts of cells in which every state was explored and nothing is violated."""
INCOMPLETE: Final = "every schedule was explored"
"""What a result violates if there were too many states."""
SIMULATION_FAILS: Final = "always: the simulation does not fail"
"""What a result violates if its exploration raised an error."""
CONCRETE_REPLAY_DISAGREES: Final = "always: real members do what packed states do"
DETERMINISTIC: Final = "always: the same scenario gives the same history"
_NOT_OF_THE_UPGRADE: Final[Mapping[str | None, str]] = {
    INCOMPLETE: UNKNOWN,
    SIMULATION_FAILS: ERROR,
    CONCRETE_REPLAY_DISAGREES: ERROR,
    DETERMINISTIC: ERROR,
}
"""Violations that say nothing of the upgrade, and their verdicts."""


def _add_schedules(one: int | None, other: int | None) -> int | None:
    """Add two numbers of schedules; None (without end) plus anything is None."""
    return None if one is None or other is None else one + other


def _frozen(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **other}


MERGE_RULES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(("runs", "violations", "probes", "states", "transitions"), operator.add),
    **dict.fromkeys(("max_rebalances", "members", "possible_schedule_classes"), max),
    **dict.fromkeys(("moved_tasks", "unowned_task_ms", "member_bytes", "group_bytes"), max),
    "schedules": _add_schedules,
    "faults": lambda one, other: one or other,
    "schedule_classes": operator.or_,
    "deviations": _union,
}
"""How two values of a field become one; fields without a rule belong to the shorter example."""


@frozen(kw_only=True)
class CellResult:
    """What every sweep reports about one of its cells."""

    cell: Any = field(kw_only=False)
    """What was explored: an ``Upgrade``, a ``BrokerCellKey`` or a ``RegressionKey``."""
    runs: int = 0
    """Schedules that simulated members ran, with real bytes."""
    violations: int = 0
    """Violating runs, or violating states of a cluster."""
    violated: str | None = None
    """The property that the example violates."""
    message: str | None = None
    """What the example shows instead of the property."""
    example: str | None = None
    """A shortest violating scenario (the first of these by text), as ``replay`` reads it."""
    states: int | None = 0
    """Explored states, up to symmetry; None if no process starts."""
    transitions: int = 0
    schedules: int | None = 0
    """The exact number of schedules, of any number of digits; None if they have no end."""

    @property
    def verdict(self) -> str:
        """``safe`` if nothing that was explored or run violated a property.

        ``unknown`` if there were too many states, ``error`` if the simulation failed.
        """
        if not (self.violations or self.violated):
            return SAFE
        return _NOT_OF_THE_UPGRADE.get(self.violated, UNSAFE)

    @property
    def holds(self) -> bool:
        """Whether every state was explored and violates nothing; conditions on the topology may remain."""
        return self.verdict in HOLDS

    @property
    def title(self) -> str:
        """The name of the cell in a sentence."""
        return str(self.cell)

    @property
    def is_documented(self) -> bool:
        """Whether Kafka's documentation promises that the cell is safe."""
        return False

    def merge(self, other: Self) -> Self:
        """Merge two results of the same cell; the order does not matter."""
        candidates = [each for each in (self, other) if each.violated is not None]
        best = min(
            candidates, key=lambda each: (not each.example, len(str(each.example)), str(each.example)), default=self
        )
        names = [each.name for each in fields(type(self)) if each.name in MERGE_RULES]
        return evolve(
            best,
            cell=self.cell,
            **{name: MERGE_RULES[name](getattr(self, name), getattr(other, name)) for name in names},
        )

    def as_plain(self) -> dict[str, Any]:
        """Return every field but the cell as JSON values, without those that have their default."""
        plain = asdict(self, filter=filters.exclude("cell"), value_serializer=_plain_value)
        return {each.name: plain[each.name] for each in fields(type(self)) if _is_set(self, each)}

    @classmethod
    def from_plain(cls, cell: Any, plain: Mapping[str, Any]) -> Self:
        """Return the result of ``as_plain``."""
        return cls(cell, **plain)


def _plain_value(_instance: object, _field: object, value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _is_set(result: CellResult, attribute: Any) -> bool:
    default = attribute.default
    if default is NOTHING:
        return False
    return bool(getattr(result, attribute.name) != (default.factory() if hasattr(default, "factory") else default))


@frozen(kw_only=True)
class UpgradeResult(CellResult):
    """The result of one upgrade of a Streams group."""

    cell: Upgrade = field(kw_only=False)
    max_rebalances: int = 0
    """The most generations between two steps."""
    probes: int = 0
    """Answers with a lower version (version probing), in all runs."""
    members: int = 0
    faults: Mapping[str, int] = field(factory=dict, hash=False)
    """The most faults of each kind in one schedule."""
    moved_tasks: int = 0
    """The most of all runs, as the next three (see ``model.metrics``)."""
    unowned_task_ms: int = 0
    member_bytes: int = 0
    group_bytes: int = 0
    schedule_classes: frozenset[str] = field(default=frozenset(), converter=_frozen)
    """The classes of the sampled schedules."""
    possible_schedule_classes: int = 0
    deviations: Mapping[str, UpgradeResult] = field(factory=dict, hash=False)
    """Results for operators that do not follow the plan, by name; they do not change the verdict."""

    @property
    def upgrade(self) -> Upgrade:
        """The cell."""
        return self.cell

    @property
    def verdict(self) -> str:
        """The verdict of the exploration; ``safe-if`` if record formats that it does not see depend on the topology."""
        found = self.explored_verdict
        return SAFE_IF if found == SAFE and self.conditions else found

    @property
    def explored_verdict(self) -> str:
        """The verdict of what was explored: of rebalance metadata and owners, without records."""
        return super().verdict

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the topology must not have, whatever the exploration finds."""
        return tuple(each.condition for each in topology_conditions(self.cell))

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

    def for_upgrade(self, upgrade: Upgrade) -> UpgradeResult:
        """Return the result of another upgrade of the same equivalence class. Messages name no releases."""
        return evolve(
            self,
            cell=upgrade,
            example=self.example and Recast(self.cell, upgrade).line(self.example),
            deviations={name: each.for_upgrade(upgrade) for name, each in self.deviations.items()},
        )

    @classmethod
    def from_plain(cls, cell: Upgrade, plain: Mapping[str, Any]) -> UpgradeResult:
        """Return the result of ``as_plain``."""
        deviations = {name: cls.from_plain(cell, each) for name, each in plain.get("deviations", {}).items()}
        return cls(cell, **{**plain, "deviations": deviations})
