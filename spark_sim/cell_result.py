"""What is known of one upgrade: the verdict of a cell of the matrix, and what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from spark_sim.naming import renamed
from upgrade.matrix import Plan, Upgrade

SAFE, UNSAFE = "safe", "unsafe"


@frozen
class Varied:
    """What was explored of an operator who does not follow the plan; words as in ``CellResult``."""

    violated: str | None = None
    message: str | None = None
    example: str | None = None
    states: int = 0
    transitions: int = 0
    schedules: int | None = 0

    @property
    def verdict(self) -> str:
        """``safe`` if nothing that was explored violated a property."""
        return UNSAFE if self.violated else SAFE

    def of(self, before: Upgrade, after: Upgrade) -> Varied:
        """Return the same of another upgrade, which behaves alike."""
        message, example = (renamed(text, before, after) for text in (self.message, self.example))
        return evolve(self, message=message, example=example)

    def as_json(self) -> dict[str, Any]:
        """Return a part of an object of ``matrix.json``."""
        return {
            "verdict": self.verdict,
            "property": self.violated,
            "message": self.message,
            "example": self.example,
            "states": self.states,
            "transitions": self.transitions,
            "schedules": self.schedules,
        }


@frozen
class CellResult:
    """What is known of one upgrade. ``example`` is the shortest violating run (the first of these by text).

    ``states``, ``transitions`` and ``schedules`` say what was explored on packed states (``schedules`` is exact, of any
    number of digits, and None if they go on for ever), ``runs`` how many were run on real members; ``faults`` are those
    that a schedule may have. ``moved`` and what follows are the most of all runs (see ``watched``). Where schedules
    were drawn, ``kinds`` are those that there were, out of ``kinds_possible``. ``variants``, by name, are about
    operators who do not follow the plan, and change no verdict.
    """

    upgrade: Upgrade
    runs: int = 0
    violations: int = 0
    max_rebalances: int = 0
    probes: int = 0
    example: str | None = None
    violated: str | None = None
    message: str | None = None
    states: int = 0
    transitions: int = 0
    schedules: int | None = 0
    members: int = 0
    faults: Mapping[str, int] = field(factory=dict, hash=False)
    moved: int = 0
    unowned_task_ms: int = 0
    member_bytes: int = 0
    group_bytes: int = 0
    kinds: frozenset[str] = frozenset()
    kinds_possible: int = 0
    variants: Mapping[str, Varied] = field(factory=dict, hash=False)

    @property
    def verdict(self) -> str:
        """``safe`` if nothing that was explored or run violated a property."""
        return UNSAFE if self.violations or self.violated else SAFE

    @property
    def should_probe(self) -> bool:
        """Whether version probing is part of this upgrade, so that a sweep without any has shown nothing."""
        origin, first = self.upgrade.origin, self.upgrade.rounds[0]
        sent = first.release.pinned_version(first.upgrade_from) or first.release.latest_version
        return self.upgrade.plan is not Plan.OFFLINE and origin.can_be_probed and sent > origin.latest_version

    def plus(self, other: CellResult) -> CellResult:
        """Merge what two slices of the same upgrade found; any order gives the same."""
        telling = [each for each in (self, other) if each.violated is not None]
        best = min(
            telling, key=lambda each: (not each.example, len(str(each.example)), str(each.example)), default=self
        )
        return CellResult(
            self.upgrade,
            self.runs + other.runs,
            self.violations + other.violations,
            max(self.max_rebalances, other.max_rebalances),
            self.probes + other.probes,
            best.example,
            best.violated,
            best.message,
            self.states + other.states,
            self.transitions + other.transitions,
            None if self.schedules is None or other.schedules is None else self.schedules + other.schedules,
            max(self.members, other.members),
            self.faults or other.faults,
            max(self.moved, other.moved),
            max(self.unowned_task_ms, other.unowned_task_ms),
            max(self.member_bytes, other.member_bytes),
            max(self.group_bytes, other.group_bytes),
            self.kinds | other.kinds,
            max(self.kinds_possible, other.kinds_possible),
            {**self.variants, **other.variants},
        )

    def of(self, upgrade: Upgrade) -> CellResult:
        """Return the same of another upgrade, which behaves alike."""
        return evolve(
            self,
            upgrade=upgrade,
            example=renamed(self.example, self.upgrade, upgrade),
            message=renamed(self.message, self.upgrade, upgrade),
            variants={name: each.of(self.upgrade, upgrade) for name, each in self.variants.items()},
        )

    def as_json(self) -> dict[str, Any]:
        """Return one object of ``matrix.json``."""
        upgrade = self.upgrade
        return {
            "from": upgrade.names[0],
            "to": upgrade.names[1],
            "plan": upgrade.plan.value,
            "upgrade_from": upgrade.upgrade_from,
            "verdict": self.verdict,
            "runs": self.runs,
            "violations": self.violations,
            "max_rebalances": self.max_rebalances,
            "example": self.example,
            "states": self.states,
            "transitions": self.transitions,
            "schedules": self.schedules,
            "members": self.members,
            "faults": dict(self.faults),
            "moved": self.moved,
            "unowned_task_ms": self.unowned_task_ms,
            "member_bytes": self.member_bytes,
            "group_bytes": self.group_bytes,
            "kinds": len(self.kinds),
            "kinds_possible": self.kinds_possible,
            "variants": {name: each.as_json() for name, each in self.variants.items()},
            "documented": upgrade.documented,
            "probes": self.probes,
            "property": self.violated,
            "message": self.message,
            "from_release": upgrade.origin.name,
            "to_release": upgrade.target.name,
            "note": "; ".join(r.note for r in (upgrade.origin, upgrade.target) if r.note) or None,
        }
