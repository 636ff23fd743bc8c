"""A second owner of a task: simulated bounces find it, and real groups had it."""

import json
from pathlib import Path

import pytest

from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import SINGLE_OWNER
from streams_assignor.spark_sim.packed import UpgradeCell
from streams_assignor.spark_sim.packed._concrete_replay import find_second_owner, replay_confirms
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import release_named

CAPTURES = Path(__file__).parents[1] / "conformance" / "captures"


def courses(origin, target, value=None):
    plan = Plan.TWO_BOUNCES if value else Plan.ONE_BOUNCE
    return UpgradeCell(Upgrade(release_named(origin), release_named(target), plan, value)).instance_sequences


@pytest.mark.parametrize(
    ("origin", "target"),
    [("2.4.1", "2.3.1"), ("2.8.2", "2.2.2"), ("3.9.2", "2.0.1"), ("4.3.1", "2.3.1"), ("2.3.1", "3.9.2")],
)
def test_one_bounce_between_cooperative_and_eager_members_ends_in_two_owners(origin, target):
    found = find_second_owner(courses(origin, target))

    assert found is not None
    assert {SINGLE_OWNER} == {each.property for each in Simulation(found).run().violations}


def test_a_scenario_that_cannot_be_played_is_not_confirmed():
    assert not replay_confirms(Scenario.parse("A@2.0 B@2.0 | hold | lead B"), SINGLE_OWNER)


@pytest.mark.parametrize(
    ("origin", "target", "value"), [("2.4.1", "2.3.1", "2.3"), ("2.3.1", "3.9.2", "2.3"), ("2.4.1", "3.9.2", None)]
)
def test_no_second_owner_where_all_members_keep_their_tasks_or_none_does(origin, target, value):
    assert find_second_owner(courses(origin, target, value), max_bounces=60) is None


def test_no_member_is_bounced_beyond_the_last_instance():
    assert find_second_owner(courses("2.4.1", "2.3.1")[:1]) is None


def test_real_eager_leaders_assigned_tasks_that_a_cooperative_member_kept():
    """2.5.1 to 2.3.1, one bounce: peer-0 leads as 2.3.1, and assigns to peer-1 what peer-2 owns."""
    capture = json.loads((CAPTURES / "2.5.1-to-2.3.1-downgrade.json").read_text())

    assert {8: ("peer-0", {2: ("peer-2", "peer-1")})} == dict(given_away(capture))


def given_away(capture):
    """Yield each generation with its leader, and partition => owner and new owner, where these differ."""
    for generation in capture["generations"]:
        had, gets = {}, {}
        for member in generation["members"]:
            name = member["client_id"].partition("-Stream")[0]
            subscription = decode_consumer_subscription(bytes.fromhex(member["subscription"]))
            answer = decode_consumer_assignment(bytes.fromhex(member["assignment"]))
            had |= {number: name for topic in subscription.owned_partitions for number in topic.partitions}
            gets |= {number: name for topic in answer.assigned_partitions for number in topic.partitions}
        if found := {
            number: (had[number], gets[number]) for number in had if gets.get(number) not in {None, had[number]}
        }:
            yield generation["generation"], (generation["leader"].partition("-Stream")[0], found)
