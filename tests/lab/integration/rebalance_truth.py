"""Why groups rebalanced, as the logs of coordinator, members and driver say: the truth beside which an audit is put.

The coordinator says why it prepares a rebalance ("Adding new member", "removing member on heartbeat expiration", "on
LeaveGroup", "Leader re-joining", "Updating metadata"), and repeats the reason that a client of 3.2 or later gives
(KIP-800). Where the client gives none, its own log has it, and last the driver's: which topics grew, who subscribes to
others. ``member-gone`` (left or timed out) counts as unknown. If generations before one did not complete, it has
several truths, and each of them is right.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field

from tests.lab.integration.peers import Member


@define
class Trigger:
    """Why the coordinator prepared a rebalance, as it logged it."""

    at: str
    """Time of day."""
    number: int
    """The generation before."""
    reason: str
    known: Mapping[str, str]
    """The members that the coordinator knew, and their clients' names."""
    joined: set[str] = field(factory=set)
    """The clients that got a member id while it waited for members."""


@define
class Played:
    """What the driver knows of a group."""

    group: str
    name: str
    members: dict[str, list[Member]] = field(factory=lambda: defaultdict(list))
    steps: list[tuple[str, str]] = field(factory=list)
    """Time of day, and the word."""


def triggers(log: list[str]) -> dict[str, list[Trigger]]:
    """Return why the coordinator prepared each rebalance, by group."""
    found: dict[str, list[Trigger]] = defaultdict(list)
    known: dict[str, dict[str, str]] = defaultdict(dict)
    events: dict[str, str] = {}
    """What happened last in a group of KIP-848; a new epoch follows it."""
    for line in log:
        at = line[:12]
        if match := re.search(
            r"Preparing to rebalance group (\S+) in state \S+ with old generation (-?\d+).*?\(reason: (.*)\)", line
        ):
            group, number, reason = match.groups()
            found[group].append(Trigger(at, int(number), reason, dict(known[group])))
            if gone := re.search(r"[Rr]emoving member (\S+) on ", reason):
                _forget(known[group], gone[1])
            if added := re.search(r"Adding new member (\S+)", reason):
                known[group][added[1]] = client_name(added[1])
        if match := re.search(r"\[GroupId (\S+)\] (.*)", line):
            group, event = match.groups()
            if bumped := re.match(r"Bumped group epoch to (\d+)", event):
                found[group].append(Trigger(at, int(bumped[1]) - 1, events.pop(group, ""), dict(known[group])))
            elif re.search(r"[Mm]ember \S+ (?:joins|left|has left|fenced|updated)|Converted", event):
                events[group] = event
        if match := re.search(r"joins group (\S+) in (\S+) state\. Created a new member id (\S+)", line):
            group, state, member_id = match.groups()
            known[group][member_id] = client_name(member_id)
            if state == "PreparingRebalance":
                found[group][-1].joined.add(client_name(member_id))
        for words in (
            r"[Mm]ember (?P<member>\S+) in group (?P<group>\S+) has (?:failed|left)",
            r"Group (?P<group>\S+): .*?member (?P<member>\S+) .*?(?:removed|left)",
            r"\[Group (?P<group>\S+)\] Member (?P<member>\S+) has left",
        ):
            if match := re.search(words, line):
                _forget(known[match["group"]], match["member"])
    return found


def _forget(known: dict[str, str], member_id: str) -> None:
    """Remove a member; the coordinator does not log the id of a static member that has replaced another one."""
    if known.pop(member_id, None) is None:
        for each in [each for each, name in known.items() if name == client_name(member_id)]:
            del known[each]


def client_name(member_id: str) -> str:
    """Return what the driver calls a member: its client id begins with it."""
    return re.split(r"-StreamThread|-[0-9a-f]{8}-[0-9a-f]{4}-|-kafka-python", member_id)[0]


_EVENTS: Final = (
    (r"will change because static member", "static-member-restarted"),
    (r"Downgrade group|Converted the", "group-converted"),
    # Of groups of KIP-848.
    (r"Member \S+ joins the consumer group", "member-joined"),
    (r"Member \S+ left the consumer group", "member-left"),
    (r"[Mm]ember \S+ fenced from the group because.*(?:session|rebalance timeout) ?expired", "member-timed-out"),
    (r"[Mm]ember \S+ updated its subscribed", "subscription-changed"),
)
"""What the coordinator says of a member or a group, and the cause."""


def truth_of(trigger: Trigger, played: Played, since: str, is_first: bool) -> str | None:
    """Return the cause that the logs tell, or None; ``is_first``: after the last step of the driver."""
    reason, _, client_reason = trigger.reason.partition("client reason: ")
    for pattern, cause in _EVENTS:
        if re.search(pattern, reason):
            return cause
    if match := re.search(r"removing member (\S+) on heartbeat expiration", reason):
        # Its process was started again, and the new member is in the same generation.
        return "member-restarted" if client_name(match[1]) in trigger.joined else "member-timed-out"
    if "LeaveGroup" in reason:
        is_stalled = "poll timeout" in client_reason or _last(played, trigger.at).endswith(":stall")
        return "member-timed-out" if is_stalled else "member-left"
    if match := re.search(r"Adding new member (\S+) with group instance id (?:Some\()?(\w+)", reason):
        again = client_name(match[1]) in [name for member, name in trigger.known.items() if member != match[1]]
        static = match[2] not in ("null", "None")
        return ("static-member-restarted" if static else "member-restarted") if again else "member-joined"
    match = re.search(r"(?:Leader|for member|for static member) (\S+)", reason)
    return _rejoined(trigger, client_reason, played, client_name(match[1]) if match else "", since, is_first)


