"""The hazards of an upgrade in a streams group (KIP-1071), where they differ from those of a classic group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import evolve

from streams_assignor.upgrade.group_configurations import KEPT_BY
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, Severity, order_hazards
from streams_assignor.upgrade.hazards.conditions import Ask

_ANOTHER_TOPOLOGY: Final = (
    f"a streams group accepts no other topology, also while it is empty ({KEPT_BY}): each member that has one ends"
)
_THROUGH_CLASSIC: Final = (
    "change the topology on the classic protocol (plan --to-protocol streams --topologies OLD NEW): stop all members, "
    "start them with group.protocol=classic and the new topology, stop them, wait until the group is empty, start them "
    "with group.protocol=streams; to delete the group, or another application.id, loses the committed offsets"
)
TOPOLOGY_UPDATES: Final = Hazard(
    name="topology-updates",
    about=HazardSubject.MEMBERSHIP,
    severity=Severity.STOPS,
    applies_to="an application whose topology changes in a release",
    when=Ask("whether releases of your application change its topology"),
    symptom=_ANOTHER_TOPOLOGY,
    remedy=_THROUGH_CLASSIC,
    source="KIP-1071, KAFKA-20170",
    seen=("4.4.0",),
)
_OTHER_TOPOLOGY_OF_A_RELEASE: Final[Mapping[str, Any]] = {
    "symptom": f"they are in another number of subtopologies, and {_ANOTHER_TOPOLOGY}",
    "remedy": f"compare the Topology#describe() texts of both (--topologies); if they differ, {_THROUGH_CLASSIC}",
}
_OTHER_TEXTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "shared-store-builders": _OTHER_TOPOLOGY_OF_A_RELEASE,
    "separate-store-builders": {**_OTHER_TOPOLOGY_OF_A_RELEASE, "severity": Severity.STOPS},
}


def in_streams_group(hazards: Iterable[Hazard]) -> tuple[Hazard, ...]:
    """Return what an upgrade of a streams group meets, of the rows between its releases and beside them."""
    rows = (evolve(hazard, **_OTHER_TEXTS.get(hazard.name, {})) for hazard in hazards)
    return order_hazards((*rows, TOPOLOGY_UPDATES))
