"""``plan --app``: what of Kafka's the code of an application loses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen

from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import count, sanitize
from streams_assignor.upgrade.application.api_diff import java_name

if TYPE_CHECKING:
    from streams_assignor.upgrade.application.code_report import CodeReport
    from streams_assignor.upgrade.application.linkage import Problem, Referrer
    from streams_assignor.upgrade.application.pinned import MixedArtifacts

_MOST_SHOWN: Final = 3
_PACKAGE: Final = re.compile(r"^(?:[a-z]\w*\.)+")


@frozen
class CodeResult:
    """The class files of an application, and what of Kafka's they lose."""

    found: CodeReport

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is lost, one line each, and what could not be seen; a terminal gets one line for each remedy."""
        report, linkage = self.found, self.found.linkage
        counts = f"{report.seen:,} classes, {linkage.references:,} classes and members of Kafka"
        yield f"code in {', '.join(report.paths)}: {counts}, {len(linkage.new_problems)} that {report.target} lacks"
        if view.is_short:
            yield from map(sanitize, self._remedies())
        else:
            for problem in linkage.problems:
                yield from self._problem_lines(problem, view)
        for name, referrers in linkage.signatures.items():
            text = f"{java_name(name)}: only in a signature, so it fails when a framework looks at the members"
            yield view.fact(sanitize(f"- missing: {text}; {_referrers(referrers, view)}"))
        for element, referrers in () if view.is_short else linkage.overrides_nothing.items():
            text = f"{element.text}: {report.target} does not have it, so nothing calls it"
            yield sanitize(f"- overrides nothing: {text}; {_referrers(referrers, view)}")
        if view.is_short and linkage.overrides_nothing:
            yield f"- methods of {report.target} that nothing calls: {len(linkage.overrides_nothing)} (-v)"
        for name, referrers in linkage.internal.items() if view.verbose else ():
            yield sanitize(f"- internal, and still there: {java_name(name)}; {_referrers(referrers, view)}")
        if linkage.internal and not (view.verbose or view.is_short):
            yield f"- internal classes of Kafka that are still there: {len(linkage.internal)} (-v)"
        if linkage.unknown:
            names = ", ".join(map(java_name, list(linkage.unknown)[:_MOST_SHOWN]))
            further = len(linkage.unknown) - _MOST_SHOWN
            more = f" and {further} more" if further > 0 else ""
            yield view.fact(sanitize(f"- of other artifacts of Kafka, which are not looked up: {names}{more}"))
        for versions in dict.fromkeys(report.kafka.values()):
            artifacts = (artifact for artifact, those in report.kafka.items() if those == versions)
            yield sanitize(f"- {', '.join(artifacts)} in the files: {', '.join(versions)}")
        if report.mixed:
            yield from _mixed_lines(report.mixed, view)
        for copy in report.relocated:
            yield view.fact(
                sanitize(
                    f"- a copy of {copy.artifact} as {copy.package}, which "
                    f"{'is read as Kafka' if copy.is_read else 'stays as it is'}: {copy.library}"
                )
            )
        for status in dict.fromkeys(need.status for need in report.needs) if view.is_short else ():
            needed = (need.dependency.name.rpartition(":")[2] for need in report.needs if need.status is status)
            yield sanitize(f"- {status.value}: {', '.join(needed)} (-v: which are needed)")
        for need in () if view.is_short else report.needs:
            yield sanitize(f"- {need.status.value}: {need.text}")
        if 0 < report.java < report.needed_java:
            have = f"the files need Java {report.java}, so look at what runs them"
            yield view.fact(f"- {report.target} needs Java {report.needed_java}; {have}")
        elif report.java and not view.is_short:
            yield sanitize(
                f"- Java: the files need {report.java} ({report.java_library}), "
                f"{report.target} needs {report.needed_java}"
            )
        if report.damaged:
            yield sanitize(f"- unreadable files: {len(report.damaged)}: {', '.join(report.damaged[:_MOST_SHOWN])}")
        known = report.refused_by_compilers
        linkage_only = f"- linkage only: the compiler may refuse more{', such as' if known else ''}"
        not_seen = "; ".join(report.not_seen)
        if view.is_short and not known:
            yield view.fact(sanitize(f"- linkage only; not seen: {not_seen}"))
            return
        yield linkage_only
        yield from (view.fact(sanitize(f"    {text}")) for text in (known if view.verbose else known[:_MOST_SHOWN]))
        if len(known) > _MOST_SHOWN and not view.verbose:
            yield f"    and {len(known) - _MOST_SHOWN} more (-v)"
        yield view.fact(sanitize(f"- not seen: {not_seen}"))

    def _remedies(self) -> Iterator[str]:
        """Yield what the release lacks by what to do about it: lines of the application, then libraries."""
        linkage = self.found.linkage
        lost = linkage.new_problems
        own = [problem for problem in lost if any(referrer.library.is_own for referrer in problem.referred_by)]
        texts: dict[str, list[str]] = {}
        for problem in own:
            texts.setdefault(self._remedy(problem), []).append(f"{_simple(problem.text)} ({_first_line(problem)})")
        yield from (f"- {', '.join(names)}: {remedy or 'is missing'}" for remedy, names in texts.items())
        for raised in self.found.raised:
            yield f"- {raised.text}: {count(len(raised.lacks), 'reference')} (-v)"
        if rest := len(linkage.problems) - len(lost):
            yield f"- missing in FROM, too, or used only while a native image is made: {rest} (-v)"

    def _remedy(self, problem: Problem) -> str:
        """Return what to call instead, without its details; empty if nothing is known."""
        if row := self.found.replacement_of(problem):
            return f"use {row.instead}"
        candidates = self.found.suggestions.get(problem.text, ())
        return f"{self.found.target} has {', '.join(candidates)}" if candidates else ""

    def _problem_lines(self, problem: Problem, view: DisplayOptions) -> Iterator[str]:
        remark = "" if problem.is_new else "; missing in FROM, too"
        if all(referrer.is_build_time for referrer in problem.referred_by):
            remark = "; only while a native image is made"
        yield view.fact(
            sanitize(
                f"- {problem.error}: {problem.text}: {problem.reason}{remark}; {_referrers(problem.referred_by, view)}"
            )
        )
        if not any(referrer.library.is_own for referrer in problem.referred_by):
            for raised in self.found.raised:
                if problem.text in raised.lacks:
                    yield sanitize(f"    {raised.text}")
            return
        if row := self.found.replacement_of(problem):
            yield f"    {row.text} ({row.source})"
        elif candidates := self._remedy(problem):
            yield sanitize(f"    {candidates}")


def _simple(text: str) -> str:
    """Return a class or member without the package: ``KStream#branch(Predicate[])``."""
    return _PACKAGE.sub("", text)


