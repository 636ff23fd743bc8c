"""Rack-aware optimisation: as cheap as the cheapest of all assignments, tried one by one; sound in larger groups."""

import os
import random
import subprocess
import sys
from collections import Counter
from itertools import combinations, product
from math import ceil
from pathlib import Path
from unittest import mock
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from assignor import high_availability, rack_moves, sticky
from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import RUNNING, ClientState
from assignor.rack_aware import RackAware
from assignor.racks import HIGH_AVAILABILITY, STATELESS, STICKY, Costs, Racks
from subscription_codec import TaskId, TopicPartition
from tests.assignor import rack_groups
from tests.assignor.rack_groups import as_json, assigned, optimised

LOBBIES = pytest.mark.parametrize("many", [1, 8])  # with and without: there are less than eight racks
costs_ = st.sampled_from([Costs(10, 1), Costs(1, 10), Costs(1, 0), Costs(0, 1), Costs(0, 0), Costs(3, 2), Costs(-1, 1)])


@st.composite
def groups(draw, copies=(0, 0), tags=False):
    """A few tasks at a few clients; ``copies``: from so many to so many standbys of each."""
    racks = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
    clients = [
        ClientState(UUID(int=number), 1, tags={"zone": draw(st.sampled_from("xyz"))} if tags else {})
        for number in range(len(racks))
    ]
    ids = [TaskId(draw(st.integers(0, 1)), number) for number in range(draw(st.integers(1, 5)))]
    replicas = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=2), min_size=1, max_size=2)
    owners = [draw(st.integers(0, len(racks) - 1)) for _ in ids]
    standbys = []
    for owner in owners:
        others = [number for number in range(len(racks)) if number != owner]
        number = draw(st.integers(*copies))
        standbys.append(set(draw(st.permutations(others))[:number]))
    known = {task: draw(replicas) for task in ids}
    where = Racks(
        clients={client.process_id: [rack] for client, rack in zip(clients, racks, strict=True)},
        partitions=known,
        changelogs=known,
    )
    return clients, racks, ids, owners, standbys, where


def far(replicas, rack):
    return sum(rack not in each for each in replicas)


def price(costs, ids, racks, where, before, after):
    """The cost of an assignment, and how many moved; sets of clients before and after."""
    traffic = sum(far(where.partitions[task], racks[at]) for task, to in zip(ids, after, strict=True) for at in to)
    moves = sum(len(to - had) for had, to in zip(before, after, strict=True))
    return costs.traffic * traffic + costs.non_overlap * moves, moves


def counts(places):
    return Counter(at for each in places for at in each)


@LOBBIES
@given(groups(), costs_, st.booleans())
def test_no_assignment_of_active_tasks_costs_less_and_none_at_that_cost_moves_fewer(many, group, costs, balanced):
    clients, racks, ids, owners, _, where = group
    before = [{owner} for owner in owners]
    sizes, totals = Counter(task.subtopology for task in ids), counts(before)

    def allowed(after):
        given_ = Counter((at, task.subtopology) for task, (at,) in zip(ids, after, strict=True))
        return not balanced or all(
            many <= ceil(totals[at] * 1.0 / len(ids) * sizes[group]) for (at, group), many in given_.items()
        )

    every = ([{at} for at in places] for places in product(range(len(clients)), repeat=len(ids)))
    possible = (each for each in every if counts(each) == totals and allowed(each))
    best = min(price(costs, ids, racks, where, before, each) for each in possible)
    with mock.patch.object(rack_moves, "MANY_RACKS", many):
        moves = RackAware(clients, where, balanced).actives(ids, owners, costs)
    after = [{owner} for owner in owners]

    assert best == price(costs, ids, racks, where, before, after)
    assert totals == counts(after)
    assert allowed(after)
    assert len(moves) == sum(had != has for had, has in zip(before, after, strict=True))


@LOBBIES
@given(groups(copies=(0, 2)), costs_)
def test_no_assignment_of_standbys_costs_less_and_none_at_that_cost_moves_fewer(many, group, costs):
    clients, racks, ids, owners, standbys, where = group
    before = [set(each) for each in standbys]
    choices = [
        [{*each} for each in combinations(sorted({*range(len(clients))} - {owner}), len(had))]
        for owner, had in zip(owners, before, strict=True)
    ]
    possible = (each for each in product(*choices) if counts(each) == counts(before))
    best = min(price(costs, ids, racks, where, before, each) for each in possible)
    with mock.patch.object(rack_moves, "MANY_RACKS", many):
        RackAware(clients, where, balanced=True).standbys(ids, [[owner] for owner in owners], standbys, costs)

    assert best == price(costs, ids, racks, where, before, standbys)
    assert counts(before) == counts(standbys)
    assert not [owner for owner, has in zip(owners, standbys, strict=True) if owner in has]
    assert [len(each) for each in before] == [len(each) for each in standbys]


