"""L5 and L6 in real groups: leaders move tasks to and fro for ever, between processes or between threads of one."""

import json
from pathlib import Path

import pytest

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition, decode_assignment
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment
from streams_assignor.upgrade import StreamsConfig, release_named

CAPTURES = Path(__file__).parent / "captures"
PARTITIONS, LENGTH = 6, 100
CHANGELOG = "counts-changelog"


def captured(file, since):
    generations = json.loads((CAPTURES / file).read_text())["generations"]
    return [each for each in generations if each["generation"] >= since]


PROCESSES = captured("2.5.1-under-3.2.3-without-end.json", 8)
THREADS = captured("2.5.1-to-3.9.2-two-threads-without-end.json", 9)


def name(member):
    """Name the process, and its thread."""
    process, _, thread = member["client_id"].removesuffix("-consumer").partition("-StreamThread-")
    return process, int(thread)


def tasks(answer):
    """Active and standby tasks in the bytes of an answer."""
    found = decode_assignment(decode_consumer_assignment(answer).user_data)
    return sorted(map(str, found.active_tasks)), sorted(str(each.task) for each in found.standby_tasks)


def answered(generation):
    return {name(member): tasks(bytes.fromhex(member["assignment"])) for member in generation["members"]}


def test_every_second_generation_is_the_same():
    found = [answered(each) for each in PROCESSES]

    assert len(found) == 5
    assert found[0] == found[2] == found[4] != found[1] == found[3]
    assert (["0_4"], ["0_0", "0_2"]) == found[0]["peer-0", 1]
    assert (["0_0", "0_2"], ["0_4"]) == found[1]["peer-0", 1]


def test_the_second_thread_of_a_process_never_gets_what_the_first_one_gives_up():
    """The other one owns what it is to get: its thread names all but that, so it is assigned all but that."""
    found = [answered(each) for each in THREADS]

    assert [["0_0"], ["0_3"], ["0_0"], ["0_3"]] == [each["peer-1", 1][0] for each in found]
    assert [[]] * 4 == [each["peer-1", 2][0] for each in found]


@pytest.mark.parametrize(
    ("release", "lag", "generation"),
    [
        *(pytest.param("3.2.3", "0", each, id=f"L5 {each['generation']}") for each in PROCESSES),
        *(pytest.param("3.9.2", "10000", each, id=f"L6 {each['generation']}") for each in THREADS),
    ],
)
def test_our_leader_goes_round_as_the_real_one_did(release, lag, generation):
    changelogs = {TopicPartition(CHANGELOG, number): LENGTH for number in range(PARTITIONS)}
    leader = StreamsAssignor(
        Topology.of(Subtopology(sources=["data"], changelogs=[CHANGELOG])),
        StreamsConfig.of({"acceptable.recovery.lag": lag}),
        release=release_named(release),
    )
    subscriptions = {each["member_id"]: bytes.fromhex(each["subscription"]) for each in generation["members"]}

    answers = leader.assign(
        ClusterSnapshot(partitions={"data": PARTITIONS, CHANGELOG: PARTITIONS}, end_offsets=changelogs), subscriptions
    )

    ours = {name(each): tasks(answers[each["member_id"]]) for each in generation["members"]}
    assert answered(generation) == ours
