"""The fallback-prior assignor: no process loses a task, and the group tries again."""

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId
from tests.assignor.task_assignors.process_states import ProcessState
from tests.assignor.task_assignors.process_states import assign_fallback_prior as assign_tasks

TASKS = [TaskId(group, partition) for group in range(2) for partition in range(6)]


@st.composite
def groups(draw):
    """Clients with any previous tasks, also claimed twice."""
    some = st.frozensets(st.sampled_from([*TASKS, TaskId(9, 9)]))
    return [
        ProcessState(process, draw(st.integers(1, 3)), draw(some), draw(some))
        for process in draw(st.lists(st.uuids(), min_size=1, max_size=5, unique=True))
    ]


@given(groups(), st.integers(0, 3))
def test_active_once_and_standbys_never_beside_their_active(clients, standbys):
    stateful = set(TASKS[:8])

    assert assign_tasks(clients, TASKS, stateful, standbys)
    assert Counter(TASKS) == Counter(task for client in clients for task in client.active)
    copies = Counter(task for client in clients for task in client.standby)
    expected = min(standbys, len(clients) - 1)
    assert {task: expected for task in stateful if expected} == dict(copies)
    assert not [client for client in clients if client.active & client.standby]


@given(groups())
def test_what_one_client_had_it_keeps(clients):
    claims = Counter(task for client in clients for task in client.previous_active)
    assign_tasks(clients, TASKS, set())

    for client in clients:
        assert {task for task in client.previous_active if claims[task] == 1 and task in TASKS} <= client.active


@given(groups(), st.integers(0, 2), st.randoms(use_true_random=False))
def test_the_order_of_the_input_decides_nothing(clients, standbys, chance):
    twins = [ProcessState(c.process_id, c.capacity, c.previous_active, c.previous_standby) for c in clients]
    chance.shuffle(twins)
    assign_tasks(clients, TASKS, TASKS, standbys)
    assign_tasks(twins, chance.sample(TASKS, len(TASKS)), TASKS, standbys)

    assert {c.process_id: (c.active, c.standby) for c in clients} == {
        c.process_id: (c.active, c.standby) for c in twins
    }


def test_a_standby_takes_over_up_to_the_quota_and_standbys_stay():
    one, two = TASKS[:2]
    had, new = ProcessState(UUID(int=1), 2, previous_standby=frozenset([one])), ProcessState(UUID(int=2), 2)
    owner = ProcessState(UUID(int=3), 2, frozenset([two]), frozenset())
    assign_tasks([had, new, owner], TASKS, [two], 1)

    assert one in had.active
    assert two in owner.active
    assert 4 == len(had.active) == len(new.active) == len(owner.active)


def test_a_standby_stays_unless_its_process_is_full_and_another_is_not():
    one, two, three = TASKS[:3]

    def standby_of_one(capacity):
        owner = ProcessState(UUID(int=1), 1, frozenset([one]))
        had = ProcessState(UUID(int=2), capacity, frozenset([two]), frozenset([one]))
        other = ProcessState(UUID(int=3), 4, frozenset([three]))
        assign_tasks([owner, had, other], [one, two, three], [one], 1)
        return next(each.process_id.int for each in (had, other) if one in each.standby)

    assert [3, 2] == [standby_of_one(capacity) for capacity in (1, 2)]


def test_without_clients_there_is_nothing_to_do():
    assert not assign_tasks([], TASKS, set())


@given(groups(), st.integers(0, 2))
def test_there_is_a_reason_for_everything_and_asking_changes_nothing(clients, standbys):
    twins = [ProcessState(c.process_id, c.capacity, c.previous_active, c.previous_standby) for c in clients]
    reasons = {}
    assign_tasks(clients, TASKS, TASKS[:8], standbys)
    assign_tasks(twins, TASKS, TASKS[:8], standbys, reasons)

    assert [(c.active, c.standby) for c in clients] == [(c.active, c.standby) for c in twins]
    assert {(task, c.process_id) for c in twins for task in c.tasks} == reasons.keys()
    for (task, process), why in reasons.items():
        [client] = [each for each in twins if each.process_id == process]

        assert ("was active here" != why) or task in client.previous_active
        assert ("was a standby here" not in why) or task in client.previous_standby


def test_says_why():
    one, two, three = TASKS[:3]
    had, owner = ProcessState(UUID(int=1), 1, previous_standby=frozenset([one])), ProcessState(UUID(int=2), 1)
    owner.previous_active, owner.previous_standby = frozenset([two]), frozenset([three])
    reasons = {}
    assign_tasks([had, owner], [one, two, three], [two], 1, reasons)

    assert {
        (one, had.process_id): "was a standby here, and no process has it active any longer",
        (two, owner.process_id): "was active here",
        (two, had.process_id): "the least loaded client without it",
        (three, had.process_id): "no process that had it may get it; the fewest tasks per member are here",
    } == reasons
