"""Texts of findings, of the upgrade status and of changes: one template for each code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.formats.text import count, join_names
from streams_assignor.groups.check import Finding
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.upgrade_status import Stage, UpgradeStatus
from streams_assignor.upgrade.errors import quote_input

_GROUP_TYPES: Final[Mapping[str, str]] = {
    "share": "KIP-932, a share group: no partition is assigned for long, and there is no metadata",
}
_STATES: Final[Mapping[str, str]] = {
    "Empty": "the group has no members; a description does not show whether it has committed offsets",
    "Dead": "the group is dead: the broker is about to delete it",
}
_ERROR_CODES: Final[Mapping[int, str]] = {
    1: "a source topic is missing (1)",
    2: "version probing (2)",
    3: "the assignment failed (3)",
    4: "an application requested a shutdown of all members (4)",
}


@frozen
class Change:
    """One change of a group between two looks; ``diff.find_changes`` finds it."""

    code: str
    """``first-seen``, ``state``, ``epoch``, ``replaced``, ``back``, ``joined``, ``left``, ``version``, ``upgrade`` or
    ``task``."""

    parameters: Mapping[str, Any]
    """Keyword arguments of the code's template."""


def finding_text(finding: Finding) -> str:
    """Render a finding."""
    return TEMPLATES[finding.code](**finding.parameters)


def upgrade_text(status: UpgradeStatus) -> str:
    """Render where an upgrade stands."""
    if status.stage is Stage.UNKNOWN or status.common is None:
        return "unknown: no member shows a version"
    unreadable = f"; {status.unreadable} cannot be read" if status.unreadable else ""
    return _stage_text(status, status.common) + unreadable


def change_text(change: Change) -> str:
    """Render a change."""
    return _CHANGES[change.code](**change.parameters)


# -- findings: one function for each code --------------------------------------------------------------------------


def _verb(names: Sequence[str], singular: str, plural: str) -> str:
    return f"{join_names(names)} {singular if len(names) == 1 else plural}"


def _not_described(error: str = "", state: str = "") -> str:
    return f"not described: {error or f'the broker lists the group as {state} and shows no members'}"


def _partly_described(error: str) -> str:
    return f"not completely described: {error}"


def _not_ready() -> str:
    return "the broker assigns no task (NotReady): topics are missing, or have the wrong number of partitions"


def _missing_source_topics(topics: Sequence[str]) -> str:
    return f"{_things('source topic', topics)} missing: create {_them(topics)}"


def _missing_internal_topics(topics: Sequence[str]) -> str:
    return f"{_things('internal topic', topics)} missing: the broker creates them, if the members' user may"


def _incorrectly_partitioned_topics(
    wrong: Sequence[tuple[str, int, int]] = (), unequal: Mapping[str, int] | None = None
) -> str:
    if unequal:
        counts = join_names(f"{topic} ({number})" for topic, number in unequal.items())
        return f"source topics of one subtopology differ in their number of partitions: {counts}; joins need equal ones"
    return "internal topics have the wrong number of partitions: " + join_names(
        f"{topic} has {actual} and needs {expected}" for topic, actual, expected in wrong
    )


def _stale_topology(names: Sequence[str], epoch: int, group_epoch: int) -> str:
    return (
        f"{_verb(names, 'has', 'have')} topology epoch {epoch}, the group {group_epoch}: restart with the new topology"
    )


def _missing_client_tags(names: Sequence[str], tags: Sequence[str]) -> str:
    return (
        f"{_verb(names, 'sends', 'send')} no client tag {join_names(tags)} of streams.rack.aware.assignment.tags: set "
        f"{join_names(f'client.tag.{tag}' for tag in tags)}"
    )


def _assignment_delayed(epoch: int, assignment_epoch: int) -> str:
    return (
        f"the broker has not computed the assignment of epoch {epoch} yet (the last one is of epoch {assignment_epoch})"
    )


def _unreconciled(name: str, confirmed: bool, things: Sequence[str], waiting: Sequence[str]) -> str:
    action = "has to revoke" if confirmed else "has not confirmed its target assignment"
    if not waiting:
        return f"{name} {action}"
    revoked = f" {join_names(things)}" if things and confirmed else ""
    need = f" for {join_names(things)}" if things and not confirmed else ""
    return f"{name} {action}{revoked}; {_verb(waiting, 'waits', 'wait')}{need}"


def _static_member_away(name: str, things: Sequence[str]) -> str:
    left = f": nobody works on {join_names(things)} until it returns or its session ends" if things else ""
    return f"{name} is a static member that has left for a while{left}"


