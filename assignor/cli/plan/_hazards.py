"""The part of ``plan`` beyond the metadata: compared topologies, and static members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from upgrade import Release, UpgradeError
from upgrade.hazards import TopologyChange, compare_topologies, parse_subtopologies, static_downgrade
from upgrade.input_values import read_text

topologies_option = click.option(
    "--topologies",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    nargs=2,
    metavar="OLD NEW",
    help="Two files with Topology#describe() texts: which task ids and changelogs change.",
)


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