def _first_line(problem: Problem) -> str:
    """Name the first line of the application that refers to something, or else its class."""
    own = next(referrer for referrer in problem.referred_by if referrer.library.is_own)
    place = own.places[0] if own.places else None
    return f"{place.file} line {place.line}" if place and place.line else _simple(java_name(own.name))


def _mixed_lines(mixed: MixedArtifacts, view: DisplayOptions) -> Iterator[str]:
    """Write which artifact stayed behind, what keeps it, and what Kafka's own classes miss."""
    keepers = f"; kept by: {', '.join(mixed.kept_by[:_MOST_SHOWN])}" if mixed.kept_by else ""
    failing = (
        f"{len(mixed.problems)} references of Kafka's own fail" if mixed.problems else "Kafka's references resolve"
    )
    yield view.fact(
        sanitize(f"- different releases of Kafka in the files, {mixed.oldest} is the oldest: {failing}{keepers}")
    )
    for problem in mixed.problems if view.verbose else mixed.problems[:_MOST_SHOWN]:
        yield view.fact(
            sanitize(f"- {problem.error}: {problem.text}: {problem.reason}; {_referrers(problem.referred_by, view)}")
        )


def _referrers(referrers: Sequence[Referrer], view: DisplayOptions) -> str:
    """Name the first class that refers to something, or with ``-v`` all."""
    shown = referrers if view.verbose else referrers[:1]
    names = ", ".join(f"{referrer.library} {_name(referrer, view)}" for referrer in shown)
    return f"{names} and {len(referrers) - 1} more" if len(referrers) > len(shown) else names


def _name(referrer: Referrer, view: DisplayOptions) -> str:
    """Name a class, and the first line where it refers to something, or with ``-v`` all."""
    if not referrer.places:
        return java_name(referrer.name)
    first, *others = referrer.places
    if view.verbose:
        return "; ".join(map(str, referrer.places))
    return f"{first}{f' and {len(others)} more lines' if others else ''}"
