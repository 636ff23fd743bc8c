"""The table of checks: a code, a severity and a function for each; ``messages.TEMPLATES`` has the texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from streams_assignor.groups.check import Check, Finding, FindingSeverity, GroupView
from streams_assignor.groups.checks import _assignments, _broker_assigned, _group, _versions

CHECKS: Final[Mapping[str, tuple[FindingSeverity, Check]]] = {
    "not-described": (FindingSeverity.PROBLEM, _group.not_described),
    "partly-described": (FindingSeverity.PROBLEM, _group.partly_described),
    "not-ready": (FindingSeverity.PROBLEM, _group.not_ready),
    "missing-source-topics": (FindingSeverity.PROBLEM, _broker_assigned.missing_source_topics),
    "missing-internal-topics": (FindingSeverity.PROBLEM, _broker_assigned.missing_internal_topics),
    "incorrectly-partitioned-topics": (FindingSeverity.PROBLEM, _broker_assigned.incorrectly_partitioned_topics),
    "stale-topology": (FindingSeverity.PROBLEM, _broker_assigned.stale_topology),
    "missing-client-tags": (FindingSeverity.PROBLEM, _broker_assigned.missing_client_tags),
    "assignment-delayed": (FindingSeverity.NOTICE, _broker_assigned.assignment_delayed),
    "unreconciled": (FindingSeverity.PROBLEM, _broker_assigned.unreconciled),
    "static-member-away": (FindingSeverity.PROBLEM, _broker_assigned.static_member_away),
    "too-few-standbys": (FindingSeverity.PROBLEM, _broker_assigned.too_few_standbys),
    "without-end-point": (FindingSeverity.NOTICE, _broker_assigned.without_end_point),
    "classic-members": (FindingSeverity.NOTICE, _broker_assigned.classic_members),
    "not-classic": (FindingSeverity.NOTICE, _group.not_classic),
    "not-streams": (FindingSeverity.NOTICE, _group.not_streams),
    "no-online-conversion": (FindingSeverity.NOTICE, _group.no_online_conversion),
    "unsettled": (FindingSeverity.NOTICE, _group.unsettled),
    "unreadable": (FindingSeverity.PROBLEM, _group.unreadable),
    "cannot-read": (FindingSeverity.PROBLEM, _versions.cannot_read),
    "cannot-probe": (FindingSeverity.PROBLEM, _versions.cannot_probe),
    "may-not-probe": (FindingSeverity.NOTICE, _versions.may_not_probe),
    "upgrade-from": (FindingSeverity.NOTICE, _versions.upgrade_from),
    "maybe-upgrade-from": (FindingSeverity.NOTICE, _versions.maybe_upgrade_from),
    "could-speak-more": (FindingSeverity.PROBLEM, _versions.could_speak_more),
    "mixed-protocols": (FindingSeverity.PROBLEM, _versions.mixed_protocols),
    "same-process": (FindingSeverity.PROBLEM, _group.same_process),
    "error-code": (FindingSeverity.PROBLEM, _assignments.error_code),
    "no-assignment": (FindingSeverity.PROBLEM, _assignments.no_assignment),
    "owned-twice": (FindingSeverity.PROBLEM, _assignments.owned_twice),
    "without-owner": (FindingSeverity.PROBLEM, _assignments.without_owner),
    "end-point-missing": (FindingSeverity.PROBLEM, _assignments.end_point_missing),
    "not-subscribed": (FindingSeverity.PROBLEM, _assignments.not_subscribed),
    "rejoins": (FindingSeverity.NOTICE, _assignments.rejoins),
    "moving": (FindingSeverity.NOTICE, _assignments.moving),
    "large": (FindingSeverity.NOTICE, _group.large),
    "too-large": (FindingSeverity.PROBLEM, _group.too_large),
}
"""The checks by code. The codes are part of ``group --json`` and do not change."""

TRANSIENT: Final = frozenset(
    {
        "could-speak-more",
        "incorrectly-partitioned-topics",
        "missing-internal-topics",
        "missing-source-topics",
        "not-ready",
        "static-member-away",
        "too-few-members",
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
    findings = [
        Finding(severity, code, _with_labels(match.parameters, labels), tuple(match.members))
        for severity, code, match in matches
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity is not FindingSeverity.PROBLEM))


def _with_labels(parameters: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the parameters with the names of members for people."""
    return {key: _labelled(value, labels) if key in _NAMES_OF_MEMBERS else value for key, value in parameters.items()}


def _labelled(names: str | Sequence[str], labels: Mapping[str, str]) -> str | Sequence[str]:
    return labels.get(names, names) if isinstance(names, str) else [labels.get(name, name) for name in names]
