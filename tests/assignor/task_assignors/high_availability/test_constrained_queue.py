"""Clients by load: what Kafka's queue would give, without doing all that it does."""

import random
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.task_assignors.high_availability._constrained_queue import ConstrainedQueue
from streams_assignor.task_assignors.java_order import JavaPriorityQueue, bucket_order, uuid_hash


class Eager:
    """Kafka's queue, done step by step."""

    def __init__(self, partial):
        self.partial = partial
        self.hashes = {at: uuid_hash(client.process_id) for at, client in enumerate(partial.processes)}
        self.loads = [(partial.load(at), at) for at in self.hashes]
        self.queue = JavaPriorityQueue(self.loads)
        for at in self.hashes:
            self.queue.add(at)

    def poll(self, wanted):
        others = []
        while self.queue.array and not wanted(first := self.queue.poll()):
            others.append(first)
        found = first if wanted(first) else None
        for at in bucket_order(others, self.hashes):
            self.queue.add(at)
        return found

    def offer(self, *clients):
        for at in clients:
            self.loads[at] = self.partial.load(at), at
        for at in clients:
            if at in self.queue.array:
                self.queue.remove(at)
            self.queue.add(at)


def group(chance, number):
    clients = [SimpleNamespace(process_id=UUID(int=chance.getrandbits(128))) for _ in range(number)]
    counts = [chance.randint(3, 9) for _ in clients]
    return SimpleNamespace(processes=clients, task_count=counts, load=lambda at: counts[at] / (1 + at % 3))


def play(chance, number, steps, patience, sizes=(0, 1, 1, 2, 3, 9)):
    """Anything that can happen to a queue; return 1 as soon as the two do not say the same."""
    partial = group(chance, number)
    queue, eager = ConstrainedQueue(partial, patience), Eager(partial)
    for _ in range(steps):
        wanted = set(chance.sample(range(number), chance.choice(sizes)))
        found = queue.poll(wanted.__contains__, chance.choice([None, sorted(wanted)]))
        expected = eager.poll(wanted.__contains__)
        if found != expected:
            return 1
        taken = found if found is not None else chance.randrange(number)
        if found is not None or chance.random() < 0.5:
            other = chance.choice([at for at in range(number) if at != taken])
            partial.task_count[taken] += chance.randint(0, 1)
            partial.task_count[other] -= chance.randint(0, 1)
            queue.offer(taken, other)
            eager.offer(taken, other)
    return 0


@given(st.integers(), st.integers(9, 40))
def test_gives_what_the_queue_would_give(seed, number):
    assert 0 == play(random.Random(seed), number, 40, patience=10**9)


@pytest.mark.unmeasured
def test_gives_what_the_queue_would_give_for_long():
    assert 0 == sum(play(random.Random(seed), 25, 400, patience=10**9) for seed in range(10))


def test_that_it_is_not_always_the_least_loaded_is_worth_the_trouble():
    def differs(patience, seeds):
        return any(play(random.Random(seed), 25, 400, patience, sizes=(2, 3, 9)) for seed in range(seeds))

    assert not differs(10**9, seeds=3)
    assert differs(300, seeds=10)
    assert differs(0, seeds=10)


def test_the_least_loaded_comes_out_when_patience_is_gone():
    chance = random.Random(5)
    partial = group(chance, 12)
    queue = ConstrainedQueue(partial, remaining_polls=0)
    for _ in range(100):
        wanted = set(chance.sample(range(12), 5))
        expected = min(wanted, key=lambda at: (partial.load(at), at))

        assert expected == queue.poll(wanted.__contains__, chance.choice([None, [*wanted]]))
        other = chance.choice([at for at in range(12) if at != expected])
        partial.task_count[other] -= 1
        partial.task_count[expected] += 1
        queue.offer(expected, other)
        assert queue.poll(lambda _client: False, []) is None
