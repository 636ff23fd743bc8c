"""The high-availability task assignor: equal to real ones, to a naive version of its rules, and sound by itself."""

import json
import random
from collections import ChainMap, Counter
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.errors import FatalError
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG
from streams_assignor.task_assignors.high_availability import movement_behaviour_of
from streams_assignor.task_assignors.high_availability._balance import EligibleProcesses
from streams_assignor.task_assignors.high_availability._lags import UNLIMITED_LAG
from streams_assignor.task_assignors.java_order import hash_order, priority_queue_order
from streams_assignor.task_assignors.least_loaded import LeastLoadedHeap
from streams_assignor.upgrade import ConfigException, UnknownRelease
from tests.assignor.task_assignors.high_availability import naive_high_availability as naive
from tests.assignor.task_assignors.process_states import ProcessState
from tests.assignor.task_assignors.process_states import assign_high_availability as assign_tasks
from tests.lab.bench.bench_assignors import as_json, on_the_jvm
from tests.lab.integration.kafka_jars import Unavailable

ROWS = [json.loads(line) for line in (Path(__file__).parents[3] / "vectors/assignor.jsonl").open()]
RELEASES = ["2.8.2", "3.2.3", "4.3.1"]  # one of each row of rules


def task_ids(pairs):
    return [TaskId(*pair) for pair in pairs]


def group_of(given_):
    """The arguments of ``assign_tasks``, from a line of the vectors."""
    clients = [
        ProcessState(
            UUID(client["id"]),
            client["capacity"],
            lags={TaskId(*task): lag for *task, lag in client["lags"]},
            client_tags=client["tags"],
        )
        for client in given_["clients"]
    ]
    config = AssignmentConfigs(
        acceptable_recovery_lag=given_["acceptableLag"],
        max_warmup_replicas=given_["warmups"],
        num_standby_replicas=given_["standbys"],
        rack_aware_assignment_tags=given_["tags"],
    )
    return clients, task_ids(given_["tasks"]), set(task_ids(given_["stateful"])), config


def shares(clients):
    return {str(c.process_id): {"active": sorted(c.active), "standby": sorted(c.standby)} for c in clients}


def expected_shares(clients):
    return {name: {role: sorted(task_ids(tasks)) for role, tasks in share.items()} for name, share in clients.items()}


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row["assignor"] == "high-availability"],
    ids=lambda row: f"row-{row['number']}",
)
def test_assigns_as_each_release_did(row):
    for output in row["outputs"]:
        for release in output["releases"]:
            clients, *group = group_of(row["input"])
            followup = assign_tasks(clients, *group, movement_behaviour_of(release))

            assert output["followup"] == followup
            assert expected_shares(output["clients"]) == shares(clients)


SIZES_OF_SUBTOPOLOGIES = st.lists(st.integers(1, 7), min_size=1, max_size=3)
STATELESS = st.sets(st.integers(0, 2), max_size=1)
SHARED_LAG = st.sampled_from([0, 100, 60_000])
OWN_LAG = st.sampled_from([LATEST_OFFSET, LATEST_OFFSET, UNKNOWN_LAG, 0, 5, 100, 101, 50_000, 60_000, 70_000])
TAGS = st.fixed_dictionaries({}, optional={"zone": st.sampled_from("abc"), "host": st.sampled_from("vwxyz")})
CAPACITIES = st.sampled_from([1, 2, 2, 3])
PROCESSES = st.lists(st.uuids(), min_size=1, max_size=6, unique=True)
RECOVERY_LAGS = st.sampled_from([0, 100, 10_000, UNLIMITED_LAG])
WARMUPS = st.sampled_from([1, 2, 50])
STANDBYS = st.integers(0, 3)
TAG_KEYS = st.sampled_from([(), ("zone",), ("zone", "host")])


@st.composite
def groups(draw, tags=True):
    """Any group; nearly all lags of a task are the same, as in life."""
    tasks = [
        TaskId(group, partition)
        for group, partitions in enumerate(draw(SIZES_OF_SUBTOPOLOGIES))
        for partition in range(partitions)
    ]
    stateless = draw(STATELESS)
    stateful = [task for task in tasks if task.subtopology not in stateless]
    shared = {task: draw(SHARED_LAG) for task in stateful}
    own = st.dictionaries(st.sampled_from(stateful), OWN_LAG, max_size=6) if stateful else st.just({})
    found = [
        ProcessState(
            process,
            draw(CAPACITIES),
            lags=ChainMap(draw(own), shared),
            client_tags=draw(TAGS) if tags else {},
        )
        for process in draw(PROCESSES)
    ]
    config = AssignmentConfigs(
        acceptable_recovery_lag=draw(RECOVERY_LAGS),
        max_warmup_replicas=draw(WARMUPS),
        num_standby_replicas=draw(STANDBYS),
        rack_aware_assignment_tags=draw(TAG_KEYS) if tags else (),
    )
    return found, tasks, set(stateful), config


