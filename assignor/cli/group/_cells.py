"""Cells of the tables of groups, which the protocols share: a member, its tasks, its epoch, what is still to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from typing import Final

from rich.text import Text

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.formats.text import count, format_seconds, join_names, printable
from streams_assignor.groups import BrokerGroup, DescribedSubtopology, InspectedGroup
from streams_assignor.groups.broker_assigned.reconciliation import Reconciliation, Thing
from streams_assignor.groups.broker_assigned.topics import task_count
from streams_assignor.groups.decoded import OffsetSumTotals
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.member_names import shorten_uuids
from streams_assignor.groups.standbys import StandbyKind
from streams_assignor.upgrade.input_values import InvalidInput, parse_number

_SHOWN_SUBTOPOLOGIES: Final = 8
_SHOWN_TOPICS: Final = 4
_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "not-stored": "none: the broker has no plug-in that stores it, or no member of 4.4 or later has sent it",
    "error": "unknown: the broker could not fetch it; its log has the reason",
    "not-understood": "unknown: it has a form that this program does not know",
}
"""The meaning of the status of a missing topology description."""
_SETTINGS: Final[Mapping[str, str]] = {
    # the last part of the name of a setting: what it is called here
    "num.standby.replicas": "standbys",
    "session.timeout.ms": "session",
    "heartbeat.interval.ms": "heartbeat",
    "initial.rebalance.delay.ms": "initial delay",
    "assignment.interval.ms": "assignment interval",
    "num.warmup.replicas": "warm-ups",
    "acceptable.recovery.lag": "acceptable lag",
    "task.offset.interval.ms": "task offset interval",
    "rack.aware.assignment.tags": "rack tags",
    "assignor.name": "assignor",
}


def member_cell(group: InspectedGroup, member: InspectedMember, *, bad: bool) -> Text:
    """Name a member by instance id and client id, then host; by its UUID only beside them."""
    raw = member.described
    client = shorten_uuids(raw.client_id.removeprefix(f"{group.described.name}-").removesuffix("-consumer"))
    beside = "static" if raw.group_instance_id else member.name if client else ""
    place = " ".join(filter(None, (raw.host.removeprefix("/"), beside)))
    names = [*filter(None, (raw.group_instance_id, client))] or [member.name]
    style = "bold red" if bad else "bold"
    return stacked((names[0], style), *((name, "") for name in names[1:]), (place, "dim"))


def tasks_cell(group: InspectedGroup, member: InspectedMember) -> Text:
    got, sent = member.assignment, member.subscription
    if not group.has_tasks:
        return Text(printable(format_partitions(got.partitions)))
    broker = member.described.broker_assignment
    sums = OffsetSumTotals.summarize((broker.offset_sums if broker else sent.offset_sums) or {})
    tasks = {
        "active": format_tasks(got.active),
        **{copy.value: format_tasks(group.standbys_of(member, copy)) for copy in StandbyKind},
    }
    facts = {
        **tasks,
        "sums": _offset_sums_text(sums),
        "process": shorten_uuids(str(sent.process_id)) if sent.process_id else "",
        "end point": sent.user_end_point,
        "rack": sent.rack or "",
        "tags": " ".join(f"{key}={value}" for key, value in sent.client_tags.items()),
        "levels": " ".join(f"{name}={level}" for name, level in {**got.levels, **sent.levels}.items()),
        "error": " ".join(
            filter(None, (f"sent {sent.error_code}" if sent.error_code else "", str(got.error_code or "")))
        ),
        "rejoins": "" if got.next_rebalance_ms is None else _rebalance_time(got.next_rebalance_ms),
    }
    return _facts_text(facts, is_idle=not any(tasks.values()))


def _facts_text(facts: Mapping[str, str], *, is_idle: bool) -> Text:
    """Write one line for each fact that there is."""
    lines = [
        Text.assemble((f"{name} ", "dim"), (printable(text), _FACT_STYLES.get(name, "")))
        for name, text in facts.items()
        if text
    ]
    nothing = [Text("no tasks", style="dim")] if is_idle else []
    return Text("\n").join([*nothing, *lines])


_FACT_STYLES: Final[Mapping[str, str]] = {
    "active": "green",
    "error": "red",
    "warm-up": "yellow",
    "rejoins": "yellow",
}


def _offset_sums_text(sums: OffsetSumTotals) -> str:
    """Summarize the offset sums of a subscription."""
    parts = (
        f"{sums.running} running" if sums.running else "",
        f"{sums.restored_tasks} at {sums.total:,}" + (" in all" if sums.restored_tasks > 1 else "")
        if sums.restored_tasks
        else "",
        f"{sums.unknown} unknown" if sums.unknown else "",
    )
    return ", ".join(filter(None, parts))


def _rebalance_time(milliseconds: int) -> str:
    if not milliseconds:
        return "immediately"
    try:
        return f"at {datetime.fromtimestamp(milliseconds / 1000):%Y-%m-%d %H:%M:%S}"
    except (OSError, OverflowError, ValueError):
        return f"at {milliseconds} ms"


def stacked(*lines: tuple[str, str]) -> Text:
    return Text("\n").join(Text(printable(line), style=style) for line, style in lines if line)


def format_tasks(tasks: Iterable[TaskId]) -> str:
    """Write tasks, with runs of partitions.

    >>> format_tasks([TaskId(0, 0), TaskId(0, 1), TaskId(0, 2), TaskId(1, 0)])
    '0_0–2 1_0'
    """
    by_subtopology = groupby(tasks, key=lambda task: (task.topology, task.subtopology))
    return " ".join(
        f"{TaskId(number, 0, topology)}".removesuffix("0") + _format_runs(task.partition for task in run)
        for (topology, number), run in by_subtopology
    )


def format_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Write partitions, with runs of numbers.

    >>> format_partitions([TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 7)])
    'a 0–1, b 7'
    """
    by_topic = groupby(partitions, key=lambda partition: partition.topic)
    return ", ".join(f"{topic} {_format_runs(partition.partition for partition in run)}" for topic, run in by_topic)


