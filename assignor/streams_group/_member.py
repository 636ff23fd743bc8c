"""The membership of one member of a streams group, as an immutable value: each event returns the next value.

Rule 1: it knows no clock, network or thread; ``HeartbeatTimer`` has the times.
Rule 2: messages are dicts with Kafka's field names (``codec.streams_group``).

The owner of a member sends what `next_request` returns while ``sends_heartbeats`` holds, and passes the answer to
`on_response` or the loss of the connection to `on_disconnect`. It runs ``callbacks[0]`` in the application, once, and
then calls `on_callback_completed`. The member revokes tasks before it takes new ones, and acknowledges an assignment
only when the application has taken it.

Java: ``StreamsMembershipManager`` and ``StreamsGroupHeartbeatRequestManager.HeartbeatState`` of 4.3.1. Three
differences: a member compares assignments by content alone (Java numbers them), callbacks are one queue, and heartbeats
have no tasks while the member takes an assignment (``MemberProfile.reports_while_reconciling``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.codec.streams_group import JOIN_GROUP_MEMBER_EPOCH
from streams_assignor.streams_group.model import (
    TASK_FIELDS,
    Callback,
    CallbackKind,
    HeartbeatErrorReaction,
    MemberFailure,
    MemberProfile,
    Status,
    StreamsMemberState,
    StreamsTasks,
    decode_tasks,
)
from streams_assignor.streams_group.rules import HINTS, error_rule, status_rule

_S = StreamsMemberState
_SENDING: Final = frozenset({_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE, _S.PREPARE_LEAVING, _S.LEAVING})
_URGENT: Final = frozenset({_S.JOINING, _S.ACKNOWLEDGING, _S.LEAVING})
_TAKES_ASSIGNMENT: Final = frozenset({_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE})
_LEAVING: Final = frozenset({_S.PREPARE_LEAVING, _S.LEAVING})
_REJOINING: Final = frozenset({_S.FENCED, _S.STALE})


@frozen
class StreamsGroupMember:
    """One member at one moment."""

    profile: MemberProfile
    state: StreamsMemberState = StreamsMemberState.UNSUBSCRIBED
    epoch: int = JOIN_GROUP_MEMBER_EPOCH
    target: StreamsTasks | None = None
    """The last assignment of the coordinator; None outside the group."""
    current: StreamsTasks | None = None
    """The last one that the application has taken."""
    callbacks: tuple[Callback, ...] = ()
    """The calls of the application to make, in order. The first one may be under way."""
    sent: StreamsTasks | None = None
    """The tasks in the last heartbeat that had any; None if the next one has to have them."""
    statuses: tuple[Status, ...] = ()
    endpoint_epoch: int = -1
    leaves_stale: bool = False
    """Whether the member leaves because the application did not poll, and so rejoins later."""
    shuts_down_application: bool = False
    """Whether heartbeats request the shutdown of all members (KIP-663)."""
    failure: MemberFailure | None = None

    # -- what the owner asks ------------------------------------------------------------------------------------------

    @property
    def sends_heartbeats(self) -> bool:
        """Whether the member is in the group, or wants to join or leave it."""
        return self.state in _SENDING

    @property
    def heartbeat_is_urgent(self) -> bool:
        """Whether the next heartbeat is sent without waiting for the interval."""
        return self.state in _URGENT

    @property
    def group_ready(self) -> bool:
        """Whether the application has tasks and may process their records."""
        return self.current is not None and self.current.group_ready

    # -- heartbeats ---------------------------------------------------------------------------------------------------

    def next_request(self) -> tuple[StreamsGroupMember, dict[str, Any]]:
        """Return the fields of the next heartbeat, and the member after it was sent.

        Fields that have not changed since the last heartbeat are left out, as in Kafka's client.
        """
        member, profile = self, self.profile
        fields: dict[str, Any] = {
            "groupId": profile.group_id,
            "memberId": profile.member_id,
            "memberEpoch": self.epoch,
            "endpointInformationEpoch": self.endpoint_epoch,
            **_UNCHANGED,
            "instanceId": profile.instance_id,
            "shutdownApplication": self.shuts_down_application,
        }
        if self.state is StreamsMemberState.JOINING:
            fields |= _joining_fields(profile)
        elif self.state is not StreamsMemberState.LEAVING and self._reports_tasks:
            owned = self.current or StreamsTasks()
            if owned != self.sent or self.state is StreamsMemberState.ACKNOWLEDGING:
                fields |= owned.fields()
                member = evolve(self, sent=owned)
        return member._on_request_sent(), fields

    @property
    def _reports_tasks(self) -> bool:
        """Whether heartbeats may have the owned tasks: those of the last assignment, and no task between two owners."""
        is_reconciled = self.target in (None, self.current) and not self.callbacks
        return is_reconciled or self.profile.reports_while_reconciling

    def _on_request_sent(self) -> StreamsGroupMember:
        if self.state is StreamsMemberState.ACKNOWLEDGING:
            return self._settle()
        return self._on_left() if self.state is StreamsMemberState.LEAVING else self

    def _on_left(self) -> StreamsGroupMember:
        """The member is out of the group."""
        if self.leaves_stale:
            return evolve(self, state=StreamsMemberState.STALE)._lose_tasks()
        return evolve(self, state=StreamsMemberState.UNSUBSCRIBED)

    def on_response(self, response: Mapping[str, Any]) -> StreamsGroupMember:
        """Take the answer to a heartbeat. An answer that no longer matters changes nothing."""
        if self.state not in _SENDING:
            return self
        if code := response["errorCode"]:
            return self._on_error(code, response["errorMessage"] or "")
        if self.state is StreamsMemberState.LEAVING or response["memberEpoch"] < 0:
            return self
        statuses = response["status"]
        member = evolve(
            self,
            epoch=response["memberEpoch"],
            endpoint_epoch=response["endpointInformationEpoch"],
            statuses=self.statuses
            if statuses is None
            else tuple(Status(status["statusCode"], status["statusDetail"]) for status in statuses),
        )
        if self.state not in _TAKES_ASSIGNMENT:
            return member
        ready = all(status_rule(status["statusCode"]).group_ready for status in statuses or ())
        tasks = [response[role] for role in TASK_FIELDS]
        if None not in tasks:
            active, standby, warm_up = map(decode_tasks, tasks)
            return member._on_target(StreamsTasks(active, standby, warm_up, ready))
        if member.target is not None and member.target.group_ready != ready:
            return member._on_target(evolve(member.target, group_ready=ready))
        return member

    def _on_target(self, target: StreamsTasks) -> StreamsGroupMember:
        """Reconcile the assignment, unless it is the current one.

        While the application is revoking or taking tasks, even the current one has to be taken again afterwards.
        """
        member = evolve(self, target=target)
        if target == self.current and self.state is not StreamsMemberState.RECONCILING:
            return member
        return evolve(member, state=StreamsMemberState.RECONCILING)._reconcile()

    def _on_error(self, code: int, message: str) -> StreamsGroupMember:
        rule = error_rule(code)
        member = evolve(self, sent=None)
        if rule.reaction is HeartbeatErrorReaction.REJOIN:
            return member._on_fenced()
        if rule.reaction is HeartbeatErrorReaction.FAIL:
            text = f"the group coordinator has refused a heartbeat: {rule.name}: {message}"
            hint = HINTS.get(code) if self.epoch == JOIN_GROUP_MEMBER_EPOCH else None
            return member.on_failure(MemberFailure(rule.java_exception, f"{text} ({hint})" if hint else text))
        return member

    def on_disconnect(self) -> StreamsGroupMember:
        """The last heartbeat was not answered: the next one has all owned tasks."""
        return evolve(self, sent=None)

    def _on_fenced(self) -> StreamsGroupMember:
        if self.state in _LEAVING:
            return evolve(self, epoch=self.profile.leave_epoch)._on_left()
        fenced = evolve(self, state=StreamsMemberState.FENCED, epoch=JOIN_GROUP_MEMBER_EPOCH, statuses=())
        return fenced._lose_tasks()

    # -- reconciliation -----------------------------------------------------------------------------------------------

    def _reconcile(self) -> StreamsGroupMember:
        """Make the application revoke the tasks that it must not keep, otherwise take the target."""
        if self.callbacks:
            return self
        assert self.target is not None, "the reason for the state RECONCILING"
        owned = self.current.active if self.current else frozenset()
        if revoked := owned - self.target.active:
            return self._enqueue(Callback(CallbackKind.REVOKE, StreamsTasks(revoked)))
        return self._enqueue(Callback(CallbackKind.ASSIGN, self.target))

    def _settle(self) -> StreamsGroupMember:
        """Leave the state ACKNOWLEDGING: a newer assignment may wait."""
        if self.current == self.target:
            return evolve(self, state=StreamsMemberState.STABLE)
        return evolve(self, state=StreamsMemberState.RECONCILING)._reconcile()

    def on_callback_completed(self) -> StreamsGroupMember:
        """The application has returned from ``callbacks[0]``, also with an exception."""
        done, *rest = self.callbacks
        member = evolve(self, callbacks=tuple(rest))
        return _COMPLETIONS[done.kind](member, done)

    def _on_revoked(self, done: Callback) -> StreamsGroupMember:
        """Note what is revoked; take the newest target, which may ask for more tasks to be revoked first."""
        if self.state is not StreamsMemberState.RECONCILING or self.current is None:
            return self
        return evolve(
            self, current=evolve(self.current, active=self.current.active - done.assignment.active)
        )._reconcile()

    def _on_assigned(self, done: Callback) -> StreamsGroupMember:
        if self.state is not StreamsMemberState.RECONCILING:
            return self
        return evolve(self, current=done.assignment, state=StreamsMemberState.ACKNOWLEDGING)

    def _on_released(self, _: Callback) -> StreamsGroupMember:
        member = self._without_tasks()
        return member._leave_now() if self.state is StreamsMemberState.PREPARE_LEAVING else member

    def _on_lost(self, _: Callback) -> StreamsGroupMember:
        member = self._without_tasks()
        # A stale member drops its tasks when the application polls again, which is the time to rejoin.
        return member._join() if self.state in _REJOINING else member

    def _lose_tasks(self) -> StreamsGroupMember:
        return self._enqueue(Callback(CallbackKind.LOSE))

    def _enqueue(self, callback: Callback) -> StreamsGroupMember:
        return evolve(self, callbacks=(*self.callbacks, callback))

    def _without_tasks(self) -> StreamsGroupMember:
        return evolve(self, target=None, current=None)

    # -- what the application does ------------------------------------------------------------------------------------

    def subscribe(self) -> StreamsGroupMember:
        """Join the group with the next heartbeat."""
        return self._join() if self.state is StreamsMemberState.UNSUBSCRIBED else self

    def _join(self) -> StreamsGroupMember:
        return evolve(
            self,
            state=StreamsMemberState.JOINING,
            epoch=JOIN_GROUP_MEMBER_EPOCH,
            sent=None,
            statuses=(),
            leaves_stale=False,
        )

    def leave(self) -> StreamsGroupMember:
        """Revoke all tasks, then leave the group."""
        if self.state in _REJOINING:
            return evolve(self, state=StreamsMemberState.UNSUBSCRIBED)
        if self.leaves_stale:  # not sent yet
            return evolve(self, leaves_stale=False)._lose_tasks()
        if self.state not in _SENDING or self.state in _LEAVING:
            return self
        if self.state is StreamsMemberState.JOINING:  # it owns nothing
            return self._leave_now()
        return evolve(self, state=StreamsMemberState.PREPARE_LEAVING)._enqueue(Callback(CallbackKind.RELEASE))

    def _leave_now(self) -> StreamsGroupMember:
        return evolve(self, state=StreamsMemberState.LEAVING, epoch=self.profile.leave_epoch, sent=None)

    def on_poll_expired(self) -> StreamsGroupMember:
        """Leave at once, as the application has not polled for ``max.poll.interval.ms``; it drops the tasks later.

        The member rejoins when the application has done that, because it does so in a poll.
        """
        if self.state not in _SENDING or self.state in _LEAVING:
            return self
        return evolve(self, leaves_stale=True)._leave_now()

    def request_shutdown(self) -> StreamsGroupMember:
        """Make the next heartbeats request the shutdown of the application."""
        return evolve(self, shuts_down_application=True)

    def on_failure(self, failure: MemberFailure) -> StreamsGroupMember:
        """End the membership; the first failure counts."""
        if self.state is StreamsMemberState.FATAL:
            return self
        member = evolve(self, state=StreamsMemberState.FATAL, failure=failure)
        if self.state is StreamsMemberState.UNSUBSCRIBED or self.state in _LEAVING:
            return member
        return member._lose_tasks()


_COMPLETIONS: Final = {
    CallbackKind.REVOKE: StreamsGroupMember._on_revoked,
    CallbackKind.ASSIGN: StreamsGroupMember._on_assigned,
    CallbackKind.RELEASE: StreamsGroupMember._on_released,
    CallbackKind.LOSE: StreamsGroupMember._on_lost,
}

_UNCHANGED: Final[Mapping[str, Any]] = {
    "rackId": None,
    "rebalanceTimeoutMs": -1,
    "topology": None,
    **dict.fromkeys(TASK_FIELDS),
    "processId": None,
    "userEndpoint": None,
    "clientTags": None,
    "taskOffsets": None,
    "taskEndOffsets": None,
}


def _joining_fields(profile: MemberProfile) -> dict[str, Any]:
    host_port = profile.endpoint
    return {
        "topology": profile.topology,
        "rebalanceTimeoutMs": profile.rebalance_timeout_ms,
        "processId": profile.process_id,
        "userEndpoint": None if host_port is None else dict(zip(("host", "port"), host_port, strict=True)),
        "rackId": profile.rack_id,
        "clientTags": [{"key": key, "value": value} for key, value in profile.client_tags],
        **StreamsTasks().fields(),
    }
