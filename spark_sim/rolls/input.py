"""The input of the group: how far it is processed, in the few ways in which a look can differ, and what hides it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor.upgrade.roll.group_observation import PartitionOffsets, StateBehind

_TASK: Final = "0_0"
_SOME: Final = 5
"""Records that are not committed yet: more than a marker, and no lag that matters."""


class InputFlow(enum.Enum):
    """How records come and are processed."""

    PROCESSED = "no record is left"
    ADVANCING = "records come, and are committed"
    BEHIND = "a store was far behind when its owner joined, and is restored"
    STUCK = "nothing is committed of what comes"
    HIDDEN = "offsets cannot be read"
    UNSEEN = "no broker describes the group"


TROUBLES: Final = (InputFlow.BEHIND, InputFlow.STUCK, InputFlow.HIDDEN, InputFlow.UNSEEN)
"""Unwanted states that time may mend."""


@frozen
class SimulatedInput:
    """One partition that the group reads."""

    flow: InputFlow = InputFlow.PROCESSED
    committed: int = 0

    def offsets(self) -> Mapping[str, PartitionOffsets] | None:
        """Return what a look shows of it."""
        if self.flow in (InputFlow.HIDDEN, InputFlow.UNSEEN):
            return None
        end = self.committed + (0 if self.flow is InputFlow.PROCESSED else _SOME)
        return {"data-0": PartitionOffsets(committed=self.committed, end=end, task=_TASK)}

    def state_lags(self, limit: int) -> Mapping[str, StateBehind]:
        """Return how far the state of the task was behind when its owner joined."""
        return {_TASK: StateBehind("", limit + 1 if self.flow is InputFlow.BEHIND else 0)}

    def later(self) -> SimulatedInput:
        """Return it after some time."""
        return evolve(self, committed=self.committed + 1) if self.flow is InputFlow.ADVANCING else self
