"""One hazard: a fact about upgrades that has nothing to do with the metadata of the group."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.hazards._remedy import Remedy, RemedyKind
from streams_assignor.upgrade.hazards.conditions import Ask, Condition
from streams_assignor.upgrade.releases import Release

NOT_RUN: Final = "read, not run"


class HazardSubject(enum.Enum):
    """The subject of a hazard, in the order of a plan."""

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
    """The effect of a hazard on a group, the worst first."""

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
        if release.kafka_name is None:
            return False
        number = release.known_number
        if not self.backports:
            return self._is_between(number)
        ported = any(port[:-1] == number[: len(port) - 1] and port <= number for port in self.backports)
        return self._is_between(number) != ported

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
        ported = {"also": [backport for backport in self.backports if not self._is_between(backport)]}
        ported["not"] = [backport for backport in self.backports if backport not in ported["also"]]
        words = (
            f", {word} {', '.join(f'{_name(backport)} and later of {_name(backport[:-1])}' for backport in backports)}"
            for word, backports in ported.items()
            if backports
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
    when: Condition = field(eq=False, repr=False)
    """The same for files: what shows that it concerns an application, or what has to be looked at."""
    is_certain: bool = False
    """If it concerns an application, members of the new release stop: no chance and no load decides."""
    symptom: str
    """The observation; an exception is named verbatim."""
    remedy: str
    source: str
    """The KIP, issue or upgrade guide that says so."""
    seen: tuple[str, ...] = ()
    """The releases whose jars showed it; empty: it was not run."""
    remedies: tuple[Remedy, ...] = ()
    """The remedy as data, as far as it is one change for every application."""
    mixed_only: bool = False
    """Only a rolling bounce meets it, in which members of both releases are in the group."""
    new_only: bool = False
    """An upgrade from one of ``targets`` to another does not meet it: the older release is no better."""
    detail: str = ""
    """The difference from rows with the same symptom and remedy."""
    others: tuple[Hazard, ...] = ()
    """Those others: a plan has them as one row, with all sources."""

    def concerns(self, origin: Release, target: Release) -> bool:
        """Whether an upgrade from one release to the other meets it."""
        return origin in self.origins and target in self.targets and not (self.new_only and origin in self.targets)

    def is_met_already(self, origin: Release) -> bool:
        """Whether it is a bug of the release to which an upgrade leads that the older one has, too."""
        is_bug = {RemedyKind.RELEASE} == {remedy.kind for remedy in self.remedies}
        return is_bug and all(origin in row.targets for row in self.rows)

    @property
    def is_severe(self) -> bool:
        """Whether members can stop, or data can be lost, duplicated or wrong."""
        return self.severity in {Severity.STOPS, Severity.LOSES}

    @property
    def is_of_files(self) -> bool:
        """Whether it is about what files of the application have; a bare question is about anything else.

        Of what stops members for certain a question is left only where files show the rest.
        """
        return self.about in _OF_FILES and (self.is_certain or not isinstance(self.when, Ask))

    @property
    def rows(self) -> tuple[Hazard, ...]:
        """The rows of the table that are this row of a plan."""
        return (evolve(self, others=()), *self.others) if self.others else (self,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of ``rows``."""
        return tuple(row.name for row in self.rows)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of all rows, each once."""
        return tuple(dict.fromkeys(source for row in self.rows for source in row.source.split(", ")))

    @property
    def evidence(self) -> str:
        """Whether real jars showed it, and which."""
        return f"seen with {', '.join(' and '.join(row.seen) for row in self.rows)}" if self.seen else NOT_RUN

    @property
    def words(self) -> str:
        """The symptom with the details of all rows."""
        details = "; ".join(dict.fromkeys(row.detail for row in self.rows if row.detail))
        return f"{self.symptom}: {details}" if details else self.symptom

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "names": list(self.names),
            "about": self.about.value,
            "severity": self.severity.value,
            "from": "; ".join(dict.fromkeys(str(row.origins) for row in self.rows)),
            "to": "; ".join(dict.fromkeys(str(row.targets) for row in self.rows)),
            "applies_to": self.applies_to,
            "symptom": self.words,
            "remedy": self.remedy,
            "remedies": [remedy.as_json() for row in self.rows for remedy in row.remedies],
            "source": ", ".join(self.sources),
            "evidence": self.evidence,
        }

    def lines(self) -> tuple[str, ...]:
        """Write it as a list item: the symptom, then what to do and how it is known."""
        return (
            f"- {self.brief}",
            f"    {self.remedy_line}",
            f"    source: {', '.join(self.sources)}; {self.evidence}",
        )

    @property
    def remedy_line(self) -> str:
        """The remedy, and the names by which steps and short lists call this hazard."""
        return f"remedy: {self.remedy} ({', '.join(self.names)})"

    @property
    def brief(self) -> str:
        """Its effect, its condition, and the symptom: the line of a list."""
        return f"{self.severity.value}: {self.applies_to}: {self.words}"


def order_hazards(hazards: Iterable[Hazard]) -> tuple[Hazard, ...]:
    """Return the hazards of a plan: the most severe first, of these what was seen, and those that repeat as one.

    Two rows repeat if they differ in their details, sources and releases only. Observed and read rows are not mixed;
    the others were only read.
    """
    groups: dict[tuple[object, ...], list[Hazard]] = {}
    for row in dict.fromkeys(row for hazard in hazards for row in hazard.rows):
        key = (row.about, row.severity, row.applies_to, row.symptom, row.remedy, bool(row.seen))
        groups.setdefault(key, []).append(row)
    merged = [evolve(first, others=tuple(others)) if others else first for first, *others in groups.values()]
    return tuple(sorted(merged, key=lambda hazard: (_SEVERITY[hazard.severity], not hazard.seen)))


def count_by_severity(hazards: Iterable[Hazard]) -> dict[str, int]:
    """Return how many hazards there are of each severity, the worst first."""
    counts = Counter(hazard.severity for hazard in hazards)
    return {severity.value: counts[severity] for severity in Severity}


_OF_FILES: Final = frozenset(
    {HazardSubject.CONFIGURATION, HazardSubject.CODE, HazardSubject.CHANGELOGS, HazardSubject.TASK_IDS}
)
_SEVERITY: Final = {severity: place for place, severity in enumerate(Severity)}
