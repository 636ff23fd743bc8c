"""Random groups with racks, as lines of `streams-assignor assign`, and what an assignment of them costs."""

from uuid import UUID

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.rack_aware import RackAwareOptimizer
from streams_assignor.task_assignors.rack_aware.racks import HIGH_AVAILABILITY_COSTS, RackAwareCosts, Racks
from tests.assignor.task_assignors.process_states import (
    ProcessState,
    assign_high_availability,
    assign_sticky,
    sorted_by_process_id,
)


def random_group(chance, most=8, fewest=1, racks=(1, 2, 3, 3, 5, 12), copies=(0, 1, 1, 2)):
    """A group with previous tasks, active and standby, and with racks everywhere."""
    tasks = [[group, partition] for group in range(chance.randint(1, 4)) for partition in range(chance.randint(1, 9))]
    stateful = [task for task in tasks if task[0] != 1 or chance.random() < 0.5]
    names = [f"rack-{number}" for number in range(chance.choice(racks))]
    tags = ["zone", "cluster"] if chance.random() < 0.3 else []

    def replicas(task):
        partitions = range(chance.randint(1, 3))
        return [*task, [chance.sample(names, chance.randint(1, min(3, len(names)))) for _ in partitions]]

    clients = [
        {
            "id": str(UUID(int=chance.getrandbits(128))),
            "capacity": chance.choice([1, 1, 2, 3]),
            "rack": chance.choice([*names, "elsewhere"]),
            "tags": {key: f"{key}{chance.randint(0, 2)}" for key in tags},
            "active": [],
            "standby": [],
            "lags": [[*task, chance.choice([-2, 0, 0, 100, 50_000])] for task in stateful],
        }
        for _ in range(chance.randint(fewest, most))
    ]
    standbys = chance.choice(copies)
    for task in tasks:
        active, *others = chance.sample(clients, len(clients))
        active["active"].append(task)
        for client in others[: standbys if task in stateful else 0]:
            client["standby"].append(task)
    return {
        "clients": [client | {"prevActive": client["active"], "prevStandby": client["standby"]} for client in clients],
        "tasks": tasks,
        "stateful": stateful,
        "standbys": standbys,
        "warmups": 2,
        "acceptableLag": 10_000,
        "tags": tags,
        "strategy": chance.choice(["min_traffic", "balance_subtopology"]),
        "costs": chance.choice([[10, 1], [1, 10], [1, 0], [1, 1], [3, 2], [0, 1]]),
        "racks": [replicas(task) for task in tasks],
        "changelogRacks": [replicas(task) for task in stateful],
    }


def with_many_racks(chance):
    """A group without client tags, with processes in each of eight racks: for its tasks there is a way to all racks."""
    group = random_group(chance, most=10, fewest=8, racks=(8,), copies=(1, 2, 3))
    clients = [client | {"rack": f"rack-{number % 8}"} for number, client in enumerate(group["clients"])]
    return group | {"clients": clients, "tags": [], "acceptableLag": (1 << 63) - 1}


def racks_of(group):
    def by_task(key):
        return {TaskId(*task): replicas for *task, replicas in group[key]}

    return Racks(
        process_racks={
            UUID(client["id"]): client["rack"] if isinstance(client["rack"], list) else [client["rack"]]
            for client in group["clients"]
        },
        partition_racks=by_task("racks"),
        changelog_racks=by_task("changelogRacks"),
    )


def sorted_processes(group):
    """Empty clients, in order, and for each what it has in the group."""
    clients = [
        ProcessState(UUID(client["id"]), client["capacity"], client_tags=client["tags"]) for client in group["clients"]
    ]
    given = {UUID(client["id"]): client for client in group["clients"]}
    clients = sorted_by_process_id(clients)
    return clients, [given[client.process_id] for client in clients]


def config_of(group):
    return AssignmentConfigs(
        acceptable_recovery_lag=group["acceptableLag"],
        max_warmup_replicas=group["warmups"],
        num_standby_replicas=group["standbys"],
        rack_aware_assignment_tags=group["tags"],
        rack_aware_assignment_strategy=group["strategy"],
        rack_aware_traffic_cost=group.get("trafficCost"),
        rack_aware_non_overlap_cost=group.get("nonOverlapCost"),
    )


