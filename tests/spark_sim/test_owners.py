"""A task with two owners: bounces of real members find it, and real groups had it."""

import json
from pathlib import Path

import pytest

from spark_sim.explore import Cell
from spark_sim.owners import second_owner_after_bounces
from spark_sim.properties import OWNED_ONCE
from spark_sim.world import World
from subscription_codec.consumer_protocol import decode_member_assignment, decode_member_subscription
from upgrade.matrix import Plan, Upgrade
from upgrade.releases import release_named

CAPTURES = Path(__file__).parent / "conform" / "captures"


def courses(origin, target, value=None):
    plan = Plan.TWO_BOUNCES if value else Plan.ONE_BOUNCE
    return Cell(Upgrade(release_named(origin), release_named(target), plan, value)).courses


@pytest.mark.parametrize(
    ("origin", "target"),
    [("2.4.1", "2.3.1"), ("2.8.2", "2.2.2"), ("3.9.2", "2.0.1"), ("4.3.1", "2.3.1"), ("2.3.1", "3.9.2")],
)
def test_one_bounce_between_cooperative_and_eager_members_ends_in_two_owners(origin, target):
    found = second_owner_after_bounces(courses(origin, target))

    assert found is not None
    assert {OWNED_ONCE} == {each.property for each in World(found).run().violations}


@pytest.mark.parametrize(
    ("origin", "target", "value"), [("2.4.1", "2.3.1", "2.3"), ("2.3.1", "3.9.2", "2.3"), ("2.4.1", "3.9.2", None)]
)
def test_no_bounces_do_where_all_keep_their_tasks_or_none_does(origin, target, value):
    assert second_owner_after_bounces(courses(origin, target, value), most=60) is None


def test_nobody_is_bounced_beyond_the_end():
    assert second_owner_after_bounces(courses("2.4.1", "2.3.1")[:1]) is None


def test_real_eager_leaders_gave_away_what_a_cooperative_member_kept():
    """2.5.1 to 2.3.1, one bounce: peer-0 leads as 2.3.1, and gives peer-1 what peer-2 says it owns."""
    capture = json.loads((CAPTURES / "2.5.1-to-2.3.1-downgrade.json").read_text())

    assert {8: ("peer-0", {2: ("peer-2", "peer-1")})} == dict(given_away(capture))


def given_away(capture):
    """By generation: the leader, and of each partition that somebody has and another one gets these two."""
    for generation in capture["generations"]:
        had, gets = {}, {}
        for member in generation["members"]:
            name = member["client_id"].partition("-Stream")[0]
            said = decode_member_subscription(bytes.fromhex(member["subscription"]))
            answer = decode_member_assignment(bytes.fromhex(member["assignment"]))
            had |= {number: name for topic in said.owned_partitions for number in topic.partitions}
            gets |= {number: name for topic in answer.assigned_partitions for number in topic.partitions}
        if found := {
            number: (had[number], gets[number]) for number in had if gets.get(number) not in {None, had[number]}
        }:
            yield generation["generation"], (generation["leader"].partition("-Stream")[0], found)
