"""What a plan was checked for, and what it was not: the last line of every plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve, frozen

from upgrade.hazards._hazard import Hazard

_CHECKED: Final = (
    "metadata versions",
    "rebalance protocols",
    "upgrade.from",
    "record formats",
    "known bugs of both releases",
)
_TOPOLOGY: Final = "whether the topology stays the same"
_NOT_CHECKED: Final = (
    "your code and configuration",
    _TOPOLOGY,
    "your brokers and Java",
    "how long stores take to restore",
)


@frozen
class CheckedScope:
    """Two lists in words."""

    checked: tuple[str, ...]
    not_checked: tuple[str, ...]

    def with_topologies(self) -> CheckedScope:
        """Return the scope of a plan for which two topologies were compared."""
        open_questions = tuple(each for each in self.not_checked if each != _TOPOLOGY)
        return evolve(self, checked=(*self.checked, "task ids and changelogs"), not_checked=open_questions)

    def assuming(self, assumptions: Sequence[str]) -> CheckedScope:
        """Return the scope of a plan for releases of which something was assumed: nothing of them was checked."""
        if not assumptions:
            return self
        return CheckedScope((), (*assumptions, *self.checked, *self.not_checked))

    def as_json(self) -> dict[str, list[str]]:
        """Return plain values."""
        return {"checked": list(self.checked), "not_checked": list(self.not_checked)}

    def __str__(self) -> str:
        parts = {"checked": self.checked, "not checked": self.not_checked}
        return "; ".join(f"{name}: {', '.join(words)}" for name, words in parts.items() if words)


def scope_of(hazards: Iterable[Hazard]) -> CheckedScope:
    """Say what a plan with these hazards was checked for, and how many of the hazards were seen with real jars."""
    found = tuple(hazards)
    seen = sum(bool(each.seen) for each in found)
    counts = (
        f"{len(found)} apply: {seen} seen with real jars, {len(found) - seen} read, not run"
        if found
        else "none applies"
    )
    table = f"the table of hazards ({counts})"
    return CheckedScope((*_CHECKED, table), _NOT_CHECKED)
