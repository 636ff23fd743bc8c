"""A group that is disturbed again and again comes to rest, and then it is even.

Java: ``TaskAssignorConvergenceTest``. Clients come and go at random; between two disturbances the group rebalances
until no follow-up rebalance is wanted, and all processes have caught up on their standbys each time.
"""

import random
from collections import Counter
from itertools import permutations
from uuid import UUID

import pytest

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG
from tests.assignor.task_assignors.process_states import ProcessState, assign_high_availability, assign_sticky
from tests.each import each_third

END = 50_000


class Group:
    """Processes with the state that they have on disk: how far behind they are, by task."""

    def __init__(self, chance):
        self.chance = chance
        topics = range(chance.randint(1, 4))
        self.stateful = {TaskId(topic, partition) for topic in topics for partition in range(chance.randint(1, 12))}
        self.stateless = {TaskId(9, partition) for partition in range(chance.randint(0, 6))}
        self.configs = AssignmentConfigs(
            num_standby_replicas=chance.randint(0, 2), max_warmup_replicas=chance.randint(1, 3)
        )
        self.disks = {}
        self.clients = []
        for _ in range(chance.randint(1, 6)):
            self.join()

    def join(self):
        self.disks[UUID(int=self.chance.getrandbits(128))] = {}

    def leave(self):
        del self.disks[self.chance.choice(sorted(self.disks))]

    def disturb(self):
        for _ in range(self.chance.randint(1, 3)):
            if len(self.disks) > 1 and self.chance.random() < 0.5:
                self.leave()
            else:
                self.join()
        for disk in self.disks.values():
            if disk and self.chance.random() < 0.2:
                disk[self.chance.choice(sorted(disk))] = self.chance.choice([UNKNOWN_LAG, 20_000, END])

    def rebalance(self, assign):
        had = {client.process_id: client for client in self.clients}
        self.clients = [
            ProcessState(
                process,
                1,
                frozenset(had[process].active if process in had else ()),
                frozenset(had[process].standby if process in had else ()),
                lags={task: disk.get(task, END) for task in sorted(self.stateful)},
            )
            for process, disk in self.disks.items()
        ]
        follow_up = assign(self)
        for client in self.clients:
            caught_up = dict.fromkeys(client.standby, 0) | dict.fromkeys(client.active & self.stateful, LATEST_OFFSET)
            old = {task: 5 if lag == LATEST_OFFSET else lag for task, lag in self.disks[client.process_id].items()}
            self.disks[client.process_id] = old | caught_up
        return follow_up

    def shares(self):
        return {client.process_id: (client.active, client.standby) for client in self.clients}

    def check(self, ha):
        standbys = min(self.configs.num_standby_replicas, len(self.clients) - 1)
        copies = Counter(task for client in self.clients for task in client.standby)

        assert Counter(self.stateful | self.stateless) == Counter(t for c in self.clients for t in c.active)
        assert {task: standbys for task in self.stateful if standbys} == copies
        assert not [client for client in self.clients if client.active & client.standby]
        actives = [len(client.active) for client in self.clients]
        assert max(actives) - min(actives) <= 1
        for source, destination in permutations(self.clients, 2):
            # The high-availability assignor adds stateless tasks at last, without a look at standbys.
            loads = [len(client.tasks & self.stateful) if ha else len(client.tasks) for client in (source, destination)]

            assert loads[0] - loads[1] < 2 or source.standby <= destination.tasks


def by_high_availability(group):
    return assign_high_availability(group.clients, group.stateful | group.stateless, group.stateful, group.configs)


def by_sticky(group):
    before = group.clients, [(client.previous_active, client.previous_standby) for client in group.clients]
    assign_sticky(group.clients, group.stateful | group.stateless, group.stateful, group.configs.num_standby_replicas)
    return any((client.active, client.standby) != had for client, had in zip(*before, strict=True))


@pytest.mark.parametrize("seed", each_third(range(60)))
@pytest.mark.parametrize("assign", [by_high_availability, by_sticky])
def test_comes_to_rest_after_each_disturbance(assign, seed):
    group = Group(random.Random(seed))
    for _ in range(8):
        copies = 1 + group.configs.num_standby_replicas
        most = 2 if assign is by_sticky else len(group.stateful) * copies // group.configs.max_warmup_replicas + 2
        rounds = 1
        while group.rebalance(assign):
            rounds += 1

            assert rounds <= most
        group.check(assign is by_high_availability)
        rest = group.shares()
        assert not group.rebalance(assign)
        assert rest == group.shares()
        group.disturb()
