"""Texts of findings: a function with the name of each code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from streams_assignor.formats.text import count, join_names
from streams_assignor.groups._messages import upgrade_text, verb
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.upgrade_status import UpgradeStatus
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


def not_described(error: str = "", state: str = "") -> str:
    return f"not described: {error or f'the broker lists the group as {state} and shows no members'}"


def partly_described(error: str) -> str:
    return f"not completely described: {error}"


def not_ready() -> str:
    return "the broker assigns no task (NotReady): topics are missing, or have the wrong number of partitions"


def missing_source_topics(topics: Sequence[str]) -> str:
    return f"{_things('source topic', topics)} missing: create {_them(topics)}"


def missing_internal_topics(topics: Sequence[str]) -> str:
    return f"{_things('internal topic', topics)} missing: the broker creates them, if the members' user may"


def incorrectly_partitioned_topics(
    wrong: Sequence[tuple[str, int, int]] = (), unequal: Mapping[str, int] | None = None
) -> str:
    if unequal:
        counts = join_names(f"{topic} ({number})" for topic, number in unequal.items())
        return f"source topics of one subtopology differ in their number of partitions: {counts}; joins need equal ones"
    return "internal topics have the wrong number of partitions: " + join_names(
        f"{topic} has {actual} and needs {expected}" for topic, actual, expected in wrong
    )


def stale_topology(names: Sequence[str], epoch: int, group_epoch: int) -> str:
    return (
        f"{verb(names, 'has', 'have')} topology epoch {epoch}, the group {group_epoch}: restart with the new topology"
    )


def missing_client_tags(names: Sequence[str], tags: Sequence[str]) -> str:
    return (
        f"{verb(names, 'sends', 'send')} no client tag {join_names(tags)} of streams.rack.aware.assignment.tags: set "
        f"{join_names(f'client.tag.{tag}' for tag in tags)}"
    )


def assignment_delayed(epoch: int, assignment_epoch: int) -> str:
    return (
        f"the broker has not computed the assignment of epoch {epoch} yet (the last one is of epoch {assignment_epoch})"
    )


def unreconciled(name: str, confirmed: bool, things: Sequence[str], waiting: Sequence[str]) -> str:
    action = "has to revoke" if confirmed else "has not confirmed its target assignment"
    if not waiting:
        return f"{name} {action}"
    revoked = f" {join_names(things)}" if things and confirmed else ""
    need = f" for {join_names(things)}" if things and not confirmed else ""
    return f"{name} {action}{revoked}; {verb(waiting, 'waits', 'wait')}{need}"


def static_member_away(name: str, things: Sequence[str]) -> str:
    left = f": nobody works on {join_names(things)} until it returns or its session ends" if things else ""
    return f"{name} is a static member that has left for a while{left}"


def too_few_standbys(tasks: Sequence[str], wanted: int, least: int, processes: int) -> str:
    reason = f"; there {'is' if processes == 1 else 'are'} only {processes} process{'es' * (processes > 1)}"
    return (
        f"{count(len(tasks), 'task')} with state ({join_names(tasks)}) "
        f"{'has' if len(tasks) == 1 else 'have'} fewer standbys than the {wanted} of streams.num.standby.replicas, "
        f"at least {least}{reason if processes <= wanted else ''}"
    )


def without_end_point(names: Sequence[str]) -> str:
    return f"{verb(names, 'has', 'have')} no application.server, others do: interactive queries do not find its state"


def classic_members(names: Sequence[str]) -> str:
    return f"{verb(names, 'uses', 'use')} the classic protocol still: the group is being migrated"


def not_classic(group_type: str) -> str:
    meaning = _GROUP_TYPES.get(group_type, "members send no metadata that could be decoded")
    return f"a group of type {group_type} ({meaning})"


def not_streams(protocol_type: str | None = None, protocol: str | None = None) -> str:
    if protocol_type == "connect":
        return "workers of Kafka Connect: they run connectors and tasks, not partitions of topics; they are not shown"
    if protocol_type:
        return f"the protocol type is {protocol_type}, not consumer: not a group of consumers"
    return f"the assignor is {protocol}, not stream: there are partitions, but no versions and no tasks"


def no_online_conversion(names: Sequence[str], protocol: str) -> str:
    return (
        f"the assignor {protocol} has put userdata into the {'assignment' if len(names) == 1 else 'assignments'} of "
        f"{join_names(names)}: the group cannot be converted online to group.protocol=consumer (KIP-848), and the "
        "first member that tries ends with GROUP_ID_NOT_FOUND (KAFKA-18134): stop all members, wait until it is empty "
        "(group wait NAME empty), and start them with that protocol; committed offsets stay"
    )


def unsettled(state: str) -> str:
    hidden = "; until it is stable the broker shows no metadata" if state in WITHOUT_METADATA else ""
    return _STATES.get(state, f"the group is rebalancing ({state}){hidden}")


def unreadable(name: str, problem: str) -> str:
    return f"{name} cannot be read: {problem}"


def cannot_read(name: str, version: int, supported: int) -> str:
    return f"{name} received version {version} and supports {supported}: it cannot read its assignment"


def cannot_probe(old: Sequence[str], new: Sequence[str], version: int) -> str:
    subject = f"{verb(old, 'seems', 'seem')} to be of a release before 2.0"
    return subject + _leader_failure(new, version)


def may_not_probe(old: Sequence[str], new: Sequence[str], version: int) -> str:
    subject = f"{join_names(old)} may be of a release before 2.0 (with upgrade.from set there is no problem)"
    return subject + _leader_failure(new, version)


def _leader_failure(new: Sequence[str], version: int) -> str:
    return (
        ", which cannot probe versions (KIP-268): if such a member leads, it fails on version "
        f"{version}, which {verb(new, 'sends', 'send')}"
    )


def upgrade_from(pinned: Sequence[str], versions: Sequence[int], others: bool) -> str:
    advice = "keep it until all other members are upgraded" if others else "no member needs it any more"
    return (
        f"{verb(pinned, 'sends', 'send')} version {join_names(versions)} in an envelope of 2.4 or later: upgrade.from "
        f"is still set; {advice}"
    )


def maybe_upgrade_from(names: Sequence[str], versions: Sequence[int], releases: object) -> str:
    return f"{verb(names, 'sends', 'send')} version {join_names(versions)}: {releases}"


def could_speak_more(status: UpgradeStatus) -> str:
    return f"{upgrade_text(status)}; if this lasts, a follow-up rebalance was lost (KAFKA-10455)"


def mixed_protocols(eager: Sequence[str], cooperative: Sequence[str]) -> str:
    return (
        f"{verb(eager, 'is', 'are')} eager and {join_names(cooperative)} cooperative: tasks can have two owners "
        "(KIP-429); do a rolling restart with upgrade.from first"
    )


def same_process(process_id: object, hosts: Sequence[str]) -> str:
    return f"process id {process_id} is on {len(hosts)} hosts ({join_names(hosts)}): was a state directory copied?"


def error_code(name: str, code: int, received: bool) -> str:
    meaning = _ERROR_CODES.get(code, f"unknown code {code}")
    return f"{name} {'received' if received else 'sent'} an error: {meaning}"


def no_assignment(names: Sequence[str]) -> str:
    return f"the leader assigned nothing to {join_names(names)}"


def owned_twice(owners: Sequence[str], tasks: Sequence[str] = (), partitions: Sequence[str] = ()) -> str:
    if tasks:
        return f"{_things('task', tasks)} active twice, on {join_names(owners)}"
    return f"{_things('partition', partitions)} assigned twice, to {join_names(owners)}"


def without_owner(tasks: Sequence[str] = (), partitions: Sequence[str] = ()) -> str:
    if tasks:
        return f"{_things('task', tasks)} not active on any member"
    return f"{_things('partition', partitions)} not assigned to any member"


def end_point_missing(name: str, end_point: str, hosts: Sequence[str]) -> str:
    shown = join_names(hosts, limit=3)
    return (
        f"{name} has application.server {quote_input(end_point)}, and the leader has found {shown}: it rejoins after "
        "every rebalance, and the group never settles; write HOST:PORT"
    )


def not_subscribed(name: str, topics: Sequence[str]) -> str:
    return (
        f"{name} has partitions of {join_names(topics)} and does not subscribe to {_them(topics)}: unless it does so "
        "by a pattern, the leader runs another topology, and the member fails or rejoins without end; give a changed "
        "topology a new application.id, or stop all members before they start with it"
    )


def rejoins(names: Sequence[str], causes: Sequence[str]) -> str:
    return (
        f"{verb(names, 'rejoins', 'rejoin')} at once: {' and '.join(causes)}; if this lasts, the group does not settle"
    )


def moving(**things: Sequence[str]) -> str:
    return f"{without_owner(**things)} yet: a rebalance follows immediately"


def lag(partitions: Sequence[str], limit: int) -> str:
    return f"{count(len(partitions), 'partition')} with a lag above {limit:,}: {join_names(partitions)}"


def unknown_lag(partitions: Sequence[str], failures: Sequence[str]) -> str:
    reason = join_names(failures) if failures else "there is no commit"
    if not partitions:
        return f"the lag is unknown ({reason})"
    return f"the lag of {count(len(partitions), 'partition')} is unknown ({reason}): {join_names(partitions)}"


def no_members() -> str:
    return "no members, and the lag grows: records come that nobody reads"


def too_few_members(members: int, expected: int) -> str:
    return f"{count(members, 'member')} instead of at least {expected}"


def crash_loop(place: str, joins: int, minutes: int) -> str:
    return f"{place} joins again and again, at least {joins} times in {minutes} min: does it fail after its start?"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _things(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'s' * (len(names) > 1)} {verb(names, 'is', 'are')}"


def large(size: int, limit: int) -> str:
    return (
        f"metadata of {size:,} bytes, {size / limit:.0%} of what the broker can store of a group; above the limit no "
        "rebalance completes (raise max.message.bytes of __consumer_offsets)"
    )
