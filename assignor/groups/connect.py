"""Workers of Kafka Connect: a classic group of the protocol type ``connect``, in which connectors are assigned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.codec import DecodeError
from streams_assignor.codec.connect_protocol import (
    CONNECTOR_TASK,
    ConnectorTasks,
    WorkerAssignment,
    WorkerSubscription,
    decode_worker_assignment,
    decode_worker_subscription,
)
from streams_assignor.groups.decoded import AssignmentSeen, SubscriptionSeen
from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.groups.member import InspectedMember, with_unique_names
from streams_assignor.groups.member_names import member_name

CONNECT_PROTOCOL: Final = "connect"


@frozen(kw_only=True)
class InspectedWorker(InspectedMember):
    """A worker of an inspected group; it has neither topics nor partitions."""

    sent: WorkerSubscription = field(hash=False)
    got: WorkerAssignment = field(hash=False)

    @property
    def connectors(self) -> tuple[str, ...]:
        """The connectors that it runs."""
        return tuple(
            sorted(
                connector_tasks.connector
                for connector_tasks in self.got.assigned or ()
                if CONNECTOR_TASK in connector_tasks.tasks
            )
        )

    @property
    def tasks(self) -> dict[str, tuple[int, ...]]:
        """The tasks that it runs, by connector."""
        return _tasks(self.got.assigned)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; docs/reference/group.md lists the keys."""
        return {
            "url": self.sent.url,
            "config_offset": self.got.config_offset if self.described.assignment else self.sent.config_offset,
            "leader_url": self.got.leader_url,
            "error_code": self.got.error_code,
            "connectors": list(self.connectors),
            "tasks": {connector: list(tasks) for connector, tasks in self.tasks.items()},
            "revoked_connectors": sorted(
                connector_tasks.connector
                for connector_tasks in self.got.revoked or ()
                if CONNECTOR_TASK in connector_tasks.tasks
            ),
            "revoked_tasks": {connector: list(tasks) for connector, tasks in _tasks(self.got.revoked).items()},
            "delay_ms": self.got.scheduled_delay,
        }


def decode_workers(members: Iterable[DescribedGroupMember]) -> tuple[InspectedMember, ...]:
    """Decode all workers, sorted by client id and member id."""
    return with_unique_names(map(_decoded, members))


def _decoded(raw: DescribedGroupMember) -> InspectedMember:
    problems: dict[str, str] = {}
    sent, got = WorkerSubscription(), WorkerAssignment()
    try:
        sent = decode_worker_subscription(raw.subscription) if raw.subscription else sent
    except DecodeError as error:
        problems["sent"] = f"subscription: {error}"
    try:
        got = decode_worker_assignment(raw.assignment) if raw.assignment else got
    except DecodeError as error:
        problems["got"] = f"assignment: {error}"
    return InspectedWorker(
        name=member_name(raw),
        described=raw,
        subscription=SubscriptionSeen(problem=problems.get("sent")),
        assignment=AssignmentSeen(problem=problems.get("got")),
        sent=sent,
        got=got,
    )


def leader_of(members: Iterable[InspectedMember]) -> InspectedMember | None:
    """Return the worker that assigns, which all of them know; None if it is not shown, or they do not agree."""
    workers = [member for member in members if isinstance(member, InspectedWorker)]
    named = {worker.got.leader for worker in workers if worker.got.leader}
    leaders = [worker for worker in workers if {worker.described.member_id} == named]
    return leaders[0] if leaders else None


def _tasks(assigned: Iterable[ConnectorTasks] | None) -> dict[str, tuple[int, ...]]:
    """Return the numbers of tasks by connector, without those that have none."""
    numbers: Mapping[str, tuple[int, ...]] = {
        connector_tasks.connector: tuple(sorted(number for number in connector_tasks.tasks if number != CONNECTOR_TASK))
        for connector_tasks in assigned or ()
    }
    return {connector: numbers[connector] for connector in sorted(numbers) if numbers[connector]}
