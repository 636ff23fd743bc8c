"""A run as data: what was to be done, and how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from tests.chaos.course import OLD, Speaks, Step
from tests.chaos.ledger import Balance
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
    begin: Speaks = OLD

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
    """How a run went. ``versions`` are the metadata versions of the members' last assignments."""

    settings: ChaosSettings
    results: Sequence[StepResult]
    balance: Balance
    seconds: float
    versions: Mapping[str, int]
    deaths: Sequence[str] = ()
    stuck: str | None = None
    skipped: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """What must not be; nothing if all is well."""
        old = [f"{name} is still on version {one}" for name, one in self.versions.items() if one != _VERSION]
        return [*self.balance.problems, *filter(None, [self.stuck]), *self.deaths, *old]


_VERSION = 11  # where the upgrade leads
