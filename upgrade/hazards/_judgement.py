"""Which hazards of a plan concern one application, and which features its files show on which the verdict depends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.upgrade.hazards._application import Application
from streams_assignor.upgrade.hazards._hazard import Hazard, Severity, count_by_severity, order_hazards
from streams_assignor.upgrade.hazards._remedy import RemedyKind
from streams_assignor.upgrade.hazards._table import HAZARDS
from streams_assignor.upgrade.hazards._wrappers import with_wrappers, wrapper_hazards
from streams_assignor.upgrade.hazards.conditions import Answer, Concern, Condition, any_concern, join_concerns
from streams_assignor.upgrade.hazards.usual_conditions import (
    FOREIGN_KEY_JOINS,
    REPARTITIONED_TABLES,
    SECOND_SOURCE_TOPIC,
    SEVERAL_THREADS,
    STATELESS_SUBTOPOLOGIES,
)
from streams_assignor.upgrade.releases import RELEASES, Release
from streams_assignor.upgrade.verdict import TopologyFacts, TopologyFeature


@frozen
class JudgedHazard:
    """A hazard of a plan, and whether it concerns the application."""

    hazard: Hazard
    concern: Concern
    in_both: bool = False
    """A bug that the older release has, too, and that does not stop members or lose data of the application for sure:
    plans count it apart, as the upgrade changes nothing about it."""

    @property
    def stops_members(self) -> bool:
        """Whether members of the new release stop: it concerns the application, and nothing else decides."""
        is_stop = self.hazard.severity is Severity.STOPS and self.hazard.is_certain
        return is_stop and self.concern.answer is Answer.YES

    @property
    def is_severe(self) -> bool:
        """Whether members can stop, or data can be lost, duplicated or wrong: it concerns the application."""
        return self.hazard.is_severe and self.concern.answer is Answer.YES

    @property
    def is_undecided(self) -> bool:
        """Whether a plan with files is not proven by it: members can stop or data can be lost, as far as is known.

        It concerns the application, and no step of the plan has its remedy; or files of the application should decide
        it, and do not.
        """
        if self.in_both or not self.hazard.is_severe:
            return False
        if self.concern.answer is Answer.UNKNOWN:
            return self.hazard.is_of_files
        is_step = any(remedy.is_edit for row in self.hazard.rows for remedy in row.remedies)
        return self.concern.answer is Answer.YES and not is_step

    def as_json(self) -> dict[str, Any]:
        """Return plain values: those of the hazard, and the answer."""
        return self.hazard.as_json() | self.concern.as_json() | {"in_both": self.in_both}


def count_concerns(judged: Iterable[JudgedHazard]) -> dict[str, dict[str, int]]:
    """Return how many hazards have each answer and each severity, without bugs of both releases."""
    new = [each for each in judged if not each.in_both]
    counted = Counter(each.concern.answer for each in new)
    return {
        "beyond_metadata": count_by_severity(each.hazard for each in new if each.concern.answer is not Answer.NO),
        "concerns": {answer.value: counted[answer] for answer in Answer},
    }


def judge_hazards(
    hazards: Iterable[Hazard],
    applications: Sequence[Application],
    target: Release | None = None,
    origin: Release | None = None,
) -> tuple[JudgedHazard, ...]:
    """Compare the hazards of a plan with an application, the most severe first.

    Rows that a plan has as one are told apart if their answers differ.

    Args:
        hazards: Those of a plan.
        applications: The known facts of the application: once, or for each profile with which it may run.
        target: The release that it goes to; with it the wrappers of the application have hazards, too.
        origin: The release that it leaves; with it bugs of both releases are told apart.
    """
    judged_hazards: list[JudgedHazard] = []
    wrapped = [with_wrappers(application) for application in applications]
    of_wrappers = wrapper_hazards(wrapped, target) if target else ()
    for hazard in order_hazards((*hazards, *of_wrappers)):
        by_answer: dict[Answer, list[tuple[Hazard, Concern]]] = {}
        for row in hazard.rows:
            concern = any_concern(_concerns(row.when, wrapped))
            by_answer.setdefault(concern.answer, []).append((row, concern))
        for answer, judged in by_answer.items():
            first, *others = (row for row, _ in judged)
            concern = join_concerns(answer, (part for _, part in judged))
            told_apart = JudgedHazard(evolve(first, others=tuple(others)), concern)
            in_both = origin is not None and told_apart.hazard.is_met_already(origin) and not told_apart.is_severe
            judged_hazards.append(evolve(told_apart, in_both=in_both))
    return tuple(judged_hazards)


def with_fixed_releases(
    judged: Iterable[JudgedHazard], applications: Sequence[Application], target: Release
) -> tuple[JudgedHazard, ...]:
    """Return judged hazards whose remedy is another release with the name of that release.

    It is the next one without the bug that has no further bug by which the application stops or loses data.
    """
    newer = [each for each in RELEASES.values() if each.is_released and each.number > target.number]
    met = [row for row in severe_bugs(applications) if target not in row.targets]

    def fixed(each: JudgedHazard) -> JudgedHazard:
        if each.concern.answer is Answer.NO or not _is_of_release(each.hazard):
            return each
        without = [release for release in newer if not any(release in row.targets for row in each.hazard.rows)]
        if not without:
            return each
        fitting = (release for release in without if not any(release in row.targets for row in met))
        best = next(fitting, without[0])
        instead = f", as {without[0]} has another bug that concerns you" if best is not without[0] else ""
        return evolve(each, hazard=evolve(each.hazard, remedy=f"take {best}{instead}"))

    return tuple(map(fixed, judged))


def severe_bugs(applications: Sequence[Application]) -> tuple[Hazard, ...]:
    """Return the bugs of any release by which an application stops or loses data."""
    severe = (row for row in HAZARDS if _is_of_release(row) and row.is_severe)
    return tuple(row for row in severe if judge_condition(row.when, applications).answer is Answer.YES)


def _is_of_release(hazard: Hazard) -> bool:
    return any(remedy.kind is RemedyKind.RELEASE for remedy in hazard.remedies)


def judge_condition(condition: Condition, applications: Sequence[Application]) -> Concern:
    """Return whether a condition holds for an application; ``applications`` as above."""
    return any_concern(_concerns(condition, [with_wrappers(application) for application in applications]))


def _concerns(condition: Condition, applications: Iterable[Application]) -> list[Concern]:
    return [condition.concern(application) for application in applications]


_FEATURES: Final[Mapping[TopologyFeature, Condition]] = {
    TopologyFeature.FOREIGN_KEY_JOINS: FOREIGN_KEY_JOINS,
    TopologyFeature.REPARTITIONED_TABLES: REPARTITIONED_TABLES,
    TopologyFeature.STATELESS_SUBTOPOLOGIES: STATELESS_SUBTOPOLOGIES,
    TopologyFeature.SECOND_SOURCE_TOPIC: SECOND_SOURCE_TOPIC,
    TopologyFeature.SECOND_THREAD: SEVERAL_THREADS,
}


@frozen
class JudgedFeatures:
    """The evidence of files about the features on which a verdict depends."""

    facts: TopologyFacts
    concerns: Mapping[TopologyFeature, Concern]
    """How each is known."""


def judge_features(applications: Sequence[Application]) -> JudgedFeatures:
    """Return which features an application has and lacks, as far as its files tell; ``applications`` as above."""
    wrapped = [with_wrappers(application) for application in applications]
    concerns = {feature: any_concern(_concerns(condition, wrapped)) for feature, condition in _FEATURES.items()}

    def with_answer(answer: Answer) -> frozenset[TopologyFeature]:
        return frozenset(feature for feature, concern in concerns.items() if concern.answer is answer)

    return JudgedFeatures(TopologyFacts(with_answer(Answer.NO), with_answer(Answer.YES)), concerns)
