"""``group wait NAME``: returns when a group is stable, empty or on a release, as ``kubectl rollout status`` does.

A stable group is no proof of a restart, so the number of members has to be known (``groups.RestartTracker``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from attrs import frozen

from streams_assignor.cli.group.watch import Look, error_text, looks
from streams_assignor.formats.text import format_seconds, join_names, printable
from streams_assignor.groups import (
    DescribedGroup,
    DescribedGroupMember,
    ExpectedMembers,
    GroupProgress,
    InspectedGroup,
    NoSuchGroup,
    Restart,
    RestartTracker,
    group_progress,
    indistinguishable_releases,
    inspect_group,
    is_empty,
    is_on_release,
    is_stable,
    matches,
    member_label,
    progress_text,
    shows_releases,
    upgrade_from_note,
)
from streams_assignor.groups.described_group import CLASSIC, DEAD, STABLE, UNKNOWN_TYPE
from streams_assignor.upgrade.cluster.client.errors import ApiError
from streams_assignor.upgrade.input_values import InvalidInput, parse_json, read_all, read_text
from streams_assignor.upgrade.releases import Release, ResolvedRelease

CANNOT_TELL: Final = 3
TIMED_OUT: Final = 124
_REFUSALS: Final = frozenset(
    {29, 30, 31, 58}
)  # TOPIC_, GROUP_, CLUSTER_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED


class WaitTimeout(click.ClickException):
    """The group did not come to the state in time; exit status as of ``timeout`` (coreutils)."""

    exit_code = TIMED_OUT


@frozen
class WaitCondition:
    """The condition to wait for."""

    name: str
    """``stable``, ``empty`` or ``on RELEASE``."""

    is_met: Callable[[InspectedGroup], bool]
    candidates: tuple[Release, ...] = ()
    """The releases of which members may run one: several if the user left the patch level open."""
    wanted: frozenset[Release] = frozenset()
    """The releases of the table that the user named: one, or a line."""

    notes: tuple[str, ...] = ()
    """The assumption about the release."""

    needs_members: bool = True
    """Whether members have to be there."""

    @property
    def release(self) -> Release | None:
        """The first candidate; None if no release is wanted."""
        return next(iter(self.candidates), None)

    def progress(self, group: InspectedGroup) -> GroupProgress:
        """Return how far a group is, on its way to the candidate that most members may run."""
        results = [group_progress(group, release, self.wanted) for release in self.candidates] or [
            group_progress(group)
        ]
        return max(results, key=lambda result: result.on_releases)


STABLE_CONDITION: Final = WaitCondition("stable", is_stable)
EMPTY_CONDITION: Final = WaitCondition("empty", is_empty, needs_members=False)


def release_condition(resolved: ResolvedRelease) -> WaitCondition:
    """Return the condition that all members may run a release, or one of those that a spelling leaves open."""
    return WaitCondition(
        f"on {resolved.given} ({resolved.span})" if resolved.is_open else f"on {resolved.release.name}",
        lambda group: any(is_on_release(group, release) for release in resolved.candidates),
        resolved.candidates,
        frozenset((*resolved.candidates, *resolved.older)),
        resolved.reading if resolved.is_open else resolved.notes,
    )


@frozen
class WaitResult:
    """How a wait ended."""

    look: Look
    status: int = 0
    notes: tuple[str, ...] = ()
    """The facts that the status does not show."""


@frozen
class _Step:
    """One look at the group, and whether it meets the condition."""

    look: Look
    restart: Restart
    is_met: bool
    state: str


def wait_for(
    name: str,
    condition: WaitCondition,
    expected: ExpectedMembers,
    look: Callable[[], Look],
    *,
    timeout: float,
    interval: float,
    report: Callable[[str], object],
) -> WaitResult:
    """Look until the condition is met, and report each change on the way.

    Raises:
        WaitTimeout: ``timeout`` seconds are over; the message has the last state.
        ClickException: the condition cannot be met: not authorized, or the group shows no releases; or waiting longer
            does not show whether it is.
    """
    tracker = RestartTracker(expected)
    started, reported, was_there = time.monotonic(), "", False
    for current in looks(look, interval):
        was_there = was_there or bool(current.groups)
        step = _judge(condition, expected, tracker, current, was_there=was_there)
        if step.is_met and not step.restart.refusal:
            result = _result(condition, step)
            about = "may be" if result.status else "is"
            report(f"{printable(name)} {about} {condition.name}{f': {step.state}' if step.state else ''}")
            return result
        if impossible := _impossible(condition, current):
            raise click.ClickException(impossible)
        if step.is_met:
            raise click.ClickException(
                f"cannot tell whether {printable(name)} is {condition.name}: {step.restart.refusal}"
            )
        if step.state != reported:
            reported = step.state
            report(f"waiting for {printable(name)} to be {condition.name}: {step.state}")
        if time.monotonic() - started + interval > timeout:
            message = f"{printable(name)} is not {condition.name} after {format_seconds(timeout)}: {step.state}"
            raise WaitTimeout(message)
    raise AssertionError("looks do not end")


def _judge(
    condition: WaitCondition, expected: ExpectedMembers, tracker: RestartTracker, look: Look, *, was_there: bool
) -> _Step:
    group = _described(look)
    restart = tracker.update(group, time.monotonic()) if condition.needs_members else Restart()
    if group and expected.is_unknown and _others(condition, group):
        restart = Restart()  # no member that is still to come would show the release
    if look.error:
        met, text = condition is EMPTY_CONDITION and group is not None, error_text(look.error)
        unseen = Restart(refusal=f"{text}; it may have been deleted, or have another name")
        return _Step(look, restart if was_there else unseen, met, text)
    met = group is not None and condition.is_met(group) and not restart.missing
    now_ms = int(1000 * time.time())
    states = [progress_text(condition.progress(group), now_ms) for group in look.groups]
    return _Step(look, restart, met, "; ".join((*states, *restart.missing)))


def _described(look: Look) -> InspectedGroup | None:
    """Return the group; None if it is not described. One that does not exist has no members."""
    if isinstance(look.error, NoSuchGroup):
        return inspect_group(DescribedGroup(name="", state=DEAD))
    return next((group for group in look.groups if not group.described.hides_members), None)


def _result(condition: WaitCondition, step: _Step) -> WaitResult:
    """Return the status of a condition that is met as far as a description shows, and what it does not show."""
    errors = [group.described.error for group in step.look.groups]
    notes = [
        *condition.notes,
        step.restart.assumed,
        *(f"not completely described: {error}" for error in errors if error),
    ]
    status = 0
    if condition.release and step.look.groups:
        group = step.look.groups[0]
        if others := _others(condition, group):
            status = CANNOT_TELL
            notes.append(f"what these members send is that of {others}, and does not show which one a member runs")
        notes.append(upgrade_from_note(group, condition.release))
    return WaitResult(step.look, status, tuple(filter(None, notes)))


def _others(condition: WaitCondition, group: InspectedGroup) -> str:
    """Return the releases of which one cannot be told from the wanted one; empty if it can, or none is wanted."""
    return indistinguishable_releases(group, condition.wanted) if condition.release else ""


def _impossible(condition: WaitCondition, look: Look) -> str:
    if isinstance(look.error, ApiError) and look.error.code in _REFUSALS:
        return error_text(look.error)
    for group in look.groups:
        raw = group.described
        if raw.type == UNKNOWN_TYPE and raw.hides_members:
            return raw.error  # no request of ours shows its members
        if condition.release and not shows_releases(group):
            return (
                f"expected a group of Kafka Streams, whose metadata shows releases, got {raw.name} with "
                f"{f'assignor {raw.protocol}' if raw.type == CLASSIC else f'type {raw.type}'}"
            )
    return ""


# -- the state before a restart ---------------------------------------------------------------------------------------


class StateFile(click.Path):
    """A file with the output of ``group NAME -o json``; the value is the document."""

    name = "state"

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the members of a stable group."""
        path = str(super().convert(value, param, ctx))
        try:
            state = parse_json(read_all(sys.stdin, "stdin") if path == "-" else read_text(Path(path)))
            return RememberedState(
                state["group"],
                state["state"],
                tuple(
                    DescribedGroupMember(
                        **{key: member[key] for key in ("member_id", "client_id", "host", "group_instance_id")}
                    )
                    for member in state["members"]
                ),
            )
        except (OSError, UnicodeDecodeError, InvalidInput, KeyError, TypeError) as error:
            self.fail(f"expected the output of `group NAME -o json` in {path}: {_words(error)}", param, ctx)


def _words(error: Exception) -> str:
    return f"no key {error}" if isinstance(error, KeyError) else str(error)


@frozen
class RememberedState:
    """The members of a group before a restart, as ``-o json`` printed them."""

    group: str
    state: str
    members: tuple[DescribedGroupMember, ...]


def expected_members(
    name: str,
    number: int | None,
    restarted: tuple[str, ...],
    since: RememberedState | None,
    session_timeout: float | None,
) -> ExpectedMembers:
    """Return which members a group has to have.

    Raises:
        UsageError: The remembered state is not one of that group, or does not have the restarted members.
    """
    if since:
        if since.group != name:
            raise click.UsageError(f"expected --since with the state of {name}, got that of {since.group}")
        if since.state != STABLE:
            raise click.UsageError(f"expected --since with the state of a stable group, got {since.state}")
        for restarted_name in restarted:
            if not any(matches(restarted_name, member) for member in since.members):
                labels = join_names(map(member_label, since.members)) if since.members else "none"
                raise click.UsageError(f"--restarted {restarted_name} is none of the members of --since: {labels}")
    return ExpectedMembers(
        number=number,
        restarted=restarted,
        before=since.members if since else None,
        session_timeout_seconds=session_timeout,
    )
