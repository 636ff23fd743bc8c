"""What a member believes of levels, and the defaults of an assignment."""

from uuid import UUID

from attrs import evolve

from assignor.protocol.feature_levels import encode_levels
from assignor.protocol.member import Member, ReceivedAssignment
from probing import CURRENT, MemberVersion
from subscription_codec import Assignment, encode_assignment
from subscription_codec.consumer_protocol import ConsumerAssignment, encode_consumer_assignment


def member(**unconfirmed):
    before = Member(process_id=UUID(int=1), version=MemberVersion.initial(CURRENT.member, 11))
    return evolve(before, unconfirmed_levels=unconfirmed) if unconfirmed else before


def test_levels_above_those_that_the_cluster_confirms_stay_unconfirmed():
    some = member(f=3, g=1).confirm_levels({"f": 2, "g": 1})

    assert ({"f": 2, "g": 1}, {"f": 3}) == (some.feature_levels, some.unconfirmed_levels)
    every = some.confirm_levels({"f": 3})
    assert ({"f": 3, "g": 1}, {}) == (every.feature_levels, every.unconfirmed_levels)


def test_levels_of_an_assignment_above_those_of_the_cluster_stay_unconfirmed():
    userdata = encode_assignment(Assignment(11, 11, trailing=encode_levels({"f": 3})))
    some = evolve(member(), watches=frozenset({"f"}))

    after, _ = some.on_assignment(
        encode_consumer_assignment(ConsumerAssignment((), userdata)), confirmed_levels={"f": 2}
    )

    assert ({"f": 2}, {"f": 3}) == (after.feature_levels, after.unconfirmed_levels)


def test_before_its_first_assignment_a_member_has_nothing_to_confirm():
    assert {} == member().confirm_levels({"f": 2}).feature_levels


def test_the_defaults_of_an_assignment_are_empty():
    received = ReceivedAssignment(version=11, supported_version=11)

    assert [{}, {}, {}, {}] == [received.active, received.standby, received.hosts, received.standby_hosts]
    assert (None, None, None, False) == (received.follow_up, received.rejoin, received.rejoin_at_ms, received.dropped)
