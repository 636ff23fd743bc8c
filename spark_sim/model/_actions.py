"""The protocol actions of a simulated group: which are enabled, why others are not, and what each changes.

They are what members and the coordinator do by themselves: JoinGroup, the leader's assignment, taking a SyncGroup
response, and the two timeouts. Each is atomic. Eager members give up their tasks when they join; cooperative ones
(KIP-429) keep them until an assignment revokes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor import FatalError, ReceivedAssignment
from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.probing import RejoinMode
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.model._group_state import GroupState, offset_sums
from streams_assignor.spark_sim.model.coordinator import SESSION_TIMEOUT_MS, GroupPhase
from streams_assignor.spark_sim.model.events import format_tasks
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.processes import complete_join_phase, fail_member
from streams_assignor.spark_sim.model.properties import check_always, check_assignment
from streams_assignor.spark_sim.model.scenario import GroupAction, ScenarioError


def enabled_actions(state: GroupState) -> tuple[GroupAction, ...]:
    """List the protocol actions that are due: the enabled ones, except JoinGroup of a member without a reason."""
    return tuple(
        GroupAction(verb, name)
        for verb, action in ACTIONS.items()
        for name, member in state.members.items()
        if action.is_due(state, member) and not why_disabled(state, GroupAction(verb, name))
    )


def why_disabled(state: GroupState, action: GroupAction) -> str:
    """Return why an action is disabled; "" if it is enabled."""
    member, protocol_action = state.members[action.member], ACTIONS[action.verb]
    if protocol_action.by_member and not member.running:
        return f"{action.member} does not run"
    return protocol_action.why_disabled(state, member)


def apply(state: GroupState, action: GroupAction) -> None:
    """Take an action; ``ScenarioError`` if it is disabled."""
    if why := why_disabled(state, action):
        others = ", ".join(map(str, enabled_actions(state))) or "nothing"
        raise ScenarioError(f"expected one of the moves that are possible ({others}), got {action}: {why}")
    ACTIONS[action.verb].apply(state, state.members[action.member])
    complete_join_phase(state)


def join(state: GroupState, member: SimulatedMember) -> None:
    """Send JoinGroup; a member that gets the current generation back keeps its reason to rejoin."""
    if not member.cooperative:
        member.owned_tasks = frozenset()
    member.rejoin_needed = False
    try:
        subscription = member.assignor.subscription(offset_sums=offset_sums(state, member))
    except FatalError as error:
        fail_member(state, member, error)
        return
    member.member_id = state.coordinator.join(member.name, member.member_id, subscription, member.group_instance_id)
    state.log("joined", member.name, member.assignor.used_version, member.assignor.supported_version)
    if member.member_id in state.coordinator.pending_sync_responses:
        state.log("unchanged", member.name)
    else:
        member.rejoin_reason = None


def lead(state: GroupState, member: SimulatedMember) -> None:
    """Assign and send the leader's SyncGroup; the member fails if the assignor does."""
    assert member.member_id is not None
    group = state.coordinator
    subscriptions = group.subscriptions
    state.log("leads", member.name, len(subscriptions))
    cluster = evolve(state.cluster, now_ms=state.now_ms) if state.workload.lag else state.cluster
    try:
        assignments = member.assignor.assign(cluster, subscriptions)
    except FatalError as error:
        fail_member(state, member, error)
        return
    state.on_assignment_computed(member, assignments)
    group.on_leader_sync(member.member_id, group.generation, assignments)


def sync(state: GroupState, member: SimulatedMember) -> None:
    """Take the SyncGroup response and act on the assignment; ``leave_before_rejoin`` may have to follow."""
    assert member.member_id is not None
    sent, before = member.assignor.used_version, member.assignor.member
    assignment = state.coordinator.sync_response(member.member_id)
    try:
        received = member.assignor.on_assignment(assignment)
    except FatalError as error:
        fail_member(state, member, error, assignment_received=bool(assignment))
        return
    if state.has_two_topologies and (topics := _unsubscribed_topics(member, received)):
        _refuse_assignment(state, member, before, topics)
        return
    state.report_violations(check_assignment(state, member, before, received))
    revoked = member.owned_tasks - received.active.keys() if member.cooperative else frozenset()
    member.owned_tasks = frozenset(received.active)
    member.assigned_tasks = member.owned_tasks.union(received.standby)
    member.received_version = received.version
    state.version_probes += EARLIEST_PROBEABLE_VERSION <= received.version < sent
    versions = (received.version, received.supported_version)
    if received.dropped:
        state.log("dropped", member.name, *versions)
    else:
        state.log("assigned", member.name, *versions, format_tasks(received.active), format_tasks(received.standby))
    if revoked:
        state.log("revoked", member.name, format_tasks(revoked))
        member.rejoin_needed = True
    _follow_up(state, member, received)
    state.on_sync(member, assignment, received)


def _unsubscribed_topics(member: SimulatedMember, received: ReceivedAssignment) -> list[str]:
    """Return the assigned topics that a member does not subscribe to, as the leader runs another topology."""
    return sorted(
        {partition.topic for partition in received.partitions}.difference(member.assignor.topology.source_topics)
    )


def _refuse_assignment(state: GroupState, member: SimulatedMember, before: Member, topics: list[str]) -> None:
    """Do as the consumer: it keeps what it has and rejoins (since 2.4), or the member fails.

    Java: ``ConsumerCoordinator.onJoinComplete``, ``SubscriptionState.checkAssignmentMatchedSubscription``.
    """
    named = ", ".join(topics)
    if not before.behaviour.cooperative:
        why = f"the leader assigned topics that it does not subscribe to: {named}"
        fail_member(state, member, FatalError(why, "IllegalStateException"))
        return
    member.assignor.restore(before)
    state.log("not_subscribed", member.name, named)
    member.rejoin_needed = True


