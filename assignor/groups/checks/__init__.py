"""The findings of ``group`` by code: one row each, with the check that finds it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.groups.check import Check, Finding, FindingSeverity, GroupView
from streams_assignor.groups.checks import _assignments, _broker_assigned, _group, _texts, _versions

_PROBLEM, _NOTICE = FindingSeverity.PROBLEM, FindingSeverity.NOTICE
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS


@frozen
class FindingKind:
    """All that is known of the findings with one code."""

    severity: FindingSeverity
    text: Callable[..., str]
    """Renders the parameters of a finding."""
    check: Check | None = None
    """Finds it in one look; None of those that take several looks, or a limit of the user."""
    lasting_ms: int | None = None
    """So long the state has to last to be a finding of an audit. None: it is none of an audit, as a rebalance has it on
    its way, it is a guess, it is about what a group is and not about its state, or only a broker shows it."""
    is_transient: bool = False
    """Whether it ends by itself while a group works; such a problem needs action if it lasts."""


FINDINGS: Final[dict[str, FindingKind]] = {
    "not-described": FindingKind(_PROBLEM, _texts.not_described, _group.not_described),
    "partly-described": FindingKind(_PROBLEM, _texts.partly_described, _group.partly_described),
    "not-ready": FindingKind(_PROBLEM, _texts.not_ready, _group.not_ready, _MINUTE_MS, is_transient=True),
    "missing-source-topics": FindingKind(
        _PROBLEM, _texts.missing_source_topics, _broker_assigned.missing_source_topics, is_transient=True
    ),
    "missing-internal-topics": FindingKind(
        _PROBLEM, _texts.missing_internal_topics, _broker_assigned.missing_internal_topics, is_transient=True
    ),
    "incorrectly-partitioned-topics": FindingKind(
        _PROBLEM,
        _texts.incorrectly_partitioned_topics,
        _broker_assigned.incorrectly_partitioned_topics,
        is_transient=True,
    ),
    "stale-topology": FindingKind(_PROBLEM, _texts.stale_topology, _broker_assigned.stale_topology, _MINUTE_MS),
    "missing-client-tags": FindingKind(
        _PROBLEM, _texts.missing_client_tags, _broker_assigned.missing_client_tags, _HOUR_MS
    ),
    "assignment-delayed": FindingKind(
        _NOTICE, _texts.assignment_delayed, _broker_assigned.assignment_delayed, _MINUTE_MS
    ),
    "unreconciled": FindingKind(
        _PROBLEM, _texts.unreconciled, _broker_assigned.unreconciled, _MINUTE_MS, is_transient=True
    ),
    "static-member-away": FindingKind(
        _PROBLEM, _texts.static_member_away, _broker_assigned.static_member_away, _MINUTE_MS, is_transient=True
    ),
    "too-few-standbys": FindingKind(
        _PROBLEM, _texts.too_few_standbys, _broker_assigned.too_few_standbys, 5 * _MINUTE_MS, is_transient=True
    ),
    "without-end-point": FindingKind(_NOTICE, _texts.without_end_point, _broker_assigned.without_end_point, _HOUR_MS),
    "classic-members": FindingKind(_NOTICE, _texts.classic_members, _broker_assigned.classic_members, _DAY_MS),
    "not-classic": FindingKind(_NOTICE, _texts.not_classic, _group.not_classic),
    "not-streams": FindingKind(_NOTICE, _texts.not_streams, _group.not_streams),
    "no-online-conversion": FindingKind(_NOTICE, _texts.no_online_conversion, _group.no_online_conversion),
    "unsettled": FindingKind(_NOTICE, _texts.unsettled, _group.unsettled),
    "unreadable": FindingKind(_PROBLEM, _texts.unreadable, _group.unreadable, _MINUTE_MS),
    "cannot-read": FindingKind(_PROBLEM, _texts.cannot_read, _versions.cannot_read, _MINUTE_MS),
    "cannot-probe": FindingKind(_PROBLEM, _texts.cannot_probe, _versions.cannot_probe, _MINUTE_MS),
    "may-not-probe": FindingKind(_NOTICE, _texts.may_not_probe, _versions.may_not_probe),
    "upgrade-from": FindingKind(_NOTICE, _texts.upgrade_from, _versions.upgrade_from, _DAY_MS),
    "maybe-upgrade-from": FindingKind(_NOTICE, _texts.maybe_upgrade_from, _versions.maybe_upgrade_from),
    "could-speak-more": FindingKind(
        _PROBLEM, _texts.could_speak_more, _versions.could_speak_more, _HOUR_MS, is_transient=True
    ),
    "mixed-protocols": FindingKind(_PROBLEM, _texts.mixed_protocols, _versions.mixed_protocols, _MINUTE_MS),
    "same-process": FindingKind(_PROBLEM, _texts.same_process, _group.same_process, _MINUTE_MS),
    "error-code": FindingKind(_PROBLEM, _texts.error_code, _assignments.error_code, _MINUTE_MS),
    "no-assignment": FindingKind(_PROBLEM, _texts.no_assignment, _assignments.no_assignment, 5 * _MINUTE_MS),
    "owned-twice": FindingKind(_PROBLEM, _texts.owned_twice, _assignments.owned_twice, _MINUTE_MS),
    "without-owner": FindingKind(_PROBLEM, _texts.without_owner, _assignments.without_owner, 5 * _MINUTE_MS),
    "end-point-missing": FindingKind(_PROBLEM, _texts.end_point_missing, _assignments.end_point_missing, _MINUTE_MS),
    "not-subscribed": FindingKind(_PROBLEM, _texts.not_subscribed, _assignments.not_subscribed, _MINUTE_MS),
    "rejoins": FindingKind(_NOTICE, _texts.rejoins, _assignments.rejoins),
    "moving": FindingKind(_NOTICE, _texts.moving, _assignments.moving),
    "crash-loop": FindingKind(_PROBLEM, _texts.crash_loop),
    "lag": FindingKind(_PROBLEM, _texts.lag),
    "no-members": FindingKind(_PROBLEM, _texts.no_members),
    "too-few-members": FindingKind(_PROBLEM, _texts.too_few_members, is_transient=True),
    "unknown-lag": FindingKind(_PROBLEM, _texts.unknown_lag),
    "large": FindingKind(_NOTICE, _texts.large, _group.large, 0),
    "too-large": FindingKind(_PROBLEM, _texts.large, _group.too_large, 0),
}
"""The findings by code, in the order in which they are reported. The codes are part of ``group --json`` and do not
change."""

CHECKS: Final[Mapping[str, Check]] = {code: kind.check for code, kind in FINDINGS.items() if kind.check}
TRANSIENT: Final = frozenset(code for code, kind in FINDINGS.items() if kind.is_transient)

_NAMES_OF_MEMBERS: Final = frozenset(
    {"cooperative", "eager", "name", "names", "new", "old", "owners", "pinned", "waiting"}
)
"""The parameters of matches that are names of members."""


def run_checks(view: GroupView, without: Collection[str] = ()) -> tuple[Finding, ...]:
    """Run all checks but those ``without``, by code; problems come first."""
    matches = [
        (kind.severity, code, match)
        for code, kind in FINDINGS.items()
        if kind.check and code not in without
        for match in kind.check(view)
    ]
    labels = {member.name: member.label for member in view.members} if matches else {}
    findings = [
        Finding(severity, code, _with_labels(match.parameters, labels), tuple(match.members))
        for severity, code, match in matches
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity is not FindingSeverity.PROBLEM))


def finding_text(finding: Finding) -> str:
    """Render a finding."""
    return FINDINGS[finding.code].text(**finding.parameters)


def _with_labels(parameters: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the parameters with the names of members for people."""
    return {key: _labelled(value, labels) if key in _NAMES_OF_MEMBERS else value for key, value in parameters.items()}


def _labelled(names: str | Sequence[str], labels: Mapping[str, str]) -> str | Sequence[str]:
    return labels.get(names, names) if isinstance(names, str) else [labels.get(name, name) for name in names]
