"""The built-in task assignors, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from streams_assignor.task_assignors._fallback_prior import FallbackPriorTaskAssignor
from streams_assignor.task_assignors.application_state import ApplicationState
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.task_assignors.partial_assignment import ReasonTexts
from streams_assignor.task_assignors.sticky import StickyTaskAssignor
from streams_assignor.task_assignors.task_assignment import TaskAssignment


class BuiltInTaskAssignor(Protocol):
    """A task assignor that can explain its decisions. Values with equal settings are equal.

    A follow-up rebalance is requested from ``ApplicationState.leader_process_id``, or from the first process.
    """

    @property
    def name(self) -> str:
        """The name in ``BUILT_IN``."""
        ...

    def assign(self, state: ApplicationState, /, *, reasons: ReasonTexts | None = None) -> TaskAssignment:
        """Assign all tasks; add the reason for each task and process to ``reasons``."""
        ...


STICKY: Final = StickyTaskAssignor()
"""``task_assignors.sticky``: tasks stay with their processes as long as that is balanced."""

HIGH_AVAILABILITY: Final = HighAvailabilityTaskAssignor()
"""``task_assignors.high_availability``: balanced in the end, available until then. Needs all lags."""

FALLBACK_PRIOR: Final = FallbackPriorTaskAssignor()
"""``task_assignors._fallback_prior``: every process keeps its tasks, and the group rebalances again soon."""

BUILT_IN: Final[Mapping[str, BuiltInTaskAssignor]] = {
    assignor.name: assignor for assignor in (STICKY, HIGH_AVAILABILITY, FALLBACK_PRIOR)
}
"""The built-in task assignors by name."""

BUILT_IN_TYPES: Final = (StickyTaskAssignor, HighAvailabilityTaskAssignor, FallbackPriorTaskAssignor)
