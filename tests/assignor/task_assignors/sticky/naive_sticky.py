"""The rule of the sticky assignor without any caching, with exact fractions: a second opinion on the real one.

Its answers must equal those of ``task_assignors.sticky``. It is slow: for groups of a few processes.
"""

from collections import Counter
from fractions import Fraction

from tests.assignor.task_assignors.process_states import sorted_by_process_id

LOOKS = 8


def assign_tasks(clients, tasks, stateful, standbys=0):
    ordered, tasks = sorted_by_process_id(clients), sorted(tasks)
    if not ordered:
        return
    for task, client in place_active(ordered, tasks).items():
        client.active.add(task)
    copies = min(standbys, len(ordered) - 1)
    wanting = [task for task in tasks if task in stateful]
    keep_standbys(ordered, wanting, copies)
    for task in wanting:
        while len(holders(ordered, task)) <= copies:
            candidates = [client for client in ordered if client not in holders(ordered, task)]
            best(ordered, candidates, holders(ordered, task)).standby.add(task)
    even_out(ordered, limits(ordered, wanting, copies))
    while even_out(ordered, [0] * len(ordered)):
        pass


# How many: see assignor/task_assignors/quotas.py


def distribute(clients, counts, number, most, ahead):
    counts = dict(counts)
    for _ in range(number):
        able = [each for each in counts if most is None or counts[each] < most[each]]
        counts[min(able, key=lambda each: (Fraction(counts[each] + ahead, clients[each]), -clients[each], each))] += 1
    return counts


def window(sizes, had, tasks, ahead):
    quota = tasks // sum(sizes.values())
    certain = {each: min(had[each], sizes[each] * max(quota, 1)) for each in sizes}
    given = distribute(sizes, certain, tasks - sum(certain.values()), None, ahead)
    loads = [Fraction(given[each], sizes[each]) for each in sizes]
    lowest, highest = min(loads), max(loads)
    low = {each: max(certain[each], min(n for n in range(tasks + 1) if n >= lowest * sizes[each])) for each in sizes}
    high = {each: max(n for n in range(tasks + 1) if n <= highest * sizes[each]) for each in sizes}
    wanted = {each: max(low[each], min(high[each], had[each])) for each in sizes}
    granted = distribute(sizes, low, min(tasks, sum(wanted.values())) - sum(low.values()), wanted, 0)
    keep = {each: min(granted[each], had[each]) for each in sizes}
    return low, high, keep, highest - lowest


def share_out(sizes, had, tasks):
    now, afterwards = window(sizes, had, tasks, 0), window(sizes, had, tasks, 1)
    if sum(afterwards[2].values()) >= sum(now[2].values()) and afterwards[3] <= now[3]:
        return afterwards[:3]
    return now[:3]


# Assignment


def place_active(clients, tasks):
    places = range(len(clients))
    sizes = {place: clients[place].capacity for place in places}
    owner = {}
    for several in (False, True):
        for task in tasks:
            claims = [place for place in places if task in clients[place].previous_active]
            if len(claims) > several and (len(claims) > 1) == several:
                had = Counter(owner.values())
                owner[task] = min(claims, key=lambda place: (Fraction(had[place], sizes[place]), -sizes[place]))
    had = Counter(owner.values())
    low, high, keep = share_out(sizes, had, len(tasks))
    excess = {place: had[place] - keep[place] for place in places}
    counts = dict(keep)

    def may_get(place):
        lacking = sum(max(0, low[each] - counts[each]) for each in places)
        spare = len(tasks) - sum(counts.values()) - lacking
        return counts[place] < low[place] or (spare > 0 and counts[place] < high[place])

    def least_loaded(able):
        return min(able, key=lambda place: (Fraction(counts[place], sizes[place]), -sizes[place], place))

    def find_warm(previous, orphans):
        for task in tasks:
            if (task not in owner) if orphans else (task in owner and excess[owner[task]] > 0):
                able = [place for place in places if task in getattr(clients[place], previous) and may_get(place)]
                if able:
                    if not orphans:
                        excess[owner[task]] -= 1
                    owner[task] = least_loaded(able)
                    counts[owner[task]] += 1

    find_warm("previous_active", orphans=False)
    find_warm("previous_standby", orphans=True)
    find_warm("previous_standby", orphans=False)
    for place in places:
        for _ in range(excess[place]):
            own = [task for task in tasks if owner.get(task) == place]
            kinds = Counter((task.topology, task.subtopology) for task in own)
            most = max(kinds.values())
            del owner[max(task for task in own if kinds[task.topology, task.subtopology] == most)]
    for task in tasks:
        if task not in owner:
            owner[task] = least_loaded([place for place in places if may_get(place)])
            counts[owner[task]] += 1
    return {task: clients[place] for task, place in owner.items()}


