"""The two books of a run: what became of every record, and who had which partition for how long."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen


@define
class ProcessedRecords:
    """How often each record was processed. A record is a partition and an offset; offsets of a new topic have no gaps,
    so the end of each partition says what there is. To process anything else is as wrong as to lose a record.
    """

    _times: dict[str, array[int]] = field(factory=dict)

    def record(self, partition: str, offsets: Iterable[int]) -> None:
        """Note each of these as processed once more."""
        times = self._times.setdefault(partition, array("I"))
        for offset in offsets:
            times.extend([0] * (offset + 1 - len(times)))
            times[offset] += 1

    @property
    def processed(self) -> int:
        """How many different records have been processed."""
        return sum(1 for times in self._times.values() for count in times if count)

    @property
    def duplicates(self) -> int:
        """How many times a record was processed once more than needed."""
        return sum(count - 1 for times in self._times.values() for count in times if count)

    def lost(self, ends: Mapping[str, int]) -> list[tuple[str, int]]:
        """List the records below the end of each partition that nobody has processed."""
        return [
            (partition, offset)
            for partition, end in sorted(ends.items())
            for offset in range(end)
            if offset >= len(times := self._times.get(partition, array("I"))) or not times[offset]
        ]

    def invented(self, ends: Mapping[str, int]) -> int:
        """Count what was processed and is not in the topic."""
        return sum(1 for name, times in self._times.items() for count in times[ends.get(name, 0) :] if count)


@define
class OwnershipTimeline:
    """Who has which partition, from moment to moment, and the seconds in which nobody had one.

    A member counts as an owner while it says that it has the partition and is *able*: it runs and reaches the brokers.
    Times are seconds of any clock that never goes back.
    """

    partitions: tuple[str, ...]
    _claims: dict[str, frozenset[str]] = field(factory=dict)
    _unable: set[str] = field(factory=set)
    _now: float | None = None
    unowned_seconds: Counter[str] = field(factory=Counter)
    doubly_owned_seconds: Counter[str] = field(factory=Counter)

    def claim(self, now: float, member: str, partitions: Iterable[str]) -> None:
        """From now on a member has exactly these."""
        self.advance_to(now)
        self._claims[member] = frozenset(partitions)

    def claimed(self, member: str) -> frozenset[str]:
        """What a member says that it has."""
        return self._claims.get(member, frozenset())

    def set_available(self, now: float, member: str, able: bool) -> None:
        """From now on a member works, or cannot."""
        self.advance_to(now)
        (self._unable.discard if able else self._unable.add)(member)

    def advance_to(self, now: float) -> None:
        """Add the time that has passed; before the first call nobody could have had anything."""
        passed = 0.0 if self._now is None else max(0.0, now - self._now)
        self._now = now if self._now is None else max(self._now, now)
        if passed:
            for partition, owners in self.owners.items():
                if len(owners) != 1:
                    (self.doubly_owned_seconds if owners else self.unowned_seconds)[partition] += passed

    @property
    def owners(self) -> dict[str, list[str]]:
        """Who has each partition at this moment."""
        able = {member: claim for member, claim in self._claims.items() if member not in self._unable}
        return {
            partition: [member for member, claim in able.items() if partition in claim] for partition in self.partitions
        }

    @property
    def is_stable(self) -> bool:
        """Whether everything has one owner."""
        return all(len(owners) == 1 for owners in self.owners.values())


@frozen(kw_only=True)
class RunResult:
    """What is left of a run when all is added up; ``problems`` says what must not be."""

    produced: int
    processed: int
    lost: int
    duplicates: int
    invented: int
    fenced: Mapping[str, int]
    without_owner: Mapping[str, float]
    owned_twice: Mapping[str, float]
    exactly_once: bool

    @property
    def problems(self) -> list[str]:
        wrong = {"lost": self.lost, "invented": self.invented}
        if self.exactly_once:
            wrong["doubled"] = self.duplicates
        return [f"{count} record{'s' * (count > 1)} {what}" for what, count in wrong.items() if count]
