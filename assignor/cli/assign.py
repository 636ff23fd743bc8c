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
from assignor.client_state import ClientState
from assignor.errors import FatalError
from assignor.high_availability import NEWEST, Reasons, rules_of
from subscription_codec import TaskId
from upgrade import UpgradeError, number_of

_STANDBYS_NEED_STATE: Final = (2, 6)
"""Before this release the sticky assignor gave standbys to tasks without state, too."""


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


def _by_sticky(group: _Group, reasons: Reasons) -> bool:
    older = group.release is not None and number_of(group.release) < _STANDBYS_NEED_STATE
    with_standbys = frozenset(group.tasks) if older else group.stateful
    sticky.assign_tasks(group.clients, group.tasks, with_standbys, group.config.num_standby_replicas)
    _say_who_had_what(group, reasons)
    return False


def _by_high_availability(group: _Group, reasons: Reasons) -> bool:
    rules = NEWEST if group.release is None else rules_of(group.release)
    return high_availability.assign_tasks(group.clients, group.tasks, group.stateful, group.config, rules, reasons)


def _by_fallback_prior(group: _Group, reasons: Reasons) -> bool:
    standbys = group.config.num_standby_replicas
    followup = fallback_prior.assign_tasks(group.clients, group.tasks, group.stateful, standbys)
    _say_who_had_what(group, reasons)
    return followup


_ASSIGNORS: Final[Mapping[str, Callable[[_Group, Reasons], bool]]] = {
    "sticky": _by_sticky,
    "high-availability": _by_high_availability,
    "fallback-prior": _by_fallback_prior,
}


def _say_who_had_what(group: _Group, reasons: Reasons) -> None:
    """These two go by who had a task before, which can be seen afterwards."""
    for client in group.clients:
        for task in client.active | client.standby:
            if task in client.previous_active:
                why = "was active here"
            elif task in client.previous_standby:
                why = "was a standby here"
            elif task in client.active:
                why = "no client that had it may keep it, and this one has room"
            else:
                why = "a client with few tasks per member, without this one"
            reasons[task, client.process_id] = why


def _assigned(group: _Group, explain: bool) -> dict[str, Any]:
    reasons: dict[tuple[TaskId, UUID], str] = {}
    result: dict[str, Any] = {"followup": _ASSIGNORS[group.assignor](group, reasons)}
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
    return "\n".join([aligned(rows), f"follow-up rebalance: {followup}", ""])


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
    )
    clients = [_client(each) for each in _of(given, "clients", list)]
    if len({client.process_id for client in clients}) < len(clients):
        raise BadLine("two clients have the same id")
    tasks = _tasks(given, "tasks", required=True)
    return _Group(given["assignor"], given.get("release"), clients, tasks, frozenset(_tasks(given, "stateful")), config)


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
