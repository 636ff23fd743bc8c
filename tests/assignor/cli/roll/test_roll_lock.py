"""The texts about the lock of a roll; tests/lab/integration/test_roll_lock.py has real ones."""

import json

import click
import pytest

from streams_assignor.cli.roll import _lock
from streams_assignor.cli.roll._lock import AlreadyRolled, cluster_lock
from streams_assignor.clients.kafka_python import group_lock
from streams_assignor.groups.described_group import DescribedGroup, DescribedGroupMember
from streams_assignor.upgrade.cluster.client.errors import ApiError


def member(pid, subscription=None):
    who = json.dumps({"pid": pid, "user": "me", "host": f"host-{pid}"}).encode()
    return DescribedGroupMember(
        member_id=f"m{pid}",
        client_id="lock",
        host="/10.0.0.1",
        subscription=who if subscription is None else subscription,
    )


class Held:
    """A cluster in which a roll has the lock."""

    def __init__(self, *members, state="Stable"):
        self.members = members
        self.state = state

    def group(self, name):
        return DescribedGroup(name=name, state=self.state, members=self.members)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([member(7)], "process 7 of me on host-7 holds it"),
        ([member(8), member(7)], "process 7 of me on host-7 or process 8 of me on host-8 holds it"),
        ([member(7, b"")], "lock at 10.0.0.1 holds it"),
    ],
)
def test_it_says_who_holds_the_lock_while_it_waits_and_at_the_end(monkeypatch, members, said):
    monkeypatch.setattr(_lock, "_GRACE_SECONDS", -10.0)
    monkeypatch.setattr(_lock, "_LOOK_SECONDS", 0.01)
    told = []
    with pytest.raises(AlreadyRolled, match=f"another roll of app is under way: {said}") as raised:
        cluster_lock("app", "h:1", {}, Held(*members), told.append).__enter__()

    assert 5 == raised.value.exit_code
    assert told in ([], [f"waiting for the lock app-roll-lock: {said}"])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (30, "the lock of a roll needs READ on group app-roll-lock; --no-lock does without"),
        (26, "group.max.session.timeout.ms of the brokers excludes the 10 s of group app-roll-lock"),
        (23, "group app-roll-lock belongs to something else than a roll"),
        (42, "the lock of a roll is the classic group app-roll-lock; --no-lock does without"),
    ],
)
def test_a_lock_that_is_refused_says_what_it_needs(monkeypatch, code, said):
    def refuse(_lock):
        raise ApiError(code, "NAME", "message")

    monkeypatch.setattr(group_lock.GroupLock, "__enter__", refuse)
    with pytest.raises(click.ClickException, match=said):
        cluster_lock("app", "h:1", {}, Held(state="Empty"), str).__enter__()
