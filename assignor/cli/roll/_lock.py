"""One roll of a group at a time, on all hosts: a lock that the cluster holds."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.upgrade.cluster.client.errors import ApiError, ClusterError
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

if TYPE_CHECKING:
    from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup

LOCKED: Final = 5
_SUFFIX: Final = "-roll-lock"
_GRACE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.5
_REFUSALS: Final = {
    23: "group {} belongs to something else than a roll",
    26: "group.min.session.timeout.ms or group.max.session.timeout.ms of the brokers excludes the 10 s of group {}",
    30: "the lock of a roll needs READ on group {}",
}
"""By error code: INCONSISTENT_GROUP_PROTOCOL, INVALID_SESSION_TIMEOUT, GROUP_AUTHORIZATION_FAILED."""
_HELD_STATES: Final = ("Stable", "PreparingRebalance", "CompletingRebalance")


class AlreadyRolled(click.ClickException):
    """Another process rolls the group."""

    exit_code = LOCKED


def lock_name(group: str) -> str:
    """Return the group that is the lock: an ACL with the prefix of the application's groups includes it."""
    return group + _SUFFIX


@contextmanager
def cluster_lock(
    group: str, servers: str, settings: Mapping[str, Any], lookup: GroupLookup, report: Callable[[str], object]
) -> Iterator[Callable[[], None]]:
    """Hold the lock of a group, and yield what raises ``LockLost`` if it is not held any more.

    The lock of a process that has died is free after its session.

    Raises:
        AlreadyRolled: Another process holds it.
        ClusterError: It cannot be taken: no coordinator answers, or READ on the group is not allowed.
    """
    from streams_assignor.clients.kafka_python.group_lock import SESSION_SECONDS, GroupLock, LockHeld

    name = lock_name(group)
    deadline, told = time.monotonic() + SESSION_SECONDS + _GRACE_SECONDS, False
    while holder := _holder(lookup, name):
        if time.monotonic() > deadline:
            raise AlreadyRolled(f"another roll of {group} is under way: {holder}")
        if not told:
            report(f"waiting for the lock {name}: {holder}")
            told = True
        time.sleep(_LOOK_SECONDS)
    this = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "user": user_name()}).encode()
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(GroupLock(servers, settings, name, this))
        except LockHeld as error:
            raise AlreadyRolled(f"another roll of {group} is under way: {error}") from error
        except ApiError as error:
            why = _REFUSALS.get(error.code, "the lock of a roll is the classic group {}").format(name)
            raise click.ClickException(f"{error.name}: {error.message} ({why}; --no-lock does without)") from error
        yield lock.check


def _holder(lookup: GroupLookup, name: str) -> str:
    """Return who holds a lock, as far as the cluster says; empty if nobody is known to."""
    try:
        described = lookup.group(name)
    except ClusterError:
        return ""  # there is no such group, or joining it says what is wrong
    if described.state not in _HELD_STATES or not described.members:
        return ""
    # One of two is about to leave: a description does not say which.
    return f"{' or '.join(sorted(map(_process, described.members)))} holds it"


def _process(member: DescribedGroupMember) -> str:
    try:
        who = parse_json(member.subscription.decode())
        return f"process {who['pid']} of {who['user']} on {who['host']}"
    except (InvalidInput, UnicodeDecodeError, KeyError, TypeError):
        return f"{member.client_id} at {member.host.removeprefix('/')}"


def user_name() -> str:
    """Return the name of the user, or the number of one without a name, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
