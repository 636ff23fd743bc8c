"""Minimum-cost flow: as cheap as the cheapest of all ways, tried one by one."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.task_assignors.rack_aware._min_cost_flow import Network


@st.composite
def deliveries(draw):
    """Where units are, what each way to each of a few places costs and takes, and how much fits there."""
    units = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    places = draw(st.integers(1, 3))
    costs = [[draw(st.integers(0, 5)) for _ in range(places)] for _ in units]
    takes = [[draw(st.integers(0, 2)) for _ in range(places)] for _ in units]
    room = [draw(st.integers(0, 4)) for _ in range(places)]
    return units, costs, takes, room


def every_way(delivery):
    """Every way to deliver: how much each start sends to each place."""
    units, _, takes, room = delivery
    by_start = [
        [each for each in product(*(range(most + 1) for most in own)) if sum(each) == number]
        for number, own in zip(units, takes, strict=True)
    ]
    for flows in product(*by_start):
        if all(sum(own[place] for own in flows) <= fits for place, fits in enumerate(room)):
            yield flows


def cost_of(flows, delivery):
    _, costs, _, _ = delivery
    return sum(n * cost for own, its in zip(flows, costs, strict=True) for n, cost in zip(own, its, strict=True))


def network_of(delivery):
    units, costs, takes, room = delivery
    sink = len(units) + len(room)
    network = Network(sink + 1)
    arcs = [
        [network.arc(start, len(units) + place, takes[start][place], cost) for place, cost in enumerate(own)]
        for start, own in enumerate(costs)
    ]
    into = [network.arc(len(units) + place, sink, fits) for place, fits in enumerate(room)]
    return network, arcs, into, sink


@given(deliveries())
def test_sends_everything_at_the_least_cost(delivery):
    units, _, _, room = delivery
    cheapest = min((cost_of(flows, delivery) for flows in every_way(delivery)), default=None)
    network, arcs, into, sink = network_of(delivery)
    if cheapest is None:
        with pytest.raises(ValueError, match="room"):
            network.send_flow(dict(enumerate(units)), sink)
        return
    network.send_flow(dict(enumerate(units)), sink)
    flows = tuple(tuple(network.flow(arc) for arc in own) for own in arcs)

    assert cheapest == cost_of(flows, delivery)
    assert flows in every_way(delivery)
    assert [sum(own[place] for own in flows) for place in range(len(room))] == [network.flow(arc) for arc in into]


def test_more_than_there_is_room_for_is_refused():
    network = Network(2)
    network.arc(0, 1, 1)

    with pytest.raises(ValueError, match="room"):
        network.send_flow({0: 2}, 1)


def test_takes_back_what_was_sent_if_that_is_cheaper():
    # The first start takes the place that costs it nothing, until the second one needs it more.
    network = Network(5)
    ways = [network.arc(0, 2), network.arc(0, 3, cost=1), network.arc(1, 2), network.arc(1, 3, cost=5)]
    network.arc(2, 4, 1)
    network.arc(3, 4, 1)
    network.send_flow({0: 1, 1: 1}, 4)

    assert [0, 1, 1, 0] == [network.flow(way) for way in ways]


def test_equal_networks_give_equal_flows():
    def flows():
        network = Network(14)
        arcs = [network.arc(start, 10 + start * place % 3, 1, place % 2) for start in range(10) for place in range(3)]
        for place in range(3):
            network.arc(10 + place, 13, 4)
        network.send_flow(dict.fromkeys(range(10), 1), 13)
        return [network.flow(arc) for arc in arcs]

    assert flows() == flows()
