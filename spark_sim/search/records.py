"""The records of the JSON files that are exports of a sweep's tables; their keys are written down once.

Each kind of sweep defines its records beside its results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from attrs import frozen

from spark_sim.search.cell_result import UpgradeResult

R = TypeVar("R")


@frozen
class RecordKey(Generic[R]):
    """One key of a record; without ``get``, its value is the attribute of that name."""

    name: str
    get: Callable[[R], Any] | None = None

    def value(self, result: R) -> Any:
        """Return the value."""
        return self.get(result) if self.get else attrgetter(self.name)(result)


def stored(name: str, field: str = "") -> RecordKey[Any]:
    """Return a key whose value is a field of the result."""
    return RecordKey(name, attrgetter(field or name))


def schedules_log10(result: Any) -> float | None:
    """Return the decimal logarithm of the number of schedules; None for none and for endless ones."""
    return round(math.log10(result.schedules), 3) if result.schedules else None


def schedules_text(result: Any) -> str | None:
    """Return the number of schedules as text, because few JSON readers hold 200 digits; None without end."""
    return None if result.schedules is None else str(result.schedules)


SCHEDULES: Final[tuple[RecordKey[Any], ...]] = (
    RecordKey("schedules", schedules_text),
    RecordKey("schedules_log10", schedules_log10),
)


@frozen
class RecordSchema(Generic[R]):
    """The keys of some records, in their order."""

    keys: tuple[RecordKey[R], ...]

    def record(self, result: R) -> dict[str, Any]:
        """Return the record of a result."""
        return {key.name: key.value(result) for key in self.keys}

    def json_lines(self, results: Iterable[R]) -> str:
        """Return a JSON list with one record a line."""
        return json_lines(map(self.record, results))


# -- sweeps over upgrades of Streams groups --------------------------------------------------------------------------


def _note(result: UpgradeResult) -> str | None:
    return "; ".join(each.note for each in (result.upgrade.origin, result.upgrade.target) if each.note) or None


DEVIATION_RECORD: Final[RecordSchema[UpgradeResult]] = RecordSchema(
    (
        RecordKey("verdict"),
        stored("property", "violated"),
        *map(stored, ("message", "example", "states", "transitions")),
        *SCHEDULES,
    )
)
"""One operator deviation, inside a record of ``UPGRADE_MATRIX``."""

UPGRADE_MATRIX: Final[RecordSchema[UpgradeResult]] = RecordSchema(
    (
        RecordKey("from", get=lambda result: result.upgrade.display_names[0]),
        RecordKey("to", get=lambda result: result.upgrade.display_names[1]),
        RecordKey("plan", get=lambda result: result.upgrade.plan.value),
        RecordKey("upgrade_from", get=attrgetter("upgrade.upgrade_from")),
        RecordKey("verdict"),
        RecordKey("conditions", get=lambda result: list(result.conditions)),
        *map(stored, ("runs", "violations", "max_rebalances", "example")),
        *map(stored, ("states", "transitions")),
        *SCHEDULES,
        *map(stored, ("members", "faults")),
        stored("moved", "moved_tasks"),
        *map(stored, ("unowned_task_ms", "member_bytes", "group_bytes")),
        RecordKey("kinds", get=lambda result: len(result.schedule_classes)),
        stored("kinds_possible", "possible_schedule_classes"),
        RecordKey(
            "variants",
            get=lambda result: {name: DEVIATION_RECORD.record(each) for name, each in result.deviations.items()},
        ),
        RecordKey("documented", get=attrgetter("is_documented")),
        stored("probes"),
        stored("property", "violated"),
        stored("message"),
        RecordKey("from_release", get=attrgetter("upgrade.origin.name")),
        RecordKey("to_release", get=attrgetter("upgrade.target.name")),
        RecordKey("note", get=_note),
    )
)
"""``matrix.json`` of a sweep over upgrades."""


def json_lines(records: Iterable[Any]) -> str:
    r"""Return a JSON list with one record a line.

    >>> json_lines([{"a": 1}, {"a": 2}])
    '[\n{"a": 1},\n{"a": 2}\n]\n'
    """
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in records) + "\n]\n"