@given(groups(copies=(0, 2), tags=True), costs_)
def test_with_client_tags_standbys_are_as_spread_out_as_before_and_cost_no_more(group, costs):
    clients, racks, ids, owners, standbys, where = group
    before = [set(each) for each in standbys]
    RackAware(clients, where, False).standbys(ids, [[owner] for owner in owners], standbys, costs, by_tags=True)

    def tags(owner, has):
        return len({clients[at].tags["zone"] for at in {owner, *has}})

    for owner, had, has in zip(owners, before, standbys, strict=True):
        assert tags(owner, had) <= tags(owner, has)
        assert owner not in has
        assert len(had) == len(has)
    assert counts(before) == counts(standbys)
    if costs.traffic >= 0:
        assert price(costs, ids, racks, where, before, before) >= price(costs, ids, racks, where, before, standbys)


@given(groups(copies=(0, 1)), costs_, st.booleans())
def test_nothing_becomes_active_where_it_is_barred(group, costs, balanced):
    clients, racks, ids, owners, standbys, where = group
    before = [{owner} for owner in owners]
    RackAware(clients, where, balanced).actives(ids, owners, costs, standbys)
    after = [{owner} for owner in owners]

    assert not [owner for owner, has in zip(owners, standbys, strict=True) if owner in has]
    assert counts(before) == counts(after)
    if not balanced:
        assert price(costs, ids, racks, where, before, before) >= price(costs, ids, racks, where, before, after)


@pytest.mark.parametrize("seed", range(40))
def test_larger_groups_keep_their_numbers_and_cost_no_more(seed):
    chance = random.Random(seed)
    group = rack_groups.random_group(chance, most=40)
    before = {client["id"]: client for client in group["clients"]}
    for role in ("active", "standby"):
        after = optimised(group, role)

        assert {name: len(share[role]) for name, share in before.items()} == {
            name: len(share[role]) for name, share in after.items()
        }
        if role == "standby" or group["strategy"] == "min_traffic":
            assert rack_groups.cost(after, group, role) <= rack_groups.cost(before, group, role)
            assert rack_groups.cost(after, group | {"costs": [1, 0]}, role) <= rack_groups.traffic(before, group, role)


def test_what_is_left_over_in_one_rack_is_looked_at_place_by_place():
    # Both clients in "b" have one of the tasks active; so it matters which of them gets which standby.
    ids = [TaskId(0, 0), TaskId(0, 1)]
    clients = [ClientState(UUID(int=number), 1) for number in range(4)]
    replicas = {task: [["b"]] for task in ids}
    racks = dict(zip((client.process_id for client in clients), (["a"], ["a"], ["b"], ["b"]), strict=True))
    standbys = [{0}, {1}]
    where = Racks(clients=racks, partitions=replicas, changelogs=replicas)
    others = [{2}, {3}, {3}]
    ids.append(TaskId(0, 2))
    standbys.append({2})
    where = evolve(where, changelogs={**replicas, ids[2]: [["a"]]})
    RackAware(clients, where, False).standbys(ids, others, standbys, HIGH_AVAILABILITY)

    assert [{0}, {2}, {1}] == standbys


# Whether racks count at all

ONE, TWO = UUID(int=1), UUID(int=2)
TASK = TaskId(0, 0)
MIN_TRAFFIC = AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", num_standby_replicas=1)
KNOWN = Racks(clients={ONE: ["a", "a"], TWO: ["b"]}, partitions={TASK: [["a"], ["b", "c"]]}, changelogs={TASK: [["a"]]})


