"""The differences between releases of the assignor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.streams_groups.task_assignor import _previous_members as previous
from streams_assignor.spark_sim.streams_groups.task_assignor._hash_order import (
    MapOrder,
    compute_if_absent_order,
    hash_map_order,
)
from streams_assignor.spark_sim.streams_groups.task_assignor._types import UnknownReleaseError


@frozen
class ReleaseRules:
    """The rules of a release for members that had a task before."""

    pick: previous.Pick
    """Which of them is to have the task."""
    collect: previous.Collect
    """The condition that makes a member one of them, beside an active task."""
    process_order: MapOrder = hash_map_order
    """The iteration order of processes, which decides between equal loads."""


_FIRST: Final = ReleaseRules(previous.compare_with_first, previous.standbys_of)
_WITHOUT_KAFKA_20899: Final = ReleaseRules(previous.skip_holders, previous.standbys_of)
_WITH_OFFSETS: Final = ReleaseRules(previous.skip_holders, previous.standbys_and_offsets_of, compute_if_absent_order)

RELEASES: Final[Mapping[str, ReleaseRules]] = {
    "4.2.0": _FIRST,
    "4.2.1": _FIRST,
    "4.2.2": _WITHOUT_KAFKA_20899,
    "4.3.0": _FIRST,
    "4.3.1": _FIRST,
    "4.4.0": _WITH_OFFSETS,
}
"""The rules by release of the broker. The early access of 4.1 has another algorithm, which is not modelled."""
NEWEST_RELEASE: Final = "4.4.0"


def rules_of(release: str) -> ReleaseRules:
    """Return the rules of a release of the broker."""
    if release not in RELEASES:
        raise UnknownReleaseError(
            f"release: expected one with a known sticky assignor ({', '.join(RELEASES)}), got {release!r}"
        )
    return RELEASES[release]
