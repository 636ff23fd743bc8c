"""Rack-aware optimization: as cheap as the cheapest of all assignments, tried one by one; sound in larger groups."""

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

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import (
    LATEST_OFFSET,
    ApplicationState,
    KafkaStreamsState,
    TaskInfo,
)
from streams_assignor.task_assignors.rack_aware import RackAwareOptimizer, _flow_model
from streams_assignor.task_assignors.rack_aware.racks import (
    HIGH_AVAILABILITY_COSTS,
    STATELESS_COSTS,
    STICKY_COSTS,
    RackAwareCosts,
    Racks,
)
from tests.assignor.task_assignors.process_states import ProcessState, assign_high_availability, assign_sticky
from tests.assignor.task_assignors.rack_aware import rack_groups
from tests.assignor.task_assignors.rack_aware.rack_groups import as_json, assigned, optimized
from tests.each import for_each

LOBBIES = pytest.mark.parametrize("many", [1, 8])  # with and without: there are less than eight racks
costs_ = st.sampled_from(
    [
        RackAwareCosts(10, 1),
        RackAwareCosts(1, 10),
        RackAwareCosts(1, 0),
        RackAwareCosts(0, 1),
        RackAwareCosts(0, 0),
        RackAwareCosts(3, 2),
        RackAwareCosts(-1, 1),
    ]
)


@st.composite
def groups(draw, copies=(0, 0), tags=False):
    """A few tasks at a few clients; ``copies``: from so many to so many standbys of each."""
    racks = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
    clients = [
        ProcessState(UUID(int=number), 1, client_tags={"zone": draw(st.sampled_from("xyz"))} if tags else {})
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
        process_racks={client.process_id: [rack] for client, rack in zip(clients, racks, strict=True)},
        partition_racks=known,
        changelog_racks=known,
    )
    return clients, racks, ids, owners, standbys, where


@st.composite
def crowded(draw):
    """Several copies of a few tasks, all of them at five of the processes, which are in at least eight racks."""
    racks = [*draw(st.lists(st.sampled_from("abc"), max_size=2)), *"abcdefgh"]
    clients = [ProcessState(UUID(int=number), 1) for number in range(len(racks))]
    ids = [TaskId(0, number) for number in range(draw(st.integers(3, 4)))]
    sites = [draw(st.permutations(range(5)))[: draw(st.integers(2, 3))] for _ in ids]
    known = {task: [[draw(st.sampled_from("abcdeh"))]] for task in ids}
    where = Racks(
        process_racks={client.process_id: [rack] for client, rack in zip(clients, racks, strict=True)},
        partition_racks=known,
        changelog_racks=known,
    )
    return clients, racks, ids, [owner for owner, *_ in sites], [set(others) for _, *others in sites], where


def far(replicas, rack):
    return sum(rack not in each for each in replicas)


def price(costs, ids, racks, where, before, after):
    """The cost of an assignment, and how many moved; sets of clients before and after."""
    traffic = sum(far(where.partition_racks[task], racks[at]) for task, to in zip(ids, after, strict=True) for at in to)
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
    with mock.patch.object(_flow_model, "HUB_MIN_RACKS", many):
        moves = RackAwareOptimizer(clients, where, balanced).optimize_active(ids, owners, costs)
    after = [{owner} for owner in owners]

    assert best == price(costs, ids, racks, where, before, after)
    assert totals == counts(after)
    assert allowed(after)
    assert len(moves) == sum(had != has for had, has in zip(before, after, strict=True))


@LOBBIES
@given(groups(copies=(0, 2)) | crowded(), costs_)
def test_no_assignment_of_standbys_costs_less_and_none_at_that_cost_moves_fewer(many, group, costs):
    clients, racks, ids, owners, standbys, where = group
    before = [set(each) for each in standbys]
    choices = [
        [{*each} for each in combinations(sorted(counts(before).keys() - {owner}), len(had))]
        for owner, had in zip(owners, before, strict=True)
    ]
    possible = (each for each in product(*choices) if counts(each) == counts(before))
    best = min(price(costs, ids, racks, where, before, each) for each in possible)
    with mock.patch.object(_flow_model, "HUB_MIN_RACKS", many):
        RackAwareOptimizer(clients, where, balance_subtopology=True).optimize_standbys(
            ids, [[owner] for owner in owners], standbys, costs
        )

    assert best == price(costs, ids, racks, where, before, standbys)
    assert counts(before) == counts(standbys)
    assert not [owner for owner, has in zip(owners, standbys, strict=True) if owner in has]
    assert [len(each) for each in before] == [len(each) for each in standbys]


