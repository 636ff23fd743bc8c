"""A run as data: what was to be done, and how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from tests.chaos.fault_schedule import OLD_VERSION, MemberVersion, Step
from tests.chaos.ledger import RunResult
from tests.integration.clusters import NEWEST


@frozen(kw_only=True)
class ChaosSettings:
    """What runs, and what is done to it."""

    seed: int
    steps: Sequence[Step]
    worker: str = "kafka-python"
    members: Sequence[str] = ("A", "B", "C")
    partitions: int = 6
    per_second: int = 300
    broker: str = NEWEST
    begin: MemberVersion = OLD_VERSION
    java: str | None = None
    """The release of Kafka Streams that the last member gets to, if it is not one of ours."""

    @property
    def java_member(self) -> str | None:
        """Who is a process of Kafka Streams."""
        return self.members[-1] if self.java else None

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
    stuck: str | None = None
    skipped: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """What must not be; nothing if all is well."""
        old = [f"{name} is still on version {one}" for name, one in self.versions.items() if one != _VERSION]
        idle = "Kafka Streams has done nothing" if self.settings.java and not self.by_java else None
        return [*self.balance.problems, *filter(None, [self.stuck, idle]), *self.failures, *old]


_VERSION = 11  # where the upgrade leads
