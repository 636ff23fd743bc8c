"""``streams-assignor assign``: what a group would get from an assignor of a release of Kafka, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import click
from attrs import frozen

from assignor import fallback_prior, high_availability, sticky
from assignor.assignment_configs import AssignmentConfigs
from assignor.cli.lines import JSONL, BadLine, aligned, each_line, json_object, stdin_lines
from assignor.client_state import ClientState, in_order
from assignor.errors import FatalError
from assignor.high_availability import NEWEST, rules_of
from assignor.placing import Reasons
from assignor.racks import Racks
from subscription_codec import TaskId
from upgrade import UpgradeError, number_of

_STANDBYS_NEED_STATE: Final = (2, 6)
"""Before this release the sticky assignor gave standbys to tasks without state, too."""
_STRATEGIES_SINCE: Final = {"min_traffic": (3, 6), "balance_subtopology": (3, 7)}


@click.command()
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
        return _assigned(_read(line), explain)

    text = _text if explain and not jsonl else None
    failed = each_line(stdin_lines(), converted, jsonl=jsonl, errors=(UpgradeError, FatalError), text=text)
    sys.exit(int(failed and not jsonl))


@frozen
class _Group:
    """A group as a line describes it."""

    assignor: str
    release: str | None
    clients: list[ClientState]
    tasks: list[TaskId]
    stateful: frozenset[TaskId]
    config: AssignmentConfigs
    racks: Racks


def _by_sticky(group: _Group, racks: Racks | None, reasons: Reasons | None) -> bool:
    older = group.release is not None and number_of(group.release) < _STANDBYS_NEED_STATE
    with_standbys = frozenset(group.tasks) if older else group.stateful
    sticky.assign_tasks(
        group.clients,
        group.tasks,
        with_standbys,
        group.config.num_standby_replicas,
        config=group.config,
        racks=racks,
        reasons=reasons,
    )
    return False


def _by_high_availability(group: _Group, racks: Racks | None, reasons: Reasons | None) -> bool:
    rules = NEWEST if group.release is None else rules_of(group.release)
    return high_availability.assign_tasks(
        group.clients, group.tasks, group.stateful, group.config, rules, reasons, racks
    )


def _by_fallback_prior(group: _Group, _racks: Racks | None, reasons: Reasons | None) -> bool:
    standbys = group.config.num_standby_replicas
    return fallback_prior.assign_tasks(group.clients, group.tasks, group.stateful, standbys, reasons)


_ASSIGNORS: Final[Mapping[str, Callable[[_Group, Racks | None, Reasons | None], bool]]] = {
    "sticky": _by_sticky,
    "high-availability": _by_high_availability,
    "fallback-prior": _by_fallback_prior,
}


def _why_not_racks(group: _Group) -> str:
    """Say why racks do not count although that is configured; nothing if they do, or nobody wants it."""
    strategy = group.config.rack_aware_assignment_strategy
    if strategy == "none":
        return ""
    if group.assignor == "fallback-prior":
        return "the fallback-prior assignor does not look at racks"
    since = _STRATEGIES_SINCE[strategy]
    if group.release is not None and number_of(group.release) < since:
        return f"{strategy} came with {'.'.join(map(str, since))}"
    processes = [client.process_id for client in in_order(group.clients)]
    return group.racks.why_not(group.config, processes, sorted(group.tasks), sorted(group.stateful))


def _assigned(group: _Group, explain: bool) -> dict[str, Any]:
    reasons: dict[tuple[TaskId, UUID], str] = {}
    why_not_racks = _why_not_racks(group)
    followup = _ASSIGNORS[group.assignor](group, None if why_not_racks else group.racks, reasons if explain else None)
    result: dict[str, Any] = {"followup": followup}
    if why_not_racks:
        result["racksIgnored"] = why_not_racks
    result["clients"] = {
        str(client.process_id): {"active": _pairs(client.active), "standby": _pairs(client.standby)}
        for client in group.clients
    }
    if explain:
        placed = sorted(
            (task, role, str(client.process_id), reasons[task, client.process_id])
            for client in group.clients
            for role, tasks in (("active", client.active), ("standby", client.standby))
            for task in tasks
        )
        result["reasons"] = [
            {"task": _pairs([task])[0], "role": role, "client": client, "why": why}
            for task, role, client, why in placed
        ]
    return result


def _pairs(tasks: Iterable[TaskId]) -> list[list[int]]:
    return [[task.subtopology, task.partition] for task in sorted(tasks)]


def _text(result: Mapping[str, Any]) -> str:
    rows = [("task", "role", "client", "why")]
    rows += [(str(TaskId(*each["task"])), each["role"], each["client"], each["why"]) for each in result["reasons"]]
    followup = "wanted, to look whether others can take over" if result["followup"] else "not wanted"
    ignored = [f"racks do not count: {result['racksIgnored']}"] if "racksIgnored" in result else []
    return "\n".join([aligned(rows), *ignored, f"follow-up rebalance: {followup}", ""])


def _read(line: str) -> _Group:
    given = json_object(line)
    if given.get("assignor") not in tuple(_ASSIGNORS):
        raise BadLine(f"expected 'assignor' to be {', '.join(_ASSIGNORS)}, got {given.get('assignor')!r}")
    if not isinstance(given.get("release"), str | None):
        raise BadLine(f"expected 'release' to be text, such as \"3.9.2\", got {given['release']!r}")
    defaults = AssignmentConfigs()
    config = AssignmentConfigs(
        acceptable_recovery_lag=given.get("acceptableLag", defaults.acceptable_recovery_lag),
        max_warmup_replicas=given.get("warmups", defaults.max_warmup_replicas),
        num_standby_replicas=given.get("standbys", defaults.num_standby_replicas),
        rack_aware_assignment_tags=_of(given, "tags", list, []),
        rack_aware_assignment_strategy=given.get("strategy", "none"),
        rack_aware_traffic_cost=given.get("trafficCost"),
        rack_aware_non_overlap_cost=given.get("nonOverlapCost"),
    )
    clients = [_client(each) for each in _of(given, "clients", list)]
    if len({client.process_id for client in clients}) < len(clients):
        raise BadLine("two clients have the same id")
    tasks = _tasks(given, "tasks", required=True)
    stateful = frozenset(_tasks(given, "stateful"))
    racks = Racks(
        clients={
            client.process_id: _racks_of_members(each) for client, each in zip(clients, given["clients"], strict=True)
        },
        partitions=_replicas(given, "racks"),
        changelogs=_replicas(given, "changelogRacks"),
    )
    return _Group(given["assignor"], given.get("release"), clients, tasks, stateful, config, racks)


def _client(given: Any) -> ClientState:
    if not isinstance(given, dict):
        raise BadLine(f"expected a client to be an object, got {given!r}")
    name = _of(given, "id", str)
    try:
        process_id = UUID(name)
    except ValueError:
        raise BadLine(f"expected the 'id' of a client to be a UUID, got {name!r}") from None
    capacity = _of(given, "capacity", int, 1)
    if capacity < 1:
        raise BadLine(f"expected the 'capacity' of a client to be its number of members, got {capacity}")
    return ClientState(
        process_id,
        capacity,
        frozenset(_tasks(given, "prevActive")),
        frozenset(_tasks(given, "prevStandby")),
        lags={TaskId(subtopology, partition): lag for subtopology, partition, lag in _numbers(given, "lags", 3)},
        tags={key: str(value) for key, value in _of(given, "tags", dict, {}).items()},
    )


def _racks_of_members(client: Mapping[str, Any]) -> list[str | None]:
    racks = client.get("rack")
    racks = racks if isinstance(racks, list) else [racks]
    return [_rack(each, "'rack' of a client") for each in racks]


def _replicas(given: Mapping[str, Any], key: str) -> dict[TaskId, list[list[str | None]]]:
    """Read rows of a task and, for each of its partitions, the racks of the replicas."""
    replicas = {}
    for row in _of(given, key, list, []):
        if not isinstance(row, list) or [*map(type, row)] != [int, int, list] or not {*map(type, row[2])} <= {list}:
            shape = "[subtopology, partition, [[rack, ...] for each of its partitions]]"
            raise BadLine(f"expected {key!r} to hold lists {shape}, got {row!r}")
        subtopology, partition, partitions = row
        replicas[TaskId(subtopology, partition)] = [[_rack(rack, repr(key)) for rack in racks] for racks in partitions]
    return replicas


def _rack(value: Any, where: str) -> str | None:
    if not isinstance(value, str | None):
        raise BadLine(f"expected {where} to be the name of a rack or null, got {value!r}")
    return value


def _tasks(given: Mapping[str, Any], key: str, *, required: bool = False) -> list[TaskId]:
    return [TaskId(subtopology, partition) for subtopology, partition in _numbers(given, key, 2, required=required)]


def _numbers(given: Mapping[str, Any], key: str, how_many: int, *, required: bool = False) -> list[list[int]]:
    rows: list[Any] = _of(given, key, list, None if required else [])
    for row in rows:
        if not isinstance(row, list) or len(row) != how_many or {int} != set(map(type, row)):
            raise BadLine(f"expected {key!r} to hold lists of {how_many} numbers, got {row!r}")
    return rows


def _of(given: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = given.get(key, default)
    if not isinstance(value, kind):
        raise BadLine(f"expected {key!r} to be of type {kind.__name__}, got {value!r}")
    return value
