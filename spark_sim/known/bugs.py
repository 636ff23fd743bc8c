"""The bugs: what each breaks, in which releases, and in which it no longer does. Nothing here says how it happens.

Pairs of releases are written as in ``Ways``. "Fixed" are those that have to be clean: releases with a fix, the way that
the upgrade guides recommend, or, where nobody has mended it, pairs that it does not concern.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from itertools import product
from typing import Final

from attrs import frozen

from spark_sim.known.noting import FARTHEST, NOTED
from spark_sim.properties import (
    ALL_END,
    ANSWERED,
    BEST_COPY,
    ENDLESS,
    FOLLOWED,
    MATCHED,
    NO_WASTE,
    NOBODY_DIES,
    OWNED_ONCE,
    READABLE,
)
from spark_sim.scenario import Instance
from upgrade.matrix import Plan, Upgrade
from upgrade.releases import RELEASES, Release, release_named


class By(enum.Enum):
    """How a bug is looked for."""

    EXPLORING = "every schedule, on packed states"
    HUNTING = "every coarse schedule of a few steps, with real members"
    ENDING = "every end of every schedule, on packed states"


@frozen
class Ways:
    """All pairs of some releases: ``2.0.0..2.2.1 2.3.0`` are all from 2.0.0 to 2.2.1, and 2.3.0.

    ``value`` is the ``upgrade.from`` of the first of two bounces (None: there is only one), which ``stays`` if it is
    never taken out; ``before`` is one that the group has at the beginning.
    """

    origins: str
    targets: str
    value: str | None = None
    stays: bool = False
    before: str | None = None

    def pairs(self) -> Iterator[tuple[Release, Release]]:
        """Yield the pairs."""
        yield from product(_releases(self.origins), _releases(self.targets))

    def upgrade(self, origin: Release, target: Release) -> Upgrade:
        """Return what is done to a group that is ``origin``."""
        plan = Plan.TWO_BOUNCES if self.value else Plan.ONE_BOUNCE
        return Upgrade(origin, target, plan, self.value, (origin.name, target.name))

    def course(self, origin: Release, target: Release) -> tuple[Instance, ...]:
        """Return what each member is, one after the other."""
        rounds = self.upgrade(origin, target).rounds[: 1 if self.stays else None]
        return Instance(origin, self.before), *(Instance(each.release, each.upgrade_from) for each in rounds)

    def __str__(self) -> str:
        before = f",upgrade.from={self.before}" if self.before else ""
        value = f" with upgrade.from={self.value}{', never removed' if self.stays else ''}" if self.value else ""
        return f"{self.origins}{before} to {self.targets}{value}"


def _releases(text: str) -> Iterator[Release]:
    for word in text.split():
        first, dots, last = word.partition("..")
        if dots:
            low, high = release_named(first).number, release_named(last).number
            yield from (each for each in RELEASES.values() if each.released and low <= each.number <= high)
        else:
            yield release_named(first)


@frozen
class Bug:
    """A row. ``shape`` is what the group has to run so that it matters; ``says``: part of what is said of it."""

    name: str
    issue: str
    what: str
    by: By
    shows: str
    affected: tuple[Ways, ...]
    fixed: tuple[Ways, ...]
    says: str = ""
    shape: str = ""
    members: int = 2


_OLD_G2: Final = "2.1.0..2.2.1 2.3.0"
_BEFORE_2_0: Final = "0.10.1.0..1.1.1"
_EAGER: Final = "2.0.0..2.3.1"
_BOTH: Final = "2.4.0..3.9.2"
_COOPERATIVE: Final = "4.0.0..4.3.1"

BUGS: Final = (
    Bug(
        "B1",
        "KAFKA-6054",
        "version 2 is sent to leaders, and answered to members, that know only version 1",
        By.EXPLORING,
        READABLE,
        (
            Ways("0.10.0.0..0.10.0.1", "0.10.1.0..0.10.2.1 0.11.0.0..0.11.0.2 1.0.0..1.0.1 1.1.0"),
            Ways("0.10.0.0..0.10.0.1", "0.10.2.2 0.11.0.3 1.0.2 1.1.1 2.0.0..2.3.1"),
        ),
        (Ways("0.10.0.0..0.10.0.1", "0.10.2.2 0.11.0.3 1.0.2 1.1.1", "0.10.0"),),
    ),
    Bug(
        "B2",
        "by design",
        "without upgrade.from, or with a wrong value, leaders before 2.0 get what they cannot read",
        By.EXPLORING,
        READABLE,
        (Ways(_BEFORE_2_0, "2.0.0..3.9.2"), Ways(_BEFORE_2_0, _BOTH, "2.0")),
        (Ways(_BEFORE_2_0, "2.0.0..3.9.2", "1.1"),),
    ),
    Bug(
        "B3",
        "KAFKA-8649",
        "leaders push members to a version that these do not have",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways("2.0.0..2.0.1", _OLD_G2),),
        (Ways("2.0.0..2.0.1", "2.2.2 2.3.1"), Ways("2.0.0..2.0.1", _BOTH, "2.0")),
        says="version must be between",
    ),
    Bug(
        "B3b",
        "KAFKA-8649 (#7413, #7423)",
        "members that are ahead rejoin again and again, as long as one that is behind stays alive",
        By.EXPLORING,
        ENDLESS,
        (Ways("kip-268", _OLD_G2),),
        (Ways("kip-268", "2.2.2 2.3.1"),),
    ),
    Bug(
        "B4",
        "KAFKA-8649, downgrade",
        "leaders push members that go back to a version that these no longer have",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways(_OLD_G2, "2.0.0..2.0.1"),),
        (Ways(f"2.2.2 2.3.1 {_BOTH}", "2.0.0..2.0.1"),),
        says="version must be between",
    ),
    Bug(
        "B5",
        "with KAFKA-8649",
        "while probing, each thread gets all tasks that its process had",
        By.HUNTING,
        OWNED_ONCE,
        (Ways("2.0.0..2.0.1", _OLD_G2), Ways(_OLD_G2, "2.4.0..2.5.1", "2.3")),
        (Ways("2.2.2 2.3.1", "2.4.0..2.5.1", "2.3"),),
        shape="threads=2",
    ),
    Bug(
        "B6",
        "with KAFKA-8649",
        "while probing, a task that reads several partitions is named once",
        By.HUNTING,
        NOBODY_DIES,
        (Ways("2.0.0..2.0.1", _OLD_G2), Ways(_OLD_G2, "2.4.0..2.5.1", "2.3")),
        (Ways("2.2.2 2.3.1", "2.4.0..2.5.1", "2.3"),),
        says="Number of assigned partitions",
        shape="topology=join",
    ),
    Bug(
        "B6, silent",
        "with KAFKA-8649",
        "while probing, tasks of two subtopologies are named in an order that partitions do not have",
        By.HUNTING,
        MATCHED,
        (Ways("2.0.0..2.0.1", _OLD_G2), Ways(_OLD_G2, "2.4.0..2.5.1", "2.3")),
        (Ways("2.2.2 2.3.1", "2.4.0..2.5.1", "2.3"),),
        shape="topology=two",
    ),
    Bug(
        "B7",
        "hotfix #7436 (what if)",
        "members that are held back refuse the answer to what they sent",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways(_BEFORE_2_0, "what-if-7436", "1.1"),),
        (Ways(_BEFORE_2_0, "2.4.0..2.4.1", "1.1"),),
    ),
    Bug(
        "B8",
        "KAFKA-9053 (what if)",
        "leaders tell their own version as the one that all support: KAFKA-8649 again",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways(_EAGER, "what-if-9053", "2.3"),),
        (Ways(_EAGER, "2.4.0..2.4.1", "2.3"),),
    ),
    Bug(
        "B9",
        "KAFKA-8972 (what if)",
        "cooperative members that are probed do not notice what they were given",
        By.HUNTING,
        NOTED,
        (Ways("2.4.0..2.4.1", "what-if-8972"),),
        (Ways("2.4.0..2.4.1", "2.5.0..2.5.1"),),
    ),
    Bug(
        "B11",
        "KAFKA-10455",
        "a follower that asks for a rebalance and has nothing new to say is not heard",
        By.HUNTING,
        FOLLOWED,
        (Ways("2.6.0", "2.6.1..2.6.3"),),
        (Ways("2.6.1..2.6.2", "2.6.3"), Ways("2.7.0..2.7.1", "2.7.2")),
        shape="threads=2 lag",
    ),
    Bug(
        "B12",
        "KAFKA-13439, KAFKA-18839",
        "eager leaders give away what cooperative members keep",
        By.EXPLORING,
        OWNED_ONCE,
        (Ways(_EAGER, _BOTH), Ways(_EAGER, _COOPERATIVE), Ways(_BOTH, _EAGER), Ways(_COOPERATIVE, _EAGER)),
        (Ways(_EAGER, _BOTH, "2.3"), Ways(_BOTH, _EAGER, "2.3")),
    ),
    Bug(
        "B13",
        "by design",
        "upgrade.from that is never removed: the group stays eager, up to 1.1 also at version 2",
        By.ENDING,
        FARTHEST,
        (Ways(_EAGER, _BOTH, "2.3", stays=True), Ways(_BEFORE_2_0, _BOTH, "1.1", stays=True)),
        (Ways(_EAGER, _BOTH, "2.3"), Ways(_BEFORE_2_0, _BOTH, "1.1")),
    ),
    Bug(
        "B14",
        "hotfix #14103",
        "upgrade.from=3.4 is accepted, and then crashes",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways("3.4.0..3.4.1", "3.5.0..3.5.1", "3.4"),),
        (Ways("3.4.0..3.4.1", "3.5.2 3.6.0..3.6.2", "3.4"),),
        says="upgrade.from",
    ),
    Bug(
        "B15",
        "KAFKA-16139",
        "upgrade.from=3.5 is refused",
        By.EXPLORING,
        NOBODY_DIES,
        (Ways("3.5.0..3.5.2", "3.6.0..3.6.1", "3.5"),),
        (Ways("3.5.0..3.5.2", "3.6.2 3.7.0..3.7.2", "3.5"),),
        says="upgrade.from",
    ),
    Bug(
        "B17",
        "unsupported",
        "somebody sends version 1 or 2 while somebody else is newer than the leader",
        By.HUNTING,
        NOBODY_DIES,
        (Ways("2.4.0..2.6.3", "3.2.0..3.9.2", before="1.1"), Ways("2.7.0..3.1.2", "3.2.0..3.9.2", before="1.1")),
        (Ways("3.2.0..3.9.1", "3.9.2", before="1.1"), Ways("2.4.0..3.1.2", "3.2.0..3.9.2")),
    ),
    Bug(
        "B19",
        "#14149",
        "a task that is withheld leaves a standby that nobody asked for",
        By.HUNTING,
        NO_WASTE,
        (Ways("2.6.0..3.5.1", "3.5.2"),),
        (Ways("3.5.2", "3.6.0..3.6.2"), Ways("2.4.0..2.4.1", "2.5.0..2.5.1")),
    ),
    Bug(
        "L1",
        "no issue known",
        "error codes travel in the leader's own version, which members that are behind cannot read",
        By.HUNTING,
        READABLE,
        (Ways("2.4.0..3.1.2", "3.2.0..4.3.1"), Ways("2.1.0..2.3.1", "2.4.0..2.8.2", "2.3")),
        (Ways("3.2.0..4.3.0", "4.3.1"),),
    ),
    Bug(
        "L2",
        "no issue known",
        "the wish that all end does not travel below version 9",
        By.HUNTING,
        ALL_END,
        (Ways("2.4.0..2.7.2", "2.8.0..4.3.1"),),
        (Ways("3.2.0..4.3.0", "4.3.1"),),
    ),
    Bug(
        "L3",
        "no issue known",
        "members that are ahead get no answer while a topic is missing",
        By.HUNTING,
        ANSWERED,
        (Ways("2.1.0..2.3.1", "2.4.0..2.8.2", "2.3"),),
        (Ways("2.4.0..3.1.2", "3.2.0..4.3.1"),),
    ),
    Bug(
        "L4",
        "no issue known",
        "a copy of unknown position passes for the best one",
        By.HUNTING,
        BEST_COPY,
        (Ways("2.4.0..2.5.1", "3.2.0..4.3.1"),),
        (Ways("2.6.0..3.1.2", "3.2.0..4.3.1"),),
        shape="lag",
    ),
    Bug(
        "L5",
        "no issue known",
        "because of that the group rebalances without end",
        By.HUNTING,
        ENDLESS,
        (Ways("3.2.0..4.3.1", "2.4.0..2.5.1"),),
        (Ways("2.6.0..3.1.2", "2.4.0..2.5.1"),),
        shape="lag",
        members=3,
    ),
    Bug(
        "L6",
        "no issue known",
        "threads of 2.4 and 2.5 are given anything but what they run, and tasks go to and fro without end",
        By.HUNTING,
        ENDLESS,
        (Ways("2.4.0..2.5.1", "2.6.0..4.3.1"),),
        (Ways("2.6.0..3.1.2", "3.2.0..4.3.1"),),
        shape="threads=2",
        members=3,
    ),
    Bug(
        "L7",
        "no issue known",
        "leaders look up how far behind a task without state is, which members up to 2.3 name",
        By.HUNTING,
        NOBODY_DIES,
        (Ways("2.0.0..2.3.1", "2.6.0..3.0.2", "2.3"),),
        (Ways("2.0.0..2.3.1", "3.1.0..3.9.2", "2.3"),),
        shape="topology=chained",
    ),
)
"""In the order of their names: B as in the history of Kafka, L for latent ones, found by reading and exploring."""
