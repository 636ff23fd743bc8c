"""The lock, with a coordinator that is a few dictionaries; tests/lab/integration/test_roll.py has a real one."""

import time
from threading import Event
from types import SimpleNamespace

import pytest

from streams_assignor.clients.kafka_python import group_lock
from streams_assignor.clients.kafka_python.group_lock import GroupLock, LockHeld, LockLost
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable

UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, GROUP_AUTHORIZATION_FAILED, MEMBER_ID_REQUIRED = 25, 27, 30, 79


class Coordinator:
    """One group: the first member leads as long as it is there."""

    def __init__(self):
        self.members = []
        self.given = 0
        self.pending = set()
        self.fails = {}
        self.beats = Event()

    def send(self, request_type, **fields):
        name = request_type.__name__
        if name in self.fails and (answer := self.fails[name]()):
            if isinstance(answer, Exception):
                raise answer
            return SimpleNamespace(error_code=answer, error_message="")
        return getattr(self, name)(fields)

    def JoinGroupRequest(self, fields):
        member = fields["member_id"]
        if not member:
            self.given += 1
            self.pending.add(f"m{self.given}")
            return SimpleNamespace(error_code=MEMBER_ID_REQUIRED, member_id=f"m{self.given}")
        if member not in self.members:
            if member not in self.pending:
                return SimpleNamespace(error_code=UNKNOWN_MEMBER_ID, error_message="")
            self.pending.remove(member)
            self.members.append(member)
        members = [SimpleNamespace(member_id=name) for name in self.members]
        leader = self.members[0]
        return SimpleNamespace(error_code=0, member_id=member, generation_id=1, leader=leader, members=members)

    def SyncGroupRequest(self, _fields):
        return SimpleNamespace(error_code=0)

    def HeartbeatRequest(self, fields):
        self.beats.set()
        return SimpleNamespace(error_code=0 if fields["member_id"] in self.members else UNKNOWN_MEMBER_ID)

    def LeaveGroupRequest(self, fields):
        if fields["member_id"] in self.members:
            self.members.remove(fields["member_id"])
        return SimpleNamespace(error_code=0)


@pytest.fixture(name="coordinator")
def fixture_coordinator(monkeypatch):
    coordinator = Coordinator()
    monkeypatch.setattr(
        GroupLock, "_request", lambda _self, kind, _deadline, **fields: coordinator.send(kind, **fields)
    )
    for name in ("_HEARTBEAT_SECONDS", "_RETRY_SECONDS"):
        monkeypatch.setattr(group_lock, name, 0.01)
    return coordinator


def lock():
    return GroupLock("h:1", {}, "app-roll-lock", b"me")


def until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def once(answer):
    """Give an answer one time, and then what the coordinator says."""
    answers = [answer]
    return lambda: answers.pop() if answers else None


def test_it_is_held_until_the_end_of_the_block(coordinator):
    with lock() as held:
        held.check()
        assert ["m1"] == coordinator.members
        assert coordinator.beats.wait(60)
        held.check()
    assert [] == coordinator.members


def test_another_process_is_kept_out_and_leaves(coordinator):
    with lock() as first:
        with pytest.raises(LockHeld, match="another process holds the lock app-roll-lock"), lock():
            pass
        assert ["m1"] == coordinator.members
        first.check()


def test_it_rejoins_when_another_process_has_joined(coordinator):
    with lock() as held:
        joined = Event()
        coordinator.fails["HeartbeatRequest"] = once(REBALANCE_IN_PROGRESS)
        coordinator.fails["JoinGroupRequest"] = lambda: joined.set()
        assert joined.wait(60)
        held.check()


def test_a_lock_that_was_forgotten_is_taken_again(coordinator):
    with lock() as held:
        coordinator.members.clear()
        until(lambda: coordinator.members == ["m2"])
        held.check()


def test_a_lock_that_another_process_has_taken_is_lost(coordinator):
    with lock() as held:
        coordinator.members[:] = ["other"]
        until(lambda: held._taken)
        with pytest.raises(LockLost, match="another process holds"):
            held.check()


def test_a_lock_that_was_taken_while_the_machine_was_suspended_is_lost_before_the_next_heartbeat(
    coordinator, monkeypatch
):
    """No clock had run meanwhile: for up to two seconds it was said to be held, and a command was run."""
    monkeypatch.setattr(group_lock, "_HEARTBEAT_SECONDS", 3600.0)
    with lock() as held:
        held.check()
        coordinator.members[:] = ["other"]
        with pytest.raises(LockLost, match="another process holds"):
            held.check()


def test_a_coordinator_that_is_silent_for_a_while_loses_nothing(coordinator):
    with lock() as held:
        coordinator.fails["HeartbeatRequest"] = once(Unreachable("h:1: connection refused"))
        coordinator.beats.clear()
        assert coordinator.beats.wait(60)
        held.check()


def test_a_coordinator_that_is_silent_for_a_session_loses_the_lock(coordinator, monkeypatch):
    monkeypatch.setattr(group_lock, "SESSION_SECONDS", 0.05)
    monkeypatch.setattr(group_lock, "_REGAIN_SECONDS", 0.05)
    with lock() as held:
        for name in ("HeartbeatRequest", "JoinGroupRequest"):
            coordinator.fails[name] = lambda: Unreachable("h:1: connection refused")
        until(lambda: held._lost)
        with pytest.raises(LockLost, match=r"connection refused|no coordinator has answered"):
            held.check()


def test_a_coordinator_that_has_restarted_and_counts_this_process_still_gives_it_the_lock_again(
    coordinator, monkeypatch
):
    """A roll of the one broker ended because its own former member held the lock."""
    monkeypatch.setattr(group_lock, "SESSION_SECONDS", 0.05)
    with lock() as held:
        for name in ("HeartbeatRequest", "JoinGroupRequest"):
            coordinator.fails[name] = lambda: Unreachable("h:1: connection refused")
        until(lambda: held._lost)
        coordinator.fails.clear()
        held.check()
        assert ["m1"] == coordinator.members


def test_what_is_not_allowed_is_said(coordinator):
    coordinator.fails["JoinGroupRequest"] = lambda: GROUP_AUTHORIZATION_FAILED

    with pytest.raises(ApiError, match="not authorized"), lock():
        pass


def test_a_join_is_tried_again_while_the_coordinator_moves(coordinator):
    coordinator.fails["JoinGroupRequest"] = once(16)
    coordinator.fails["SyncGroupRequest"] = once(REBALANCE_IN_PROGRESS)

    with lock() as held:
        held.check()


def test_an_end_that_the_coordinator_does_not_hear_of_is_one(coordinator):
    with lock():
        coordinator.fails["LeaveGroupRequest"] = lambda: Unreachable("h:1: connection refused")
