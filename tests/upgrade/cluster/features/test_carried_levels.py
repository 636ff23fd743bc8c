"""The beliefs of one member about the levels that its group carries."""

from streams_assignor.upgrade.cluster.features.carried_levels import CarriedLevels, decode_levels, encode_levels


def carrying(carried, observed=None, **settings):
    """A member after an assignment with levels; the cluster may have answered before."""
    member = CarriedLevels(["f", "g"], **settings)
    if observed:
        member.observe(observed)
    member.on_assignment(encode_levels(carried))
    return member


def test_a_member_believes_the_levels_of_an_assignment():
    member = carrying({"f": 3, "other": 1})

    assert ({"f": 3}, {}) == (member.levels, member.unconfirmed)
    assert {"f": 3} == decode_levels(member.trailing())


def test_levels_of_an_assignment_above_those_of_the_cluster_stay_unconfirmed():
    member = carrying({"f": 3, "g": 1}, {"f": 2, "g": 1}, confirms=True)

    assert ({"f": 2, "g": 1}, {"f": 3}) == (member.levels, member.unconfirmed)
    member.observe({"f": 3})
    member.confirm()
    assert ({"f": 3, "g": 1}, {}) == (member.levels, member.unconfirmed)


def test_a_member_that_confirms_believes_nothing_before_the_first_answer():
    assert ({}, {"f": 3}) == ((member := carrying({"f": 3}, confirms=True)).levels, member.unconfirmed)


def test_before_its_first_assignment_a_member_has_nothing_to_confirm():
    member = CarriedLevels(["f"], confirms=True)
    member.observe({"f": 2})
    member.confirm()

    assert {} == member.levels


def test_a_leader_passes_on_what_members_carry_up_to_the_answer_of_the_cluster():
    leader = CarriedLevels(["f", "g"])
    carried = [encode_levels({"f": 3, "other": 1}), b"bytes of another kind", encode_levels({"g": 1})]
    assert {"f": 3, "g": 1} == decode_levels(leader.merge(carried))

    leader.observe({"f": 2})
    assert {"f": 2} == decode_levels(leader.merge(carried))
    assert {"f": 3, "g": 1} == leader.withheld


def test_only_a_higher_level_of_a_watched_feature_is_news():
    member = carrying({"f": 2})

    assert [False, False, True] == [member.needs_rejoin_for(each) for each in ({"f": 1}, {"other": 1}, {"f": 3})]