def _last(played: Played, at: str) -> str:
    return [word for moment, word in played.steps if moment <= at][-1]


_EVIDENCE: Final = (
    # Kafka Streams and our members.
    (r"version probing|version-probing", "version-probing"),
    (r"need to revoke|Revoked partitions[^\[]*\[[^\]]", "follow-up"),
    (r"followup rebalance scheduled for (?:0\b|1970)|immediate rebalance|follow-up", "follow-up"),
    (r"followup rebalance scheduled for", "probing-rebalance"),
    # librdkafka, with debug=cgrp.
    (r"REJOIN.*(?:redistribute|unassign|revoke)", "follow-up"),
    (
        r"(?:REJOIN|REBALANCE|SUBSCRI|GRPRESUB).*(?:new subscription|resubscri|subscription (?:changed|unset))",
        "subscription-changed",
    ),
    (r"metadata has changed|[Mm]etadata.*change|partition count|[Tt]opic.*changed", "leader-rejoined"),
)
"""What the own log of a member says about joining again, and the cause."""


def own_log(played: Played, name: str, since: str, until: str) -> list[str]:
    """Return what the processes of a name logged in an interval; a line without a time has that of the line before."""
    found, moment = [], ""
    for member in played.members.get(name, ()):
        for line in list(member.lines):
            moment = _moment(line) or moment
            if since <= moment <= until:
                found.append(line)
    return found


def _moment(line: str) -> str:
    if match := re.match(r"%\d\|(\d+)\.(\d{3})", line):
        return _clock_of(int(match[1] + match[2]))
    match = re.match(r"(?:rejoins )?(\d\d:\d\d:\d\d\.\d{3})", line)
    return match[1] if match else ""


def _rejoined(
    trigger: Trigger, client_reason: str, played: Played, name: str, since: str, is_first: bool
) -> str | None:
    """Say why a member joined again: by the reason that it gave, by its own log, or by what the driver did before."""
    own = "\n".join(own_log(played, name, since, trigger.at))
    if (match := re.search(r"followup rebalance scheduled for (\d+)", client_reason)) and match[1] != "0":
        return "probing-rebalance"
    given = client_reason + "\n" + own
    found = next((cause for pattern, cause in _EVIDENCE if re.search(pattern, given)), None)
    step = _last(played, trigger.at)
    if found in (None, "leader-rejoined") and is_first:
        if step.startswith("+"):
            return "partitions-added"
        if step.endswith(":subscribe"):
            return "subscription-changed"
    return found


def compare(rows: list[dict[str, Any]], log: list[str], played: list[Played]) -> list[dict[str, Any]]:
    """Return the truth and the audit's cause of each rebalance."""
    of_broker = triggers(log)
    found = []
    for one in played:
        before: dict[str, Any] | None = None
        for row in sorted((row for row in rows if row["group"] == one.group), key=lambda row: row["offset"]):
            number = before["generation"] if before else -1
            since = [each for each in of_broker[one.group] if number <= each.number < row["generation"]]
            moment = _clock_of(before["time"]) if before else "00:00:00.000"
            step = max((at for at, _ in one.steps if not since or at <= since[0].at), default="")
            truths = [truth_of(each, one, moment, moment < step) for each in since]
            if before and before["type"] != row["type"]:
                converted = f"[GroupId {one.group}] Converted the {before['type']} group to a {row['type']} group"
                truths = ["group-converted"] if any(converted in line for line in log) else [None]
            elif row["members"] == 0:
                truths = ["all-members-left"] if before else []
            elif before is None or before["members"] == 0:
                truths = ["group-started"]
            if truths:
                verdict = _verdict(row, truths)
                facts = {"scenario": one.name, "generation": row["generation"], "truths": truths, "verdict": verdict}
                found.append({**facts, "cause": row["cause"], "confidence": row["confidence"], "detail": row["detail"]})
                found[-1]["reasons"] = [each.reason for each in since]
                found[-1]["own"] = _rejoin_lines(one, since, moment)
            before = row
    return found


def _rejoin_lines(played: Played, since: list[Trigger], moment: str) -> list[str]:
    """Return what members logged about joining again, to look at."""
    words = "|".join(pattern for pattern, _ in _EVIDENCE) + "|REJOIN"
    found = []
    for each in since:
        match = re.search(r"(?:Leader|for member|for static member) (\S+)", each.reason)
        lines = own_log(played, client_name(match[1]), moment, each.at) if match else []
        found += [line[:200] for line in lines if re.search(words, line)]
    return found


def _clock_of(ms: int) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(ms // 1000))}.{ms % 1000:03}"


def _verdict(row: dict[str, Any], truths: list[str | None]) -> str:
    if not any(truths):
        return "no truth"
    if row["confidence"] == "unknown" or row["cause"] in ("unknown", "member-gone"):
        return "unknown"
    return "right" if row["cause"] in truths else "wrong"
