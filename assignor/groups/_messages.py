"""Texts of the upgrade status and of changes; those of findings are in ``checks``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.formats.text import count, join_names
from streams_assignor.groups.upgrade_status import Stage, UpgradeStatus


@frozen
class Change:
    """One change of a group between two looks; ``diff.find_changes`` finds it."""

    code: str
    """``first-seen``, ``state``, ``epoch``, ``replaced``, ``back``, ``joined``, ``left``, ``version``, ``upgrade`` or
    ``task``."""

    parameters: Mapping[str, Any]
    """Keyword arguments of the code's template."""


def upgrade_text(status: UpgradeStatus) -> str:
    """Render where an upgrade stands."""
    if status.stage is Stage.UNKNOWN or status.common is None:
        return "unknown: no member shows a version"
    unreadable = f"; {status.unreadable} cannot be read" if status.unreadable else ""
    return _stage_text(status, status.common) + unreadable


def change_text(change: Change) -> str:
    """Render a change."""
    return _CHANGES[change.code](**change.parameters)


def verb(names: Sequence[str], singular: str, plural: str) -> str:
    """Return names with the verb behind them."""
    return f"{join_names(names)} {singular if len(names) == 1 else plural}"


# -- the upgrade ---------------------------------------------------------------------------------------------------


def _stage_text(status: UpgradeStatus, common: int) -> str:
    used, members = status.used, sum(status.used.values())
    match status.stage:
        case Stage.DONE:
            return f"all on version {min(used)}"
        case Stage.BEFORE_PROBING:
            return f"all on version {min(used)}: {_old_version_reason(status)}"
        case Stage.LAST_STEP:
            return f"all send {min(used)} and support {common}: the rebalance that raises the version is still to come"
        case Stage.WAITING:
            return f"all on version {min(used)}; {_waiting_text(status, common)}"
    counts = ", ".join(f"{number} of {members} send {version}" for version, number in used.items())
    return f"mixed: {counts}; all support {common}" + (
        f"; {_waiting_text(status, common)}" if status.waiting_for else ""
    )


def _waiting_text(status: UpgradeStatus, common: int) -> str:
    if common < EARLIEST_PROBEABLE_VERSION:
        return f"waiting for {join_names(status.waiting_labels)} (version {common}: {_old_version_reason(status)})"
    return f"waiting for {verb(status.waiting_labels, '(supports', '(support')} {common})"


def _old_version_reason(status: UpgradeStatus) -> str:
    return "upgrade.from is still set" if status.pinned else "a release before 2.0, or upgrade.from is still set"


# -- changes -------------------------------------------------------------------------------------------------------


def _task_change(task: str, before: Sequence[str], after: Sequence[str]) -> str:
    owners = (join_names(names) if names else "no member" for names in (before, after))
    return f"task {task}: {' → '.join(owners)}"


_CHANGES: Final[Mapping[str, Callable[..., str]]] = {
    "first-seen": lambda state, members: f"{state} with {count(members, 'member')}",
    "state": lambda before, after: f"{before} → {after}",
    "epoch": lambda before, after: f"epoch {before} → {after}",
    "replaced": lambda members: f"replaced: {join_names(members)}",
    "back": lambda members: f"back: {join_names(members)}",
    "joined": lambda members: f"joined: {join_names(members)}",
    "left": lambda members: f"left: {join_names(members)}",
    "version": lambda member, before, after: f"{member}: version {_versions(*before)} → {_versions(*after)}",
    "upgrade": upgrade_text,
    "task": _task_change,
}


def _versions(sent: int, received: int | None) -> str:
    return str(sent) if received == sent else f"{sent}, answered {received}"
