"""What a replay has found, as values: generations, the members in them, and deaths."""

from __future__ import annotations

from attrs import Factory, define, frozen

from spark_sim.conform.capture import Seat
from spark_sim.conform.compare import Difference, Finding
from spark_sim.conform.lives import Life
from spark_sim.conform.said import Got, Sent, Unreadable


@define
class Part:
    """One member in one generation: what was captured, and what ours says (None: there is nothing to compare)."""

    life: Life
    seat: Seat
    leads: bool
    sent: Sent | Unreadable
    got: Got | Unreadable | None
    our_sent: Sent | Unreadable | None = None
    our_got: Got | Unreadable | None = None


@define
class Scene:
    """One generation replayed. ``notes`` tell what is worth knowing without being a difference.

    ``same_tasks``: whether everybody gets the very same tasks; None if there was nothing to compare.
    """

    number: int
    parts: list[Part]
    differences: list[Difference] = Factory(list)
    notes: list[str] = Factory(list)
    same_tasks: bool | None = None

    def differ(self, member: str, finding: Finding, why: str) -> None:
        """Write a difference down."""
        self.differences.append(Difference(self.number, member, *finding, why))


@frozen
class Death:
    """A member of ours that dies: of what, in which generation, and at which place of the capture.

    ``at_once``: not only when the next record comes.
    """

    life: Life
    number: int
    place: int
    reason: str
    at_once: bool = True
