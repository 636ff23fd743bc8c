"""The rules of the high-availability assignor without any caching: a second opinion on the real one.

It considers all pairs of processes, and all processes for every task, and sorts everything anew. It does not replay how
Kafka's queue of processes loses its order (``_constrained_queue``); that takes eight processes.
"""

from itertools import permutations

from streams_assignor.task_assignors.java_order import hash_order
from tests.assignor.task_assignors.process_states import sorted_by_process_id


def assign_tasks(clients, tasks, stateful, config, rules):
    clients, stateful = sorted_by_process_id(clients), sorted(stateful)
    place = {client.process_id: number for number, client in enumerate(clients)}
    if not clients:
        return False
    for number, task in enumerate(stateful):
        clients[number % len(clients)].active.add(task)
    balance(clients, "active", lambda *_pair: True)
    tagged = bool(config.rack_aware_assignment_tags) and rules.client_tags
    if config.num_standby_replicas:
        add_standbys(clients, stateful, config, place, tagged)
        balance(clients, "standby", may_move if tagged else lambda *_pair: True)
    followup = move(clients, stateful, config, rules, place)
    for task in sorted(set(tasks) - set(stateful)):
        client = min(clients, key=lambda client: (len(client.active) / client.capacity, place[client.process_id]))
        client.active.add(task)
    return followup


def may_move(source, destination):
    return source.client_tags.items() <= destination.client_tags.items()


def balance(clients, kind, allowed):
    moved = True
    while moved:
        moved = False
        for source, destination in permutations(clients, 2):
            for task in sorted(getattr(source, kind)):
                if not should_move(source, destination):
                    break
                if task not in destination.tasks and allowed(source, destination):
                    getattr(source, kind).remove(task)
                    getattr(destination, kind).add(task)
                    moved = True


def should_move(source, destination):
    skew = source.load - destination.load
    then = (len(source.tasks) - 1) / source.capacity - (len(destination.tasks) + 1) / destination.capacity
    return 0 < skew and 0 <= then < skew


def add_standbys(clients, stateful, config, place, tagged):
    missing = dict.fromkeys(stateful, config.num_standby_replicas)
    if tagged:
        values = {}
        for client in clients:
            for key, value in client.client_tags.items():
                values.setdefault(key, set()).add(value)
        for task in stateful:
            different(clients, task, missing, config.rack_aware_assignment_tags, values, place)
    for task in hash_order(missing) if tagged else stateful:
        while missing[task] and (without := [client for client in clients if task not in client.tasks]):
            least_loaded(without, place).standby.add(task)
            missing[task] -= 1


def different(clients, task, missing, keys, values, place):
    last, used, taken = next(client for client in clients if task in client.active), 1, {}
    while missing[task]:
        for key, value in last.client_tags.items():
            if key in keys and len(values[key]) > used:
                taken.setdefault(key, set()).add(value)
            elif key in keys:
                taken[key] = set()
        free = [
            client
            for client in clients
            if task not in client.tasks and not any(client.client_tags.get(key) in taken[key] for key in taken)
        ]
        if not free:
            return
        last = least_loaded(free, place)
        last.standby.add(task)
        missing[task] -= 1
        used += 1


def least_loaded(clients, place):
    return min(clients, key=lambda client: (client.load, place[client.process_id]))


def move(clients, stateful, config, rules, place):
    limit = config.acceptable_recovery_lag
    caught_up = {
        task: [c for c in clients if c.lags[task] == -2 or limit == (1 << 63) - 1 or 0 <= c.lags[task] <= limit]
        for task in stateful
    }
    by_lag = {
        task: sorted(clients, key=lambda client, task=task: (client.lags[task], place[client.process_id]))
        for task in stateful
    }

    def wants_to_move(client, task):
        if rules.least_lag_fallback:
            return client not in caught_up[task] and by_lag[task][0].lags[task] < client.lags[task]
        return bool(caught_up[task]) and client not in caught_up[task]

    def movements(kind, warm):
        queue = []
        for client in clients:
            for task in sorted(getattr(client, kind)):
                if (client.process_id, task) not in warm and wants_to_move(client, task):
                    push(queue, (len(caught_up[task]), task), client)
        if rules.iterator_order:
            yield from ((task, client) for (_, task), client in queue)
        else:
            while queue:
                (_, task), client = poll(queue)
                yield task, client

    def before(task, client):
        ordered = by_lag[task] if rules.least_lag_fallback else []
        return ordered[: ordered.index(client)] if client in ordered else []

    warm, warmups, moved = set(), config.max_warmup_replicas, 0
    for task, client in movements("active", warm):
        moved += 1
        with_standby = [other for other in caught_up[task] if task in other.standby]
        if with_standby or caught_up[task]:
            other = least_loaded(with_standby or caught_up[task], place)
        else:
            other = before(task, client)[0]
        client.active.remove(task)
        if task in other.standby:
            other.standby.remove(task)
            client.standby.add(task)
        else:
            if warmups > 0:
                client.standby.add(task)
                warm.add((client.process_id, task))
            warmups -= 1
        other.active.add(task)
    for task, client in movements("standby", warm):
        without = [other for other in caught_up[task] if task not in other.tasks]
        others = [least_loaded(without, place)] if without else []
        others += [other for other in before(task, client) if task not in other.tasks]
        if others:
            moved += 1
            others[0].standby.add(task)
            if warmups <= 0:
                client.standby.remove(task)
            warmups -= 1
    return moved > 0


# java.util.PriorityQueue: equal keys come out in an order that is an accident of its array, yet always the same one.
def push(queue, key, value):
    queue.append((key, value))
    at = len(queue) - 1
    while at and key < queue[(at - 1) // 2][0]:
        parent = (at - 1) // 2
        queue[at], queue[parent] = queue[parent], queue[at]
        at = parent


def poll(queue):
    first, last, at = queue[0], queue.pop(), 0
    if queue:
        queue[0] = last
    while 2 * at + 1 < len(queue):
        child = 2 * at + 1
        if child + 1 < len(queue) and queue[child + 1][0] < queue[child][0]:
            child += 1
        if queue[at][0] <= queue[child][0]:
            break
        queue[at], queue[child] = queue[child], queue[at]
        at = child
    return first
