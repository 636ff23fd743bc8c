"""One hazard: a fact about upgrades that has nothing to do with the metadata of the group."""

from __future__ import annotations

import enum
from typing import Any, Final

from attrs import frozen

from upgrade.releases import Release

NOT_RUN: Final = "read, not run"


class HazardSubject(enum.Enum):
    """What a hazard is about, in the order of a plan."""

    MEMBERSHIP = "membership"
    STORES = "stores"
    CHANGELOGS = "changelogs"
    CONFIGURATION = "configuration"
    CODE = "code"
    JAVA = "java"
    BROKERS = "brokers"
    MEMORY = "memory"
    TASK_IDS = "task ids"


class Severity(enum.Enum):
    """What a hazard does to a group, the worst first."""

    STOPS = "stops"
    """Members do not start, end, or never settle."""
    LOSES = "loses"
    """Data is lost, duplicated or wrong."""
    WAITS = "waits"
    """Stores are restored, or pauses are longer."""
    CHANGES = "changes"
    """A default, a name or a metric is another one."""


@frozen
class ReleaseRange:
    """Releases of Kafka from ``since`` to before ``before``; empty tuples are no limits.

    A change that was ported to older lines has ``backports``: a release from one of them to the end of its line is on
    the other side of the limits.
    """

    since: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    backports: tuple[tuple[int, ...], ...] = ()

    def __contains__(self, release: Release) -> bool:
        """Whether a release of Kafka is one of these; our own are none of Kafka's."""
        number = release.number
        ported = any(port[:-1] == number[: len(port) - 1] and port <= number for port in self.backports)
        return release.kafka_name is not None and self._is_between(number) != ported

    def _is_between(self, number: tuple[int, ...]) -> bool:
        return self.since <= number and (not self.before or number < self.before)

    def __str__(self) -> str:
        """Name the limits.

        >>> print(ReleaseRange(before=(4, 0)), ReleaseRange((4, 0)), ReleaseRange((4, 1), (4, 1, 1)), sep=", ")
        before 4.0, 4.0 and later, 4.1 to before 4.1.1
        >>> print(ReleaseRange((2, 8), backports=((2, 6, 2), (2, 7, 1))))
        2.8 and later, also 2.6.2 and later of 2.6, 2.7.1 and later of 2.7
        >>> print(ReleaseRange(before=(2, 8), backports=((2, 7, 1),)))
        before 2.8, not 2.7.1 and later of 2.7
        """
        since, before = (_name(number) for number in (self.since, self.before))
        if self.since and self.before:
            limits = f"{since} to before {before}"
        else:
            limits = f"{since} and later" if since else f"before {before}" if before else "any"
        ported = {"also": [each for each in self.backports if not self._is_between(each)]}
        ported["not"] = [each for each in self.backports if each not in ported["also"]]
        words = (
            f", {word} {', '.join(f'{_name(each)} and later of {_name(each[:-1])}' for each in found)}"
            for word, found in ported.items()
            if found
        )
        return limits + "".join(words)


def _name(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))


@frozen(kw_only=True)
class Hazard:
    """A row: from which releases to which, what happens then, and what to do about it."""

    name: str
    """Unique; stays the same when the wording changes."""
    about: HazardSubject
    severity: Severity
    origins: ReleaseRange = ReleaseRange()
    targets: ReleaseRange = ReleaseRange()
    applies_to: str
    """The applications that it concerns."""
    symptom: str
    """What is observed; an exception is named verbatim."""
    remedy: str
    source: str
    """The KIP, issue or upgrade guide that says so."""
    seen: tuple[str, ...] = ()
    """The releases whose jars showed it; empty: it was not run."""
    mixed_only: bool = False
    """Only a rolling bounce meets it, in which members of both releases are in the group."""
    new_only: bool = False
    """An upgrade from one of ``targets`` to another does not meet it: the older release is no better."""

    def concerns(self, origin: Release, target: Release) -> bool:
        """Whether an upgrade from one release to the other meets it."""
        return origin in self.origins and target in self.targets and not (self.new_only and origin in self.targets)

    @property
    def evidence(self) -> str:
        """Whether real jars showed it, and which."""
        return f"seen with {' and '.join(self.seen)}" if self.seen else NOT_RUN

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "about": self.about.value,
            "severity": self.severity.value,
            "from": str(self.origins),
            "to": str(self.targets),
            "applies_to": self.applies_to,
            "symptom": self.symptom,
            "remedy": self.remedy,
            "source": self.source,
            "evidence": self.evidence,
        }

    def lines(self) -> tuple[str, ...]:
        """Write it as a list item: the symptom, then what to do and how it is known."""
        return (
            f"- {self.applies_to}: {self.symptom}",
            f"    remedy: {self.remedy}",
            f"    source: {self.source}; {self.evidence}",
        )
