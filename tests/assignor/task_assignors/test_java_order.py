"""Orders of hash sets, as Java 17 gave them; the task ids are those of the release."""

from uuid import UUID

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.java_order import (
    bucket_order,
    buckets_of_copy,
    hash_order,
    hash_order_before_3_0,
    uuid_hash,
)

UUIDS = """
c0b92e2b-3005-3cc2-df27-f9be23a70709 7c1ee800-e03e-a26e-ac92-5117e72bd4de 44229dc0-0e36-38b9-255a-a947a99b8671
3a355de5-41b8-12e4-f582-602498ddfdea 48be924c-6215-0bf4-f53f-e6de43d6d6ab 7403f1ad-a991-33ed-c90f-f91a467437a4
2ae08568-bb2f-5c40-1c80-a2606927f6e4 a7bfc786-ae44-7781-49dc-b5b89596e272 961e1cf7-a2b4-c05c-ea24-9b9432b3425d
5d203022-6867-dbc9-182b-99e8c034e811 28e6ef9a-c3a0-6a7e-e57e-fa9f65b25eeb 9a5e3535-61b6-bda5-fa2e-b431f1c41210
"""
TASKS = [
    *(TaskId(725, 301), TaskId(1503, 436), TaskId(128, 99), TaskId(1084, 219), TaskId(1648, 244), TaskId(1284, 0)),
    *(TaskId(1986, 250), TaskId(1106, 145), TaskId(422, 242), TaskId(895, 65)),
]
NAMED = [*TASKS[:6], *(task._replace(topology=f"orders-{number}") for number, task in enumerate(TASKS[6:], 6))]


def places(items, ordered):
    return [items.index(each) for each in ordered]


def test_uuids():
    ids = [*map(UUID, UUIDS.split())]
    ordered = bucket_order(ids, {each: uuid_hash(each) for each in ids}, buckets_of_copy(len(ids)))

    assert [0, 6, 9, 4, 11, 5, 2, 10, 7, 3, 1, 8] == places(ids, ordered)


def test_task_ids_of_4_3_1_with_and_without_a_topology():
    assert [3, 5, 9, 4, 6, 8, 0, 1, 7, 2] == places(NAMED, hash_order(NAMED))


def test_task_ids_of_2_8_2():  # they were added in order
    assert [9, 0, 2, 7, 1, 5, 4, 3, 8, 6] == places(TASKS, hash_order_before_3_0(TASKS))
