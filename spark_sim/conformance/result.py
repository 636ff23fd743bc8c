"""Results of a replay: generations, the members in them, and the failures of simulated members."""

from __future__ import annotations

from typing import Final

from attrs import Factory, define, frozen

from streams_assignor.errors import PARTITION_COUNT_MISMATCH, FatalError
from streams_assignor.groups import DescribedGroupMember
from streams_assignor.spark_sim.conformance._compare import Difference, FactDifference
from streams_assignor.spark_sim.conformance._identity import Incarnation
from streams_assignor.spark_sim.conformance.messages import AssignmentMessage, SubscriptionMessage, UnreadableMessage

SUBTOPOLOGY_MISMATCH: Final = "SUBTOPOLOGY_MISMATCH"
"""Error code of a task that comes with a partition of another subtopology."""

_BUG_BY_CODE: Final = {PARTITION_COUNT_MISMATCH: "B6", SUBTOPOLOGY_MISMATCH: "B6"}
"""The known bug (``spark_sim.regressions.known_bugs``) behind an error code."""


@define
class MemberReplay:
    """One member in one generation: the captured messages and ours."""

    incarnation: Incarnation
    record: DescribedGroupMember
    is_leader: bool
    subscription: SubscriptionMessage | UnreadableMessage
    assignment: AssignmentMessage | UnreadableMessage | None
    our_subscription: SubscriptionMessage | UnreadableMessage | None = None
    """None if it is not compared."""
    our_assignment: AssignmentMessage | UnreadableMessage | None = None
    """None if it is not compared, or if our leader sends none."""


@define
class GenerationReplay:
    """One replayed generation."""

    number: int
    members: list[MemberReplay]
    differences: list[Difference] = Factory(list)
    notes: list[str] = Factory(list)
    """Observations that are not differences."""
    same_tasks: bool | None = None
    """Whether each member receives exactly the captured tasks; None if the assignments were not compared."""

    def add_difference(self, member: str, finding: FactDifference, why: str) -> None:
        """Add a difference of a member ("" for the group)."""
        self.differences.append(Difference(self.number, member, *finding, why))


@frozen
class SimulatedFailure:
    """The failure of a simulated member."""

    incarnation: Incarnation
    generation: int
    """The number of the generation in which it fails."""
    generation_index: int
    """The index in the capture of the last generation before the failure shows."""
    error: FatalError
    immediate: bool = True
    """False if the member fails only when it receives a record."""

    @property
    def reason(self) -> str:
        """The text of the error."""
        return str(self.error)

    @property
    def bug(self) -> str:
        """The name of the known bug that causes the failure, or ""."""
        return _BUG_BY_CODE.get(self.error.code, "")
