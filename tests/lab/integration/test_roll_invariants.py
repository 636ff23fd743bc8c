"""What the real rolls are judged by says what is unsafe, on simulated groups with real bytes."""

import pytest

from streams_assignor.groups.history._generation import AssignmentDecoder, classic_generation
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from tests.lab.integration.roll_invariants import strange_mixtures, unsafe_in
from tests.spark_sim.forecast.live import members_of

OLD, BETWEEN, NEW = ("2.3.1", ""), ("3.9.2", "2.3"), ("3.9.2", "")


def unsafe_codes(line):
    """What is unsafe in the group after a scenario."""
    members = [
        {
            "memberId": member.member_id,
            "clientId": member.client_id,
            "clientHost": member.host,
            "groupInstanceId": None,
            "sessionTimeout": 6_000,
            "subscription": member.subscription,
            "assignment": member.assignment,
        }
        for member in members_of(Simulation(Scenario.parse(line)).run())
    ]
    value = {"protocolType": "consumer", "protocol": "stream", "generation": 1, "leader": "", "members": members}
    generation = classic_generation("app", 0, 0, value, 0, AssignmentDecoder(), None)
    return {text.partition(":")[0] for text in unsafe_in(generation)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "A@2.3.1 B@2.3.1 C@2.3.1 | bounce fast A>3.9.2,upgrade.from=2.3 | bounce fast B>3.9.2,upgrade.from=2.3",
            set(),
        ),
        ("A@2.3.1 B@2.3.1 C@2.3.1 | bounce fast A>3.9.2 | bounce fast B>3.9.2", {"mixed-protocols"}),
        ("A@3.9.2 B@3.9.2 | bounce fast A>4.3.1", set()),
    ],
)
def test_an_unsafe_generation_is_seen(line, expected):
    assert expected == unsafe_codes(line)


@pytest.mark.parametrize(
    ("mixture", "is_strange"),
    [
        ({OLD}, False),
        ({OLD, BETWEEN}, False),
        ({BETWEEN, NEW}, False),
        ({OLD, NEW}, True),
        ({OLD, BETWEEN, NEW}, True),
        ({OLD, ("3.9.2", "2.0")}, True),
    ],
)
def test_a_mixture_that_the_plan_does_not_have_is_strange(mixture, is_strange):
    found = strange_mixtures([frozenset({OLD}), frozenset(mixture)], [OLD, BETWEEN, NEW])

    assert ([frozenset(mixture)] if is_strange else []) == found