def again(clients, lags=lambda client: client.lags):
    """The same clients with nothing assigned yet."""
    return [ProcessState(c.process_id, c.capacity, lags=lags(c), client_tags=c.client_tags) for c in clients]


@given(groups(), st.sampled_from(RELEASES))
def test_gives_what_the_plain_rules_give(group, release):
    clients, *rest = group
    twins = again(clients)

    assert naive.assign_tasks(twins, *rest, movement_behaviour_of(release)) == assign_tasks(
        clients, *rest, movement_behaviour_of(release)
    )
    assert shares(twins) == shares(clients)


def random_group(chance, most=7):
    """Larger than Hypothesis likes to make them, as a line of JSON."""
    tasks = [[group, partition] for group in range(chance.randint(1, 4)) for partition in range(chance.randint(1, 30))]
    stateful = [task for task in tasks if task[0] or chance.random() < 0.5]
    ends = [chance.choice([0, 5000, 50_000, chance.randrange(120_000)]) for _ in stateful]
    known = chance.choice([0, 0.1, 0.3, 0.9])
    lags = [LATEST_OFFSET, LATEST_OFFSET, 0, UNKNOWN_LAG, 9999, 10_000, 10_001, chance.randrange(120_000)]
    clients = [
        {
            "id": str(UUID(int=chance.getrandbits(128))),
            "capacity": chance.choice([1, 1, 2, 3, 4]),
            "prevActive": [],
            "prevStandby": [],
            "lags": [
                [*task, chance.choice(lags) if chance.random() < known else end]
                for task, end in zip(stateful, ends, strict=True)
            ],
            "tags": {key: f"{key}{chance.randint(0, 3)}" for key in ("zone", "rack") if chance.random() < 0.9},
        }
        for _ in range(chance.randint(1, most))
    ]
    return {
        "assignor": "high-availability",
        "clients": clients,
        "tasks": tasks,
        "stateful": stateful,
        "standbys": chance.choice([0, 1, 1, 2, 3]),
        "warmups": chance.choice([1, 2, 3, 1000]),
        "acceptableLag": chance.choice([10_000, 10_000, 0, UNLIMITED_LAG]),
        "tags": chance.choice([[], [], ["zone"], ["zone", "rack"]]),
    }


@pytest.mark.parametrize("release", RELEASES)
def test_gives_what_the_plain_rules_give_in_larger_groups(release):
    chance = random.Random(release)
    for number in range(150):
        clients, *rest = group_of(random_group(chance))
        twins = again(clients)

        assert naive.assign_tasks(twins, *rest, movement_behaviour_of(release)) == assign_tasks(
            clients, *rest, movement_behaviour_of(release)
        )
        assert shares(twins) == shares(clients), number


@pytest.mark.java
@pytest.mark.slow
def test_gives_what_the_real_class_gives_while_the_tests_run():
    chance = random.Random(441)
    given_ = [random_group(chance, chance.choice([6, 30])) for _ in range(1500)]
    try:
        answers = on_the_jvm(given_)
    except Unavailable as missing:
        pytest.skip(f"no assignors of Kafka Streams: {missing}")
    for group, answer in zip(given_, answers, strict=True):
        clients, *rest = group_of(group)
        followup = assign_tasks(clients, *rest)

        assert (answer["followup"], answer["clients"]) == (followup, as_json(clients))


@given(groups())
def test_active_once_and_standbys_never_beside_their_active(group):
    clients, tasks, stateful, config = group
    assign_tasks(clients, tasks, stateful, config)

    assert Counter(tasks) == Counter(task for client in clients for task in client.active)
    assert not [client for client in clients if client.active & client.standby]
    assert stateful >= {task for client in clients for task in client.standby}


@given(groups())
def test_every_standby_is_there_and_no_more_warm_up_than_may(group):
    clients, tasks, stateful, config = group
    assign_tasks(clients, tasks, stateful, config)
    copies = Counter(task for client in clients for task in client.standby)
    standbys = min(config.num_standby_replicas, len(clients) - 1)

    assert all(copies[task] >= standbys for task in stateful)
    assert sum(copies.values()) - standbys * len(stateful) <= config.max_warmup_replicas


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_and_how_lags_are_kept_decide_nothing(group, chance):
    clients, tasks, stateful, config = group

    def plain(client):
        return dict(chance.sample(sorted(client.lags.items()), len(client.lags)))

    twins = again(clients, plain)
    chance.shuffle(twins)

    assert assign_tasks(clients, tasks, stateful, config) == assign_tasks(
        twins, chance.sample(tasks, len(tasks)), sorted(stateful), config
    )
    assert shares(clients) == shares(twins)


