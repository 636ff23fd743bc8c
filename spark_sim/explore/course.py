"""What is explored: the way an operator brings a group from one release to another, and what may go wrong meanwhile.

A *course* says for each member which instance it is started as in every round: its first entry is what it is at the
beginning. The rounds are those of ``upgrade.matrix.Upgrade``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import evolve, field, frozen
from attrs.validators import and_, ge, le

from spark_sim.scenario import Instance
from upgrade.matrix import Plan, Upgrade

Course = tuple[Instance, ...]
MOST_FAULTS: Final = 7
"""Of each kind, as a state has three bits for how many are left."""
MOST_MEMBERS: Final = 7
"""As an edge has three bits for how many of them can make its move."""
_BUDGET: Final = and_(ge(0), le(MOST_FAULTS))


class Variant(enum.Enum):
    """How the operator follows the plan."""

    FOLLOWED = "the whole plan, in any order of the members"
    NEVER_REMOVED = "the plan without its last round: nobody removes upgrade.from"
    INTERRUPTED = "the plan may end anywhere: the group has to be well whenever it rests with everybody running"
    ROLLED_BACK = "the operator may turn round at any time and go back through the same instances"
    MISTAKEN = "one member is started with another configuration in the first round"


@frozen
class Faults:
    """How many faults may happen on the way.

    ``crashes``: a running member dies and comes back as what it was. ``lates``: a member misses the rebalance timeout
    and is removed, without having lost its connection. ``nudges``: a member joins although it has no reason to.
    """

    crashes: int = field(default=1, validator=_BUDGET)
    lates: int = field(default=1, validator=_BUDGET)
    nudges: int = field(default=0, validator=_BUDGET)


@frozen
class Cell:
    """One exploration: everything that decides its result, as a small value that can be sent to another process.

    ``patient``: before the operator stops a member, the group has come to rest. ``mistake`` is the ``upgrade.from`` of
    the odd member in the variant ``MISTAKEN`` (None: without any). ``answers_last``: an answer that is on its way
    arrives even if the next rebalance has begun; else it is gone then. ``own``: courses that no plan has, one for each
    member and all of one length; the upgrade is then no more than a name.
    """

    upgrade: Upgrade
    members: int = field(default=3, validator=and_(ge(1), le(MOST_MEMBERS)))
    faults: Faults = field(factory=Faults)
    patient: bool = False
    variant: Variant = Variant.FOLLOWED
    mistake: str | None = None
    answers_last: bool = True
    own: tuple[Course, ...] = ()

    @property
    def offline(self) -> bool:
        """Whether everybody has to be stopped before anybody is started."""
        return self.upgrade.plan is Plan.OFFLINE

    @cached_property
    def rounds(self) -> int:
        """How often every member is stopped and started."""
        if self.own:
            return len(self.own[0]) - 1
        return len(self.upgrade.rounds) - (self.variant is Variant.NEVER_REMOVED and len(self.upgrade.rounds) > 1)

    @property
    def courses(self) -> tuple[Course, ...]:
        """The course of each member."""
        if self.own:
            return self.own
        rounds = [Instance(each.release, each.upgrade_from) for each in self.upgrade.rounds[: self.rounds]]
        usual = (Instance(self.upgrade.origin), *rounds)
        if self.variant is not Variant.MISTAKEN:
            return (usual,) * self.members
        odd = (usual[0], evolve(usual[1], upgrade_from=self.mistake), *usual[2:])
        return (odd, *(usual,) * (self.members - 1))

    @property
    def instances(self) -> Sequence[Instance]:
        """Everything that a member can be, once each."""
        return list(dict.fromkeys(instance for course in self.courses for instance in course))
