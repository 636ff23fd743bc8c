"""The order in which all instances are restarted is the cheapest, as far as it says so."""

from itertools import permutations

import pytest
from attrs import evolve

from streams_assignor.cli.group.what_if import order_lines
from streams_assignor.spark_sim.forecast import ForecastError, observe, parse_operation, restart_order
from streams_assignor.spark_sim.forecast.possibilities import possible_groups, with_standbys
from streams_assignor.spark_sim.forecast.restart_order import Cost, new_process_id
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.upgrade.streams_config import StreamsConfig
from tests.spark_sim.forecast.live import seen


def group_of(names, release, workload="partitions=6"):
    members = " ".join(f"{name}@{release}" for name in names)
    return seen(Simulation(Scenario.parse(f"{members} | with {workload} | bounce fast A>{release}")).run())


def order_of(group, step="restart all", **options):
    return restart_order(observe(group, StreamsConfig()), parse_operation(step), now_ms=0, **options)


def names(order):
    return "".join(process[0] for process, _ in order.restarts)


def cost_of(group, processes, *, ephemeral):
    """Play one order from the beginning, without the search, with each release that the first leader can be."""
    observed = with_standbys(observe(group, StreamsConfig()))
    ids = {process: new_process_id(process) for process in processes}
    first, *others = possible_groups(observed, [""], 0)
    total = Cost()
    for possible in (first, *others):
        if possible.leader is first.leader:
            simulation = possible.continued(0, ids, ephemeral=ephemeral)
            for process in processes:
                simulation.start({process: possible.instances[process]}).finish()
            total += Cost.of(simulation)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "workload", "ephemeral"),
    [
        ("1.1.1", "partitions=6", False),
        ("2.3.1", "partitions=7", False),
        ("3.9.2", "standbys=1", False),
        ("3.9.2", "static", False),
        pytest.param("3.9.2", "standbys=1 lag", True, marks=pytest.mark.slow),
        pytest.param("4.4.0", "threads=2 partitions=9", True, marks=pytest.mark.slow),
        ("streams-assignor", "partitions=4", False),
    ],
)
def test_no_order_of_all_is_cheaper(release, workload, ephemeral):
    group = group_of("ABC", release, workload)
    order = order_of(group, ephemeral=ephemeral)
    processes = [process for process, _ in order.restarts]
    costs = [cost_of(group, each, ephemeral=ephemeral) for each in permutations(sorted(processes))]

    assert order.is_exact
    assert min(costs) == cost_of(group, processes, ephemeral=ephemeral)
    assert order.at_least <= min(costs)


def test_the_leader_is_the_last():
    order = order_of(group_of("ABCDE", "2.8.2"))

    assert order.leader == order.restarts[-1][0]
    assert Cost(rebalances=5) == evolve(order.cost.most, leader_changes=0)


@pytest.mark.slow
def test_static_members_cost_nothing():
    order = order_of(group_of("ABC", "3.9.2", "static"))

    assert (Cost(), Cost()) == (order.cost.least, order.cost.most)


def test_more_than_eight_instances_have_an_order_with_a_bound():
    order = order_of(group_of("ABCDEFGHI", "2.3.1", "partitions=18"))

    assert not order.is_exact
    assert "ABCDEFGHI" == "".join(sorted(names(order)))
    assert evolve(order.cost.least, leader_changes=0) == order.at_least


def test_a_search_that_is_too_long_ends_with_an_order():
    order = order_of(group_of("ABCDE", "streams-assignor", "partitions=10"), most_plays=10)

    assert not order.is_exact
    assert "ABCDE" == "".join(sorted(names(order)))
    assert order.plays < 1000


def test_the_upgrade_of_all_instances_has_an_order():
    order = order_of(group_of("ABC", "2.8.2"), "upgrade all 3.9.2")

    assert order.is_safe
    assert "upgrade all 3.9.2" == order.as_json()["step"]


@pytest.mark.slow
def test_an_upgrade_of_all_without_upgrade_from_is_unsafe():
    order = order_of(group_of("ABC", "1.1.1"), "upgrade all 2.0.1")

    assert not order.is_safe
    assert order_of(group_of("ABC", "1.1.1"), "upgrade all 2.0.1 upgrade.from=1.1").is_safe
    assert any("UNSAFE" in line for line in order_lines(order))


def test_an_order_without_a_possibility_is_refused():
    with pytest.raises(ForecastError, match="no release and leader repeats"):
        restart_order(
            observe(group_of("ABC", "3.9.2"), StreamsConfig(num_standby_replicas=2)),
            parse_operation("restart all"),
            now_ms=0,
        )


def test_progress_counts_every_restart_that_is_played():
    played = []
    order = order_of(group_of("ABC", "2.3.1"), on_played=played.append)

    assert [*range(1, order.plays + 1)] == played


def test_an_order_is_written_line_by_line():
    lines = [*order_lines(order_of(group_of("ABC", "2.3.1")))]

    assert "app: restart all (3 instances, 6 tasks): the cheapest order" == lines[0]
    assert "1. B (B.local): 1 rebalance, no move, 0 to 1 changes of the leader" == lines[2]
    assert "together: 3 rebalances, no move, 0 to 2 changes of the leader" in lines
    assert "every order: at least 3 rebalances, no move" in lines
    late = next(line for line in lines if line.startswith("if each is back only after the sessions of its members: "))
    assert "6 rebalances, 12 moves" in late


@pytest.mark.slow
def test_static_members_that_are_back_after_their_sessions_move_tasks():
    """The costs were those of instances that are all back in time."""
    order = order_of(group_of("ABC", "3.9.2", "static"))

    assert (0, 0) == (order.cost.most.rebalances, order.cost.most.moves)
    assert order.after_session.least.moves
    assert order.as_json()["after_session"]["least"]["moves"] == order.after_session.least.moves