def with_what_it_got(clients):
    """Standbys have caught up by now, others have nothing."""
    shared = dict.fromkeys((task for client in clients for task in client.lags), 100_000)

    def lags(client):
        return {
            **shared,
            **dict.fromkeys(client.standby, 0),
            **dict.fromkeys(client.active & shared.keys(), LATEST_OFFSET),
        }

    return again(clients, lags)


@given(groups(tags=False))
def test_follow_up_rebalances_come_to_an_end_and_then_nothing_moves(group):
    clients, tasks, stateful, config = group
    clients = again(clients)
    rounds = 0
    while assign_tasks(clients, tasks, stateful, config):
        clients = with_what_it_got(clients)
        rounds += 1
        assert rounds <= len(stateful) * (1 + config.num_standby_replicas) + 1
    settled = with_what_it_got(clients)

    assert not assign_tasks(settled, tasks, stateful, config)
    assert shares(clients) == shares(settled)


@given(groups(tags=False))
def test_stateful_tasks_are_even_when_all_processes_have_caught_up(group):
    clients, _, stateful, config = group
    clients = again(clients, lambda client: dict.fromkeys(client.lags, 0))

    assert not assign_tasks(clients, stateful, stateful, AssignmentConfigs(max_warmup_replicas=1))
    for source in clients:
        for destination in clients:
            given_ = (len(source.active) - 1) / source.capacity
            assert given_ < (len(destination.active) + 1) / destination.capacity
    equal = [ProcessState(c.process_id, 1, lags=c.lags) for c in clients]
    assign_tasks(equal, stateful, stateful, config)
    counts = [len(client.active) for client in equal]

    assert max(counts) - min(counts) <= 1


@given(groups())
def test_there_is_a_reason_for_everything(group):
    clients, tasks, stateful, config = group
    reasons = {}
    assign_tasks(clients, tasks, stateful, config, reasons=reasons)

    assert {(task, c.process_id) for c in clients for task in c.tasks} == reasons.keys()
    assert not [why for why in reasons.values() if "None" in why or "{" in why]


def two(**lags):
    """A client that runs everything, and a new one."""
    tasks = [TaskId(0, partition) for partition in range(4)]
    running, new = UUID(int=1), UUID(int=2)
    clients = [
        ProcessState(running, 1, lags=dict.fromkeys(tasks, LATEST_OFFSET)),
        ProcessState(new, 1, lags=dict.fromkeys(tasks, lags.get("new", 100_000))),
    ]
    return clients, tasks


def test_a_new_client_warms_up_first():
    # KIP-441's own example, in small: the work stays where the state is, and two tasks at a time get ready elsewhere.
    clients, tasks = two()
    reasons = {}

    assert assign_tasks(clients, tasks, tasks, AssignmentConfigs(max_warmup_replicas=1), reasons=reasons)
    assert [set(tasks), set()] == [client.active for client in clients]
    assert [set(), {TaskId(0, 1)}] == [client.standby for client in clients]
    assert reasons[TaskId(0, 1), UUID(int=2)].startswith("is to be active here")
    assert f"active here until {UUID(int=2)} has caught up" in reasons[TaskId(0, 1), UUID(int=1)]


def test_a_process_within_the_acceptable_lag_takes_over_at_once():
    clients, tasks = two(new=10_000)

    assert not assign_tasks(clients, tasks, tasks)
    assert [2, 2] == [len(client.active) for client in clients]


def test_a_lag_that_is_missing_ends_the_leader():
    clients, tasks = two()
    clients[0].lags = {**clients[0].lags}
    del clients[0].lags[tasks[3]]

    with pytest.raises(FatalError, match=r"IllegalStateException.*0_3"):
        assign_tasks(clients, tasks, tasks)
    with pytest.raises(FatalError, match="IllegalStateException"):
        assign_tasks([ProcessState(UUID(int=1), 1)], tasks, tasks)


@pytest.mark.parametrize(
    "own", [(), ({},), ({0: 1000},), ({0: 100_000, 9: 1}, {0: 0}), ({9: 1, 0: 500}, {1: 0}), ({9: 1, 1: 0},)], ids=str
)
def test_lags_may_stand_in_layers_and_may_name_tasks_that_are_gone(own):
    clients, tasks = two()
    layers = [{TaskId(0, partition): lag for partition, lag in each.items()} for each in own]
    lags = ChainMap(*layers, clients[1].lags)
    twins, plain = ([clients[0], ProcessState(UUID(int=2), 1, lags=each)] for each in (lags, dict(lags)))
    plain = again(plain)
    assign_tasks(plain, tasks, tasks)
    assign_tasks(twins, tasks, tasks)

    assert shares(plain) == shares(twins)


