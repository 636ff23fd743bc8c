"""A coordinator or a member that is wrong in one place: the sweep finds it, or a test whose name says what is wrong."""

import __future__

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from textwrap import dedent
from typing import Any

import pytest
from attrs import frozen

from streams_assignor.spark_sim.streams_groups import _coordinator, _reconciliation
from streams_assignor.spark_sim.streams_groups.group import CoordinatorMember, StreamsGroup
from streams_assignor.spark_sim.streams_groups.properties import (
    EVERY_TASK_OWNED,
    NO_LATE_COMMIT,
    NO_MEMBER_FAILS,
    NO_MEMBER_WAITS,
    REBALANCING_TERMINATES,
    SINGLE_COMMITTER,
    SINGLE_OWNER,
    STANDBYS_AS_CONFIGURED,
    STATIC_RETURNS,
    TARGET_COMPLETE,
)
from streams_assignor.spark_sim.sweep.search_units import streams_units
from streams_assignor.streams_group import MemberProfile
from streams_assignor.streams_group import StreamsGroupMember as Member
from tests.assignor.streams_group import test_member
from tests.spark_sim.streams_groups import test_group, test_reconciliation, test_scenario

UNITS = {unit.key: unit for unit in streams_units()}
FAILOVER, LINGER = "failover-fixed-4.4.0-False", "linger-fixed-4.4.0-False"
STATIC = "failover-a-static-member-restarts-fixed-4.4.0-False"
EPOCHS = test_group.test_a_member_whose_epoch_is_wrong_is_fenced
COMMITS = test_group.test_a_commit_of_an_older_epoch_is_accepted_for_tasks_assigned_before_it
INSTANCES = test_group.test_an_instance_id_has_one_member_until_that_one_is_away
AWAY = test_group.test_a_static_member_that_is_away_holds_its_tasks_and_nothing_that_it_was_to_revoke
RETURNS = test_scenario.test_a_static_member_returns_to_its_tasks_without_an_epoch
ROLES = test_reconciliation.test_since_4_4_a_member_changes_the_role_of_a_task_that_it_has


@frozen
class Mutation:
    """One place in which the code is wrong."""

    function: Any
    right: str
    wrong: str
    found_by: tuple[str, str | None] | Callable[[], Any]
    """A search of the sweep, and the property that it sees violated, None if it misses its finding; or a test."""


