"""Behavioural equivalence of cells: many releases, and many values of upgrade.from, are one to the version protocol.

Of the cells with equal ``equivalence_class`` one is explored. Its result holds for the others, with their release
names. The cells of a ``BehaviourClass`` are more: their versions have other names, too, and only counts are equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache, lru_cache
from typing import Final

from attrs import field, frozen

from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.packed._cell import UpgradeCell
from streams_assignor.spark_sim.packed.tables.protocol_table import ProtocolTable
from streams_assignor.upgrade import ConfigException

NOT_STARTED: Final = "refused"
"""The class of cells in which a process does not start; their messages differ, so each is explored."""


@frozen
class ReleaseBehaviourKey:
    """The facts of an instance on which exploration depends."""

    starts: bool
    """Whether its release accepts its configuration."""
    rules: str = ""
    supported_version: int = 0
    pinned_version: int | None = None
    cooperative: bool = False
    """Whether it keeps its tasks while it rejoins."""
    withholds_owned_tasks: bool = False
    """Whether, as a leader, it assigns no task that another member keeps."""


@lru_cache(maxsize=10_000)
def behaviour_key(instance: Instance) -> ReleaseBehaviourKey:
    """Return what the version protocol depends on of an instance.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> behaviour_key(Instance(release_named("3.9.2"))) == behaviour_key(Instance(release_named("4.3.1"), "4.2"))
    True
    """
    release = instance.release
    try:
        instance.config()
    except ConfigException:
        return ReleaseBehaviourKey(False)
    pinned = release.pinned_version(instance.upgrade_from)
    return ReleaseBehaviourKey(
        True,
        release.rule_set,
        release.supported_version,
        None if pinned == release.supported_version else pinned,
        release.rebalance_protocol(instance.upgrade_from) == "cooperative",
        release.behaviour.cooperative,
    )


def all_instances_start(cell: UpgradeCell) -> bool:
    """Whether the releases of a cell accept their configurations."""
    return all(behaviour_key(instance).starts for instance in cell.instances)


def equivalence_class(cell: UpgradeCell) -> Hashable:
    """Return what decides the result of a cell; equal for all cells that cannot differ."""
    if not all_instances_start(cell):
        return NOT_STARTED
    sequences = dict.fromkeys(cell.instance_sequences)
    behaviours = [[behaviour_key(instance) for instance in sequence] for sequence in sequences]
    instances = [instance for sequence in behaviours for instance in sequence]
    # If some members keep tasks that other leaders do not know of, tasks matter, and so do the task assignors.
    checks_tasks = any(instance.cooperative for instance in instances) and not all(
        instance.withholds_owned_tasks for instance in instances
    )
    behaviour_since = (
        [[instance.release.behaviour.task_columns for instance in sequence] for sequence in sequences]
        if checks_tasks
        else []
    )
    return (
        tuple(map(tuple, behaviours)),
        tuple(map(tuple, behaviour_since)),
        (
            cell.members,
            cell.offline,
            cell.faults,
            cell.wait_for_quiescence,
            cell.deviation,
            cell.may_miss_responses,
        ),
    )


@frozen
class BehaviourClass:
    """The cells whose states and transitions differ only in the names of releases and versions."""

    key: Hashable
    cell: UpgradeCell = field(eq=False)
    """One of them."""

    @classmethod
    def of(cls, cell: UpgradeCell) -> BehaviourClass:
        """Return the class of a cell whose members all start."""
        operator = (cell.offline, cell.wait_for_quiescence, cell.deviation, cell.may_miss_responses)
        sequences = [tuple(map(cell.instances.index, sequence)) for sequence in cell.instance_sequences]
        return cls((operator, cell.faults, tuple(sequences), _behaviour(tuple(cell.instances))), cell)


@cache
def _behaviour(instances: tuple[Instance, ...]) -> Hashable:
    return ProtocolTable(instances).behaviour()
