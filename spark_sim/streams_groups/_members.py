"""Simulated members: the shipped client state machine (`streams_group`), its connection and application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.streams_groups._coordinator import HeartbeatRequest, HeartbeatResponse
from streams_assignor.spark_sim.streams_groups.rules import ClientRules, client_rules_of
from streams_assignor.spark_sim.streams_groups.tasks import TasksTuple, owned_tasks
from streams_assignor.streams_group import (
    CallbackKind,
    MemberProfile,
    StreamsGroupMember,
    StreamsMemberState,
    StreamsTasks,
)
from streams_assignor.streams_group.model import TASK_FIELDS, decode_tasks

_HAS_TASKS: Final = frozenset(
    {StreamsMemberState.RECONCILING, StreamsMemberState.ACKNOWLEDGING, StreamsMemberState.STABLE}
)


@frozen
class SimulatedThread:
    """One stream thread: its client, if it runs, and the answer that is on its way."""

    name: str
    """``A``, or ``A.1`` for one of several members of process A."""
    release: str
    is_static: bool = False
    """Whether it has a ``group.instance.id``."""
    topology_epoch: int = 0
    client: StreamsGroupMember | None = None
    restarts: bool = False
    """Whether it starts again when it has left."""
    response: HeartbeatResponse | None = None
    """An answer that has not arrived yet; the member sends nothing until then."""

    @property
    def process_id(self) -> str:
        """The process of the member; it survives a restart."""
        return self.name.partition(".")[0]

    @property
    def member_id(self) -> str:
        """The member id of this start; "" if the member does not run."""
        return self.client.profile.member_id if self.client else ""

    @property
    def running(self) -> frozenset[Any]:
        """The active tasks whose records the application processes."""
        return frozenset() if self.client is None or self.client.current is None else self.client.current.active

    @property
    def tasks(self) -> TasksTuple:
        """The active, standby and warm-up tasks that the application has."""
        tasks = TasksTuple.of_client(None if self.client is None else self.client.current)
        if not self.rules.checks_duplicates:
            return tasks
        standby = tasks.standby - tasks.active
        return TasksTuple(tasks.active, standby, tasks.warm_up - tasks.active - standby)

    @property
    def is_in_group(self) -> bool:
        """Whether the client takes part in the group."""
        return self.client is not None and self.client.state in _HAS_TASKS

    @property
    def can_commit(self) -> bool:
        """Whether it commits offsets as a member: outside the group it has no epoch to do that."""
        return self.client is not None and self.client.epoch > 0

    @property
    def can_send(self) -> bool:
        """Whether the next heartbeat can be sent."""
        return self.client is not None and self.client.sends_heartbeats and self.response is None

    def started(self, member_id: str) -> SimulatedThread:
        """Start the member with a new member id."""
        profile = MemberProfile(
            group_id="group",
            member_id=member_id,
            process_id=self.process_id,
            rebalance_timeout_ms=1,
            topology={"epoch": self.topology_epoch},
            instance_id=self.name if self.is_static else None,
            reports_while_reconciling=self.rules.reports_while_reconciling,
        )
        return evolve(self, client=StreamsGroupMember(profile).subscribe(), restarts=False, response=None)

    def crashed(self) -> SimulatedThread:
        """End the process without a word."""
        return evolve(self, client=None, response=None)

    def left(self) -> SimulatedThread:
        """Make the client leave the group."""
        assert self.client is not None, "only a running member leaves; this should never happen"
        return self._with_client(self.client.leave())

    def stalled(self) -> SimulatedThread:
        """The application has not polled for ``max.poll.interval.ms``."""
        assert self.client is not None, "only a running member stalls; this should never happen"
        return self._with_client(self.client.on_poll_expired())

    def sent(self) -> tuple[SimulatedThread, HeartbeatRequest]:
        """Return the member after it has sent a heartbeat, and the heartbeat."""
        assert self.client is not None, "only a running member sends; this should never happen"
        client, fields = self.client.next_request()
        return self._with_client(client), _request(fields)

    @property
    def rules(self) -> ClientRules:
        """The rules of its release."""
        return client_rules_of(self.release)

    def disconnected(self) -> SimulatedThread:
        """The last heartbeat is not answered."""
        return self if self.client is None else evolve(self._with_client(self.client.on_disconnect()), response=None)

    def received(self, response: HeartbeatResponse) -> SimulatedThread:
        """Return the thread after an answer of the coordinator."""
        if self.client is None:
            return self
        return evolve(self._with_client(self.client.on_response(response.fields())), response=None)

    def completed_callback(self) -> SimulatedThread:
        """The application has done the first callback.

        An application whose release does not check for duplicates fails if it gets a task twice.
        """
        assert self.client is not None, "only a running member has callbacks; this should never happen"
        callback = self.client.callbacks[0]
        if (
            callback.kind is CallbackKind.ASSIGN
            and not self.rules.checks_duplicates
            and has_duplicates(callback.assignment)
        ):
            return evolve(self.crashed(), restarts=False)
        return self._with_client(self.client.on_callback_completed())

    def _with_client(self, client: StreamsGroupMember) -> SimulatedThread:
        """Take the client's next state; one that has left is gone when its callbacks are done."""
        gone = client.state is StreamsMemberState.UNSUBSCRIBED and not client.callbacks
        return evolve(self, client=None if gone else client)


def has_duplicates(assignment: StreamsTasks) -> bool:
    """Whether a member gets a task in two roles."""
    return sum(map(len, assignment.roles)) > len(frozenset().union(*assignment.roles))


def _request(fields: Mapping[str, Any]) -> HeartbeatRequest:
    topology = fields["topology"]
    return HeartbeatRequest(
        fields["memberId"],
        fields["memberEpoch"],
        fields["processId"],
        None if topology is None else topology["epoch"],
        owned_tasks([None if fields[role] is None else decode_tasks(fields[role]) for role in TASK_FIELDS]),
        fields["instanceId"],
    )
