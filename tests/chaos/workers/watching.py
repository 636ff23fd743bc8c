"""What all workers have in common: their topology, and two ways to hear what happens to their member."""

from __future__ import annotations

from functools import wraps
from typing import Any

from assignor import Subtopology, Topology
from assignor.clients.plugged import Plugged
from assignor.member_process import Assigned, Subscribed
from assignor.task_listener import TaskListener, Tasks
from tests.chaos.events import Owns, WorkerSettings
from tests.chaos.worker import Surroundings
from upgrade.releases import release_named


def topology(settings: WorkerSettings) -> Topology:
    return Topology.of(Subtopology(sources=[settings.topic]))


def assignor_settings(settings: WorkerSettings) -> dict[str, Any]:
    return {"release": release_named(settings.release)}


class Owned(TaskListener):
    """Tells which partitions its member has; a worker may override what it does before some go."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._partitions: set[str] = set()

    def assigned(self, tasks: Tasks) -> None:
        self._partitions |= _names(tasks)
        self._tell()

    def revoked(self, tasks: Tasks) -> None:
        self.lost(tasks)

    def lost(self, tasks: Tasks) -> None:
        self._partitions -= _names(tasks)
        self._tell()

    def _tell(self) -> None:
        self._surroundings.tell(Owns(sorted(self._partitions)))


def watch(surroundings: Surroundings) -> None:
    """Tell of every subscription, assignment and answer of the assignors of this process, whatever client they are in.

    They are reached from outside, as ``StreamsConsumer`` makes its assignor itself.
    """
    subscription, answers, take = Plugged.subscription, Plugged.answers, Plugged.take

    @wraps(subscription)
    def telling_subscription(self: Plugged, *arguments: Any) -> bytes:
        written = subscription(self, *arguments)
        surroundings.tell(Subscribed(self.core.used_version, self.core.latest_version))
        return written

    @wraps(answers)
    def slow_answers(self: Plugged, *arguments: Any) -> dict[str, bytes]:
        surroundings.assigning()
        return answers(self, *arguments)

    @wraps(take)
    def telling_take(self: Plugged, assignment: bytes) -> Any:
        received = take(self, assignment)
        member = self.consumer.group_metadata()
        surroundings.tell(
            Assigned(
                generation=member.generation_id,
                member_id=member.member_id,
                leader=self._leads,
                version=received.version,
                supported=received.supported,
                active=map(str, sorted(received.active)),
                standby=(),
                rejoin=received.rejoin is not None,
            )
        )
        return received

    Plugged.subscription, Plugged.answers, Plugged.take = telling_subscription, slow_answers, telling_take


def _names(tasks: Tasks) -> set[str]:
    return {f"{topic}-{partition}" for partitions in tasks.values() for topic, partition in partitions}
