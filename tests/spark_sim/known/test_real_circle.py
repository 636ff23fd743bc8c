"""L5 in a real group: a leader of 3.2.3 moves tasks to and fro between itself and a member of 2.5.1."""

import json
from pathlib import Path

import pytest

from assignor import StreamsPartitionAssignor, Subtopology, Topology
from assignor.cluster import Cluster
from subscription_codec import TopicPartition, decode_assignment
from subscription_codec.consumer_protocol import decode_member_assignment
from upgrade import StreamsConfig, release_named

CAPTURE = json.loads((Path(__file__).parent / "captures" / "2.5.1-under-3.2.3-without-end.json").read_text())
ROUND = [each for each in CAPTURE["generations"] if each["generation"] >= 8]
PARTITIONS, LENGTH = 6, 100
CHANGELOG = "counts-changelog"


def name(member):
    return member["client_id"].partition("-Stream")[0]


def tasks(answer):
    """Active and standby tasks in the bytes of an answer."""
    found = decode_assignment(decode_member_assignment(answer).user_data)
    return sorted(map(str, found.active_tasks)), sorted(str(each.task) for each in found.standby_tasks)


def answered(generation):
    return {name(member): tasks(bytes.fromhex(member["assignment"])) for member in generation["members"]}


def test_every_second_generation_is_the_same():
    found = [answered(each) for each in ROUND]

    assert len(found) == 5
    assert found[0] == found[2] == found[4] != found[1] == found[3]
    assert (["0_4"], ["0_0", "0_2"]) == found[0]["peer-0"]
    assert (["0_0", "0_2"], ["0_4"]) == found[1]["peer-0"]


@pytest.mark.parametrize("generation", ROUND, ids=lambda each: each["generation"])
def test_our_leader_goes_round_as_the_real_one_did(generation):
    changelogs = {TopicPartition(CHANGELOG, number): LENGTH for number in range(PARTITIONS)}
    leader = StreamsPartitionAssignor(
        Topology.of(Subtopology(sources=["data"], changelogs=[CHANGELOG])),
        StreamsConfig.of({"acceptable.recovery.lag": "0"}),
        release=release_named("3.2.3"),
    )
    said = {each["member_id"]: bytes.fromhex(each["subscription"]) for each in generation["members"]}

    answers = leader.assign(Cluster(partitions={"data": PARTITIONS, CHANGELOG: PARTITIONS}, offsets=changelogs), said)

    ours = {name(each): tasks(answers[each["member_id"]]) for each in generation["members"]}
    assert answered(generation) == ours
