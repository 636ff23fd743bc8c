"""The table of checks: a code, a severity and a function for each; ``messages.TEMPLATES`` has the texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from assignor.groups.check import Check, Finding, GroupView, Severity
from assignor.groups.checks import _assignments, _broker_assigned, _group, _versions

CHECKS: Final[Mapping[str, tuple[Severity, Check]]] = {
    "not-described": (Severity.PROBLEM, _group.not_described),
    "not-ready": (Severity.PROBLEM, _group.not_ready),
    "missing-source-topics": (Severity.PROBLEM, _broker_assigned.missing_source_topics),
    "missing-internal-topics": (Severity.PROBLEM, _broker_assigned.missing_internal_topics),
    "incorrectly-partitioned-topics": (Severity.PROBLEM, _broker_assigned.incorrectly_partitioned_topics),
    "stale-topology": (Severity.PROBLEM, _broker_assigned.stale_topology),
    "assignment-delayed": (Severity.NOTICE, _broker_assigned.assignment_delayed),
    "unreconciled": (Severity.PROBLEM, _broker_assigned.unreconciled),
    "too-few-standbys": (Severity.PROBLEM, _broker_assigned.too_few_standbys),
    "without-end-point": (Severity.NOTICE, _broker_assigned.without_end_point),
    "classic-members": (Severity.NOTICE, _broker_assigned.classic_members),
    "not-classic": (Severity.NOTICE, _group.not_classic),
    "not-streams": (Severity.NOTICE, _group.not_streams),
    "unsettled": (Severity.NOTICE, _group.unsettled),
    "unreadable": (Severity.PROBLEM, _group.unreadable),
    "cannot-read": (Severity.PROBLEM, _versions.cannot_read),
    "cannot-probe": (Severity.PROBLEM, _versions.cannot_probe),
    "may-not-probe": (Severity.NOTICE, _versions.may_not_probe),
    "upgrade-from": (Severity.NOTICE, _versions.upgrade_from),
    "maybe-upgrade-from": (Severity.NOTICE, _versions.maybe_upgrade_from),
    "could-speak-more": (Severity.PROBLEM, _versions.could_speak_more),
    "mixed-protocols": (Severity.PROBLEM, _versions.mixed_protocols),
    "same-process": (Severity.PROBLEM, _group.same_process),
    "error-code": (Severity.PROBLEM, _assignments.error_code),
    "no-assignment": (Severity.PROBLEM, _assignments.no_assignment),
    "owned-twice": (Severity.PROBLEM, _assignments.owned_twice),
    "without-owner": (Severity.PROBLEM, _assignments.without_owner),
    "end-point-missing": (Severity.PROBLEM, _assignments.end_point_missing),
    "not-subscribed": (Severity.PROBLEM, _assignments.not_subscribed),
    "rejoins": (Severity.NOTICE, _assignments.rejoins),
    "moving": (Severity.NOTICE, _assignments.moving),
    "large": (Severity.NOTICE, _group.large),
    "too-large": (Severity.PROBLEM, _group.too_large),
}
"""By code. The codes are part of ``group --json`` and do not change."""

TRANSIENT: Final = frozenset(
    {
        "could-speak-more",
        "incorrectly-partitioned-topics",
        "missing-internal-topics",
        "missing-source-topics",
        "not-ready",
        "too-few-standbys",
        "unreconciled",
    }
)
"""Codes of problems that end by themselves while a group works; they need action if they last."""


_NAMES_OF_MEMBERS: Final = frozenset(
    {"cooperative", "eager", "name", "names", "new", "old", "owners", "pinned", "waiting"}
)
"""The parameters of matches that are names of members."""


def run_checks(view: GroupView, without: Collection[str] = ()) -> tuple[Finding, ...]:
    """Run all checks but those ``without``, by code; problems come first."""
    matches = [
        (severity, code, match)
        for code, (severity, check) in CHECKS.items()
        if code not in without
        for match in check(view)
    ]
    labels = {member.name: member.label for member in view.members} if matches else {}
    found = [
        Finding(severity, code, _with_labels(match.parameters, labels), tuple(match.members))
        for severity, code, match in matches
    ]
    return tuple(sorted(found, key=lambda finding: finding.severity is not Severity.PROBLEM))


def _with_labels(parameters: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the parameters with the names of members for people."""
    return {key: _labelled(each, labels) if key in _NAMES_OF_MEMBERS else each for key, each in parameters.items()}


def _labelled(names: str | Sequence[str], labels: Mapping[str, str]) -> str | Sequence[str]:
    return labels.get(names, names) if isinstance(names, str) else [labels.get(each, each) for each in names]