def test_one_layer_of_its_own_may_say_what_all_others_say():
    clients, tasks = two()
    clients.append(ProcessState(UUID(int=3), 1, lags=ChainMap({tasks[0]: LATEST_OFFSET}, clients[1].lags)))
    clients.append(ProcessState(UUID(int=4), 1, lags=ChainMap({tasks[0]: 100_000}, clients[0].lags)))
    twins = again(clients, lambda client: dict(client.lags))
    assign_tasks(clients, tasks, tasks)
    assign_tasks(twins, tasks, tasks)

    assert shares(clients) == shares(twins)


def test_a_standby_goes_to_the_process_with_less_lag_if_none_has_caught_up():
    tasks = [TaskId(0, 0)]
    lags = [{tasks[0]: lag} for lag in (90_000, 80_000, 70_000)]
    clients = [ProcessState(UUID(int=at), 1, lags=each) for at, each in enumerate(lags)]
    twins = again(clients)
    config = AssignmentConfigs(num_standby_replicas=1, max_warmup_replicas=1)

    assert assign_tasks(clients, tasks, tasks, config)
    assert [(set(), {tasks[0]}), (set(), {tasks[0]}), ({tasks[0]}, set())] == [(c.active, c.standby) for c in clients]
    assert not assign_tasks(twins, tasks, tasks, config, movement_behaviour_of("3.1"))


def test_without_clients_there_is_nothing_to_do():
    assert not assign_tasks([], [TaskId(0, 0)], set())


@pytest.mark.parametrize(
    ("setting", "value", "key"),
    [
        ("acceptable_recovery_lag", -1, "acceptable.recovery.lag"),
        ("max_warmup_replicas", 0, "max.warmup.replicas"),
        ("num_standby_replicas", -1, "num.standby.replicas"),
        ("num_standby_replicas", "1", "num.standby.replicas"),
        ("num_standby_replicas", True, "num.standby.replicas"),
    ],
)
def test_refuses_what_kafka_refuses(setting, value, key):
    with pytest.raises(ConfigException, match=f"Invalid value {value} for configuration {key}"):
        AssignmentConfigs(**{setting: value})


def test_rules_are_those_of_the_release():
    def columns(release):
        row = movement_behaviour_of(release)
        return row.client_tags, row.least_lag_fallback, row.iterator_order

    assert (False, False, True) == columns("2.6") == columns("3.1.2")
    assert (True, True, True) == columns("3.2.0")
    assert (True, True, False) == columns("3.3.0") == columns("4.3.1") == columns("streams-assignor")


@pytest.mark.parametrize("release", ["2.5.1", "0.10.0", "new"])
def test_a_release_without_this_assignor_has_no_rules(release):
    with pytest.raises(UnknownRelease):
        movement_behaviour_of(release)


@given(st.lists(st.integers(0, 5), max_size=40), st.booleans())
def test_equal_keys_come_out_of_a_queue_as_java_has_them(keys, array):
    queue = []
    for position, key in enumerate(keys):
        naive.push(queue, key, position)
    expected = [position for _, position in queue] if array else [naive.poll(queue)[1] for _ in keys]

    assert expected == priority_queue_order(keys, array)


def test_hash_order_is_that_of_java():
    # The keys of a HashMap of these task ids of 4.3.1, on Java 17.
    tasks = [TaskId(group, partition) for group in (0, 7) for partition in range(8)]
    named = [TaskId(0, partition, "orders") for partition in range(5)]

    assert task_ids([(7, 6 - p) for p in range(7)] + [(0, 7 - p) for p in range(8)] + [(7, 7)]) == hash_order(tasks)
    assert named == hash_order(named)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 21), st.integers(-1, 10))
def test_a_circle_finds_the_first_that_has_room(loads, place, load):
    circle = EligibleProcesses(range(len(loads)))
    for at, each in enumerate(loads):
        circle.update(at, each)
    expected = next((at for at, each in enumerate(loads) if at >= place and each <= load), None)

    assert expected == circle.first(place, load)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.data())
def test_the_least_loaded_is_found_while_loads_change(loads, data):
    by_load = LeastLoadedHeap(len(loads), loads.__getitem__)
    for _ in range(12):
        at = data.draw(st.integers(0, len(loads) - 1))
        loads[at] = data.draw(st.integers(0, 9))
        by_load.update(at)
        wanted = data.draw(st.sets(st.integers(0, len(loads) - 1)))
        expected = min(wanted, key=lambda client: (loads[client], client), default=None)

        assert expected == by_load.first(wanted.__contains__)
    assert min(range(len(loads)), key=loads.__getitem__) == by_load.least()


def test_without_processes_there_is_no_least_loaded():
    with pytest.raises(LookupError, match="no process is accepted"):
        LeastLoadedHeap(2, [1, 0].__getitem__).least(lambda _client: False)
