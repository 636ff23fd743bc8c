"""What the group reads: how far it is processed, in the few ways in which a look can differ, and what hides it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from upgrade.roll.group_observation import PartitionOffsets

_SOME: Final = 5
"""Records that are not committed yet: more than a marker, and no lag that matters."""


class InputFlow(enum.Enum):
    """How records come and are processed."""

    PROCESSED = "no record is left"
    ADVANCING = "records come, and are committed"
    BEHIND = "the lag is above the limit"
    STUCK = "nothing is committed of what comes"
    HIDDEN = "offsets cannot be read"
    UNSEEN = "no broker describes the group"


TROUBLES: Final = (InputFlow.BEHIND, InputFlow.STUCK, InputFlow.HIDDEN, InputFlow.UNSEEN)
"""What nobody wants, and time may mend."""


@frozen
class SimulatedInput:
    """One partition that the group reads."""

    flow: InputFlow = InputFlow.PROCESSED
    committed: int = 0

    def offsets(self, limit: int) -> Mapping[str, PartitionOffsets] | None:
        """Return what a look shows of it, with a limit of the lag."""
        lags = {InputFlow.PROCESSED: 0, InputFlow.BEHIND: limit + 1}
        if self.flow in (InputFlow.HIDDEN, InputFlow.UNSEEN):
            return None
        end = self.committed + lags.get(self.flow, _SOME)
        return {"data-0": PartitionOffsets(committed=self.committed, end=end)}

    def later(self) -> SimulatedInput:
        """Return it after some time."""
        advances = self.flow in (InputFlow.ADVANCING, InputFlow.BEHIND)
        return evolve(self, committed=self.committed + 1) if advances else self
