"""``plan --app``: what of Kafka's the code of an application loses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import Release, UpgradeError
from upgrade.application.api_diff import java_name
from upgrade.application.archive import Archives
from upgrade.application.code import code_of
from upgrade.application.evidence import code_facts
from upgrade.application.libraries import Library
from upgrade.application.linkage import LinkageReport, Referrer, check_references
from upgrade.application.settings import KnownClasses
from upgrade.hazards import CodeFacts

_MOST_SHOWN: Final = 3


@frozen
class CodeResult:
    """The class files of an application, and what of Kafka's they lose."""

    paths: tuple[str, ...]
    target: str
    seen: int
    kafka: Mapping[str, tuple[str, ...]]
    """The versions of each artifact of Kafka in the files."""
    libraries: tuple[Library, ...]
    damaged: tuple[str, ...]
    report: LinkageReport
    known_classes: KnownClasses

    facts: CodeFacts

    @property
    def blocked(self) -> str:
        """Why members do not work; empty if they do, as far as references decide."""
        return f"the code refers to what {self.target} lacks, see below" if self.report.new_problems else ""

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What class files do not show."""
        invisible = "reflection, native images, names of metrics, and whether a line ever runs"
        return (invisible,) if self.libraries else (invisible, "its libraries: there are none in the files")

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "missing": [each.as_json() for each in self.report.problems],
            "application": {
                "paths": list(self.paths),
                "classes": self.seen,
                "references": self.report.references,
                "kafka": {artifact: list(versions) for artifact, versions in self.kafka.items()},
                "libraries": [{"name": each.name, "version": each.version or None} for each in self.libraries],
                "internal": _by_class(self.report.internal),
                "unknown": _by_class(self.report.unknown),
                "damaged": list(self.damaged),
                "not_seen": list(self.not_seen),
            },
        }

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is lost, one line each, and what could not be seen."""
        report = self.report
        read = f"{self.seen:,} classes, {report.references:,} classes and members of Kafka"
        yield f"code in {', '.join(self.paths)}: {read}, {len(report.new_problems)} that {self.target} lacks"
        for each in report.problems:
            known = "" if each.is_new else "; missing in FROM, too"
            yield view.fact(
                sanitize(f"- {each.error}: {each.text}: {each.reason}{known}; {_referrers(each.referred_by, view)}")
            )
        for name, found in report.internal.items() if view.verbose else ():
            yield sanitize(f"- internal, and still there: {java_name(name)}; {_referrers(found, view)}")
        if report.internal and not view.verbose:
            yield f"- internal classes of Kafka that are still there: {len(report.internal)} (-v)"
        if report.unknown:
            names = ", ".join(map(java_name, list(report.unknown)[:_MOST_SHOWN]))
            further = len(report.unknown) - _MOST_SHOWN
            more = f" and {further} more" if further > 0 else ""
            yield view.fact(sanitize(f"- of other artifacts of Kafka, which are not looked up: {names}{more}"))
        for artifact, versions in self.kafka.items():
            yield sanitize(f"- {artifact} in the files: {', '.join(versions)}")
        if len({version for versions in self.kafka.values() for version in versions}) > 1:
            yield "- the files have different releases of Kafka: one of these artifacts is pinned, and may stay old"
        if self.damaged:
            yield sanitize(f"- {len(self.damaged)} files cannot be read: {', '.join(self.damaged[:_MOST_SHOWN])}")
        yield f"- not seen: {'; '.join(self.not_seen)}"


def _by_class(found: Mapping[str, tuple[Referrer, ...]]) -> list[dict[str, Any]]:
    return [
        {"class": java_name(name), "referred_by": [each.as_json() for each in those]} for name, those in found.items()
    ]


def _referrers(found: Sequence[Referrer], view: DisplayOptions) -> str:
    """Name the first class that refers to something, or with ``-v`` all."""
    shown = found if view.verbose else found[:1]
    names = ", ".join(f"{each.library} {java_name(each.name)}" for each in shown)
    return f"{names} and {len(found) - 1} more" if len(found) > len(shown) else names


def check_code(paths: Sequence[Path], origin: Release, target: Release) -> CodeResult:
    """Read class files and resolve what of Kafka's they refer to.

    Raises:
        UpgradeError: A path cannot be read, or Kafka has not published a release.
    """
    old, new = code_of(origin), code_of(target)
    try:
        with Archives(paths) as archives:
            report = check_references(archives.classes, old, new, archives.find)
            facts = code_facts(", ".join(map(str, paths)), archives, report, origin, target)
    except OSError as error:
        raise UpgradeError(f"cannot read {error.filename or 'an archive'}: {error.strerror or error}") from error
    return CodeResult(
        tuple(map(str, paths)),
        target.name,
        archives.seen,
        {artifact: tuple(sorted(versions)) for artifact, versions in sorted(archives.kafka.items())},
        tuple(sorted((each for each in archives.libraries if not each.is_own), key=str)),
        tuple(archives.damaged),
        report,
        KnownClasses(archives.names, has_libraries=archives.sees_libraries),
        facts,
    )