@pytest.mark.parametrize(
    ("changes", "config", "why"),
    [
        ({}, {}, ""),
        ({}, {"rack_aware_assignment_strategy": "none"}, "rack.aware.assignment.strategy is none"),
        ({"clients": {ONE: ["a"]}}, {}, f"process {TWO} has no client.rack"),
        ({"clients": {ONE: ["a"], TWO: [None]}}, {}, f"process {TWO} has no client.rack"),
        ({"clients": {ONE: ["a", None], TWO: ["b"]}}, {}, f"process {ONE} has a member without client.rack"),
        ({"clients": {ONE: ["b", "a"], TWO: ["b"]}}, {}, f"process {ONE} has members in different racks: a, b"),
        ({"partitions": {}}, {}, "task 0_0 has no partition that is known"),
        ({"partitions": {TASK: []}}, {}, "task 0_0 has no partition that is known"),
        ({"partitions": {TASK: [["a"], []]}}, {}, "task 0_0 has no known replica of its partition number 1"),
        (
            {"partitions": {TASK: [["a", None]]}},
            {},
            "task 0_0 has a replica of its partition number 0 on a broker without a rack",
        ),
        ({"changelogs": {}}, {}, "task 0_0 has no changelog partition that is known"),
        ({"changelogs": {TASK: [[]]}}, {}, "task 0_0 has no known replica of its changelog partition number 0"),
        ({"changelogs": {}}, {"num_standby_replicas": 0}, ""),
    ],
)
def test_racks_count_only_if_all_of_them_are_known(changes, config, why):
    racks = evolve(KNOWN, **changes)

    assert why == racks.why_not(evolve(MIN_TRAFFIC, **config), [ONE, TWO], [TASK], [TASK])
    clients = [ClientState(ONE, 1), ClientState(TWO, 1)]
    assert bool(why) == (RackAware.of(clients, [TASK], [TASK], evolve(MIN_TRAFFIC, **config), racks) is None)


def test_costs_are_those_that_are_configured_and_those_of_the_assignor_otherwise():
    assert (Costs(10, 1), Costs(1, 10), Costs(1, 0)) == (HIGH_AVAILABILITY, STICKY, STATELESS)
    assert Costs(1, 10) == STICKY.configured(AssignmentConfigs())
    assert Costs(7, 10) == STICKY.configured(AssignmentConfigs(rack_aware_traffic_cost=7))
    assert Costs(1, 0) == STICKY.configured(AssignmentConfigs(rack_aware_non_overlap_cost=0))


def test_racks_can_be_made_of_the_racks_of_partitions():
    one, two = TopicPartition("in", 0), TopicPartition("log", 0)
    racks = Racks.of({ONE: ["a"]}, {TASK: [one, two]}, {TASK: [two]}, {one: {"a"}})

    assert Racks(clients={ONE: ["a"]}, partitions={TASK: [{"a"}, ()]}, changelogs={TASK: [()]}) == racks


# In the assignors


@pytest.mark.parametrize("assignor", ["sticky", "high-availability"])
@pytest.mark.parametrize("seed", range(60))
def test_an_assignor_reads_less_across_racks_than_without_and_is_as_even(assignor, seed):
    group = rack_groups.random_group(random.Random(seed), most=12)
    group |= {"warmups": 2, "acceptableLag": (1 << 63) - 1}  # nobody has to wait, so what is best is what there is
    without, _ = assigned(group, assignor, racks=False)
    clients, reasons = assigned(group, assignor)
    had, has = as_json(without), as_json(clients)

    assert Counter(TaskId(*task) for task in group["tasks"]) == Counter(t for c in clients for t in c.active)
    assert not [client for client in clients if client.active & client.standby]
    assert {name: len(share["active"]) for name, share in had.items()} == {
        name: len(share["active"]) for name, share in has.items()
    }
    assert {(task, client.process_id) for client in clients for task in client.tasks} == reasons.keys()
    if group["strategy"] == "min_traffic":
        assert rack_groups.traffic(has, group) <= rack_groups.traffic(had, group)


@LOBBIES
@pytest.mark.parametrize("assignor", ["sticky", "high-availability"])
@pytest.mark.parametrize("seed", range(40))
def test_with_racks_too_the_order_of_the_input_decides_nothing(assignor, seed, many):
    chance = random.Random(seed)
    group = rack_groups.random_group(chance, most=8)
    mixed = group | {key: chance.sample(group[key], len(group[key])) for key in ("clients", "tasks", "stateful")}
    for key in ("racks", "changelogRacks"):
        mixed[key] = [
            [*task, [chance.sample(racks, len(racks)) for racks in replicas]]
            for *task, replicas in chance.sample(group[key], len(group[key]))
        ]
    with mock.patch.object(rack_moves, "MANY_RACKS", many):
        assert as_json(assigned(group, assignor)[0]) == as_json(assigned(mixed, assignor)[0])