@given(groups(copies=(0, 2), tags=True), costs_)
def test_with_client_tags_standbys_are_as_spread_out_as_before_and_cost_no_more(group, costs):
    clients, racks, ids, owners, standbys, where = group
    before = [set(each) for each in standbys]
    RackAwareOptimizer(clients, where, False).optimize_standbys(
        ids, [[owner] for owner in owners], standbys, costs, by_tags=True
    )

    def tags(owner, has):
        return len({clients[at].client_tags["zone"] for at in {owner, *has}})

    for owner, had, has in zip(owners, before, standbys, strict=True):
        assert tags(owner, had) <= tags(owner, has)
        assert owner not in has
        assert len(had) == len(has)
    assert counts(before) == counts(standbys)
    if costs.traffic >= 0:
        assert price(costs, ids, racks, where, before, before) >= price(costs, ids, racks, where, before, standbys)


@given(groups(copies=(0, 1)) | crowded(), costs_, st.booleans())
def test_nothing_becomes_active_where_it_is_barred(group, costs, balanced):
    clients, racks, ids, owners, standbys, where = group
    before = [{owner} for owner in owners]
    RackAwareOptimizer(clients, where, balanced).optimize_active(ids, owners, costs, standbys)
    after = [{owner} for owner in owners]

    assert not [owner for owner, has in zip(owners, standbys, strict=True) if owner in has]
    assert counts(before) == counts(after)
    if not balanced:
        assert price(costs, ids, racks, where, before, before) >= price(costs, ids, racks, where, before, after)


@for_each(range(40))
def test_larger_groups_keep_their_numbers_and_cost_no_more(seed):
    chance = random.Random(seed)
    group = rack_groups.random_group(chance, most=40)
    before = {client["id"]: client for client in group["clients"]}
    for role in ("active", "standby"):
        after = optimized(group, role)

        assert {name: len(share[role]) for name, share in before.items()} == {
            name: len(share[role]) for name, share in after.items()
        }
        if role == "standby" or group["strategy"] == "min_traffic":
            assert rack_groups.cost(after, group, role) <= rack_groups.cost(before, group, role)
            assert rack_groups.cost(after, group | {"costs": [1, 0]}, role) <= rack_groups.traffic(before, group, role)


@pytest.mark.slow
@for_each(range(180))
def test_with_many_racks_every_task_keeps_its_copies_at_the_cost_of_a_way_to_each_rack(seed):
    group = rack_groups.with_many_racks(random.Random(seed)) | {"costs": [10, 1]}
    before = {client["id"]: client for client in group["clients"]}
    for role in ("active", "standby"):
        after = optimized(group, role)
        with mock.patch.object(_flow_model, "HUB_MIN_RACKS", 9):
            by_each_rack = optimized(group, role)

        had, has = (Counter(tuple(t) for share in all_.values() for t in share[role]) for all_ in (before, after))
        assert had == has
        if role == "standby":
            assert not [name for name, share in after.items() for t in share[role] if t in before[name]["active"]]
        assert rack_groups.cost(by_each_rack, group, role) == rack_groups.cost(after, group, role)


def test_what_is_left_over_in_one_rack_is_looked_at_place_by_place():
    # Both clients in "b" have one of the tasks active; so it matters which of them gets which standby.
    ids = [TaskId(0, 0), TaskId(0, 1)]
    clients = [ProcessState(UUID(int=number), 1) for number in range(4)]
    replicas = {task: [["b"]] for task in ids}
    racks = dict(zip((client.process_id for client in clients), (["a"], ["a"], ["b"], ["b"]), strict=True))
    standbys = [{0}, {1}]
    where = Racks(process_racks=racks, partition_racks=replicas, changelog_racks=replicas)
    others = [{2}, {3}, {3}]
    ids.append(TaskId(0, 2))
    standbys.append({2})
    where = evolve(where, changelog_racks={**replicas, ids[2]: [["a"]]})
    RackAwareOptimizer(clients, where, False).optimize_standbys(ids, others, standbys, HIGH_AVAILABILITY_COSTS)

    assert [{0}, {2}, {1}] == standbys


