"""Cells, the units of exploration: an upgrade, how the operator performs it, and the faults that may occur.

An instance sequence lists what a member is started as, one instance for each round after the first entry, which is what
it runs before the upgrade. The rounds are those of ``upgrade.plans.Upgrade``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import evolve, field, frozen
from attrs.validators import and_, ge, le

from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.upgrade.plans import Plan, Upgrade

InstanceSequence = tuple[Instance, ...]
MAX_FAULTS: Final = 7
"""The most faults of each kind: a state has three bits for the number of faults left."""
MAX_MEMBERS: Final = 7
"""An edge has three bits for the number of members that can take its action."""
_FAULT_BUDGET: Final = and_(ge(0), le(MAX_FAULTS))


class OperatorDeviation(enum.Enum):
    """How the operator follows the plan."""

    NONE = "the whole plan, in any order of the members"
    NEVER_REMOVED = "the plan without its last round: upgrade.from stays"
    INTERRUPTED = (
        "the plan may end anywhere: the properties must hold whenever the group is quiescent with all members running"
    )
    ROLLED_BACK = "the operator may turn round at any time and go back through the same instances"
    MISTAKEN = "one member is started with another configuration in the first round"
    BATCHES = "the operator stops any number of members before it starts them"


@frozen
class FaultBudget:
    """The number of faults of each kind that a schedule may have."""

    crashes: int = field(default=1, validator=_FAULT_BUDGET)
    """A running member crashes, and is restarted as what it was."""
    rebalance_timeouts: int = field(default=1, validator=_FAULT_BUDGET)
    """A member misses the rebalance timeout: it is removed from the group but keeps running."""
    spurious_joins: int = field(default=0, validator=_FAULT_BUDGET)
    """A member rejoins without a reason."""


@frozen
class UpgradeCell:
    """Everything that decides the result of an exploration, as a value that can be sent to another process."""

    upgrade: Upgrade
    members: int = field(default=3, validator=and_(ge(1), le(MAX_MEMBERS)))
    faults: FaultBudget = field(factory=FaultBudget)
    wait_for_quiescence: bool = False
    """Whether the operator waits until the group is quiescent before stopping a member."""
    deviation: OperatorDeviation = OperatorDeviation.NONE
    mistaken_upgrade_from: str | None = None
    """``upgrade.from`` of the one wrong member of ``MISTAKEN``; None: without it."""
    may_miss_responses: bool = False
    """Whether a member may join the next generation without the SyncGroup response of this one."""
    custom_sequences: tuple[InstanceSequence, ...] = ()
    """Instance sequences that no plan has, one for each member and of one length; () for those of the upgrade."""

    @property
    def offline(self) -> bool:
        """Whether all members have to be stopped before one of them is started."""
        return self.upgrade.plan is Plan.OFFLINE

    @cached_property
    def rounds(self) -> int:
        """How often each member is stopped and started."""
        if self.custom_sequences:
            return len(self.custom_sequences[0]) - 1
        return len(self.upgrade.rounds) - (
            self.deviation is OperatorDeviation.NEVER_REMOVED and len(self.upgrade.rounds) > 1
        )

    @property
    def instance_sequences(self) -> tuple[InstanceSequence, ...]:
        """The instance sequence of each member."""
        if self.custom_sequences:
            return self.custom_sequences
        usual = tuple(map(Instance.of, self.upgrade.sequence[: self.rounds + 1]))
        if self.deviation is not OperatorDeviation.MISTAKEN:
            return (usual,) * self.members
        odd = (usual[0], evolve(usual[1], upgrade_from=self.mistaken_upgrade_from), *usual[2:])
        return (odd, *(usual,) * (self.members - 1))

    @property
    def instances(self) -> Sequence[Instance]:
        """All instances of the cell, once each."""
        return list(dict.fromkeys(instance for course in self.instance_sequences for instance in course))