EVERY_LEADER = """
import random
from assignor import rack_moves
from tests.assignor import rack_groups
rack_moves.MANY_RACKS = 1
for seed in range(60):
    group = rack_groups.random_group(random.Random(seed), most=8)
    print(rack_groups.as_json(rack_groups.assigned(group, "high-availability")[0]))
"""


def test_every_leader_decides_the_same_whatever_its_hashes_of_texts_are():
    # Racks are texts, in sets. Once their order decided which of two racks that cost the same came first.
    root = Path(__file__).parents[2]
    answers = {
        subprocess.run(
            [sys.executable, "-c", EVERY_LEADER],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            check=True,
            capture_output=True,
        ).stdout
        for seed in "123"
    }

    assert 1 == len(answers)


@pytest.mark.parametrize("assignor", ["sticky", "high-availability"])
@pytest.mark.parametrize("seed", range(60))
def test_with_racks_too_nothing_moves_when_nothing_has_changed(assignor, seed):
    group = rack_groups.random_group(random.Random(seed), most=8) | {"acceptableLag": (1 << 63) - 1}
    first, _ = assigned(group, assignor)
    had = {client.process_id: client for client in first}
    second, _ = assigned(
        group,
        assignor,
        previous_active=lambda client: frozenset(had[client.process_id].active),
        previous_standby=lambda client: frozenset(had[client.process_id].standby),
        lags=lambda client: {
            task: RUNNING if task in had[client.process_id].active else lag for task, lag in client.lags.items()
        },
    )

    assert {name: share["active"] for name, share in as_json(first).items()} == {
        name: share["active"] for name, share in as_json(second).items()
    }


def two_racks(**config):
    """Two clients, each of them far from what it runs."""
    ids = [TaskId(0, 0), TaskId(0, 1)]
    clients = [
        ClientState(ONE, 1, previous_active=frozenset([ids[0]]), lags={ids[0]: RUNNING, ids[1]: 0}),
        ClientState(TWO, 1, previous_active=frozenset([ids[1]]), lags={ids[0]: 0, ids[1]: RUNNING}),
    ]
    racks = Racks(clients={ONE: ["a"], TWO: ["b"]}, partitions={ids[0]: [["b"]], ids[1]: [["a"]]})
    return clients, ids, AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", **config), racks


def test_high_availability_prefers_near_reads_and_says_so():
    clients, ids, config, racks = two_racks()
    reasons = {}
    high_availability.assign_tasks(clients, ids, ids, config, racks=racks, reasons=reasons)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]
    assert f"came from {TWO}, so that less is read across racks (0 behind)" == reasons[ids[1], ONE]


def test_sticky_prefers_to_stay_unless_it_is_configured_otherwise():
    clients, ids, config, racks = two_racks()
    sticky.assign_tasks(clients, ids, ids, config=config, racks=racks)

    assert [{ids[0]}, {ids[1]}] == [client.active for client in clients]
    clients, ids, config, racks = two_racks(rack_aware_traffic_cost=11)
    sticky.assign_tasks(clients, ids, ids, config=config, racks=racks)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]


def test_standbys_of_the_sticky_assignor_move_and_it_says_so():
    ids = [TaskId(0, 0), TaskId(0, 1)]
    three, four = UUID(int=3), UUID(int=4)
    had = {ONE: ([ids[0]], []), TWO: ([ids[1]], []), three: ([], [ids[0]]), four: ([], [ids[1]])}
    clients = [ClientState(process, 1, *map(frozenset, tasks)) for process, tasks in had.items()]
    racks = Racks(
        clients={ONE: ["a"], TWO: ["a"], three: ["b"], four: ["c"]},
        partitions={task: [["a"]] for task in ids},
        changelogs={ids[0]: [["c"]], ids[1]: [["b"]]},
    )
    config = AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", rack_aware_traffic_cost=11)
    reasons = {}
    sticky.assign_tasks(clients, ids, ids, 1, config=config, racks=racks, reasons=reasons)

    assert [set(), set(), {ids[1]}, {ids[0]}] == [client.standby for client in clients]
    assert {
        (ids[0], ONE): "was active here",
        (ids[1], TWO): "was active here",
        (ids[1], three): f"came from {four}, so that less is read across racks",
        (ids[0], four): f"came from {three}, so that less is read across racks",
    } == reasons


def test_stateless_tasks_move_for_any_partition_that_is_nearer():
    clients, ids, config, racks = two_racks()
    sticky.assign_tasks(clients, ids, [], config=config, racks=racks)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]