def _too_few_standbys(tasks: Sequence[str], wanted: int, least: int, processes: int) -> str:
    reason = f"; there {'is' if processes == 1 else 'are'} only {processes} process{'es' * (processes > 1)}"
    return (
        f"{count(len(tasks), 'task')} with state ({join_names(tasks)}) "
        f"{'has' if len(tasks) == 1 else 'have'} fewer standbys than the {wanted} of streams.num.standby.replicas, "
        f"at least {least}{reason if processes <= wanted else ''}"
    )


def _without_end_point(names: Sequence[str]) -> str:
    return f"{_verb(names, 'has', 'have')} no application.server, others do: interactive queries do not find its state"


def _classic_members(names: Sequence[str]) -> str:
    return f"{_verb(names, 'uses', 'use')} the classic protocol still: the group is being migrated"


def _not_classic(group_type: str) -> str:
    meaning = _GROUP_TYPES.get(group_type, "members send no metadata that could be decoded")
    return f"a group of type {group_type} ({meaning})"


def _not_streams(protocol_type: str | None = None, protocol: str | None = None) -> str:
    if protocol_type == "connect":
        return "workers of Kafka Connect: they run connectors and tasks, not partitions of topics; they are not shown"
    if protocol_type:
        return f"the protocol type is {protocol_type}, not consumer: not a group of consumers"
    return f"the assignor is {protocol}, not stream: there are partitions, but no versions and no tasks"


def _no_online_conversion(names: Sequence[str], protocol: str) -> str:
    return (
        f"the assignor {protocol} has put userdata into the {'assignment' if len(names) == 1 else 'assignments'} of "
        f"{join_names(names)}: the group cannot be converted online to group.protocol=consumer (KIP-848), and the "
        "first member that tries ends with GROUP_ID_NOT_FOUND (KAFKA-18134): stop all members, wait until it is empty "
        "(--wait empty), and start them with that protocol; committed offsets stay"
    )


def _unsettled(state: str) -> str:
    hidden = "; until it is stable the broker shows no metadata" if state in WITHOUT_METADATA else ""
    return _STATES.get(state, f"the group is rebalancing ({state}){hidden}")


def _unreadable(name: str, problem: str) -> str:
    return f"{name} cannot be read: {problem}"


def _cannot_read(name: str, version: int, supported: int) -> str:
    return f"{name} received version {version} and supports {supported}: it cannot read its assignment"


def _cannot_probe(old: Sequence[str], new: Sequence[str], version: int) -> str:
    subject = f"{_verb(old, 'seems', 'seem')} to be of a release before 2.0"
    return subject + _leader_failure(new, version)


def _may_not_probe(old: Sequence[str], new: Sequence[str], version: int) -> str:
    subject = f"{join_names(old)} may be of a release before 2.0 (with upgrade.from set there is no problem)"
    return subject + _leader_failure(new, version)


def _leader_failure(new: Sequence[str], version: int) -> str:
    return (
        ", which cannot probe versions (KIP-268): if such a member leads, it fails on version "
        f"{version}, which {_verb(new, 'sends', 'send')}"
    )


def _upgrade_from(pinned: Sequence[str], versions: Sequence[int], others: bool) -> str:
    advice = "keep it until all other members are upgraded" if others else "no member needs it any more"
    return (
        f"{_verb(pinned, 'sends', 'send')} version {join_names(versions)} in an envelope of 2.4 or later: upgrade.from "
        f"is still set; {advice}"
    )


def _maybe_upgrade_from(names: Sequence[str], versions: Sequence[int], releases: object) -> str:
    return f"{_verb(names, 'sends', 'send')} version {join_names(versions)}: {releases}"


def _could_speak_more(status: UpgradeStatus) -> str:
    return f"{upgrade_text(status)}; if this lasts, a follow-up rebalance was lost (KAFKA-10455)"


def _mixed_protocols(eager: Sequence[str], cooperative: Sequence[str]) -> str:
    return (
        f"{_verb(eager, 'is', 'are')} eager and {join_names(cooperative)} cooperative: tasks can have two owners "
        "(KIP-429); do a rolling restart with upgrade.from first"
    )


def _same_process(process_id: object, hosts: Sequence[str]) -> str:
    return f"process id {process_id} is on {len(hosts)} hosts ({join_names(hosts)}): was a state directory copied?"


def _error_code(name: str, code: int, received: bool) -> str:
    meaning = _ERROR_CODES.get(code, f"unknown code {code}")
    return f"{name} {'received' if received else 'sent'} an error: {meaning}"


def _no_assignment(names: Sequence[str]) -> str:
    return f"the leader assigned nothing to {join_names(names)}"


