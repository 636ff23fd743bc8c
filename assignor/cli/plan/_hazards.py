"""The part of ``plan`` beyond the metadata: what concerns an application, compared topologies, and static members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from streams_assignor.cli.params import FILE
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade import Advice, Release, UpgradeError
from streams_assignor.upgrade.application.evidence import described_topology, joined_topologies
from streams_assignor.upgrade.errors import quote_input
from streams_assignor.upgrade.hazards import (
    Answer,
    ApplicationTopology,
    JudgedFeatures,
    TopologyChange,
    compare_topologies,
    parse_subtopologies,
    static_downgrade,
    version_number,
)
from streams_assignor.upgrade.input_values import read_text
from streams_assignor.upgrade.verdict import TopologyFeature, guidance

topologies_option = click.option(
    "--topologies",
    type=FILE,
    nargs=2,
    metavar="OLD NEW",
    help="Two such texts: which task ids change.",
)


library_option = click.option(
    "--library",
    "libraries",
    multiple=True,
    metavar="NAME=VERSION",
    help="A library that the files do not show.",
)


def named_libraries(texts: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VERSION``.

    Raises:
        UpgradeError: A text has another form.
    """
    versions = {name: version for name, _, version in (text.partition("=") for text in texts)}
    for name, version in versions.items():
        if not name or not version_number(version):
            raise UpgradeError(f"--library: expected NAME=VERSION such as spring-kafka=2.6.5, got {quote_input(name)}")
    return versions


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


def read_topology(paths: Sequence[Path]) -> ApplicationTopology | None:
    """Read ``Topology#describe()`` texts as one application; None if there is no file.

    Raises:
        UpgradeError: One cannot be read, or is no such text.
    """
    topologies: list[ApplicationTopology] = []
    for path in paths:
        try:
            text = read_text(path)
        except (OSError, UpgradeError) as error:
            raise UpgradeError(f"cannot read {path}: {error}") from error
        topologies.append(described_topology(str(path), text))
    return joined_topologies(topologies) if topologies else None


_WORDS: Final = {Answer.YES: "yes", Answer.NO: "no"}


def feature_lines(features: JudgedFeatures, advice: Advice) -> Iterator[str]:
    """Write what files say of the features on which the verdict of this plan depends."""
    for feature in _deciding(advice):
        concern = features.concerns.get(feature)
        if concern and concern.answer is not Answer.UNKNOWN:
            yield sanitize(f"{feature.words}: {_WORDS[concern.answer]}: {'; '.join(concern.evidence)}")


def _deciding(advice: Advice) -> tuple[TopologyFeature, ...]:
    """Return the features on which the verdict would depend if none were known."""
    hops = advice.guidance.hops
    guided = guidance(hops[0].origin, hops[-1].target)
    return tuple(feature for feature in TopologyFeature if feature in {*guided.features, *guided.hops_features})
