"""The part of ``plan`` beyond the metadata: what concerns an application, compared topologies, and static members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve, field, frozen

from assignor.cli.plan.application import ApplicationResult
from assignor.formats.text import sanitize
from upgrade import Advice, Release, UpgradeError
from upgrade.application.evidence import described_topology, setting_facts
from upgrade.application.live_group import LiveGroup
from upgrade.errors import quote_input
from upgrade.hazards import (
    Answer,
    Application,
    ApplicationTopology,
    JudgedFeatures,
    JudgedHazard,
    TopologyChange,
    compare_topologies,
    count_by_severity,
    judge_features,
    parse_subtopologies,
    static_downgrade,
    version_number,
)
from upgrade.input_values import read_text
from upgrade.verdict import UNKNOWN_TOPOLOGY, TopologyFeature, features_of_nodes, guidance

topologies_option = click.option(
    "--topologies",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    nargs=2,
    metavar="OLD NEW",
    help="Two files with Topology#describe() texts: which task ids and changelogs change.",
)


library_option = click.option(
    "--library",
    "libraries",
    multiple=True,
    metavar="NAME=VERSION",
    help="A library of the application that the files do not show, such as spring-kafka=2.6.5. For several, several "
    "times.",
)


@frozen
class StatedFacts:
    """What options say of an application beside its files."""

    absent: frozenset[TopologyFeature] = frozenset()
    """What it does not have."""
    topology: ApplicationTopology | None = None
    libraries: Mapping[str, str] = field(factory=dict, hash=False)


def named_libraries(texts: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VERSION``.

    Raises:
        UpgradeError: A text has another form.
    """
    found = {name: version for name, _, version in (text.partition("=") for text in texts)}
    for name, version in found.items():
        if not name or not version_number(version):
            raise UpgradeError(f"--library: expected NAME=VERSION such as spring-kafka=2.6.5, got {quote_input(name)}")
    return found


def compare_topology_files(old: Path, new: Path) -> TopologyChange:
    """Read two files and compare them.

    Raises:
        UpgradeError: One of them is no description of a topology.
    """
    try:
        texts = [parse_subtopologies(read_text(path), str(path)) for path in (old, new)]
    except OSError as error:
        raise UpgradeError(f"cannot read {error.filename}: {error.strerror or error}") from error
    return compare_topologies(*texts)


def static_verdict_lines(origin: Release, target: Release) -> Iterator[str]:
    """Write what a rolling downgrade does to static members; it stands directly below the verdict."""
    if static := static_downgrade(origin, target):
        yield f"static members: {static.symptom}; {static.remedy}"


def read_topology(path: Path | None) -> ApplicationTopology | None:
    """Read a ``Topology#describe()`` text; None if there is no file.

    Raises:
        UpgradeError: It cannot be read, or is no such text.
    """
    if path is None:
        return None
    try:
        text = read_text(path)
    except (OSError, UpgradeError) as error:
        raise UpgradeError(f"cannot read {path}: {error}") from error
    return described_topology(str(path), text)


def facts_of(found: ApplicationResult, stated: StatedFacts, live: LiveGroup | None = None) -> tuple[Application, ...]:
    """Return what files and the live group show: once, or for each of the conditions that the settings have."""
    code = found.code.facts if found.code else None
    configuration = found.configuration
    settings = setting_facts(configuration.file, configuration.settings) if configuration else (None,)
    group = live.facts if live else None
    return tuple(
        Application(settings=each, code=code, topology=stated.topology, group=group, libraries=stated.libraries)
        for each in settings
    )


def features_of(applications: Sequence[Application], stated: StatedFacts) -> JudgedFeatures:
    """Return the features on which the verdict depends, as the files and the options say.

    Raises:
        UpgradeError: A file shows whether it has one of them.
    """
    found, absent, topology = judge_features(applications), stated.absent, stated.topology
    shown = features_of_nodes(topology.nodes) if topology else UNKNOWN_TOPOLOGY
    if known := sorted(each.value for each in absent & (shown.absent | shown.present)):
        raise UpgradeError(f"--topology shows whether there are {', '.join(known)}: leave this out of --without")
    for feature in sorted(absent & found.facts.present - _OF_SETTINGS, key=lambda each: each.value):
        evidence = "; ".join(found.concerns[feature].evidence)
        raise UpgradeError(f"{evidence}: leave {feature.value} out of --without")
    facts = evolve(found.facts, absent=found.facts.absent | absent, present=found.facts.present - absent)
    return evolve(found, facts=facts)


_OF_SETTINGS: Final = frozenset({TopologyFeature.SECOND_THREAD})
"""What only settings show: an option counts more."""


_WORDS: Final = {Answer.YES: "yes", Answer.NO: "no"}


def stopping_text(judged: Sequence[JudgedHazard] | None, target: Release) -> str:
    """Say that members stop, if a hazard that concerns the application stops them; else nothing."""
    found = next((each.hazard for each in judged or () if each.stops_members), None)
    return f"members of {target} stop ({found.applies_to}), see below" if found else ""


def judged_json(judged: Sequence[JudgedHazard] | None, features: JudgedFeatures) -> dict[str, Any]:
    """Return the hazards with their answers as plain values; nothing without files."""
    if judged is None:
        return {}
    counted = Counter(each.concern.answer for each in judged)
    return {
        "hazards": [each.as_json() for each in judged],
        "beyond_metadata": count_by_severity(each.hazard for each in judged if each.concern.answer is not Answer.NO),
        "concerns": {answer.value: counted[answer] for answer in Answer},
        "features": {feature.value: concern.as_json() for feature, concern in features.concerns.items()},
    }


def feature_lines(features: JudgedFeatures, advice: Advice) -> Iterator[str]:
    """Write what files say of the features on which the verdict of this plan depends."""
    for feature in _deciding(advice):
        concern = features.concerns.get(feature)
        if concern and concern.answer is not Answer.UNKNOWN:
            yield sanitize(f"{feature.words}: {_WORDS[concern.answer]}: {'; '.join(concern.evidence)}")


def _deciding(advice: Advice) -> tuple[TopologyFeature, ...]:
    """Return the features on which the verdict would depend if none were known."""
    hops = advice.guidance.hops
    found = guidance(hops[0].origin, hops[-1].target)
    return tuple(each for each in TopologyFeature if each in {*found.features, *found.hops_features})