def _format_runs(numbers: Iterable[int]) -> str:
    """Write ascending numbers as runs: ``0–2,5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join("–".join(map(str, dict.fromkeys((run[0], run[-1])))) for run in runs)


# -- groups whose broker assigns --------------------------------------------------------------------------------------


def broker_facts(group: InspectedGroup) -> dict[str, str]:
    """Return the named lines above the members; empty for a classic group."""
    broker = group.described.broker
    if broker is None:
        return {}
    epochs = f"group {broker.epoch}, assignment {broker.assignment_epoch}"
    facts = {"epochs": f"{epochs}, topology {broker.topology.epoch}" if broker.topology else epochs}
    if broker.configs:
        facts["settings"] = ", ".join(_settings(broker.configs))
    if broker.topology:
        releases = dict.fromkeys(filter(None, map(group.releases_of, group.members)))
        facts["releases"] = join_names(releases) if releases else ""
        facts["topology"] = "\n".join(_topology_lines(group, broker.topology.subtopologies))
        facts["description"] = _description_text(broker)
    return facts


def _settings(configs: Mapping[str, str]) -> Iterator[str]:
    for name, label in _SETTINGS.items():
        values = [value for key, value in configs.items() if key.partition(".")[2] == name]
        for value in values:
            if value:
                yield f"{label} {_seconds_text(value) if name.endswith('.ms') else value}"


def _seconds_text(milliseconds: str) -> str:
    try:
        return format_seconds(parse_number(milliseconds) / 1000)
    except InvalidInput:
        return milliseconds


def _topology_lines(group: InspectedGroup, subtopologies: Iterable[DescribedSubtopology]) -> Iterator[str]:
    listed = list(subtopologies)
    for subtopology in listed[:_SHOWN_SUBTOPOLOGIES]:
        tasks = task_count(subtopology, group.described.partition_counts)
        size = "" if tasks is None else f", {count(tasks, 'task')}"
        state = f", {count(len(subtopology.changelogs), 'changelog')}" if subtopology.changelogs else ""
        stores = _stores_of(group, subtopology)
        stores_text = f", stores {join_names(stores, _SHOWN_TOPICS)}" if stores else ""
        sinks = (
            f" → {join_names(subtopology.repartition_sink_topics, _SHOWN_TOPICS)}"
            if subtopology.repartition_sink_topics
            else ""
        )
        inputs = join_names(subtopology.input_topics or ("no topic",), _SHOWN_TOPICS)
        yield f"{subtopology.name}: {inputs}{sinks}{size}{state}{stores_text}"
    if left_out := len(listed[_SHOWN_SUBTOPOLOGIES:]):
        yield f"… and {left_out} more; --json has all"


def _stores_of(group: InspectedGroup, subtopology: DescribedSubtopology) -> list[str]:
    """Return the names of the stores of a subtopology, if the topology is described."""
    nodes = (group.described.broker.topology_description if group.described.broker else None) or ()
    return sorted({store for node in nodes if str(node.subtopology) == subtopology.name for store in node.stores})


def _description_text(broker: BrokerGroup) -> str:
    """Summarize the topology description (KIP-1331); empty with brokers before 4.4."""
    status = broker.topology_description_status
    if broker.topology_description is None:
        return _DESCRIPTIONS.get(status, status) if status else ""
    nodes = broker.topology_description
    global_stores = {store for node in nodes if node.subtopology is None for store in node.stores}
    shown = f", global {join_names(sorted(global_stores), _SHOWN_TOPICS)}" if global_stores else ""
    return f"{count(len(nodes), 'node')}{shown}; --json has them"


def epoch_cell(group: InspectedGroup, member: InspectedMember) -> Text:
    """Render the epoch of a member; yellow while it has not confirmed its target assignment."""
    assignment = member.described.broker_assignment
    if assignment is None:
        return Text("–")
    confirmed = group.reconciliations[member.name].is_confirmed
    topology = group.described.broker.topology if group.described.broker else None
    is_stale = topology is not None and assignment.topology_epoch < topology.epoch
    return stacked(
        ("away" if assignment.is_away else str(assignment.epoch), "" if confirmed else "yellow"),
        (f"topology {assignment.topology_epoch}" if is_stale else "", "red"),
        ("classic" if assignment.is_classic else "", "yellow"),
    )


def pending_cell(group: InspectedGroup, member: InspectedMember) -> Text:
    """Render what a member waits for, and what it has to revoke."""
    reconciliation = group.reconciliations.get(member.name)
    if reconciliation is None or reconciliation.is_complete:
        return Text("")
    return stacked(*((line, "yellow") for line in _pending_lines(reconciliation)))


def is_pending(group: InspectedGroup) -> bool:
    """Whether a member does not have its target assignment."""
    return any(not reconciliation.is_complete for reconciliation in group.reconciliations.values())


def _pending_lines(reconciliation: Reconciliation) -> Iterator[str]:
    if not reconciliation.is_confirmed:
        yield "has to return, or its session to end" if reconciliation.is_away else "has to confirm its target"
    for (role, holders), awaited_here in groupby(
        reconciliation.awaited, key=lambda awaited: (awaited.role, awaited.holders)
    ):
        source = f" from {join_names(holders, limit=3)}" if holders else ""
        yield f"gets {_things(role, [awaited.thing for awaited in awaited_here])}{source}"
    for role, revoked in groupby(reconciliation.to_revoke, key=lambda pair: pair[0]):
        yield f"revokes {_things(role, [thing for _, thing in revoked])}"


def _things(role: str, things: Iterable[Thing]) -> str:
    listed = list(things)
    tasks = [thing for thing in listed if isinstance(thing, TaskId)]
    partitions = [thing for thing in listed if not isinstance(thing, TaskId)]
    return printable(f"{role} {format_tasks(tasks)}" if tasks else format_partitions(partitions))
