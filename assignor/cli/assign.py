"""``streams-assignor assign``: what a group would get from an assignor of a release of Kafka, and why."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import click
from attrs import evolve, frozen

from streams_assignor.cli.params import JSONL
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.config import AssignmentConfigs
from streams_assignor.errors import FatalError, StreamsAssignorError
from streams_assignor.formats.jsonl import BadLine, convert_lines, json_object, stdin_lines
from streams_assignor.formats.text import format_table
from streams_assignor.task_assignors.application_state import ApplicationState, KafkaStreamsState, TaskInfo
from streams_assignor.task_assignors.built_in import BUILT_IN, BuiltInTaskAssignor
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor, movement_behaviour_of
from streams_assignor.task_assignors.rack_aware.racks import Racks
from streams_assignor.task_assignors.sticky import StickyTaskAssignor
from streams_assignor.upgrade import UpgradeError, number_of
from streams_assignor.upgrade.release_behaviour import BEHAVIOURS, CURRENT, ReleaseBehaviour, behaviour_of

CONFIGURATION: Final[Mapping[str, str]] = {
    "standbys": "num.standby.replicas",
    "warmups": "max.warmup.replicas",
    "acceptableLag": "acceptable.recovery.lag",
    "tags": "rack.aware.assignment.tags",
    "strategy": "rack.aware.assignment.strategy",
    "trafficCost": "rack.aware.assignment.traffic_cost",
    "nonOverlapCost": "rack.aware.assignment.non_overlap_cost",
}
"""The keys of a group that stand for a configuration."""

_OF_BROKERS: Final = "broker-sticky"
"""The assignor of the brokers for streams groups (KIP-1071), there called ``sticky``."""


@click.command(cls=StrictCommand)
@click.option("--explain", is_flag=True, help="Say for each task why it is where it is.")
@JSONL
def assign(explain: bool, jsonl: bool) -> None:
    """Read groups as lines of JSON from standard input, print what each client gets.

    \b
    Examples:
      streams-assignor assign --jsonl < groups.jsonl
      streams-assignor assign --explain < groups.jsonl
      echo '{"assignor": "sticky", "tasks": [[0, 0]], "clients": [{"id": "00000000-0000-0000-0000-000000000001"}]}' |
        streams-assignor assign
    """  # noqa: D301 - click reads the backspace character

    def converted(line: str) -> dict[str, Any]:
        group = _parse_input(line)
        return (
            _assignment_of_brokers(group, explain)
            if group.assignor == _OF_BROKERS
            else _assignment_json(group, explain)
        )

    text = _text if explain and not jsonl else None
    failed = convert_lines(
        stdin_lines(),
        converted,
        jsonl=jsonl,
        expected_errors=(UpgradeError, FatalError, StreamsAssignorError),
        text=text,
    )
    sys.exit(int(failed and not jsonl))


@frozen
class _AssignmentInput:
    """A group as a line describes it."""

    assignor: str
    release: str | None
    state: ApplicationState
    offsets: Mapping[UUID, Mapping[TaskId, int]]
    """The offset sums that the members have reported (brokers of 4.4)."""

    @property
    def behaviour(self) -> ReleaseBehaviour:
        return CURRENT if self.release is None else behaviour_of(number_of(self.release))


def _task_assignor(group: _AssignmentInput) -> BuiltInTaskAssignor:
    """The built-in assignor as the release has it."""
    if group.release is not None and group.assignor == "high-availability":
        return HighAvailabilityTaskAssignor(movement_behaviour_of(group.release))
    if group.assignor == "sticky":
        return StickyTaskAssignor(group.behaviour.stateless_standbys)
    return BUILT_IN[group.assignor]


def _rack_awareness_disabled_reason(group: _AssignmentInput) -> str:
    """Explain why racks do not count although that is configured; empty if they do, or nothing is configured."""
    state = group.state
    strategy = state.configs.rack_aware_assignment_strategy
    if strategy == "none":
        return ""
    if group.assignor == "fallback-prior":
        return "the fallback-prior assignor does not look at racks"
    if strategy not in group.behaviour.rack_strategies:
        since = next(row.since for row in BEHAVIOURS if strategy in row.rack_strategies)
        return f"{strategy} came with {'.'.join(map(str, since))}"
    processes = [process.process_id for process in state.sorted_processes]
    return Racks.of(state).disabled_reason(state.configs, processes, sorted(state.tasks), sorted(state.stateful))


def _assignment_json(group: _AssignmentInput, explain: bool) -> dict[str, Any]:
    reasons: dict[tuple[TaskId, UUID], str] = {}
    ignored, state = _rack_awareness_disabled_reason(group), group.state
    if ignored:
        state = evolve(state, configs=evolve(state.configs, rack_aware_assignment_strategy="none"))
    assigned = _task_assignor(group).assign(state, reasons=reasons if explain else None).assignments
    follow_up = group.assignor == "fallback-prior" or any(
        assignment.follow_up_rebalance_ms is not None for assignment in assigned.values()
    )
    result: dict[str, Any] = {"followup": follow_up}
    if ignored:
        result["racksIgnored"] = ignored
    result["clients"] = {
        str(process): {role: _task_pairs(getattr(assigned[process], role)) for role in ("active", "standby")}
        for process in state.clients
    }
    if explain:
        placed = sorted(
            (task, role, str(process), reasons[task, process])
            for process, assignment in assigned.items()
            for role, tasks in (("active", assignment.active), ("standby", assignment.standby))
            for task in tasks
        )
        result["reasons"] = [
            {"task": _task_pairs([task])[0], "role": role, "client": client, "why": why}
            for task, role, client, why in placed
        ]
    return result


def _assignment_of_brokers(group: _AssignmentInput, explain: bool) -> dict[str, Any]:
    """Assign as the coordinator of a streams group does; each client is a process with one member."""
    from streams_assignor.spark_sim.streams_groups import task_assignor as brokers  # leaders need no simulator

    if explain:
        raise BadLine(f"{_OF_BROKERS} gives no reasons: leave out --explain")
    if any(client.num_processing_threads > 1 for client in group.state.clients.values()):
        raise BadLine(f"expected clients with one member each for {_OF_BROKERS}, got a 'capacity' above 1")
    counts = Counter(task.subtopology for task in group.state.tasks)
    if missing := next((task for task in group.state.tasks if task.partition >= counts[task.subtopology]), None):
        raise BadLine(f"expected all tasks of subtopology {missing.subtopology}, got {missing} without those before it")

    def named(tasks: Iterable[TaskId]) -> Mapping[str, frozenset[int]]:
        return brokers.by_subtopology(brokers.StreamsTaskId(str(task.subtopology), task.partition) for task in tasks)

    members = {
        str(process): brokers.AssignmentMemberSpec(
            str(process),
            active_tasks=named(client.previous_active_tasks),
            standby_tasks=named(client.previous_standby_tasks),
            task_offsets={
                brokers.StreamsTaskId(str(task.subtopology), task.partition): offset
                for task, offset in group.offsets[process].items()
            },
        )
        for process, client in group.state.clients.items()
    }
    topology = brokers.KnownTopology(
        {str(number): counts[number] for number in sorted(counts)},
        stateful={str(task.subtopology) for task in group.state.stateful},
    )
    spec = brokers.GroupSpec(
        {name: members[name] for name in brokers.hash_map_order(members)}, group.state.configs.num_standby_replicas
    )
    target = brokers.assign(spec, topology, release=group.release or brokers.NEWEST_RELEASE).members
    roles = {name: {"active": target[name].active_tasks, "standby": target[name].standby_tasks} for name in members}
    return {
        "followup": False,
        "clients": {
            name: {
                role: [
                    [number, partition]
                    for number, partition in sorted((int(key), each) for key in tasks for each in tasks[key])
                ]
                for role, tasks in assigned.items()
            }
            for name, assigned in roles.items()
        },
    }


def _task_pairs(tasks: Iterable[TaskId]) -> list[list[int]]:
    return [[task.subtopology, task.partition] for task in sorted(tasks)]


def _text(result: Mapping[str, Any]) -> str:
    rows = [("task", "role", "client", "why")]
    rows += [
        (str(TaskId(*reason["task"])), reason["role"], reason["client"], reason["why"]) for reason in result["reasons"]
    ]
    followup = "wanted, to look whether others can take over" if result["followup"] else "not wanted"
    ignored = [f"racks do not count: {result['racksIgnored']}"] if "racksIgnored" in result else []
    return "\n".join([format_table(rows), *ignored, f"follow-up rebalance: {followup}", ""])


def _parse_input(line: str) -> _AssignmentInput:
    fields = json_object(line)
    if fields.get("assignor") not in (names := (*BUILT_IN, _OF_BROKERS)):
        raise BadLine(f"expected 'assignor' to be {', '.join(names)}, got {fields.get('assignor')!r}")
    if not isinstance(fields.get("release"), str | None):
        raise BadLine(f"expected 'release' to be text, such as \"3.9.2\", got {fields['release']!r}")
    for tag in _field(fields, "tags", list, []):
        _text_in(tag, "tags")
    config = AssignmentConfigs.of_keys({key: fields[name] for name, key in CONFIGURATION.items() if name in fields})
    clients = [_parse_process(client) for client in _field(fields, "clients", list)]
    if len({client.process_id for client in clients}) < len(clients):
        raise BadLine("two clients have the same id")
    tasks, stateful = _parse_tasks(fields, "tasks", required=True), frozenset(_parse_tasks(fields, "stateful"))
    if fields["assignor"] == "high-availability":
        tasks = [*tasks, *stateful]
    partition_racks: dict[TopicPartition, list[str | None]] = {}
    inputs = _parse_replicas(fields, "racks", partition_racks)
    changelogs = _parse_replicas(fields, "changelogRacks", partition_racks)
    infos = {
        task: TaskInfo(stateful=task in stateful, partitions=inputs.get(task, ()), changelogs=changelogs.get(task, ()))
        for task in tasks
    }
    state = ApplicationState(
        tasks=infos,
        clients={client.process_id: client for client in clients},
        configs=config,
        partition_racks=partition_racks,
    )
    offsets = {
        client.process_id: _lags(given, "offsets") for client, given in zip(clients, fields["clients"], strict=True)
    }
    return _AssignmentInput(fields["assignor"], fields.get("release"), state, offsets)


def _lags(client: Mapping[str, Any], key: str) -> dict[TaskId, int]:
    return {TaskId(subtopology, partition): number for subtopology, partition, number in _int_rows(client, key, 3)}


def _parse_process(client: Any) -> KafkaStreamsState:
    if not isinstance(client, dict):
        raise BadLine(f"expected a client to be an object, got {client!r}")
    name = _field(client, "id", str)
    try:
        process_id = UUID(name)
    except ValueError:
        raise BadLine(f"expected the 'id' of a client to be a UUID, got {name!r}") from None
    capacity = _field(client, "capacity", int, 1)
    if capacity < 1:
        raise BadLine(f"expected the 'capacity' of a client to be its number of members, got {capacity}")
    return KafkaStreamsState(
        process_id=process_id,
        num_processing_threads=capacity,
        previous_active_tasks=_parse_tasks(client, "prevActive"),
        previous_standby_tasks=_parse_tasks(client, "prevStandby"),
        lags=_lags(client, "lags"),
        client_tags={key: str(value) for key, value in _field(client, "tags", dict, {}).items()},
        member_rack_ids=tuple(_parse_member_racks(client)),
    )


def _parse_member_racks(client: Mapping[str, Any]) -> list[str | None]:
    racks = client.get("rack")
    racks = racks if isinstance(racks, list) else [racks]
    return [_checked_rack(rack, "'rack' of a client") for rack in racks]


def _parse_replicas(
    fields: Mapping[str, Any], key: str, partition_racks: dict[TopicPartition, list[str | None]]
) -> dict[TaskId, tuple[TopicPartition, ...]]:
    """Parse rows of a task and, for each of its partitions, the racks of the replicas; add those to the racks.

    The partitions get made-up names.
    """
    partitions: dict[TaskId, tuple[TopicPartition, ...]] = {}
    for row in _field(fields, key, list, []):
        if not isinstance(row, list) or [*map(type, row)] != [int, int, list] or not {*map(type, row[2])} <= {list}:
            shape = "[subtopology, partition, [[rack, ...] for each of its partitions]]"
            raise BadLine(f"expected {key!r} to hold lists {shape}, got {row!r}")
        task = TaskId(row[0], row[1])
        partitions[task] = tuple(TopicPartition(f"{key} of {task}", number) for number in range(len(row[2])))
        for partition, racks in zip(partitions[task], row[2], strict=True):
            partition_racks[partition] = [_checked_rack(rack, repr(key)) for rack in racks]
    return partitions


def _checked_rack(value: Any, where: str) -> str | None:
    if not isinstance(value, str | None):
        raise BadLine(f"expected {where} to be the name of a rack or null, got {value!r}")
    return value


def _parse_tasks(fields: Mapping[str, Any], key: str, *, required: bool = False) -> list[TaskId]:
    return [TaskId(subtopology, partition) for subtopology, partition in _int_rows(fields, key, 2, required=required)]


def _int_rows(fields: Mapping[str, Any], key: str, how_many: int, *, required: bool = False) -> list[list[int]]:
    rows: list[Any] = _field(fields, key, list, None if required else [])
    for row in rows:
        if not isinstance(row, list) or len(row) != how_many or {int} != set(map(type, row)):
            raise BadLine(f"expected {key!r} to hold lists of {how_many} numbers, got {row!r}")
    return rows


def _text_in(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise BadLine(f"expected {key!r} to hold text, got {value!r}")
    return value


def _field(fields: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = fields.get(key, default)
    if not isinstance(value, kind):
        raise BadLine(f"expected {key!r} to be of type {kind.__name__}, got {value!r}")
    return value