MUTATIONS = {
    "a member that leaves starts no epoch": Mutation(
        _coordinator.fence_member, "group.epoch + 1", "group.epoch", ("S6-fixed-fixed-True", TARGET_COMPLETE)
    ),
    "an old epoch is not fenced": Mutation(
        _coordinator._check_epoch, "epoch > member.epoch or not answer_was_lost", "epoch > member.epoch", EPOCHS
    ),
    "every epoch before is taken for the previous one": Mutation(
        _coordinator._check_epoch, "epoch == member.previous_epoch", "epoch <= member.previous_epoch", EPOCHS
    ),
    "a lost answer explains tasks that the member does not have": Mutation(
        _coordinator._check_epoch, "request.owned <= member.assigned", "True", EPOCHS
    ),
    "a lost answer explains nothing": Mutation(
        _coordinator._check_epoch, "answer_was_lost = epoch", "answer_was_lost = False and epoch", EPOCHS
    ),
    "a newer epoch is not fenced": Mutation(
        _coordinator._check_epoch,
        "epoch > member.epoch or not answer_was_lost",
        "epoch <= member.epoch and not answer_was_lost",
        EPOCHS,
    ),
    "a member cannot join again": Mutation(
        _coordinator._check_epoch, "request.joins and rules.rejoins_with_epoch_0", "False", EPOCHS
    ),
    "a new epoch has the old target": Mutation(
        _coordinator._heartbeat,
        "group.assignment_epoch < epoch",
        "group.assignment_epoch + 1 < epoch",
        (FAILOVER, EVERY_TASK_OWNED),
    ),
    "a target is written without its epoch": Mutation(
        _coordinator._target_records,
        "return [*changed, Record(RecordKind.TARGET_ASSIGNMENT_METADATA, value=epoch)]",
        "return changed",
        test_scenario.test_a_return_with_another_target_is_a_violation,
    ),
    "a member that waits is not looked at again": Mutation(
        _coordinator._heartbeat,
        "not updated.is_reconciled_to(epoch)",
        "updated.epoch != epoch",
        (FAILOVER, NO_MEMBER_WAITS),
    ),
    "every heartbeat confirms a revocation": Mutation(
        _coordinator._heartbeat, "target, epoch, request.owned,", "target, epoch, NO_TASKS,", (FAILOVER, SINGLE_OWNER)
    ),
    "no heartbeat confirms a revocation": Mutation(
        _coordinator._heartbeat,
        "target, epoch, request.owned,",
        "target, epoch, None,",
        (FAILOVER, REBALANCING_TERMINATES),
    ),
    "an answer has no assignment": Mutation(
        _coordinator._heartbeat, "or reconciled.assigned != member.assigned", "", (FAILOVER, NO_MEMBER_WAITS)
    ),
    "a member joins without an epoch": Mutation(
        _coordinator._heartbeat,
        "bool(joins or changes_topology)",
        "bool(changes_topology)",
        (FAILOVER, STANDBYS_AS_CONFIGURED),
    ),
    "an unknown member goes on": Mutation(
        _coordinator._known_member, "member is None and not request.joins", "False", EPOCHS
    ),
    "an instance id has two members": Mutation(
        _coordinator._known_member, "member.epoch != AWAY_EPOCH", "False", ("S8-fixed-4.4.0-True", None)
    ),
    "an older member goes on with its instance id": Mutation(
        _coordinator._known_member, "member.member_id != request.member_id", "False", INSTANCES
    ),
    "a static member that leaves is not away": Mutation(
        _coordinator._away, "epoch=AWAY_EPOCH,", "", (STATIC, NO_MEMBER_FAILS)
    ),
    "a static member that is away holds what it was to revoke": Mutation(
        _coordinator._away, "pending_revocation=NO_TASKS,", "", AWAY
    ),
    "a static member that leaves loses its tasks": Mutation(
        _coordinator._away, "epoch=AWAY_EPOCH,", "epoch=AWAY_EPOCH, assigned=NO_TASKS,", AWAY
    ),
    "a static member that leaves has the epochs of its tasks": Mutation(
        _coordinator._away, "(task, 0)", "(task, member.epoch)", AWAY
    ),
    "a static member returns without its target": Mutation(
        _coordinator._returned, "group.targets.get(away.member_id, NO_TASKS)", "NO_TASKS", (STATIC, STATIC_RETURNS)
    ),
    "a static member returns beside itself": Mutation(
        _coordinator._returned, "*tombstones(away.member_id),", "", (STATIC, TARGET_COMPLETE)
    ),
    "a static member returns with the epoch of the group": Mutation(
        _coordinator._returned,
        "epoch=0, previous_epoch=0",
        "epoch=group.epoch, previous_epoch=0",
        ("crash-a-static-member-restarts-fixed-4.4.0-False", NO_MEMBER_WAITS),
    ),
    "a static member leaves for good": Mutation(
        _coordinator.heartbeat, "request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH", "False", RETURNS
    ),
    "a dynamic member leaves for a while": Mutation(
        _coordinator.heartbeat,
        "request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH",
        "True",
        test_scenario.test_a_dynamic_member_that_leaves_is_gone,
    ),
    "static members are let in before 4.4": Mutation(
        _coordinator.heartbeat, "request.instance_id is not None and", "False and", INSTANCES
    ),
    "a commit of any epoch is accepted": Mutation(
        _coordinator.accepts_commit,
        "return rules.has_assignment_epochs and",
        "return True or",
        ("delay-commit-fixed-4.4.0-False", NO_LATE_COMMIT),
    ),
    "a commit of a stranger is accepted": Mutation(
        _coordinator.accepts_commit,
        "if member is None or member_epoch > member.epoch:\n        return False",
        "if member is None:\n        return True",
        (LINGER, SINGLE_COMMITTER),
    ),
    "a commit of a newer epoch is accepted": Mutation(
        _coordinator.accepts_commit, "member is None or member_epoch > member.epoch", "member is None", COMMITS
    ),
    "a commit older than its task is accepted": Mutation(
        _coordinator.accepts_commit, "member_epoch >= assigned_in", "True", COMMITS
    ),
    "no commit of an older epoch is accepted": Mutation(
        _coordinator.accepts_commit, "return rules.has_assignment_epochs and", "return False and", COMMITS
    ),
    "a new topology is taken": Mutation(
        _coordinator._topology_epoch,
        "request.topology_epoch > group.topology_epoch",
        "False",
        ("S6-fixed-fixed-True", None),
    ),
    "nobody is told that its topology is old": Mutation(
        _coordinator._heartbeat,
        "updated.topology_epoch < group.topology_epoch",
        "False",
        test_group.test_a_member_whose_topology_is_older_than_that_of_the_group_is_told_so,
    ),
    "the target has no room for a new member": Mutation(
        _coordinator.target_assignment,
        "{**group.members, updated.member_id: updated}",
        "(group.members or {updated.member_id: updated})",
        (FAILOVER, STANDBYS_AS_CONFIGURED),
    ),
    "an active task is also a standby": Mutation(
        _coordinator._target,
        "if doubles_tasks else standby",
        "if True else standby",
        ("S5-4.3.1-4.4.0-False", NO_MEMBER_FAILS),
    ),
    "a standby is forgotten": Mutation(
        _coordinator._target,
        "if doubles_tasks else standby",
        "if doubles_tasks else NO_TASKS.standby",
        test_scenario.test_a_group_settles_with_every_task_and_its_standbys,
    ),
    "tasks are confirmed that are not revoked": Mutation(
        _reconciliation.reconcile,
        "owned is None or owned.overlaps(member.pending_revocation)",
        "owned is None",
        ("lose-response-fixed-4.4.0-False", SINGLE_OWNER),
    ),
    "a revocation starts no epoch": Mutation(
        _reconciliation.reconcile,
        "epoch += 1",
        "epoch += 0",
        partial(
            test_reconciliation.test_a_member_that_has_revoked_is_in_the_next_epoch_also_if_it_has_to_revoke_more,
            "4.4.0",
        ),
    ),
    "nothing is revoked": Mutation(
        _reconciliation.reconcile, "if revoked and (", "if False and (", (FAILOVER, SINGLE_OWNER)
    ),
    "a task is given before its owner has revoked it": Mutation(
        _reconciliation._released,
        "wanted.active - group.active_tasks - replicas",
        "wanted.active - replicas",
        (FAILOVER, SINGLE_OWNER),
    ),
    "an active task is given beside its standby": Mutation(
        _reconciliation._released,
        "wanted.active - group.active_tasks - replicas",
        "wanted.active - group.active_tasks",
        ROLES,
    ),
    "a standby is given beside the active task": Mutation(
        _reconciliation._released, "wanted.standby - others.active - replicas", "wanted.standby - replicas", ROLES
    ),
    "a member that waits counts as stable": Mutation(
        _reconciliation.reconcile, "if free == wanted", "if True", (FAILOVER, NO_MEMBER_WAITS)
    ),
    "what a member is to revoke is free": Mutation(
        _reconciliation._with_tasks,
        "pending_revocation=pending_revocation",
        "pending_revocation=NO_TASKS",
        (FAILOVER, SINGLE_OWNER),
    ),
    "an epoch makes every task a new one": Mutation(
        _reconciliation._with_tasks, "epochs.get(task, target_epoch)", "target_epoch", COMMITS
    ),
    "a task is as old as the group": Mutation(
        _reconciliation._with_tasks, "epochs.get(task, target_epoch)", "0", COMMITS
    ),
    "a promoted standby is given up": Mutation(
        _reconciliation.reconcile, "kept |= promoted - ", "kept |= NO_TASKS - ", ROLES
    ),
    "a member keeps only what is new": Mutation(
        _reconciliation.reconcile, "kept | free, NO_TASKS", "free, NO_TASKS", (FAILOVER, NO_MEMBER_WAITS)
    ),
    "others get what a member has still to revoke": Mutation(
        CoordinatorMember.held.fget,
        "self.assigned | self.pending_revocation",
        "self.assigned",
        (FAILOVER, SINGLE_OWNER),
    ),
    "a failover forgets revocations": Mutation(
        StreamsGroup.records.fget,
        "Record(RecordKind.CURRENT_ASSIGNMENT, name, member)",
        "Record(RecordKind.CURRENT_ASSIGNMENT, name, evolve(member, pending_revocation=NO_TASKS))",
        (FAILOVER, SINGLE_OWNER),
    ),
    "a failover forgets targets": Mutation(
        StreamsGroup.records.fget,
        "for name, tasks in self.targets.items()",
        "for name, tasks in ()",
        (FAILOVER, NO_MEMBER_WAITS),
    ),
    "a failover forgets the topology": Mutation(
        StreamsGroup.records.fget, "self.topology_epoch is not None", "False", (STATIC, STATIC_RETURNS)
    ),
    "a member reports its tasks while it takes an assignment": Mutation(
        Member._reports_tasks.fget,
        "self.target in (None, self.current) and not self.callbacks",
        "True",
        ("S1-fixed-4.4.0-False", SINGLE_OWNER),
    ),
    "a member takes tasks before it revokes": Mutation(
        Member._reconcile, "owned - self.target.active", "owned - owned", test_member.test_it_revokes_before_it_takes
    ),
    "a fenced member keeps its tasks": Mutation(
        Member._on_fenced, "return fenced._lose_tasks()", "return fenced._join()", (LINGER, SINGLE_OWNER)
    ),
    "a fenced member does not join again": Mutation(
        Member._on_lost, "member._join() if self.state in _REJOINING else member", "member", (LINGER, NO_MEMBER_WAITS)
    ),
    "a lost answer changes nothing": Mutation(
        Member.on_disconnect, "evolve(self, sent=None)", "self", ("S2-4.3.1-fixed-False", NO_MEMBER_WAITS)
    ),
    "a member does not confirm": Mutation(
        Member._on_assigned,
        "StreamsMemberState.ACKNOWLEDGING",
        "StreamsMemberState.STABLE",
        (FAILOVER, NO_MEMBER_WAITS),
    ),
    "a member has no epoch": Mutation(
        Member.on_response, 'epoch=response["memberEpoch"]', "epoch=self.epoch", (LINGER, SINGLE_OWNER)
    ),
    "a member goes on with tasks that it has revoked": Mutation(
        Member._on_revoked,
        "self.current.active - done.assignment.active",
        "self.current.active",
        (FAILOVER, REBALANCING_TERMINATES),
    ),
    "a member that does not poll stays": Mutation(
        Member.on_poll_expired,
        "evolve(self, leaves_stale=True)._leave_now()",
        "self",
        test_member.test_it_leaves_before_its_tasks_are_dropped_and_rejoins_after_it,
    ),
    "a member takes the older of two assignments": Mutation(
        Member._on_target,
        "evolve(self, target=target)",
        "evolve(self, target=self.target or target)",
        test_scenario.test_a_group_settles_with_every_task_and_its_standbys,
    ),
    "a static member leaves like a dynamic one": Mutation(
        MemberProfile.leave_epoch.fget, "if self.instance_id is None else LEAVE_GROUP_STATIC_MEMBER_EPOCH", "", RETURNS
    ),
    "a member leaves without revoking": Mutation(
        Member.leave,
        "evolve(self, state=StreamsMemberState.PREPARE_LEAVING)._enqueue(Callback(CallbackKind.RELEASE))",
        "self._leave_now()",
        test_member.test_it_releases_its_tasks_before_it_leaves,
    ),
}
IN_GATE = {
    "a member that leaves starts no epoch",
    "a new epoch has the old target",
    "a commit of any epoch is accepted",
    "an active task is also a standby",
    "an old epoch is not fenced",
    "a static member leaves for good",
    "a task is given before its owner has revoked it",
    "a member takes tasks before it revokes",
}
"""One for each kind of fault."""


@contextmanager
def mutated(mutation: Mutation) -> Iterator[None]:
    """Replace the code of a function, wherever it was imported; target assignments of before are forgotten."""
    function, right = mutation.function, mutation.function.__code__
    source = dedent(inspect.getsource(function)).removeprefix("@property\n")
    assert 1 == source.count(mutation.right)
    flags, made = __future__.annotations.compiler_flag, dict[str, Any]()
    exec(
        compile(source.replace(mutation.right, mutation.wrong), "<mutation>", "exec", flags), function.__globals__, made
    )
    _coordinator._assign.cache_clear()
    function.__code__ = made[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = right
        _coordinator._assign.cache_clear()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in IN_GATE else [pytest.mark.slow]) for name in MUTATIONS]
)
def test_a_mutation_is_found(name: str) -> None:
    found_by = MUTATIONS[name].found_by
    with mutated(MUTATIONS[name]):
        if callable(found_by):
            with pytest.raises((AssertionError, ExceptionGroup)):
                found_by()
        else:
            key, violated = found_by
            result = UNITS[key].result()

            assert not result.as_expected
            assert violated == result.property
