"""The table of checks: a code, a severity and a function for each; ``messages.TEMPLATES`` has the texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assignor.inspect.check import Check, Finding, GroupView, Severity
from assignor.inspect.checks import _assignments, _group, _versions

CHECKS: Final[Mapping[str, tuple[Severity, Check]]] = {
    "not-described": (Severity.PROBLEM, _group.not_described),
    "not-ready": (Severity.PROBLEM, _group.not_ready),
    "not-classic": (Severity.NOTICE, _group.not_classic),
    "not-streams": (Severity.NOTICE, _group.not_streams),
    "unsettled": (Severity.NOTICE, _group.unstable),
    "unreadable": (Severity.PROBLEM, _group.unreadable),
    "cannot-read": (Severity.PROBLEM, _versions.unreadable_assignment_version),
    "cannot-probe": (Severity.PROBLEM, _versions.cannot_probe),
    "may-not-probe": (Severity.NOTICE, _versions.may_be_unable_to_probe),
    "upgrade-from": (Severity.NOTICE, _versions.upgrade_from_set),
    "maybe-upgrade-from": (Severity.NOTICE, _versions.upgrade_from_maybe_set),
    "could-speak-more": (Severity.PROBLEM, _versions.below_common_version),
    "mixed-protocols": (Severity.PROBLEM, _versions.mixed_protocols),
    "same-process": (Severity.PROBLEM, _group.duplicate_process_id),
    "error-code": (Severity.PROBLEM, _assignments.error_codes),
    "no-assignment": (Severity.PROBLEM, _assignments.missing_assignment),
    "owned-twice": (Severity.PROBLEM, _assignments.multiple_owners),
    "without-owner": (Severity.PROBLEM, _assignments.unassigned),
    "moving": (Severity.NOTICE, _assignments.being_moved),
    "large": (Severity.NOTICE, _group.large_metadata),
    "too-large": (Severity.PROBLEM, _group.too_large_metadata),
}
"""By code. The codes are part of ``group --json`` and do not change."""

TRANSIENT: Final = frozenset({"could-speak-more", "not-ready"})
"""Codes of problems that end by themselves while a group works; they need action if they last."""


def run_checks(view: GroupView) -> tuple[Finding, ...]:
    """Run all checks; problems come first."""
    found = [
        Finding(severity, code, match.parameters, tuple(match.members))
        for code, (severity, check) in CHECKS.items()
        for match in check(view)
    ]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.PROBLEM))