def _owned_twice(owners: Sequence[str], tasks: Sequence[str] = (), partitions: Sequence[str] = ()) -> str:
    if tasks:
        return f"{_things('task', tasks)} active twice, on {join_names(owners)}"
    return f"{_things('partition', partitions)} assigned twice, to {join_names(owners)}"


def _without_owner(tasks: Sequence[str] = (), partitions: Sequence[str] = ()) -> str:
    if tasks:
        return f"{_things('task', tasks)} not active on any member"
    return f"{_things('partition', partitions)} not assigned to any member"


def _end_point_missing(name: str, end_point: str, hosts: Sequence[str]) -> str:
    shown = join_names(hosts, limit=3)
    return (
        f"{name} has application.server {quote_input(end_point)}, and the leader has found {shown}: it rejoins after "
        "every rebalance, and the group never settles; write HOST:PORT"
    )


def _not_subscribed(name: str, topics: Sequence[str]) -> str:
    return (
        f"{name} has partitions of {join_names(topics)} and does not subscribe to {_them(topics)}: unless it does so "
        "by a pattern, the leader runs another topology, and the member fails or rejoins without end; give a changed "
        "topology a new application.id, or stop all members before they start with it"
    )


def _rejoins(names: Sequence[str], causes: Sequence[str]) -> str:
    return (
        f"{_verb(names, 'rejoins', 'rejoin')} at once: {' and '.join(causes)}; if this lasts, the group does not settle"
    )


def _moving(**things: Sequence[str]) -> str:
    return f"{_without_owner(**things)} yet: a rebalance follows immediately"


def _lag(partitions: Sequence[str], limit: int) -> str:
    return f"{count(len(partitions), 'partition')} with a lag above {limit:,}: {join_names(partitions)}"


def _unknown_lag(partitions: Sequence[str], failures: Sequence[str]) -> str:
    reason = join_names(failures) if failures else "there is no commit"
    if not partitions:
        return f"the lag is unknown ({reason})"
    return f"the lag of {count(len(partitions), 'partition')} is unknown ({reason}): {join_names(partitions)}"


def _no_members() -> str:
    return "no members, and the lag grows: records come that nobody reads"


def _too_few_members(members: int, expected: int) -> str:
    return f"{count(members, 'member')} instead of at least {expected}"


def _crash_loop(place: str, joins: int, minutes: int) -> str:
    return f"{place} joins again and again, at least {joins} times in {minutes} min: does it fail after its start?"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _things(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'s' * (len(names) > 1)} {_verb(names, 'is', 'are')}"


def _large(size: int, limit: int) -> str:
    return (
        f"metadata of {size:,} bytes, {size / limit:.0%} of what the broker can store of a group; above the limit no "
        "rebalance completes (raise max.message.bytes of __consumer_offsets)"
    )


TEMPLATES: Final[Mapping[str, Callable[..., str]]] = {
    "not-described": _not_described,
    "partly-described": _partly_described,
    "not-ready": _not_ready,
    "missing-source-topics": _missing_source_topics,
    "missing-internal-topics": _missing_internal_topics,
    "incorrectly-partitioned-topics": _incorrectly_partitioned_topics,
    "stale-topology": _stale_topology,
    "missing-client-tags": _missing_client_tags,
    "assignment-delayed": _assignment_delayed,
    "unreconciled": _unreconciled,
    "static-member-away": _static_member_away,
    "too-few-standbys": _too_few_standbys,
    "without-end-point": _without_end_point,
    "classic-members": _classic_members,
    "not-classic": _not_classic,
    "not-streams": _not_streams,
    "no-online-conversion": _no_online_conversion,
    "unsettled": _unsettled,
    "unreadable": _unreadable,
    "cannot-read": _cannot_read,
    "cannot-probe": _cannot_probe,
    "may-not-probe": _may_not_probe,
    "upgrade-from": _upgrade_from,
    "maybe-upgrade-from": _maybe_upgrade_from,
    "could-speak-more": _could_speak_more,
    "mixed-protocols": _mixed_protocols,
    "same-process": _same_process,
    "error-code": _error_code,
    "no-assignment": _no_assignment,
    "owned-twice": _owned_twice,
    "without-owner": _without_owner,
    "end-point-missing": _end_point_missing,
    "not-subscribed": _not_subscribed,
    "rejoins": _rejoins,
    "moving": _moving,
    "crash-loop": _crash_loop,
    "lag": _lag,
    "no-members": _no_members,
    "too-few-members": _too_few_members,
    "unknown-lag": _unknown_lag,
    "large": _large,
    "too-large": _large,
}
"""Texts by code: those of ``checks.CHECKS``, those that take several looks, and those of limits."""


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
    return f"waiting for {_verb(status.waiting_labels, '(supports', '(support')} {common})"


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
