"""What the eras of Kafka do with tasks, where the bytes are the same: one row per release in which something changed.

Which version is spoken is another matter (``probing.rules``). Our own members are of the newest era.
Java: ``StreamsPartitionAssignor`` of the releases named.
"""

from __future__ import annotations

import enum
from typing import Final

from attrs import evolve, frozen

from assignor import dealing


class Names(enum.Enum):
    """Which of the tasks that it ran a member names in a subscription without offset sums (up to version 6)."""

    ALL = "all"
    ALL_UNLESS_COOPERATIVE = "all; none in the cooperative protocol, where its partitions say it"
    STATEFUL = "those with state"


class Interim(enum.Enum):
    """When a member gets a standby of a task that it cannot have before another member has given it up."""

    NEVER = "never"
    IF_STATEFUL = "if the task has state"
    IF_STANDBY = "if it has been a standby of the task"


@frozen(kw_only=True, cache_hash=True)
class Era:
    """One row. ``since`` is the first release with all of this.

    ``envelope`` is the version of the consumer protocol its consumer writes; from 1 on a leader looks at the partitions
    that members still own, and lets nobody have a task before its owner has given it up (KIP-429).
    ``names``: see there. ``standbys_without_state``: stateless tasks have standbys too. ``balances``: stateful tasks
    are balanced with an eye on lags (KIP-441) instead of sticking to where they were. ``deal``: how the members of a
    process share its tasks. ``dies_without_lag``: while it deals tasks with state, a leader asks how far behind the
    members of the process are with everything that they name, and dies of a task of which there is no lag, as it has no
    state. ``interim``: see there.
    """

    since: tuple[int, ...]
    envelope: int = 0
    names: Names = Names.ALL
    standbys_without_state: bool = True
    balances: bool = False
    deal: dealing.Deal = dealing.in_turn
    dies_without_lag: bool = False
    interim: Interim = Interim.NEVER

    @property
    def cooperates(self) -> bool:
        """Whether members may keep partitions while they rejoin, and leaders respect that."""
        return self.envelope > 0


_0_10: Final = Era(since=(0, 10))
_2_4: Final = evolve(_0_10, since=(2, 4), envelope=1, names=Names.ALL_UNLESS_COOPERATIVE, deal=dealing.stay_or_in_turn)
_2_6: Final = evolve(
    _2_4,
    since=(2, 6),
    names=Names.STATEFUL,
    standbys_without_state=False,
    balances=True,
    deal=dealing.by_lag,
    dies_without_lag=True,
    interim=Interim.IF_STATEFUL,
)
_3_1: Final = evolve(_2_6, since=(3, 1), dies_without_lag=False)
_3_2: Final = evolve(_3_1, since=(3, 2), deal=dealing.by_lag_and_load)
_3_4: Final = evolve(_3_2, since=(3, 4), envelope=3)
_3_5_2: Final = evolve(_3_4, since=(3, 5, 2), interim=Interim.IF_STANDBY)

ERAS: Final = (_0_10, _2_4, _2_6, _3_1, _3_2, _3_4, _3_5_2)
NEWEST: Final = ERAS[-1]


def era_of(number: tuple[int, ...]) -> Era:
    """Find the era of a release by its number.

    >>> era_of((2, 5, 1)).since
    (2, 4)
    """
    return next(era for era in reversed(ERAS) if era.since <= number)
