"""The Python end of the bridge: ``python -m tests.lab.kafka_unit_tests.answers``, a line of JSON in, a line out.

Questions have the values of Kafka's objects; answers have bytes as hex, values, or ``{"refused": why}``.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from attrs import evolve

from streams_assignor.cli.assign import _assignment_json, _parse_input, _task_pairs
from streams_assignor.codec import (
    FIRST_VERSION_WITH_OFFSET_SUMS,
    Assignment,
    ClientTag,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    StreamsAssignorError,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.errors import FatalError
from streams_assignor.task_assignor import (
    ApplicationState,
    KafkaStreamsAssignment,
    TaskAssignment,
    default_standby_assignment,
    identity_assignment,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
    validate,
)
from tests.lab.kafka_unit_tests import leader_answers, streams_group_answers
from tests.subscription_codec import java_view

Values = Mapping[str, Any]


def _tasks(rows: list[Any]) -> list[TaskId]:
    return [TaskId(*row) for row in rows]


def _partitions(rows: list[Any]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(*row) for row in rows)


def _hosts(rows: list[Any]) -> list[HostPartitions]:
    return [HostPartitions(HostInfo(*host), _partitions(places)) for host, places in rows]


def encode_the_subscription(values: Values) -> Values:
    old = values["version"] < FIRST_VERSION_WITH_OFFSET_SUMS
    record = Subscription(
        version=values["version"],
        supported_version=values["latestSupportedVersion"],
        process_id=UUID(values["processId"]),
        prev_tasks=_tasks(values["prevTasks"]) if old else (),
        standby_tasks=_tasks(values["standbyTasks"]) if old else (),
        user_end_point=values["userEndPoint"] or "",
        task_offset_sums=[TaskOffsetSum(TaskId(*task), known) for task, known in values["taskOffsetSums"]],
        unique_field=values["uniqueField"],
        error_code=values["errorCode"],
        client_tags=[ClientTag(*tag) for tag in values.get("clientTags", [])],
    )
    return {"hex": encode_subscription(record).hex()}


def decode_the_subscription(values: Values) -> Values:
    record = decode_subscription(bytes.fromhex(values["hex"]), supported_version=values["latest"])
    if isinstance(record, FutureSubscription):
        return {"future": True, "version": record.version, "latestSupportedVersion": record.supported_version}
    shown = java_view.subscription(record)
    return shown | {"latestSupportedVersion": record.supported_version, "uniqueField": record.unique_field}


def encode_the_assignment(values: Values) -> Values:
    record = Assignment(
        version=values["version"],
        supported_version=values["commonlySupportedVersion"],
        active_tasks=_tasks(values["activeTasks"]),
        standby_tasks=[StandbyTask(TaskId(*task), _partitions(places)) for task, places in values["standbyTasks"]],
        partitions_by_host=_hosts(values["partitionsByHost"]),
        standby_partitions_by_host=_hosts(values["standbyPartitionByHost"]),
        error_code=values["errCode"],
        next_rebalance_ms=values["nextRebalanceMs"],
    )
    return {"hex": encode_assignment(record).hex()}


def decode_the_assignment(values: Values) -> Values:
    record = decode_assignment(bytes.fromhex(values["hex"]), supported_version=values["latest"])
    shown = java_view.assignment(record)
    return shown | {
        "commonlySupportedVersion": record.supported_version,
        "standbyPartitionByHost": shown["standbyPartitionsByHost"],
    }


def check_the_subscription(values: Values) -> Values:
    """Refuse versions that a release with this latest version does not have: it could not read them back."""
    encoded = encode_subscription(
        Subscription(
            version=values["version"],
            supported_version=values["latestSupportedVersion"],
            task_offset_sums=[TaskOffsetSum(TaskId(*task), known) for task, known in values["taskOffsetSums"]],
        )
    )
    decode_subscription(encoded, supported_version=values["latest"])
    return {}


def check_the_assignment(values: Values) -> Values:
    encoded = encode_assignment(
        Assignment(version=values["version"], supported_version=values["latestSupportedVersion"])
    )
    decode_assignment(encoded, supported_version=values["latest"])
    return {}


def assign(values: Values) -> Values:
    """What ``streams-assignor assign`` prints for the group."""
    return _assignment_json(_parse_input(json.dumps(values)), explain=False)


def run_utility(values: Values) -> Values:
    """What a function of ``task_assignor`` makes of an assignment."""
    parsed = _parse_input(json.dumps(values)).state
    # The command has the racks of the members; KIP-924 has one for the process.
    processes = {id_: evolve(each, rack_id=each.member_rack_ids[0]) for id_, each in parsed.clients.items()}
    state = evolve(parsed, clients=processes)
    given = TaskAssignment.of(
        KafkaStreamsAssignment(UUID(process), frozenset(_tasks(active)), frozenset(_tasks(standby)))
        for process, active, standby in values["assignments"]
    )
    if values["utility"] == "validate":
        return {"error": validate(state, given).error.name}
    made = _UTILITIES[values["utility"]](state, given, values)
    return {
        "clients": {
            str(process): {"active": _task_pairs(share.active), "standby": _task_pairs(share.standby)}
            for process, share in made.assignments.items()
        }
    }


def _optimize(function: Callable[..., TaskAssignment]) -> Callable[[ApplicationState, TaskAssignment, Values], Any]:
    def optimized(state: ApplicationState, given: TaskAssignment, values: Values) -> TaskAssignment:
        return function(
            state,
            given,
            tasks=None if values["only"] is None else _tasks(values["only"]),
            traffic_cost=values["trafficCostOverride"],
            non_overlap_cost=values["nonOverlapCostOverride"],
        )

    return optimized


_UTILITIES: Mapping[str, Callable[[ApplicationState, TaskAssignment, Values], TaskAssignment]] = {
    "identity": lambda state, _given, _values: identity_assignment(state),
    "standbys": lambda state, given, _values: default_standby_assignment(state, given),
    "optimize active": _optimize(optimize_rack_aware_active_tasks),
    "optimize standby": _optimize(optimize_rack_aware_standby_tasks),
}
_VERSION_FIELDS = ("version", "supported_version")
_OPERATIONS: Mapping[str, Callable[[Values], Values]] = {
    "encode subscription": encode_the_subscription,
    "decode subscription": decode_the_subscription,
    "encode assignment": encode_the_assignment,
    "decode assignment": decode_the_assignment,
    "check subscription": check_the_subscription,
    "check assignment": check_the_assignment,
    "assign": assign,
    "utility": run_utility,
    **leader_answers.OPERATIONS,
    **streams_group_answers.OPERATIONS,
}


def answer(question: Values) -> Values:
    """Answer one question; what the project refuses, with its reason, is an answer, too."""
    try:
        return _OPERATIONS[question["operation"]](question)
    except FatalError as error:
        return {"refused": f"{type(error).__name__}: {error}", "exception": error.kafka_exception}
    except StreamsAssignorError as error:
        field = getattr(error, "field", None)
        return {"refused": f"{type(error).__name__}: {error}", "unknownVersion": field in _VERSION_FIELDS}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