def _follow_up(state: GroupState, member: SimulatedMember, received: ReceivedAssignment) -> None:
    """Note that a member has to rejoin at once, or when its next probing rebalance is due."""
    later = received.rejoin_at_ms
    member.next_probing_rebalance_ms = later if later is not None and later > state.now_ms else None
    if received.rejoin is None:
        return
    member.rejoin_needed = True
    member.rejoin_reason = received.follow_up
    text = received.rejoin.name.lower().replace("_", " ")
    if received.follow_up is FollowUpReason.VERSION:
        state.log("rejoins", member.name, member.assignor.used_version, text)
    else:
        state.log("follows", member.name, received.follow_up.value if received.follow_up else "-", text)
    if received.rejoin is RejoinMode.LEAVE_AND_JOIN:
        member.leave_before_rejoin = True


def leave_before_rejoin(state: GroupState, member: SimulatedMember) -> None:
    """Unsubscribe if the assignment requires it (up to 2.5). A static member sends no LeaveGroup (KIP-345)."""
    if not member.leave_before_rejoin:
        return
    member.leave_before_rejoin = False
    if member.member_id is not None and member.group_instance_id is None:
        state.coordinator.remove_member(member.member_id)
    _lose_assignment(member)


def expire_sessions(state: GroupState, member_ids: list[str]) -> None:
    """Let the session timeout pass for orphaned member ids."""
    state.on_session_timeout()
    state.now_ms += SESSION_TIMEOUT_MS
    for member_id in member_ids:
        state.coordinator.remove_member(member_id)
        state.log("expired", member_id.rpartition("-")[0])


def expire_rebalance_timeout(state: GroupState, member: SimulatedMember) -> None:
    """Let the rebalance timeout pass for a member that has not joined: it loses its partitions."""
    assert member.member_id is not None
    state.coordinator.remove_member(member.member_id)
    state.log("rebalance_timeout", member.name)
    _lose_assignment(member)
    member.assignor.on_partitions_lost()
    member.rejoin_needed = True


def _lose_assignment(member: SimulatedMember) -> None:
    """Unsubscribe: an eager member still reports its previous tasks when it rejoins."""
    member.member_id = None
    member.owned_tasks = frozenset()
    if member.cooperative:
        member.assignor.on_partitions_lost()


# -- the table of protocol actions -----------------------------------------------------------------------------------


@frozen
class ProtocolAction:
    """A row of ``ACTIONS``."""

    why_disabled: Callable[[GroupState, SimulatedMember], str]
    """Why the action is disabled for a member; "" if it is enabled."""
    apply: Callable[[GroupState, SimulatedMember], None]
    is_due: Callable[[GroupState, SimulatedMember], bool] = lambda _state, _member: True
    """Whether the protocol takes the action if it is enabled."""
    by_member: bool = True
    """Whether the member takes the action itself, and so has to run."""


def _is_join_due(state: GroupState, member: SimulatedMember) -> bool:
    return member.rejoin_needed or state.coordinator.is_join_pending(member.member_id)


def _why_not_join(state: GroupState, member: SimulatedMember) -> str:
    group = state.coordinator
    spurious = group.phase is GroupPhase.STABLE and member.member_id in group.members
    return "" if spurious or _is_join_due(state, member) else f"{member.name} has joined"


def _why_not_lead(state: GroupState, member: SimulatedMember) -> str:
    group = state.coordinator
    if group.phase is not GroupPhase.COMPLETING_REBALANCE:
        return f"the group is {group.phase.name}, not {GroupPhase.COMPLETING_REBALANCE.name}"
    return "" if group.leader == member.member_id else f"{member.name} does not lead"


def _why_not_sync(state: GroupState, member: SimulatedMember) -> str:
    pending = member.member_id in state.coordinator.pending_sync_responses
    return "" if pending else f"{member.name} has no answer to take"


def _why_not_expire(state: GroupState, member: SimulatedMember) -> str:
    return "" if _orphaned_ids_of(state, member) else f"{member.name} has no orphaned member id"


def _why_not_late(state: GroupState, member: SimulatedMember) -> str:
    pending = state.coordinator.is_join_pending(member.member_id)
    return "" if pending else f"the group does not wait for JoinGroup of {member.name}"


def _take(state: GroupState, member: SimulatedMember) -> None:
    sync(state, member)
    state.report_violations(check_always(state))
    leave_before_rejoin(state, member)


def _expire(state: GroupState, member: SimulatedMember) -> None:
    expire_sessions(state, _orphaned_ids_of(state, member)[:1])


def _orphaned_ids_of(state: GroupState, member: SimulatedMember) -> list[str]:
    return [member_id for member_id in state.orphaned_ids if member_id.rpartition("-")[0] == member.name]


ACTIONS: Final[Mapping[str, ProtocolAction]] = {
    "join": ProtocolAction(_why_not_join, join, is_due=_is_join_due),
    "lead": ProtocolAction(_why_not_lead, lead),
    "take": ProtocolAction(_why_not_sync, _take),
    "expire": ProtocolAction(_why_not_expire, _expire, by_member=False),
    "late": ProtocolAction(_why_not_late, expire_rebalance_timeout),
}
"""The protocol action of each verb."""
