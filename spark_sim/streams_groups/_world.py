"""The state of a simulated streams group: the coordinator's group, the members, and messages that are late."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups._coordinator import GroupConfig, HeartbeatRequest
from streams_assignor.spark_sim.streams_groups._members import SimulatedThread
from streams_assignor.spark_sim.streams_groups.group import NO_GROUP, Record, StreamsGroup
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.scenario import GroupScenario
from streams_assignor.streams_group import StreamsGroupMember


@frozen
class LateCommit:
    """A commit that is on its way."""

    member_id: str
    epoch: int
    tasks: frozenset[TaskId]
    overtaken: frozenset[TaskId] = frozenset()
    """Those of its tasks that another member has taken since."""


@frozen
class World:
    """One moment of a simulation."""

    config: GroupConfig
    members: Mapping[str, SimulatedThread]
    group: StreamsGroup = NO_GROUP
    late: tuple[HeartbeatRequest, ...] = ()
    """Heartbeats that their members no longer wait for and that can still reach the coordinator."""
    commits: tuple[LateCommit, ...] = ()
    next_release: str = ""
    """The release of the brokers that the group can move to."""
    overwritten: tuple[tuple[str, str], ...] = ()
    """Members whose commits were accepted for a task that another member had taken since, with the reason."""
    classic_members: int = 0
    """Members of the classic protocol; while there are any, the group is none of the streams protocol."""
    failed: tuple[tuple[str, str], ...] = ()
    """Members that have failed, with the reason."""

    def with_member(self, member: SimulatedThread) -> World:
        """Replace a member."""
        return evolve(self, members={**self.members, member.name: member})

    def with_records(self, records: tuple[Record, ...]) -> World:
        """Replay what the coordinator has written."""
        return evolve(self, group=self.group.replay(records)) if records else self

    def free_member_id(self, name: str) -> str:
        """Return a member id that nothing refers to; Java draws a random one."""
        used = {*self.group.members, *(request.member_id for request in self.late)}
        used |= {commit.member_id for commit in self.commits}
        used |= {member.member_id for member in self.members.values()}
        return next(
            member_id
            for member_id in (f"{name}#{number}" for number in range(1, len(used) + 2))
            if member_id not in used
        )

    def member_with_id(self, member_id: str) -> SimulatedThread | None:
        """Return the running member with a member id; None for an earlier start of a member."""
        return next((member for member in self.members.values() if member.member_id == member_id), None)

    @cached_property
    def key(self) -> Hashable:
        """A key of the state that is equal for states with other epochs in the same order.

        Epochs are compared and counted up, never used otherwise, so only their differences matter.
        """
        base = min(filter(_is_positive, self._epochs()), default=1) - 1

        def shift(epoch: int) -> int:
            return epoch - base if epoch > 0 else epoch

        group = self.group
        return (
            tuple(_member_key(member, shift) for member in self.members.values()),
            shift(group.epoch),
            shift(group.assignment_epoch),
            group.topology_epoch,
            frozenset((name, _group_member_key(member, shift)) for name, member in group.members.items()),
            frozenset(group.targets.items()),
            frozenset((evolve(request, member_epoch=shift(request.member_epoch))) for request in self.late),
            frozenset((evolve(commit, epoch=shift(commit.epoch))) for commit in self.commits),
            self.config.rules.release,
            self.classic_members,
            self.failed,
            self.overwritten,
        )

    def _epochs(self) -> list[int]:
        group = self.group
        epochs = [group.epoch, group.assignment_epoch, *(request.member_epoch for request in self.late)]
        epochs += [commit.epoch for commit in self.commits]
        for member in group.members.values():
            epochs += [member.epoch, member.previous_epoch, *(epoch for _, epoch in member.assignment_epochs)]
        for thread in self.members.values():
            epochs.append(thread.client.epoch if thread.client else 0)
            epochs.append(thread.response.member_epoch if thread.response else 0)
        return epochs


def initial_world(scenario: GroupScenario) -> World:
    """Return the group of a scenario before its first step."""
    config = GroupConfig(scenario.topology, scenario.num_standby_replicas, rules_of(scenario.coordinator))
    members = {
        name: SimulatedThread(name, release, is_static=name in scenario.static_members)
        for name, release in scenario.members
    }
    return World(config, members, classic_members=scenario.classic_members, next_release=scenario.next_coordinator)


def _is_positive(epoch: int) -> bool:
    return epoch > 0


def _member_key(member: SimulatedThread, shift: Any) -> tuple[Any, ...]:
    response = member.response and evolve(member.response, member_epoch=shift(member.response.member_epoch))
    return (member.topology_epoch, member.restarts, response, member.client and _client_key(member.client, shift))


def _client_key(client: StreamsGroupMember, shift: Any) -> tuple[Any, ...]:
    return (
        client.profile.member_id,
        client.state,
        shift(client.epoch),
        client.target,
        client.current,
        client.callbacks,
        client.sent,
        client.leaves_stale,
    )


def _group_member_key(member: Any, shift: Any) -> tuple[Any, ...]:
    return (
        member.process_id,
        member.topology_epoch,
        shift(member.epoch),
        shift(member.previous_epoch),
        member.state.name,
        member.assigned,
        member.pending_revocation,
        frozenset((task, shift(epoch)) for task, epoch in member.assignment_epochs),
    )
