"""What all workers have in common: their topology, and how they report their member's events."""

from __future__ import annotations

from functools import wraps
from typing import Any

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.rebalance_listener import PartitionsByTask, TaskRebalanceListener
from streams_assignor.upgrade import StreamsConfig
from streams_assignor.upgrade.releases import release_named
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import PLAIN, WorkerSettings, owns


def topology(settings: WorkerSettings) -> Topology:
    return Topology.of(Subtopology(sources=[settings.topic]))


def assignor_settings(settings: WorkerSettings, worker_context: WorkerContext) -> dict[str, Any]:
    return {"release": release_named(settings.release), "observer": worker_context.observe}


def adapter(kind: type[ClientAdapter], settings: WorkerSettings, worker_context: WorkerContext) -> ClientAdapter | None:
    """Return the assignor of a consumer of kafka-python or aiokafka; None for a plain one."""
    if settings.kind.endswith(PLAIN):
        return None
    return kind(
        topology(settings),
        StreamsConfig(upgrade_from=settings.upgrade_from, group_instance_id=settings.instance_id),
        listener=OwnershipReporter(worker_context),
        **assignor_settings(settings, worker_context),
    )


def consumer_settings(settings: WorkerSettings, streams: ClientAdapter | None) -> dict[str, Any]:
    """Return the settings that consumers of kafka-python and aiokafka have in common; plain ones have no assignor."""
    return {
        **({"partition_assignment_strategy": [streams]} if streams else {}),
        "bootstrap_servers": settings.bootstrap_servers.split(","),
        "client_id": settings.client_id,
        "group_id": settings.group,
        "group_instance_id": settings.instance_id,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "session_timeout_ms": settings.session_ms,
        "heartbeat_interval_ms": settings.session_ms // 10,
    }


class OwnershipReporter(TaskRebalanceListener):
    """Tells which partitions its member has; a worker may override what it does before some go."""

    def __init__(self, worker_context: WorkerContext) -> None:
        self._worker_context = worker_context
        self._partitions: set[str] = set()

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        self._partitions |= _names(tasks)
        self._report()

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
        self.on_tasks_lost(tasks)

    def on_tasks_lost(self, tasks: PartitionsByTask) -> None:
        self._partitions -= _names(tasks)
        self._report()

    def _report(self) -> None:
        self._worker_context.emit(owns(sorted(self._partitions)))


def delay_assignments(worker_context: WorkerContext) -> None:
    """Call ``before_assignment`` before any leader of this process assigns.

    The method is replaced on the class, because ``StreamsConsumer`` creates its assignor itself.
    """
    perform_assignment = ClientAdapter.perform_assignment

    @wraps(perform_assignment)
    def delayed(self: ClientAdapter, *arguments: Any) -> dict[str, bytes]:
        worker_context.before_assignment()
        return perform_assignment(self, *arguments)

    ClientAdapter.perform_assignment = delayed


def _names(tasks: PartitionsByTask) -> set[str]:
    return {f"{topic}-{partition}" for partitions in tasks.values() for topic, partition in partitions}