def test_a_process_behind_a_rack_and_the_way_to_all_racks_takes_one_copy_of_a_task():
    # The standbys of 0_2 are at E and H, where the other two belong, and its changelog is at B. Once B took both.
    ids = [TaskId(0, number) for number in range(3)]
    clients = [ProcessState(UUID(int=number), 1) for number in range(8)]
    b, d, e, h = map("abcdefgh".index, "bdeh")
    where = Racks(
        process_racks={client.process_id: [rack] for client, rack in zip(clients, "abcdefgh", strict=True)},
        partition_racks={},
        changelog_racks={ids[0]: [["h"]], ids[1]: [["e"]], ids[2]: [["b"]]},
    )
    standbys = [{b}, {b}, {e, h}]
    RackAwareOptimizer(clients, where, False).optimize_standbys(ids, [[e], [h], [d]], standbys, RackAwareCosts(1, 0))

    assert [1, 1, 2] == [len(each) for each in standbys]
    assert {b: 2, e: 1, h: 1} == counts(standbys)
    assert 2 == sum(
        "abcdefgh"[at] not in where.changelog_racks[task][0] for task in ids for at in standbys[task.partition]
    )


# Whether racks count at all

ONE, TWO = UUID(int=1), UUID(int=2)
TASK = TaskId(0, 0)
MIN_TRAFFIC = AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", num_standby_replicas=1)
KNOWN = Racks(
    process_racks={ONE: ["a", "a"], TWO: ["b"]},
    partition_racks={TASK: [["a"], ["b", "c"]]},
    changelog_racks={TASK: [["a"]]},
)


@pytest.mark.parametrize(
    ("changes", "config", "why"),
    [
        ({}, {}, ""),
        ({}, {"rack_aware_assignment_strategy": "none"}, "rack.aware.assignment.strategy is none"),
        ({"process_racks": {ONE: ["a"]}}, {}, f"process {TWO} has no client.rack"),
        ({"process_racks": {ONE: ["a"], TWO: [None]}}, {}, f"process {TWO} has no client.rack"),
        ({"process_racks": {ONE: ["a", None], TWO: ["b"]}}, {}, f"process {ONE} has a member without client.rack"),
        ({"process_racks": {ONE: ["b", "a"], TWO: ["b"]}}, {}, f"process {ONE} has members in different racks: a, b"),
        ({"partition_racks": {}}, {}, "task 0_0 has no partition that is known"),
        ({"partition_racks": {TASK: []}}, {}, "task 0_0 has no partition that is known"),
        ({"partition_racks": {TASK: [["a"], []]}}, {}, "task 0_0 has no known replica of its partition number 1"),
        (
            {"partition_racks": {TASK: [["a", None]]}},
            {},
            "task 0_0 has a replica of its partition number 0 on a broker without a rack",
        ),
        ({"changelog_racks": {}}, {}, "task 0_0 has no changelog partition that is known"),
        ({"changelog_racks": {TASK: [[]]}}, {}, "task 0_0 has no known replica of its changelog partition number 0"),
        ({"changelog_racks": {}}, {"num_standby_replicas": 0}, ""),
    ],
)
def test_racks_count_only_if_all_of_them_are_known(changes, config, why):
    racks = evolve(KNOWN, **changes)

    assert why == racks.disabled_reason(evolve(MIN_TRAFFIC, **config), [ONE, TWO], [TASK], [TASK])
    clients = [ProcessState(ONE, 1), ProcessState(TWO, 1)]
    assert bool(why) == (RackAwareOptimizer.of(clients, [TASK], [TASK], evolve(MIN_TRAFFIC, **config), racks) is None)


def test_costs_are_those_that_are_configured_and_those_of_the_assignor_otherwise():
    assert (RackAwareCosts(10, 1), RackAwareCosts(1, 10), RackAwareCosts(1, 0)) == (
        HIGH_AVAILABILITY_COSTS,
        STICKY_COSTS,
        STATELESS_COSTS,
    )
    assert RackAwareCosts(1, 10) == STICKY_COSTS.with_configured(AssignmentConfigs())
    assert RackAwareCosts(7, 10) == STICKY_COSTS.with_configured(AssignmentConfigs(rack_aware_traffic_cost=7))
    assert RackAwareCosts(1, 0) == STICKY_COSTS.with_configured(AssignmentConfigs(rack_aware_non_overlap_cost=0))


