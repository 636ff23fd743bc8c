"""A run as data: what was to be done, and how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from tests.lab.chaos.fault_schedule import OLD_VERSION, MemberVersion, Step
from tests.lab.chaos.ledger import RunResult
from tests.lab.chaos.roll_outcome import RollOutcome
from tests.lab.integration.clusters import NEWEST


@frozen(kw_only=True)
class ChaosSettings:
    """What runs, and what is done to it."""

    seed: int
    steps: Sequence[Step]
    worker: str = "kafka-python"
    """The kind of every member; or kinds, separated by commas, which the members take in turn."""
    members: Sequence[str] = ("A", "B", "C")
    partitions: int = 6
    per_second: int = 300
    broker: str = NEWEST
    begin: MemberVersion = OLD_VERSION
    static: int = 0
    """So many of the first members have a ``group.instance.id``."""
    minutes: float = 0.0
    """After the steps, faults go on for so long."""
    java: str | None = None
    """The release of Kafka Streams that the last members get to, if they are not ours."""
    java_count: int = 1
    """So many of the last members are Kafka Streams, with ``java``."""
    protocol: str = "classic"
    """``streams``: brokers assign the tasks (KIP-1071)."""
    roll: bool = False
    """Whether ``streams-assignor roll`` upgrades all members, from ``begin`` to ``java``."""

    @property
    def static_members(self) -> Sequence[str]:
        return self.members[: self.static]

    def kind_of(self, member: str) -> str:
        """The worker of a member."""
        kinds = self.worker.split(",")
        return kinds[self.members.index(member) % len(kinds)]

    @property
    def java_members(self) -> Sequence[str]:
        """Who is a process of Kafka Streams."""
        return self.members[-self.java_count :] if self.java else ()

    @property
    def exactly_once(self) -> bool:
        """Whether no record may be processed twice either."""
        return self.worker == "exactly-once"


@frozen(kw_only=True)
class StepResult:
    """How a step went: seconds until all was well again, generations it took, and what nobody owned meanwhile."""

    step: Step
    seconds: float
    generations: int
    without_owner: float
    fenced: int
    duplicates: int


@frozen(kw_only=True)
class Outcome:
    """How a run went. ``versions`` are the metadata versions of the members' last assignments, ``by_java`` the copies
    that Kafka Streams has made; it may die of what a broker says, and is started again.
    """

    settings: ChaosSettings
    results: Sequence[StepResult]
    balance: RunResult
    seconds: float
    versions: Mapping[str, int]
    by_java: int = 0
    failures: Sequence[str] = ()
    java_failures: Sequence[str] = ()
    twice_at_rest: float = 0.0
    """Partition-seconds with two owners while there was no fault."""
    fenced_instances: int = 0
    """Members that another process with their ``group.instance.id`` has fenced."""
    buffered: int = 0
    """The most records of a partition that a slow reader had in its queue."""
    behind: int = 0
    """The most records that were produced and not processed yet at the end of a rest."""
    stuck: str | None = None
    rolled: RollOutcome | None = None
    """How `roll` has upgraded the group, if it was its work."""
    skipped: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """What must not be; nothing if all is well."""
        old = [f"{name} is still on version {one}" for name, one in self.versions.items() if one != _VERSION]
        idle = "Kafka Streams has done nothing" if self.settings.java and not self.by_java else None
        twice = f"two owners for {self.twice_at_rest} s without a fault" if self.twice_at_rest else None
        full = (
            f"a slow reader had {self.buffered} records of a partition in its queue"
            if self.buffered > _MOST_BUFFERED
            else None
        )
        rolled = self.rolled.problems if self.rolled else ()
        return [
            *self.balance.problems,
            *filter(None, [self.stuck, idle, twice, full]),
            *self.failures,
            *old,
            *rolled,
        ]


_MOST_BUFFERED = 600  # with the limits of `workers.per_record` there are two to four hundred
_VERSION = 11  # where the upgrade leads