def optimized(group, role):
    """The assignment after the optimization of active tasks alone, or of standbys alone."""
    clients, given = sorted_processes(group)
    ids = sorted(TaskId(*task) for task in group["tasks" if role == "active" else "stateful"])
    owner, places = {}, {task: set() for task in ids}
    for number, client in enumerate(given):
        owner |= {TaskId(*task): number for task in client["active"]}
        for task in client["standby"]:
            places.setdefault(TaskId(*task), set()).add(number)
    owners, standbys = [owner[task] for task in ids], [places[task] for task in ids]
    rack_aware = RackAwareOptimizer(clients, racks_of(group), group["strategy"] == "balance_subtopology")
    if role == "active":
        rack_aware.optimize_active(ids, owners, RackAwareCosts(*group["costs"]))
    else:
        actives = [[number] for number in owners]
        rack_aware.optimize_standbys(ids, actives, standbys, RackAwareCosts(*group["costs"]), bool(group["tags"]))
    shares = {str(client.process_id): {"active": [], "standby": []} for client in clients}
    for task, number, others in zip(ids, owners, standbys, strict=True):
        shares[str(clients[number].process_id)]["active"].append([task.subtopology, task.partition])
        for other in others:
            shares[str(clients[other].process_id)]["standby"].append([task.subtopology, task.partition])
    return shares


def assigned(group, assignor=None, racks=True, **changes):
    """Assign a group; return its clients, and the reasons. ``changes`` are what clients have instead of the group's."""
    clients, given = sorted_processes(group)
    for client, its in zip(clients, given, strict=True):
        client.previous_active = frozenset(TaskId(*task) for task in its["prevActive"])
        client.previous_standby = frozenset(TaskId(*task) for task in its["prevStandby"])
        client.lags = {TaskId(*task): lag for *task, lag in its["lags"]}
        for key, value in changes.items():
            setattr(client, key, value(client))
    tasks, stateful = ([TaskId(*task) for task in group[key]] for key in ("tasks", "stateful"))
    config, reasons = config_of(group), {}
    where = racks_of(group) if racks else None
    if (assignor or group["assignor"]) == "sticky":
        standbys = config.num_standby_replicas
        assign_sticky(clients, tasks, set(stateful), standbys, config=config, racks=where, reasons=reasons)
    else:
        assign_high_availability(clients, tasks, set(stateful), config, reasons=reasons, racks=where)
    return clients, reasons


def as_json(clients):
    return {
        str(client.process_id): {
            role: [[task.subtopology, task.partition] for task in sorted(getattr(client, role))]
            for role in ("active", "standby")
        }
        for client in clients
    }


def question(group, role):
    """A question for the oracle: to optimize the tasks in one role, or to assign them all."""
    clients = [client | ({} if role == "standby" else {"standby": []}) for client in group["clients"]]
    if role is None:
        return group | {"clients": [client | {"active": []} for client in clients]}
    return group | {"clients": clients, "op": f"{role}s"}


def high_availability_cost(shares, group):
    """The cost of stateful active tasks, if all processes have caught up: they begin as they would without racks."""
    config = config_of(group)
    costs = HIGH_AVAILABILITY_COSTS.with_configured(config)
    before = as_json(assigned(group, "high-availability", racks=False)[0])
    moves = sum(
        task in group["stateful"] and task not in before[name]["active"]
        for name, share in shares.items()
        for task in share["active"]
    )
    return costs.traffic * traffic(shares, group, of=group["stateful"]) + costs.non_overlap * moves


def traffic(shares, group, role="active", of=None):
    """How many partitions are read from another rack; ``of``: by these tasks only."""
    replicas = {tuple(task): racks for *task, racks in group["racks" if role == "active" else "changelogRacks"]}
    rack = {client["id"]: client["rack"] for client in group["clients"]}
    return sum(
        rack[name] not in racks
        for name, share in shares.items()
        for task in share[role]
        if of is None or task in of
        for racks in replicas[tuple(task)]
    )


def moved(shares, group, role="active"):
    """How many tasks are not where they were."""
    before = {client["id"]: client["prevActive" if role == "active" else "prevStandby"] for client in group["clients"]}
    return sum(task not in before[name] for name, share in shares.items() for task in share[role])


def cost(shares, group, role="active"):
    costs = RackAwareCosts(*group["costs"])
    return costs.traffic * traffic(shares, group, role) + costs.non_overlap * moved(shares, group, role)