def test_racks_can_be_made_of_the_racks_of_partitions():
    one, two = TopicPartition("in", 0), TopicPartition("log", 0)
    state = ApplicationState(
        tasks={TASK: TaskInfo(partitions=(one, two), changelogs=(two,))},
        clients={
            ONE: KafkaStreamsState(process_id=ONE, rack_id="a"),
            TWO: KafkaStreamsState(process_id=TWO, rack_id="a", member_rack_ids=("a", None)),
        },
        partition_racks={one: {"a"}},
    )

    assert Racks.of(state) == Racks(
        process_racks={ONE: ("a",), TWO: ("a", None)},
        partition_racks={TASK: [{"a"}, ()]},
        changelog_racks={TASK: [()]},
    )


# In the assignors


@pytest.mark.slow
@for_each(product(["sticky", "high-availability"], range(60)))
def test_an_assignor_reads_less_across_racks_than_without_and_is_as_even(case):
    assignor, seed = case
    group = rack_groups.random_group(random.Random(seed), most=12)
    group |= {"warmups": 2, "acceptableLag": (1 << 63) - 1}  # no task has to warm up: the best assignment results
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


@pytest.mark.parametrize(
    ("assignor", "standbys", "replicas"), [("sticky", 2, "bbgcc"), ("high-availability", 3, "bbdadba")]
)
def test_with_eight_racks_every_task_has_its_standbys(assignor, standbys, replicas):
    # One process in each rack; of each task, the one rack with a replica. Once one standby was lost.
    tasks = [[0, number] for number in range(len(replicas))]
    racks = [[*task, [[rack]]] for task, rack in zip(tasks, replicas, strict=True)]
    empty = {"capacity": 1, "prevActive": [], "prevStandby": [], "lags": [[*task, 0] for task in tasks], "tags": {}}
    group = {
        "clients": [empty | {"id": str(UUID(int=number)), "rack": rack} for number, rack in enumerate("abcdefgh")],
        "tasks": tasks,
        "stateful": tasks,
        "standbys": standbys,
        "warmups": 2,
        "acceptableLag": 0,
        "tags": [],
        "strategy": "min_traffic",
        "trafficCost": 10,
        "nonOverlapCost": 1,
        "racks": racks,
        "changelogRacks": racks,
    }
    clients, _ = assigned(group, assignor)

    assert {TaskId(*task): standbys for task in tasks} == Counter(task for each in clients for task in each.standby)
    assert {TaskId(*task): 1 for task in tasks} == Counter(task for each in clients for task in each.active)
    assert not [each for each in clients if each.active & each.standby]


@pytest.mark.unmeasured
@for_each(product(["sticky", "high-availability"], range(60)))
def test_with_many_racks_every_task_has_as_many_copies_as_without(case):
    assignor, seed = case
    group = rack_groups.with_many_racks(random.Random(seed)) | {"trafficCost": 10, "nonOverlapCost": 1}
    without, _ = assigned(group, assignor, racks=False)
    clients, _ = assigned(group, assignor)

    for role in ("active", "standby"):
        had, has = (Counter(task for each in all_ for task in getattr(each, role)) for all_ in (without, clients))
        assert had == has
    assert {TaskId(*task): group["standbys"] for task in group["stateful"]} == has
    assert not [each for each in clients if each.active & each.standby]


@pytest.mark.unmeasured
@for_each(product(["sticky", "high-availability"], range(40), [1, 8]))
def test_with_racks_too_the_order_of_the_input_decides_nothing(case):
    assignor, seed, many = case
    chance = random.Random(seed)
    group = rack_groups.random_group(chance, most=8)
    mixed = group | {key: chance.sample(group[key], len(group[key])) for key in ("clients", "tasks", "stateful")}
    for key in ("racks", "changelogRacks"):
        mixed[key] = [
            [*task, [chance.sample(racks, len(racks)) for racks in replicas]]
            for *task, replicas in chance.sample(group[key], len(group[key]))
        ]
    with mock.patch.object(_flow_model, "HUB_MIN_RACKS", many):
        assert as_json(assigned(group, assignor)[0]) == as_json(assigned(mixed, assignor)[0])


EVERY_LEADER = """
import random
from streams_assignor.task_assignors.rack_aware import _flow_model
from tests.assignor.task_assignors.rack_aware import rack_groups
_flow_model.HUB_MIN_RACKS = 1
for seed in range(60):
    group = rack_groups.random_group(random.Random(seed), most=8)
    print(rack_groups.as_json(rack_groups.assigned(group, "high-availability")[0]))
"""


@pytest.mark.unmeasured
def test_every_leader_decides_the_same_whatever_its_hashes_of_texts_are():
    # Racks are texts, in sets. Once their order decided which of two racks that cost the same came first.
    root = Path(__file__).parents[4]
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


