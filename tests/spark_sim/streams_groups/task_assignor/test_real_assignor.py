"""Decisions of the assignor beside those of the real ``StickyTaskAssignor`` in random groups."""

import random
import re

import pytest

from streams_assignor.spark_sim.streams_groups.task_assignor import RELEASES, assign, hash_map_order
from tests.java_oracle import Oracle
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.releases.bytecode import disassemble
from tests.lab.releases.facts import jar_of
from tests.matrix import with_matrix
from tests.spark_sim.streams_groups.task_assignor.random_groups import a_case, answer, plain, question
from tests.spark_sim.streams_groups.task_assignor.test_task_assignor import FIXED, KAFKA_20899

pytestmark = pytest.mark.java
CASES = 400
ALL_CASES = 10_000
BLOCK = 1_000
IGNORED = re.compile(r"\b(?:instanceId|rackId|clientTags)\b")
each_release = pytest.mark.parametrize(
    "release", with_matrix(RELEASES, ["4.3.1", "4.4.0"], "a further release of the same rules")
)


def oracle(release):
    return Oracle(release, "StreamsGroupAssignorOracle", "kafka-group-coordinator")


def differing_seeds(release, seeds):
    cases = [a_case(seed) for seed in seeds]
    with oracle(release) as kafka:
        answers = kafka.ask(map(question, cases))
    pairs = zip(seeds, cases, answers, strict=True)
    return [
        seed for seed, case, real in pairs if plain(assign(case.group, case.topology, release=release)) != answer(real)
    ]


@pytest.fixture(autouse=True, scope="module")
def fixture_jars():
    try:
        with oracle("4.3.1"):
            pass
    except Unavailable as missing:
        pytest.skip(f"no real assignor: {missing}")


@each_release
def test_decisions_equal_those_of_the_real_assignor(release):
    assert [] == differing_seeds(release, range(CASES))


def test_the_real_assignor_has_kafka_20899():
    """The group that the search finds: the second standby leaves D, which has its state, for C."""
    with oracle("4.3.1") as kafka:
        (real,) = kafka.ask([question(KAFKA_20899)])

    assert {"A1": {}, "B1": {"0": [0]}, "C1": {"0": [0]}, "D1": {}} == {
        id_: each["standby"] for id_, each in answer(real).items()
    }


@pytest.mark.matrix(reason="the rule of the fixed releases, which random groups compare with the real class, too")
@pytest.mark.parametrize("release", FIXED)
def test_the_real_assignor_of_fixed_releases_moves_no_standby(release):
    with oracle(release) as kafka:
        (real,) = kafka.ask([question(KAFKA_20899)])

    assert {"A1": {}, "B1": {"0": [0]}, "C1": {}, "D1": {"0": [0]}} == {
        id_: each["standby"] for id_, each in answer(real).items()
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, ALL_CASES, BLOCK))
@pytest.mark.parametrize("release", RELEASES)
def test_ten_thousand_decisions_equal_those_of_the_real_assignor(release, first):
    assert [] == differing_seeds(release, range(first, first + BLOCK))


def test_hash_map_order_is_that_of_java():
    choose = random.Random(1071)
    words = ["member-", "ä", "\U0001f600", ""]
    asked = [
        {
            "keys": [f"{choose.choice(words)}{choose.getrandbits(32)}" for _ in range(choose.randint(0, 100))],
            "capacity": choose.choice([0, 1, 2, 3, 12, 13, 16, 17, 100]),
        }
        for _ in range(200)
    ]

    with oracle("4.3.1") as kafka:
        answers = kafka.ask(asked)

    assert [each["keys"] for each in answers] == [hash_map_order(each["keys"], each["capacity"]) for each in asked]


@pytest.mark.slow
@each_release
def test_no_class_that_assigns_reads_an_instance_id_a_rack_or_a_client_tag(release):
    """The rest of the coordinator hands them on, and an assignor of one's own (KIP-1357) can read them."""
    code = disassemble(jar_of("kafka-group-coordinator", release))
    names = {name for name, methods in code.items() if any(map(IGNORED.search, methods.values()))}
    specs = {"streams.assignor.AssignmentMemberSpec", "streams.assignor.MemberMetadataAndStateImpl"}

    assert "streams.CurrentAssignmentBuilder" in code
    assert {"streams.TargetAssignmentBuilder"} == names - specs
