"""The broker's task assignor of streams groups, for `StreamsGroups.java`."""

from collections.abc import Callable, Mapping
from typing import Any

from streams_assignor.spark_sim.streams_groups.task_assignor import (
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    TaskAssignorError,
    assign,
)

Values = Mapping[str, Any]
_KINDS = ("active", "standby", "warmup")


def assign_group(values: Values) -> Values:
    """The target assignment of the release that asks."""
    members = {
        id_: AssignmentMemberSpec(
            process, active_tasks=_tasks(active), standby_tasks=_tasks(standby), warmup_tasks=_tasks(warmup)
        )
        for id_, process, active, standby, warmup in values["members"]
    }
    rows = values["subtopologies"]
    topology = KnownTopology({name: count for name, count, _ in rows}, {name for name, _, stateful in rows if stateful})
    try:
        made = assign(GroupSpec(members, values["standbys"]), topology, release=values["release"])
    except TaskAssignorError as error:
        return {"refused": str(error)}
    return {
        "members": {
            id_: {
                kind: {name: sorted(held) for name, held in getattr(each, f"{kind}_tasks").items()} for kind in _KINDS
            }
            for id_, each in made.members.items()
        }
    }


def _tasks(rows: list[Any]) -> dict[str, frozenset[int]]:
    return {subtopology: frozenset(partitions) for subtopology, partitions in rows}


OPERATIONS: Mapping[str, Callable[[Values], Values]] = {"assign a streams group": assign_group}
