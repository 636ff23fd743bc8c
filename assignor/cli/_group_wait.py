"""``group NAME --wait``: returns when a group is stable, empty or on a release, as ``kubectl rollout status`` does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import click
from attrs import frozen

from assignor.cli._group_watch import Look, error_text, looks
from assignor.formats.text import format_seconds, printable
from assignor.inspect import (
    InspectedGroup,
    NoSuchGroup,
    group_progress,
    is_empty,
    is_on_release,
    is_stable,
    lines_with_same_metadata,
    progress_text,
)
from assignor.inspect.described_group import CLASSIC
from upgrade import UpgradeError, release_named
from upgrade.features.client.errors import ApiError
from upgrade.releases import Release

TIMED_OUT: Final = 124
_REFUSALS: Final = frozenset(
    {29, 30, 31, 58}
)  # TOPIC_, GROUP_, CLUSTER_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED


class WaitTimeout(click.ClickException):
    """The group did not come to the state in time; exit status as of ``timeout`` (coreutils)."""

    exit_code = TIMED_OUT


@frozen
class Condition:
    """What to wait for."""

    name: str
    """``stable``, ``empty`` or ``on RELEASE``."""

    is_met: Callable[[InspectedGroup], bool]
    release: Release | None = None


class ConditionType(click.ParamType[Condition]):
    """``stable``, ``empty`` or ``release=R``."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Condition:
        """Read a condition; an unknown release is a usage error."""
        match str(value).partition("="):
            case ("stable", "", ""):
                return Condition("stable", is_stable)
            case ("empty", "", ""):
                return Condition("empty", is_empty)
            case ("release", "=", name) if name:
                try:
                    release = release_named(name)
                except UpgradeError as error:
                    self.fail(str(error), param, ctx)
                return Condition(f"on {release.name}", lambda group: is_on_release(group, release), release)
        return self.fail(f"expected stable, empty or release=RELEASE, got {value!r}", param, ctx)


def wait_for(
    name: str,
    condition: Condition,
    look: Callable[[], Look],
    *,
    timeout: float,
    interval: float,
    report: Callable[[str], object],
) -> Look:
    """Look until the condition is met, and report each change on the way.

    Raises:
        WaitTimeout: ``timeout`` seconds are over; the message has the last state.
        ClickException: the condition cannot be met: not authorized, or the group shows no releases.
    """
    started, reported = time.monotonic(), ""
    for found in looks(look, interval):
        if _is_met(condition, found):
            state = _state(found, condition)
            report(f"{printable(name)} is {condition.name}{f': {state}' if state else ''}")
            return found
        if impossible := _impossible(condition, found):
            raise click.ClickException(impossible)
        state = _state(found, condition)
        if state != reported:
            reported = state
            report(f"waiting for {printable(name)} to be {condition.name}: {state}")
        if time.monotonic() - started + interval > timeout:
            raise WaitTimeout(f"{printable(name)} is not {condition.name} after {format_seconds(timeout)}: {state}")
    raise AssertionError("looks do not end")


def release_note(condition: Condition, found: Look) -> str:
    """Say that metadata does not show the release, if it is so; empty otherwise."""
    if condition.release is None or not found.groups:
        return ""
    lines = lines_with_same_metadata(found.groups[0], condition.release)
    if not lines:
        return ""
    others = lines[0] if len(lines) == 1 else f"{lines[0]} to {lines[-1]}"
    return (
        f"members of {others} send the same metadata as those of {condition.release.line}, so it does not show which "
        "of these releases a member runs"
    )


def _is_met(condition: Condition, found: Look) -> bool:
    if found.error:  # a group without members and committed offsets does not exist
        return condition.name == "empty" and isinstance(found.error, NoSuchGroup)
    return all(not each.described.error and condition.is_met(each) for each in found.groups)


def _impossible(condition: Condition, found: Look) -> str:
    if isinstance(found.error, ApiError) and found.error.code in _REFUSALS:
        return error_text(found.error)
    for group in found.groups:
        raw = group.described
        if condition.release and group.members and not group.is_streams and (raw.protocol or raw.type != CLASSIC):
            return (
                f"expected a group of Kafka Streams, whose metadata shows releases, got {raw.name} with "
                f"{f'assignor {raw.protocol}' if raw.type == CLASSIC else f'type {raw.type}'}"
            )
    return ""


def _state(found: Look, condition: Condition) -> str:
    if found.error:
        return error_text(found.error)
    now_ms = int(1000 * time.time())
    return "; ".join(progress_text(group_progress(each, condition.release), now_ms) for each in found.groups)
