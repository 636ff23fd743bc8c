"""The sticky task assignor as Kafka's leaders up to 2.5 run it, against what 2.3.1 has decided.

The decisions of real leaders, with the order of real hash maps, is in ``tests/spark_sim/forecast``.
"""

from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.partial_assignment import AssignmentReason
from streams_assignor.task_assignors.sticky import StickyTaskAssignor
from streams_assignor.task_assignors.sticky._kafka_sticky import KafkaStickyAssignment
from tests.assignor.task_assignors.process_states import application_state, sorted_by_process_id
from tests.assignor.task_assignors.sticky.test_sticky import ROWS, clients_of, task_ids


def decided(row):
    """The result of 2.3.1, with its processes in a sorted map, and the one here: the owners, and the standbys."""
    processes, ids = sorted_by_process_id(clients_of(row)), sorted(task_ids(row["input"]["tasks"]))
    (theirs,) = (output["clients"] for output in row["outputs"] if "2.3.1" in output["releases"])
    had = [
        [[number for number, each in enumerate(processes) if task in getattr(each, kind)] for task in ids]
        for kind in ("previous_active", "previous_standby")
    ]
    reasons = []
    kafka = KafkaStickyAssignment([each.capacity for each in processes], ids, *had, lambda *why: reasons.append(why[2]))
    active = kafka.assign_active()
    standbys = kafka.assign_standbys(min(row["input"]["standbys"], len(processes) - 1))
    expected = {
        kind: [
            {number for number, each in enumerate(processes) if task in task_ids(theirs[str(each.process_id)][kind])}
            for task in ids
        ]
        for kind in ("active", "standby")
    }
    return (
        [{owner} for owner in active] == expected["active"],
        list(map(set, standbys)) == expected["standby"],
        list(map(len, standbys)) == list(map(len, expected["standby"])),
        reasons,
    )


def test_tasks_go_where_2_3_1_puts_them():
    """The others depend on the order of hash sets of process ids, which is not that of the map of these rows."""
    found = [decided(row) for row in ROWS]

    assert 205 == len(found)
    assert 198 <= sum(active for active, _, _, _ in found)
    assert 140 <= sum(active and standbys for active, standbys, _, _ in found)
    assert all(as_many for _, _, as_many, _ in found)
    assert {
        AssignmentReason.KEPT,
        AssignmentReason.STANDBY_TAKES_OVER,
        AssignmentReason.LEAST_LOADED,
        AssignmentReason.PREVIOUS_ACTIVE_KEPT,
        AssignmentReason.STANDBY_KEPT,
        AssignmentReason.STANDBY,
    } == {reason for *_, reasons in found for reason in reasons}


def test_a_leader_of_kafka_says_why():
    row = ROWS[0]
    tasks = task_ids(row["input"]["tasks"])
    state = application_state(clients_of(row), tasks, tasks, AssignmentConfigs(num_standby_replicas=1))
    reasons = {}
    StickyTaskAssignor(hash_order=True).assign(state, reasons=reasons)

    assert reasons