# Standbys


def holders(clients, task):
    return [client for client in clients if task in client.active or task in client.standby]


def load(client, more=0):
    return Fraction(len(client.active) + len(client.standby) + more, client.capacity)


def rank(clients, client):
    return load(client, 1), -client.capacity, clients.index(client)


def best(clients, candidates, company):
    lowest = min(load(client, 1) for client in candidates)
    equals = sorted((each for each in candidates if load(each, 1) == lowest), key=lambda each: rank(clients, each))
    return min(equals[:LOOKS], key=lambda each: sum(len(each.tasks & other.tasks) for other in company))


def keep_standbys(clients, wanting, copies):
    for task in wanting:
        had = [
            client
            for client in clients
            if task not in client.active and (task in client.previous_active or task in client.previous_standby)
        ]
        if len(had) > copies:
            had.sort(key=lambda client: (task not in client.previous_active, rank(clients, client)))
        for client in had[:copies]:
            client.standby.add(task)


def limits(clients, wanting, copies):
    sizes = {place: client.capacity for place, client in enumerate(clients)}
    active = {place: len(client.active) for place, client in enumerate(clients)}
    given = distribute(sizes, active, len(wanting) * copies, None, 1)
    highest = max(Fraction(given[place], sizes[place]) for place in sizes)
    return [highest * sizes[place] for place in sizes]


def even_out(clients, limits):
    moved = False
    most_loaded_first = sorted(clients, key=lambda client: -load(client))
    for client in most_loaded_first:
        before = client.previous_active | client.previous_standby
        for task in sorted(client.standby, key=lambda task: (task in before, task)):
            limit = limits[clients.index(client)]
            candidates = [each for each in clients if each not in holders(clients, task)]
            # As many as the limit allows are fair; one more is not.
            if len(client.tasks) <= int(limit) or not candidates:
                continue
            others = [each for each in holders(clients, task) if each is not client]
            target = best(clients, candidates, others)
            if load(target, 1) < load(client):
                client.standby.remove(task)
                target.standby.add(task)
                moved = True
    return moved


# Kafka's own walk over its hash maps, for active tasks, with the order of each map left to chance


def walk_like_kafka(clients, tasks, chance):
    """Assign tasks as StickyTaskAssignor does: to the previous process, to one with a standby, to the least loaded."""
    order = chance.sample(clients, len(clients))
    quota = len(tasks) // sum(client.capacity for client in order)
    owner = {task: client for client in order for task in client.previous_active}
    stood = {task: client for client in reversed(order) for task in client.previous_standby}
    left = set(tasks)
    for had in (owner, stood):
        for task in chance.sample(sorted(left), len(left)):
            client = had.get(task)
            if client is not None and len(client.active) < client.capacity * quota:
                client.active.add(task)
                left.remove(task)
    for task in sorted(left):
        find(order, task, owner.get(task)).active.add(task)


def find(order, task, owner):
    standbys = [client for client in order if task in client.previous_standby]
    fallback = least_loaded(standbys) if standbys else None
    for client in (owner, fallback):
        if client is not None and not (client.is_full and any(available(other) < available(client) for other in order)):
            return client
    return least_loaded(order)


def available(client):
    return load(client), -client.capacity


def least_loaded(order):
    empty = [client for client in order if not client.tasks]
    return empty[0] if empty else min(order, key=available)
