"""``plan --config --app``: the settings and the code of an application beside both releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from assignor.cli.plan.application_settings import ConfigurationResult, check_settings
from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import Release, UpgradeError
from upgrade.application.api_diff import java_name
from upgrade.application.archive import Archives, Library
from upgrade.application.code import code_of
from upgrade.application.linkage import LinkageReport, Referrer, check_references
from upgrade.application.setting_files import Settings
from upgrade.application.settings import KnownClasses
from upgrade.hazards import CheckedScope
from upgrade.releases import ResolvedRelease

HINT: Final = "for your application: --config FILE and --app PATH say what becomes of its settings and its code"


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


_MOST_SHOWN: Final = 3


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
            report = check_references(archives.classes.values(), old, new, archives.find)
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
        KnownClasses(archives.names, has_libraries=any(not each.is_own for each in archives.libraries)),
    )


@frozen
class ApplicationFiles:
    """What the options name of an application."""

    settings: Path | None = None
    code: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return self.settings is not None or bool(self.code)

    def notes(self, origin: ResolvedRelease, target: ResolvedRelease) -> tuple[str, ...]:
        """Say whose jars the files are compared with, if a release is not named as Kafka names it."""
        return tuple(dict.fromkeys((*origin.tables, *target.tables))) if self else ()

    def check(self, origin: Release, target: Release, settings: Settings | None) -> ApplicationResult:
        """Read the code and judge both; ``UpgradeError`` if Kafka has not published a release."""
        code = check_code(self.code, origin, target) if self.code else None
        known = code.known_classes if code else None
        return ApplicationResult(
            check_settings(self.settings, settings, origin, target, known) if self.settings and settings else None,
            code,
            has_tables=bool(origin.kafka_name and target.kafka_name),
        )


@frozen
class ApplicationResult:
    """What the files of an application decide about a plan."""

    configuration: ConfigurationResult | None = None
    code: CodeResult | None = None
    has_tables: bool = True
    """Whether both releases are Kafka's, so that files can be compared with them."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the steps must not be made; none if they may."""
        return tuple(each.blocked for each in (self.configuration, self.code) if each and each.blocked)

    def scope(self, checked: CheckedScope) -> CheckedScope:
        """Return what the plan was checked for with these files."""
        return checked.with_application(configuration=self.configuration is not None, code=self.code is not None)

    def as_json(self) -> dict[str, Any]:
        """Return plain values: keys for each kind of file."""
        configuration = {"configuration": self.configuration.as_json()} if self.configuration else {}
        return configuration | (self.code.as_json() if self.code else {})

    def parts(self, view: DisplayOptions) -> tuple[Iterable[str], ...]:
        """Write it as parts of a plan, or which options there are."""
        found = tuple(each.lines(view) for each in (self.configuration, self.code) if each)
        return found or (((HINT,),) if self.has_tables else ())