@pytest.mark.unmeasured
@for_each(product(["sticky", "high-availability"], range(60)))
def test_with_racks_too_nothing_moves_when_nothing_has_changed(case):
    assignor, seed = case
    group = rack_groups.random_group(random.Random(seed), most=8) | {"acceptableLag": (1 << 63) - 1}
    first, _ = assigned(group, assignor)
    had = {client.process_id: client for client in first}
    second, _ = assigned(
        group,
        assignor,
        previous_active=lambda client: frozenset(had[client.process_id].active),
        previous_standby=lambda client: frozenset(had[client.process_id].standby),
        lags=lambda client: {
            task: LATEST_OFFSET if task in had[client.process_id].active else lag for task, lag in client.lags.items()
        },
    )

    assert {name: share["active"] for name, share in as_json(first).items()} == {
        name: share["active"] for name, share in as_json(second).items()
    }


def two_racks(**config):
    """Two clients, each of them far from what it runs."""
    ids = [TaskId(0, 0), TaskId(0, 1)]
    clients = [
        ProcessState(ONE, 1, previous_active=frozenset([ids[0]]), lags={ids[0]: LATEST_OFFSET, ids[1]: 0}),
        ProcessState(TWO, 1, previous_active=frozenset([ids[1]]), lags={ids[0]: 0, ids[1]: LATEST_OFFSET}),
    ]
    racks = Racks(process_racks={ONE: ["a"], TWO: ["b"]}, partition_racks={ids[0]: [["b"]], ids[1]: [["a"]]})
    return clients, ids, AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", **config), racks


def test_high_availability_prefers_near_reads_and_says_so():
    clients, ids, config, racks = two_racks()
    reasons = {}
    assign_high_availability(clients, ids, ids, config, racks=racks, reasons=reasons)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]
    assert f"came from {TWO}, so that less is read across racks (0 behind)" == reasons[ids[1], ONE]


def test_sticky_prefers_to_stay_unless_it_is_configured_otherwise():
    clients, ids, config, racks = two_racks()
    assign_sticky(clients, ids, ids, config=config, racks=racks)

    assert [{ids[0]}, {ids[1]}] == [client.active for client in clients]
    clients, ids, config, racks = two_racks(rack_aware_traffic_cost=11)
    assign_sticky(clients, ids, ids, config=config, racks=racks)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]


def test_standbys_of_the_sticky_assignor_move_and_it_says_so():
    ids = [TaskId(0, 0), TaskId(0, 1)]
    three, four = UUID(int=3), UUID(int=4)
    had = {ONE: ([ids[0]], []), TWO: ([ids[1]], []), three: ([], [ids[0]]), four: ([], [ids[1]])}
    clients = [ProcessState(process, 1, *map(frozenset, tasks)) for process, tasks in had.items()]
    racks = Racks(
        process_racks={ONE: ["a"], TWO: ["a"], three: ["b"], four: ["c"]},
        partition_racks={task: [["a"]] for task in ids},
        changelog_racks={ids[0]: [["c"]], ids[1]: [["b"]]},
    )
    config = AssignmentConfigs(rack_aware_assignment_strategy="min_traffic", rack_aware_traffic_cost=11)
    reasons = {}
    assign_sticky(clients, ids, ids, 1, config=config, racks=racks, reasons=reasons)

    assert [set(), set(), {ids[1]}, {ids[0]}] == [client.standby for client in clients]
    assert {
        (ids[0], ONE): "was active here",
        (ids[1], TWO): "was active here",
        (ids[1], three): f"came from {four}, so that less is read across racks",
        (ids[0], four): f"came from {three}, so that less is read across racks",
    } == reasons


def test_stateless_tasks_move_for_any_partition_that_is_nearer():
    clients, ids, config, racks = two_racks()
    assign_sticky(clients, ids, [], config=config, racks=racks)

    assert [{ids[1]}, {ids[0]}] == [client.active for client in clients]


tags_ = st.frozensets(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=3)


@given(st.lists(tags_, min_size=1, max_size=8), tags_, st.integers(0, 5))
def test_the_classes_that_lose_tags_are_those_with_fewer_in_total(tags, others, least):
    classes = _flow_model.ProcessClasses(range(len(tags)), [0] * len(tags), tags)

    assert [number for number, own in enumerate(tags) if len(others | own) < least] == classes.losing_tags(
        others, least
    )
